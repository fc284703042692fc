"""The schedule of a plan: each copy begins when its brokers and directories are free, not when others have ended.

All moves of a partition are one copy. A directory counts every copy from its beginning, and what left it until its
files are deleted (``file.delete.delay.ms``). The times are those at the configured rates; what is safe does not depend
on them: a plan is carried out in its order, by what has ended.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.capacity.projected_use import passing_sizes
from logdirwatch.plan.reassignment.rolling import Copy, Lane, Occupied, Way, lanes_of
from logdirwatch.plan.settings import PlanSettings


@dataclass(frozen=True)
class Move(Copy[int]):
    """The move of one replica."""

    partition: int
    replica: int

    @property
    def is_within(self) -> bool:
        """Whether it stays on its broker."""
        return self.lanes[0].way is Way.WITHIN


class Fill(NamedTuple):
    """A directory when a wave begins, with the copies of the wave there too, and once its old files are deleted."""

    directory: int
    before_bytes: int
    worst_bytes: int
    after_bytes: int


@dataclass(frozen=True)
class Wave:
    """One move, or short ones that begin together on the same brokers; it ends when their old files are deleted.

    ``after`` are the waves, by number from 0, that must have ended before.
    """

    moves: tuple[Move, ...]
    fills: tuple[Fill, ...]
    begins_ms: int
    ends_ms: int
    after: tuple[int, ...]


def schedule(board: Board, limits: PlanSettings, *, keeps_order: bool = False) -> tuple[list[Wave], list[Move]]:
    """Return a board's moves in waves, and those for which no order keeps the limits.

    The copies of the busiest brokers come first, unless the plan ``keeps_order``. If some never begin, all go strictly
    in the order in which they were planned, where that leaves fewer.
    """
    clock = _Clock(board, limits)
    left = clock.run(keeps_order=keeps_order)
    if left:
        strict = _Clock(board, limits)
        left_strictly = strict.run(keeps_order=True, is_strict=True)
        if len(left_strictly) < len(left):
            clock, left = strict, left_strictly
    return clock.waves, left


def loads_ms(moves: Iterable[Move]) -> Counter[Lane]:
    """Return how long brokers receive, send and copy within themselves at the configured rates."""
    loads = Counter[Lane]()
    for move in moves:
        loads.update(dict.fromkeys(move.lanes, move.takes_ms))
    return loads


def _move(board: Board, replica: int, target: int, limits: PlanSettings) -> Move:
    model, source, size_bytes = board.model, board.origin[replica], board.sizes[replica]
    partition = int(model.replica_partition[replica])
    replicas = model.replicas_of(partition)
    leader = next((one for one in replicas if model.is_leader[one]), replicas[0])
    lanes = lanes_of(board.broker_of[source], board.broker_of[target], board.broker_of[board.origin[leader]])
    is_within = board.broker_of[source] == board.broker_of[target]
    rate = limits.log_dir_throttle_bytes_per_s if is_within else limits.replication_throttle_bytes_per_s
    return Move(partition, lanes, size_bytes * 1000 // rate, size_bytes, source, target, replica)


class _Clock:
    """Plays a plan: what ends frees lanes, what is deleted frees room, and what waits for either may begin."""

    def __init__(self, board: Board, limits: PlanSettings) -> None:
        self._board, self._delay_ms = board, board.model.delete_delay_ms
        self._moves = [_move(board, replica, target, limits) for replica, target in board.moves.items()]
        room = (limit - used for limit, used in zip(board.limits, board.model.used_bytes.tolist(), strict=True))
        self._occupied = Occupied(dict(enumerate(room)))
        self._births = Births(board)
        self._ends_ms: dict[int, int] = {}
        """By replica whose copy has begun: when it ends."""
        self._until_ms: defaultdict[Lane, int] = defaultdict(int)
        """By lane: when it has copied everything that has begun."""
        self._waiting: defaultdict[Lane, list[Move]] = defaultdict(list)
        self._events: list[tuple[int, int, bool, Move]] = []
        """When copies end, or their old files are deleted, as a heap."""
        self._lanes_of: defaultdict[Hashable, dict[Lane, None]] = defaultdict(dict)
        """By partition: the lanes of its moves."""
        self._numbers, self._now_ms = count(), 0
        self._open: defaultdict[Hashable, dict[int, int]] = defaultdict(dict)
        """By what orders them: waves whose end no later one has waited for, and when the first of them ends."""
        self.waves: list[Wave] = []

    def run(self, *, keeps_order: bool, is_strict: bool = False) -> list[Move]:
        """Play it once; return the moves that never begin."""
        loads = loads_ms(self._moves)
        if not keeps_order:
            self._moves.sort(key=lambda one: (-max(loads[lane] for lane in one.lanes), -one.takes_ms))
        for one in self._moves:
            for lane in one.lanes:
                self._waiting[lane].append(one)
                self._lanes_of[one.partition][lane] = None
        queue, freed = deque(self._moves), list(self._waiting)
        while True:
            begun = self._strictly(queue) if is_strict else self._any(freed)
            for together in _together(begun):
                self.waves.append(self._wave(together))
            if not self._events:
                return [one for one in self._moves if one.replica not in self._ends_ms]
            freed = sorted(self._pass(), key=lambda lane: -loads[lane])

    def _pass(self) -> Iterable[Lane]:
        """Go to the next moment at which something ends; return the lanes whose copies may begin then."""
        self._now_ms, freed = self._events[0][0], dict[Lane, None]()
        while self._events and self._events[0][0] == self._now_ms:
            _, number, is_deleted, one = heapq.heappop(self._events)
            if is_deleted:
                self._settle(one)
                brokers = (self._board.broker_of[place] for place in (one.source, one.target))
                freed |= {Lane(way, broker): None for broker in brokers for way in (Way.RECEIVES, Way.WITHIN)}
            else:
                self._occupied.end(one)
                freed |= dict.fromkeys(self._lanes_of[one.partition])
                heapq.heappush(self._events, (self._ends_ms[one.replica] + self._delay_ms, number, True, one))
        return freed

    def _settle(self, one: Move) -> None:
        self._occupied.settle(one)
        if not one.is_within:
            self._births.remove(one)
        for place in (one.source, one.target):
            self._births.forget(place)

    def _any(self, freed: Iterable[Lane]) -> list[Move]:
        """Begin what waits for lanes and may begin."""
        begun: list[Move] = []
        for lane in freed:
            waiting = self._waiting[lane]
            for one in waiting:
                if not self._occupied.is_free(lane, 0):
                    break
                if one.replica not in self._ends_ms and self._may_begin(one):
                    begun.append(self._begin(one))
            self._waiting[lane] = [one for one in waiting if one.replica not in self._ends_ms]
        return begun

    def _strictly(self, queue: deque[Move]) -> list[Move]:
        """Begin what is first in order; what cannot begin although nothing runs goes behind everything else."""
        begun: list[Move] = []
        for _ in range(len(queue)):
            if self._may_begin(queue[0]):
                begun.append(self._begin(queue.popleft()))
            elif self._events:
                break
            else:
                queue.rotate(-1)
        return begun

    def _may_begin(self, one: Move) -> bool:
        return self._occupied.may_begin(one) and (one.is_within or self._births.fit(one, self._occupied.room))

    def _begin(self, one: Move) -> Move:
        self._occupied.begin(one)
        for lane in one.lanes:
            self._until_ms[lane] = max(self._until_ms[lane], self._now_ms) + one.takes_ms
        if not one.is_within:
            self._births.add(one)
        ends_ms = self._ends_ms[one.replica] = max(self._until_ms[lane] for lane in one.lanes)
        heapq.heappush(self._events, (ends_ms, next(self._numbers), False, one))
        return one

    def _wave(self, moves: Sequence[Move]) -> Wave:
        coming, going, passing = Counter[int](), Counter[int](), Counter[int]()
        for move in moves:
            coming[move.target] += move.size_bytes
            going[move.source] += move.size_bytes
        for broker in {self._board.broker_of[move.target] for move in moves if not move.is_within}:
            passing.update({place: size for place, size in self._births.passing_bytes(broker).items() if size})
        fills = []
        for place in sorted(coming.keys() | going.keys() | passing.keys()):
            with_it = self._board.limits[place] - self._occupied.room[place]
            fills.append(Fill(place, with_it - coming[place], with_it + passing[place], with_it - going[place]))
        ends_ms = max(self._ends_ms[move.replica] for move in moves) + self._delay_ms
        return Wave(tuple(moves), tuple(fills), self._now_ms, ends_ms, self._waited_for(moves))

    def _waited_for(self, moves: Sequence[Move]) -> tuple[int, ...]:
        """Return the waves that share something and of which a copy has ended: what they have left has made room.

        What another one of them has waited for is left out.
        """
        found, implied, first_ms = set[int](), set[int](), dict[Hashable, int]()
        for move in moves:
            # Its brokers order it, and its partition.
            brokers = {self._board.broker_of[move.source], *(lane.broker for lane in move.lanes)}
            for what in (*brokers, (move.partition,)):
                first_ms[what] = min(self._ends_ms[move.replica], first_ms.get(what, self._ends_ms[move.replica]))
        for what, ends_ms in first_ms.items():
            ended = {number for number, until_ms in self._open[what].items() if until_ms <= self._now_ms}
            passed = {number for wave in ended for number in self.waves[wave].after}
            self._open[what] = {number: ms for number, ms in self._open[what].items() if number not in passed}
            self._open[what][len(self.waves)] = ends_ms
            found |= ended
            implied |= passed
        return tuple(sorted(found - implied))


def _together(begun: Iterable[Move]) -> list[list[Move]]:
    """Return what has begun in groups that share lanes: long copies one by one, short ones together."""
    groups: list[tuple[set[Lane], list[Move]]] = []
    for one in begun:
        lanes = set(one.lanes)
        joined = [group for group in groups if group[0] & lanes]
        groups = [group for group in groups if not group[0] & lanes]
        groups.append((lanes.union(*(group[0] for group in joined)), [*chain(*(group[1] for group in joined)), one]))
    return [group for _, group in groups]


class Births:
    """The replicas that arrive at each broker.

    How many logs a directory has by then depends on which copies are quicker than planned: at least what nothing has
    reached and everything left, at most the opposite.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._fewest: list[int] = np.bincount(board.model.replica_directory, minlength=len(board.capacity)).tolist()
        self._most = list(self._fewest)
        for replica, target in board.moves.items():
            self._fewest[board.origin[replica]] -= 1
            self._most[target] += 1
        self._arrivals: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """By broker: size and target directory of what arrives."""
        self._refused: dict[int, int] = {}
        """By target directory: the smallest replica that found no room; a larger one finds none either."""

    def fit(self, move: Move, room: Mapping[int, int]) -> bool:
        """Return whether one more replica fits wherever it and the others may be created; ``room`` is by directory."""
        size, target = move.size_bytes, move.target
        if size >= self._refused.get(target, size + 1):
            return False
        broker = self._board.broker_of[target]
        arrivals = [*self._arrivals[broker], (size, target)]
        total = sum(arriving for arriving, _ in arrivals)
        for directory in self._board.open_directories(broker):
            left = room[directory] - (size if directory == target else 0)
            # The sum of all is quick to check; if it does not fit, it matters how many can be created there.
            if total > left and sum(self._passing(directory, arrivals)) > left:
                self._refused[target] = size
                return False
        return True

    def passing_bytes(self, broker: int) -> dict[int, int]:
        """Return by directory of a broker the most bytes that are created there on their way to another one."""
        arrivals, own = self._arrivals[broker], self._board.open_directories(broker)
        return {directory: sum(self._passing(directory, arrivals)) for directory in own}

    def add(self, move: Move) -> None:
        """Count one more replica."""
        self._arrivals[self._board.broker_of[move.target]].append((move.size_bytes, move.target))

    def remove(self, move: Move) -> None:
        """Count one replica less."""
        self._arrivals[self._board.broker_of[move.target]].remove((move.size_bytes, move.target))

    def forget(self, directory: int) -> None:
        """Forget what found no room at a directory's broker: there is more room there now."""
        for own in self._board.open_directories(self._board.broker_of[directory]):
            self._refused.pop(own, None)

    def _passing(self, directory: int, arrivals: list[tuple[int, int]]) -> list[int]:
        """Return the sizes of the largest replicas that may be created in a directory on their way to another one."""
        own = self._board.open_directories(self._board.broker_of[directory])
        counts = {other: self._fewest[other] if other == directory else self._most[other] for other in own}
        return passing_sizes(counts, arrivals, directory)
