"""Plan a task on a model: the moves, their order, and the resulting cluster."""

from dataclasses import dataclass

import numpy as np

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import ClusterModel
from logdirwatch.plan.balance.model.task import Task
from logdirwatch.plan.balance.schedule import Move, Wave, schedule
from logdirwatch.plan.balance.search.balance import balance
from logdirwatch.plan.balance.search.evacuate import balanceable, directory_named, evacuable, evacuate, internal


@dataclass(frozen=True, eq=False)
class ClusterPlan:
    """The moves in order, and the cluster before and after them."""

    task: Task
    before: ClusterModel
    after: ClusterModel
    waves: tuple[Wave, ...]
    given_up: tuple[Move, ...]
    """Useful moves that overfill a directory on the way in any order."""
    is_searched: bool = True
    """Whether every move and swap that could help was tried; a plan tries a limited number."""

    @property
    def moves(self) -> list[Move]:
        """All moves, in the order of the waves."""
        return [move for wave in self.waves for move in wave.moves]


def make_plan(model: ClusterModel, task: Task) -> ClusterPlan:
    """Plan a task on a model; raises UserError, which names what is missing, if the task is impossible."""
    board = Board(model, task.limits.destination_max_ratio)
    if task.mode.evacuated is None:
        balance(board, task.mode.kind, task.tolerance_ratio, balanceable(model, task.limits))
    else:
        source = directory_named(model, *task.mode.evacuated)
        evacuate(board, source, evacuable(model, task.limits), internal(model, task.limits))
    # An evacuation has an order of its own: what would be lost with the directory leaves first.
    found, given_up = schedule(board, task.limits, keeps_order=task.mode.evacuated is not None)
    for move in given_up:
        board.move(move.replica, move.source)
    after = model.moved(np.array(board.place, dtype=np.int64))
    return ClusterPlan(task, model, after, tuple(found), tuple(given_up), board.attempts_left > 0)
