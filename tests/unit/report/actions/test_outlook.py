"""What an action does to leaders, copies and writes, for people."""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.recommend import recommend
from logdirwatch.report.actions.listing import details
from logdirwatch.report.actions.outlook import outlook_lines
from tests.unit.plan.answers import of_kind
from tests.unit.plan.builders import MIB, NOW_MS, alert, directory, facts, offline, policy, replica, topic

PARTS = [
    offline(1, is_metadata_dir=False),
    directory(1, "/d2", 50 * MIB),
    directory(2, used=10 * MIB),
    topic("t", (1, 2), configs={"min.insync.replicas": "2"}),
    topic("alone", (1,)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
    replica(1, "/d1", "alone"),
]


def test_a_replacement_says_who_leads_meanwhile_what_is_endured_and_what_would_help():
    action = of_kind(recommend(alert(), facts(*PARTS), policy(), NOW_MS), ActionKind.REPLACE_DISK)
    lines = list(outlook_lines(action.expected))
    assert lines[0] == "  returns   2 partitions come back"
    assert lines[1].startswith(
        "  leaders   of 2 partitions; now: 1 without a leader, 1 under min ISR; while the broker"
    )
    assert lines[2].startswith("  afterwards: 1 of 2 topics without a good copy (alone-0), 1 with data lost")
    assert ", 1 without writes" in lines[2]
    assert lines[3] == "            weakest: alone-0, 0 good copies; replication_factor_1"
    text = details(action, NOW_MS)
    assert "  not now   2 replicas (200 MiB); would help:" in text
    assert "            one broker more than the replication factor" in text
    assert "  log.dirs  may leave it out: its 200 MiB fit into the other directories" in text


def test_an_action_that_touches_no_partition_says_nothing():
    assert list(outlook_lines({"frees_bytes": 1})) == []
    assert list(outlook_lines({"leadership": {"partitions": 0, "steps": []}, "endurance": {"topics": 0}})) == []


def test_a_directory_that_must_stay_says_why():
    why = {"fits": False, "why_not": {"name": "metadata_dir", "reason": "the metadata log lies there"}}
    assert list(outlook_lines({"leave_log_dirs": why})) == ["  log.dirs  must keep it: the metadata log lies there"]
