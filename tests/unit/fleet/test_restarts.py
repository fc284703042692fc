"""A rolling restart is one note; what stays away is not part of it."""

import pytest

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.records import Transition
from tests.unit.fleet.builders import T0, Driver, log_dir

MINUTE_MS = 60_000
WINDOW_MS = FleetSettings().restart_window_ms
UNSEEN = log_dir(status="unknown", last_status="online")


def step(broker, to, at_ms, path=None):
    return Transition(
        transition_id=f"{broker}-{to}-{at_ms}",
        cluster="prod",
        broker=broker,
        log_dir=path,
        from_status=None,
        to_status=to,
        reason="said so",
        at_ms=at_ms,
        origin="o",
    )


@pytest.fixture
def driver():
    driver = Driver(settings=FleetSettings(update_interval_ms=0))
    for broker in (1, 2, 3, 4):
        driver.show(broker)
    return driver


def leave(driver, broker, after_ms=MINUTE_MS, **fields):
    at_ms = driver.at_ms + after_ms
    steps = [step(broker, "unknown", at_ms, "/d1"), step(broker, "offline", at_ms)]
    return driver.show(broker, UNSEEN, after_ms=after_ms, status="offline", transitions=steps, **fields)


def back(driver, broker, after_ms=MINUTE_MS, status="online"):
    steps = [step(broker, status, driver.at_ms + after_ms)]
    return driver.show(broker, after_ms=after_ms, status=status, transitions=steps)


def restart(driver, broker, away_ms=MINUTE_MS):
    return back(leave(driver, broker), broker, away_ms)


def test_the_restart_of_one_broker_is_no_news(driver):
    assert restart(driver, 1).said() == []


def test_brokers_away_and_back_one_after_the_other_are_one_note(driver):
    for broker in (1, 2, 3):
        restart(driver, broker, 90_000)
    assert {(alert.rule, alert.broker, alert.severity, alert.status) for alert in driver.alerts} == {
        ("broker_offline", None, "info", "firing")
    }
    assert len({alert.alert_id for alert in driver.alerts}) == 1
    note = driver.alerts[-1]
    assert "Cluster prod: rolling restart: 3 of 4 brokers were away for at most 1 min 30 s and are back (1, 2, 3)" in (
        note.summary
    )
    assert note.affected == {"brokers": 3, "examples": ["1", "2", "3"]}
    assert note.evidence["longest_away_ms"] == 90_000


@pytest.mark.parametrize(
    ("until_ms", "severity", "says"),
    [
        (None, "warning", "3 brokers were lost at the same time: 3 of 4"),
        (T0 + WINDOW_MS, "info", "rolling restart: 3 of 4"),
    ],
)
def test_brokers_away_at_the_same_time_are_no_rolling_restart_unless_planned(driver, until_ms, severity, says):
    for broker in (1, 2, 3):
        leave(driver, broker, 1_000, maintenance_until_ms=until_ms)
    for broker in (1, 2, 3):
        steps = [step(broker, "online", driver.at_ms + 1_000)]
        driver.show(broker, after_ms=1_000, transitions=steps, maintenance_until_ms=until_ms)
    note = driver.alerts[-1]
    assert (str(note.severity), says in note.summary) == (severity, True)


def test_the_note_says_who_is_away_now(driver):
    restart(restart(driver, 1), 2)
    leave(driver, 3)
    restart(driver, 4)
    assert "are back (1, 2, 4), 1 more is away now" in driver.alerts[-1].summary


def test_it_ends_when_no_broker_was_restarted_for_a_while(driver):
    restart(restart(driver, 1), 2)
    driver.show(3, after_ms=WINDOW_MS - 1)
    assert driver.firing() == [("broker_offline", None)]
    driver.show(3, after_ms=1)
    assert driver.said()[-1] == ("broker_offline", None, "resolved", "over")
    assert driver.memory.restarts == {}


def test_restarts_far_apart_are_no_rolling_restart(driver):
    restart(driver, 1)
    driver.show(3, after_ms=WINDOW_MS)
    assert restart(driver, 2).said() == []


def test_one_broker_that_restarts_again_and_again_is_none(driver):
    for _ in range(5):
        restart(driver, 1)
    assert driver.said() == []


def test_a_broker_that_was_away_longer_than_the_grace_is_no_part_of_it(driver):
    restart(driver, 1, DetectSettings().broker_offline_grace_ms)
    assert restart(driver, 2).said() == []


def test_one_that_recovered_its_logs_may_take_longer(driver):
    leave(driver, 1)
    driver.show(1, UNSEEN, after_ms=MINUTE_MS, status="offline", recovering_logs=70)
    back(driver, 1, 20 * MINUTE_MS)
    assert restart(driver, 2).firing() == [("broker_offline", None)]


def test_only_the_controllers_word_is_a_restart(driver):
    for broker in (1, 2, 3):
        driver.show(broker, UNSEEN, status="unknown", transitions=[step(broker, "unknown", driver.at_ms)])
        back(driver, broker)
    assert driver.said() == []


def test_one_that_is_let_in_before_it_answers_is_away_until_it_answers(driver):
    leave(driver, 1)
    driver.show(1, UNSEEN, status="unknown", transitions=[step(1, "unknown", driver.at_ms)])
    back(driver, 1, status="degraded")
    assert restart(driver, 2).firing() == [("broker_offline", None)]
    assert driver.alerts[0].evidence["since_ms"] == T0 + MINUTE_MS


def test_a_restart_within_one_record_counts(driver):
    for broker in (1, 2):
        at_ms = driver.at_ms + MINUTE_MS
        steps = [step(broker, "offline", at_ms - 20_000), step(broker, "online", at_ms)]
        driver.show(broker, after_ms=MINUTE_MS, transitions=steps)
    assert driver.firing() == [("broker_offline", None)]
    assert driver.alerts[0].evidence["longest_away_ms"] == 20_000


def test_a_window_of_nothing_turns_it_off():
    driver = Driver(settings=FleetSettings(restart_window_ms=0))
    for broker in (1, 2, 3):
        restart(driver.show(broker), broker)
    assert driver.said() == []


def test_a_broker_that_is_gone_was_not_restarted(driver):
    restart(driver, 1)
    driver.gone(1)
    assert restart(driver, 2).said() == []


def test_the_note_ends_with_the_last_broker_of_a_cluster(driver):
    restart(restart(driver, 1), 2)
    for broker in (1, 2, 3, 4):
        driver.gone(broker)
    assert driver.firing() == []


def test_a_broker_that_crashes_again_and_again_is_not_restarted_in_turn(driver):
    for _ in range(8):
        restart(driver, 1)
    driver.show(1, after_ms=MINUTE_MS, is_crash_looping=True)
    assert restart(driver, 2).said() == []
    assert restart(driver, 3).said() != []
    assert "(2, 3)" in driver.alerts[-1].summary
