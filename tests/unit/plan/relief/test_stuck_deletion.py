"""The look at the log cleaner: only where compacted topics are most of what fills the directory."""

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.relief.stuck_deletion import STEP, propose_cleaner_check, remote_copy_drafts
from tests.unit.plan.builders import MIB, broker, directory, facts, policy, replica, topic

DESCRIBE = "kafka-configs.sh --bootstrap-server kafka:9092 --describe --all --entity-type "


def checked(*, growth=None, both=0, configs=None, set_by_c=None, **sizes):
    """Sizes of compacted ``c`` and ``c2``, deleting ``d``, and ``both``, in MiB; growth by topic; configs."""
    sizes = {**sizes, "both": both}
    policies = {"c": "compact", "c2": "compact", "d": "delete", "both": "delete, compact"}
    here = {name: replica(1, "/d1", name, size=size * MIB) for name, size in sizes.items() if size}
    rates = {(here[name].place, here[name].key): rate for name, rate in (growth or {}).items()}
    own = {"c": set_by_c or {}}
    topics = [topic(name, (1,), configs={"cleanup.policy": policies[name]} | own.get(name, {})) for name in here]
    source = directory(1)
    parts = (broker(1, **configs or {}), source, *topics, *here.values())
    return propose_cleaner_check(source, facts(*parts, growth=rates), policy())


@pytest.mark.parametrize(
    ("case", "is_looked_at"),
    [
        ({"c": 51, "d": 49}, True),
        ({"c": 50, "d": 50}, False),
        ({"both": 51, "d": 49}, True),
        ({"c": 30, "both": 30, "d": 50}, True),
        ({"d": 50}, False),
        ({}, False),
        ({"c": 10, "d": 90, "growth": {"c": 3.0, "d": 2.0}}, True),
        ({"c": 90, "d": 10, "growth": {"c": 2.0, "d": 2.0}}, False),
        ({"c": 10, "both": 10, "d": 90, "growth": {"c": 1.5, "both": 1.5, "d": 2.0}}, True),
        ({"c": 90, "d": 10, "growth": {"c": 0.0, "d": 0.0}}, True),
        ({"c": 10, "d": 90, "growth": {"c": 0.0, "d": 0.0}}, False),
        ({"c": 10, "d": 90, "growth": {"c": 0.5, "d": 0.0}}, True),
    ],
)
def test_growth_decides_where_it_is_known_else_the_bytes(case, is_looked_at):
    assert bool(checked(**case)) is is_looked_at


ENABLE = "log.cleaner.enable"


@pytest.mark.parametrize(
    ("configs", "case", "told"),
    [
        ({ENABLE: "false"}, {"c": 51, "d": 49}, "set log.cleaner.enable=true on broker 1, and restart it"),
        ({ENABLE: "false"}, {"both": 51, "d": 49}, "set log.cleaner.enable=true"),
        ({ENABLE: "false"}, {"c": 10, "d": 90, "growth": {"c": 3.0, "d": 2.0}}, "set log.cleaner.enable=true"),
        ({ENABLE: "false"}, {"c": 30, "both": 30}, "60 MiB of /d1"),
        ({ENABLE: "false"}, {"c": 49, "d": 51}, None),
        ({ENABLE: "false"}, {"d": 51}, None),
        ({ENABLE: "true"}, {"c": 51, "d": 49}, "look whether the log cleaner of broker 1 works"),
        ({ENABLE: None}, {"c": 51, "d": 49}, "look whether"),
        ({}, {"c": 51, "d": 49}, "look whether"),
        ({"log.cleaner.threads": "2"}, {"both": 51}, "look whether"),
    ],
)
def test_a_cleaner_that_is_disabled_is_enabled_and_not_looked_for(configs, case, told):
    found = checked(configs=configs, **case)
    assert [told in one.reason for one in found] == ([] if told is None else [True])


def test_the_broker_and_its_largest_compacted_topic_are_described():
    (found,) = checked(c=20, c2=30, d=10)
    assert found.kind is ActionKind.INVESTIGATE
    assert found.target == {"broker": 1, "log_dir": "/d1", "step": "cleaner"}
    assert found.commands[0].startswith("# On broker 1's host: the gauges DeadThreadCount")
    assert found.commands[1:] == (f"{DESCRIBE}brokers --entity-name=1", f"{DESCRIBE}topics --entity-name=c2")
    assert "50 MiB of /d1 are in compacted topics (c2, c), which no retention limit reaches" in found.reason
    assert not found.data_loss


@pytest.mark.parametrize(
    ("configs", "told"),
    [
        ({"min.compaction.lag.ms": "2592000000"}, "c sets min.compaction.lag.ms=2592000000"),
        ({"min.cleanable.dirty.ratio": "0.99"}, "c sets min.cleanable.dirty.ratio=0.99"),
        ({"delete.retention.ms": "604800000"}, "c sets delete.retention.ms=604800000"),
        ({"min.compaction.lag.ms": "0", "min.cleanable.dirty.ratio": "0.5", "delete.retention.ms": "86400000"}, None),
        ({"min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"}, None),
    ],
)
def test_what_a_topic_sets_that_keeps_the_cleaner_back_is_named(configs, told):
    (found,) = checked(c=20, set_by_c=configs)
    assert (" sets " in found.reason) is (told is not None)
    assert told is None or told in found.reason


def test_of_equally_large_ones_the_name_decides():
    assert checked(c=20, c2=20)[0].commands[2].endswith("--entity-name=c")


def test_what_deletes_as_well_is_reached_by_its_limits():
    assert "which no retention limit reaches" not in checked(c=20, both=30)[0].reason


def test_where_only_the_growth_is_compacted_the_topics_are_those_with_bytes():
    (found,) = checked(c=10, d=90, growth={"c": 3.0, "d": 2.0})
    assert "10 MiB of /d1 are in compacted topics (c)" in found.reason


TIERED = {"remote.storage.enable": "true", "local.retention.bytes": "-2"}


@pytest.mark.parametrize(
    ("lag", "is_looked_at"),
    [
        ({}, True),
        ({"remote.copy.lag.ms": "0", "remote.copy.lag.bytes": "-1"}, True),
        ({"remote.copy.lag.ms": "3600000", "remote.copy.lag.bytes": "-1"}, False),
        ({"remote.copy.lag.ms": "-1"}, False),
        ({"remote.copy.lag.ms": "3600000", "remote.copy.lag.bytes": "0"}, True),
    ],
)
def test_what_waits_on_purpose_is_no_fault_to_look_for(lag, is_looked_at):
    source = directory(1)
    waiting = topic("t", (1,), configs=TIERED | lag, remote_copy_lag_bytes=90 * MIB)
    found = remote_copy_drafts(source, facts(source, waiting, replica(1, "/d1", "t", size=100 * MIB)))
    assert [draft.target["step"] for draft in found] == [STEP] * is_looked_at
