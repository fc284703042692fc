"""Situations of a night with a watcher that goes blind: an alert ends by evidence of health, never by silence."""

import pytest

from logdirwatch.detect import state_view
from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import POLL_MS, T0, Driver, host_dir, log_dir, metrics
from tests.unit.fleet.builders import Driver as FleetDriver
from tests.unit.situations.table import Conclusion, check_conclusion

HOUR_MS = 3_600_000
SILENCE_MS = 40_000


def _fails(driver, polls=4, **fields):
    for _ in range(polls):
        driver.poll(status="timeout", **fields)
    return driver


def _fenced(driver, polls=70):
    for _ in range(polls):
        at_ms = driver.at_ms + POLL_MS
        driver.poll(status="timeout", is_fenced=True, controller_at_ms=at_ms)
    return driver


def _blind(driver):
    """Nobody reports the broker any more."""
    return driver.wait(SILENCE_MS)


def _dies_after_the_broker(driver):
    _blind(_fails(driver.polls(0.5)))


def _dies_for_hours(driver):
    _blind(_fails(driver.polls(0.5)))
    for _ in range(5):
        driver.wait(HOUR_MS)


def _comes_back_and_the_broker_does_not(driver):
    _dies_after_the_broker(driver)
    _fails(driver, polls=1)


def _comes_back_and_the_broker_answers(driver):
    _dies_after_the_broker(driver)
    driver.polls(0.5)


def _another_collector_takes_over(driver):
    _dies_after_the_broker(driver)
    driver.poll(status="timeout", collector="b")


def _dies_while_a_broker_is_offline(driver):
    _blind(_fenced(driver.polls(0.5)))


def _broker_is_given_up_after_the_silence(driver):
    _fenced(_blind(_fails(driver.polls(0.5))))


def _dies_while_a_disk_fills(driver):
    _blind(driver.polls(0.5, 0.9, 0.9))


def _dies_while_a_disk_is_offline(driver):
    _blind(driver.polls(0.97, 0.98, 0.999, 1.0).poll(log_dir(error_code=56)))


def _dies_while_a_disk_is_suspect(driver):
    _blind(driver.polls(0.5).host(host_dir(probe_error="EIO")))


def _dies_while_a_partition_failed(driver):
    driver.polls(0.5).event("PartitionFailed", topic="t", partition=0)
    _blind(driver)
    driver.wait(48 * HOUR_MS)


def _a_partition_is_called_bad_once(driver):
    driver.polls(0.5).event("PartitionFailed", topic="t", partition=0)
    driver.at_ms += 48 * HOUR_MS
    driver.poll(log_dir(), partitions=PartitionHealth(out_of_sync=1))


def _a_partition_is_in_sync_again(driver):
    driver.polls(0.5).event("PartitionFailed", topic="t", partition=0)
    driver.at_ms += 48 * HOUR_MS
    driver.poll(log_dir(), partitions=PartitionHealth(out_of_sync=0))


def _a_disk_that_filled_goes_offline(driver):
    driver.polls(0.5, 0.9, 0.9).poll(log_dir(error_code=56))


def _silence_during_maintenance(driver):
    _fails(driver.polls(0.5))
    driver.plan(2 * HOUR_MS)
    _blind(driver)


def _maintenance_ends_in_the_dark(driver):
    _fails(driver.polls(0.5))
    driver.plan(10 * 60_000)
    _blind(driver)
    driver.wait(10 * 60_000)


def _one_of_two_collectors_dies(driver):
    for _ in range(4):
        driver.poll(status="timeout", collector="a")
        driver.show(metrics(driver.at_ms, status="timeout", collector="b"))
    for _ in range(10):
        driver.poll(status="timeout", collector="b")


def _grows(start, per_poll, polls):
    """A directory of 1000 GiB that fills by so much a poll (5 s)."""
    return lambda driver: driver.polls(*(start + per_poll * poll for poll in range(polls)))


def _sawtooth(driver):
    """Retention frees every few minutes what producers write meanwhile."""
    for _ in range(6):
        driver.polls(*(0.76 + 0.0005 * poll for poll in range(60)))


def _burst_that_is_over(driver):
    driver.polls(*(0.6 + 0.02 * poll for poll in range(10)))
    driver.polls(*[0.78] * 20)


def _one_copied_file(driver):
    driver.polls(0.5, 0.5, 0.8, 0.8, 0.8)


def _forecast_shortens(driver):
    driver.polls(*(0.76 + 0.00001 * poll for poll in range(60)))
    driver.polls(*(0.77 + 0.005 * poll for poll in range(15)))


def _answers_between_failures(driver):
    """Three times away within the hour, and back each time."""
    driver.polls(0.5)
    for _ in range(3):
        _fails(driver)
        driver.polls(0.5)


def _fails_while_held_open(driver):
    _answers_between_failures(driver)
    _fails(driver)


HELD = [
    Conclusion(
        "an alert is held open while its broker answers",
        _answers_between_failures,
        {"broker_unknown": None},
        says=("Broker 7 answers again since", "held open until"),
        never_says=("Broker 7 has not answered", "Broker 7 is unknown"),
    ),
    Conclusion(
        "the broker of an alert that is held open fails again",
        _fails_while_held_open,
        {"broker_unknown": None},
        says=("Broker 7 has not answered",),
        never_says=("answers again",),
    ),
]

SPACE = {"log_dir_space": None}
NO, YES = "can wait until morning: no", "can wait until morning: yes"

SEVERITIES = [
    Conclusion("full in a minute", _grows(0.6, 0.02, 12), SPACE, {"log_dir_space": "page"}, says=(NO, "full in")),
    Conclusion("full in minutes", _grows(0.5, 0.005, 56), SPACE, {"log_dir_space": "page"}, says=(NO,)),
    Conclusion("full in half an hour", _grows(0.4, 0.0005, 720), SPACE, {"log_dir_space": "page"}, says=(NO,)),
    Conclusion("full in hours, as far as is seen", _grows(0.76, 0.0001, 100), SPACE, {"log_dir_space": "warning"}),
    Conclusion("a sawtooth", _sawtooth, SPACE, {"log_dir_space": "warning"}, says=(YES,), never_says=("full in",)),
    Conclusion("a burst that is over", _burst_that_is_over, SPACE, {"log_dir_space": "warning"}, says=(YES,)),
    Conclusion("one copied file", _one_copied_file, SPACE, {"log_dir_space": "warning"}, says=(YES,)),
    Conclusion("it fills faster later", _forecast_shortens, SPACE, {"log_dir_space": "page"}, says=(NO, "full in")),
    Conclusion("at rest", lambda d: d.polls(*[0.8] * 9), SPACE, {"log_dir_space": "warning"}, says=(YES,)),
    Conclusion("at rest, critical", lambda d: d.polls(*[0.9] * 9), SPACE, {"log_dir_space": "critical"}, says=(YES,)),
    Conclusion("seen for the first time", lambda d: d.polls(0.9), SPACE, {"log_dir_space": "critical"}, says=(NO,)),
    Conclusion("saturated at rest", lambda d: d.polls(*[0.97] * 9), SPACE, {"log_dir_space": "page"}, says=(NO,)),
]

UNKNOWN = {"broker_unknown": None}
CRITICAL = {"broker_unknown": "critical"}
BLIND = ("did not answer (timeout", "now no collector reports it")

CONCLUSIONS = [
    Conclusion("the collector dies after the broker", _dies_after_the_broker, UNKNOWN, CRITICAL, says=BLIND),
    Conclusion("the collector stays away for hours", _dies_for_hours, UNKNOWN, CRITICAL, says=BLIND),
    Conclusion("the collector is back, the broker is not", _comes_back_and_the_broker_does_not, UNKNOWN, CRITICAL),
    Conclusion("the collector and the broker are back", _comes_back_and_the_broker_answers, {}),
    Conclusion("another collector sees the broker fail as well", _another_collector_takes_over, UNKNOWN, CRITICAL),
    Conclusion(
        "the collector dies while a broker is offline", _dies_while_a_broker_is_offline, {"broker_offline": None}
    ),
    Conclusion(
        "the controller gives the broker up after a silence",
        _broker_is_given_up_after_the_silence,
        {"broker_offline": None},
    ),
    Conclusion("the collector dies while a disk fills", _dies_while_a_disk_fills, {"log_dir_space": None}),
    Conclusion(
        "the collector dies while a disk is offline", _dies_while_a_disk_is_offline, {"log_dir_offline": "full"}
    ),
    Conclusion("the collector dies while a disk is suspect", _dies_while_a_disk_is_suspect, {"log_dir_suspect": None}),
    Conclusion(
        "the collector dies while a partition has failed", _dies_while_a_partition_failed, {"partition_failed": None}
    ),
    Conclusion(
        "a partition is called bad once and stays out of sync",
        _a_partition_is_called_bad_once,
        {"partition_failed": None},
    ),
    Conclusion("a partition that was called bad is in sync again", _a_partition_is_in_sync_again, {}),
    Conclusion("a silence while maintenance runs", _silence_during_maintenance, UNKNOWN, {"broker_unknown": "info"}),
    Conclusion("maintenance ends while nobody looks", _maintenance_ends_in_the_dark, UNKNOWN, CRITICAL),
    Conclusion("one of two collectors dies", _one_of_two_collectors_dies, UNKNOWN, CRITICAL),
]

HANDED_ON = [
    ("broker_unknown", "broker_offline", _broker_is_given_up_after_the_silence),
    ("log_dir_space", "log_dir_offline", _a_disk_that_filled_goes_offline),
]


@pytest.mark.parametrize("row", [*CONCLUSIONS, *SEVERITIES, *HELD], ids=lambda row: row.name)
def test_what_is_concluded(row):
    check_conclusion(row)


@pytest.mark.parametrize(("rule", "into", "given"), HANDED_ON)
def test_an_alert_that_another_takes_over_names_it(rule, into, given):
    driver = Driver()
    given(driver)
    ended = next(alert for alert in driver.alerts if alert.rule == rule and alert.status == "resolved")
    (told,) = driver.open_alerts()
    assert (told.rule, told.alert_id, ended.reason) == (into, ended.merged_into, "offline")


def test_what_nobody_sees_says_since_when():
    for given in (_dies_after_the_broker, _dies_while_a_disk_fills, _dies_while_a_partition_failed):
        driver = Driver()
        given(driver)
        assert all(alert.stale_since_ms is not None for alert in driver.open_alerts()), given


def test_the_watcher_goes_blind_while_a_broker_is_away_and_nobody_is_told_that_all_is_well():
    """``detect`` and ``fleet`` together: broker 7 does not answer, then the collector dies, and both come back."""
    detect, fleet, told = Driver().polls(0.5), FleetDriver(now_ms=T0, at_ms=T0), []
    others = (1, 2, 3)
    for broker in others:
        fleet.show(broker)

    def hand_over():
        fleet.now_ms = max(fleet.now_ms, detect.at_ms)
        fleet.take(state_view.state_record(detect.memory, []))
        told.extend(alert for alert in [*detect.alerts, *fleet.alerts] if alert not in told)

    _fails(detect)
    hand_over()
    _blind(detect)
    hand_over()
    fleet.silent(*others).wait(60_000)
    hand_over()
    assert [str(alert.status) for alert in told if alert.status == "resolved"] == []
    (of_broker,), (of_cluster,) = detect.open_alerts(), [a for a in fleet.alerts if a.status == "firing"]
    assert (of_broker.rule, of_broker.stale_since_ms is None) == ("broker_unknown", False)
    assert (of_cluster.broker, of_cluster.evidence["away_before"]) == (None, [7])
    detect.polls(0.5)
    for broker in others:
        fleet.show(broker, after_ms=60_000)
    hand_over()
    ended = {(alert.broker, alert.reason) for alert in told if alert.status == "resolved"}
    assert ended == {(7, "recovered"), (None, "recovered")}
