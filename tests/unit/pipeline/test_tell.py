"""When the stream tells how its queries fare: nothing while all is well, for the sake of its own input."""

import threading

from logdirwatch.model.records import LostRange, RejectedRows
from logdirwatch.pipeline.meter import QueryLag
from logdirwatch.pipeline.tell import AFTERWARDS_MS, MOST_REASONS, QUIET_INTERVAL_MS, Teller, merged
from logdirwatch.pipeline.watch import Rejects

T0 = 1_700_000_000_000
STEP_MS = 10_000


def lag(lag_ms=0, behind=0, lost=(), read_rows=1, found_unread=False):
    unread = None if behind is None else {"logdir.metrics": behind}
    return QueryLag(lag_ms, unread, read_rows, list(lost), found_unread)


def teller(**fields):
    return Teller("store", 30_000, 60_000, T0, **fields)


def rejected(rows=1, reason="not JSON", topic="logdir.events"):
    return RejectedRows(topic=topic, reason=reason, rows=rows, example=f"{topic}/0/{rows}")


def looks(told, count, start=1, **fields):
    found = [
        told.record(lag(**fields), [], T0 + number * STEP_MS, is_active=True) for number in range(start, start + count)
    ]
    return [record for record in found if record is not None]


def test_a_query_that_is_well_is_told_of_every_ten_minutes():
    told = looks(teller(), 180)
    assert [record.timestamp_ms for record in told] == [T0 + QUIET_INTERVAL_MS * number for number in (1, 2, 3)]
    assert (told[0].read_rows, told[0].lag_ms, told[0].interval_ms) == (60, 0, QUIET_INTERVAL_MS)


def test_one_that_is_behind_is_told_of_with_every_look_and_for_a_while_after():
    query = teller()
    assert looks(query, 1, lag_ms=89_999) == []
    assert len(looks(query, 3, start=2, lag_ms=90_000, behind=7)) == 3
    after = looks(query, 40, start=5)
    assert len(after) == AFTERWARDS_MS // STEP_MS - 1
    assert after[-1].lag_ms == 0


def test_what_could_not_be_read_and_what_was_lost_is_told_once():
    query = teller()
    lost = LostRange(topic="logdir.metrics", partition=0, from_offset=1, to_offset=9)
    first = query.record(lag(lost=[lost]), [rejected(2), rejected(3)], T0 + 1, is_active=True)
    assert first.lost == [lost]
    assert [(found.rows, found.example) for found in first.rejected] == [(5, "logdir.events/0/2")]
    second = query.record(lag(), [], T0 + 2, is_active=True)
    assert (second.lost, second.rejected) == ([], [])


def test_rejects_are_told_while_kafka_cannot_be_asked_and_nothing_is_made_up():
    record = teller().record(None, [rejected()], T0 + STEP_MS, is_active=False)
    assert (record.lag_ms, record.behind, record.read_rows, record.is_active) == (None, None, None, False)


def test_a_query_that_was_away_says_so_once_if_it_found_something_unread():
    query = teller(away_ms=600_000)
    assert looks(query, 1) == []
    record = query.record(lag(found_unread=True), [], T0 + 2 * STEP_MS, is_active=True)
    assert record.away_ms == 600_000
    record = query.record(lag(found_unread=True), [], T0 + 3 * STEP_MS, is_active=True)
    assert record.away_ms is None
    assert looks(teller(away_ms=59_999), 3, found_unread=True) == [], "a usual restart"


def test_a_real_time_query_tells_what_it_lost_but_not_where_it_is():
    query = teller(is_measured=False, away_ms=10**9)
    assert looks(query, 5, lag_ms=300_000, behind=9, found_unread=True) == []
    record = query.record(lag(lag_ms=300_000, behind=9), [rejected()], T0 + 10**6, is_active=True)
    assert (record.lag_ms, record.behind, record.away_ms) == (None, None, None)


def test_a_clock_that_goes_back_never_repeats_a_time():
    query = teller()
    first = query.record(lag(), [rejected()], T0 + 5_000, is_active=True)
    second = query.record(lag(), [rejected()], T0 + 1_000, is_active=True)
    assert second.timestamp_ms == first.timestamp_ms + 1


def test_few_reasons_are_kept_apart_the_most_frequent_first():
    found = merged([*(rejected(1, f"reason {number}") for number in range(50)), rejected(9, "often")])
    assert (len(found), found[0].reason) == (MOST_REASONS, "often")


def test_what_batches_note_is_taken_once_by_another_thread():
    rejects = Rejects()
    threads = [threading.Thread(target=lambda: [rejects.note("store", [rejected()]) for _ in range(100)]) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rejects.take("store")) == 200
    assert rejects.take("store") == rejects.take("recommend") == []


def test_a_query_whose_timers_need_input_gets_a_record_at_every_check_that_found_no_other():
    query = teller(needs_input=True)
    assert looks(query, 2, read_rows=3) == []
    assert len(looks(query, 1, start=3, read_rows=0)) == 1
    assert len(looks(query, 2, start=4, read_rows=1)) == 2, "what it read is that record"
    assert looks(query, 1, start=6, read_rows=2) == []
    assert looks(query, 1, start=7, read_rows=1) == [], "another one's record is input too"


def test_a_query_gets_no_record_while_it_is_not_known_what_it_read():
    query = teller(needs_input=True)
    assert query.record(None, [], T0 + STEP_MS, is_active=True) is None
