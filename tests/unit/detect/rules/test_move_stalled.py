"""move_stalled: moves that do not arrive."""

import msgspec

from logdirwatch.model.records import ReplicaMoves
from tests.unit.detect.builders import FOLLOWER, GIB, WITHIN, Driver, Scans, log_dir

STILL = log_dir("/d1", incoming_bytes=0)


def coming(gib, path="/d2", future_gib=0, **fields):
    return log_dir(path, incoming_bytes=round(gib * GIB), future_bytes=round(future_gib * GIB), **fields)


def held_up(driver):
    return next((a for a in driver.open_alerts() if a.rule == "move_stalled"), None)


def verdicts(driver):
    return {path: move["verdict"] for path, move in held_up(driver).evidence["moves"].items()}


def test_a_move_without_progress_is_told_after_a_quarter_of_an_hour():
    driver = Scans().scans(15, STILL, coming(10))
    assert driver.said("move_stalled") == []
    driver.scan(STILL, coming(10))
    assert driver.said("move_stalled") == [("move_stalled", "firing", "warning")]
    assert verdicts(driver) == {"/d2": "stands_still"}
    assert "/d2: 10 GiB still to come, no progress for 15 min" in held_up(driver).summary
    driver.scans(5, STILL, coming(10))
    assert len(driver.said("move_stalled")) == 1, "what stands still is said once"
    driver.scan(STILL, coming(9))
    assert driver.said("move_stalled")[-1] == ("move_stalled", "firing", "warning"), "not in time yet at this pace"
    for left in range(18):
        driver.scan(STILL, coming(8.9 - left / 10))
    assert driver.said("move_stalled")[-1] == ("move_stalled", "resolved", "recovered")


def test_a_move_that_ends_ends_its_alert():
    driver = Scans().scans(16, coming(10)).scan(log_dir("/d2", incoming_bytes=0, future_bytes=0))
    assert driver.said("move_stalled")[-1] == ("move_stalled", "resolved", "recovered")
    assert driver.memory.log_dirs["/d2"].move is None


def test_a_move_that_gets_on_is_not_told_however_long_it_takes_within_the_limit():
    driver = Scans()
    for minute in range(120):
        driver.scan(coming(100 - minute / 8))
    assert driver.said("move_stalled") == []


def test_a_move_that_would_take_longer_than_a_day_is_too_slow_after_two_spans():
    driver = Scans()
    for minute in range(30):
        driver.scan(coming(10_000 - minute / 10))
    assert driver.said("move_stalled") == []
    driver.scan(coming(9_997))
    assert verdicts(driver) == {"/d2": "too_slow"}
    assert "ends in about 2 months at the present rate" in held_up(driver).summary


def test_moves_that_are_added_do_not_make_the_others_slow():
    driver = Scans()
    left = [20 - minute / 10 for minute in range(20)] + [60 - minute / 10 for minute in range(40)]
    for gib in left:
        driver.scan(coming(gib))
    assert driver.said("move_stalled") == []


def test_a_copy_slower_than_what_is_written_names_its_limit():
    driver = Scans()
    for minute in range(31):
        fields = {"copies": 1, "throttles": {WITHIN: 1_000_000}}
        driver.scan(coming(10 + minute / 10, future_gib=1 + minute / 100), **fields)
    (move,) = held_up(driver).evidence["moves"].values()
    assert (move["verdict"], move["throttle"], move["is_throttled_below_writes"]) == ("too_slow", WITHIN, True)
    assert "its limit of 976.6 KiB/s is below what is written" in held_up(driver).summary


QUEUE = {"copies": 4, "copies_begun": 1, "waiting_bytes": {"/d3": 10 * GIB}, "copy_threads": 1}


class TestQueued:
    """KIP-113: a move waits for a free thread."""

    def test_what_waits_for_a_thread_is_not_stalled_however_long(self):
        driver = Scans()
        for minute in range(180):
            driver.scan(coming(30 - minute / 10, future_gib=1 + minute / 10), coming(10, "/d3"), **QUEUE)
        assert driver.said("move_stalled") == []

    def test_its_time_begins_when_nothing_else_runs(self):
        driver = Scans().scans(60, coming(10, "/d3"), **QUEUE)
        driver.scans(14, coming(10, "/d3"), copies=3, copies_begun=0, waiting_bytes={"/d3": 10 * GIB})
        assert driver.said("move_stalled") == []
        driver.scan(coming(10, "/d3"), copies=3, copies_begun=0, waiting_bytes={"/d3": 10 * GIB})
        assert verdicts(driver) == {"/d3": "stands_still"}

    def test_beside_a_copy_that_stalls_it_is_told_as_queued(self):
        driver = Scans().scans(17, coming(30, future_gib=1), coming(10, "/d3"), **QUEUE)
        assert verdicts(driver) == {"/d2": "stands_still", "/d3": "queued"}
        told = held_up(driver)
        assert "/d3: 10 GiB still to come, queued until one of the broker's other copies ends" in told.summary
        waits = ("copies_begun", "copy_threads", "is_copy_threads_default")
        assert [told.evidence[key] for key in waits] == [1, 1, False]
        default = Scans().scans(17, coming(30, future_gib=1), coming(10, "/d3"), **{**QUEUE, "copy_threads": None})
        assert [held_up(default).evidence[key] for key in waits] == [1, 2, True]

    def test_what_comes_from_other_brokers_does_not_wait_for_a_thread(self):
        driver = Scans().scans(17, coming(30, future_gib=1), coming(11, "/d3"), **QUEUE)
        assert verdicts(driver) == {"/d2": "stands_still", "/d3": "stands_still"}

    def test_a_record_of_before_has_no_queue(self):
        assert msgspec.json.decode(b'{"at_ms":1,"copies":2}', type=ReplicaMoves).waiting_bytes is None
        driver = Scans().scans(17, coming(30, future_gib=1), coming(10, "/d3"), copies=4)
        assert verdicts(driver) == {"/d2": "stands_still", "/d3": "stands_still"}


def test_a_limit_is_named_where_it_is_known_and_blamed_only_where_that_is_seen():
    driver = Scans().scans(16, coming(10), reassignments=1, throttles={FOLLOWER: 10 << 20})
    (move,) = held_up(driver).evidence["moves"].values()
    assert (move["throttle"], move["is_throttled_below_writes"]) == (FOLLOWER, False)
    assert "no progress for 15 min 5 s, under a limit of 10 MiB/s" in held_up(driver).summary


def test_several_polls_after_one_scan_are_one_look():
    driver = Scans().scan(coming(10))
    seen = ReplicaMoves(at_ms=driver.at_ms)
    for _ in range(400):
        driver.poll(coming(10), moves=seen)
    assert driver.said("move_stalled") == [], "no scan since: nobody knows"


def test_a_record_that_does_not_say_when_it_counted_speaks_of_its_own_time():
    driver = Driver()
    for _ in range(181):
        driver.poll(coming(10))
    assert [a.rule for a in driver.open_alerts()] == ["move_stalled"]


def test_what_is_not_known_neither_opens_nor_ends_it():
    driver = Scans().scans(30, log_dir("/d2"))
    assert driver.said("move_stalled") == []
    driver.scans(16, coming(10)).scans(3, log_dir("/d2")).scan(log_dir("/d2", error_code=-1)).scan(log_dir("/d3"))
    assert held_up(driver) is not None
    driver.scan(log_dir("/d2", incoming_bytes=0), log_dir("/d3", incoming_bytes=0))
    assert held_up(driver) is None


def test_a_destination_that_fails_is_told_by_its_own_alert():
    driver = Scans().scans(16, coming(10), log_dir("/d1", incoming_bytes=0))
    driver.scan(log_dir("/d2", error_code=56, incoming_bytes=10 * GIB), log_dir("/d1", incoming_bytes=0))
    assert sorted(str(a.rule) for a in driver.open_alerts()) == ["log_dir_offline"]


def test_a_broker_that_was_away_has_its_time_again_and_its_alert_says_so():
    driver = Scans().scans(16, coming(10)).poll(status="timeout")
    assert held_up(driver).stale_since_ms == driver.at_ms
    driver.scans(10, coming(10))
    assert held_up(driver) is not None, "nothing seen of it yet that is good"
    other = Scans().scans(10, coming(10)).poll(status="timeout").scans(10, coming(10))
    assert other.said("move_stalled") == []


def test_a_destination_that_fails_together_with_another_directory_is_told_by_their_alert():
    driver = Scans().scans(16, STILL, coming(10))
    driver.scan(log_dir("/d1", error_code=56, incoming_bytes=0), log_dir("/d2", error_code=56, incoming_bytes=10 * GIB))
    (alert,) = driver.open_alerts()
    ended = next(a for a in driver.alerts if a.rule == "move_stalled" and a.status == "resolved")
    assert (alert.log_dir, ended.reason, ended.merged_into) == ("/d1", "offline", alert.alert_id)
