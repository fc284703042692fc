"""What would help where replicas cannot be rebuilt: short, and with the broker that is meant."""

import pytest

from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, ActionKind, BrokerStatus
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.reassignment.replacement_replicas import Repair, Unplaced, nothing_fits, remedies
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, policy, replica, space_alert, topic


def repair(*vetoes):
    unplaced = tuple(Unplaced(f"t-{number}", Veto(*veto), 1) for number, veto in enumerate(vetoes))
    return Repair(assignments=(), before=(), unplaced=unplaced, bytes_in={}, bytes_per_broker={})


AWAY = ("broker_not_alive", "broker 2 is not known to be alive")
ALSO = ("broker_not_alive", "broker 12 is not known to be alive")


@pytest.mark.parametrize(
    ("vetoes", "helps"),
    [
        ([AWAY], ["bring broker 2 back"]),
        ([AWAY, ALSO, AWAY], ["bring broker 2 back", "bring broker 12 back"]),
        ([("broker_not_alive", "nobody knows which")], ["bring back the brokers that are away"]),
        ([AWAY, ("no_broker_left", "none")], ["bring broker 2 back", "one broker more than the replication factor"]),
        ([("new_rule", "why")], ["what stands against it gone"]),
    ],
)
def test_what_would_help_is_said_once(vetoes, helps):
    assert remedies(repair(*vetoes)) == helps


def test_one_replica_and_several_are_told_apart():
    assert nothing_fits(repair(AWAY)).startswith("; its only replica cannot be rebuilt elsewhere (")
    assert nothing_fits(repair(AWAY, ALSO)).startswith("; none of its 2 replicas can be rebuilt elsewhere (")
    assert nothing_fits(repair(AWAY)).endswith("Would help: bring broker 2 back")


KIB = 1024
FULL = directory(1, "/d1", 850 * MIB)
ALONE = [
    FULL,
    directory(2, "/d1", 300 * MIB),
    directory(3, "/d1", 200 * MIB),
    topic("t", (1, 2), (1, 2)),
    replica(1, "/d1", "t", 0, 200 * MIB),
    replica(1, "/d1", "t", 1, 90 * MIB),
    replica(2, "/d1", "t", 0, 200 * MIB),
    replica(2, "/d1", "t", 1, 90 * MIB),
]


def recommended(*parts, **limits):
    return recommend(space_alert(), facts(*parts), policy(**limits), NOW_MS)


def reassigned(actions):
    return [action for action in actions if action.kind is ActionKind.REASSIGN]


def test_a_broker_with_one_directory_gives_its_replicas_to_others():
    (action,) = reassigned(recommended(*ALONE))
    assert from_json(action.reassignment)[0].replicas == (3, 2)
    assert action.expected["frees_bytes"] == 200 * MIB
    assert action.expected["on"] == [
        {"broker": 1, "log_dir": "/d1", "bytes": 200 * MIB},
        {"broker": 3, "log_dir": "/d1", "bytes": -200 * MIB},
    ]
    assert violations(from_json(action.reassignment), facts(*ALONE), policy()) == []


@pytest.mark.parametrize(
    ("used", "moved"), [(500, [("t-0", (2, 3))]), (700, [("t-1", (2, 3))]), (845, [("t-0", (2, 4))])]
)
def test_a_broker_that_somebody_else_slows_down_gets_something_only_if_there_is_no_other(used, moved):
    slow = directory(4, "/d1", 10 * MIB), broker(4, **{FOLLOWER_THROTTLE: "8000"})
    alone = [topic("t", (2, 1), (2, 1)), *ALONE[4:]]
    (action,) = reassigned(
        recommended(FULL, directory(2, "/d1", 300 * MIB), directory(3, "/d1", used * MIB), *alone, *slow)
    )
    assert [(one.label, one.replicas) for one in from_json(action.reassignment)] == moved


def test_what_no_broker_can_take_does_not_hide_what_one_can():
    parts = [FULL, directory(2, "/d1", 300 * MIB), topic("t", *[(1, 2)] * 4), topic("alone", (1,))]
    held = [replica(number, "/d1", "t", partition, 160 * MIB) for partition in range(4) for number in (1, 2)]
    (action,) = reassigned(recommended(*parts, *held, replica(1, "/d1", "alone", 0, 200 * MIB)))
    assert [one.label for one in from_json(action.reassignment)] == ["alone-0"]


def test_moves_within_the_broker_come_first_and_are_enough():
    room = directory(1, "/d2", 50 * MIB)
    assert reassigned(recommended(*ALONE, room)) == []


def test_what_the_broker_has_room_for_is_not_sent_away_as_well():
    room = directory(1, "/d2", 735 * MIB)
    within, between, *_ = recommended(*ALONE, room)
    assert [a.label for a in from_json(within.reassignment)] == ["t-1"]
    assert [a.label for a in from_json(between.reassignment)] == ["t-0"]
    assert "(enough)" in between.reason


def test_what_little_is_missing_beside_them_is_not_filled_by_the_largest():
    large = [topic("large", (1, 2)), replica(1, "/d1", "large", 0, 300 * MIB), replica(2, "/d1", "large", 0, 300 * MIB)]
    room = directory(1, "/d2", 735 * MIB)
    within, between, *_ = recommended(directory(1, "/d1", 846 * MIB), *ALONE[1:], *large, room)
    assert [a.label for a in from_json(within.reassignment)] == ["t-1"]
    assert between.expected["frees_bytes"] == 200 * MIB, "56 MiB are missing"


def test_where_it_is_enough_nothing_is_cut_beside_it():
    assert [str(action.kind) for action in recommended(*ALONE)] == ["reassign"]


def test_a_late_one_comes_after_the_cut_that_wins_its_time_and_the_cut_knows_of_it():
    source = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=0.03 * MIB)
    actions = recommended(source, *ALONE[1:], network_bandwidth_bytes_per_s=70_000)
    assert [str(action.kind) for action in actions] == ["expand_disk", "lower_retention", "reassign"]
    cut, late = actions[1:]
    assert "too late: in time it needs more than" in late.reason
    assert next(p["holds"] for p in cut.preconditions if p["name"] == "no_move") is None
    assert late.expected["needs_ms"] < cut.expected["time_to_full_after_ms"]


def test_while_a_directory_of_the_broker_is_unknown_other_brokers_still_take_replicas():
    from logdirwatch.model.vocabulary import LogDirStatus

    first, second, *_ = recommended(*ALONE, directory(1, "/d2", status=LogDirStatus.UNKNOWN))
    assert (first.kind, first.vetoes) == (ActionKind.REASSIGN, [])
    assert (second.kind, [veto["name"] for veto in second.vetoes]) == (ActionKind.MOVE_LOG_DIR, ["log_dir_unknown"])


def test_internal_topics_stay_where_they_are():
    parts = [*ALONE[:3], topic("__consumer_offsets", (1, 2)), replica(1, "/d1", "__consumer_offsets", size=400 * MIB)]
    assert reassigned(recommended(*parts)) == []


def test_where_nothing_fits_the_reasons_are_told():
    full = [directory(number, "/d1", 800 * MIB) for number in (2, 3)]
    parts = [
        directory(1, "/d1", 900 * MIB),
        *full,
        topic("t", (1, 2), configs={"cleanup.policy": "compact"}),
        replica(1, "/d1", "t", size=200 * MIB),
    ]
    look, action = recommended(*parts)
    assert look.target["step"] == "cleaner"
    assert action.kind is ActionKind.EXPAND_DISK
    assert "would fill /d1 on broker 3" in action.reason
    assert "cleanup policy of t is compact" in action.reason


def test_with_no_broker_left_that_is_said():
    parts = [FULL, directory(2), topic("t", (1, 2), configs={"cleanup.policy": "compact"}), replica(1, "/d1", "t")]
    _, action = recommended(*parts)
    assert "every broker that is alive holds a replica of t-0 already" in action.reason


def test_a_dead_broker_takes_nothing():
    parts = [*ALONE, broker(3, BrokerStatus.OFFLINE)]
    assert reassigned(recommended(*parts)) == []


def test_nothing_goes_where_the_directory_is_full_before_the_copy_ends():
    growing = directory(3, "/d1", 200 * MIB, growth_bytes_per_s=3.0 * KIB)

    def moved(**limits):
        (action,) = reassigned(recommended(*ALONE[:2], growing, *ALONE[3:], **limits))
        return [assignment.label for assignment in from_json(action.reassignment)]

    assert moved() == ["t-0"]
    assert moved(replication_throttle_bytes_per_s=KIB) == ["t-1"], "the smaller one"


def test_the_writes_to_all_that_leaves_stay_below_the_rate():
    growth = {((1, "/d1"), ("t", number)): 3e7 for number in (0, 1)}
    roomy = directory(3, "/d1", 200 * MIB, total=10_000_000 * MIB)
    full = [directory(1, "/d1", 950 * MIB), *ALONE[1:], roomy]
    assert [len(a.reassignment["partitions"]) for a in reassigned(recommended(*full))] == [2]
    found = recommend(space_alert(), facts(*full, growth=growth), policy(), NOW_MS)
    assert [len(a.reassignment["partitions"]) for a in reassigned(found)] == [1]


def test_the_usual_rate_rises_when_time_is_short_and_the_network_allows_it():
    source = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB)
    calm = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=0.01 * MIB)
    slow = reassigned(recommended(calm, *ALONE[1:], replication_throttle_bytes_per_s=3 * MIB))[0]
    assert slow.expected["throttle_bytes_per_s"] == 3 * MIB
    limits = {"replication_throttle_bytes_per_s": 3 * MIB, "network_bandwidth_bytes_per_s": 100 * MIB}
    quick = reassigned(recommended(source, *ALONE[1:], **limits))[0]
    assert quick.expected["throttle_bytes_per_s"] == 99 * MIB, "all that is spare: half of the time is gone before"
    limit = f"follower.replication.throttled.rate={quick.expected['throttle_bytes_per_s']}"
    assert any(limit in command for command in quick.commands)


def test_what_is_in_time_and_finds_no_place_does_not_hide_what_is_late():
    source = directory(1, "/d1", 940 * MIB, growth_bytes_per_s=0.2 * MIB)
    parts = [
        source,
        directory(2, "/d1", 500 * MIB),
        directory(3, "/d1", 100 * MIB),
        topic("everywhere", (1, 2, 3)),
        topic("late", (2, 1)),
        *(replica(number, "/d1", "everywhere", 0, 60 * MIB) for number in (1, 2, 3)),
        *(replica(number, "/d1", "late", 0, 420 * MIB) for number in (1, 2)),
    ]
    (action,) = reassigned(recommended(*parts, network_bandwidth_bytes_per_s=MIB))
    assert [assignment.label for assignment in from_json(action.reassignment)] == ["late-0"]
    assert "too late" in action.reason


def test_the_only_replica_of_a_partition_is_copied_from_where_it_is_and_nothing_is_lost():
    parts = [FULL, directory(3, "/d1", 200 * MIB), topic("t", (1,)), replica(1, "/d1", "t", 0, 200 * MIB)]
    (action, *others) = recommended(*parts)
    assert from_json(action.reassignment)[0].replicas == (3,)
    assert all(step["leaderless"] == 0 for step in action.expected["leadership"]["steps"])
    assert not any(other.data_loss for other in others)


@pytest.mark.parametrize("key", ["leader.replication.throttled.rate", "follower.replication.throttled.rate"])
def test_under_a_limit_of_nothing_that_somebody_set_no_time_is_enough(key):
    (action,) = reassigned(recommended(*ALONE, broker(3, **{key: "0"}), broker(1, **{key: "0"})))
    assert action.expected["throttle_bytes_per_s"] == 1
    assert action.expected["needs_ms"] >= 200 * MIB * 1000
