"""Directories that leave ``log.dirs``: replicas that were in them are told until they are seen, or given up by word."""

import pytest

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import DecisionRecord, PartitionHealth
from logdirwatch.model.vocabulary import Decision
from tests.unit.detect.builders import GIB, POLL_MS, Driver, log_dir

GONE = {"log.dirs": "/a"}
BOTH = {"log.dirs": "/a,/b"}
TOLD = "80 replicas were in it (500 GiB) when last counted: check before its volume is deleted"
BEHIND, IN_SYNC = PartitionHealth(out_of_sync=80), PartitionHealth(out_of_sync=0)


def a(count=100, size_gib=500, **fields):
    return log_dir("/a", 0.5, replica_count=count, replica_bytes=None if size_gib is None else size_gib * GIB, **fields)


def b(count=80, size_gib=500, used=0.6, **fields):
    return log_dir(
        "/b", used, replica_count=count, replica_bytes=None if size_gib is None else size_gib * GIB, **fields
    )


def before(*dirs, configs=BOTH, settings=None):
    driver = Driver(settings or DetectSettings())
    for _ in range(4):
        driver.poll(*(dirs or (a(), b())), configs=configs, partitions=IN_SYNC)
    return driver


def away(driver, polls=6):
    for _ in range(polls):
        driver.poll(status="timeout", controller_at_ms=driver.at_ms + POLL_MS, is_registered=True, is_fenced=True)
    return driver


def after(driver, *dirs, polls=3, configs=GONE, partitions=BEHIND):
    for _ in range(polls):
        driver.poll(*(dirs or (a(180),)), configs=configs, partitions=partitions)
    return driver


def unknown(driver):
    return [alert for alert in driver.open_alerts() if alert.rule == "log_dir_unknown"]


def ends(driver):
    return [alert.reason for alert in driver.alerts if alert.rule == "log_dir_unknown" and alert.status == "resolved"]


class TestItIsTold:
    @pytest.mark.parametrize("is_away", [True, False], ids=["after an absence", "between two polls"])
    def test_with_the_replicas_and_bytes_that_were_in_it(self, is_away):
        driver = before()
        after(away(driver) if is_away else driver)
        (alert,) = unknown(driver)
        assert TOLD in alert.summary
        assert (str(alert.severity), alert.log_dir) == ("critical", "/b")
        assert "can wait until morning: no" in alert.summary
        assert alert.affected["replica_count"] == 80
        assert driver.memory.status == "online"

    @pytest.mark.parametrize(
        ("now", "partitions"),
        [
            ((a(180, 500),), IN_SYNC),
            ((a(180, 900),), IN_SYNC),
            ((a(180, 1000),), BEHIND),
            ((a(179, 1000),), IN_SYNC),
            ((a(180, None),), IN_SYNC),
            ((a(None, 1000),), IN_SYNC),
        ],
        ids=[
            "made again, empty and in sync, as without another replica",
            "a tenth is missing",
            "not in sync yet",
            "one replica is missing",
            "nobody knows how many bytes",
            "or how many replicas",
        ],
    )
    def test_as_long_as_anything_is_missing_or_unknown(self, now, partitions):
        driver = after(before(), *now, polls=30, partitions=partitions)
        assert len(unknown(driver)) == 1

    def test_first_as_unknown_until_the_configuration_is_read(self):
        driver = after(before(configs=None), configs=None)
        (first,) = unknown(driver)
        assert TOLD in first.summary
        assert (str(first.severity), "can wait until morning: yes" in first.summary) == ("warning", True)
        after(driver)
        (second,) = unknown(driver)
        assert (second.alert_id, str(second.severity)) == (first.alert_id, "critical")

    def test_if_its_broker_does_not_report_it_though_it_is_configured(self):
        driver = after(before(), configs=BOTH)
        (alert,) = unknown(driver)
        assert TOLD in alert.summary
        assert str(alert.severity) == "warning"

    def test_each_of_several(self):
        driver = after(before(a(), b(), log_dir("/c", 0.4, replica_count=7, replica_bytes=GIB)), a(187))
        assert [alert.log_dir for alert in unknown(driver)] == ["/b", "/c"]
        assert "7 replicas were in it (1 GiB)" in unknown(driver)[1].summary

    def test_without_the_bytes_if_they_were_not_known(self):
        (alert,) = unknown(after(before(a(), b(size_gib=None))))
        assert "80 replicas were in it when last counted" in alert.summary

    def test_of_one_that_was_filling_and_its_space_alert_ends_with_it(self):
        driver = after(before(a(), b(used=0.9)))
        assert TOLD in unknown(driver)[0].summary
        after(driver, a(180, 1000), partitions=IN_SYNC)
        assert driver.open_alerts() == []


class TestItIsNotTold:
    @pytest.mark.parametrize(
        ("last", "now"),
        [
            ((a(180, 1000), b(0, 0)), (a(180, 1000),)),
            ((a(100, 500), b(0, 0)), (a(100, 500),)),
            ((a(), b()), (a(180, 1000),)),
            ((a(), b(None, None)), (a(180, 1000),)),
            ((a(), log_dir("/b", error_code=56)), (a(180, 500),)),
        ],
        ids=[
            "moved out first",
            "topics deleted, or reassigned to other brokers",
            "moved out since the last count",
            "never counted",
            "its failure was told",
        ],
    )
    def test_where_nothing_is_missing_or_nothing_was_known(self, last, now):
        driver = before()
        for _ in range(3):
            driver.poll(*last, configs=BOTH, partitions=IN_SYNC)
        after(away(driver), *now, partitions=IN_SYNC)
        assert unknown(driver) == []
        assert "/b" not in driver.memory.log_dirs

    def test_of_a_poll_that_failed(self):
        driver = away(before())
        assert unknown(driver) == []
        after(driver, a(), b(), configs=BOTH, partitions=IN_SYNC)
        assert unknown(driver) == []
        assert driver.status("/b") == "online"


class TestItEnds:
    def test_when_the_directory_is_back(self):
        driver = after(before())
        after(driver, a(), b(), configs=BOTH, partitions=IN_SYNC)
        assert ends(driver) == ["recovered"]
        after(driver)
        assert len(unknown(driver)) == 1, "what it held is remembered as of now"

    @pytest.mark.parametrize("partitions", [IN_SYNC, PartitionHealth()], ids=["in sync", "as far as is known"])
    def test_when_the_brokers_other_directories_hold_as_much(self, partitions):
        driver = after(before())
        after(driver, a(180, 990), polls=1, partitions=partitions)
        assert ends(driver) == ["its replicas are complete in other directories of the broker"]
        assert "/b" not in driver.memory.log_dirs
        assert driver.path_of("/b")[-1] == "removed"

    def test_not_by_silence_nor_by_an_absence(self):
        driver = away(after(before()))
        driver.wait(3_600_000)
        assert ends(driver) == []
        assert unknown(driver)[0].stale_since_ms is not None
        after(driver)
        assert unknown(driver)[0].stale_since_ms is None

    @pytest.mark.parametrize(
        ("early_ms", "configs", "is_over"),
        [(0, GONE, True), (600_000, GONE, False), (0, BOTH, False)],
        ids=["by the word of a person", "not by an earlier one", "not if it is configured"],
    )
    def test_by_word_only_after_it_left(self, early_ms, configs, is_over):
        driver = after(before(), configs=configs)
        driver.at_ms += 1
        word = DecisionRecord(
            version=1,
            id="x",
            decision=Decision.HEALTHY,
            by="ada",
            reason="all copied",
            at_ms=driver.at_ms - early_ms,
            cluster="prod",
            broker=7,
            log_dir="/b",
        )
        driver.show(word)
        after(driver, configs=configs)
        assert (unknown(driver) == []) is is_over
        assert ("/b" not in driver.memory.log_dirs) is is_over


def test_two_that_leave_one_after_the_other_are_each_counted_once():
    driver = before(a(), b(), log_dir("/c", 0.4, replica_count=20, replica_bytes=100 * GIB))
    after(
        driver,
        a(180, 500),
        log_dir("/c", 0.4, replica_count=20, replica_bytes=100 * GIB),
        configs={"log.dirs": "/a,/c"},
    )
    after(driver, a(200, 600))
    assert [alert.log_dir for alert in unknown(driver)] == ["/b", "/c"]
    after(driver, a(200, 1100), partitions=IN_SYNC)
    assert unknown(driver) == []
