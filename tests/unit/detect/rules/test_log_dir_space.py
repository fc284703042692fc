"""What makes a directory filling or critical besides its used ratio, and what else its numbers tell."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.detect.state.shared_volumes import TOGETHER
from logdirwatch.model.records import LogDirSample
from tests.chaos.history import METRICS, Written
from tests.chaos.reference import Reference
from tests.support.properties import examples
from tests.unit.detect.builders import GIB, POLL_MS, TOTAL, Driver, host_dir, log_dir, metrics

HOUR_MS = 3_600_000
QUARTER_MS = HOUR_MS // 4
HALF = TOTAL // 2


def grown(driver, hours, per_hour_bytes, start_bytes=HALF):
    """Poll every quarter of an hour while use grows evenly."""
    for quarter in range(hours * 4 + 1):
        driver.at_ms += QUARTER_MS - POLL_MS
        driver.poll(log_dir(used=(start_bytes + per_hour_bytes * quarter / 4) / TOTAL), interval_ms=QUARTER_MS)
    return driver


def evidence(driver, rule="log_dir_space"):
    return [alert.evidence for alert in driver.alerts if alert.rule == rule][-1]


def test_a_directory_that_will_be_full_within_four_days_is_filling_at_half_its_space():
    driver = grown(Driver(), 40, 5 * GIB)
    assert driver.status() == "filling"
    assert driver.said("log_dir_space") == [("log_dir_space", "firing", "warning")]
    assert evidence(driver)["decided_by"] == "forecast"
    full_in_h = (driver.memory.log_dirs["/d1"].full_at_ms - driver.at_ms) / HOUR_MS
    assert full_in_h == pytest.approx((HALF - 200 * GIB) / (5 * GIB), rel=0.1)
    assert "by its forecast, full in about" in driver.alerts[-1].summary


def test_within_a_day_it_is_critical_and_when_growth_ends_it_is_online_again():
    driver = grown(Driver(), 12, 16 * GIB)
    assert driver.status() == "critical"
    grown(driver, 60, 0, HALF + 12 * 16 * GIB)
    assert driver.status() == "online"
    assert driver.said("log_dir_space")[-1] == ("log_dir_space", "resolved", "recovered")


@pytest.mark.parametrize(
    ("after", "level"), [(0.72, "online"), (0.78, "filling"), (0.82, "filling"), (0.84, "filling"), (0.86, "critical")]
)
def test_after_a_step_the_level_is_that_of_the_ratio_and_pages_no_one(after, level):
    driver = grown(Driver(), 48, 0, 0.55 * TOTAL)
    grown(driver, 30, 0, after * TOTAL)
    assert driver.status() == level
    assert [told for told in driver.said("log_dir_space") if "page" in told] == []


def test_a_level_that_only_the_forecast_decided_falls_with_it():
    driver = grown(Driver(), 60, 0.4 * GIB * TOTAL / (1000 * GIB), 0.5 * TOTAL)
    grown(driver, 20, 0.02 * TOTAL, 0.4 * TOTAL)
    assert driver.status() == "critical"
    grown(driver, 60, 0, 0.81 * TOTAL)
    assert driver.status() == "filling"


PERCENT = (50, 62, 69, 71, 74, 76, 79, 81, 84, 86, 89, 91, 94, 96)


@given(st.lists(st.sampled_from(PERCENT), min_size=2, max_size=25))
@example([96, 96, 72, 62, 72])
@examples(100)
def test_two_samples_in_a_row_raise_a_level_at_its_threshold_and_end_it_five_points_below(used):
    driver, reference = Driver(), Reference()
    for percent in used:
        driver.poll(log_dir(used=percent / 100))
        poll = metrics(driver.at_ms, log_dir(used=percent / 100))
        reference.take([Written(METRICS, 0, msgspec.json.encode(poll), driver.at_ms)])
        assert driver.status() == reference.statuses()["prod", 7, "/d1"]


def test_a_directory_in_balance_says_once_whether_it_can_wait():
    """Written at 40 MB/s, and deleted from every five minutes; it was only just seen for the first time."""
    driver, total = Driver(), 4_000 * 10**9
    for poll in range(3 * 720):
        used = 0.86 * total + 40e6 * 5 * (poll % 60)
        driver.poll(log_dir(used=used / total, total_bytes=total))
    assert len(driver.said("log_dir_space")) <= 3
    assert evidence(driver)["can_wait"] is True
    assert driver.memory.log_dirs["/d1"].lasting_growth_bytes_per_s == pytest.approx(0, abs=1e6)


def test_the_forecast_can_be_switched_off():
    off = DetectSettings(thresholds=Thresholds(filling_within_ms=0, critical_within_ms=0))
    assert grown(Driver(off), 12, 16 * GIB).status() == "online"


def test_the_forecast_of_before_a_bigger_volume_is_forgotten():
    driver = grown(Driver(), 12, 16 * GIB)
    for _ in range(3):
        driver.poll(log_dir(used=0.2, total_bytes=4 * TOTAL), interval_ms=QUARTER_MS)
    assert driver.status() == "online"


@given(st.lists(st.integers(-6, 6), min_size=60, max_size=60), st.integers(0, 5))
@examples(20)
@example([6] * 60, 0)
def test_room_that_others_of_a_pool_take_is_growth_like_any_other(changes, per_mille_bytes):
    """A ZFS pool, or a share, reports a size that shrinks as others fill it; the room that is left decides."""
    alone, pooled, taken = Driver(), Driver(), 0
    for step, change in enumerate([0, *changes]):
        taken = max(0, min(300, taken + change))
        usable = TOTAL * (450 - per_mille_bytes * step // 2 - taken) // 1000
        for driver, total in ((alone, TOTAL), (pooled, TOTAL * (1000 - taken) // 1000)):
            driver.at_ms += QUARTER_MS - POLL_MS
            driver.poll(
                LogDirSample(path="/d1", error_code=0, total_bytes=total, usable_bytes=usable), interval_ms=QUARTER_MS
            )
    (one, other) = (driver.memory.log_dirs["/d1"] for driver in (alone, pooled))
    assert (other.growth_bytes_per_s, other.full_at_ms) == (one.growth_bytes_per_s, one.full_at_ms)
    assert other.status.rank >= one.status.rank


def test_moves_that_bring_more_than_fits_are_critical_at_once_and_as_they_stand_when_scanned():
    driver = Driver().polls(0.5)
    fits = log_dir(used=0.5, incoming_bytes=HALF - GIB)
    for _ in range(3):
        driver.poll(fits)
    driver.poll(log_dir(used=0.52, incoming_bytes=HALF - GIB))
    driver.poll(log_dir(used=0.54, incoming_bytes=HALF - GIB))
    assert driver.status() == "online", "what came since the scan is still counted as coming"
    for _ in range(2):
        driver.poll(log_dir(used=0.54, incoming_bytes=HALF))
    assert driver.status() == "critical"
    assert evidence(driver)["decided_by"] == "moves_do_not_fit"
    for _ in range(2):
        driver.poll(log_dir(used=0.54, incoming_bytes=0))
    assert driver.status() == "online"


def test_a_file_system_without_inodes_is_saturated_whatever_space_is_left():
    driver = Driver().polls(0.1)
    driver.host(host_dir(total_inodes=1_000, free_inodes=10))
    driver.polls(0.1, 0.1)
    assert driver.status() == "saturated"
    assert (evidence(driver)["decided_by"], evidence(driver)["used_inodes_ratio"]) == ("inodes", 0.99)
    assert "its inodes run out (99.0 % of them used)" in driver.open_alerts()[0].summary
    driver.host(host_dir(total_inodes=1_000, free_inodes=900)).polls(0.1, 0.1)
    assert driver.status() == "online"


def test_a_file_system_that_counts_no_inodes_is_judged_by_space():
    driver = Driver().polls(0.1).host(host_dir(total_inodes=0, free_inodes=0)).polls(0.1, 0.1)
    assert driver.status() == "online"


def test_a_directory_that_takes_the_whole_broker_along_says_so():
    driver = Driver()
    for _ in range(2):
        driver.poll(log_dir("/d1", 0.8, is_metadata_dir=True), log_dir("/d2", 0.8, is_metadata_dir=False))
    by_path = {alert.log_dir: alert for alert in driver.alerts}
    assert by_path["/d1"].evidence["halts_broker"] == "metadata_dir"
    assert "the whole broker halts with it: it is the directory of its metadata log" in by_path["/d1"].summary
    assert by_path["/d2"].evidence["halts_broker"] is None
    assert "halts" not in by_path["/d2"].summary


def test_the_last_directory_that_is_left_says_so():
    driver = Driver().poll(log_dir("/d1"), log_dir("/d2"))
    for _ in range(2):
        driver.poll(log_dir("/d1", error_code=56), log_dir("/d2", 0.8))
    assert evidence(driver)["halts_broker"] == "last_dir"


def test_two_directories_on_one_volume_are_seen_and_speak_with_one_alert():
    driver = Driver()
    for number in range(TOGETHER + 2):
        driver.poll(*(log_dir(path, 0.7 + number / 100) for path in ("/d1", "/d2")), log_dir("/d3", 0.2))
    assert {path: d.volume for path, d in driver.memory.log_dirs.items()} == {
        "/d1": "of /d1",
        "/d2": "of /d1",
        "/d3": None,
    }
    assert driver.status("/d2") == "filling"
    assert [alert.log_dir for alert in driver.open_alerts()] == ["/d1"]
    assert {a.reason for a in driver.alerts if a.log_dir == "/d2" and a.status == "resolved"} == {"one volume with /d1"}


def test_the_host_knows_volumes_at_once_and_its_word_stays():
    driver = Driver().poll(log_dir("/d1", 0.8), log_dir("/d2", 0.8))
    driver.host(host_dir("/d1", volume="dev 8:1"), host_dir("/d2", volume="dev 8:1"))
    driver.poll(log_dir("/d1", 0.8), log_dir("/d2", 0.8))
    assert [alert.log_dir for alert in driver.open_alerts()] == ["/d1"]
    assert driver.open_alerts()[0].evidence["shares_volume_with"] in ([], ["/d2"])
    driver.poll(log_dir("/d1", 0.8, error_code=56), log_dir("/d2", 0.8))
    assert [(a.log_dir, a.rule) for a in driver.open_alerts() if a.rule == "log_dir_space"] == [
        ("/d2", "log_dir_space")
    ]


def test_the_worst_directory_of_a_volume_speaks_even_where_the_first_one_is_well():
    driver = Driver().poll(log_dir("/d1"), log_dir("/d2"))
    driver.host(host_dir("/d1", volume="dev 8:1"), host_dir("/d2", volume="dev 8:1"))
    for _ in range(3):
        driver.poll(log_dir("/d1", incoming_bytes=0), log_dir("/d2", incoming_bytes=TOTAL))
    assert [driver.status(path) for path in ("/d1", "/d2")] == ["online", "critical"]
    assert [(a.log_dir, a.evidence["shares_volume_with"]) for a in driver.open_alerts()] == [("/d2", ["/d1"])]
    for _ in range(3):
        driver.poll(log_dir("/d1", 0.79, incoming_bytes=0), log_dir("/d2", 0.79, incoming_bytes=0))
    assert [(a.log_dir, str(a.severity)) for a in driver.open_alerts()] == [("/d2", "warning")], "and goes on"
    for _ in range(3):
        driver.poll(log_dir("/d1", 0.9, incoming_bytes=0), log_dir("/d2", 0.9, incoming_bytes=0))
    assert [str(a.severity) for a in driver.open_alerts()] == ["critical"]
    driver.poll(log_dir("/d1", 0.5), log_dir("/d2", 0.5)).poll(log_dir("/d1", 0.5), log_dir("/d2", 0.5))
    assert driver.open_alerts() == []


def test_a_volume_that_empties_keeps_its_alert_in_one_directory():
    driver = Driver().poll(log_dir("/d1", 0.9), log_dir("/d2", 0.9))
    driver.host(host_dir("/d1", volume="dev 8:1"), host_dir("/d2", volume="dev 8:1"))
    for used in (0.9, 0.79, 0.79):
        driver.poll(log_dir("/d1", used), log_dir("/d2", used))
    opened = {alert.alert_id for alert in driver.alerts if alert.log_dir == "/d1"}
    assert len(opened) == 1
    assert [(a.log_dir, str(a.severity)) for a in driver.open_alerts()] == [("/d1", "warning")]


@pytest.mark.parametrize(("factor", "severity"), [(0.5, "critical"), (2, "info")])
def test_another_size_is_told_until_it_has_stayed_a_day(factor, severity):
    driver = Driver().polls(0.3, 0.3)
    for _ in range(2):
        driver.poll(log_dir(used=0.3, total_bytes=int(TOTAL * factor)))
    assert driver.said("log_dir_changed") == [("log_dir_changed", "firing", severity)]
    assert driver.open_alerts()[0].evidence["total_bytes_before"] == TOTAL
    driver.at_ms += 24 * HOUR_MS
    driver.poll(log_dir(used=0.3, total_bytes=int(TOTAL * factor)))
    assert driver.said("log_dir_changed")[-1] == ("log_dir_changed", "resolved", "it stayed so")


def test_a_size_that_comes_back_ends_the_alert_and_a_little_more_or_less_is_no_news():
    driver = Driver().polls(0.3).poll(log_dir(used=0.3, total_bytes=TOTAL + GIB))
    assert driver.said() == []
    driver.poll(log_dir(used=0.3, total_bytes=TOTAL // 2)).polls(0.3)
    assert driver.said("log_dir_changed")[-1] == ("log_dir_changed", "resolved", "recovered")


def test_a_directory_that_is_suddenly_on_the_root_volume_is_critical_until_it_is_back():
    driver = Driver().polls(0.3)
    driver.host(host_dir(volume="dev 8:17", is_root_volume=False))
    driver.host(host_dir(volume="dev 8:1", is_root_volume=True))
    assert driver.said("log_dir_changed") == [("log_dir_changed", "firing", "critical")]
    driver.at_ms += 48 * HOUR_MS
    driver.polls(0.3)
    assert driver.open_alerts(), "staying so long makes a lost mount no better"
    driver.host(host_dir(volume="dev 8:33", is_root_volume=False))
    assert driver.said("log_dir_changed")[-1] == ("log_dir_changed", "resolved", "recovered"), "device numbers change"


def test_a_mount_that_is_lost_after_another_change_is_told_as_lost():
    driver = Driver().polls(0.3)
    for number in (17, 33):
        driver.host(host_dir(volume=f"dev 8:{number}", is_root_volume=False))
    driver.host(host_dir(volume="dev 8:1", is_root_volume=True))
    assert [item[2] for item in driver.said("log_dir_changed")] == ["warning", "critical"]
    driver.at_ms += 48 * HOUR_MS
    assert [str(alert.rule) for alert in driver.polls(0.3).open_alerts()] == ["log_dir_changed"]


def test_a_size_that_flaps_is_held_and_ends_when_it_was_calm():
    driver = Driver().polls(0.3)
    for _ in range(3):
        driver.poll(log_dir(used=0.3, total_bytes=TOTAL // 2)).polls(0.3)
    assert driver.open_alerts()[0].evidence["flapping"] == 3
    driver.polls(*[0.3] * 125)
    assert driver.said("log_dir_changed")[-1] == ("log_dir_changed", "resolved", "recovered")


class TestReserveFile:
    @staticmethod
    def look(driver, is_there):
        return driver.host(host_dir(volume="dev 8:17", is_reserve_there=is_there))

    def test_one_that_is_gone_is_a_warning_until_it_is_back(self):
        driver = Driver().polls(0.3)
        self.look(driver, True)
        assert driver.said() == []
        self.look(driver, False)
        assert driver.said() == [("log_dir_changed", "firing", "warning")]
        assert driver.open_alerts()[0].evidence["why"] == "reserve"
        assert "has no reserve file of the configured size" in driver.open_alerts()[0].summary
        driver.at_ms += 48 * HOUR_MS
        driver.polls(0.3)
        assert driver.open_alerts(), "nothing is better by waiting"
        self.look(driver, True)
        assert driver.said()[-1] == ("log_dir_changed", "resolved", "recovered")

    def test_while_the_directory_fills_it_is_given_up_on_purpose_and_told_afterwards(self):
        driver = Driver().polls(0.8, 0.8)
        self.look(driver, False)
        assert driver.said("log_dir_changed") == []
        driver.polls(0.3, 0.3)
        self.look(driver, False)
        assert driver.said("log_dir_changed") == [("log_dir_changed", "firing", "warning")]

    def test_what_is_configured_no_more_ends_a_day_later(self):
        driver = Driver().polls(0.3)
        self.look(driver, False)
        self.look(driver, None)
        assert driver.open_alerts(), "a look that tells nothing proves nothing"
        driver.at_ms += 25 * HOUR_MS
        self.look(driver, None)
        assert driver.said()[-1] == ("log_dir_changed", "resolved", "nobody looks for it any more")

    def test_a_lost_mount_is_told_before_it(self):
        driver = Driver().polls(0.3)
        driver.host(host_dir(volume="dev 8:17", is_root_volume=False, is_reserve_there=True))
        driver.host(host_dir(volume="dev 8:17", is_root_volume=False, is_reserve_there=False))
        driver.host(host_dir(volume="dev 8:1", is_root_volume=True, is_reserve_there=False))
        assert driver.said("log_dir_changed")[-1] == ("log_dir_changed", "firing", "critical")
        assert driver.open_alerts()[0].evidence["why"] == "root_volume"


def test_bytes_that_no_replica_explains_are_told_when_they_stay():
    driver = Driver()
    for _ in range(14 * 12):
        driver.poll(log_dir(used=0.5, replica_bytes=TOTAL // 4))
    assert driver.said() == []
    for _ in range(2 * 12):
        driver.poll(log_dir(used=0.5, replica_bytes=TOTAL // 4))
    assert driver.said() == [("unaccounted_bytes", "firing", "warning")]
    driver.poll(log_dir(used=0.5, replica_bytes=TOTAL // 2 - GIB))
    assert driver.said()[-1] == ("unaccounted_bytes", "resolved", "recovered")


def unexplained(driver, minutes, ratio=0.25, **fields):
    for _ in range(12 * minutes):
        driver.poll(log_dir(used=0.5, replica_bytes=round(TOTAL * ratio)), **fields)
    return driver


def test_bytes_that_were_explained_in_between_wait_from_the_beginning():
    driver = unexplained(unexplained(unexplained(Driver(), 14), 1, ratio=0.5), 14)
    assert driver.said() == []
    assert unexplained(driver, 2).said() == [("unaccounted_bytes", "firing", "warning")]


def two_alike(driver, minutes, first=0.4, second=0.19, used=0.6, apart_bytes=0):
    for _ in range(12 * minutes):
        driver.poll(
            log_dir("/d1", used, replica_bytes=round(TOTAL * first)),
            log_dir("/d2", used + apart_bytes / TOTAL, replica_bytes=round(TOTAL * second)),
        )
    return driver


def test_two_idle_directories_that_may_lie_on_one_volume_explain_each_others_bytes():
    """d2iq dcos-kafka-service#319: free bytes never move while nothing is written, so that no twin is learned."""
    assert two_alike(Driver(), 60).alerts == []
    assert two_alike(Driver(), 60, apart_bytes=8 << 20).alerts == []


def test_two_directories_that_look_alike_are_told_once_of_bytes_that_neither_of_them_explains():
    driver = two_alike(Driver(), 20, first=0.1, second=0.1)
    assert [(a.rule, a.log_dir) for a in driver.alerts] == [("unaccounted_bytes", "/d1")]
    assert driver.alerts[0].evidence["unaccounted_bytes"] == TOTAL * 6 // 10 - 2 * round(TOTAL * 0.1)


def test_two_directories_that_differ_explain_nothing_of_each_other():
    driver = two_alike(Driver(), 20, first=0.6, second=0.2, apart_bytes=GIB)
    assert [(a.rule, a.log_dir) for a in driver.alerts] == [("unaccounted_bytes", "/d2")]


def test_directories_that_the_host_tells_apart_explain_nothing_of_each_other_however_alike():
    driver = two_alike(Driver(), 1)
    driver.host(host_dir("/d1", volume="dev 8:1"), host_dir("/d2", volume="dev 8:2"))
    two_alike(driver, 20, first=0.6, second=0.2)
    assert [(a.rule, a.log_dir) for a in driver.alerts] == [("unaccounted_bytes", "/d2")]


def test_an_offline_neighbour_of_the_same_size_may_still_take_its_space_there():
    driver = two_alike(Driver(), 1)
    for _ in range(12 * 20):
        driver.poll(log_dir("/d1", 0.65, replica_bytes=round(TOTAL * 0.4)), log_dir("/d2", error_code=56))
    assert [str(a.rule) for a in driver.open_alerts()] == ["log_dir_offline"]
