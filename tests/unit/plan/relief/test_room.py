"""Room is bought for a directory that needs it, and not for one that is known to stay as it is."""

import pytest

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import kinds
from tests.unit.plan.builders import MIB, NOW_MS, alert, directory, facts, policy, replica, space_alert, topic

ROOM = {ActionKind.EXPAND_DISK, ActionKind.ADD_LOG_DIR}
A_WEEK_TO_85_BYTES_PER_S = 100 * MIB / (7 * 86_400)
"""What fills 10 % of a directory in a week."""


def watched(used=750, *, growth=0.0, days=None, status=LogDirStatus.FILLING, **fields):
    """A directory whose outlook is known, in MiB of 1000; ``days`` until it is full."""
    full_at_ms = None if days is None else NOW_MS + int(days * DAY_MS)
    outlook = {"lasting_growth_bytes_per_s": growth, "full_at_ms": full_at_ms, "sample_at_ms": NOW_MS}
    return directory(1, used=used * MIB, status=status, growth_bytes_per_s=MIB, **{**outlook, **fields})


def answered(source, *parts, evidence=None, **limits):
    held = [topic("t", (1,)), replica(1, "/d1", "t", size=700 * MIB)]
    told = space_alert(to=str(source.status), evidence=evidence or {})
    return recommend(told, facts(source, *held, *parts), policy(**limits), NOW_MS)


ROWS = {
    "in balance": (watched(), False),
    "it shrinks": (watched(growth=-5000.0), False),
    "slow growth": (watched(growth=0.5 * A_WEEK_TO_85_BYTES_PER_S), False),
    "at 84 % in balance": (watched(840), False),
    "more than a week's growth": (watched(growth=1.1 * A_WEEK_TO_85_BYTES_PER_S), True),
    "at 84 % and growing": (watched(840, growth=0.2 * A_WEEK_TO_85_BYTES_PER_S), True),
    "full in six days": (watched(growth=450.0, days=6), True),
    "a burst that fills it within hours": (watched(growth=20_000.0, days=0.2), True),
    "critical, in balance": (watched(860, status=LogDirStatus.CRITICAL), True),
    "critical by its forecast alone": (watched(600, growth=9_700.0, days=0.5, status=LogDirStatus.CRITICAL), True),
    "critical before, and lasts": (watched(600, growth=500.0, days=9, status=LogDirStatus.CRITICAL), False),
    "filling by its forecast alone": (watched(600, growth=3_200.0, days=1.5), True),
    "filling by its forecast, and it lasts until there is room": (watched(600, growth=1_600.0, days=3), False),
    "saturated, in balance": (watched(960, status=LogDirStatus.SATURATED), True),
    "not watched for long": (watched(lasting_growth_bytes_per_s=None), True),
    "copies are on their way to it": (watched(incoming_bytes=120 * MIB), True),
    "a small copy is on its way to it": (watched(incoming_bytes=20 * MIB), False),
}


@pytest.mark.parametrize(("source", "is_bought"), ROWS.values(), ids=ROWS)
def test_room_is_bought_where_it_is_needed(source, is_bought):
    found = answered(source)
    assert bool(ROOM & {action.kind for action in found}) is is_bought


def test_with_a_lower_limit_it_is_needed_sooner():
    assert ROOM & {action.kind for action in answered(watched(), destination_max_ratio=0.75, cut_ratio=0.75)}


@pytest.mark.parametrize(("limit_mib", "is_bought"), [(740, False), (None, True)])
def test_no_room_is_bought_for_growth_that_retention_ends(limit_mib, is_bought):
    """700 MiB at 450 B/s: full in six days, unless it ends below 85 %."""
    limits = {} if limit_mib is None else {"retention.bytes": str(limit_mib * MIB)}
    parts = facts(
        watched(growth=450.0, days=6),
        topic("t", (1,), configs=limits),
        replica(1, "/d1", "t", size=700 * MIB),
        growth={((1, "/d1"), ("t", 0)): 450.0},
    )
    found = recommend(space_alert(), parts, policy(), NOW_MS)
    assert bool(ROOM & {action.kind for action in found}) is is_bought


@pytest.mark.parametrize(("days", "first"), [(0.03, "throttle_producers"), (0.5, "expand_disk")])
def test_below_the_target_ratio_time_is_won_and_nothing_deleted(days, first):
    grows = 400 * MIB / (days * 86_400)
    source = watched(600, growth=grows, days=days, status=LogDirStatus.CRITICAL)
    held = [source, topic("t", (1,)), replica(1, "/d1", "t", size=500 * MIB)]
    seen, about = facts(*held, growth={((1, "/d1"), ("t", 0)): grows}), space_alert("critical")
    found = recommend(about, seen, policy(), NOW_MS)
    assert kinds(found)[0] == first
    assert not any(action.data_loss for action in found)
    (remedy,) = fix([about], [], seen, policy(), NOW_MS).remedies
    assert kinds(remedy.actions) == kinds(found)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (watched(), "no more room is needed yet: /d1 is not going to be full within a week"),
        (watched(growth=100.0), "no more room is needed yet: /d1 is not going to be full within a week"),
    ],
)
def test_that_nothing_is_needed_is_said(source, why):
    (found,) = answered(source)
    assert found.kind is ActionKind.INVESTIGATE
    assert why in found.reason


OTHER = [directory(1, "/d2", 250 * MIB), topic("small", (1,)), replica(1, "/d1", "small", size=60 * MIB)]
"""What a move of 60 MiB needs."""


@pytest.mark.parametrize(
    ("source", "is_bought"),
    [
        (watched(820, growth=0.5 * A_WEEK_TO_85_BYTES_PER_S), False),
        (watched(840, growth=0.9 * A_WEEK_TO_85_BYTES_PER_S), True),
        (watched(780, growth=100.0, days=14), False),
        (watched(780, growth=100.0, days=8), True),
        (watched(870, status=LogDirStatus.CRITICAL), False),
        (watched(870, growth=0.5 * A_WEEK_TO_85_BYTES_PER_S, status=LogDirStatus.CRITICAL), True),
    ],
)
def test_it_is_bought_for_what_moves_leave_alone(source, is_bought):
    found = answered(source, *OTHER)
    assert "move_log_dir" in kinds(found)
    assert bool(ROOM & {action.kind for action in found}) is is_bought


def test_what_costs_nothing_is_proposed_all_the_same():
    assert "move_log_dir" in kinds(answered(watched(), *OTHER))


def test_an_old_inventory_buys_nothing_either():
    seen = facts(watched(), state_at_ms=NOW_MS, inventory_at_ms=NOW_MS - 24 * HOUR_MS)
    assert not ROOM & {action.kind for action in recommend(space_alert(), seen, policy(), NOW_MS)}


def test_a_directory_that_went_offline_by_its_space_gets_room_whatever_its_outlook():
    source = watched(1000, status=LogDirStatus.OFFLINE)
    found = recommend(alert(cause="full"), facts(source), policy(), NOW_MS)
    assert ROOM & {action.kind for action in found}
