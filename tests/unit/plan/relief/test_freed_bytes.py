"""What remedies give before a directory is full, and what must be deleted for the rest: no more than that."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.capacity import timing
from logdirwatch.plan.proposal import Precondition, ProposedAction, Veto, effect
from logdirwatch.plan.relief.freed_bytes import (
    CUT_LASTS_MS,
    Step,
    after,
    bytes_to_delete,
    freed_by,
    freed_in_time_bytes,
    hoped_bytes,
    in_time_bytes,
    is_in_time,
    promised_bytes,
)
from logdirwatch.text.units import human_ms
from tests.unit.plan.builders import directory, policy

RATE = 1000.0
PERSON_S = timing.REACTION_MS // 1000


def place(left_s=PERSON_S + 100, *, growth=RATE, **fields):
    """A directory that is full in so many seconds, at 1,000 bytes per second: 100 s after a person has begun."""
    total = 1_000_000_000
    return directory(1, used=total - int(left_s * RATE), total=total, growth_bytes_per_s=growth, **fields)


STILL = directory(1)


def remedy(kind=ActionKind.MOVE_LOG_DIR, *, frees=None, needs_ms=1, in_time=None, vetoed=False, topic=None, **fields):
    more = {
        key: fields.pop(key)
        for key in ("then_frees_bytes", "in_time_bytes", "then_needs_ms", "back_bytes")
        if key in fields
    }
    return ProposedAction(
        kind,
        {"broker": 1, "log_dir": "/d1"} | ({"topic": topic} if topic else {}),
        "",
        effect(frees_bytes=frees, needs_ms=needs_ms, **more),
        preconditions=()
        if in_time == "unsaid"
        else (Precondition("other", "", True), Precondition("in_time", "", in_time)),
        vetoes=(Veto("no", ""),) if vetoed else (),
        **fields,
    )


def moved(*topics, **fields):
    plan = {"partitions": [{"topic": name} for name in topics]}
    return remedy(reassignment=plan, in_time=True, **fields)


def cut(topic, frees, **fields):
    return remedy(ActionKind.LOWER_RETENTION, topic=topic, frees=frees, in_time=True, **fields)


@pytest.mark.parametrize(
    ("fields", "promised"),
    [({"frees": 5}, 5), ({"then_frees_bytes": 7}, 7), ({"frees": 5, "then_frees_bytes": 7}, 5), ({}, 0)],
)
def test_what_an_action_makes_possible_is_promised_too(fields, promised):
    assert promised_bytes(remedy(**fields)) == promised


@pytest.mark.parametrize(
    ("needs_ms", "said", "found"),
    [(0, False, True), (1, True, True), (1, False, False), (1, None, None), (1, "unsaid", None)],
)
def test_an_action_says_itself_whether_it_is_in_time(needs_ms, said, found):
    assert is_in_time(remedy(needs_ms=needs_ms, in_time=said)) is found


class TestOneAction:
    @pytest.mark.parametrize(
        ("fields", "freed"),
        [
            ({"needs_ms": 99_999}, 5),
            ({"needs_ms": 100_000}, 0),
            ({"needs_ms": 10**6, "in_time_bytes": 3}, 3),
            ({"vetoed": True}, 0),
            ({"needs_ms": None}, 0),
        ],
    )
    def test_it_counts_as_far_as_it_is_in_time(self, fields, freed):
        assert freed_in_time_bytes(remedy(frees=5, **fields), place()) == freed

    @pytest.mark.parametrize(
        ("fields", "freed"),
        [({"needs_ms": 10**12}, 5), ({"needs_ms": None}, 0), ({"vetoed": True}, 0)],
    )
    def test_where_nobody_knows_when_it_is_full_any_time_will_do(self, fields, freed):
        assert freed_in_time_bytes(remedy(frees=5, **fields), STILL) == freed


class TestStepAfterStep:
    @pytest.mark.parametrize(
        ("steps", "freed"),
        [
            ([(99_999, 50_000)], 50_000),
            ([(100_000, 50_000)], 0),
            ([(90_000, 50_000), (149_999, 7)], 50_007),
            ([(149_999, 7), (90_000, 50_000)], 50_007),
            ([(90_000, 50_000), (150_000, 7)], 50_000),
            ([(None, 5), (1, 1)], 1),
            ([(200_000, 5), (1, 1)], 1),
            ([(60_000, 10, True), (60_000, 7, True)], 10),
            ([(60_000, 10, True), (60_000, 7)], 17),
            ([(650_000, 5), (650_000, 7, False, 0)], 7),
            ([], 0),
        ],
    )
    def test_each_makes_it_last_for_the_next(self, steps, freed):
        assert in_time_bytes(place(), [Step(*step) for step in steps]) == freed

    def test_where_nobody_knows_when_it_is_full_all_count(self):
        assert in_time_bytes(STILL, [Step(None, 5), Step(10**12, 7)]) == 12


class TestTogether:
    @pytest.mark.parametrize(
        ("proposals", "freed"),
        [
            ([moved("a", frees=5), cut("b", 7)], 12),
            ([moved("a", frees=5), cut("a", 3)], 5),
            ([moved("a", frees=5), cut("a", 7)], 7),
            ([moved("a", frees=5, vetoed=True), cut("a", 3)], 3),
            ([moved("a", "b", frees=5), cut("b", 3), cut("c", 2)], 7),
            ([remedy(frees=5, in_time=True), cut("a", 3)], 8),
            ([], 0),
        ],
    )
    def test_a_cut_of_what_moves_frees_the_same_bytes(self, proposals, freed):
        assert freed_by(proposals, place()) == freed

    def test_the_directory_lasts_longer_by_what_is_in_time(self):
        source = place(relief_bytes=4)
        assert after(source, [cut("a", 5), remedy(frees=9, needs_ms=10**6)]).relief_bytes == 9


class TestWhatOthersMakePossible:
    LEFT_S = CUT_LASTS_MS // 1000 + 120

    @pytest.mark.parametrize(
        ("fields", "hoped"),
        [
            ({"then_needs_ms": 99_999}, 5),
            ({"then_needs_ms": 100_000}, 0),
            ({"then_needs_ms": None}, 0),
            ({"then_needs_ms": 1, "vetoed": True}, 0),
            ({"then_needs_ms": 1, "kind": ActionKind.MOVE_LOG_DIR}, 0),
        ],
    )
    def test_it_counts_while_there_is_time_to_delete_if_it_does_not_come(self, fields, hoped):
        one = remedy(**({"kind": ActionKind.INVESTIGATE, "back_bytes": 5} | fields))
        assert hoped_bytes([one], place(self.LEFT_S)) == hoped

    def test_the_largest_hope_counts_and_none_where_nothing_grows(self):
        some = [remedy(ActionKind.INVESTIGATE, back_bytes=size, then_needs_ms=1) for size in (3, 5, 4)]
        assert hoped_bytes(some, place(self.LEFT_S)) == 5
        assert hoped_bytes(some, STILL) == 0
        assert hoped_bytes([], place(self.LEFT_S)) == 0


class TestWhatMustBeDeleted:
    """The target ratio and the cut ratio are equal here, so that nothing is spared for the difference."""

    EVEN = {"target_ratio": 0.7, "cut_ratio": 0.7}  # noqa: RUF012

    def deleted(self, source, needed, *proposals, hoped=0, **limits):
        return bytes_to_delete(source, proposals, needed, policy(**(self.EVEN | limits)), hoped)

    @pytest.mark.parametrize(
        ("needed", "proposals", "hoped", "deleted"),
        [
            (10**7, [], 0, 10**7),
            (10**7, [cut("a", 10**7)], 0, 0),
            (10**7, [cut("a", 10**7 - 1)], 0, 1),
            (10**7, [], 10**7, 0),
            (10**7, [], 10**7 - 1, 1),
            (0, [], 0, 0),
            (-5, [], 0, 0),
        ],
    )
    def test_it_is_what_nothing_else_gives(self, needed, proposals, hoped, deleted):
        assert self.deleted(place(), needed, *proposals, hoped=hoped) == deleted

    @pytest.mark.parametrize(
        ("growth", "status", "deleted"),
        [
            (0.0, LogDirStatus.CRITICAL, 0),
            (0.0, LogDirStatus.SATURATED, 10**7),
            (-1.0, LogDirStatus.SATURATED, 0),
            (None, LogDirStatus.CRITICAL, 10**7),
            (1.0, LogDirStatus.CRITICAL, 10**7),
        ],
    )
    def test_what_does_not_grow_is_left_as_it_is_unless_it_is_full(self, growth, status, deleted):
        assert self.deleted(place(growth=growth, status=status), 10**7) == deleted

    def test_a_late_remedy_needs_only_the_time_until_it_comes(self):
        late = remedy(frees=10**7, needs_ms=200_000)
        assert self.deleted(place(100), 10**7, late) == 860_000, "1.2 times 600 and 200 s, without the 100 s left"

    @pytest.mark.parametrize(
        "late",
        [
            remedy(frees=10**7 - 1, needs_ms=200_000, in_time=False),
            remedy(frees=10**7, needs_ms=200_000, in_time=False, vetoed=True),
            remedy(frees=10**7, needs_ms=200_000, in_time=False, data_loss=True),
            remedy(frees=10**7, needs_ms=None, in_time=False),
        ],
        ids=["too little", "vetoed", "loses data", "no time known"],
    )
    def test_one_that_cannot_be_counted_on_does_not_spare_it(self, late):
        assert self.deleted(place(100), 10**7, late) == 10**7

    def test_the_first_of_several_late_ones_is_waited_for(self):
        late = [remedy(frees=10**7, needs_ms=needs, in_time=False) for needs in (300_000, 200_000)]
        assert self.deleted(place(100), 10**7, *late) == 860_000

    def test_beside_a_hope_nothing_late_is_waited_for(self):
        late = remedy(frees=10**7, needs_ms=200_000, in_time=False)
        assert self.deleted(place(100), 10**7, late, hoped=1) == 10**7 - 1

    @pytest.mark.parametrize(
        ("left_s", "deleted"),
        [(100, 1_700_000), (1799, 1_000), (1800, 0), (5000, 0)],
    )
    def test_down_to_the_cut_ratio_and_for_half_an_hour(self, left_s, deleted):
        """The cut ratio spares 200 MB of the 10 MB needed here, so that half an hour at 1,000 B/s decides."""
        assert self.deleted(place(left_s), 10**7, cut_ratio=0.9) == deleted

    def test_what_is_hoped_for_makes_it_last_longer(self):
        assert self.deleted(place(1000), 10**7, hoped=500_000, cut_ratio=0.9) == 300_000

    def test_a_byte_above_the_cut_ratio_decides_where_that_is_more(self):
        assert self.deleted(place(5000), 200_000_000 + 2_000_001, cut_ratio=0.9) == 2_000_000

    def test_never_more_than_is_needed(self):
        assert self.deleted(place(1), 1000, cut_ratio=0.9) == 1000


class TestTheMinutesOfAPerson:
    """An action that is in time only if somebody carries it out at once counts as unknown."""

    @pytest.mark.parametrize(
        ("left_s", "needs_s", "holds"),
        [
            (1200, 599, True),
            (1200, 600, None),
            (1200, 601, None),
            (1200, 1199, None),
            (1200, 1200, False),
            (1200, 1201, False),
            (601, 0, True),
            (600, 0, None),
            (1, 0, None),
            (0, 0, False),
            (0, 1, False),
            (100_000, 99_399, True),
            (100_000, 99_401, None),
        ],
    )
    def test_they_come_before_its_effect(self, left_s, needs_s, holds):
        found = timing.in_time(place(left_s), needs_s * 1000)
        assert found.holds is holds
        assert (f": only if it begins within {human_ms((left_s - needs_s) * 1000)}" in found.text) is (holds is None)

    def test_where_nobody_knows_when_it_is_full_nothing_is_said_of_them(self):
        assert timing.in_time(STILL, 1).holds is None
        assert "only if" not in timing.in_time(STILL, 1).text
