"""Strays: what a broker lists and the metadata does not assign to it is named, and nothing is planned on it."""

from dataclasses import replace as changed

import msgspec

from logdirwatch.model.vocabulary import ActionKind, Cause, Severity
from logdirwatch.plan.availability.fault_tolerance import lost_together
from logdirwatch.plan.capacity.projected_use import log_count
from logdirwatch.plan.cluster.from_tables import facts_from
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.relief.stuck_deletion import STRAYS_STEP
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)
from tests.unit.plan.answers import holds, kinds
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    directory,
    facts,
    moving,
    offline,
    policy,
    replica,
    space_alert,
    topic,
)

FULL = [
    directory(1, "/d1", 900 * MIB, growth_bytes_per_s=1e5),
    directory(1, "/d2", 100 * MIB),
    directory(2),
    directory(3),
]
TOPICS = [topic("t", (2, 3)), topic("u", (1, 2))]
HOMES = [replica(2, "/d1", "t", size=600 * MIB), replica(1, "/d1", "u", size=200 * MIB), replica(2, "/d1", "u")]
STRAY = replica(1, "/d1", "t", size=600 * MIB)


def advised(*parts, **fields):
    an_alert = space_alert("critical", severity=Severity.CRITICAL)
    return recommend(an_alert, facts(*parts, **fields), policy(), NOW_MS)


def test_it_is_named_with_its_bytes_and_nothing_else_is_planned():
    (action,) = advised(*FULL, *TOPICS, *HOMES, STRAY)
    assert (action.kind, action.target["step"]) == (ActionKind.INVESTIGATE, STRAYS_STEP)
    assert "t-0, 600 MiB, assigned to broker 2, 3" in action.reason
    assert action.expected["frees_bytes"] == 600 * MIB
    assert holds(action, "copies_elsewhere") is True
    assert action.reassignment is None
    assert not action.requires_approval


def test_what_is_needed_beyond_it_is_planned():
    small = replica(1, "/d1", "t", size=50 * MIB)
    first, *rest = advised(*FULL, *TOPICS, *HOMES, small)
    assert first.target["step"] == STRAYS_STEP
    moved = next(action for action in rest if action.kind is ActionKind.MOVE_LOG_DIR)
    assert [entry["topic"] for entry in moved.reassignment["partitions"]] == ["u"]


def test_one_of_a_topic_that_is_gone_may_be_the_last_copy():
    (action,) = advised(*FULL, *TOPICS, *HOMES, replica(1, "/d1", "gone", size=600 * MIB))
    assert "of a topic that the metadata does not know" in action.reason
    assert holds(action, "copies_elsewhere") is None


def test_one_whose_assigned_replicas_are_lost_is_kept():
    lost = [offline(2), offline(3), topic("t", (2, 3), leaderless=(0,), isr={0: (3,)}), TOPICS[1]]
    action = advised(*FULL[:2], *lost, *HOMES, STRAY, replica(3, "/d1", "t"))[0]
    assert holds(action, "copies_elsewhere") is False
    assert "not so for t-0, keep the stray" in str(action.preconditions)


def test_a_replica_that_a_reassignment_adds_or_takes_away_is_none():
    adding = moving(topic("t", (1, 2, 3), isr={0: (2, 3)}), adding=(1,), removing=(3,))
    found = facts(*FULL, adding, TOPICS[1], *HOMES, STRAY, replica(3, "/d1", "t"))
    assert found.strays_in((1, "/d1")) == found.strays_in((3, "/d1")) == {}


def test_a_copy_of_a_stray_to_another_directory_is_a_stray_as_well():
    found = facts(*FULL, *TOPICS, *HOMES, STRAY, replica(1, "/d2", "t", size=5 * MIB, is_future=True))
    assert found.strays_in((1, "/d2")) == {"t-0": 5 * MIB}
    assert ("t", 0) not in found.layout.moving
    assert found.layout.catching_up == ()


def test_where_no_topic_is_known_nothing_is_one():
    assert facts(*FULL, STRAY).strays_in((1, "/d1")) == {}


def test_kafka_counts_it_as_a_log_of_its_directory():
    found = facts(*FULL, *TOPICS, *HOMES, STRAY)
    assert log_count(found, found.directories[1, "/d1"]) == 2


def test_one_on_a_failed_disk_is_not_rebuilt():
    found = facts(offline(1, cause=Cause.FAILED), directory(2), directory(3), *TOPICS, *HOMES, STRAY)
    assert [partition.label for partition in lost_together([(1, "/d1")], found)] == ["u-0"]
    planned = recommend(alert(), found, policy(), NOW_MS)
    named = [entry["topic"] for one in planned if one.reassignment for entry in one.reassignment["partitions"]]
    assert "t" not in named


def test_tables_name_what_the_collector_saw_though_they_keep_no_row_of_it():
    rows = {
        BROKER_STATE.name: [{"broker": 1, "status": "online", "at_ms": NOW_MS}],
        LOG_DIR_STATE.name: [
            {
                "broker": 1,
                "log_dir": "/d1",
                "status": "critical",
                "total_bytes": 1000 * MIB,
                "usable_bytes": 100 * MIB,
                "strays": [("t-0", 600 * MIB)],
            }
        ],
        LOG_DIR_INVENTORY.name: [{"broker": None, "inventory_at_ms": NOW_MS}],
        REPLICA_STATE.name: [{"broker": 1, "log_dir": "/d1", "topic": "u", "partition": 0, "size_bytes": 200 * MIB}],
        TOPIC_STATE.name: [
            {"topic": "t", "partition": 0, "leader": 2, "replicas": [2], "isr": [2]},
            {"topic": "u", "partition": 0, "leader": 1, "replicas": [1], "isr": [1]},
        ],
    }

    def read(table, columns):
        return ({name: row.get(name) for name in columns} for row in rows[table.name])

    found = facts_from(read, "c")
    assert found.strays_in((1, "/d1")) == {"t-0": 600 * MIB}
    actions = recommend(space_alert("critical"), found, policy(), NOW_MS)
    assert kinds(actions) == ["investigate"]
    assert "t-0, 600 MiB" in actions[0].reason
    assert msgspec.json.encode(actions)


def test_a_plan_for_the_open_alerts_does_not_count_it_as_free():
    about = space_alert("critical", severity=Severity.CRITICAL)
    (remedy,) = fix([about], [], facts(*FULL, *TOPICS, *HOMES, STRAY), policy(), NOW_MS).remedies
    assert [action.target["step"] for action in remedy.actions] == [STRAYS_STEP]
    assert remedy.missing_bytes > 0


def test_a_name_that_no_partition_can_have_is_told_as_it_is():
    parts = [changed(part, strays={"t-²": MIB, f"t-{'9' * 5000}": 2 * MIB, "-": 3}) for part in FULL[:1]]
    action = advised(*parts, *FULL[1:])[0]
    assert "t-²" in action.reason
    assert holds(action, "copies_elsewhere") is None
