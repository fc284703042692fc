"""The record itself must allow it: no veto, operations, a matching hash, a status that can start."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.execute.eligible import reason_against_applying
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return the reason that ``apply`` would give as well."""
    del facts, now_ms
    return reason_against_applying(action)
