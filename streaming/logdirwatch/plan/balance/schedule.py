"""The schedule of a plan: each copy begins when its brokers and directories are free, not when others have ended.

All moves of a partition are one copy. A directory counts every copy from its beginning, and what left it until its
files are deleted (``file.delete.delay.ms``). The times are those at the configured rates; what is safe does not depend
on them: a plan is carried out in its order, by what has ended.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import ClusterModel
from logdirwatch.plan.capacity.projected_use import passing_sizes
from logdirwatch.plan.reassignment.rolling import Copy, Lane, Occupied, Way, lanes_of
from logdirwatch.plan.settings import PlanSettings


class Move(NamedTuple):
    """The move of one replica."""

    replica: int
    source: int
    target: int
    size_bytes: int


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


@dataclass(eq=False)
class _Waiting:
    """One move, and when it begins and ends; -1: never."""

    move: Move
    copy: Copy[int]
    is_arrival: bool
    """Whether it comes from another broker."""
    shared: frozenset[Hashable]
    """What orders it: its brokers, and its partition."""
    begins_ms: int = -1
    ends_ms: int = -1

    @property
    def has_begun(self) -> bool:
        return self.begins_ms >= 0


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
    return clock.waves, [one.move for one in left]


def busiest_ms(model: ClusterModel, moves: Iterable[Move], limits: PlanSettings) -> int:
    """Return how long the busiest broker receives, sends or copies within itself at the configured rates."""
    return max(_loads(_copy(model, move, limits) for move in moves).values(), default=0)


def _loads(copies: Iterable[Copy[int]]) -> Counter[Lane]:
    loads = Counter[Lane]()
    for copy in copies:
        loads.update(dict.fromkeys(copy.lanes, copy.takes_ms))
    return loads


def is_within_broker(model: ClusterModel, move: Move) -> bool:
    """Whether a move stays on its broker."""
    return bool(model.directory_broker[move.source] == model.directory_broker[move.target])


def _copy(model: ClusterModel, move: Move, limits: PlanSettings) -> Copy[int]:
    partition = int(model.replica_partition[move.replica])
    replicas = model.replicas_of(partition)
    leader = next((replica for replica in replicas if model.is_leader[replica]), replicas[0])
    source, target = (int(model.directory_broker[place]) for place in (move.source, move.target))
    is_within = source == target
    rate = limits.log_dir_throttle_bytes_per_s if is_within else limits.replication_throttle_bytes_per_s
    lanes = lanes_of(source, target, int(model.replica_broker[leader]))
    return Copy(partition, lanes, move.size_bytes * 1000 // rate, move.size_bytes, move.source, move.target)


def _waiting(board: Board, limits: PlanSettings) -> Iterator[_Waiting]:
    for replica, target in board.moves.items():
        move = Move(replica, board.origin[replica], target, board.sizes[replica])
        copy, source = _copy(board.model, move, limits), board.broker_of[move.source]
        shared = {source, *(lane.broker for lane in copy.lanes), (copy.partition,)}
        yield _Waiting(move, copy, source != board.broker_of[target], frozenset(shared))


class _Clock:
    """Plays a plan: what ends frees lanes, what is deleted frees room, and what waits for either may begin."""

    def __init__(self, board: Board, limits: PlanSettings) -> None:
        self._board, self._delay_ms = board, board.model.delete_delay_ms
        self._moves = list(_waiting(board, limits))
        room = (limit - used for limit, used in zip(board.limits, board.model.used_bytes.tolist(), strict=True))
        self._occupied = Occupied(dict(enumerate(room)))
        self._births = Births(board)
        self._until_ms: defaultdict[Lane, int] = defaultdict(int)
        """By lane: when it has copied everything that has begun."""
        self._waiting: defaultdict[Lane, list[_Waiting]] = defaultdict(list)
        self._events: list[tuple[int, int, bool, _Waiting]] = []
        """When copies end, or their old files are deleted, as a heap."""
        self._lanes_of: defaultdict[Hashable, dict[Lane, None]] = defaultdict(dict)
        """By partition: the lanes of its moves."""
        self._numbers, self._now_ms = count(), 0
        self._open: defaultdict[Hashable, dict[int, int]] = defaultdict(dict)
        """By what orders them: waves whose end no later one has waited for, and when the first of them ends."""
        self.waves: list[Wave] = []

    def run(self, *, keeps_order: bool, is_strict: bool = False) -> list[_Waiting]:
        """Play it once; return the moves that never begin."""
        loads = _loads(one.copy for one in self._moves)
        if not keeps_order:
            self._moves.sort(key=lambda one: (-max(loads[lane] for lane in one.copy.lanes), -one.copy.takes_ms))
        for one in self._moves:
            for lane in one.copy.lanes:
                self._waiting[lane].append(one)
                self._lanes_of[one.copy.partition][lane] = None
        queue, freed = deque(self._moves), list(self._waiting)
        while True:
            begun = self._strictly(queue) if is_strict else self._any(freed)
            for together in _together(begun):
                self.waves.append(self._wave(together))
            if not self._events:
                return [one for one in self._moves if not one.has_begun]
            freed = sorted(self._pass(), key=lambda lane: -loads[lane])

    def _pass(self) -> Iterable[Lane]:
        """Go to the next moment at which something ends; return the lanes whose copies may begin then."""
        self._now_ms, freed = self._events[0][0], dict[Lane, None]()
        while self._events and self._events[0][0] == self._now_ms:
            _, number, is_deleted, one = heapq.heappop(self._events)
            if is_deleted:
                self._settle(one)
                brokers = (self._board.broker_of[place] for place in (one.move.source, one.move.target))
                freed |= {Lane(way, broker): None for broker in brokers for way in (Way.RECEIVES, Way.WITHIN)}
            else:
                self._occupied.end(one.copy)
                freed |= dict.fromkeys(self._lanes_of[one.copy.partition])
                heapq.heappush(self._events, (one.ends_ms + self._delay_ms, number, True, one))
        return freed

    def _settle(self, one: _Waiting) -> None:
        self._occupied.settle(one.copy)
        if one.is_arrival:
            self._births.remove(one.move.size_bytes, one.move.target)
        for place in (one.move.source, one.move.target):
            self._births.forget(place)

    def _any(self, freed: Iterable[Lane]) -> list[_Waiting]:
        """Begin what waits for lanes and may begin."""
        begun: list[_Waiting] = []
        for lane in freed:
            waiting = self._waiting[lane]
            for one in waiting:
                if not self._occupied.is_free(lane, 0):
                    break
                if not one.has_begun and self._may_begin(one):
                    begun.append(self._begin(one))
            self._waiting[lane] = [one for one in waiting if not one.has_begun]
        return begun

    def _strictly(self, queue: deque[_Waiting]) -> list[_Waiting]:
        """Begin what is first in order; what cannot begin although nothing runs goes behind everything else."""
        begun: list[_Waiting] = []
        for _ in range(len(queue)):
            if self._may_begin(queue[0]):
                begun.append(self._begin(queue.popleft()))
            elif self._events:
                break
            else:
                queue.rotate(-1)
        return begun

    def _may_begin(self, one: _Waiting) -> bool:
        is_free = self._occupied.may_begin(one.copy)
        fits = self._births.fit
        return is_free and (not one.is_arrival or fits(one.move.size_bytes, one.move.target, self._occupied.room))

    def _begin(self, one: _Waiting) -> _Waiting:
        self._occupied.begin(one.copy)
        for lane in one.copy.lanes:
            self._until_ms[lane] = max(self._until_ms[lane], self._now_ms) + one.copy.takes_ms
        if one.is_arrival:
            self._births.add(one.move.size_bytes, one.move.target)
        one.begins_ms, one.ends_ms = self._now_ms, max(self._until_ms[lane] for lane in one.copy.lanes)
        heapq.heappush(self._events, (one.ends_ms, next(self._numbers), False, one))
        return one

    def _wave(self, together: Sequence[_Waiting]) -> Wave:
        moves = tuple(one.move for one in together)
        coming, going, passing = Counter[int](), Counter[int](), Counter[int]()
        for move in moves:
            coming[move.target] += move.size_bytes
            going[move.source] += move.size_bytes
        for broker in {self._board.broker_of[one.move.target] for one in together if one.is_arrival}:
            passing.update({place: size for place, size in self._births.passing_bytes(broker).items() if size})
        fills = []
        for place in sorted(coming.keys() | going.keys() | passing.keys()):
            with_it = self._board.limits[place] - self._occupied.room[place]
            fills.append(Fill(place, with_it - coming[place], with_it + passing[place], with_it - going[place]))
        ends_ms = max(one.ends_ms for one in together) + self._delay_ms
        return Wave(moves, tuple(fills), self._now_ms, ends_ms, self._waited_for(together))

    def _waited_for(self, together: Sequence[_Waiting]) -> tuple[int, ...]:
        """Return the waves that share something and of which a copy has ended: what they have left has made room.

        What another one of them has waited for is left out.
        """
        found, implied = set[int](), set[int]()
        for what in frozenset().union(*(one.shared for one in together)):
            ended = {number for number, ends_ms in self._open[what].items() if ends_ms <= self._now_ms}
            passed = {number for wave in ended for number in self.waves[wave].after}
            kept = {number: ends_ms for number, ends_ms in self._open[what].items() if number not in passed}
            kept[len(self.waves)] = min(one.ends_ms for one in together if what in one.shared)
            self._open[what] = kept
            found |= ended
            implied |= passed
        return tuple(sorted(found - implied))


def _together(begun: Iterable[_Waiting]) -> list[list[_Waiting]]:
    """Return what has begun in groups that share lanes: long copies one by one, short ones together."""
    groups: list[tuple[set[Lane], list[_Waiting]]] = []
    for one in begun:
        lanes = set(one.copy.lanes)
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

    def fit(self, size: int, target: int, room: Mapping[int, int]) -> bool:
        """Return whether one more replica fits wherever it and the others may be created; ``room`` is by directory."""
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
        arrivals = self._arrivals[broker]
        return {
            directory: sum(self._passing(directory, arrivals)) for directory in self._board.open_directories(broker)
        }

    def add(self, size: int, target: int) -> None:
        """Count one more replica."""
        self._arrivals[self._board.broker_of[target]].append((size, target))

    def remove(self, size: int, target: int) -> None:
        """Count one replica less."""
        self._arrivals[self._board.broker_of[target]].remove((size, target))

    def forget(self, directory: int) -> None:
        """Forget what found no room at a directory's broker: there is more room there now."""
        for own in self._board.open_directories(self._board.broker_of[directory]):
            self._refused.pop(own, None)

    def _passing(self, directory: int, arrivals: list[tuple[int, int]]) -> list[int]:
        """Return the sizes of the largest replicas that may be created in a directory on their way to another one."""
        own = self._board.open_directories(self._board.broker_of[directory])
        counts = {other: self._fewest[other] if other == directory else self._most[other] for other in own}
        return passing_sizes(counts, arrivals, directory)
