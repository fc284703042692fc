"""The order of a plan: waves whose copies run together, none of which overfills a directory at any moment.

In a wave every copy is written before anything is deleted, and no broker has more copies between its directories than
it runs at once: the others would wait in Kafka's queue, their retention standing still (KIP-113). A wave begins when
the files that the one before left behind are deleted (``file.delete.delay.ms``).
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from logdirwatch.plan.balance.board import Board
from logdirwatch.plan.balance.model import ClusterModel
from logdirwatch.plan.settings import PlanSettings

WAVE_S = 3_600
"""What one broker is given to copy in a wave, at the configured rate; a single replica may take longer."""
DIRECTORY_MOVES = 10
"""Copies into, and out of, one directory in a wave."""


class Move(NamedTuple):
    """One replica's way."""

    replica: int
    source: int
    target: int
    size_bytes: int


class Fill(NamedTuple):
    """A directory during a wave: at its begin, with every copy there and nothing deleted, and at its end."""

    directory: int
    before_bytes: int
    worst_bytes: int
    after_bytes: int


class _Waiting(NamedTuple):
    move: Move
    brokers: set[int]
    takes_s: float
    within: int | None
    """The broker whose threads copy it, where it stays on its broker."""


@dataclass(frozen=True)
class Wave:
    """Moves that run together, and the directories that they touch."""

    moves: tuple[Move, ...]
    fills: tuple[Fill, ...]


def schedule(board: Board, limits: PlanSettings) -> tuple[list[Wave], list[Move]]:
    """Return a board's moves in waves, and those for which there is no order that keeps the limits.

    First each as early as it fits; where some never do so, strictly as they were planned.
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
    """Return how long the busiest broker of a wave copies at the configured rates."""
    copying_s: defaultdict[int, float] = defaultdict(float)
    for move in wave.moves:
        for broker in copying_brokers(model, move):
            copying_s[broker] += move.size_bytes / rate(model, move, limits)
    return round(1000 * max(copying_s.values(), default=0.0))


def rate(model: ClusterModel, move: Move, limits: PlanSettings) -> int:
    """Return the bytes per second at which a move is throttled."""
    is_within = is_within_broker(model, move)
    return limits.log_dir_throttle_bytes_per_s if is_within else limits.replication_throttle_bytes_per_s


def is_within_broker(model: ClusterModel, move: Move) -> bool:
    """Whether a move stays on its broker."""
    return bool(model.directory_broker[move.source] == model.directory_broker[move.target])


def copying_brokers(model: ClusterModel, move: Move) -> set[int]:
    """Return the brokers that a copy keeps busy: the one that takes it, and the leader's, which sends it."""
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
        model = board.model
        unknown = [len(board.sizes)] * len(model.broker_ids)
        self._at_once: list[int] = unknown if model.copies_at_once is None else model.copies_at_once.tolist()

    def run(self, moves: Sequence[Move], *, in_order: bool) -> tuple[list[Wave], list[Move]]:
        found: list[Wave] = []
        left = [self._waiting(move) for move in moves]
        while left:
            chosen, left = self._choose(left, in_order=in_order)
            if not chosen:
                break
            found.append(self._wave(chosen))
        return found, [waiting.move for waiting in left]

    def _waiting(self, move: Move) -> _Waiting:
        model = self._board.model
        brokers = copying_brokers(model, move)
        within = next(iter(brokers)) if is_within_broker(model, move) else None
        return _Waiting(move, brokers, move.size_bytes / rate(model, move, self._limits), within)

    def _choose(self, waiting: list[_Waiting], *, in_order: bool) -> tuple[list[Move], list[_Waiting]]:
        """Return the moves of the next wave, and those that wait on."""
        chosen: list[Move] = []
        left: list[_Waiting] = []
        used, limits = self._used.copy(), self._board.limits
        copying_s: defaultdict[int, float] = defaultdict(float)
        touching: Counter[int] = Counter()
        copies: Counter[int] = Counter()
        for at, entry in enumerate(waiting):
            move, brokers, takes_s, within = entry
            is_free = all(not copying_s[broker] or copying_s[broker] + takes_s <= WAVE_S for broker in brokers)
            is_free &= touching[move.source] < DIRECTORY_MOVES and touching[move.target] < DIRECTORY_MOVES
            is_free &= within is None or copies[within] < self._at_once[within]
            if is_free and used[move.target] + move.size_bytes <= limits[move.target]:
                used[move.target] += move.size_bytes
                for broker in brokers:
                    copying_s[broker] += takes_s
                touching.update((move.source, move.target))
                copies.update(() if within is None else (within,))
                chosen.append(move)
            elif in_order and chosen:
                return chosen, [*left, *waiting[at:]]
            else:
                left.append(entry)
        return chosen, left

    def _wave(self, moves: Sequence[Move]) -> Wave:
        """Carry a wave out."""
        coming: Counter[int] = Counter()
        going: Counter[int] = Counter()
        for move in moves:
            coming[move.target] += move.size_bytes
            going[move.source] += move.size_bytes
        fills = []
        for directory in sorted(coming.keys() | going.keys()):
            before = self._used[directory]
            self._used[directory] += coming[directory] - going[directory]
            fills.append(Fill(directory, before, before + coming[directory], self._used[directory]))
        return Wave(tuple(moves), tuple(fills))
