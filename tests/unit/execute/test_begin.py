"""Plans as actions that are on no topic, and back from the journal."""

import msgspec
import pytest

from logdirwatch.execute.begin import as_action, begun, bytes_of, is_plan, planned
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.balance.files import operations
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands.operations import reassign
from logdirwatch.plan.commands.throttles import of_plan
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
    accepted = action(ActionKind.REASSIGN, revision=4, based_on={"topic_ids": {"t": "one"}})
    record = begun(accepted, "me", NOW_MS)
    assert (record.version, record.action_id, record.revision, record.kind) == (1, accepted.action_id, 4, accepted.kind)
    assert (record.cluster, record.by, record.operations, record.back) == ("c", "me", [], False)
    assert record.topic_ids == {"t": "one"}
    assert (record.started_at_ms, record.at_ms) == (NOW_MS, NOW_MS)
    plan = as_action(begun(made(), "me", NOW_MS))
    assert (made().version, plan.version) == (1, 1)


def test_a_plan_of_many_partitions_is_one_record_that_kafka_takes():
    plans = [
        to_json([Assignment(f"orders-{n // 50}", n % 50, found, ("any",) * 3) for n in range(4_000)])
        for found in ((4, 2, 3), (1, 2, 3))
    ]
    limits = of_plan(plans[0], log_dir_rate=None, rate=50_000_000)
    made = planned("c", [reassign(*plans, "f", limits=limits, back=limits)], "why", {}, NOW_MS)
    record = begun(made, "me", NOW_MS)
    assert len(msgspec.json.encode(record)) < 1 << 18
    for back in (False, True):
        assert steps_of(record.operations, back=back) == steps_of(made.operations, back=back)


def test_operations_that_cannot_be_unpacked_are_no_operations():
    for text in ("", "no base64!", "aGFsbG8="):
        with pytest.raises(ValueError, match=r".*"):
            steps_of([{"op": "packed", "columns": text}], back=False)
