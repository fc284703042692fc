"""An action that deletes the only copy of data starts unattended only within the minimum that its owner declared."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.rules.floor import Cut, cuts
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.settings import PlanSettings

RETENTION = frozenset({ActionKind.LOWER_RETENTION, ActionKind.RESTORE_RETENTION})


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return why a person must accept it."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    if action.kind in RETENTION:
        # Neither the kind nor the record's data_loss proves that a value is not lower: a forged record can lie in both.
        missing = [cut for cut in cuts(action) if not _is_declared(cut, facts.plan)]
        if missing:
            key = "min_retention_ms" if missing[0].key == "retention.ms" else "min_retention_bytes"
            return f"deletes data, and nobody declared a floor ({key} in plan.topics) for {missing[0].topic}: accept it"
        return None
    return "deletes data: it needs an acceptance" if action.data_loss else None


def _is_declared(cut: Cut, plan: PlanSettings) -> bool:
    rule = plan.topic_rule(cut.topic)
    if cut.value is None:
        return False
    if cut.key.startswith("local."):
        return True
    return rule.min_retention_ms is not None if cut.key == "retention.ms" else rule.min_retention_bytes is not None
