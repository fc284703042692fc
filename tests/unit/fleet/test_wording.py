"""Which numbers, names and answers stand in the text of a cluster's alert, and whether it can wait until morning."""

import pytest

from logdirwatch.fleet import wording
from logdirwatch.model.evidence.clusters import (
    BrokerSilentEvidence,
    ClusterSilentEvidence,
    FleetSpaceEvidence,
    IfLost,
    LostPlace,
    Rebuild,
    RollingRestartEvidence,
)
from logdirwatch.model.records import ADVANCES_NOT, SILENT
from tests.unit.fleet.builders import T0

GIB = 1 << 30
HOUR_MS = 3_600_000
NOBODY = {"examples": [], "hurt_topics": None, "hurt_groups": None}
NONE = {"leaderless": 0, "internal_leaderless": 0, "under_min_isr": 0, "under_min_isr_at_most": 0, "sole_replica": 0}


def waits(text):
    return text.partition("can wait until morning: ")[2]


@pytest.mark.parametrize(
    ("kind", "counts", "said", "answer"),
    [
        ("leaderless", {"leaderless": 1}, "1 partition without a leader", "no"),
        (
            "leaderless",
            {"leaderless": 3, "internal_leaderless": 2, "under_min_isr": 3, "under_min_isr_at_most": 3},
            "3 partitions without a leader (2 of internal topics), 3 partitions with too few in-sync replicas",
            "no",
        ),
        (
            "under_min_isr",
            {"under_min_isr": 1, "under_min_isr_at_most": 3, "sole_replica": 2},
            "at least 1 partition with too few in-sync replicas, 2 partitions with a single replica left",
            "no",
        ),
        ("sole_replica", {"sole_replica": 1}, "1 partition with a single replica left", "yes"),
    ],
)
def test_partitions_at_risk_are_counted_the_worst_first(kind, counts, said, answer):
    text = wording.partitions_at_risk("prod", kind, NONE | NOBODY | counts)
    assert text.startswith(f"Cluster prod: {said}; can wait until morning: {answer}, because")


def test_three_partitions_and_those_impacted_are_named():
    who = {"examples": ["a-0", "b-0", "c-0", "d-0"], "hurt_topics": ["a"], "hurt_groups": ["billing"]}
    text = wording.partitions_at_risk("prod", "leaderless", NONE | who | {"leaderless": 4})
    assert ", among them a-0, b-0, c-0; impacted: topics a; consumer groups billing; can wait" in text


def space(**fields):
    given = {"filling_brokers": 2, "brokers": 8, "above_bytes": 3 * GIB, "room_bytes": GIB, "first_full_at_ms": None}
    return FleetSpaceEvidence(**(given | fields))


FITS, NOT_KNOWN = Rebuild(can_be_rebuilt=True), Rebuild(can_be_rebuilt=None)


def misses(log_dir, missing_bytes):
    place = LostPlace(broker=4, log_dir=log_dir)
    return Rebuild(can_be_rebuilt=False, worst=place, missing_bytes=missing_bytes)


@pytest.mark.parametrize(
    ("if_lost", "said"),
    [
        (None, "whether a lost broker could be rebuilt is not known"),
        (IfLost(log_dir=FITS, broker=FITS), "any one broker could be rebuilt on the others"),
        (IfLost(log_dir=FITS, broker=NOT_KNOWN), "whether a lost broker could be rebuilt is not known"),
        (IfLost(log_dir=NOT_KNOWN, broker=FITS), "any one broker could be rebuilt on the others"),
        (IfLost(log_dir=FITS, broker=misses(None, GIB)), "if broker 4 were lost, 1 GiB would not fit on the others"),
        # Where not even a directory could be rebuilt, that is worse.
        (
            IfLost(log_dir=misses("/d1", 2 * GIB), broker=misses(None, GIB)),
            "if /d1 of broker 4 were lost, 2 GiB would not fit on the others",
        ),
    ],
)
def test_a_cluster_short_of_space_says_what_could_not_be_rebuilt(if_lost, said):
    text = wording.fleet_space("prod", space(if_lost=if_lost), 0, T0, can_wait=True)
    assert f"moving data only moves the problem; {said}; can wait" in text


@pytest.mark.parametrize(
    ("urgent", "first_full_ms", "can_wait", "answer"),
    [
        (0, None, True, "yes, because none of them is critical yet; but getting more space takes days"),
        (0, T0 + 2 * HOUR_MS, True, "yes, because none of them is critical yet; but getting more space takes days"),
        (0, T0 + 2 * HOUR_MS, False, "no, because the first is full in about 2 h"),
        (1, T0 + 2 * HOUR_MS, False, "no, because 1 disk is critical or worse already"),
        (3, None, True, "no, because 3 disks are critical or worse already"),
    ],
)
def test_a_cluster_short_of_space_says_how_much_and_whether_it_can_wait(urgent, first_full_ms, can_wait, answer):
    text = wording.fleet_space("prod", space(first_full_at_ms=first_full_ms), urgent, T0, can_wait=can_wait)
    assert text.startswith("Cluster prod: 2 of 8 brokers have disks that are filling or soon will be, 3 GiB too much")
    assert "and the others can take 1 GiB of that" in text
    assert waits(text) == answer


@pytest.mark.parametrize(
    ("brokers", "away", "said"),
    [
        (1, [], "its only broker any more; check the collector"),
        (3, [], "any of its 3 brokers any more; check the collector"),
        (3, [2], "any of its 3 brokers any more; broker 2 did not answer before that; check"),
        (3, [2, 3], "any of its 3 brokers any more; brokers 2, 3 did not answer before that; check"),
    ],
)
@pytest.mark.parametrize(("is_planned", "answer"), [(True, "yes"), (False, "no")])
def test_a_silent_cluster_says_who_was_away_before(brokers, away, said, is_planned, answer):
    evidence = ClusterSilentEvidence(brokers=brokers, silent_brokers=brokers, away_before=away)
    text = wording.cluster_silent("prod", evidence, is_planned=is_planned)
    assert text.startswith(f"Cluster prod is unknown: no collector reports {said}")
    assert waits(text).startswith(f"{answer}, because")


@pytest.mark.parametrize(
    ("in_turn", "away", "said"),
    [
        ([1, 2], 0, "are back (1, 2); can wait"),
        ([1, 2], 1, "are back (1, 2), 1 more is away now; can wait"),
        ([1, 2], 2, "are back (1, 2), 2 more are away now; can wait"),
        (list(range(1, 9)), 0, "are back (1, 2, 3, 4, 5, 6, 7, 8); can wait"),
        (list(range(1, 10)), 0, "are back (1, 2, 3, 4, 5, 6, 7, 8, ...); can wait"),
    ],
)
def test_a_rolling_restart_names_who_is_back_and_counts_who_is_away(in_turn, away, said):
    evidence = RollingRestartEvidence(
        restarted_brokers=len(in_turn), brokers=12, away_brokers=away, longest_away_ms=90_000, grace_ms=300_000
    )
    text = wording.rolling_restart("prod", evidence, in_turn)
    assert text.startswith(
        f"Cluster prod: rolling restart: {len(in_turn)} of 12 brokers were away for at most 1 min 30 s"
    )
    assert said in text
    assert waits(text).startswith("yes, because a broker that stays away longer than 5 min has an alert of its own")


@pytest.mark.parametrize(
    ("more", "said"), [(0, ": one of"), (1, ", and 1 more stands out: one of"), (2, ", and 2 more stand out: one of")]
)
def test_a_slow_broker_is_compared_with_the_others(more, said):
    text = wording.slow_brokers("prod", 7, 2_000.0, 100.0, more)
    assert text.startswith("Cluster prod: broker 7 takes 2 s to flush a log (p99), the others 100 ms" + said)
    assert waits(text).startswith("yes, because all brokers serve")


def test_an_alert_that_is_held_open_says_since_when_and_until_when():
    text = wording.held("prod", "fleet_space", 3, T0, T0 + HOUR_MS)
    assert text == (
        "Cluster prod: no fleet_space since 2023-11-14 22:13:20Z; flapping: ended 3 times within an hour, held open "
        "until 2023-11-14 23:13:20Z"
    )


@pytest.mark.parametrize(
    ("broker", "reason", "said"),
    [(None, "recovered", "Cluster prod: recovered"), (7, "removed", "Broker 7: resolved, removed")],
)
def test_an_alert_that_ended_says_why(broker, reason, said):
    assert wording.resolved("prod", broker, reason) == said


def test_a_silent_broker_whose_samples_arrive_is_told_with_the_clock_to_check():
    why = f"{SILENT}samples of c1 arrive, but {ADVANCES_NOT}: check the clock of its host"
    told = wording.broker_silent(7, BrokerSilentEvidence(reason=why, brokers=3, silent_brokers=1), is_planned=False)
    assert "Broker 7 is unknown: samples of c1 arrive, but their time does not advance" in told
    assert "2 of the cluster's 3 are reported" in told
    whole = wording.cluster_silent("prod", ClusterSilentEvidence(reason=why, brokers=3), is_planned=False)
    assert whole.startswith("Cluster prod is unknown: samples of c1 arrive, but their time does not advance: check the")
    silent = wording.broker_silent(7, BrokerSilentEvidence(reason=f"{SILENT}x", brokers=3), is_planned=False)
    assert "no collector reports it" in silent
