"""Situations of operations and of public incident reports beside those that were known: the first answer, the order.

Public reports among them: strimzi-kafka-operator 9570 (a fault on a mapped index), cp-helm-charts 273 (a lock on NFS),
strimzi-kafka-operator 9015 (the flush of a replica that moves), an exercise of December 2025 that destroyed brokers.
"""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import alert, broker, directory, facts, moving, offline, policy, replica, topic
from tests.unit.situations.table import Advice, check_advice
from tests.unit.situations.test_filling import (
    BIG,
    FULL_OTHERS,
    GIB,
    HOUR_MS,
    MB,
    NO_ROOM,
    ROOM,
    TIB,
    copies,
    disk,
    given,
    plain,
    racks,
    source,
)

COMBINED = {"process.roles": "broker,controller", "controller.quorum.voters": "1@h:1,2@h:1,3@h:1"}
ALONE = {"process.roles": "broker,controller", "controller.quorum.voters": "1@h:1"}
UNLIMITED = {"retention.ms": "-1", "retention.bytes": "-1"}
TIERED = {"remote.storage.enable": "true", "local.retention.ms": str(6 * HOUR_MS), "local.retention.bytes": "-2"}


def gone(number, rack):
    return [broker(number, BrokerStatus.OFFLINE, rack), disk(number, "/data/d1", 0.5, status=LogDirStatus.UNKNOWN)]


def lost(cause, *parts, evidence=None, **configs):
    """Broker 1 lost /data/d1."""
    there = [offline(1, "/data/d1", cause, total=4 * TIB, used=2 * TIB), disk(1, "/data/d0", 0.3)]
    about = alert(log_dir="/data/d1", cause=cause, evidence=evidence or {})
    return lambda: (about, facts(broker(1, rack="a", **configs), *there, *parts))


def of_raised_replication_factor():
    """Broker 1 gets the third replica of inc: 300 of 500 GiB are there, and it fills."""
    runs = moving(plain("inc", (2, 3, 1), isr={0: (2, 3)}), adding=(1,), removing=())
    there = [*copies("inc", 500 * GIB, 2, 3), replica(1, "/data/d1", "inc", 0, 300 * GIB)]
    return given(
        *racks()[:3], source(0.9, 60 * MB, incoming_bytes=200 * GIB), NO_ROOM, *FULL_OTHERS, *BIG, runs, *there
    )


def two_brokers_destroyed():
    made = topic("x", (2, 3), (2, 4), (3, 5), leaderless=(0,), isr={0: (3,), 1: (4,), 2: (5,)})
    places = [(2, 0), (3, 0), (2, 1), (4, 1), (3, 2), (5, 2)]
    alive = [
        broker(1, rack="a"),
        broker(4, rack="b"),
        broker(5, rack="c"),
        *(disk(n, "/data/d1", 0.5) for n in (1, 4, 5)),
    ]
    found = facts(
        *alive, *gone(2, "a"), *gone(3, "b"), made, *(replica(n, "/data/d1", "x", p, 10 * GIB) for n, p in places)
    )
    about = alert(Rule.PARTITIONS_AT_RISK, number=None, log_dir=None, to="leaderless", cause=None)
    return about, found


def strict_pair():
    """Two brokers, and no topic does without either of them; broker 1 lost a directory."""
    strict = {"min.insync.replicas": "2"}
    made = [topic("a", (1, 2), configs=strict, isr={0: (2,)}), topic("b", (1, 2), configs=strict)]
    places = [*copies("a", 9 * GIB, 1, 2), replica(1, "/data/d0", "b", 0, 9 * GIB), *copies("b", 9 * GIB, 2)]
    return lost(Cause.UNKNOWN, disk(2, "/data/d1", 0.5), *made, *places)


ROWS = [
    Advice(
        "no limit by default and a group far behind: what it has read goes, after a bigger volume was offered",
        given(
            *racks()[:3],
            source(0.93, 30 * MB),
            *FULL_OTHERS,
            topic("raw", (1, 2, 3), configs=UNLIMITED, overridden=frozenset(), unread={0: 0.6}),
            *copies("raw", 3000 * GIB, 1, 2, 3),
            growth={((n, "/data/d1"), ("raw", 0)): 30e6 for n in (1, 2, 3)},
        ),
        first="expand_disk",
        order=("expand_disk", "lower_retention"),
        ready=("lower_retention",),
    ),
    Advice(
        "another directory of the broker is offline: to other brokers, and why not beside it is said",
        given(
            *racks(),
            source(),
            ROOM,
            offline(1, "/data/d3", total=4 * TIB),
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.3),
            *BIG,
        ),
        first="reassign",
        vetoes={"move_log_dir": ("log_dir_offline",)},
        lossless=True,
    ),
    Advice(
        "another directory of the broker is unknown, and may hinder the move beside it: a look before any loss",
        given(*racks()[:3], source(), ROOM, disk(1, "/data/d3", 0.3, status=LogDirStatus.UNKNOWN), *FULL_OTHERS, *BIG),
        order=("investigate", "expand_disk"),
        vetoes={"move_log_dir": ("log_dir_unknown",)},
        lossless=True,
        says=("find out the state of /data/d3 on broker 1",),
    ),
    Advice(
        "the only room is in a rack that has a replica already",
        given(*racks()[:3], broker(4, rack="b"), source(), NO_ROOM, *FULL_OTHERS, disk(4, "/data/d1", 0.1), *BIG),
        first="expand_disk",
        never=("reassign",),
        says=("racks would shrink from a, b, c to b, c",),
    ),
    Advice(
        "the room beside it lies on a suspect disk",
        given(
            *racks(), source(), disk(1, "/data/d2", 0.3, is_suspect=True), *FULL_OTHERS, disk(4, "/data/d1", 0.3), *BIG
        ),
        first="reassign",
        never=("move_log_dir",),
        lossless=True,
    ),
    Advice(
        "critical, and it does not grow: nothing is deleted",
        given(*racks(), source(0.9, 0.0), NO_ROOM, *FULL_OTHERS, *BIG),
        first="expand_disk",
        never=("lower_retention", "delete_records", "throttle_producers"),
        lossless=True,
    ),
    Advice(
        "critical, and it shrinks: nothing is deleted",
        given(*racks(), source(0.9, -3 * MB), NO_ROOM, *FULL_OTHERS, *BIG),
        lossless=True,
    ),
    Advice(
        "a third replica arrives where it fills: that ends before anything is deleted",
        of_raised_replication_factor(),
        first="cancel_moves",
        order=("cancel_moves", "expand_disk"),
        lossless=True,
        says=("cancel 1 of 1",),
    ),
    Advice(
        "so it does not while a move beside it is in time",
        given(
            *racks(),
            source(0.9, 5 * MB, incoming_bytes=200 * GIB),
            ROOM,
            *FULL_OTHERS,
            *BIG,
            moving(plain("inc", (2, 3, 1), isr={0: (2, 3)}), adding=(1,), removing=()),
            *copies("inc", 500 * GIB, 2, 3),
            replica(1, "/data/d1", "inc", 0, 300 * GIB),
        ),
        first="move_log_dir",
        never=("cancel_moves",),
        lossless=True,
    ),
    Advice(
        "tiered, and nothing of it is copied: the way to remote storage comes first",
        given(
            *racks()[:3],
            source(0.93, 40 * MB),
            *FULL_OTHERS,
            plain("tier", (1, 2, 3), configs=TIERED, remote_copy_lag_bytes=3000 * GIB),
            *copies("tier", 3000 * GIB, 1, 2, 3),
        ),
        first="investigate",
        order=("investigate", "expand_disk"),
        never=("lower_retention", "delete_records"),
        says=("find out why segments in /data/d1", "2.9 TiB of tier wait for their copy"),
        lossless=True,
    ),
    Advice(
        "what leaves waits for replicas that are out of sync: nobody knows when it is there",
        given(
            *racks(),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.3),
            plain("big", (1, 2, 3), isr={0: (1,)}),
            *copies("big", 1100 * GIB, 1, 2, 3),
        ),
        ready=("reassign",),
        never_says=("other brokers (enough)",),
    ),
    Advice(
        "a replica whose others are in sync leaves before a larger one whose are not",
        given(
            *racks(),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.3),
            plain("big", (1, 2, 3), isr={0: (1,)}),
            *copies("big", 1200 * GIB, 1, 2, 3),
            plain("well", (1, 2, 3)),
            *copies("well", 1100 * GIB, 1, 2, 3),
        ),
        first="reassign",
        says=('{"topic":"well","partition":0', "other brokers (enough)"),
        lossless=True,
    ),
    Advice(
        "one partition that fits nowhere, and small ones: these move, others lead, and the volume grows",
        given(
            *racks(),
            source(0.96, 5 * MB),
            disk(1, "/data/d2", 0.6),
            *(disk(number, "/data/d1", 0.5) for number in (2, 3)),
            disk(4, "/data/d1", 0.6),
            plain("huge", (1, 2, 3)),
            *copies("huge", 3300 * GIB, 1, 2, 3),
            *(plain(f"s{number}", (1, 2, 3)) for number in range(6)),
            *(one for number in range(6) for one in copies(f"s{number}", 50 * GIB, 1, 2, 3)),
            to="saturated",
        ),
        first="move_log_dir",
        order=("move_log_dir", "demote_leaders", "expand_disk", "lower_retention"),
    ),
    Advice(
        "a limit of the process while another broker is down and the controllers are the brokers",
        lost(
            Cause.LIMIT,
            broker(2, rack="b", **COMBINED),
            disk(2, "/data/d1", 0.5),
            *[broker(3, BrokerStatus.OFFLINE, "c", **COMBINED), disk(3, "/data/d1", 0.5, status=LogDirStatus.UNKNOWN)],
            topic("a", (1, 2, 3), isr={0: (2,)}),
            *copies("a", 1100 * GIB, 1, 2, 3),
            evidence={"said": "Too many open files"},
            **COMBINED,
        ),
        first="raise_limit",
        never=("replace_disk", "restart_broker"),
        vetoes={"restart_broker": ("other_broker_down", "quorum_unsafe")},
        lossless=True,
    ),
    Advice(
        "a cluster of one broker whose disk fails: saved before it is replaced",
        lost(
            Cause.FAILED,
            topic("a", (1,), leaderless=(0,), isr={0: (1,)}),
            *copies("a", 9 * GIB, 1),
            evidence={"decided_by": "kernel_log", "device": "sdb", "said": "critical medium error, dev sdb"},
            **ALONE,
        ),
        first="investigate",
        order=("investigate", "replace_disk"),
        vetoes={"restart_broker": ("known_sick_disk",)},
        says=("save the data that only /data/d1 of broker 1 holds", "ddrescue /dev/sdb"),
    ),
    Advice(
        "every topic needs both brokers: no restart stops the others' writes unasked",
        strict_pair(),
        first="investigate",
        vetoes={"restart_broker": ("under_min_isr_after",)},
        never=("replace_disk",),
    ),
    Advice(
        "brokers of several zones destroyed: who brings most back is named, nobody is elected",
        two_brokers_destroyed,
        first="investigate",
        never=("elect_leaders",),
        says=("broker 3 brings most back", "restart no broker that holds the last copy"),
        lossless=True,
    ),
    Advice(
        "partitions under their minimum, and a broker is down: who is missed is named",
        lambda: (
            alert(Rule.PARTITIONS_AT_RISK, number=None, log_dir=None, to="under_min_isr", cause=None),
            facts(
                *(disk(n, "/data/d1", 0.5) for n in (1, 2)),
                *gone(3, "c"),
                topic("x", (1, 2, 3), isr={0: (1, 2)}, configs={"min.insync.replicas": "3"}),
                *copies("x", GIB, 1, 2, 3),
            ),
        ),
        first="investigate",
        never=("elect_leaders",),
        says=("broker 3 is missed most: 1 endangered partition lacks its replica",),
    ),
    Advice(
        "most of a full disk is no replica: that is looked for before anything is bought or deleted",
        given(
            *racks(),
            source(0.97, 12 * MB, unaccounted_bytes=3 * TIB),
            NO_ROOM,
            *FULL_OTHERS,
            plain("s", (1, 2, 3)),
            *copies("s", 400 * GIB, 1, 2, 3),
        ),
        order=("investigate", "expand_disk", "lower_retention"),
        says=("3 TiB there are explained by no replica",),
    ),
    Advice(
        "so it is half an hour before it is full, behind what wins time",
        given(
            *racks(),
            source(0.97, 60 * MB, unaccounted_bytes=3 * TIB),
            NO_ROOM,
            *FULL_OTHERS,
            plain("s", (1, 2, 3)),
            *copies("s", 400 * GIB, 1, 2, 3),
            to="saturated",
        ),
        order=("demote_leaders", "investigate", "lower_retention"),
    ),
    Advice(
        "tiered, and its copies are switched off: what lies here is nowhere else",
        given(
            *racks()[:3],
            source(0.93, 40 * MB),
            *FULL_OTHERS,
            plain(
                "tier",
                (1, 2, 3),
                configs=TIERED | {"remote.log.copy.disable": "true", "local.retention.ms": "-2"},
                remote_copy_lag_bytes=0,
            ),
            *copies("tier", 3000 * GIB, 1, 2, 3),
        ),
        never=("lower_retention", "delete_records"),
        says=("copies of tier to remote storage are switched off",),
        lossless=True,
    ),
    Advice(
        "only brokers write to it: no producer is slowed down",
        given(
            *racks(),
            source(0.97, 30 * MB),
            NO_ROOM,
            *FULL_OTHERS,
            topic("__consumer_offsets", (1, 2, 3), configs={"cleanup.policy": "compact"}, is_internal=True),
            *copies("__consumer_offsets", 2000 * GIB, 1, 2, 3),
            to="saturated",
        ),
        order=("investigate", "expand_disk"),
        never=("throttle_producers", "lower_retention", "delete_records"),
        says=("look whether the log cleaner of broker 1 works",),
    ),
    Advice(
        "the only copy of a partition is bad: it is saved before a restart",
        lambda: (
            alert(Rule.PARTITION_FAILED, log_dir=None, to=None, cause=None, evidence={"why": ["solo-0"]}),
            facts(disk(1, "/data/d1", 0.5), disk(2, "/data/d1", 0.5), topic("solo", (1,)), *copies("solo", GIB, 1)),
        ),
        first="investigate",
        says=("no other replica holds all of solo-0: copy its folder aside",),
        lossless=True,
    ),
    Advice(
        "the owner's minimum leaves next to nothing to cut: producers are slowed down before that is lost",
        given(*racks(), source(0.97, 30 * MB), NO_ROOM, *FULL_OTHERS, *BIG, to="saturated"),
        first="throttle_producers",
        order=("throttle_producers", "expand_disk", "lower_retention"),
        policy=policy(topics=[TopicRule(topic="big", min_retention_bytes=1090 * GIB, owner="team x")]),
    ),
    Advice(
        "the only room for what a dead disk held is cordoned: that is what would help",
        lost(
            Cause.FAILED,
            *racks()[1:],
            *(disk(number, "/data/d1", 0.3) for number in (2, 3)),
            disk(4, "/data/d1", 0.1, is_cordoned=True),
            plain("big", (1, 2, 3), isr={0: (2, 3)}),
            *copies("big", 900 * GIB, 1, 2, 3),
            evidence={"decided_by": "kernel_log", "device": "sdb", "said": "critical medium error, dev sdb"},
        ),
        first="replace_disk",
        never=("reassign", "restart_broker"),
        says=("Would help: uncordon /data/d1 of broker 4, if the owner of the cordon agrees",),
    ),
    Advice(
        "an offline directory of a broker that nobody knows",
        lambda: (alert(number=9), facts(directory(2), topic("t", (2,)))),
        first="investigate",
        lossless=True,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)


def test_a_move_that_waits_for_others_says_so():
    found = check_advice(next(row for row in ROWS if row.name.startswith("what leaves waits")))
    moved = next(action for action in found if action.kind == "reassign")
    holds = {one["name"]: one["holds"] for one in moved.preconditions}
    assert (holds["others_in_sync"], holds["in_time"]) == (False, None)
