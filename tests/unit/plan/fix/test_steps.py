"""The moves of a fix plan as files: what is copied from where, and how full directories get at the worst."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.fix.plan import Fix, Remedy, mixed_brokers, reassignment, steps
from tests.unit.plan.builders import MIB, action, directory, facts, offline, replica, space_alert, topic

PARTS = [
    directory(1, "/d1", 800 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(2, "/d1", 300 * MIB),
    directory(3, "/d1", 200 * MIB),
    topic("t", (1, 2)),
    topic("u", (1, 2)),
    *(replica(number, "/d1", name, size=size * MIB) for name, size in (("t", 100), ("u", 50)) for number in (1, 2)),
]


def to(*places, name="t", kind=ActionKind.REASSIGN, **expected):
    """An action that puts the replicas of a partition where ``(broker, path)`` say."""
    replicas, log_dirs = [place[0] for place in places], [place[1] for place in places]
    plan = {"version": 1, "partitions": [_entry(name, replicas, log_dirs)]}
    return action(kind, reassignment=plan, expected=expected, commands=["do"])


def _entry(name, replicas, log_dirs):
    return {"topic": name, "partition": 0, "replicas": replicas, "log_dirs": log_dirs}


def fix(*actions, parts=PARTS, **fields):
    return Fix(facts(*parts, **fields), (Remedy(space_alert(), (), actions, (), 0),))


def moves(*actions, parts=PARTS):
    return [
        (m["topic"], m["size_bytes"] // MIB, m["from_broker"], m["from_log_dir"], m["to_broker"], m["to_log_dir"])
        for wave in steps(fix(*actions, parts=parts))["waves"]
        for m in wave["moves"]
    ]


INSIDE = to((1, "/d2"), (2, "any"), kind=ActionKind.MOVE_LOG_DIR)
BETWEEN = to((3, "/d1"), (2, "any"))


class TestWhatIsCopied:
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            (INSIDE, [("t", 100, 1, "/d1", 1, "/d2")]),
            (BETWEEN, [("t", 100, 1, "/d1", 3, "/d1")]),
            (to((3, "any"), (2, "any")), [("t", 100, 1, "/d1", 3, "any")]),
            (to((2, "any"), (1, "any")), []),
            (to((1, "/d1"), (2, "/d1")), []),
            (to((1, "any"), (2, "any"), (3, "any")), [("t", 100, 3, None, 3, "any")]),
            (to((3, "any"), (1, "/d2")), [("t", 100, 2, "/d1", 3, "any"), ("t", 100, 1, "/d1", 1, "/d2")]),
            (action(ActionKind.INVESTIGATE), []),
        ],
        ids=["within", "between", "where Kafka chooses", "order alone", "where it is", "one more", "both", "no move"],
    )
    def test_each_new_replica_in_place_of_one_that_goes(self, asked, found):
        assert moves(asked) == found

    def test_the_size_of_a_move_within_is_its_own_and_of_a_new_one_the_leaders(self):
        smaller = [*PARTS[:6], replica(1, "/d1", "t", size=90 * MIB), replica(2, "/d1", "t", size=100 * MIB)]
        assert moves(to((1, "any"), (2, "any"), (3, "any")), parts=smaller)[0][1] == 90
        lead = [*smaller[:-2], topic("t", (2, 1)), *smaller[-2:]]
        assert moves(to((1, "/d2"), (2, "any")), parts=lead)[0][1] == 90
        assert moves(to((2, "any"), (3, "any")), parts=lead)[0][1] == 100
        unknown = [*PARTS[:6], replica(1, "/d1", "t", size=None), replica(2, "/d1", "t", size=None)]
        assert moves(INSIDE, parts=unknown)[0][1] == 0


class TestTheStep:
    def wave(self, asked, **fields):
        (wave,) = steps(fix(asked, **fields))["waves"]
        return wave

    def test_it_carries_its_action_and_what_it_needs(self):
        asked = to((3, "/d1"), (2, "any"), needs_ms=7, throttle_bytes_per_s=50)
        wave = self.wave(asked)
        assert (wave["wave"], wave["kind"], wave["alert_id"]) == (1, "reassign", "alert")
        assert (wave["action_id"], wave["commands"], wave["needs_ms"]) == (asked.action_id, ["do"], 7)
        assert wave["moved_bytes"] == 100 * MIB
        assert wave["throttle"] == {"log_dir_bytes_per_s": 50, "replication_bytes_per_s": 50}
        assert wave["reassignment"] == asked.reassignment

    def test_within_a_broker_replication_has_no_limit(self):
        asked = to((1, "/d2"), (2, "any"), kind=ActionKind.MOVE_LOG_DIR, throttle_bytes_per_s=50)
        assert self.wave(asked)["throttle"] == {"log_dir_bytes_per_s": 50, "replication_bytes_per_s": None}
        assert self.wave(INSIDE)["throttle"]["log_dir_bytes_per_s"] is None
        assert self.wave(INSIDE)["needs_ms"] is None


def fills(*actions, parts=PARTS, **fields):
    """By step: broker and path with the percent before, at the worst, and after."""
    return [
        {
            f"{one['broker']}{one['log_dir']}": tuple(
                round(one[f"{when}_ratio"] * 100) for when in ("before", "worst", "after")
            )
            for one in wave["directories"]
        }
        for wave in steps(fix(*actions, parts=parts, **fields))["waves"]
    ]


class TestHowFullDirectoriesGet:
    def test_at_the_worst_every_copy_is_there_and_nothing_is_deleted(self):
        assert fills(INSIDE) == [{"1/d1": (80, 80, 70), "1/d2": (10, 20, 20)}]

    def test_one_step_begins_where_the_one_before_ended(self):
        second = to((1, "/d2"), (2, "any"), name="u", kind=ActionKind.MOVE_LOG_DIR)
        assert fills(INSIDE, second) == [
            {"1/d1": (80, 80, 70), "1/d2": (10, 20, 20)},
            {"1/d1": (70, 70, 65), "1/d2": (20, 25, 25)},
        ]

    def test_what_the_broker_may_put_anywhere_counts_everywhere(self):
        parts = [*PARTS, directory(3, "/d2", 400 * MIB)]
        assert fills(to((3, "any"), (2, "any")), parts=parts) == [
            {"1/d1": (80, 80, 70), "3/d1": (20, 30, 30), "3/d2": (40, 50, 50)}
        ]

    def test_what_is_reserved_there_is_counted(self):
        assert fills(INSIDE, reserved={(1, "/d2"): 50 * MIB})[0]["1/d2"] == (15, 25, 25)

    @pytest.mark.parametrize(
        "place",
        [
            offline(1, "/d2"),
            directory(1, "/d2", status=LogDirStatus.UNKNOWN),
            directory(1, "/d2", None),
            directory(1, "/d2", 0, total=0),
        ],
    )
    def test_of_one_that_does_not_serve_or_has_no_size_nothing_is_told(self, place):
        assert fills(INSIDE, parts=[*PARTS, place]) == [{"1/d1": (80, 80, 70)}]


def test_all_moves_are_one_reassignment_in_their_order():
    second = to((3, "any"), (2, "any"), name="u")
    found = reassignment(fix(INSIDE, action(ActionKind.INVESTIGATE), second))
    assert found == {
        "version": 1,
        "partitions": [_entry("t", [1, 2], ["/d2", "any"]), _entry("u", [3, 2], ["any", "any"])],
    }


def test_waves_are_numbered_without_the_actions_that_move_nothing():
    order = to((2, "any"), (1, "any"), kind=ActionKind.DEMOTE_LEADERS)
    waves = steps(fix(order, INSIDE, to((3, "any"), (2, "any"), name="u")))
    assert [(wave["wave"], wave["kind"]) for wave in waves["waves"]] == [(1, "move_log_dir"), (2, "reassign")]
    assert (waves["version"], waves["mode"]) == (1, "fix")


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        ([INSIDE], []),
        ([BETWEEN], []),
        ([INSIDE, to((3, "any"), (2, "any"), name="u")], []),
        ([INSIDE, to((3, "any"), (1, "any"), name="u")], []),
        ([to((1, "/d2"), (3, "any")), to((3, "/d1"), (2, "any"), name="u")], []),
        ([to((3, "any"), (2, "/d2")), to((2, "/d2"), (1, "any"), name="u")], []),
    ],
)
def test_a_broker_that_only_sends_or_only_moves_within_is_not_mixed(actions, found):
    assert mixed_brokers(fix(*actions, parts=[*PARTS, directory(2, "/d2")])) == found


def test_brokers_that_get_new_replicas_and_move_their_own_are_mixed():
    alone = [topic("w", (3,)), replica(3, "/d1", "w"), directory(3, "/d2"), topic("v", (2,)), replica(2, "/d1", "v")]
    inside = to((3, "/d2"), name="w", kind=ActionKind.MOVE_LOG_DIR)
    both = fix(BETWEEN, inside, to((1, "any"), name="v"), INSIDE, parts=[*PARTS, *alone])
    assert mixed_brokers(both) == [1, 3]
