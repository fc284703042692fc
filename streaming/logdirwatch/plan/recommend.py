"""What to do about one open alert: ``recommend`` plans, and writes the plan down as action records.

Every alert gets at least one action that nothing speaks against; where only a person can help, the runbook step.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.identity import identity
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, ActionKind, ActionStatus, Rule
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.brokers.investigate import investigate
from logdirwatch.plan.cluster.snapshot import Facts
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.operator_decisions import heeded
from logdirwatch.plan.proposal import Draft, Policy
from logdirwatch.plan.responses.failures import failure_drafts
from logdirwatch.plan.responses.log_dir_space import ANSWERS, directory_of, stalled_drafts
from logdirwatch.plan.responses.stale_inventory import WAITS, uninformed_drafts
from logdirwatch.plan.vetoes.preconditions import agreed
from logdirwatch.plan.vetoes.predicted_impact import heeding_predictions
from logdirwatch.plan.vetoes.restart_vetoes import STOPPING_STEPS
from logdirwatch.report.units import human_ms


def recommend(alert: AlertRecord, facts: Facts | None, policy: Policy, now_ms: int) -> list[ActionRecord]:
    """Return the actions for an open alert, first things first, each as its first revision.

    ``facts`` are those of the alert's cluster with the alerts' own evidence over them. None give the runbook step
    alone, which says why; old ones what does not depend on where replicas lie beside it.
    """
    why = None if alert.cluster == NO_CLUSTER else unusable(facts, policy, now_ms)
    if facts is None or why is not None:
        without = [] if facts is None else _uninformed(alert, facts, policy, now_ms)
        drafts = [*without, investigate(alert, policy, _what_waits(facts, policy, now_ms) if without else why)]
    else:
        planned = map(heeding_predictions, _drafts(alert, facts, policy, now_ms))
        drafts = heeded(planned, facts.said)
        if all(draft.vetoes for draft in drafts):
            drafts.append(investigate(alert, policy))
    based_on = {"state_at_ms": None, "inventory_at_ms": None} if facts is None else facts.based_on
    found = [record(draft, alert, based_on, policy, now_ms) for draft in drafts]
    # What can be done comes first, and with it what takes away the reason against the rest.
    found.sort(key=lambda action: bool(action.vetoes))
    return [replace(action, position=number) for number, action in enumerate(found)]


def unusable(facts: Facts | None, policy: Policy, now_ms: int) -> str | None:
    """Return why nothing can be planned on the facts now; None when it can."""
    why = too_old(facts, policy, now_ms)
    return None if why is None else f"{why}; the full action follows"


def too_old(facts: Facts | None, policy: Policy, now_ms: int) -> str | None:
    """Return why facts are none to plan on; None when they are."""
    if facts is None:
        return "nothing is known of the cluster's replicas yet"
    if facts.inventory_at_ms is None:
        return "no inventory of the cluster has been seen yet"
    age_ms = now_ms - facts.inventory_at_ms
    if age_ms < -policy.facts_max_age_ms:
        return f"the last inventory is {human_ms(-age_ms)} ahead of the clock"
    return f"the last inventory is {human_ms(age_ms)} old" if age_ms > policy.facts_max_age_ms else None


def action_id(alert_id: str, kind: ActionKind, target: Mapping[str, Any]) -> str:
    """Return an action's identity: what is done where, for which alert."""
    return identity(alert_id, str(kind), json.dumps(target, sort_keys=True, separators=(",", ":")))


def _drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    if alert.rule in ANSWERS:
        return ANSWERS[alert.rule](alert, facts, policy, now_ms)
    drafts = failure_drafts(alert, directory_of(alert, facts), facts, policy, now_ms)
    return [*stalled_drafts(alert, facts, policy, now_ms), *drafts] if alert.rule is Rule.MOVE_STALLED else drafts


def _what_waits(facts: Facts | None, policy: Policy, now_ms: int) -> str:
    return f"{too_old(facts, policy, now_ms)}: {WAITS}"


def _uninformed(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    def full() -> list[Draft]:
        return _drafts(alert, facts, policy, now_ms)

    return uninformed_drafts(alert, directory_of(alert, facts), facts, policy, now_ms, full)


def record(draft: Draft, alert: AlertRecord, based_on: Mapping[str, Any], policy: Policy, now_ms: int) -> ActionRecord:
    """Return a draft as the first revision of its action, with what its own prediction says against it."""
    draft = heeding_predictions(draft)
    action = ActionRecord(
        version=1,
        action_id=action_id(alert.alert_id, draft.kind, draft.target),
        revision=1,
        status=ActionStatus.PROPOSED,
        kind=draft.kind,
        alert_id=alert.alert_id,
        alert=_summary(alert),
        cluster=alert.cluster,
        target=dict(draft.target),
        reason=draft.reason,
        expected=dict(draft.expected),
        preconditions=[precondition._asdict() for precondition in agreed(draft)],
        vetoes=[veto._asdict() for veto in draft.vetoes],
        data_loss=draft.data_loss,
        requires_approval=ACTION_TYPES[draft.kind].needs_approval or draft.target.get("step") in STOPPING_STEPS,
        expires_at_ms=now_ms + (draft.valid_ms or policy.limits.expires_after_ms),
        # What must not be done now cannot be pasted either; the next revision without a veto has it again.
        commands=[] if draft.vetoes else list(draft.commands),
        reassignment=None if draft.reassignment is None else dict(draft.reassignment),
        configs=None if draft.configs is None else dict(draft.configs),
        undo=dict(draft.undo),
        based_on=dict(based_on),
        at_ms=now_ms,
    )
    return replace(action, content_hash=content_hash(action))


def _summary(alert: AlertRecord) -> dict[str, Any]:
    """Return what an action's reader must know of its alert."""
    return {
        "rule": str(alert.rule),
        "severity": str(alert.severity),
        "broker": alert.broker,
        "log_dir": alert.log_dir,
        "to": alert.to_status,
        "cause": None if alert.cause is None else str(alert.cause),
        "opened_at_ms": alert.opened_at_ms,
        "revision": alert.revision,
        "summary": alert.summary,
    }
