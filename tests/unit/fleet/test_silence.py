"""Silence: one alert for a cluster, one each for brokers, and who comes back."""

import msgspec
import pytest

from logdirwatch.detect.alerts.lifecycle import RENEWED_AFTER_MS
from logdirwatch.fleet import machine, silence
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.identity import alert_id
from logdirwatch.model.records import PartitionHealth
from tests.unit.fleet.builders import SILENCE, T0, Driver, filling, log_dir

GATHER_MS = FleetSettings().silence_gather_ms
ALL = (1, 2, 3)
ONE_FOR_ALL = [("broker_unknown", None)]


def watched(*brokers):
    driver = Driver()
    for broker in brokers or ALL:
        driver.show(broker)
    return driver


def test_nothing_is_said_before_it_is_known_who_is_silent():
    driver = watched().silent(1).wait(GATHER_MS - 1)
    assert driver.alerts == []
    assert machine.next_deadline_ms(driver.memory, driver.settings) == T0 + GATHER_MS


def test_one_silent_broker_is_an_alert_of_its_own():
    driver = watched().silent(2).wait(GATHER_MS)
    (alert,) = driver.alerts
    assert driver.said() == [("broker_unknown", 2, "firing", "critical")]
    assert (alert.from_status, alert.to_status, alert.at_ms) == (None, "unknown", T0 + GATHER_MS)
    assert alert.alert_id == alert_id("prod", 2, None, "broker_unknown", f"silence/{T0}/2/0")
    assert alert.evidence["fullest"] == {"log_dir": "/d1", "used_ratio": 0.5}
    assert "while 2 of the cluster's 3 are reported; last seen: /d1 at 50.0 %; can wait" in alert.summary
    assert machine.next_deadline_ms(driver.memory, driver.settings) is None
    assert len(driver.wait(GATHER_MS).alerts) == 1


def test_a_whole_silent_cluster_is_one_alert_though_its_timers_run_out_one_after_the_other():
    driver = watched()
    for broker in ALL:
        driver.silent(broker).wait(6_000)
    (alert,) = driver.wait(GATHER_MS).alerts
    assert driver.said() == [("broker_unknown", None, "firing", "critical")]
    assert (alert.from_status, alert.to_status) == (None, "unknown")
    assert alert.alert_id == alert_id("prod", None, None, "broker_unknown", f"silence/{T0}/1")
    assert "reports any of its 3 brokers any more" in alert.summary
    assert driver.wait(10 * GATHER_MS).firing() == ONE_FOR_ALL
    assert len(driver.alerts) == 1


def test_the_only_broker_of_a_cluster_is_the_cluster():
    driver = watched(1).silent(1).wait(GATHER_MS)
    assert driver.firing() == ONE_FOR_ALL
    assert "no collector reports its only broker any more" in driver.alerts[-1].summary


@pytest.mark.parametrize("seconds", [1, 100])
def test_when_the_last_broker_falls_silent_late_the_single_alerts_are_merged(seconds):
    driver = watched().silent(1, 2).wait(GATHER_MS)
    assert driver.firing() == [("broker_unknown", 1), ("broker_unknown", 2)]
    driver.wait(seconds * 1000).silent(3).wait(GATHER_MS)
    assert driver.firing() == ONE_FOR_ALL
    merged = [alert for alert in driver.alerts if alert.reason == "merged"]
    assert [alert.broker for alert in merged] == [1, 2]
    assert {alert.merged_into for alert in merged} == {driver.alerts[2].alert_id}


def test_the_last_reported_broker_may_also_leave_by_a_tombstone():
    driver = watched().silent(1, 2).wait(GATHER_MS).gone(3).wait(0)
    assert driver.firing() == ONE_FOR_ALL


@pytest.mark.parametrize(("status", "reason"), [("online", "answers"), ("degraded", "offline: /d1")])
def test_only_an_answer_ends_it(status, reason):
    driver = watched().silent(2).wait(GATHER_MS).show(1).show(3)
    assert driver.firing() == [("broker_unknown", 2)]
    driver.show(2, status=status, reason=reason, after_ms=1_000)
    last = driver.alerts[-1]
    assert (last.broker, last.status, last.reason, last.to_status) == (2, "resolved", "recovered", status)


@pytest.mark.parametrize(
    ("status", "reason", "rule"),
    [("offline", "fenced by the controller", "broker_offline"), ("unknown", "timeout: no answer", "broker_unknown")],
)
def test_a_broker_that_is_reported_again_and_does_not_answer_keeps_its_alert_until_another_says_so(
    status, reason, rule
):
    driver = watched().silent(2).wait(GATHER_MS).show(2, status=status, reason=reason, after_ms=1_000)
    last = driver.alerts[-1]
    assert (last.status, last.to_status) == ("firing", status)
    assert f"Broker 2 is reported again, but does not answer ({reason})" in last.summary
    driver.show(2, status=status, reason=reason, absence_alerts={rule: "of detect"}, after_ms=1_000)
    last = driver.alerts[-1]
    assert (last.status, last.reason, last.merged_into) == ("resolved", "merged", "of detect")
    assert last.to_status == status


def test_a_silent_broker_that_has_an_alert_already_gets_no_second_one():
    told = {"status": "unknown", "absence_alerts": {"broker_unknown": "of detect"}}
    driver = watched().show(2, **told, reason=SILENCE).wait(GATHER_MS)
    assert driver.alerts == []
    assert machine.next_deadline_ms(driver.memory, driver.settings) is None


def test_the_alert_of_a_silent_cluster_names_who_was_away_before():
    told = {"status": "unknown", "absence_alerts": {"broker_unknown": "of detect"}}
    driver = watched().show(2, **told, reason=SILENCE).silent(1, 3).wait(GATHER_MS)
    assert driver.firing() == ONE_FOR_ALL
    assert driver.alerts[-1].evidence["away_before"] == [2]
    assert "broker 2 did not answer before that" in driver.alerts[-1].summary


def test_a_cluster_of_which_a_broker_is_reported_again_but_does_not_answer_is_not_well():
    driver = watched().silent(*ALL).wait(GATHER_MS)
    failed = {"status": "unknown", "reason": "timeout: no answer"}
    driver.show(1, after_ms=1_000).show(2).show(3, **failed)
    assert driver.firing() == ONE_FOR_ALL
    driver.wait(GATHER_MS)
    assert driver.firing() == [("broker_unknown", 3)]
    assert driver.said()[-1] == ("broker_unknown", None, "resolved", "narrowed")
    driver.show(3, **failed, absence_alerts={"broker_unknown": "of detect"})
    assert driver.said()[-1] == ("broker_unknown", 3, "resolved", "merged")


def test_a_silence_that_is_told_again_does_not_begin_anew():
    driver = watched().silent(1).wait(10_000).silent(1).wait(GATHER_MS - 10_000)
    assert driver.firing() == [("broker_unknown", 1)]


def test_a_broker_that_fails_its_polls_is_not_silent():
    driver = watched().show(1, status="unknown", reason="timeout: no answer").wait(GATHER_MS)
    assert driver.alerts == []


def test_a_broker_that_is_back_in_time_was_never_silent():
    driver = watched().silent(1).wait(10_000).show(1).silent(1).wait(GATHER_MS - 1)
    assert driver.alerts == []


def test_a_cluster_that_is_reported_again_ends_its_alert_once_all_are_back():
    driver = watched().silent(*ALL).wait(GATHER_MS).show(1, after_ms=1_000).wait(5_000).show(2)
    assert driver.firing() == ONE_FOR_ALL
    driver.show(3)
    assert driver.said()[-1] == ("broker_unknown", None, "resolved", "recovered")
    assert len(driver.alerts) == 2
    assert driver.alerts[-1].at_ms == driver.alerts[0].at_ms, "an alert's time does not go back to the record's"


def test_those_that_do_not_come_back_get_their_own_alerts():
    driver = watched().silent(*ALL).wait(GATHER_MS).show(1, after_ms=1_000).wait(GATHER_MS - 1)
    assert driver.firing() == ONE_FOR_ALL
    driver.wait(1)
    assert driver.firing() == [("broker_unknown", 2), ("broker_unknown", 3)]
    assert driver.said()[-1] == ("broker_unknown", None, "resolved", "narrowed")


def test_those_that_are_back_and_go_on_being_reported_do_not_put_it_off():
    driver = watched().silent(*ALL).wait(GATHER_MS).show(1, after_ms=1_000)
    driver.wait(GATHER_MS - 1).show(1, after_ms=1_000).wait(1)
    assert driver.firing() == [("broker_unknown", 2), ("broker_unknown", 3)]


def test_a_cluster_that_falls_silent_again_meanwhile_keeps_its_alert():
    driver = watched().silent(*ALL).wait(GATHER_MS).show(1, after_ms=1_000).wait(5_000).silent(1).wait(GATHER_MS)
    assert driver.firing() == ONE_FOR_ALL
    assert len(driver.alerts) == 1
    assert machine.next_deadline_ms(driver.memory, driver.settings) == driver.alerts[0].at_ms + RENEWED_AFTER_MS


def test_what_speaks_of_the_cluster_says_since_when_nobody_looks_and_goes_on_when_somebody_does():
    bad = PartitionHealth(leaderless=1)
    unseen = log_dir(used=0.8, status="unknown", last_status="filling")
    driver = Driver()
    for broker in ALL:
        driver.show(broker, filling(), health=bad)
    assert driver.firing() == [("fleet_space", None), ("partitions_at_risk", None)]
    for broker in ALL:
        driver.show(broker, unseen, status="unknown", reason=SILENCE, health=bad)
    driver.wait(GATHER_MS)
    stale = {str(alert.rule): alert.stale_since_ms for alert in driver.alerts[-2:]}
    assert stale == {"partitions_at_risk": T0, "fleet_space": T0}
    driver.show(1, filling(), health=bad, after_ms=1_000)
    assert [(alert.status, alert.stale_since_ms) for alert in driver.alerts[-2:]] == [("firing", None)] * 2


def test_a_silence_told_again_after_it_was_merged_is_another_alert():
    driver = watched(1, 2).silent(1).wait(GATHER_MS).gone(2).wait(0)
    driver.show(2, after_ms=1_000).wait(GATHER_MS).gone(2).wait(0)
    opened = [(alert.broker, alert.alert_id) for alert in driver.alerts if alert.revision == 1]
    assert [broker for broker, _ in opened] == [1, None, 1, None]
    assert len(set(opened)) == 4


def test_a_removed_broker_takes_its_alert_along_and_the_last_one_the_clusters():
    driver = watched(1, 2).silent(1).wait(GATHER_MS).gone(1)
    assert driver.said()[-1] == ("broker_unknown", 1, "resolved", "removed")
    driver.show(2, health=PartitionHealth(leaderless=1)).silent(2).wait(GATHER_MS)
    driver.gone(2)
    assert driver.firing() == []
    assert driver.memory.brokers == {}


def test_an_old_record_does_not_bring_a_removed_broker_back():
    driver = watched(1, 2).gone(1)
    old = driver.memory.gone[1]
    driver.show(1, sequence=old[0], at_ms=old[1])
    assert set(driver.memory.brokers) == {2}
    driver.show(1, sequence=old[0] + 1, at_ms=old[1])
    assert set(driver.memory.brokers) == {1, 2}
    assert driver.memory.gone == {}


def test_a_detect_that_counts_from_one_again_is_heard():
    driver = watched(1)
    driver.show(1, sequence=50)
    driver.show(1, sequence=1, after_ms=1_000, status="degraded", reason="offline: /d1")
    assert driver.memory.brokers[1].status == "degraded"


PLANNED_MS = 10 * 60_000


def planned(driver, broker, until_ms=T0 + PLANNED_MS):
    """The broker falls silent while its maintenance runs."""
    return driver.show(
        broker, log_dir(status="unknown"), status="unknown", reason=SILENCE, maintenance_until_ms=until_ms
    )


def severities(driver):
    return [(alert.broker, alert.status, alert.severity) for alert in driver.alerts]


def test_a_broker_that_is_silent_as_planned_is_a_note_until_the_time_is_over():
    driver = planned(Driver().show(1).show(2), 1).wait(GATHER_MS)
    assert severities(driver) == [(1, "firing", "info")]
    assert "yes, because it is planned" in driver.alerts[0].summary
    assert driver.wait(PLANNED_MS - GATHER_MS - 1).alerts[1:] == []
    driver.wait(1)
    assert severities(driver)[1:] == [(1, "firing", "critical")]
    assert driver.alerts[0].alert_id == driver.alerts[1].alert_id
    assert machine.next_deadline_ms(driver.memory, driver.settings) is None


def test_maintenance_that_ends_early_makes_a_silent_broker_loud_at_once():
    driver = planned(Driver().show(1).show(2), 1).wait(GATHER_MS).silent(1)
    assert severities(driver) == [(1, "firing", "info"), (1, "firing", "critical")]


def test_maintenance_of_a_broker_that_is_silent_already_makes_its_alert_quiet():
    driver = planned(Driver().show(1).show(2).silent(1).wait(GATHER_MS), 1)
    assert severities(driver) == [(1, "firing", "critical"), (1, "firing", "info")]


def test_a_silent_cluster_is_a_note_only_while_all_its_brokers_are_planned():
    driver = planned(planned(Driver().show(1).show(2), 1), 2, T0 + 2 * PLANNED_MS).wait(GATHER_MS)
    assert severities(driver) == [(None, "firing", "info")]
    driver.wait(PLANNED_MS)
    assert severities(driver)[1:] == [(None, "firing", "critical")]
    assert machine.next_deadline_ms(driver.memory, driver.settings) == driver.now_ms + RENEWED_AFTER_MS


def test_a_cluster_of_which_one_broker_is_planned_is_an_alert():
    driver = planned(Driver().show(1).show(2).silent(2), 1).wait(GATHER_MS)
    assert severities(driver) == [(None, "firing", "critical")]


def test_a_silent_broker_is_told_with_its_host():
    driver = Driver().show(1).show(2, host="h1")
    driver.show(2, log_dir(status="unknown"), status="unknown", reason=SILENCE, at_ms=driver.at_ms, host="h1")
    driver.wait(GATHER_MS)
    assert driver.alerts[0].evidence["host"] == "h1"


def test_an_alert_that_fires_on_unchanged_is_written_anew_each_week():
    driver = watched().silent(2).wait(GATHER_MS)
    (first,) = driver.alerts
    driver.show(1, at_ms=first.at_ms + RENEWED_AFTER_MS - 1)
    assert driver.alerts == [first]
    driver.show(3, at_ms=first.at_ms + RENEWED_AFTER_MS)
    assert driver.alerts == [first, msgspec.structs.replace(first, revision=2, at_ms=first.at_ms + RENEWED_AFTER_MS)]
    driver.show(1, at_ms=first.at_ms + RENEWED_AFTER_MS + 1)
    assert len(driver.alerts) == 2


def test_the_alerts_of_a_cluster_that_nobody_reports_are_written_anew_by_its_timer():
    driver = watched().silent(*ALL).wait(GATHER_MS)
    (first,) = driver.alerts
    assert machine.next_deadline_ms(driver.memory, driver.settings) == first.at_ms + RENEWED_AFTER_MS
    assert driver.wait(RENEWED_AFTER_MS - 1).alerts == [first]
    assert [(a.revision, a.status, a.at_ms) for a in driver.wait(1).alerts[1:]] == [(2, "firing", driver.now_ms)]
    assert machine.next_deadline_ms(driver.memory, driver.settings) == driver.now_ms + RENEWED_AFTER_MS


def test_a_silence_that_seems_to_begin_in_the_future_is_waited_for_from_now_on():
    driver = watched().silent(2)
    driver.now_ms -= 3_600_000
    driver._with(lambda context: silence.follow_clock(context, driver.now_ms))
    assert machine.next_deadline_ms(driver.memory, driver.settings) == driver.now_ms + GATHER_MS
    assert driver.wait(GATHER_MS).firing() == [("broker_unknown", 2)]


def test_so_are_brokers_of_a_silent_cluster_that_come_back_one_by_one():
    driver = watched().silent(*ALL).wait(GATHER_MS).show(1)
    driver.now_ms -= 3_600_000
    driver._with(lambda context: silence.follow_clock(context, driver.now_ms))
    assert driver.memory.regather_ms == driver.now_ms + GATHER_MS
