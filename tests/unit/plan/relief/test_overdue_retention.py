"""Retention or compaction that stands still on one broker: told first, with the restart that ends it, by evidence."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus, Severity
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import kinds, vetoed
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, policy, replica, space_alert, topic

LIMITED = {"retention.bytes": str(100 * MIB), "retention.ms": "604800000"}
BY_AGE = LIMITED | {"retention.bytes": "-1"}
COMPACTED = {"cleanup.policy": "compact"}


def sized(one=700, two=100, three=100, number=0, **fields):
    sizes = {1: one, 2: two, 3: three}
    return [replica(b, "/d1", "t", number, None if m is None else m * MIB, **fields) for b, m in sizes.items()]


def world(*parts, configs=None, growth=5_000.0, copies=None, **topics):
    return [
        directory(1, "/d1", 900 * MIB, growth_bytes_per_s=growth),
        directory(2, used=250 * MIB),
        directory(3, used=250 * MIB),
        topic("t", (1, 2, 3), configs=LIMITED if configs is None else configs, **topics),
        *(sized() if copies is None else copies),
        *parts,
    ]


def advised(*parts, to="critical", **fields):
    full = space_alert(to, severity=Severity.CRITICAL)
    return recommend(full, facts(*parts, **fields), policy(), NOW_MS)


def restarts(actions):
    return [one for one in actions if one.kind is ActionKind.RESTART_BROKER]


def test_the_restart_is_first_with_its_evidence_and_nothing_else_is_asked_for():
    (action,) = advised(*world())
    assert action.kind is ActionKind.RESTART_BROKER
    assert action.target == {"broker": 1, "log_dir": "/d1"}
    assert action.expected["frees_bytes"] == 600 * MIB
    assert (
        "t-0 holds 700 MiB, against 100 MiB on brokers 2-3 and 100 MiB by its retention.bytes in /d1" in action.reason
    )
    assert "KAFKA-19458" in action.reason
    assert not action.data_loss


@pytest.mark.parametrize(
    ("fields", "frees_mib"),
    [
        ({"configs": BY_AGE}, 600),
        ({"configs": BY_AGE, "copies": sized(700, 100, 300)}, 400),
        ({"copies": sized(700, 690, 100)}, 600),
        ({"copies": sized(700, 100, 100)[:2]}, 600),
        ({"copies": sized(700, 100, None)}, 600),
        ({"copies": sized(700, 100, 100), "isr": {0: (1, 2)}}, 600),
        ({"copies": sized(700, 100, 100), "isr": {0: (2, 3, 1)}}, 600),
        ({"copies": sized(700, 0, 0)}, 600),
        ({"copies": sized(700, 150, 150)}, 550),
    ],
    ids=[
        "limited by age alone",
        "by age, what the largest sibling holds is allowed",
        "a second broker with the same fault",
        "the size of one sibling is not listed",
        "or not known",
        "one sibling is out of sync, another one is not",
        "a follower",
        "siblings whose records are all too old",
        "siblings a little above the limit",
    ],
)
def test_it_is_told_by_what_is_known(fields, frees_mib):
    (found,) = restarts(advised(*world(**fields)))
    assert found.expected["frees_bytes"] == frees_mib * MIB
    assert found.position == 0


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"configs": {"retention.bytes": None, "retention.ms": None}}, []),
        ({"configs": {"retention.bytes": None}}, []),
        ({"configs": {"retention.bytes": "-1", "retention.ms": "-1"}}, []),
        ({"configs": LIMITED | {"cleanup.policy": None}}, []),
        ({"configs": LIMITED | {"remote.storage.enable": "true"}}, []),
        ({"configs": LIMITED | {"segment.bytes": str(1 << 30)}}, []),
        ({"configs": LIMITED | {"retention.bytes": str(600 * MIB)}}, []),
        ({"configs": LIMITED, "overridden": frozenset()}, [broker(1, **{"log.retention.bytes": "-1"})]),
        ({"copies": sized(700, 700, 700)}, []),
        ({"copies": sized(700, 600, 650)}, []),
        ({"copies": sized(115, 100, 100)}, []),
        ({"copies": sized(700, None, None)}, []),
        ({"copies": sized()[:1]}, []),
        ({"isr": {0: (1,)}}, []),
        ({"isr": {0: (2, 3)}}, []),
        ({"reassigned": (0,)}, []),
        ({}, [directory(1, "/d2"), replica(1, "/d2", "t", size=MIB, is_future=True)]),
        ({"isr": {0: (1, 2)}}, [broker(2, BrokerStatus.UNKNOWN)]),
        ({"isr": {0: (1, 2)}}, [directory(2, status=LogDirStatus.UNKNOWN)]),
        ({"growth": None}, []),
        ({"growth": -1e6}, []),
        ({"growth": 1e6}, []),
    ],
    ids=[
        "no limit is known",
        "the limit in bytes is not",
        "kept for ever",
        "unknown policy",
        "remote storage",
        "no closed segment to delete",
        "its limit allows it",
        "its broker's own default is another one",
        "all replicas are as large",
        "or nearly",
        "a segment more, as in balance",
        "no sibling's size is known",
        "or listed",
        "no sibling is in sync",
        "it is itself behind",
        "it is being reassigned",
        "it is being copied on its broker",
        "the sibling's broker does not answer",
        "the sibling's directory is unknown",
        "nobody knows how fast it grows",
        "its directory shrinks just now",
        "so much may be written between two checks",
    ],
)
def test_it_is_not_told_from_what_is_missing_or_otherwise_explained(fields, parts):
    assert restarts(advised(*world(*parts, **fields))) == []


@pytest.mark.parametrize(
    ("fields", "parts", "frees_mib"),
    [
        ({}, [], 600),
        ({"is_internal": True}, [], 600),
        ({"growth": None}, [], 600),
        ({"growth": 1e6}, [], 600),
        ({"configs": {"cleanup.policy": "compact,delete"}}, [], 600),
        ({"configs": LIMITED | COMPACTED | {"retention.bytes": str(600 * MIB)}}, [], 600),
        ({"copies": sized(700, 100, 230)}, [], 470),
        ({"copies": sized(700, 0, 0)}, [], 700),
        ({"copies": sized(700, 100, 240), "isr": {0: (1, 2)}}, [], 600),
        ({"configs": COMPACTED | {"min.cleanable.dirty.ratio": "0.75"}}, [], 600),
        ({"configs": COMPACTED | {"min.cleanable.dirty.ratio": "0.9"}}, [], None),
        ({"configs": COMPACTED | {"min.cleanable.dirty.ratio": "1.0"}}, [], None),
        ({"configs": COMPACTED | {"segment.bytes": str(1 << 30)}}, [], None),
        ({"copies": sized(300, 100, 100)}, [], None),
        ({"copies": sized(700, 100, 240)}, [], None),
        ({"copies": sized(700, 700, 700)}, [], None),
        ({"copies": sized(700, None, None)}, [], None),
        ({"isr": {0: (1,)}}, [], None),
        ({"isr": {0: (2, 3)}}, [], None),
        ({"reassigned": (0,)}, [], None),
        ({}, [directory(1, "/d2"), replica(1, "/d2", "t", size=MIB, is_future=True)], None),
        ({"isr": {0: (1, 2)}}, [broker(2, BrokerStatus.UNKNOWN)], None),
    ],
    ids=[
        "Kafka's default of the dirty share",
        "an internal topic",
        "how fast it grows is not known",
        "written fast",
        "compacted and deleted",
        "limits of retention do not count",
        "the largest sibling counts",
        "siblings whose keys are all deleted",
        "but not one that is out of sync",
        "a dirty share of three quarters",
        "of nine tenths, which explains it",
        "never cleaned",
        "no closed segment to clean",
        "as dirty as it may be, and half as much again",
        "against the largest sibling it is",
        "nowhere compacted: more keys, or no cleaner runs anywhere",
        "no sibling's size is known",
        "no sibling is in sync",
        "it is itself behind",
        "it is being reassigned",
        "it is being copied on its broker",
        "the sibling's broker does not answer",
    ],
)
def test_a_log_that_only_its_broker_does_not_compact_is_told_alike(fields, parts, frees_mib):
    found = restarts(advised(*world(*parts, **({"configs": COMPACTED} | fields))))
    assert [one.expected["frees_bytes"] for one in found] == ([] if frees_mib is None else [frees_mib * MIB])


@pytest.mark.parametrize(("enable", "is_stuck"), [("false", False), ("true", True), (None, True)])
def test_a_log_whose_cleaner_is_disabled_is_not_stuck(enable, is_stuck):
    actions = advised(*world(broker(1, **{"log.cleaner.enable": enable}), configs=COMPACTED))
    assert bool(restarts(actions)) is is_stuck
    assert ("set log.cleaner.enable=true on broker 1" in "".join(one.reason for one in actions)) is not is_stuck


def test_its_cleaner_is_named_and_neighbours_keep_their_history():
    parts = [topic("x", (1, 2, 3)), *(replica(number, "/d1", "x", size=100 * MIB) for number in (1, 2, 3))]
    (action,) = advised(*world(*parts, configs=COMPACTED), metadata_version="4.3-IV0")
    assert "its log cleaner is stuck (t-0 holds 700 MiB, against 100 MiB on brokers 2-3 in /d1)" in action.reason
    assert "the cleaner gave the partition up after an error" in action.reason
    assert "kafka-log-cleaner-thread" in action.commands[0]


def test_where_it_must_not_be_restarted_the_first_action_says_what_the_check_of_the_cleaner_would():
    actions = advised(*world(broker(9, BrokerStatus.OFFLINE), configs=COMPACTED))
    assert "its log cleaner is stuck" in actions[0].reason
    assert not [one for one in actions if one.target.get("step") == "cleaner"]


def test_both_may_stand_still():
    other = [topic("c", (1, 2, 3), configs=COMPACTED)]
    other += [replica(number, "/d1", "c", size=size * MIB) for number, size in ((1, 160), (2, 10), (3, 10))]
    (action,) = advised(*world(*other))
    assert "its deletion by retention and its log cleaner is stuck" in action.reason
    assert action.expected["frees_bytes"] == 750 * MIB
    assert "kafka-log-retention" in action.commands[0]
    assert "kafka-log-cleaner-thread" in action.commands[0]


@pytest.mark.parametrize(
    ("rate", "is_told"), [(0.0, True), (100_000.0, True), (1_000_000.0, False)], ids=["idle", "slowly", "in a minute"]
)
def test_its_own_growth_decides_over_that_of_its_directory(rate, is_told):
    growth = {((1, "/d1"), ("t", 0)): rate}
    assert bool(restarts(advised(*world(growth=1e6), growth=growth))) is is_told


@pytest.mark.parametrize("cutting", ["t", "other"])
def test_a_limit_that_was_just_lowered_is_waited_for(cutting):
    assert bool(restarts(advised(*world(), cutting=frozenset({cutting})))) is (cutting == "other")


def test_the_replicas_are_summed_up_and_the_largest_named():
    parts = world(
        topic("t", *[(1, 2, 3)] * 3, configs=LIMITED), *(one for n in range(1, 3) for one in sized(90 + n, 50, 50, n))
    )
    (found,) = restarts(advised(*parts))
    assert found.expected["frees_bytes"] == 600 * MIB, "the others hold less than a limit and two segments"
    more = world(topic("t", (1, 2, 3), (1, 2, 3), configs=LIMITED), *sized(180, 100, 100, 1))
    (found,) = restarts(advised(*more))
    assert found.expected["frees_bytes"] == 680 * MIB
    assert found.reason.index("t-0 holds") < found.reason.index("t-1 holds")


def test_what_is_needed_beyond_it_is_planned_behind_it():
    parts = world(
        directory(1, "/d2", 10 * MIB), topic("u", (1, 2)), replica(1, "/d1", "u", size=150 * MIB), copies=sized(200)
    )
    first, *rest = advised(*parts)
    assert first.kind is ActionKind.RESTART_BROKER
    assert first.expected["frees_bytes"] == 100 * MIB
    moved = next(one for one in rest if one.kind is ActionKind.MOVE_LOG_DIR)
    assert [entry["topic"] for entry in moved.reassignment["partitions"]] == ["u"]


class TestWhenItMustNotBeRestarted:
    """Then nothing is left out for it, and the first action says what fills the directory."""

    @pytest.mark.parametrize(
        ("parts", "veto"),
        [
            ([broker(9, BrokerStatus.OFFLINE)], "other_broker_down"),
            ([topic("only", (1,))], "last_in_sync_replica"),
            (
                [directory(1, "/d1", 960 * MIB, growth_bytes_per_s=5_000.0, status=LogDirStatus.SATURATED)],
                "no_room_for_recovery",
            ),
        ],
    )
    def test_it_has_the_veto_and_others_are_ready(self, parts, veto):
        actions = advised(*world(*parts))
        (restart,) = restarts(actions)
        assert veto in vetoed(restart)
        assert actions[0].kind is not ActionKind.RESTART_BROKER
        assert not actions[0].vetoes
        assert "t-0 holds 700 MiB" in actions[0].reason

    @pytest.mark.parametrize(
        ("min_isr", "fields", "parts", "is_relied_on"),
        [
            (1, {}, [], True),
            (2, {}, [], True),
            (3, {}, [], False),
            (2, {"isr": {0: (1, 2)}}, [], False),
            (2, {"isr": {0: (2, 1)}}, [], False),
            (1, {"isr": {0: (1, 2)}}, [], True),
            (2, {}, [topic("u", (1, 2), configs={"min.insync.replicas": "2"})], False),
            (2, {}, [topic("u", (2, 1), configs={"min.insync.replicas": "2"})], False),
            (2, {}, [topic("u", (1, 2), configs={"min.insync.replicas": "1"})], True),
            (2, {}, [topic("u", (2, 3), configs={"min.insync.replicas": "2"})], True),
            (2, {}, [topic("u", (1, 2, 3), isr={0: (2, 3)}, configs={"min.insync.replicas": "2"})], True),
        ],
        ids=[
            "any one is enough",
            "two stay",
            "all three are asked for",
            "one is behind",
            "one is behind, another leads",
            "one is behind, and one is enough",
            "its neighbour has only two",
            "and follows",
            "and asks for one",
            "its neighbour is not on the broker",
            "its neighbour is out of sync there anyway",
        ],
    )
    def test_where_writes_would_stop_meanwhile_room_is_made_otherwise(self, min_isr, fields, parts, is_relied_on):
        configs = LIMITED | {"min.insync.replicas": str(min_isr)}
        actions = advised(*world(*parts, configs=configs, **fields))
        ready = [str(one.kind) for one in actions if not one.vetoes]
        assert ready == (["restart_broker"] if is_relied_on else ["expand_disk"])

    def test_in_the_last_hour_it_does_not_replace_what_is_in_time(self):
        actions = advised(*world(growth=60_000.0, copies=sized()))
        (restart,) = restarts(actions)
        assert not restart.vetoes
        assert restart.position > 0
        assert "t-0 holds 700 MiB" in actions[0].reason

    def test_rejected_it_is_not_told_again_nor_relied_on(self):
        rejected = OperatorDecisions(rejected=((ActionKind.RESTART_BROKER, {"broker": 1, "log_dir": "/d1"}),))
        actions = advised(*world(), decisions=rejected)
        assert restarts(actions) == []
        assert "expand_disk" in kinds(actions)


def test_a_cut_takes_nothing_from_what_is_past_its_limit_already():
    actions = advised(*world(broker(9, BrokerStatus.OFFLINE)))
    assert "lower_retention" not in kinds(actions), "it would free nothing on broker 1"


@pytest.mark.parametrize(
    ("version", "is_named"), [(None, True), ("3.9-IV0", True), ("4.2-IV1", False), ("4.3-IV0", False)]
)
def test_a_cause_that_the_release_rules_out_is_not_named(version, is_named):
    (found,) = restarts(advised(*world(), metadata_version=version))
    assert ("KAFKA-19458" in found.reason) is is_named
    assert "kafka-log-retention" in found.commands[0]


def past(*sizes, configs=None, **fields):
    """A world in which all replicas are alike, and above their limit of 100 MiB or not; ``u`` is beside them."""
    other = [topic("u", (1, 2, 3)), *(replica(number, "/d1", "u", size=100 * MIB) for number in (1, 2, 3))]
    return world(*other, configs=configs, copies=sized(*sizes), **fields)


@pytest.mark.parametrize(
    ("parts", "fields", "is_told"),
    [
        (past(700, 700, 700), {}, True),
        (past(700, 600, 650), {}, True),
        (past(700, None, None), {}, True),
        (past(700, 700, 700, isr={0: (1,)}), {}, True),
        (past(130, 130, 130), {}, True),
        (past(120, 120, 120), {}, False),
        (past(100, 100, 100), {}, False),
        (past(700, 700, 700, growth=1e6), {}, False),
        (past(700, 700, 700, growth=None), {}, False),
        (past(700, 700, 700, configs=BY_AGE), {}, False),
        (past(700, 700, 700, configs=COMPACTED | LIMITED), {}, False),
        (past(700, 700, 700, configs=LIMITED | {"remote.storage.enable": "true"}), {}, False),
        (past(700, 700, 700, configs=LIMITED | {"segment.bytes": str(1 << 30)}), {}, False),
        (past(700, 700, 700, reassigned=(0,)), {}, False),
        (past(700, 700, 700), {"cutting": frozenset({"t"})}, False),
        (past(700, 100, 100), {}, False),
    ],
    ids=[
        "all alike",
        "nearly alike",
        "nobody knows the others",
        "none is in sync",
        "two segments and what is written meanwhile",
        "two segments",
        "at its limit",
        "so much may be written between two checks",
        "nobody knows how fast it is written",
        "no limit in bytes",
        "compacted",
        "remote storage",
        "no closed segment",
        "it is being moved",
        "we lowered it ourselves",
        "one broker alone: its restart",
    ],
)
def test_past_its_limit_everywhere_is_checked_and_no_lower_one_promises_anything(parts, fields, is_told):
    actions = advised(*parts, **fields)
    looks = [one for one in actions if one.target.get("step") == "retention"]
    assert bool(looks) is is_told
    if is_told:
        assert actions[0] == looks[0]
        assert "come free within 6 min; if not, deletion is stuck" in looks[0].reason
        assert not [one for one in actions if one.target.get("topic") == "t" and not one.vetoes]
