"""What one directory goes through, and what is said of it."""

import msgspec
import pytest
from msgspec.structs import replace

from logdirwatch.detect import state_view
from logdirwatch.model.records import KernelNews, LogDirSample, PartitionHealth
from tests.unit.detect.builders import GIB, POLL_MS, TOTAL, Driver, host_dir, log_dir, offline


def test_filling_goes_through_every_level_in_one_alert():
    driver = Driver().polls(0.5, 0.76, 0.77, 0.86, 0.87, 0.96, 0.97)
    assert driver.path_of() == ["online", "filling", "critical", "saturated"]
    assert driver.said() == [
        ("log_dir_space", "firing", "warning"),
        *[("log_dir_space", "firing", "page")] * 3,
    ], "so fast that nobody may wait for the last level"
    assert [alert.to_status for alert in driver.alerts] == ["filling", "filling", "critical", "saturated"]
    assert [alert.revision for alert in driver.alerts] == [1, 2, 3, 4]
    assert len({alert.alert_id for alert in driver.alerts}) == 1


def test_error_56_needs_no_second_sample_and_closes_the_space_alert():
    driver = Driver().polls(0.8)
    driver.poll(offline())
    assert driver.path_of() == ["filling", "offline"]
    assert driver.cause() == "unknown", "space that was left proves no broken disk"
    assert driver.said() == [
        ("log_dir_space", "firing", "warning"),
        ("log_dir_offline", "firing", "critical"),
        ("log_dir_space", "resolved", "offline"),
    ]


def test_a_directory_that_was_full_before_it_failed_is_full():
    driver = Driver().polls(0.96, 0.99999)
    driver.poll(offline())
    assert driver.cause() == "full"
    assert driver.alerts[-2].evidence["decided_by"] == "usable_under_reserve"


def test_a_directory_that_comes_back_saturated_is_never_online_between():
    driver = Driver().polls(0.5)
    driver.poll(offline())
    driver.polls(0.97)
    assert driver.path_of() == ["online", "offline", "saturated"]
    assert driver.said()[-2:] == [("log_dir_offline", "resolved", "recovered"), ("log_dir_space", "firing", "page")]


def test_offline_at_first_sight_has_no_known_cause():
    driver = Driver().poll(offline())
    assert (driver.status(), driver.cause()) == ("offline", "unknown")
    assert driver.alerts[0].evidence["decided_by"] == "no_sample_before"


def test_leaderless_partitions_raise_an_open_alert_and_never_lower_it_again():
    driver = Driver().polls(0.5)
    driver.poll(offline(), partitions=PartitionHealth())
    driver.poll(offline(), partitions=PartitionHealth(leaderless=2, examples=["t-0"]))
    driver.poll(offline(), partitions=PartitionHealth())
    assert driver.said("log_dir_offline") == [
        ("log_dir_offline", "firing", "critical"),
        ("log_dir_offline", "firing", "page"),
    ]
    assert driver.alerts[-1].affected["examples"] == ["t-0"]


def test_any_other_error_is_unknown_and_suspect_never_online():
    driver = Driver().polls(0.5)
    driver.poll(log_dir(error_code=-1))
    assert driver.status() == "unknown"
    assert driver.said() == [("log_dir_suspect", "firing", "warning")]
    driver.polls(0.5)
    assert driver.said()[-1] == ("log_dir_suspect", "resolved", "recovered")


def test_a_directory_without_capacity_is_unknown_not_online():
    driver = Driver()
    driver.poll(log_dir(error_code=0, total_bytes=0))
    assert driver.status() == "unknown"
    assert driver.said() == [("log_dir_unknown", "firing", "warning")]


def test_a_directory_that_leaves_the_report_is_unknown_until_the_configuration_explains_it():
    driver = Driver()
    driver.poll(log_dir("/d1"), log_dir("/d2"))
    driver.poll(log_dir("/d1"))
    assert driver.status("/d2") == "unknown"
    driver.poll(log_dir("/d1"), configs={"log.dirs": "/d1"})
    assert "/d2" not in driver.memory.log_dirs
    assert driver.path_of("/d2") == ["online", "unknown", "removed"]
    assert driver.said("log_dir_unknown")[-1] == ("log_dir_unknown", "resolved", "no longer in log.dirs")


def test_each_collector_debounces_for_itself():
    driver = Driver()
    driver.poll(log_dir(used=0.5), collector="a")
    driver.poll(log_dir(used=0.8), collector="a")
    driver.poll(log_dir(used=0.8), collector="b")
    assert driver.status() == "online"
    driver.poll(log_dir(used=0.8), collector="b")
    assert driver.status() == "filling"


def test_the_summary_says_whether_it_can_wait():
    driver = Driver().polls(0.5, 0.6, 0.7, 0.8, 0.85)
    assert "full in about 9 s" in driver.alerts[-1].summary
    assert "can wait until morning: no, because it will be full before" in driver.alerts[-1].summary
    driver = Driver().polls(0.5, 0.8, 0.8)
    assert "full in" not in driver.alerts[-1].summary, "one copied file is no forecast"
    assert "yes, because it is not forecast to be full before" in driver.alerts[-1].summary
    driver = Driver().polls(0.8)
    assert "yes, because space is left, and the severity rises if it grows fast" in driver.alerts[-1].summary
    driver = Driver().polls(0.9)
    assert "no, because its growth is not known yet" in driver.alerts[-1].summary


def test_unaccounted_bytes_and_proof_of_life_come_from_replicas():
    driver = Driver()
    driver.poll(log_dir(used=0.5, replica_bytes=100 * GIB))
    driver.poll(log_dir(used=0.5, replica_bytes=101 * GIB))
    assert driver.memory.log_dirs["/d1"].proof_ms == driver.at_ms


def test_of_long_texts_only_the_beginning_is_remembered():
    text, driver = "x" * 200_000, Driver().polls(0.5)
    driver.event(log_dir="/d1", detail=text, device=text, cause="failed")
    news = [KernelNews(trouble="medium_error", text=text, device=text)]
    driver.host(host_dir(probe_error=text, kernel_error=text, kernel_cause="failed", device=text, kernel=news))
    driver.event("PartitionUncleanable", "/d1", topic="t", partition=0, detail=text)
    driver.event("RemoteCopyFailed", topic="t", partition=0, detail=text)
    assert len(msgspec.json.encode(driver.memory)) < 50_000


class TestSizeNotReported:
    """Below Kafka 3.3 no size is reported: that is a fact of the release, which the status tells once a cluster."""

    def without_size(self, path="/d1", **fields):
        return LogDirSample(path=path, error_code=0, **fields)

    def test_a_release_that_reports_no_size_raises_no_alert(self):
        driver = Driver()
        for _ in range(3):
            driver.poll(self.without_size("/d1"), self.without_size("/d2"), not_reported=["capacity"])
        assert driver.alerts == []
        assert driver.path_of() == ["online"]
        assert driver.memory.log_dirs["/d1"].reason == "its broker's version of Kafka does not report its size"

    def test_a_release_that_reports_sizes_and_sends_none_does(self):
        driver = Driver().poll(self.without_size(), not_reported=["cordons"])
        assert driver.said() == [("log_dir_unknown", "firing", "warning")]

    def test_its_failure_and_its_recovery_are_seen(self):
        driver = Driver().poll(self.without_size(), not_reported=["capacity"])
        driver.poll(offline())
        assert driver.status() == "offline"
        driver.poll(self.without_size())
        assert driver.said("log_dir_offline")[-1] == ("log_dir_offline", "resolved", "recovered")
        assert driver.status() == "online"

    def test_an_alert_of_an_earlier_release_about_the_unknown_size_ends(self):
        driver = Driver().poll(self.without_size())
        driver.poll(self.without_size(), not_reported=["capacity"])
        assert driver.said()[-1] == ("log_dir_unknown", "resolved", "recovered")

    def test_growth_of_its_replicas_proves_that_it_takes_writes(self):
        driver = Driver().poll(self.without_size(replica_bytes=GIB), not_reported=["capacity"])
        assert driver.memory.log_dirs["/d1"].proof_ms is None
        driver.poll(self.without_size(replica_bytes=2 * GIB), not_reported=["capacity"])
        assert driver.memory.log_dirs["/d1"].proof_ms == driver.at_ms

    def test_an_open_alert_about_space_does_not_end_because_nobody_measures(self):
        driver = Driver().polls(0.97)
        driver.poll(self.without_size(), not_reported=["capacity"])
        assert driver.status() == "unknown"
        assert {alert.rule for alert in driver.open_alerts()} == {"log_dir_space", "log_dir_unknown"}

    def hosted(self, driver, *ratios):
        """Polls of such a release, each after the host source told the use of the directory."""
        for used in ratios:
            driver.host(host_dir("/d1", total_bytes=TOTAL, usable_bytes=round(TOTAL * (1 - used))))
            driver.poll(self.without_size(), not_reported=["capacity"])
        return driver

    def test_the_host_tells_the_size_and_every_level_is_reached_in_time(self):
        driver = Driver().poll(self.without_size(), not_reported=["capacity"])
        self.hosted(driver, 0.5, 0.5, 0.76, 0.77, 0.86, 0.87, 0.96, 0.97)
        assert driver.path_of() == ["online", "filling", "critical", "saturated"]
        assert driver.open_alerts()[0].to_status == "saturated"
        assert "97.0 % of 1000 GiB used" in driver.open_alerts()[0].summary
        assert "can wait until morning: no" in driver.open_alerts()[0].summary
        view = state_view.state_record(driver.memory, []).log_dirs[0]
        assert (view.capacity_source, round(view.used_ratio, 2)) == ("host", 0.97)

    def test_one_look_of_the_host_that_two_polls_use_says_nothing_of_growth(self):
        driver = Driver().poll(self.without_size(), not_reported=["capacity"])
        self.hosted(driver, 0.86)
        driver.poll(self.without_size(), not_reported=["capacity"])
        assert driver.status() == "critical"
        assert driver.memory.log_dirs["/d1"].growth_bytes_per_s is None
        assert "can wait until morning: no, because its growth is not known yet" in driver.open_alerts()[0].summary

    def test_growth_is_that_between_two_looks_of_the_host_however_many_polls_use_each(self):
        driver = Driver().poll(self.without_size(), not_reported=["capacity"])
        for used in (0.5, 0.6):
            self.hosted(driver, used)
            driver.poll(self.without_size(), not_reported=["capacity"])
        assert driver.memory.log_dirs["/d1"].growth_bytes_per_s == pytest.approx(
            0.1 * TOTAL * 1_000 / (2 * POLL_MS), rel=1e-3
        )

    def test_the_failure_of_a_full_one_is_full(self):
        driver = Driver().poll(self.without_size(), not_reported=["capacity"])
        self.hosted(driver, 0.99999, 0.99999)
        driver.poll(offline(), not_reported=["capacity"])
        assert driver.cause() == "full"

    def test_an_old_size_of_the_host_is_no_size(self):
        driver = Driver().poll(self.without_size(), not_reported=["capacity"])
        self.hosted(driver, 0.5, 0.5)
        driver.at_ms += 60_000
        driver.poll(self.without_size(), not_reported=["capacity"])
        assert driver.memory.log_dirs["/d1"].total_bytes is None
        assert (driver.status(), driver.alerts) == ("online", [])

    def estimated(self, used, total_bytes=TOTAL):
        return log_dir("/d1", used, total_bytes=total_bytes, capacity_source="configuration")

    def test_a_configured_size_is_judged_and_marked_as_estimated(self):
        driver = Driver()
        for used in (0.5, 0.96, 0.97):
            driver.poll(self.estimated(used), not_reported=["capacity"])
        assert driver.path_of() == ["online", "saturated"]
        assert "97.0 % of 1000 GiB used (estimated from the configured capacity and its replicas)" in (
            driver.open_alerts()[0].summary
        )

    def test_another_source_of_the_size_is_no_other_volume(self):
        driver = Driver().poll(self.estimated(0.5, TOTAL // 2), not_reported=["capacity"])
        self.hosted(driver, 0.5, 0.5)
        driver.poll(self.estimated(0.5, TOTAL // 2), not_reported=["capacity"])
        assert driver.alerts == []

    def test_estimated_sizes_that_move_together_are_not_one_volume(self):
        driver = Driver()
        for number in range(15):
            alike = [replace(self.estimated(0.5 + number / 1000), path=path) for path in ("/d1", "/d2")]
            driver.poll(*alike, not_reported=["capacity"])
        assert {known.volume for known in driver.memory.log_dirs.values()} == {None}


@pytest.mark.parametrize(
    ("codes", "rules"),
    [
        ((-1, -1), {"log_dir_suspect"}),
        ((-1, 56), {"log_dir_offline"}),
        ((-1, 56, -1, -1), {"log_dir_offline"}),
        ((56, -1), {"log_dir_offline"}),
        ((56, 56, 13, 13), {"log_dir_offline"}),
        ((56, 0, -1), {"log_dir_suspect"}),
    ],
)
def test_what_is_offline_stays_so_whatever_error_follows_and_never_still_serves(codes, rules):
    driver = Driver()
    for code in (0, 0, *codes):
        driver.poll(log_dir("/d1", 0.5, error_code=code) if not code else log_dir("/d1", error_code=code))
    assert {str(alert.rule) for alert in driver.open_alerts()} == rules
