"""What a broker says in its own log: partitions that failed, each told by itself."""

from logdirwatch.detect.state.episodes import STOPPING_MS
from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import POLL_MS, T0, Driver, log_dir
from tests.unit.detect.rules.test_kernel_errors import healthy

MINUTE_MS = 60_000


def test_one_bad_partition_does_not_condemn_its_directory():
    driver = Driver().polls(0.5)
    for partition in (0, 1, 1):
        driver.event("PartitionFailed", "/d1", topic="orders", partition=partition, detail="CorruptRecordException")
    assert driver.status() == "online"
    assert driver.memory.status == "online"
    assert [a.evidence["why"] for a in driver.alerts] == [["orders-0"], ["orders-0", "orders-1"]]
    driver.at_ms += 25 * 60 * MINUTE_MS
    for health in (None, PartitionHealth(out_of_sync=1), PartitionHealth()):
        driver.poll(log_dir(), partitions=health)
        assert driver.said()[-1] == ("partition_failed", "firing", "warning"), "silence is no evidence of health"
    driver.poll(log_dir(), partitions=PartitionHealth(out_of_sync=0))
    assert driver.said()[-1] == ("partition_failed", "resolved", "not seen again")


def test_failed_partitions_are_stale_while_their_broker_is_unknown():
    driver = Driver().polls(0.5).event("PartitionFailed", topic="t", partition=0)
    for _ in range(4):
        driver.poll(status="timeout")
    driver.polls(0.5)
    told = [a.stale_since_ms is None for a in driver.alerts if a.rule == "partition_failed"]
    assert told == [True, False, True]


def test_a_persons_word_ends_what_the_log_called_bad_before():
    driver = Driver().polls(0.5)
    for partition in (0, 1):
        driver.event("PartitionFailed", "/d1" if partition else None, topic="t", partition=partition)
    healthy(driver)
    assert [a.evidence["why"] for a in driver.open_alerts() if a.rule == "partition_failed"] == [["t-0"]]
    healthy(driver, path=None)
    assert driver.said("partition_failed")[-1] == ("partition_failed", "resolved", "ada declared it healthy: new disk")


SAID = {"reason": "directory_locked", "detail": "another process holds a log directory: .lock in /d1"}


def away(driver, polls=100):
    for _ in range(polls):
        driver.poll(status="timeout", error="refused", controller_at_ms=driver.at_ms + POLL_MS, is_fenced=True)
    return driver


def revisions(driver):
    return [alert.revision for alert in driver.alerts if alert.rule == "broker_offline"]


def test_it_reaches_an_alert_that_is_open_as_one_more_revision():
    driver = away(Driver().polls(0.5))
    assert revisions(driver) == [1]
    driver.event("BrokerFailure", **SAID)
    assert revisions(driver) == [1, 2]
    evidence = driver.alerts[-1].evidence
    assert (evidence["log_says"], evidence["log_reason"]) == (SAID["detail"], SAID["reason"])
    assert evidence["log_says_ms"] == driver.at_ms


def test_each_start_that_fails_for_the_same_reason_is_no_other_revision():
    driver = away(Driver().polls(0.5))
    for _ in range(5):
        away(driver.event("BrokerFailure", **SAID), 2)
    assert revisions(driver) == [1, 2]
    driver.event("BrokerFailure", reason="cannot_bind", detail="it cannot listen")
    assert revisions(driver) == [1, 2, 3]


def test_it_stands_in_the_brokers_state_too():
    driver = away(Driver().polls(0.5)).event("BrokerFailure", **SAID)
    assert driver.memory.word is not None
    driver.polls(0.5)
    assert driver.memory.word is None


def test_a_broker_that_shuts_down_still_answers_for_a_while():
    driver = Driver().polls(0.5).event("BrokerFailure", reason="stopped", detail="it was asked to stop")
    driver.polls(0.5, 0.5)
    assert driver.memory.word is not None
    assert away(driver).alerts[-1].evidence["log_says"] == "it was asked to stop"


def test_a_broker_that_goes_on_serving_has_survived_it():
    driver = Driver().polls(0.5).event("BrokerFailure", **SAID)
    driver.polls(*[0.5] * (STOPPING_MS // POLL_MS + 1))
    assert driver.memory.word is None


def test_a_word_that_arrives_long_after_the_broker_answered_again_is_old():
    driver = Driver().polls(*[0.5] * 30)
    driver.event("BrokerFailure", after_ms=-STOPPING_MS - 1_000, **SAID)
    assert driver.memory.word is None


def test_an_older_word_does_not_replace_a_newer_one():
    driver = away(Driver().polls(0.5)).event("BrokerFailure", **SAID)
    driver.event("BrokerFailure", after_ms=-5_000, reason="other", detail="older")
    assert driver.memory.word.reason == SAID["reason"]


def test_an_event_without_its_reason_is_told_as_well():
    driver = away(Driver().polls(0.5)).event("BrokerFailure", detail="Found directory /d0/lost+found")
    assert "its log says: Found directory /d0/lost+found" in driver.alerts[-1].summary
    assert driver.alerts[-1].evidence["log_reason"] == "other"


def test_what_a_foreign_sender_writes_is_text_and_bounded():
    driver = away(Driver().polls(0.5)).event("BrokerFailure", detail="a\x1b[31m\n" + "b" * 10_000)
    assert "\x1b" not in driver.alerts[-1].summary
    assert len(driver.alerts[-1].summary) < 2_000


def test_a_broker_of_whom_nothing_else_is_known_is_not_judged_by_it():
    driver = Driver(at_ms=T0).event("BrokerFailure", **SAID)
    assert driver.alerts == []
    assert driver.memory.is_judged is False
