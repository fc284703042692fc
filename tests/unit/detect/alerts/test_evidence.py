"""Whose clients a lost directory or broker hurts, and what has still to catch up when it is back."""

import json

import msgspec
import pytest

from logdirwatch.detect import state_view
from logdirwatch.model.records import MetricsRecord, PartitionHealth
from tests.unit.detect.builders import T0, Driver, log_dir, metrics

HURT = PartitionHealth(under_min_isr=2, out_of_sync=2, hurt_topics=["__x", "orders"], hurt_groups=["billing"])
SAYS = "impacted: topics __x, orders; consumer groups billing; can wait until morning: no"


def names(alert):
    return {key: alert.affected[key] for key in ("hurt_topics", "hurt_groups")}


def test_a_lost_directory_names_who_is_hurt():
    driver = Driver().polls(0.5).poll(log_dir(error_code=56), partitions=HURT)
    (alert,) = driver.open_alerts()
    assert names(alert) == {"hurt_topics": ["__x", "orders"], "hurt_groups": ["billing"]}
    assert SAYS in alert.summary


def test_a_lost_broker_names_who_is_hurt():
    driver = Driver().poll(log_dir(), partitions=HURT)
    for _ in range(70):
        at_ms = driver.at_ms
        driver.poll(status="timeout", is_fenced=True, controller_at_ms=at_ms)
    (alert,) = driver.open_alerts()
    assert (alert.rule, names(alert)["hurt_groups"]) == ("broker_offline", ["billing"])
    assert SAYS in alert.summary


@pytest.mark.parametrize(
    ("left", "says"),
    [
        (2, ". 2 replicas still catching up: do not restart another broker yet"),
        (1, ". 1 replica still catching up: do not restart another broker yet"),
        (0, ""),
        (None, ""),
    ],
)
def test_a_directory_that_is_back_says_how_many_replicas_have_still_to_catch_up(left, says):
    driver = Driver().polls(0.5).poll(log_dir(error_code=56))
    driver.poll(log_dir(), partitions=PartitionHealth(out_of_sync=left))
    (ended,) = [alert for alert in driver.alerts if alert.status == "resolved"]
    assert ended.summary == f"Broker 7 /d1: recovered{says}"


def test_catching_up_is_no_news_and_another_danger_is():
    driver = Driver().poll(log_dir(), partitions=HURT)
    state_view.state_record(driver.memory, [])

    def has_news(**fields):
        driver.memory.partitions = msgspec.structs.replace(HURT, **fields)
        return state_view.has_news(driver.memory, 3_600_000)

    assert not has_news(out_of_sync=1)
    assert has_news(out_of_sync=1, hurt_groups=["audit"])
    assert has_news(under_min_isr=1)


def test_a_record_of_an_older_collector_tells_neither():
    document = json.loads(msgspec.json.encode(metrics(T0, log_dir(), partitions=PartitionHealth(leaderless=1))))
    for name in ("out_of_sync", "hurt_topics", "hurt_groups"):
        del document["partitions"][name]
    record = msgspec.convert(document, MetricsRecord)
    assert record.partitions == PartitionHealth(leaderless=1)
    assert record.partitions.hurt_topics is None
