"""partitions_at_risk: one alert a cluster, counted once, internal topics first."""

import msgspec
import pytest

from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.identity import Origin, alert_id
from logdirwatch.model.records import PartitionHealth
from tests.unit.fleet.builders import SILENCE, T0, Driver, log_dir, state

Health = PartitionHealth


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


def test_the_alert_says_what_decided_it_and_what_is_known_of_the_brokers():
    driver = Driver().show(1, health=Health(sole_replica=2, at_min_isr=3)).show(2).show(3)
    driver.show(3, status="unknown", reason=SILENCE)
    driver.show(1, health=Health(under_min_isr=1, sole_replica=2, at_min_isr=4))
    last = driver.alerts[-1]
    assert (last.to_status, last.evidence["decided_by"]) == ("under_min_isr", "under_min_isr")
    assert (last.evidence["brokers"], last.evidence["unknown_brokers"], last.evidence["silent_brokers"]) == (3, 0, 1)
    assert [last.affected[name] for name in ("leaderless", "under_min_isr", "under_min_isr_at_most")] == [0, 1, 1]
    assert [last.affected[name] for name in ("at_min_isr", "at_min_isr_at_most", "sole_replica")] == [4, 4, 2]


def test_counts_at_the_minimum_are_a_bound_from_below_and_one_from_above():
    driver = Driver().show(1, health=Health(leaderless=1, at_min_isr=3))
    driver.show(2, health=Health(leaderless=1, at_min_isr=4))
    affected = driver.alerts[-1].affected
    assert (affected["at_min_isr"], affected["at_min_isr_at_most"]) == (4, 7)


@pytest.mark.parametrize("kind", ["leaderless", "under_min_isr", "sole_replica", "internal_leaderless"])
def test_each_count_in_danger_is_news_when_it_doubles(kind):
    first = {"leaderless": 3, "under_min_isr": 3, "sole_replica": 3, "internal_leaderless": 3}
    driver = Driver().show(1, health=Health(**first))
    driver.show(1, health=Health(**first | {kind: 5}))
    assert len(driver.alerts) == 1
    driver.show(1, health=Health(**first | {kind: 6}))
    assert len(driver.alerts) == 2


def test_partitions_at_their_minimum_alone_are_no_news():
    driver = Driver().show(1, health=Health(leaderless=3, at_min_isr=3))
    driver.show(1, health=Health(leaderless=3, at_min_isr=300))
    assert len(driver.alerts) == 1
