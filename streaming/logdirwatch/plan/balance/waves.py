"""The order of a plan: waves of copies that run together, without overfilling a directory at any moment.

Within a wave every copy is written before anything is deleted. No broker runs more copies between its directories than
it can at once, unless the queue is short: retention does not run on replicas that wait in Kafka's queue (KIP-113).
Copies within brokers and between brokers are in different waves, because a throttle for the first would also delay a
new replica on its way from the directory where Kafka created it. A wave begins when the files that the previous one
left are deleted (``file.delete.delay.ms``).
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import ClusterModel
from logdirwatch.plan.balance.new_replicas import Births, log_counts
from logdirwatch.plan.settings import PlanSettings

WAVE_S = 3_600
"""The longest time that one broker copies in a wave, at the configured rate; a single replica may take longer."""
DIRECTORY_MOVES = 10
"""Copies into, and out of, one directory in a wave, unless all copies of its broker are done in ``SHORT_S``."""
PATIENCE_WAVES = 20
"""Waves in which a new replica may find no room where Kafka may create it, before its move is given up."""
SHORT_S = 300
"""Kafka's default between two checks of retention: copies that wait no longer miss one check at most."""


class Move(NamedTuple):
    """The move of one replica."""

    replica: int
    source: int
    target: int
    size_bytes: int


class Fill(NamedTuple):
    """A directory during a wave: at its start, with every copy there and nothing deleted, and at its end."""

    directory: int
    before_bytes: int
    worst_bytes: int
    after_bytes: int


@dataclass
class _Waiting:
    move: Move
    brokers: set[int]
    takes_s: float
    within: int | None
    """The broker whose threads copy it, where it stays on its broker."""
    patience: int = PATIENCE_WAVES


@dataclass(frozen=True)
class Wave:
    """Moves that run together, and the directories that they change."""

    moves: tuple[Move, ...]
    fills: tuple[Fill, ...]


def schedule(board: Board, limits: PlanSettings) -> tuple[list[Wave], list[Move]]:
    """Return a board's moves in waves, and those for which no order keeps the limits.

    Each move goes into the earliest wave in which it fits; if some never fit, all go strictly in the order in which
    they were planned.
    """
    moves = [
        Move(replica, board.origin[replica], target, board.sizes[replica]) for replica, target in board.moves.items()
    ]
    for in_order in (False, True):
        found, left = _Scheduler(board, limits).run(moves, in_order=in_order)
        if not left:
            break
    return found, left


def needs_ms(model: ClusterModel, wave: Wave, limits: PlanSettings) -> int:
    """Return how long the busiest broker copies at the configured rates, plus the delay until old files are deleted."""
    copying_s: defaultdict[int, float] = defaultdict(float)
    for move in wave.moves:
        for broker in copying_brokers(model, move):
            copying_s[broker] += move.size_bytes / rate(model, move, limits)
    return round(1000 * max(copying_s.values(), default=0.0)) + model.delete_delay_ms


def rate(model: ClusterModel, move: Move, limits: PlanSettings) -> int:
    """Return the bytes per second at which a move is throttled."""
    is_within = is_within_broker(model, move)
    return limits.log_dir_throttle_bytes_per_s if is_within else limits.replication_throttle_bytes_per_s


def is_within_broker(model: ClusterModel, move: Move) -> bool:
    """Whether a move stays on its broker."""
    return bool(model.directory_broker[move.source] == model.directory_broker[move.target])


def copying_brokers(model: ClusterModel, move: Move) -> set[int]:
    """Return the brokers that a copy occupies: the receiver, and the leader that sends it."""
    taker = int(model.directory_broker[move.target])
    if is_within_broker(model, move):
        return {taker}
    replicas = model.replicas_of(int(model.replica_partition[move.replica]))
    leader = next((replica for replica in replicas if model.is_leader[replica]), replicas[0])
    return {taker, int(model.replica_broker[leader])}


class _Scheduler:
    def __init__(self, board: Board, limits: PlanSettings) -> None:
        self._board, self._limits = board, limits
        self._used: list[int] = board.model.used_bytes.tolist()
        self._counts = log_counts(board)
        model = board.model
        unknown = [len(board.sizes)] * len(model.broker_ids)
        self._at_once: list[int] = unknown if model.copies_at_once is None else model.copies_at_once.tolist()

    def run(self, moves: Sequence[Move], *, in_order: bool) -> tuple[list[Wave], list[Move]]:
        found: list[Wave] = []
        left = [self._waiting(move) for move in moves]
        given_up: list[Move] = []
        while left:
            chosen, left = self._choose(left, in_order=in_order)
            if not chosen.moves:
                break
            found.append(self._wave(chosen))
            given_up += [waiting.move for waiting in left if not waiting.patience]
            left = [waiting for waiting in left if waiting.patience]
        return found, [*given_up, *(waiting.move for waiting in left)]

    def _waiting(self, move: Move) -> _Waiting:
        model = self._board.model
        brokers = copying_brokers(model, move)
        within = next(iter(brokers)) if is_within_broker(model, move) else None
        return _Waiting(move, brokers, move.size_bytes / rate(model, move, self._limits), within)

    def _choose(self, waiting: list[_Waiting], *, in_order: bool) -> tuple["_Chosen", list[_Waiting]]:
        """Return the moves of the next wave, and those that wait."""
        chosen = _Chosen(self._board, self._used, self._counts, self._at_once)
        left: list[_Waiting] = []
        for at, entry in enumerate(waiting):
            refusal = chosen.against(entry)
            if refusal is _Refusal.NO_ROOM_FOR_NEW:
                entry.patience -= 1
            if refusal is None:
                chosen.take(entry)
            elif in_order and chosen.moves:
                return chosen, [*left, *waiting[at:]]
            else:
                left.append(entry)
        return chosen, left

    def _wave(self, chosen: "_Chosen") -> Wave:
        """Carry a wave out."""
        coming: Counter[int] = Counter()
        going: Counter[int] = Counter()
        for move in chosen.moves:
            coming[move.target] += move.size_bytes
            going[move.source] += move.size_bytes
        passing = chosen.births.passing_bytes()
        fills = []
        for directory in sorted(coming.keys() | going.keys() | passing.keys()):
            before = self._used[directory]
            self._used[directory] += coming[directory] - going[directory]
            worst = before + coming[directory] + passing.get(directory, 0)
            fills.append(Fill(directory, before, worst, self._used[directory]))
        for move in chosen.moves:
            self._counts[move.source] -= 1
            self._counts[move.target] += 1
        return Wave(tuple(chosen.moves), tuple(fills))


class _Refusal(Enum):
    """Why a wave takes no move: the wave itself, or no room wherever Kafka may create the replica, possibly forever."""

    OF_THIS_WAVE = auto()
    NO_ROOM_FOR_NEW = auto()


class _Chosen:
    """The moves of one wave while it is assembled."""

    def __init__(self, board: Board, used: list[int], counts: list[int], at_once: list[int]) -> None:
        self.moves: list[Move] = []
        self._used, self._limits, self._at_once = used.copy(), board.limits, at_once
        self._copying_s: defaultdict[int, float] = defaultdict(float)
        self._touching: Counter[int] = Counter()
        self._copies: Counter[int] = Counter()
        self.births = Births(board, counts)
        self._is_within: bool | None = None

    def against(self, entry: _Waiting) -> "_Refusal | None":
        """Return why a move waits for another wave; None if it may be added to this one."""
        move, within = entry.move, entry.within
        if self._is_within not in {None, within is not None}:
            return _Refusal.OF_THIS_WAVE
        longest_s = max(self._copying_s[broker] for broker in entry.brokers)
        if longest_s and longest_s + entry.takes_s > WAVE_S:
            return _Refusal.OF_THIS_WAVE
        if longest_s + entry.takes_s > SHORT_S and not self._is_quiet(move, within):
            return _Refusal.OF_THIS_WAVE
        if self._used[move.target] + move.size_bytes > self._limits[move.target]:
            return _Refusal.OF_THIS_WAVE
        if within is None and not self.births.fit(move.size_bytes, move.target, self._used):
            return _Refusal.NO_ROOM_FOR_NEW
        return None

    def _is_quiet(self, move: Move, within: int | None) -> bool:
        """Whether a directory and a broker have few enough copies in the wave for one that takes long."""
        touching = max(self._touching[move.source], self._touching[move.target])
        return touching < DIRECTORY_MOVES and (within is None or self._copies[within] < self._at_once[within])

    def take(self, entry: _Waiting) -> None:
        move, within = entry.move, entry.within
        self._is_within = within is not None
        self._used[move.target] += move.size_bytes
        for broker in entry.brokers:
            self._copying_s[broker] += entry.takes_s
        self._touching.update((move.source, move.target))
        if within is None:
            self.births.add(move.size_bytes, move.target)
        else:
            self._copies[within] += 1
        self.moves.append(move)
