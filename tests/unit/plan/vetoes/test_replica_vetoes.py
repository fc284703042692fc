"""Every veto of a move with what it refuses, and with the nearest thing that it lets through."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.settings import TopicRule
from logdirwatch.plan.vetoes import replica_vetoes as vetoes
from tests.unit.plan.answers import named
from tests.unit.plan.builders import MIB, broker, directory, facts, offline, partition_of, policy, replica, topic

CALM = topic("t", (1, 2))
PARTS = [
    broker(1, rack="a"),
    broker(2, rack="b"),
    directory(1),
    directory(1, "/d2"),
    directory(2),
    CALM,
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]
UNKNOWN = {"status": LogDirStatus.UNKNOWN}


def of_partition(rule, *parts, **fields):
    found = facts(*PARTS, *parts, **fields)
    return named(rule(found, found.partitions["t", 0]))


def test_the_first_veto_is_the_one_that_is_told():
    one, two = Veto("one", ""), Veto("two", "")
    assert vetoes.first([None, one, two]) is one
    assert vetoes.first([None, None]) is None
    assert vetoes.first([]) is None


class TestTheBroker:
    @pytest.mark.parametrize(
        ("state", "found"),
        [
            (broker(2), None),
            (broker(2, BrokerStatus.DEGRADED), None),
            (broker(2, BrokerStatus.OFFLINE), "broker_not_alive"),
            (broker(2, BrokerStatus.UNKNOWN), "broker_not_alive"),
            (replace(broker(2), is_fenced=True), "broker_not_alive"),
        ],
    )
    def test_only_one_that_is_alive_may_be_named(self, state, found):
        assert named(vetoes.broker_not_alive(facts(*PARTS, state), 2)) == found

    def test_the_veto_carries_the_broker_that_is_to_come_back(self):
        assert vetoes.broker_not_alive(facts(*PARTS), 9).brokers == (9,)
        assert vetoes.log_dir_offline(facts(*PARTS, offline(2)), 2).brokers == (2,)
        assert vetoes.log_dir_unknown(facts(*PARTS, directory(2, **UNKNOWN)), 2).brokers == (2,)

    @pytest.mark.parametrize("rule", [vetoes.log_dir_offline, vetoes.log_dir_unknown])
    def test_where_every_directory_serves_its_replicas_may_move(self, rule):
        assert rule(facts(*PARTS), 1) is None
        assert rule(facts(*PARTS), 9) is None, "of a broker nobody knows nothing is known against it"

    @pytest.mark.parametrize(
        ("rule", "bad", "other"),
        [
            (vetoes.log_dir_offline, {"status": LogDirStatus.OFFLINE}, UNKNOWN),
            (vetoes.log_dir_unknown, UNKNOWN, {"status": LogDirStatus.OFFLINE}),
        ],
    )
    def test_one_directory_holds_up_its_own_broker_and_every_such_one_is_named(self, rule, bad, other):
        found = facts(*PARTS, directory(1, "/d2", **bad), directory(1, "/d3", **bad), directory(1, "/d4", **other))
        assert "/d2, /d3 " in rule(found, 1).reason
        assert rule(found, 2) is None
        assert named(rule(found, 1)) == rule.__name__
        assert rule(facts(*PARTS, directory(1, "/d2", **other)), 1) is None


class TestTheDestination:
    @pytest.mark.parametrize(
        ("fields", "serving", "closed"),
        [
            ({}, None, None),
            ({"is_cordoned": False}, None, None),
            ({"status": LogDirStatus.FILLING}, None, None),
            ({"status": LogDirStatus.OFFLINE}, "destination_not_serving", None),
            (UNKNOWN, "destination_not_serving", None),
            ({"is_cordoned": True}, None, "destination_cordoned"),
            ({"is_marked": True}, None, "destination_marked"),
            ({"is_suspect": True}, None, "destination_suspect"),
            ({"is_cordoned": True, "is_marked": True, "is_suspect": True}, None, "destination_cordoned"),
            ({"is_marked": True, "is_suspect": True}, None, "destination_marked"),
        ],
    )
    def test_it_serves_and_is_open(self, fields, serving, closed):
        place = directory(1, "/d2", **fields)
        assert named(vetoes.destination_not_serving(place)) == serving
        assert named(vetoes.destination_closed(place)) == closed

    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({"is_marked": True}, "destination_marked"),
            ({}, None),
            ({"is_marked": True, "is_cordoned": True}, None),
            ({"is_marked": True, "status": LogDirStatus.OFFLINE}, None),
        ],
    )
    def test_kafka_chooses_among_all_that_serve_and_are_not_cordoned(self, fields, found):
        seen = facts(*PARTS, directory(1, "/d2", **fields))
        assert named(vetoes.marked_may_be_chosen(seen, 1)) == found
        assert vetoes.marked_may_be_chosen(seen, 2) is None
        assert vetoes.marked_may_be_chosen(seen, 9) is None

    def test_every_directory_that_kafka_might_choose_is_named(self):
        marked = [directory(1, path, is_marked=True) for path in ("/d2", "/d3")]
        assert "may choose /d2, /d3 on broker 1" in vetoes.marked_may_be_chosen(facts(*PARTS, *marked), 1).reason


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((1, 2), (1, 2), None),
        ((1, 2), (3, 2), None),
        ((1, 2), (4, 2), None),
        ((1, 2), (1, 3), "rack_spread_lost"),
        ((1, 3), (1,), None),
        ((1, 2), (1, 5), "rack_spread_lost"),
        ((1, 5), (1, 3), None),
        ((1, 9), (9,), "rack_spread_lost"),
    ],
)
def test_a_partition_is_on_no_fewer_racks_than_before(before, after, found):
    seen = facts(*PARTS, broker(3, rack="a"), broker(4, rack="c"), broker(5))
    assert named(vetoes.rack_spread_lost(seen, before, after)) == found


def test_the_racks_that_are_lost_are_named():
    seen = facts(*PARTS)
    assert vetoes.rack_spread_lost(seen, (2, 1), (2,)).reason == "racks would shrink from a, b to b"
    assert vetoes.rack_spread_lost(seen, (1,), (9,)).reason == "racks would shrink from a to none"


@pytest.mark.parametrize(
    ("isr", "without", "parts", "found"),
    [
        ((1, 2), 1, [], None),
        ((2,), 1, [], None),
        ((1,), 1, [], "no_live_source"),
        ((1,), None, [], None),
        ((), None, [], "no_live_source"),
        ((1, 2), 1, [broker(2, BrokerStatus.OFFLINE)], "no_live_source"),
        ((1, 2), None, [broker(2, BrokerStatus.OFFLINE)], None),
    ],
)
def test_a_copy_needs_a_live_source_in_sync_that_is_not_the_lost_one(isr, without, parts, found):
    seen = facts(*PARTS, partition_of(CALM, isr=isr), *parts)
    assert named(vetoes.no_live_source(seen, seen.partitions["t", 0], without)) == found


@pytest.mark.parametrize(("sizes", "found"), [((None, None), "size_unknown"), ((None, MIB), None), ((0, None), None)])
def test_what_nobody_measured_is_not_placed(sizes, found):
    parts = [*PARTS[:-2], *(replica(number, "/d1", "t", size=size) for number, size in enumerate(sizes, 1))]
    seen = facts(*parts)
    assert named(vetoes.size_unknown(seen, seen.partitions["t", 0])) == found


COPY = replica(1, "/d2", "t", size=MIB, is_future=True)


class TestMovesThatRun:
    @pytest.mark.parametrize(
        ("parts", "found"),
        [
            ([], None),
            ([topic("t", (1, 2), reassigned=[0])], "partition_moving"),
            ([COPY], "partition_moving"),
            ([COPY, offline(1, "/d2")], None),
            ([COPY, offline(1, "/d1")], None),
            ([COPY, offline(2, "/d1")], "partition_moving"),
            ([COPY, offline(1, "/d2"), topic("t", (1, 2), reassigned=[0])], "partition_moving"),
            (
                [COPY, offline(1, "/d2"), directory(2, "/d2"), replica(2, "/d2", "t", is_future=True)],
                "partition_moving",
            ),
            ([topic("u", (1, 2)), replica(1, "/d2", "u", is_future=True), replica(1, "/d1", "u")], None),
        ],
    )
    def test_a_partition_on_the_move_is_left_alone(self, parts, found):
        assert of_partition(vetoes.partition_moving, *parts) == found

    def test_which_of_the_two_moves_it_is_is_said(self):
        def reason(*parts):
            found = facts(*PARTS, *parts)
            return vetoes.partition_moving(found, found.partitions["t", 0]).reason

        assert reason(COPY) == "t-0 is being moved between directories already"
        assert reason(COPY, topic("t", (1, 2), reassigned=[0])) == "t-0 is being reassigned already"

    def test_so_is_one_that_another_alerts_action_reassigns(self):
        assert of_partition(vetoes.partition_claimed) is None
        assert of_partition(vetoes.partition_claimed, claimed=frozenset({("t", 0)})) == "partition_claimed"
        assert of_partition(vetoes.partition_claimed, claimed=frozenset({("t", 1), ("u", 0)})) is None


class TestCutsThatWait:
    def waits(self, rule, own=(), others=()):
        decisions = OperatorDecisions(cutting=frozenset(own))
        return named(rule(facts(*PARTS, decisions=decisions, cutting=frozenset(others)), "t"))

    def test_nothing_moves_that_waits_for_a_cut_of_whatever_alert(self):
        assert self.waits(vetoes.retention_waits) is None
        assert self.waits(vetoes.retention_waits, own=["t"]) == "retention_waits"
        assert self.waits(vetoes.retention_waits, others=["t"]) == "retention_waits"
        assert self.waits(vetoes.retention_waits, own=["u"], others=["v"]) is None

    def test_only_what_another_alert_cuts_is_not_cut_once_more(self):
        assert self.waits(vetoes.cut_elsewhere, own=["t"]) is None
        assert self.waits(vetoes.cut_elsewhere, others=["t"]) == "retention_waits"

    def test_the_topic_is_named(self):
        waiting = facts(*PARTS, cutting=frozenset({"t"}))
        assert "retention cut of t waits" in vetoes.cut_elsewhere(waiting, "t").reason
        own = facts(*PARTS, decisions=OperatorDecisions(cutting=frozenset({"t"})))
        assert "retention cut of t waits" in vetoes.retention_waits(own, "t").reason


class TestTheConfiguration:
    @pytest.mark.parametrize(
        ("limits", "found"),
        [
            ({}, None),
            ({"never_touch": ("t",)}, "never_touch"),
            ({"never_touch": ("pay*", "orders-?")}, "never_touch"),
            ({"never_touch": ("Orders-1",)}, None),
            ({"never_touch": ("orders",)}, None),
            ({"topics": (TopicRule(topic="orders-*", never_touch=True),)}, "never_touch"),
            ({"topics": (TopicRule(topic="orders-*", owner="ann"),)}, None),
        ],
    )
    def test_what_it_excludes_is_never_touched(self, limits, found):
        name = "t" if limits.get("never_touch") == ("t",) else "orders-1"
        assert named(vetoes.never_touch(name, policy(**limits).limits)) == found

    @pytest.mark.parametrize(
        ("made", "limits", "found"),
        [
            (CALM, {}, None),
            (topic("t", (1,), is_internal=True), {}, "internal_topic"),
            (topic("__consumer_offsets", (1,)), {}, "internal_topic"),
            (topic("_schemas", (1,)), {"internal_topics": ("_*",)}, "internal_topic"),
            (topic("schemas_", (1,)), {"internal_topics": ("_*",)}, None),
        ],
    )
    def test_internal_topics_are_left_alone(self, made, limits, found):
        assert named(vetoes.internal_topic(made, policy(**limits).limits)) == found


LONGEST = 255 - len(".") - 32 - len("-future")


@pytest.mark.parametrize(
    ("length", "partition", "found"),
    [(LONGEST - 2, 0, None), (LONGEST - 1, 0, "name_too_long"), (LONGEST - 2, 10, "name_too_long")],
)
def test_a_future_log_needs_a_name_that_fits_a_file_system(length, partition, found):
    assert named(vetoes.name_too_long("x" * length, partition)) == found


@pytest.mark.parametrize(
    ("growth", "found"),
    [(None, None), (0.0, None), (99.9, None), (100.0, "slower_than_writes"), (101.0, "slower_than_writes")],
)
def test_a_copy_as_slow_as_the_writes_never_ends(growth, found):
    assert named(vetoes.slower_than_writes(100, growth)) == found
