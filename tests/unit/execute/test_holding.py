"""Where the cause of a stop may be over, the cluster is looked at before anything begins."""

from contextlib import nullcontext

import pytest
from msgspec.structs import replace

from logdirwatch.execute import watch
from logdirwatch.executions import held_by
from logdirwatch.model.vocabulary import ExecutionState
from tests.unit.autopilot.world import execution, move
from tests.unit.plan.builders import NOW_MS

STOPPED = execution(move(), state=ExecutionState.STUCK, reason="why")
SEEN = replace(STOPPED, cause_is_seen=True)


@pytest.mark.parametrize(
    ("records", "is_over", "looks", "is_held"),
    [([], None, 0, False), ([STOPPED], None, 0, True), ([SEEN], False, 1, True), ([SEEN], True, 1, False)],
)
def test_only_what_is_seen_to_be_over_holds_nobody(monkeypatch, records, is_over, looks, is_held):
    looked = []
    monkeypatch.setattr(watch.clients, "admin", nullcontext)
    monkeypatch.setattr(watch, "AdminCluster", looked.append)
    monkeypatch.setattr(watch, "is_over", lambda stopped, outlook: is_over)
    found = watch.why_held(records, "kafka", NOW_MS)
    assert (found, looked) == (held_by(records[-1], NOW_MS) if is_held else None, ["kafka"] * looks)
