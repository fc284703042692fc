"""How far a query is behind, and what it lost, from its offsets and Kafka's."""

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.pipeline.meter import MOST_LOOKS, Bounds, Meter, Progress

T0 = 1_700_000_000_000
STEP_MS = 10_000
A, B = ("logdir.metrics", 0), ("logdir.metrics", 1)


def bounds(end, begin=0, part=A):
    return Bounds({part: begin}, {part: end})


def progress(reached, began=0, part=A):
    return Progress({part: began}, {part: reached})


def test_a_query_that_has_read_everything_is_not_behind():
    lag = Meter(T0).look(T0 + STEP_MS, progress(100, began=40), bounds(100))
    assert (lag.lag_ms, lag.behind, lag.read_rows) == (0, {"logdir.metrics": 0}, 60)
    assert lag.found_unread


def test_lag_counts_from_the_newest_look_whose_end_was_reached():
    meter = Meter(T0)
    meter.look(T0, progress(100), bounds(100))
    assert meter.look(T0 + 10_000, progress(100), bounds(150)).lag_ms == 10_000
    assert meter.look(T0 + 20_000, progress(100), bounds(200)).lag_ms == 20_000
    lag = meter.look(T0 + 30_000, progress(150), bounds(250))
    assert (lag.lag_ms, lag.behind, lag.read_rows) == (20_000, {"logdir.metrics": 100}, 50)
    assert meter.look(T0 + 40_000, progress(250), bounds(260)).lag_ms == 10_000
    assert meter.look(T0 + 50_000, progress(260), bounds(260)).lag_ms == 0


def test_a_quiet_topic_that_gets_a_record_makes_nobody_late():
    meter = Meter(T0)
    for minute in range(120):
        meter.look(T0 + minute * 60_000, progress(5), bounds(5))
    assert meter.look(T0 + 120 * 60_000, progress(5), bounds(6)).lag_ms == 60_000


def test_every_partition_counts():
    meter = Meter(T0)
    both = Bounds({A: 0, B: 0}, {A: 10, B: 10})
    meter.look(T0, Progress({A: 0, B: 0}, {A: 10, B: 10}), both)
    lag = meter.look(T0 + STEP_MS, Progress({}, {A: 20, B: 10}), Bounds({A: 0, B: 0}, {A: 20, B: 13}))
    assert (lag.lag_ms, lag.behind) == (STEP_MS, {"logdir.metrics": 3})


def test_before_the_first_batch_ends_only_its_length_is_known():
    lag = Meter(T0).look(T0 + 90_000, None, bounds(100, begin=20))
    assert (lag.lag_ms, lag.behind, lag.read_rows, lag.lost) == (90_000, None, 0, [])


def test_without_anything_to_read_nobody_is_behind():
    lag = Meter(T0).look(T0 + 90_000, None, bounds(20, begin=20))
    assert (lag.lag_ms, lag.behind) == (0, {"logdir.metrics": 0})


def test_a_run_that_began_with_nothing_to_read_found_nothing_unread():
    meter = Meter(T0)
    lag = meter.look(T0 + 90_000, progress(100, began=100), bounds(100))
    assert (lag.lag_ms, lag.read_rows, lag.found_unread) == (0, 0, False)
    lag = meter.look(T0 + 99_000, progress(103, began=100), bounds(103))
    assert (lag.lag_ms, lag.read_rows, lag.found_unread) == (0, 3, False)


def test_a_query_that_never_read_anything_begins_at_the_first_record():
    meter = Meter(T0)
    assert meter.look(T0 + 1, Progress({}, {}), bounds(20, begin=20)).lag_ms == 0
    lag = meter.look(T0 + 5_001, Progress({}, {}), bounds(23, begin=20))
    assert (lag.lag_ms, lag.behind) == (5_000, {"logdir.metrics": 3})
    assert meter.look(T0 + 9_000, progress(23, began=20), bounds(23, begin=20)).found_unread is False


def test_a_query_that_failed_goes_on_falling_behind_from_where_it_was():
    meter = Meter(T0)
    meter.look(T0, progress(50), bounds(50))
    lag = meter.look(T0 + 60_000, None, bounds(80))
    assert (lag.lag_ms, lag.behind) == (60_000, {"logdir.metrics": 30})


def test_what_is_gone_before_a_stalled_query_read_it_is_lost_once():
    meter = Meter(T0)
    meter.look(T0, progress(50), bounds(100))
    assert meter.look(T0 + 1, progress(50), bounds(120, begin=50)).lost == []
    (lost,) = meter.look(T0 + 2, progress(50), bounds(120, begin=80)).lost
    assert (lost.topic, lost.partition, lost.from_offset, lost.to_offset) == ("logdir.metrics", 0, 50, 80)
    assert meter.look(T0 + 3, progress(50), bounds(120, begin=80)).lost == []
    (lost,) = meter.look(T0 + 4, progress(120), bounds(120, begin=90)).lost
    assert (lost.from_offset, lost.to_offset) == (80, 90)
    assert meter.look(T0 + 5, progress(120), bounds(130, begin=120)).lost == []


def test_a_run_that_began_below_what_is_left_lost_what_is_between():
    lag = Meter(T0).look(T0 + STEP_MS, progress(500, began=100), bounds(500, begin=300))
    assert [(lost.from_offset, lost.to_offset) for lost in lag.lost] == [(100, 300)]


def test_a_topic_that_is_emptied_behind_a_query_that_had_read_it_loses_nothing():
    meter = Meter(T0)
    meter.look(T0, progress(100), bounds(100))
    assert meter.look(T0 + STEP_MS, progress(130), bounds(130, begin=130)).lost == []


def ranges(lag):
    return [(lost.from_offset, lost.to_offset) for lost in lag.lost]


def test_a_topic_made_anew_loses_what_the_old_one_had_unread_and_what_the_query_passes_over():
    meter = Meter(T0)
    meter.look(T0, progress(100), bounds(120))
    assert ranges(meter.look(T0 + 1, progress(100), bounds(4))) == [(100, 120)]
    assert ranges(meter.look(T0 + 2, progress(100), bounds(6))) == []
    assert ranges(meter.look(T0 + 3, progress(6), bounds(9))) == [(0, 6)]
    assert ranges(meter.look(T0 + 4, progress(9), bounds(9))) == []


def test_a_topic_made_anew_that_is_seen_only_after_the_query_went_on_loses_both_at_once():
    meter = Meter(T0)
    meter.look(T0, progress(100), bounds(120))
    assert ranges(meter.look(T0 + 1, progress(6), bounds(9))) == [(100, 120), (0, 6)]


def test_an_empty_topic_made_anew_that_was_read_to_its_end_loses_nothing():
    meter = Meter(T0)
    meter.look(T0, progress(100), bounds(100))
    assert ranges(meter.look(T0 + 1, progress(0), bounds(0))) == []
    lag = meter.look(T0 + 2, progress(0), bounds(3))
    assert (lag.lost, lag.behind) == ([], {"logdir.metrics": 3})


def test_a_query_far_behind_keeps_few_looks():
    meter = Meter(T0)
    for number in range(3 * MOST_LOOKS):
        meter.look(T0 + number * STEP_MS, progress(1), bounds(10 + number))
    assert len(meter._looks) <= MOST_LOOKS + 1
    assert meter.look(T0 + 3 * MOST_LOOKS * STEP_MS, progress(1), bounds(10**6)).lag_ms == 3 * MOST_LOOKS * STEP_MS


moves = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)), max_size=40)


@given(moves)
def test_lag_is_never_less_than_it_is_and_nothing_is_lost_twice(steps):
    """Against a query that stops reading at the look number that the lag points to."""
    meter, read, end, begin, lost, ends = Meter(T0), 0, 0, 0, 0, []
    for number, (written, taken, deleted) in enumerate(steps):
        end += written
        begin = min(end, begin + deleted)
        read = min(end, max(read, begin) + taken)
        at_ms = T0 + (number + 1) * STEP_MS
        ends.append((at_ms, end))
        lag = meter.look(at_ms, Progress({A: 0}, {A: read}), Bounds({A: begin}, {A: end}))
        reached = max((seen_ms for seen_ms, seen_end in ends if read >= seen_end), default=T0)
        assert lag.lag_ms == (0 if read == end else at_ms - reached)
        assert lag.behind == {"logdir.metrics": end - read}
        lost += sum(gone.to_offset - gone.from_offset for gone in lag.lost)
    assert lost <= begin
