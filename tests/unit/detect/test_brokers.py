"""What a broker goes through: answers, the controller's word, silence."""

from typing import ClassVar

import msgspec
import pytest

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import machine, state_view
from logdirwatch.detect.alerts.lifecycle import RENEWED_AFTER_MS
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import MetadataMode
from tests.unit.detect.builders import POLL_MS, Driver, away_for, fenced, log_dir, metrics, timeout


def test_an_answering_broker_with_one_dead_directory_is_degraded():
    driver = Driver()
    driver.poll(log_dir("/d1"), log_dir("/d2"))
    driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56))
    assert driver.memory.status == "degraded"
    assert [t.to_status for t in driver.transitions if t.log_dir is None] == ["online", "degraded"]


def test_one_timeout_makes_broker_and_directories_unknown_without_an_alert():
    driver = timeout(Driver().polls(0.5))
    assert (driver.memory.status, driver.status()) == ("unknown", "unknown")
    assert driver.memory.log_dirs["/d1"].last_status == "online"
    assert driver.alerts == []


def test_three_timeouts_raise_one_broker_alert_and_none_for_its_directories():
    driver = Driver().polls(0.5)
    for _ in range(5):
        timeout(driver)
    assert driver.said() == [("broker_unknown", "firing", "critical")]
    assert driver.path_of() == ["online", "unknown"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [("timeout", "timeout: said so"), ("unauthorized", "unauthorized: said so"), ("error", "said so")],
)
def test_every_kind_of_failure_is_unknown_never_healthy(status, reason):
    driver = Driver().polls(0.5)
    driver.poll(status=status, error="said so")
    assert driver.memory.status == "unknown"
    assert driver.memory.reason == reason


def test_an_open_alert_goes_on_while_nobody_sees_the_directory_and_says_since_when():
    driver = timeout(Driver().polls(0.8))
    alert = driver.alerts[-1]
    assert (alert.status, alert.stale_since_ms) == ("firing", driver.at_ms)
    driver.polls(0.8)
    assert (driver.alerts[-1].status, driver.alerts[-1].stale_since_ms) == ("firing", None)


def test_the_controllers_word_makes_a_broker_offline_and_quiet_within_the_grace():
    driver = Driver().polls(0.5)
    for _ in range(10):
        fenced(driver)
    assert driver.memory.status == "offline"
    assert driver.status() == "unknown"
    assert driver.alerts == []


@pytest.mark.parametrize(("fenced_polls", "other_polls"), [(1, 1), (2, 2), (20, 2)])
def test_the_grace_does_not_begin_again_when_the_controllers_word_comes_and_goes(fenced_polls, other_polls):
    driver = Driver().polls(0.5)
    due_ms = driver.at_ms + POLL_MS + DetectSettings().broker_offline_grace_ms
    while driver.at_ms < due_ms + other_polls * POLL_MS:
        for lost in (*[fenced] * fenced_polls, *[timeout] * other_polls):
            lost(driver)
    (opened,) = [alert for alert in driver.alerts if alert.revision == 1]
    assert opened.rule == "broker_offline"
    assert due_ms <= opened.at_ms <= due_ms + other_polls * POLL_MS


def test_the_grace_begins_when_a_broker_does_not_answer_not_when_nobody_asks():
    driver = Driver().polls(0.5).wait(60_000).wait(HOUR_MS)
    assert driver.memory.is_silent
    fenced(driver)
    assert driver.alerts == []


@pytest.mark.parametrize(("mode", "told"), [("zookeeper", True), ("kraft", None), ("migrating", None), (None, None)])
def test_an_alert_says_that_its_broker_has_zookeeper(mode, told):
    driver = Driver()
    driver.poll(log_dir("/d1"), log_dir("/d2"), metadata_mode=mode and MetadataMode(mode))
    driver.poll(log_dir("/d1", error_code=56), log_dir("/d2"))
    (alert,) = driver.open_alerts()
    assert alert.evidence.has_zookeeper is told


def test_a_broker_that_stays_away_longer_than_the_grace_is_an_alert():
    driver = Driver().polls(0.5)
    for _ in range(62):
        fenced(driver, partitions=PartitionHealth(leaderless=1))
    assert driver.said() == [("broker_offline", "firing", "page")]
    assert "no, because partitions have no leader" in driver.alerts[-1].summary


def unregistered(driver):
    return timeout(driver, is_registered=False, controller_at_ms=driver.at_ms + POLL_MS)


def test_a_broker_that_one_controller_does_not_know_is_offline():
    driver = Driver().polls(0.5)
    unregistered(driver)
    assert (driver.memory.status, driver.memory.is_gone) == ("offline", False)
    driver.polls(0.5)
    for _ in range(2):
        unregistered(driver)
    assert not driver.memory.is_gone, "the polls count in a row"


def test_an_unregistered_broker_is_gone_with_all_that_was_told_of_it():
    driver = Driver(settings=DetectSettings(broker_offline_grace_ms=0))
    driver.poll(log_dir("/d1", 0.9), log_dir("/d2"))
    driver.event(after_ms=1)
    for _ in range(3):
        unregistered(driver)
    assert driver.memory.is_gone
    assert driver.open_alerts() == []
    ended = [(alert.rule, alert.reason) for alert in driver.alerts if alert.status == "resolved"]
    missing = "not registered with the controller"
    assert ended == [("log_dir_space", missing), ("broker_offline", missing), ("log_dir_offline", "unconfirmed")]
    left = {(step.log_dir, step.to_status, step.reason) for step in driver.transitions[-3:]}
    assert left == {(path, "removed", missing) for path in ("/d1", "/d2", None)}


def test_nothing_more_is_told_of_a_broker_that_is_gone():
    driver = Driver()
    for _ in range(5):
        unregistered(driver)
    assert (driver.alerts, driver.transitions, driver.memory.is_gone) == ([], [], True)


def test_a_broker_that_registers_again_is_known_again():
    driver = Driver().polls(0.5)
    for _ in range(3):
        unregistered(driver)
    driver.polls(0.5)
    assert (driver.memory.is_gone, driver.memory.status, driver.status()) == (False, "online", "online")
    assert [step.from_status for step in driver.transitions[-2:]] == [None, None]


def test_broker_offline_takes_over_from_broker_unknown():
    driver = Driver(settings=DetectSettings(broker_offline_grace_ms=0)).polls(0.5)
    for _ in range(3):
        timeout(driver)
    fenced(driver)
    assert driver.said() == [
        ("broker_unknown", "firing", "critical"),
        ("broker_offline", "firing", "critical"),
        ("broker_unknown", "resolved", "offline"),
    ]


def test_a_broker_that_restarts_with_a_bad_directory_keeps_its_cause_and_alert():
    driver = Driver()
    driver.poll(log_dir("/d1"), log_dir("/d2"))
    driver.event(log_dir="/d2", cause="failed", detail="append failed: Input/output error")
    driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56))
    fenced(driver)
    driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56))
    assert (driver.status("/d2"), driver.cause("/d2")) == ("offline", "failed")
    assert len(driver.open_alerts()) == 1
    driver.poll(log_dir("/d1"), log_dir("/d2"))
    assert [alert.rule for alert in driver.open_alerts()] == ["log_dir_suspect"]


def test_one_collectors_answer_outranks_anothers_timeout_for_three_polls():
    driver = Driver()
    driver.poll(log_dir(), collector="a")
    timeout(driver, collector="b")
    assert driver.memory.status == "online"
    driver.at_ms += 3 * POLL_MS
    timeout(driver, collector="b")
    assert driver.memory.status == "unknown"


def test_silence_makes_a_broker_unknown_once():
    driver = Driver().polls(0.5)
    driver.wait(29_000)
    assert driver.memory.status == "online"
    driver.wait(1_000)
    assert driver.memory.status == "unknown"
    assert driver.memory.reason.startswith("silent: ")
    assert driver.said() == [], "silence is told by fleet: of a whole cluster it is one alert"
    assert machine.next_deadline_ms(driver.memory, driver.settings) is None
    driver.wait(60_000)
    assert len(driver.transitions) == 4
    driver.polls(0.5)
    assert driver.memory.status == "online"
    assert driver.said() == []


def test_the_alert_of_a_lost_broker_names_the_directory_that_was_worst():
    driver = Driver()
    for _ in range(2):
        driver.poll(log_dir("/d1", 0.998, is_metadata_dir=True), log_dir("/d2", 0.8), log_dir("/d3", 0.2))
    while not driver.said("broker_offline"):
        fenced(driver)
    (alert,) = (alert for alert in driver.alerts if alert.rule == "broker_offline")
    assert "last seen: metadata directory /d1 saturated at 99.8 %" in alert.summary
    assert alert.evidence["log_dirs"]["/d1"]["is_metadata_dir"] is True


def test_what_an_older_collector_called_a_metadata_directory_is_none_once_a_collector_says_so():
    driver = Driver().poll(log_dir("/d1", is_metadata_dir=True)).poll(log_dir("/d1"))
    assert driver.memory.log_dirs["/d1"].is_metadata_dir is True, "who tells nothing changes nothing"
    driver.poll(log_dir("/d1", is_metadata_dir=False))
    assert driver.memory.log_dirs["/d1"].is_metadata_dir is False


def test_the_mode_of_the_metadata_and_what_is_not_reported_are_facts_of_the_broker():
    driver = Driver().poll(log_dir("/d1"))
    assert (driver.memory.metadata_mode, driver.memory.not_reported) == (None, None)
    driver.poll(log_dir("/d1"), metadata_mode=MetadataMode.ZOOKEEPER, not_reported=["elr"])
    driver.poll(log_dir("/d1"))
    record = state_view.state_record(driver.memory, [])
    assert (record.metadata_mode, record.not_reported) == (MetadataMode.ZOOKEEPER, ["elr"])


class TestZooKeeper:
    """No metadata log whose directory halts a broker, and no fencing."""

    ZOOKEEPER: ClassVar = {"metadata_mode": MetadataMode.ZOOKEEPER}

    def test_a_broker_that_is_gone_is_not_listed_any_more(self):
        driver = Driver(settings=DetectSettings(broker_offline_grace_ms=0))
        driver.poll(log_dir("/d1", 0.97, is_metadata_dir=True), log_dir("/d2"), **self.ZOOKEEPER)
        fenced(driver)
        said = driver.alerts[-1].summary
        assert "not listed by the controller" in said
        assert "last seen: directory /d1 saturated" in said
        assert "fenced" not in said

    def test_no_directory_halts_it_but_the_last_one(self):
        driver = Driver().poll(log_dir("/d1", 0.97, is_metadata_dir=True), log_dir("/d2"), **self.ZOOKEEPER)
        assert "halts" not in driver.alerts[-1].summary
        driver = Driver().poll(log_dir("/d1", 0.97), **self.ZOOKEEPER)
        assert "the whole broker halts with it: it is its last directory" in driver.alerts[-1].summary


def test_an_offline_directory_that_is_taken_out_of_the_configuration_ends_its_alert():
    driver = Driver().poll(log_dir("/d1"), log_dir("/d2"), configs={"log.dirs": "/d1,/d2"})
    driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56))
    assert driver.memory.status == "degraded"
    driver.poll(log_dir("/d1"), configs={"log.dirs": "/d1"})
    assert driver.said("log_dir_offline")[-1] == ("log_dir_offline", "resolved", "no longer in log.dirs")
    assert driver.memory.status == "online"


def test_a_reported_failure_that_turns_out_to_be_saturation_is_told_as_that():
    driver = Driver().polls(0.5)
    driver.event(log_dir="/d1")
    assert driver.status() == "offline"
    driver.polls(0.97)
    assert driver.status() == "saturated"
    assert driver.said()[-2:] == [("log_dir_offline", "resolved", "unconfirmed"), ("log_dir_space", "firing", "page")]


def test_the_alert_of_a_broker_that_timed_out_goes_on_when_the_collector_dies_too():
    driver = Driver().polls(0.5)
    for _ in range(4):
        timeout(driver)
    assert [alert.rule for alert in driver.open_alerts()] == ["broker_unknown"]
    state_view.state_record(driver.memory, [])
    assert not state_view.has_news(driver.memory, 60_000)
    driver.wait(30_000)
    assert driver.said()[-1] == ("broker_unknown", "firing", "critical")
    alert = driver.alerts[-1]
    assert alert.stale_since_ms is not None
    assert "did not answer (timeout" in alert.summary
    assert "now no collector reports it" in alert.summary
    assert state_view.state_record(driver.memory, []).absence_alerts == {"broker_unknown": alert.alert_id}
    driver.memory.emitted_silent = False
    assert state_view.has_news(driver.memory, 60_000), "fleet must hear of it though no status changed"


def test_a_topic_made_anew_is_read_again():
    driver = Driver().polls(0.5, 0.5)
    driver.at_ms += POLL_MS
    driver.show(metrics(driver.at_ms, log_dir(error_code=56)), offset=0)
    assert driver.status() == "offline"


def test_a_sample_that_kafka_has_no_time_of_counts_by_its_own():
    driver = Driver().polls(0.5)
    driver.at_ms += POLL_MS
    driver.show(metrics(driver.at_ms, log_dir(error_code=56)), kafka_ms=-1)
    assert driver.memory.newest_ms == driver.at_ms
    assert driver.memory.corrected_clocks == 0
    assert driver.status() == "offline"


def test_every_alert_of_a_broker_names_its_host_and_none_while_nobody_knows_it():
    driver = Driver().poll(log_dir(used=0.5)).poll(log_dir(error_code=56))
    assert "host" not in driver.alerts[0].evidence
    driver = Driver().poll(log_dir(), host="h1").poll(log_dir(error_code=56))
    for _ in range(70):
        driver.poll(status="timeout", is_fenced=True, controller_at_ms=driver.at_ms)
    told = {str(alert.rule): alert.evidence["host"] for alert in driver.alerts}
    assert told == {"log_dir_offline": "h1", "broker_offline": "h1"}
    driver = Driver().poll(log_dir(), host="h1")
    for _ in range(3):
        driver.poll(status="timeout")
    assert [(str(alert.rule), alert.evidence["host"]) for alert in driver.alerts] == [("broker_unknown", "h1")]


def test_an_alert_that_fires_on_is_written_anew_each_week_also_while_its_broker_is_away():
    driver = Driver().polls(0.8, 0.8)
    (first,) = driver.alerts
    driver.at_ms = first.at_ms + RENEWED_AFTER_MS - 2 * POLL_MS
    assert driver.polls(0.8).alerts == [first]
    (second,) = driver.polls(0.8).alerts[1:]
    assert second == msgspec.structs.replace(first, revision=2, at_ms=first.at_ms + RENEWED_AFTER_MS)
    for _ in range(3):
        timeout(driver)
    told = len(driver.alerts)
    driver.at_ms += RENEWED_AFTER_MS
    timeout(driver)
    assert [(a.rule, a.status) for a in driver.alerts[told:]] == [
        ("broker_unknown", "firing"),
        ("log_dir_space", "firing"),
    ]
    assert all(a.at_ms == driver.at_ms for a in driver.alerts[told:])


def test_an_alert_that_an_older_release_opened_is_written_anew_with_the_next_poll():
    driver = Driver().polls(0.8, 0.8)
    driver.memory.log_dirs["/d1"].alerts["log_dir_space"].said_ms = 0
    assert [a.revision for a in driver.polls(0.8, 0.8).alerts] == [1, 2]


def test_the_alerts_of_a_silent_broker_are_written_anew_by_its_timer():
    driver = Driver().polls(0.9, 0.9)
    driver.wait(30_000)
    silent_at_ms, told = driver.at_ms, len(driver.alerts)
    assert machine.next_deadline_ms(driver.memory, driver.settings) == silent_at_ms + RENEWED_AFTER_MS
    assert len(driver.wait(RENEWED_AFTER_MS - 1).alerts) == told
    (alert,) = driver.wait(1).alerts[told:]
    assert (alert.rule, alert.status, alert.stale_since_ms) == ("log_dir_space", "firing", silent_at_ms)
    assert machine.next_deadline_ms(driver.memory, driver.settings) == driver.at_ms + RENEWED_AFTER_MS


MINUTE_MS = 60_000


class TestRestart:
    def test_the_first_failed_polls_after_the_controllers_word_raise_nothing(self):
        """A broker that was just let in again may not answer yet."""
        driver = away_for(Driver().polls(0.5), 2 * MINUTE_MS)
        timeout(timeout(driver, is_fenced=False), is_fenced=False)
        assert (driver.memory.status, driver.alerts) == ("unknown", [])
        timeout(driver, is_fenced=False)
        assert driver.said() == [("broker_unknown", "firing", "critical")]
