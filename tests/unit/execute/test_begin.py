"""Plans as actions that are on no topic, and back from the journal."""

from logdirwatch.execute.begin import as_action, begun, bytes_of, is_plan, planned
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.balance.operations import operations
from tests.unit.plan.balance.builders import at, cluster
from tests.unit.plan.balance.builders import planned as plan_of
from tests.unit.plan.builders import NOW_MS, action

WITHIN = plan_of(cluster(at(1, "/a", t0=200, t1=200), at(1, "/b")), "balance-disks")
BETWEEN = plan_of(cluster(at(1, t0=200, t1=200), at(2, rack="r1")), "balance-brokers")


def made(plan=WITHIN):
    return planned("c", operations(plan), "why", {"needs_ms": 5, "copies_bytes": 200}, NOW_MS)


def test_a_plan_is_an_action_whose_kind_follows_from_its_moves():
    assert made().kind is ActionKind.MOVE_LOG_DIR
    assert made(BETWEEN).kind is ActionKind.REASSIGN
    assert bytes_of(made()) == 200
    assert made().action_id != made(BETWEEN).action_id


def test_its_execution_is_known_by_its_id_and_says_what_can_be_undone():
    record = begun(made(), "me", NOW_MS)
    assert is_plan(record)
    assert not is_plan(begun(action(ActionKind.REASSIGN), "me", NOW_MS))
    again = as_action(record)
    assert (again.action_id, again.cluster, again.kind) == (record.action_id, "c", record.kind)
    assert steps_of(again.operations, back=True) == steps_of(record.operations, back=True)


def test_an_execution_is_the_action_as_it_was_begun():
    accepted = action(ActionKind.REASSIGN, revision=4)
    record = begun(accepted, "me", NOW_MS)
    assert (record.version, record.action_id, record.revision, record.kind) == (1, accepted.action_id, 4, accepted.kind)
    assert (record.cluster, record.by, record.operations, record.back) == ("c", "me", [], False)
    assert (record.started_at_ms, record.at_ms) == (NOW_MS, NOW_MS)
    plan = as_action(begun(made(), "me", NOW_MS))
    assert (made().version, plan.version) == (1, 1)
