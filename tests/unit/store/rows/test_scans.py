"""Which scans the driver takes for complete, and which directories are gone."""

from logdirwatch.store.rows.judgements import Judgement, View
from logdirwatch.store.rows.scans import Part, left_log_dirs, whole_log_dirs, whole_scans

LOG_DIR, CLUSTER = ("c", 7, "/d1"), ("c", None, None)


def part(subject, at_ms=1, collector="c1", offset=0, **record):
    return Part(subject, collector, at_ms, {"part": 0, "parts": 1, **record}, ("t", 0, offset))


def listed(at_ms, number=0, parts=1, replicas=1, **fields):
    return part(LOG_DIR, at_ms, part=number, parts=parts, replicas=[{}] * replicas, **fields)


def test_a_snapshot_counts_when_all_of_its_parts_are_there():
    parts = [listed(2, parts=2), listed(1, parts=2, replicas=3), listed(1, 1, parts=2, offset=5)]
    (whole,) = whole_log_dirs(parts).values()
    assert (whole.at_ms, whole.listed, whole.source[2]) == (1, 4, 5)


def test_parts_of_two_collectors_do_not_count_together():
    assert whole_log_dirs([listed(1, 0, parts=2), listed(1, 1, parts=2, collector="c2")]) == {}


def test_a_scan_is_whole_with_as_many_whole_topics_as_its_end_counts():
    topics = [part(CLUSTER, topic="a"), part(CLUSTER, topic="b", parts=2)]
    for counted, is_complete, expected in ((1, True, 1), (2, True, 0), (1, False, 0), (0, True, 0)):
        end = part(CLUSTER, topics=counted, is_complete=is_complete)
        assert len(whole_scans(topics, [end])) == expected, (counted, is_complete)


def test_only_a_broker_that_answers_has_left_directories():
    for status, expected in (("online", {LOG_DIR}), ("degraded", {LOG_DIR}), ("offline", set()), ("unknown", set())):
        judged = {("c", 7): Judgement(1, status, 1, {"/d2": View("online", 1)})}
        assert left_log_dirs({LOG_DIR, ("c", 7, "/d2"), ("c", 8, "/d1"), CLUSTER}, judged) == expected, status
