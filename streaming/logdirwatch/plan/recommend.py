"""What to do about one open alert: ``recommend`` plans, and writes the plan down as action records.

Every alert gets at least one action that nothing speaks against; where only a person can help, the runbook step.
"""

import json
from collections.abc import Mapping
from typing import Any

from logdirwatch.model.identity import identity
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Cause, Rule
from logdirwatch.plan.draft import Draft, Policy
from logdirwatch.plan.facts import Directory, Facts
from logdirwatch.plan.filling import filling_drafts
from logdirwatch.plan.losing import failed_drafts, full_drafts, limit_drafts, restart_broker
from logdirwatch.plan.runbook import investigate
from logdirwatch.report.units import human_bytes, human_ms


def recommend(alert: AlertRecord, facts: Facts | None, policy: Policy, now_ms: int) -> list[ActionRecord]:
    """Return the actions for an open alert, first things first, each as its first revision.

    ``facts`` are those of the alert's cluster with the alerts' own evidence over them; None or old ones give the
    runbook step alone, which says why.
    """
    why = unusable(facts, policy, now_ms)
    if facts is None or why is not None:
        drafts = [investigate(alert, policy, why)]
    else:
        drafts = _drafts(alert, facts, policy, now_ms)
        if all(draft.vetoes for draft in drafts):
            drafts.append(investigate(alert, policy))
    based_on = {"state_at_ms": None, "inventory_at_ms": None} if facts is None else facts.based_on
    return [_record(draft, alert, based_on, policy, now_ms) for draft in drafts]


def unusable(facts: Facts | None, policy: Policy, now_ms: int) -> str | None:
    """Return why nothing can be planned on the facts; None when it can."""
    if facts is None:
        return "nothing is known of the cluster's replicas yet; the full action follows"
    if facts.inventory_at_ms is None:
        return "no inventory of the cluster has been seen yet; the full action follows"
    age_ms = now_ms - facts.inventory_at_ms
    if age_ms > policy.facts_max_age_ms:
        return f"the last inventory is {human_ms(age_ms)} old; the full action follows with the next one"
    return None


def action_id(alert_id: str, kind: ActionKind, target: Mapping[str, Any]) -> str:
    """Return an action's identity: what is done where, for which alert."""
    return identity(alert_id, str(kind), json.dumps(target, sort_keys=True, separators=(",", ":")))


def _drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    directory = (
        facts.directories.get((alert.broker, alert.log_dir)) if alert.broker is not None and alert.log_dir else None
    )
    if directory is None:
        return []
    if alert.rule is Rule.LOG_DIR_SPACE and directory.is_serving:
        return [*filling_drafts(directory, facts, policy, now_ms), *_unexplained(alert, directory, policy)]
    if alert.rule is Rule.LOG_DIR_OFFLINE:
        return _offline(alert, directory, facts, policy, now_ms)
    return []


def _offline(alert: AlertRecord, directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    if directory.cause is Cause.FAILED:
        return failed_drafts(directory, facts, policy, now_ms)
    if directory.cause is Cause.FULL:
        return full_drafts(directory, facts, policy)
    if directory.cause is Cause.LIMIT:
        return limit_drafts(directory, facts, policy)
    if directory.cause in {Cause.READ_ONLY, Cause.PERMISSION}:
        return [investigate(alert, policy), restart_broker(directory, facts, policy)]
    return [investigate(alert, policy, "whether it is full or failed is not known yet")]


def _unexplained(alert: AlertRecord, directory: Directory, policy: Policy) -> list[Draft]:
    """Return the search for what fills a directory when it is mostly not replicas."""
    unaccounted, used = directory.unaccounted_bytes, directory.used_bytes
    if unaccounted is None or used is None or unaccounted * 2 < used:
        return []
    return [investigate(alert, policy, f"{human_bytes(unaccounted)} there are explained by no replica")]


def _record(draft: Draft, alert: AlertRecord, based_on: Mapping[str, Any], policy: Policy, now_ms: int) -> ActionRecord:
    return ActionRecord(
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
        preconditions=[precondition._asdict() for precondition in draft.preconditions],
        vetoes=[veto._asdict() for veto in draft.vetoes],
        data_loss=draft.data_loss,
        requires_approval=draft.kind is not ActionKind.INVESTIGATE,
        expires_at_ms=now_ms + policy.limits.expires_after_ms,
        # What must not be done now cannot be pasted either; the next revision without a veto has it again.
        commands=[] if draft.vetoes else list(draft.commands),
        reassignment=None if draft.reassignment is None else dict(draft.reassignment),
        configs=None if draft.configs is None else dict(draft.configs),
        undo=dict(draft.undo),
        based_on=dict(based_on),
        at_ms=now_ms,
    )


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
