"""A broker with unequally filled log directories: move off the fullest what it has above their mean."""

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.actions.brokers.investigate import Runbook, describe_log_dirs
from logdirwatch.plan.actions.replicas.move_log_dir import propose_move
from logdirwatch.plan.capacity.projected_use import CLEARLY_LESS_RATIO, less_full_than
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.reassignment.within_broker import plan_moves
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.plan.vetoes import replica_vetoes

_FILLING = frozenset({LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED})


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the moves off the fullest directory, down to the mean of the broker's directories.

    A filling directory takes precedence: its own plan needs the same replicas and the same room.
    """
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    mine = [] if alert.broker is None else snapshot.directories_of.get(alert.broker, ())
    if any(directory.status in _FILLING for directory in mine):
        return [situation.look_because("a directory of the broker is filling: its own alert says what to move")]
    directories = [
        directory
        for directory in mine
        if directory.is_serving
        and replica_vetoes.destination_closed(directory) is None
        and directory.used_bytes is not None
    ]
    total = sum(directory.total_bytes or 0 for directory in directories)
    if not total:
        return []
    # The mean of all bytes, not of the ratios: directories may have different sizes.
    mean = sum(directory.used_bytes or 0 for directory in directories) / total
    fullest = max(directories, key=lambda d: (d.used_ratio, d.path))
    goal = (fullest.used_bytes or 0) - int(mean * (fullest.total_bytes or 0))
    # One that is nearly as full would be the next to be emptied.
    less_full = less_full_than(fullest, snapshot, policy, CLEARLY_LESS_RATIO)
    moves = plan_moves(fullest, snapshot, less_full, goal_bytes=goal)
    return propose_move(fullest, moves, snapshot, policy)


RESPONSE = Response(
    runbook=Runbook(
        "compare the directories of the broker; a plan for them can wait for a quiet hour", (describe_log_dirs,)
    ),
    propose=propose,
    ends_when="the directories are filled more equally",
)
