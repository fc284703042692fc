"""The room for new replicas of one wave, in every directory where Kafka may create them.

A replica counts at its full size in every directory that Kafka may choose, until it has moved to the planned one
(:mod:`logdirwatch.plan.capacity.new_replicas`).
"""

from collections import defaultdict

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.capacity.new_replicas import passing_sizes


class Births:
    """The replicas that arrive at each broker in one wave; ``counts`` are the logs by directory before it."""

    def __init__(self, board: Board, counts: list[int]) -> None:
        self._board, self._counts = board, counts
        self._arrivals: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """By broker: size and target directory of what arrives."""
        self._refused: dict[int, int] = {}
        """By target directory: the smallest replica that found no room; a larger one finds none either."""

    def fit(self, size: int, target: int, used: list[int]) -> bool:
        """Return whether one more replica fits wherever it and the others may be created.

        ``used`` is by directory and holds what the wave copies to it so far.
        """
        if size >= self._refused.get(target, size + 1):
            return False
        broker = self._board.broker_of[target]
        arrivals = [*self._arrivals[broker], (size, target)]
        total = sum(arriving for arriving, _ in arrivals)
        limits = self._board.limits
        for directory in self._board.open_directories(broker):
            own = size if directory == target else 0
            room = limits[directory] - used[directory] - own
            # The sum of all is quick to check; if it does not fit, it matters how many can be created there.
            if total > room and sum(self._passing(directory, arrivals)) > room:
                self._refused[target] = size
                return False
        return True

    def add(self, size: int, target: int) -> None:
        """Count one more replica."""
        self._arrivals[self._board.broker_of[target]].append((size, target))

    def passing_bytes(self) -> dict[int, int]:
        """Return by directory the most bytes that are created there on their way to another one."""
        found = {
            directory: sum(self._passing(directory, arrivals))
            for broker, arrivals in self._arrivals.items()
            for directory in self._board.open_directories(broker)
        }
        return {directory: passing for directory, passing in found.items() if passing}

    def _passing(self, directory: int, arrivals: list[tuple[int, int]]) -> list[int]:
        """Return the sizes of the largest replicas that may be created in a directory on their way to another one."""
        counts = {
            other: self._counts[other] for other in self._board.open_directories(self._board.broker_of[directory])
        }
        return passing_sizes(counts, arrivals, directory)


def log_counts(board: Board) -> list[int]:
    """Return the number of logs by directory before the plan."""
    found: list[int] = np.bincount(board.model.replica_directory, minlength=len(board.capacity)).tolist()
    return found
