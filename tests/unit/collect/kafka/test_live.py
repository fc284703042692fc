"""One look at a cluster: what could not be asked is named, and a topic that is gone is no hidden one."""

import asyncio

import pytest

from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.live import look
from tests.unit.collect.builders import T0, Brokers, log_dir, node, ok, partition, placement, topic


def seen(**fields):
    placed = [placement("t"), placement("gone"), placement("secret")]
    answer = ok(log_dir("/d1", replicas=placed))
    brokers = Brokers({1: answer}, {1: node(1)}, topics=(topic("t", partition()),), **fields)
    return asyncio.run(look(brokers, [Address("boot", 9092)], lambda: T0))


def test_topics_on_the_disks_that_the_user_may_not_see_are_hidden_and_deleted_ones_are_not():
    found = seen(hidden={"secret"})
    assert (found.hidden_topics, found.unknown) == (("secret",), {})


@pytest.mark.parametrize("what", ["topics", "hidden topics", "reassignments", "quorum"])
def test_what_could_not_be_asked_is_named(what):
    found = seen(broken={what})
    assert found.unknown == {what: f"ConnectionError: {what}"}
    assert found.hidden_topics == ()
