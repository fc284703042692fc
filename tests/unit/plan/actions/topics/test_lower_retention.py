"""What the action for a cut says, and that its own numbers speak against it where it leaves too little."""

import pytest

from logdirwatch.plan.actions.topics.lower_retention import propose_cut
from logdirwatch.plan.retention.limits import RetentionCut, RetentionLimit
from tests.unit.plan.answers import holds, vetoed
from tests.unit.plan.builders import MIB, directory, facts, partition_of, policy, replica, topic

SOURCE = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB)
HERE, THERE = (1, "/d1"), (2, "/d1")
HOUR_MS = 3_600_000


def draft(to=200 * MIB, key="retention.bytes", *, rate=1000.0, unread=0, made=None, **limits):
    made = made or topic("t", (1, 2), configs={"retention.ms": "-1"}, unread={0: 0.9})
    way = RetentionLimit(made, key, 1, 10**12, bytes_per_s=rate, unread=unread)
    cut = RetentionCut(way, to, {HERE: 190 * MIB, THERE: 80 * MIB}, way.keeps_ms(to))
    known = facts(SOURCE, directory(2), made, replica(*HERE, "t", size=400 * MIB), replica(*THERE, "t", size=290 * MIB))
    return propose_cut(SOURCE, cut, known, policy(**limits), is_moving=False)


def test_it_says_what_goes_where_what_stays_and_what_that_wins():
    found = draft()
    assert found.reason == (
        "lower retention.bytes of t from unlimited to 200 MiB a partition: deletes at least its oldest 190 MiB of "
        "400 MiB in /d1, and 80 MiB in other directories; every partition keeps at least 2 d 10 h; "
        "the directory is full 3 min 10 s later"
    )
    assert found.expected["wins_ms"] == 190_000
    assert found.expected["keeps_bytes"] == 210 * MIB
    assert found.expected["needs_ms"] == 360_000
    assert found.data_loss


def test_a_limit_of_age_is_said_as_a_time():
    reason = draft(2 * HOUR_MS, "retention.ms").reason
    assert "from unlimited to 2 h: deletes about its oldest 190 MiB" in reason
    assert "every partition keeps at least 2 h" in reason


@pytest.mark.parametrize(("lag_bytes", "much", "is_copied"), [(0, "at least", True), (None, "at most", False)])
def test_a_local_cut_deletes_copies_only_and_does_not_say_more_than_is_known(lag_bytes, much, is_copied):
    found = draft(key="local.retention.bytes", made=topic("t", (1, 2), remote_copy_lag_bytes=lag_bytes))
    assert f"deletes local copies only, {much} its oldest 190 MiB" in found.reason
    assert ("remote storage has it" in found.reason) is is_copied
    assert ("how much that is, is not known" in found.reason) is not is_copied
    assert not found.data_loss


def test_what_nobody_knows_is_said_so():
    unknown, idle = draft(rate=None), draft(rate=0.0)
    assert "how much history remains is unknown" in unknown.reason
    assert "nothing is written to it now" in idle.reason
    assert (holds(unknown, "min_retention"), holds(idle, "min_retention")) == (None, True)


def test_too_little_history_by_its_own_numbers_is_a_veto():
    found = draft(rate=200 * MIB / 3599)
    assert holds(found, "min_retention") is False
    assert vetoed(found) == ["min_retention"]
    assert vetoed(draft(rate=200 * MIB / 3600)) == []
    assert vetoed(draft(HOUR_MS - 1, "retention.ms")) == ["min_retention"]


def test_so_is_what_a_group_has_still_to_read():
    assert vetoed(draft(unread=200 * MIB)) == []
    found = draft(unread=200 * MIB + 1)
    assert vetoed(found) == ["consumers_unread"]
    assert holds(found, "consumers_done") is False


def consumers(unread, number=None):
    made = topic("t", (1, 2), (1, 2), unread=unread)
    made = made if number is None else partition_of(made, number, groups=None, unread_ratio=None)
    return next(p for p in draft(made=made, unread=10**12).preconditions if p.name == "consumers_done")


def test_what_is_known_of_consumers_is_said_with_who_they_are():
    assert consumers({0: 0.05}).text.endswith("every group has read it")
    assert consumers({}).text.endswith("who reads without committing them is not seen")
    assert consumers({0: 0.9}).text.endswith("consumer group readers has still to read about 360 MiB of t-0")
    assert [consumers(told).holds for told in ({0: 0.05}, {}, {0: 0.9})] == [True, None, False]


def test_one_partition_that_nobody_knows_is_enough_to_know_nothing():
    assert consumers({0: 0.05, 1: 0.05}, number=1).holds is None


def test_the_limit_in_force_is_said_in_its_unit():
    old = {"retention.ms": str(5 * HOUR_MS), "retention.bytes": str(300 * MIB)}
    made = topic("t", (1, 2), configs=old, unread={})
    assert "from 300 MiB to 200 MiB a partition" in draft(made=made).reason
    assert "from 5 h to 2 h" in draft(2 * HOUR_MS, "retention.ms", made=made).reason
    none = topic("t", (1, 2), configs={"retention.bytes": "0"}, unread={})
    assert "from 0 B to" in draft(made=none).reason


def test_what_does_not_come_back_is_said():
    assert draft().undo["text"] == "deleted records cannot be restored"
    assert draft(key="local.retention.bytes").undo["text"] == "local copies are not fetched again"
