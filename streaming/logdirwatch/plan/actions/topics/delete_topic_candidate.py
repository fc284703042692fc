"""``delete_topic_candidate``: nothing proposes it any more; release 0.2.0 named large topics that seemed unused."""

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import NO_RELIEF, ActionType, FixRole, always_valid, frees_as_much
from logdirwatch.plan.actions.progress import Progress, in_one_step
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    return in_one_step(str(action.target["topic"]) not in snapshot.topics if snapshot.topics else None, snapshot)


ACTION_TYPE = ActionType(
    kind=ActionKind.DELETE_TOPIC_CANDIDATE,
    relief=NO_RELIEF,
    fix_role=FixRole.BESIDE,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=None,
    changes_declared=False,
)
