"""partitions_at_risk: one alert a cluster, counted once, internal topics first."""

import msgspec
import pytest

from logdirwatch.fleet import rules
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.tally import Sums
from logdirwatch.model.identity import Origin, alert_id
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import Severity
from tests.unit.fleet.builders import SILENCE, T0, Driver, log_dir, state

Health = PartitionHealth


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        (Sums(brokers=3), None),
        (Sums(at_min_isr=9), None),
        (Sums(sole_replica=1), ("sole_replica", Severity.WARNING)),
        (Sums(sole_replica=1, under_min_isr=3), ("under_min_isr", Severity.CRITICAL)),
        (Sums(sole_replica=1, under_min_isr=3, leaderless=1), ("leaderless", Severity.PAGE)),
    ],
)
def test_the_worst_danger_decides_how_loud_it_is(sums, expected):
    assert rules.danger(sums) == expected


@pytest.mark.parametrize(
    ("healths", "leaderless", "expected"),
    [
        ([], 0, (0, 0)),
        # One partition with three replicas counts at three brokers.
        ([Health(under_min_isr=1)] * 3, 0, (1, 0)),
        ([Health(under_min_isr=2, at_min_isr=1), Health(under_min_isr=5, at_min_isr=4)], 0, (5, 4)),
        # Three partitions led by nobody are three, though no broker has two of them.
        ([Health(leaderless=1, under_min_isr=1)] * 3, 3, (3, 0)),
    ],
)
def test_a_partition_that_counts_at_each_replica_is_told_as_at_least(healths, leaderless, expected):
    assert rules.at_least(Sums(leaderless=leaderless), healths) == expected


def test_examples_name_internal_topics_first_and_then_what_is_worse():
    healths = [
        Health(leaderless=1, under_min_isr=2, examples=["a-0", "b-0", "at_min-0"]),
        Health(under_min_isr=3, examples=["__consumer_offsets-1", "a-0", "b-0"]),
        Health(sole_replica=2, examples=["__transaction_state-7", "c-0", "at_min-1"]),
        Health(at_min_isr=1, examples=["at_min-2"]),
    ]
    assert rules.examples(healths) == ["__consumer_offsets-1", "__transaction_state-7", "a-0", "b-0", "c-0"]


def test_no_more_than_twenty_examples_are_named():
    healths = [Health(sole_replica=20, examples=[f"t{broker}-{number}" for number in range(20)]) for broker in range(3)]
    assert len(rules.examples(healths)) == 20


def test_the_sums_over_all_brokers_are_one_alert():
    driver = Driver()
    driver.show(1, health=Health(leaderless=2, under_min_isr=2, internal_leaderless=1, examples=["__x-0", "a-0"]))
    alert = driver.alerts[0]
    assert driver.said() == [("partitions_at_risk", None, "firing", "page")]
    assert (alert.cluster, alert.broker, alert.log_dir, alert.to_status) == ("prod", None, None, "leaderless")
    driver.show(2, health=Health(leaderless=2, under_min_isr=3, examples=["b-0", "b-1"]))
    alert = driver.alerts[-1]
    assert (alert.revision, alert.alert_id) == (2, driver.alerts[0].alert_id)
    assert driver.firing() == [("partitions_at_risk", None)]
    assert alert.affected == {
        "leaderless": 4,
        "under_min_isr": 4,
        "under_min_isr_at_most": 5,
        "at_min_isr": 0,
        "at_min_isr_at_most": 0,
        "sole_replica": 0,
        "internal_leaderless": 1,
        "examples": ["__x-0", "a-0", "b-0", "b-1"],
        "hurt_topics": None,
        "hurt_groups": None,
    }
    assert alert.summary == (
        "Cluster prod: 4 partitions without a leader (1 of internal topics), at least 4 partitions with too few in-sync"
        " replicas, among them __x-0, a-0, b-0; can wait until morning: no, because partitions without "
        "a leader cannot be read or written"
    )


def test_the_alert_follows_its_severity_both_ways_and_ends_when_all_is_well():
    driver = Driver().show(1, health=Health(sole_replica=1)).show(1, health=Health(under_min_isr=1))
    driver.show(1, health=Health(leaderless=1)).show(1, health=Health(sole_replica=1)).show(1)
    assert [what for _, _, _, what in driver.said()] == ["warning", "critical", "page", "warning", "recovered"]
    assert [alert.revision for alert in driver.alerts] == [1, 2, 3, 4, 5]
    assert "can wait until morning: yes" in driver.alerts[0].summary
    assert driver.memory.alerts == {}


def test_a_blip_fires_nothing_and_a_short_calm_ends_nothing():
    bad = Health(leaderless=1)
    driver = Driver(settings=FleetSettings()).show(1, health=bad).show(1, after_ms=9_000)
    driver.show(1, health=bad, after_ms=1_000).show(1, health=bad, after_ms=9_000)
    assert driver.alerts == []
    driver.show(2, after_ms=1_000)
    assert driver.said() == [("partitions_at_risk", None, "firing", "page")]
    driver.show(1, after_ms=1_000).show(1, health=bad, after_ms=119_000).show(1, after_ms=1_000)
    assert len(driver.alerts) == 1
    driver.show(1, after_ms=120_000)
    assert driver.said()[-1] == ("partitions_at_risk", None, "resolved", "recovered")


def test_small_moves_of_the_numbers_wait_and_large_ones_do_not():
    driver = Driver().show(1, health=Health(leaderless=10))
    driver.show(1, health=Health(leaderless=19), after_ms=59_000)
    assert len(driver.alerts) == 1
    driver.show(1, health=Health(leaderless=20))
    assert driver.alerts[-1].affected["leaderless"] == 20
    driver.show(1, health=Health(leaderless=21), after_ms=60_000)
    assert len(driver.alerts) == 2, "five in a hundred is no news"
    driver.show(1, health=Health(leaderless=22))
    assert driver.alerts[-1].affected["leaderless"] == 22


def test_a_broker_of_which_nothing_is_known_is_said_not_counted_as_well():
    driver = Driver().show(1, health=Health(leaderless=1))
    driver.take(msgspec.structs.replace(state(9), partitions=None))
    driver.show(1, health=Health(leaderless=2))
    assert driver.alerts[-1].evidence["unknown_brokers"] == 1


def test_a_silent_broker_counts_as_it_was_last_seen():
    driver = Driver().show(1).show(2, health=Health(leaderless=1))
    driver.show(2, status="unknown", reason=SILENCE, health=Health(leaderless=1))
    assert driver.firing() == [("partitions_at_risk", None)]


def test_the_identity_is_that_of_the_record_that_opened_it():
    driver = Driver().show(1).show(2, health=Health(leaderless=1))
    origin = str(Origin("logdir.state", 0, 1, T0))
    assert driver.alerts[0].alert_id == alert_id("prod", None, None, "partitions_at_risk", origin)


def test_whose_clients_are_hurt_is_told_of_all_brokers_and_in_the_summary():
    driver = Driver()
    driver.show(1, health=Health(under_min_isr=1, hurt_topics=["orders"], hurt_groups=["billing"]))
    driver.show(2, health=Health(under_min_isr=3, hurt_topics=["__consumer_offsets", "orders"], hurt_groups=None))
    driver.show(3, health=Health(leaderless=2, hurt_topics=["clicks"], hurt_groups=["audit", "billing"]))
    affected, summary = driver.alerts[-1].affected, driver.alerts[-1].summary
    assert affected["hurt_topics"] == ["__consumer_offsets", "clicks", "orders"]
    assert affected["hurt_groups"] == ["audit", "billing"]
    assert "impacted: topics __consumer_offsets, clicks, orders; consumer groups audit, billing; can wait" in summary


def test_no_more_than_twenty_who_are_hurt_are_named():
    told = [[f"t{broker}-{number:02}" for number in range(20)] for broker in range(3)]
    assert rules.hurt([None, *told]) == told[0]
    assert rules.hurt([None, None]) is None


def test_a_directory_that_is_back_ends_no_alert_of_partitions_that_lack_in_sync_replicas():
    driver = Driver()
    driver.show(7, log_dir(status="offline"), status="degraded", health=Health(under_min_isr=4, out_of_sync=4))
    driver.show(7, log_dir(), health=Health(under_min_isr=4, out_of_sync=4))
    assert driver.firing() == [("partitions_at_risk", None)]
    driver.show(7, log_dir(), health=Health(under_min_isr=1, out_of_sync=1))
    assert driver.firing() == [("partitions_at_risk", None)]
    driver.show(7, log_dir(), health=Health(out_of_sync=0))
    assert driver.said()[-1] == ("partitions_at_risk", None, "resolved", "recovered")


def test_five_restarts_in_a_row_are_no_five_alerts():
    driver = Driver(FleetSettings(risk_after_ms=0))
    for _ in range(5):
        driver.show(1, health=PartitionHealth(under_min_isr=3), after_ms=60_000)
        for _ in range(30):
            driver.show(1, after_ms=10_000)
    opened = {alert.alert_id for alert in driver.alerts}
    assert len(opened) == 3
    last = driver.alerts[-1]
    assert (last.status, last.evidence["flapping"]) == ("firing", 3)
    assert "no partitions_at_risk since" in last.summary
    assert "ended 3 times within an hour, held open until" in last.summary
    driver.show(1, health=PartitionHealth(under_min_isr=3), after_ms=60_000)
    assert "too few in-sync replicas" in driver.alerts[-1].summary, "what is wrong again is not called over"
    for _ in range(61):
        driver.show(1, after_ms=10_000)
    assert driver.said()[-1] == ("partitions_at_risk", None, "resolved", "recovered")


def test_dangers_that_follow_each_other_closely_are_one_alert():
    driver = Driver(FleetSettings(risk_after_ms=0))
    for _ in range(5):
        driver.show(1, health=PartitionHealth(leaderless=1), after_ms=30_000)
        driver.show(1, after_ms=30_000)
    assert len({alert.alert_id for alert in driver.alerts}) == 1
