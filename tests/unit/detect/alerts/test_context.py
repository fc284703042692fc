"""Which transitions are written, with which statuses, time and cause, and what is remembered of them."""

import pytest

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, OpenAlert
from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, Rule, Severity
from tests.unit.detect.builders import T0, Driver, log_dir

MOMENT = EvidenceTime(T0 + 5, "logdir.metrics/0/1")
LATER = EvidenceTime(T0 + 9, "logdir.metrics/0/2")


def context(log_dir=None, settings=None, **broker):
    dirs = {} if log_dir is None else {"/d1": log_dir}
    memory = BrokerMemory(cluster="prod", broker=7, log_dirs=dirs, **broker)
    return BrokerContext(memory, settings or DetectSettings())


def known(status=LogDirStatus.ONLINE, **fields):
    return LogDirMemory(status=status, reason="answers", since_ms=T0, **fields)


def told(made):
    return [(t.log_dir, t.from_status, t.to_status, t.cause, t.reason, t.at_ms) for t in made.outcome().transitions]


def test_a_directory_at_first_sight_comes_from_no_status():
    made = context(LogDirMemory())
    assert made.set_log_dir("/d1", LogDirStatus.ONLINE, "answers", MOMENT) is None
    assert told(made) == [("/d1", None, "online", None, "answers", T0 + 5)]
    log_dir = made.memory.log_dirs["/d1"]
    assert (log_dir.status, log_dir.since_ms, log_dir.reason) == (LogDirStatus.ONLINE, T0 + 5, "answers")


def test_a_directory_that_is_unknown_at_first_sight_is_told_too():
    made = context(LogDirMemory())
    assert made.set_log_dir("/d1", LogDirStatus.UNKNOWN, "timeout", MOMENT) is None
    assert told(made) == [("/d1", None, "unknown", None, "timeout", T0 + 5)]


def test_the_same_status_is_no_transition_and_keeps_its_time_but_takes_the_reason():
    made = context(known())
    assert made.set_log_dir("/d1", LogDirStatus.ONLINE, "other", LATER) is LogDirStatus.ONLINE
    assert told(made) == []
    assert (made.memory.log_dirs["/d1"].since_ms, made.memory.log_dirs["/d1"].reason) == (T0, "other")


@pytest.mark.parametrize(("to", "cause"), [(LogDirStatus.OFFLINE, Cause.FULL), (LogDirStatus.UNKNOWN, None)])
def test_only_an_offline_directory_has_a_cause(to, cause):
    made = context(known(cause=Cause.FULL))
    assert made.set_log_dir("/d1", to, "why", MOMENT) is LogDirStatus.ONLINE
    assert told(made) == [("/d1", "online", to, cause, "why", T0 + 5)]


def test_a_removed_directory_is_forgotten_and_its_alerts_end():
    alert = OpenAlert(
        alert_id="a", revision=1, severity=Severity.WARNING, opened_at_ms=T0, from_status=None, to_status=None
    )
    made = context(known(alerts={Rule.LOG_DIR_SPACE: alert}))
    made.remove_log_dir("/d1", "removed", MOMENT)
    assert made.memory.log_dirs == {}
    assert told(made) == [("/d1", "online", "removed", None, "removed", T0 + 5)]
    (ended,) = made.outcome().alerts
    assert (ended.alert_id, ended.status, ended.reason, ended.at_ms) == ("a", "resolved", "removed", T0 + 5)


def test_a_broker_that_was_never_judged_comes_from_no_status():
    made = context(status=BrokerStatus.UNKNOWN)
    made.set_broker(BrokerStatus.UNKNOWN, "timeout", MOMENT)
    assert told(made) == [(None, None, "unknown", None, "timeout", T0 + 5)]
    assert (made.memory.is_judged, made.memory.reason, made.memory.since_ms) == (True, "timeout", T0 + 5)


def test_a_broker_that_keeps_its_status_only_takes_the_reason():
    made = context(status=BrokerStatus.ONLINE, is_judged=True, since_ms=T0, reason="answers")
    made.set_broker(BrokerStatus.ONLINE, "other", MOMENT)
    assert told(made) == []
    assert (made.memory.since_ms, made.memory.reason) == (T0, "other")
    made.set_broker(BrokerStatus.OFFLINE, "fenced", LATER)
    assert told(made) == [(None, "online", "offline", None, "fenced", T0 + 9)]
    assert (made.memory.status, made.memory.since_ms) == (BrokerStatus.OFFLINE, T0 + 9)


@pytest.mark.parametrize("is_judged", [True, False])
def test_the_removal_of_a_broker_is_told_only_if_it_was_ever_judged(is_judged):
    made = context(status=BrokerStatus.ONLINE, is_judged=is_judged)
    made.remove_broker("gone", MOMENT)
    assert told(made) == ([(None, "online", "removed", None, "gone", T0 + 5)] if is_judged else [])
    memory = made.memory
    assert (memory.status, memory.is_judged, memory.reason) == (BrokerStatus.UNKNOWN, False, "gone")


def test_a_transition_says_where_it_comes_from_and_two_of_them_never_have_one_id():
    ids = set()
    for moment, path, status in (
        (MOMENT, "/d1", LogDirStatus.ONLINE),
        (LATER, "/d1", LogDirStatus.ONLINE),
        (EvidenceTime(T0 + 5, "logdir.metrics/0/2"), "/d1", LogDirStatus.ONLINE),
        (MOMENT, "/d1", LogDirStatus.UNKNOWN),
    ):
        made = context(LogDirMemory())
        made.set_log_dir(path, status, "", moment)
        (found,) = made.transitions
        assert (found.cluster, found.broker, found.origin) == ("prod", 7, moment.origin)
        ids.add(found.transition_id)
    made = context()
    made.set_broker(BrokerStatus.ONLINE, "", MOMENT)
    ids.add(made.transitions[0].transition_id)
    assert len(ids) == 5


def test_the_id_is_the_same_when_a_record_is_read_again_and_depends_on_the_status_before():
    def of(log_dir):
        made = context(log_dir)
        made.set_log_dir("/d1", LogDirStatus.FILLING, "", MOMENT)
        return made.transitions[0].transition_id

    assert of(known()) == of(known())
    assert of(known()) != of(LogDirMemory())


def test_thresholds_are_those_of_the_cluster_and_directory():
    rules = (
        ThresholdRule(cluster="dev", thresholds=Thresholds(filling_ratio=0.1)),
        ThresholdRule(cluster="prod", log_dir="/d1", thresholds=Thresholds(filling_ratio=0.5)),
    )
    made = context(settings=DetectSettings(rules=rules))
    assert [made.thresholds(path).filling_ratio for path in ("/d1", "/d2")] == [0.5, 0.75]


def test_an_alert_that_comes_and_goes_is_held_open_and_says_so():
    driver = Driver()
    for _ in range(3):
        driver.polls(0.8, 0.8, 0.6, 0.6)
    assert [item[1] for item in driver.said("log_dir_space")] == [
        *["firing", "resolved"] * 2,
        "firing",
        "firing",
    ]
    assert driver.status() == "online"
    assert driver.open_alerts()[0].evidence["flapping"] == 3
    held = driver.open_alerts()[0].summary
    assert "Broker 7 /d1 has had no log_dir_space since 2023-11-14" in held
    assert "ended 3 times within an hour, held open until 2023-11-14" in held
    driver.polls(0.8, 0.8)
    assert "is filling" in driver.open_alerts()[0].summary, "it is not well, and does not say so"
    driver.polls(0.6, 0.6)
    assert len(driver.said("log_dir_space")) == 8
    driver.polls(*[0.6] * 118)
    assert driver.open_alerts(), "not calm for ten minutes yet"
    driver.polls(*[0.6] * 3)
    assert driver.said("log_dir_space")[-1] == ("log_dir_space", "resolved", "recovered")


def test_a_failure_that_flaps_is_held_too():
    driver = Driver().polls(0.5)
    for _ in range(3):
        driver.poll(log_dir(error_code=56)).polls(0.5, 0.5, 0.5)
    assert [item[1] for item in driver.said("log_dir_offline")] == [*["firing", "resolved"] * 2, "firing", "firing"]
    driver.polls(*[0.5] * 125)
    assert driver.said("log_dir_offline")[-1] == ("log_dir_offline", "resolved", "recovered")


def test_a_flapping_directory_that_fails_ends_its_alert_at_once():
    driver = Driver()
    for _ in range(3):
        driver.polls(0.8, 0.8, 0.6, 0.6)
    driver.poll(log_dir(error_code=56))
    assert ("log_dir_space", "resolved", "offline") in driver.said()
    assert [str(alert.rule) for alert in driver.open_alerts()] == ["log_dir_offline"]
