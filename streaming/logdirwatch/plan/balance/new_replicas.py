"""The room for new replicas that arrive together, in every directory where Kafka may create them.

A replica counts at its full size in every directory that Kafka may choose, until it has moved to the planned one
(:mod:`logdirwatch.plan.capacity.new_replicas`).
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.capacity.new_replicas import passing_sizes


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
