"""What no plan may ever do, on clusters of any shape, seen from its files alone."""

import random
from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.files import reassignment, steps
from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.search.balance import goal, pools, units_directories
from logdirwatch.plan.balance.search.evacuate import balanceable
from logdirwatch.plan.balance.search.exchange import LEAST_SHARE
from logdirwatch.plan.balance.summary import summarise
from tests.support.properties import examples
from tests.unit.plan.balance.builders import applied, at, cluster, layout, most_born, moved, planned, used, worst_fills

LIMIT = 0.85
BALANCE = ["balance-disks", "balance-brokers", "balance-all"]


@st.composite
def clusters(draw, largest=400):
    """A cluster of up to five brokers, with or without racks, with partitions of one to three replicas."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    brokers, racks = draw(st.integers(1, 5)), draw(st.integers(0, 4))
    directories = []
    for broker in range(1, brokers + 1):
        rack = f"r{rng.randrange(racks)}" if racks else ""
        paths = "abcd"[: rng.randint(1, 4)]
        directories += [at(broker, f"/{path}", rng.choice([1000, 1000, 1000, 2000]), rack) for path in paths]
    for number in range(draw(st.integers(0, 24))):
        name = rng.choice(["t", "t", "t", "u", "__internal"])
        size = rng.choice([rng.randint(1, largest), rng.randint(0, 30)])
        for broker in rng.sample(range(1, brokers + 1), rng.randint(1, min(3, brokers))):
            fitting = [d for d in directories if d[0] == broker and sum(d[4].values()) + size <= d[2] * 0.97]
            if fitting:
                rng.choice(fitting)[4][f"{name}{number}"] = size
    return cluster(*directories)


def plans(model, rng):
    """A plan in each mode; an impossible evacuation is none."""
    for mode in BALANCE:
        yield planned(model, mode, tolerance=rng.choice([0.02, 0.09, 0.3]))
    broker, path = model.directory_name(rng.randrange(len(model.capacity_bytes)))
    try:
        yield planned(model, f"evacuate:{broker}:{path}")
    except UserError:
        return


def racks_of(model, replicas):
    rack = {int(number): model.racks[r] for number, r in zip(model.broker_ids, model.broker_rack, strict=True)}
    return {rack[broker] for broker, _, _ in replicas}


@given(model=clusters(), seed=st.integers(0, 99))
@examples(30)
def test_every_law_holds(model, seed):
    for plan in plans(model, random.Random(seed)):
        for law in LAWS:
            law(plan)


def no_step_overfills_a_directory(plan):
    placed, before = layout(plan.before), used(plan.before)
    capacity = {plan.before.directory_name(d): int(c) for d, c in enumerate(plan.before.capacity_bytes)}
    brokers = {broker: [path for number, path in capacity if number == broker] for broker, _ in capacity}
    for wave in steps(plan)["waves"]:
        born = most_born(placed, wave, brokers)
        worst = worst_fills(placed, wave) + born
        assert all(worst[place] <= max(LIMIT * capacity[place], before[place]) for place in worst)
        told = {(one["broker"], one["log_dir"]): one["worst_ratio"] for one in wave["directories"]}
        assert all(told[place] >= worst[place] / capacity[place] for place in told)
        assert {place for place, bytes_there in born.items() if bytes_there} <= told.keys()
        placed = applied(placed, wave["reassignment"])
    assert placed == layout(plan.after)


def no_step_loses_or_doubles_a_replica_or_breaks_a_rack_rule_that_held(plan):
    begin = placed = layout(plan.before)
    for wave in steps(plan)["waves"]:
        placed = applied(placed, wave["reassignment"])
        for partition, replicas in placed.items():
            assert Counter(size for _, _, size in replicas) == Counter(size for _, _, size in begin[partition])
            assert len({broker for broker, _, _ in replicas}) == len(replicas)
            assert len(racks_of(plan.before, replicas)) >= len(racks_of(plan.before, begin[partition]))


def the_reassignment_applied_to_before_gives_after(plan):
    assert applied(layout(plan.before), reassignment(plan)) == layout(plan.after)
    assert summarise(plan).moved.bytes == sum(move.size_bytes for move in plan.moves)
    assert len({move.replica for move in plan.moves}) == len(plan.moves)


def no_internal_topic_is_balanced(plan):
    if plan.task.mode.evacuated is None:
        assert not any(move.startswith("__") for move in moved(plan))


LAWS = (
    no_step_overfills_a_directory,
    no_step_loses_or_doubles_a_replica_or_breaks_a_rack_rule_that_held,
    the_reassignment_applied_to_before_gives_after,
    no_internal_topic_is_balanced,
)


@given(model=clusters())
@examples(10)
def test_an_evacuated_directory_is_empty_and_nothing_else_has_moved(model):
    for directory in range(len(model.capacity_bytes)):
        broker, path = model.directory_name(directory)
        try:
            plan = planned(model, f"evacuate:{broker}:{path}")
        except UserError:
            continue
        assert used(plan.after)[broker, path] == 0
        assert {move.source for move in plan.moves} <= {directory}
        assert {plan.before.directory_name(move.target)[0] for move in plan.moves} <= {broker}


@given(model=clusters(largest=150), seed=st.integers(0, 99))
@examples(20)
def test_what_stays_outside_the_tolerance_no_single_move_and_no_swap_helps(model, seed):
    tolerance = random.Random(seed).choice([0.05, 0.09, 0.3])
    for mode in BALANCE:
        plan = planned(model, mode, tolerance=tolerance)
        if not plan.given_up:
            assert helpful(plan) == []


def helpful(plan):
    """Try every move and swap on the cluster as the plan leaves it; return those that would have helped."""
    kind = plan.task.mode.kind
    board = Board(plan.before, LIMIT)
    for move in plan.moves:
        board.move(move.replica, move.target)
    band = goal(plan.after, kind, plan.task.tolerance_ratio)
    found = []
    for units in pools(plan.before, kind):
        directories = units_directories(plan.before, kind, units)
        trial = Trial(board, directories, band.of(units), balanceable(plan.before, plan.task.limits))
        found += trial.helpful()
    return found


class Trial:
    def __init__(self, board, units, band, movable):
        self.board, self.units = board, units
        self.low, self.high = band.low_bytes, band.high_bytes
        place = defaultdict(list)
        for replica in np.flatnonzero(movable).tolist():
            place[board.place[replica]].append(replica)
        self.content = [[r for d in unit for r in place[d]] for unit in units]

    def off(self, unit):
        used = sum(self.board.used[d] for d in self.units[unit])
        return max(0.0, used - self.high[unit], self.low[unit] - used)

    def helpful(self):
        numbers = range(len(self.units))
        return [
            (giver, taker, given, returned)
            for giver in numbers
            for taker in numbers
            if giver != taker and (self.off(giver) or self.off(taker))
            for given in self.content[giver]
            for returned in [None, *self.content[taker]]
            if self.helps(giver, taker, given, returned)
        ]

    def helps(self, giver, taker, given, returned):
        there, back = (given, taker), (returned, giver)
        orders = [[there]] if returned is None else [[there, back], [back, there]]
        return any(self.gains(order, giver, taker) for order in orders)

    def gains(self, order, giver, taker):
        before = self.off(giver) + self.off(taker)
        least = max(1.0, LEAST_SHARE * min(off for off in (self.off(giver), self.off(taker)) if off))
        undo = []
        try:
            for replica, unit in order:
                target = self.emptiest(replica, unit)
                if target is None:
                    return False
                undo.append((replica, self.board.place[replica]))
                self.board.move(replica, target)
            return before - self.off(giver) - self.off(taker) >= least
        finally:
            for replica, directory in reversed(undo):
                self.board.move(replica, directory)

    def emptiest(self, replica, unit):
        size, board = self.board.sizes[replica], self.board
        fitting = [d for d in self.units[unit] if board.room(d) >= size]
        if not fitting or not board.may_go(replica, board.broker_of[fitting[0]]):
            return None
        return min(fitting, key=lambda d: (board.used[d] + size) / board.capacity[d])
