"""Situations in which several things are so at once: each alone is answered elsewhere, here it is what both ask for."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, Rule, Severity
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.answers import kinds
from tests.unit.plan.builders import NOW_MS, alert, broker, facts, moving, offline, policy, replica, space_alert
from tests.unit.plan.builders import topic as bare_topic
from tests.unit.situations.table import Advice, check_advice
from tests.unit.situations.test_filling import (
    BIG,
    COMPACT,
    FULL_OTHERS,
    GIB,
    HOUR_MS,
    MB,
    NO_ROOM,
    PLAIN,
    ROOM,
    SLOW,
    TIB,
    TWO,
    copies,
    disk,
    given,
    plain,
    racks,
    source,
)
from tests.unit.situations.test_operations import ALONE, COMBINED, UNLIMITED, gone, lost

LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
RF_1 = {"min.insync.replicas": "1"}
FOR_EVER = frozenset({"retention.ms", "retention.bytes"})
DYING = {"decided_by": "kernel_log", "device": "sdb", "said": "critical medium error, dev sdb"}
SOUND = [disk(number, "/data/d1", 0.4) for number in (2, 3, 4)]


def topic(name, *assignments, configs=None, **fields):
    return bare_topic(name, *assignments, configs=PLAIN | (configs or {}), **({"unread": {}} | fields))


def about(rule, *parts, number=1, log_dir=None, to=None, **fields):
    opened = fields.pop("opened_at_ms", NOW_MS)
    made = alert(rule, number=number, log_dir=log_dir, to=to, cause=None, opened_at_ms=opened, **fields)
    return lambda: (made, facts(*parts))


def arriving(copied=100 * GIB, size=200 * GIB):
    """A reassignment that brings a replica to broker 1."""
    runs = moving(topic("inc", (2, 3, 4, 1), isr={0: (2, 3, 4)}), adding=(1,), removing=(4,))
    return [runs, *copies("inc", size, 2, 3, 4), replica(1, "/data/d1", "inc", 0, copied)]


def rebuilding():
    """A reassignment that replaces the lost replica of broker 3 on broker 1."""
    runs = moving(topic("inc", (2, 3, 4, 1), isr={0: (2, 4)}), adding=(1,), removing=(3,))
    return [runs, *copies("inc", 200 * GIB, 2, 4), replica(1, "/data/d1", "inc", 0, 100 * GIB)]


def coming_beside():
    """A copy of 1000 GiB from another directory of the broker, 200 of which are there."""
    return [
        topic("inc", (1, 2, 3)),
        *copies("inc", 1000 * GIB, 1, path="/data/d2"),
        *copies("inc", 1000 * GIB, 2, 3),
        replica(1, "/data/d1", "inc", 0, 200 * GIB, is_future=True),
    ]


def leaving(size=1500 * GIB, copied=200 * GIB):
    """The only replica of a topic, on its way from broker 1 to 4."""
    runs = moving(topic("one", (1, 4), isr={0: (1,)}, configs=RF_1), adding=(4,), removing=(1,))
    return [runs, replica(1, "/data/d1", "one", 0, size), replica(4, "/data/d1", "one", 0, copied)]


def unled(*of_broker_1):
    """A partition without a leader for an hour: the copy on broker 1 was the last in sync, a stale one is on 2."""
    made = topic("o", (1, 2), leaderless=(0,), isr={0: (1,)})
    parts = [*of_broker_1, *racks()[1:], *SOUND, made, *copies("o", 9 * GIB, 1, 2)]
    return about(
        Rule.PARTITIONS_AT_RISK,
        *parts,
        number=None,
        to="leaderless",
        opened_at_ms=NOW_MS - HOUR_MS,
        severity=Severity.PAGE,
    )


def behind(listed, **of_brokers):
    """A partition under its minimum whose followers are far behind; what its topic and brokers throttle."""
    made = topic("o", (1, 2, 3), isr={0: (1,)}, configs={"min.insync.replicas": "2"} | listed)
    limited = [broker(n, rack=rack, **of_brokers.get(f"of_{n}", {})) for n, rack in ((1, "a"), (2, "b"), (3, "c"))]
    there = [made, *copies("o", 300 * GIB, 1), *copies("o", 200 * GIB, 2, 3)]
    return about(
        Rule.PARTITIONS_AT_RISK, *limited, disk(1, "/data/d1", 0.4), *SOUND[:2], *there, number=None, to="under"
    )


LIMITS = [
    Advice(
        "a throttle left behind keeps the followers behind: it is named, and may be removed",
        behind({"follower.replication.throttled.replicas": "0:2,0:3"}, of_3={FOLLOWER: "1000"}),
        first="clear_throttles",
        ready=("clear_throttles", "investigate"),
        says=(f"replicas that are behind are throttled: {FOLLOWER}=1000 of broker 3",),
    ),
    Advice(
        "so does one of the leader that sends",
        behind({"leader.replication.throttled.replicas": "*"}, of_1={LEADER: "1000"}),
        first="clear_throttles",
        says=(f"{LEADER}=1000 of broker 1",),
    ),
    Advice(
        "a rate for other replicas is not why",
        behind({"follower.replication.throttled.replicas": "1:3,0:1"}, of_3={FOLLOWER: "1000"}),
        first="investigate",
        never=("clear_throttles",),
        never_says=("throttled:",),
    ),
    Advice(
        "a limit of what broker 1 receives does not hold back what leaves it: nothing is deleted for it",
        given(
            broker(1, rack="a", **{FOLLOWER: "1000000"}),
            *racks()[1:],
            source(incoming_bytes=100 * GIB),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.3),
            *arriving(),
            *BIG,
        ),
        first="reassign",
        never=("cancel_moves", "lower_retention", "clear_throttles"),
        lossless=True,
        never_says=("too late", f"brokers 1 {FOLLOWER}"),
    ),
    Advice(
        "a limit of what the destination sends does not hold back what it receives",
        given(
            *racks()[:3],
            broker(4, rack="a", **{LEADER: "1000000"}),
            source(0.95, 10 * MB),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.2),
            *BIG,
            to="saturated",
        ),
        first="reassign",
        lossless=True,
        never_says=("too late", "somebody else limits", f"brokers 4 {LEADER}"),
    ),
    Advice(
        "the leader that sends is limited by somebody: they are asked, nothing is cleared or deleted",
        given(
            broker(1, rack="a"),
            broker(2, rack="b", **{LEADER: "1000000"}),
            *racks()[2:],
            source(0.95, 10 * MB),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.2),
            topic("big", (2, 1, 3), configs={"leader.replication.throttled.replicas": "*"}),
            *copies("big", 1100 * GIB, 1, 2, 3),
            to="saturated",
        ),
        order=("investigate", "reassign"),
        never=("clear_throttles",),
        lossless=True,
        says=(f"{LEADER}=976.6 KiB/s of broker 2",),
    ),
    Advice(
        "a reassignment that runs is held back by a limit of the leader that sends",
        given(
            broker(1, rack="a", **{LEADER: "1000000"}),
            *racks()[1:],
            source(),
            ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.3),
            *leaving(),
            *BIG,
        ),
        first="move_log_dir",
        lossless=True,
        says=("moves that run already (one-0)", "too late", "would be in time"),
    ),
    Advice(
        "and not by one of what its destination sends",
        given(
            *racks()[:3],
            broker(4, rack="a", **{LEADER: "1000000"}),
            source(),
            ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.3),
            *leaving(),
            *BIG,
        ),
        first="investigate",
        never=("move_log_dir", "reassign", "lower_retention"),
        says=("in time and enough",),
    ),
    Advice(
        "a limit that stayed behind while a move runs is left alone, and nobody is told to remove everybody's",
        about(
            Rule.THROTTLE_LEFT,
            broker(1, **{LEADER: "5"}),
            *racks()[1:],
            disk(1, "/data/d1", 0.4),
            *SOUND,
            moving(topic("o", (1, 2, 4), isr={0: (1, 2)}), adding=(4,), removing=(2,)),
            *copies("o", 9 * GIB, 1, 2, 4),
            evidence={"throttles": {LEADER: 5}, "throttled_replicas": 0},
        ),
        first="investigate",
        never=("clear_throttles",),
        says=("--verify without --preserve-throttles removes the limits of every broker",),
    ),
]

RUNNING = [
    Advice(
        "what comes from beside would fill it, and it only fills yet: that ends before anything is deleted",
        given(
            *racks(),
            source(0.8, 5 * MB, incoming_bytes=800 * GIB),
            disk(1, "/data/d2", 0.6),
            *FULL_OTHERS,
            *coming_beside(),
            *BIG,
            to="filling",
        ),
        first="cancel_moves",
        lossless=True,
    ),
    *(
        Advice(
            f"what comes fits, and is needed more than the room or the history here: {why}",
            given(*racks(), source(0.87, grows, incoming_bytes=100 * GIB), *there, *FULL_OTHERS, *coming, *BIG),
            never=("cancel_moves",),
        )
        for why, grows, there, coming in (
            ("its source is fuller", 5 * MB, [disk(4, "/data/d1", 0.97)], arriving()),
            ("its source fails", 5 * MB, [disk(4, "/data/d1", 0.5, is_suspect=True)], arriving()),
            ("a replica is missing", 5 * MB, [disk(4, "/data/d1", 0.5)], rebuilding()),
            ("days are left", 1.5 * MB, [disk(4, "/data/d1", 0.83)], arriving()),
        )
    ),
    Advice(
        "what comes does not fit, but does without what nobody needs: a lost replica is rebuilt",
        given(
            *racks(),
            source(0.82, 3 * MB, incoming_bytes=590 * GIB),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.5),
            *rebuilding(),
            moving(topic("bal", (2, 4, 1), isr={0: (2, 4)}), adding=(1,), removing=(4,)),
            *copies("bal", 800 * GIB, 2, 4),
            replica(1, "/data/d1", "bal", 0, 10 * GIB),
            *BIG,
            to="filling",
        ),
        first="cancel_moves",
        lossless=True,
        says=("cancel 1 of 2",),
        never_says=('"topic":"inc"',),
    ),
    Advice(
        "what comes fits, and its source does well: that ends before history is deleted",
        given(
            *racks(),
            source(0.87, 5 * MB, incoming_bytes=100 * GIB),
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.83),
            *arriving(),
            *BIG,
        ),
        first="cancel_moves",
        lossless=True,
    ),
    Advice(
        "the only replica of a topic leaves in time: it is watched",
        given(*racks(), source(), NO_ROOM, *FULL_OTHERS, disk(4, "/data/d1", 0.3), *leaving(), *BIG),
        first="investigate",
        never=("cancel_moves", "lower_retention", "reassign", "move_log_dir"),
        lossless=True,
    ),
    Advice(
        "the only replica of a topic arrives and does not fit: the old one goes on serving",
        given(
            *racks(),
            source(0.8, 20 * MB, incoming_bytes=1400 * GIB),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.5),
            moving(topic("one", (4, 1), isr={0: (4,)}, configs=RF_1), adding=(1,), removing=(4,)),
            replica(4, "/data/d1", "one", 0, 1500 * GIB),
            replica(1, "/data/d1", "one", 0, 100 * GIB),
            *BIG,
            to="filling",
        ),
        first="cancel_moves",
        ready=("cancel_moves",),
        lossless=True,
    ),
    Advice(
        "its destination is offline: the reassignment ends",
        about(
            Rule.MOVE_STALLED,
            *racks(),
            disk(1, "/data/d1", 0.4),
            *SOUND[:2],
            offline(4, "/data/d1", total=4 * TIB),
            disk(4, "/data/d2", 0.3),
            moving(topic("o", (1, 2, 4), isr={0: (1, 2)}), adding=(4,), removing=(2,)),
            *copies("o", 9 * GIB, 1, 2, 4),
            number=4,
            evidence={"moves": {"/data/d1": {"verdict": "stands_still", "remaining_bytes": 9, "throttle": None}}},
        ),
        first="cancel_moves",
        ready=("cancel_moves",),
    ),
    Advice(
        "a partition that another action moves is left, the other one goes",
        given(*racks(), source(), ROOM, *FULL_OTHERS, *TWO, claimed=frozenset({("big", 0)})),
        first="move_log_dir",
        lossless=True,
        never_says=('"topic":"big"',),
    ),
    Advice(
        "a topic that another action cuts is not cut again",
        given(
            *racks()[:3], source(0.96, 30 * MB), NO_ROOM, *FULL_OTHERS, *TWO, to="saturated", cutting=frozenset({"big"})
        ),
        ready=("lower_retention",),
        never_says=("of big from",),
    ),
]

SPACE = [
    Advice(
        "one directory, broker and controller in one, saturated, no room: growth before loss, and that it halts",
        given(
            broker(1, rack="a", **COMBINED | {"log.dirs": "/data/d1"}),
            *racks()[1:3],
            source(0.97, 10 * MB, is_metadata_dir=True),
            *FULL_OTHERS,
            *BIG,
            to="saturated",
        ),
        order=("demote_leaders", "expand_disk", "lower_retention"),
        ready=("lower_retention",),
        says=("broker 1 halts when /data/d1 is full",),
    ),
    Advice(
        "the directory of the metadata log alone fills: there is nothing of topics to move or cut",
        given(
            *racks()[:3],
            disk(1, "/data/d0", 0.9, growth=5 * MB, is_metadata_dir=True, unaccounted_bytes=int(3.5 * TIB)),
            disk(1, "/data/d1", 0.3),
            *FULL_OTHERS,
            *BIG,
            path="/data/d0",
        ),
        order=("investigate", "expand_disk"),
        lossless=True,
        says=("broker 1 halts when /data/d0 is full", "explained by no replica"),
    ),
    Advice(
        "every replica is needed for writes, and there is room beside it: a copy first takes none away",
        given(
            *racks(),
            source(),
            ROOM,
            *FULL_OTHERS,
            topic("pay", (1, 2), configs={"min.insync.replicas": "2"}),
            *copies("pay", 1100 * GIB, 1, 2),
        ),
        first="move_log_dir",
        lossless=True,
    ),
    Advice(
        "so it is where only another broker has the room",
        given(
            *racks(),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.2),
            topic("pay", (1, 2), configs={"min.insync.replicas": "2"}),
            *copies("pay", 1100 * GIB, 1, 2),
        ),
        first="reassign",
        lossless=True,
    ),
    Advice(
        "half of the brokers are cordoned, and have the room",
        given(
            *racks(),
            broker(5, rack="b"),
            broker(6, rack="c"),
            source(),
            *FULL_OTHERS,
            *(disk(number, "/data/d1", 0.2, is_cordoned=True) for number in (4, 5, 6)),
            *BIG,
            metadata_version="4.3-IV0",
        ),
        first="uncordon_log_dir",
        lossless=True,
    ),
    Advice(
        "of two cordoned brokers with room the one is opened that is not about to be stopped",
        given(
            *racks(),
            broker(5, rack="a"),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.1, is_cordoned=True),
            disk(5, "/data/d1", 0.2, is_cordoned=True),
            *BIG,
            may_stop=frozenset({4}),
        ),
        first="uncordon_log_dir",
        says=("uncordon /data/d1 of broker 5",),
    ),
    Advice(
        "two directories of one volume: a move between them frees nothing",
        given(
            *racks(),
            source(volume="v"),
            disk(1, "/data/d2", 0.9, volume="v"),
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.2),
            *BIG,
        ),
        first="reassign",
        never=("move_log_dir",),
        lossless=True,
    ),
    Advice(
        "no byte is free, and it serves still: no cut, no record is deleted",
        given(
            *racks()[:3], replace(source(0.97, 10 * MB), usable_bytes=0), NO_ROOM, *FULL_OTHERS, *BIG, to="saturated"
        ),
        first="throttle_producers",
        never=("lower_retention", "delete_records"),
        says=("has no free byte left, so a retention cut may fail there",),
    ),
    Advice(
        "the group has read nothing yet, an hour is left: producers wait, nothing unread is deleted",
        given(
            *racks()[:3],
            source(0.96, 40 * MB),
            NO_ROOM,
            *FULL_OTHERS,
            topic("big", (1, 2, 3), unread={0: 1.0}),
            *copies("big", 2500 * GIB, 1, 2, 3),
            to="saturated",
        ),
        first="throttle_producers",
        ready=("expand_disk",),
        never=("delete_records",),
        lossless=True,
    ),
    Advice(
        "nobody knows what was read: growth first, and a cut that says so",
        given(
            *racks()[:3],
            source(0.96, 40 * MB),
            NO_ROOM,
            *FULL_OTHERS,
            topic("big", (1, 2, 3), unread=None),
            *copies("big", 2500 * GIB, 1, 2, 3),
            to="saturated",
        ),
        order=("expand_disk", "lower_retention"),
        ready=("lower_retention",),
    ),
    Advice(
        "tiered, and a group far behind: the local copy goes, remote storage has the rest",
        given(
            *racks()[:3],
            source(0.93, 30 * MB),
            NO_ROOM,
            *FULL_OTHERS,
            topic(
                "t",
                (1, 2, 3),
                unread={0: 0.95},
                remote_copy_lag_bytes=0,
                configs={"remote.storage.enable": "true", "local.retention.ms": "-2", "local.retention.bytes": "-2"},
            ),
            *copies("t", 2500 * GIB, 1, 2, 3),
        ),
        first="lower_retention",
        lossless=True,
    ),
    Advice(
        "only the broker's own topics lie there, compacted: the cleaner, then growth",
        given(
            *racks()[:3],
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            topic("__consumer_offsets", (1, 2, 3), is_internal=True, configs=COMPACT),
            *copies("__consumer_offsets", 1100 * GIB, 1, 2, 3),
        ),
        first="investigate",
        ready=("expand_disk",),
        never=("lower_retention", "delete_records"),
        lossless=True,
    ),
    Advice(
        "nobody may touch any topic: the volume grows",
        given(*racks(), source(), ROOM, *FULL_OTHERS, *BIG),
        policy=policy(never_touch=("*",)),
        first="expand_disk",
        never=("move_log_dir", "reassign", "lower_retention"),
        lossless=True,
    ),
    Advice(
        "a name too long for a move inside: to another broker",
        given(
            *racks(),
            source(),
            ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.2),
            topic("x" * 240, (1, 2, 3)),
            *copies("x" * 240, 1100 * GIB, 1, 2, 3),
        ),
        first="reassign",
        never=("move_log_dir",),
        lossless=True,
    ),
    Advice(
        "every other leader's directory is saturated, too: nobody is made to lead there",
        given(
            *racks()[:3],
            source(0.97, 10 * MB),
            NO_ROOM,
            disk(2, "/data/d1", 0.98),
            disk(3, "/data/d1", 0.97),
            *BIG,
            to="saturated",
        ),
        first="expand_disk",
        never=("demote_leaders",),
    ),
    Advice(
        "saturated and suspect, room beside it: away from it, nothing deleted",
        given(
            *racks(),
            source(0.97, 10 * MB, is_suspect=True),
            disk(1, "/data/d2", 0.2),
            *FULL_OTHERS,
            *BIG,
            to="saturated",
        ),
        first="move_log_dir",
        lossless=True,
    ),
    Advice(
        "20 TiB, saturated by what is free: moves in waves, in time",
        given(
            *racks()[:3],
            source(0.981, 20 * MB, total=20 * TIB),
            disk(1, "/data/d2", 0.3, total=20 * TIB),
            *(disk(number, "/data/d1", 0.84, total=20 * TIB) for number in (2, 3)),
            topic("big", *[(1, 2, 3)] * 10),
            *(replica(number, "/data/d1", "big", part, 1900 * GIB) for number in (1, 2, 3) for part in range(10)),
            to="saturated",
        ),
        first="move_log_dir",
        lossless=True,
    ),
    Advice(
        "its broker does not answer: only a look",
        given(
            broker(1, BrokerStatus.UNKNOWN, "a"),
            *racks()[1:],
            disk(1, "/data/d1", 0.9, growth=5 * MB, status=LogDirStatus.UNKNOWN),
            disk(1, "/data/d2", 0.2),
            *SOUND,
            *BIG,
        ),
        first="investigate",
        never=("move_log_dir", "reassign", "lower_retention"),
    ),
    Advice(
        "the whole cluster fills with ledgers and compacted topics: nothing of them is deleted",
        about(
            Rule.FLEET_SPACE,
            *racks()[:3],
            *(disk(number, "/data/d1", 0.9, growth=5 * MB) for number in (1, 2, 3)),
            topic("ledger", (1, 2, 3), configs=UNLIMITED, overridden=FOR_EVER),
            topic("kv", (1, 2, 3), configs=COMPACT),
            *copies("ledger", 1700 * GIB, 1, 2, 3),
            *copies("kv", 1700 * GIB, 1, 2, 3),
            number=None,
            to="filling",
            severity=Severity.WARNING,
        ),
        first="investigate",
        lossless=True,
        says=("ledger keeps 5 TiB for ever on purpose", "1.2 TiB more on volumes and disks"),
    ),
]

FAILURES = [
    Advice(
        "a dying disk of a broker with ZooKeeper: nothing of KRaft's tools is named",
        lost(
            Cause.FAILED,
            *racks()[1:],
            *SOUND,
            topic("o", (1, 2, 3), isr={0: (2, 3)}),
            *copies("o", 300 * GIB, 1, 2, 3),
            evidence=DYING,
            **{"process.roles": ""},
        ),
        order=("reassign", "replace_disk"),
        never=("restart_broker",),
        never_says=("kafka-storage", "metadata-quorum"),
    ),
    Advice(
        "what has other copies and what has none on one dying disk: rebuilt, saved, and only then replaced",
        lost(
            Cause.FAILED,
            *racks()[1:],
            *SOUND,
            topic("one", (1,), leaderless=(0,), configs=RF_1),
            topic("o", (1, 2, 3), isr={0: (2, 3)}),
            replica(1, "/data/d1", "one", 0, 300 * GIB),
            *copies("o", 300 * GIB, 1, 2, 3),
            evidence=DYING,
        ),
        order=("reassign", "investigate", "replace_disk"),
        never=("restart_broker", "elect_leaders"),
    ),
    Advice(
        "the last in-sync copy dies and a stale one lives: saved first, nobody is elected",
        lost(
            Cause.FAILED,
            *racks()[1:],
            *SOUND,
            topic("o", (1, 2), leaderless=(0,), isr={0: (1,)}),
            *copies("o", 300 * GIB, 1, 2),
            evidence=DYING,
        ),
        order=("investigate", "replace_disk"),
        first="investigate",
        never=("elect_leaders", "restart_broker"),
    ),
    Advice(
        "the metadata directory of a controller dies while the broker is down: a new disk before a start",
        about(
            Rule.LOG_DIR_OFFLINE,
            broker(1, BrokerStatus.OFFLINE, "a", **COMBINED),
            *racks()[1:],
            offline(1, "/data/d0", is_metadata_dir=True, total=4 * TIB, used=2 * TIB),
            disk(1, "/data/d1", 0.3, status=LogDirStatus.UNKNOWN),
            *SOUND,
            topic("o", (1, 2, 3), isr={0: (2, 3)}),
            replica(1, "/data/d0", "o", 0, 300 * GIB),
            *copies("o", 300 * GIB, 2, 3),
            log_dir="/data/d0",
            to="offline",
            evidence=DYING,
        ),
        ready=("replace_disk",),
        never=("restart_broker",),
    ),
    Advice(
        "every replica is needed for writes and nobody knows why it is offline: look, no restart unasked",
        lost(
            Cause.UNKNOWN,
            *racks()[1:],
            *SOUND,
            topic("z", (1, 2, 3), configs={"min.insync.replicas": "3"}),
            replica(1, "/data/d0", "z", 0, 9 * GIB),
            *copies("z", 9 * GIB, 2, 3),
        ),
        first="investigate",
        vetoes={"restart_broker": ("under_min_isr_after",)},
    ),
    Advice(
        "a limit of the only broker, which has the only copy of another topic: raised, no restart unasked",
        lost(
            Cause.LIMIT,
            topic("one", (1,), leaderless=(0,), configs=RF_1),
            topic("two", (1,), configs=RF_1),
            replica(1, "/data/d1", "one", 0, 9 * GIB),
            replica(1, "/data/d0", "two", 0, 9 * GIB),
            **ALONE,
        ),
        first="raise_limit",
        vetoes={"restart_broker": ("last_in_sync_replica",)},
    ),
    Advice(
        "a dying disk below the only copy, in a cluster of one broker whose other directory is cordoned",
        about(
            Rule.LOG_DIR_SUSPECT,
            broker(1, rack="a"),
            disk(1, "/data/d1", 0.4, is_suspect=True),
            disk(1, "/data/d2", 0.1, is_cordoned=True),
            topic("one", (1,), configs=RF_1),
            replica(1, "/data/d1", "one", 0, 300 * GIB),
            log_dir="/data/d1",
            evidence={"why": ["medium_error"]},
        ),
        first="investigate",
        never=("uncordon_log_dir",),
        lossless=True,
        says=("would help: uncordon /data/d2 of broker 1, if the owner of the cordon agrees",),
    ),
    Advice(
        "a suspect disk leads, and the follower is out of sync: it is not made to lead",
        about(
            Rule.LOG_DIR_SUSPECT,
            *racks(),
            disk(1, "/data/d1", 0.4, is_suspect=True),
            *SOUND,
            topic("o", (1, 2), isr={0: (1,)}),
            *copies("o", 300 * GIB, 1, 2),
            log_dir="/data/d1",
            evidence={"why": ["medium_error"]},
        ),
        never=("demote_leaders",),
        lossless=True,
    ),
    Advice(
        "a broker halted within one poll, its only directory at 99.8 %: room before the start",
        about(
            Rule.BROKER_OFFLINE,
            broker(1, BrokerStatus.OFFLINE, "a", **COMBINED),
            *racks()[1:],
            disk(1, "/data/d1", 0.989, status=LogDirStatus.UNKNOWN, is_metadata_dir=True),
            *SOUND,
            topic("o", (1, 2, 3), isr={0: (2, 3)}),
            *copies("o", 900 * GIB, 1, 2, 3),
            to="offline",
        ),
        order=("expand_disk", "investigate", "restart_broker"),
        first="expand_disk",
        says=("make room in /data/d1 first, or it halts again",),
    ),
    Advice(
        "a broker is away whose large directory has 300 GiB left: that is not why it halted",
        about(
            Rule.BROKER_OFFLINE,
            broker(1, BrokerStatus.OFFLINE, "a"),
            *racks()[1:],
            disk(1, "/data/d1", 0.98, total=20 * TIB, status=LogDirStatus.UNKNOWN),
            *SOUND,
            topic("o", (1, 2, 3), isr={0: (2, 3)}),
            *copies("o", 900 * GIB, 1, 2, 3),
            to="offline",
        ),
        first="restart_broker",
        never=("expand_disk",),
    ),
    Advice(
        "two brokers away for an hour: each is started, the other does not hinder it",
        about(
            Rule.BROKER_OFFLINE,
            *gone(1, "a"),
            *gone(2, "b"),
            *racks()[2:],
            *SOUND[1:],
            topic("o", (1, 2, 3), isr={0: (3,)}, configs={"min.insync.replicas": "2"}),
            *copies("o", 900 * GIB, 1, 2, 3),
            to="offline",
            opened_at_ms=NOW_MS - HOUR_MS,
        ),
        first="restart_broker",
        ready=("restart_broker",),
    ),
    Advice(
        "the only copy of the transactions is on a broker that is away: it is named, nobody is elected",
        about(
            Rule.PARTITIONS_AT_RISK,
            *gone(1, "a"),
            *racks()[1:],
            *SOUND,
            topic("__transaction_state", (1,), leaderless=(0,), isr={0: (1,)}, is_internal=True, configs=COMPACT),
            replica(1, "/data/d1", "__transaction_state", 0, GIB),
            number=None,
            to="leaderless",
        ),
        first="investigate",
        never=("elect_leaders",),
        says=("broker 1 brings most back",),
    ),
    Advice(
        "an hour without a leader, and its broker only does not answer: nobody stale is elected",
        unled(broker(1, BrokerStatus.UNKNOWN, "a"), disk(1, "/data/d1", 0.4, status=LogDirStatus.UNKNOWN)),
        first="investigate",
        never=("elect_leaders",),
        vetoes={"elect_leaders": ("data_may_be_intact",)},
    ),
    Advice(
        "so it is where the broker is away as planned",
        unled(
            replace(broker(1, BrokerStatus.OFFLINE, "a"), maintenance_until_ms=NOW_MS + HOUR_MS),
            disk(1, "/data/d1", 0.4, status=LogDirStatus.UNKNOWN),
        ),
        first="investigate",
        never=("elect_leaders",),
    ),
    Advice(
        "so it is where the broker is fenced",
        unled(replace(broker(1, rack="a"), is_fenced=True), disk(1, "/data/d1", 0.4)),
        first="investigate",
        never=("elect_leaders",),
    ),
    Advice(
        "and where a limit took its directory offline: a restart brings all of it back",
        unled(broker(1, rack="a"), offline(1, "/data/d1", Cause.LIMIT), disk(1, "/data/d0", 0.3)),
        first="investigate",
        never=("elect_leaders",),
        vetoes={"elect_leaders": ("data_may_be_intact",)},
    ),
    Advice(
        "the disk failed, an hour has passed: the election is offered last, and called a loss",
        unled(broker(1, rack="a"), offline(1, "/data/d1", Cause.FAILED), disk(1, "/data/d0", 0.3)),
        order=("investigate", "elect_leaders"),
        ready=("elect_leaders",),
    ),
    Advice(
        "so it is where the broker is gone",
        unled(*gone(1, "a")),
        order=("investigate", "elect_leaders"),
        ready=("elect_leaders",),
    ),
    Advice(
        "a directory is suddenly on the root disk: nothing is moved, cut or grown",
        about(
            Rule.LOG_DIR_CHANGED,
            *racks(),
            disk(1, "/data/d1", 0.4),
            *SOUND,
            *BIG,
            log_dir="/data/d1",
            evidence={"changed": "root_volume"},
        ),
        first="investigate",
        never=("move_log_dir", "reassign", "lower_retention", "expand_disk"),
    ),
    Advice(
        "unequal directories, the emptiest of which are cordoned or suspect",
        about(
            Rule.LOG_DIR_IMBALANCE,
            *racks(),
            disk(1, "/data/d1", 0.7),
            disk(1, "/data/d2", 0.2, is_cordoned=True),
            disk(1, "/data/d3", 0.2, is_suspect=True),
            *SOUND,
            *BIG,
            severity=Severity.INFO,
        ),
        first="investigate",
        never=("move_log_dir", "uncordon_log_dir"),
    ),
]


@pytest.mark.parametrize("row", [*LIMITS, *RUNNING, *SPACE, *FAILURES], ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)


@pytest.mark.parametrize(
    ("leaving", "fields"),
    [
        ([], {"may_stop": frozenset({4})}),
        ([], {"stopping": frozenset({4})}),
        ([replace(broker(4, rack="a"), maintenance_until_ms=NOW_MS + HOUR_MS)], {}),
    ],
    ids=["by an action that is proposed", "by one that is accepted", "by its planned maintenance"],
)
def test_what_is_moved_goes_to_a_broker_that_stays_up_or_waits(leaving, fields):
    parts = [*racks(), source(), NO_ROOM, *FULL_OTHERS, disk(4, "/data/d1", 0.2), *BIG, *leaving]
    staying = [broker(5, rack="a"), disk(5, "/data/d1", 0.4)]

    def moved_to(*more, **fields):
        (found,) = (one for one in check_advice(Advice("", given(*parts, *more, **fields))) if one.kind == "reassign")
        waits = [one["holds"] for one in found.preconditions if one["name"] == "destinations_stay"]
        return found.reassignment["partitions"][0]["replicas"][0], waits

    assert moved_to(*staying, **fields) == (5, [])
    assert moved_to(**fields) == (4, [False])


def fills(number=1, path="/data/d1", to="critical"):
    severity = Severity.PAGE if to == "saturated" else Severity.CRITICAL
    return space_alert(to, number=number, log_dir=path, severity=severity, alert_id=f"{number}{path}")


def remedies(alerts, *parts, limits=None, **fields):
    return fix(alerts, [], facts(*parts, **fields), limits or policy(), NOW_MS).remedies


def moved(remedy):
    plans = (action.reassignment or {"partitions": []} for action in remedy.actions)
    return [(entry["topic"], entry["partition"]) for plan in plans for entry in plan["partitions"]]


class TestSeveralAlerts:
    def test_two_directories_with_the_same_partitions_are_both_relieved_and_each_moves_once(self):
        parts = [topic("x", (1, 2, 3), (1, 2, 3)), *copies("x", 900 * GIB, 1, 2, 3)]
        parts += [*copies("x", 900 * GIB, 1, 2, 3, partition=1), *(broker(number) for number in range(1, 6))]
        disks = [source(), disk(2, "/data/d1", 0.9, growth=5 * MB), *(disk(n, "/data/d1", 0.3) for n in (3, 4, 5))]
        found = remedies([fills(1), fills(2)], *parts, *disks)
        assert sorted(key for remedy in found for key in moved(remedy)) == [("x", 0), ("x", 1)]
        assert [remedy.missing_bytes for remedy in found] == [0, 0]

    def test_a_suspect_disk_of_another_alert_takes_nothing(self):
        suspect = alert(
            Rule.LOG_DIR_SUSPECT, log_dir="/data/d2", to=None, alert_id="s", evidence={"why": ["medium_error"]}
        )
        parts = [*racks(), source(), disk(1, "/data/d2", 0.2), *FULL_OTHERS, disk(4, "/data/d1", 0.3), *BIG]
        found = remedies([fills(), suspect], *parts)
        assert kinds(found[0].actions) == ["reassign"]

    def test_where_all_of_a_cluster_fills_a_topic_is_cut_once(self):
        fleet = alert(
            Rule.FLEET_SPACE, number=None, log_dir=None, to="filling", alert_id="f", severity=Severity.WARNING
        )
        disks = [disk(number, "/data/d1", 0.96, growth=30 * MB) for number in (1, 2, 3)]
        found = remedies([*(fills(n, to="saturated") for n in (1, 2, 3)), fleet], *racks()[:3], *disks, *TWO)
        cuts = [
            str(action.target["topic"]) for remedy in found for action in remedy.actions if "topic" in action.target
        ]
        assert sorted(cuts) == sorted(set(cuts))

    def test_twenty_minutes_left_and_history_kept_for_ever_the_brake_first_and_what_is_missing_is_told(self):
        ledger = [plain("big", (1, 2, 3), configs=UNLIMITED, overridden=FOR_EVER), *copies("big", 3000 * GIB, 1, 2, 3)]
        parts = [*racks(), source(0.985, 50 * MB), ROOM, *FULL_OTHERS, *ledger]
        (remedy,) = remedies([fills(to="saturated")], *parts, limits=SLOW)
        assert kinds(remedy.actions) == ["throttle_producers", "demote_leaders", "expand_disk"]
        assert remedy.missing_bytes
        assert remedy.full_in_ms

    def test_what_its_volume_cannot_grow_by_is_given_by_one_more_directory(self):
        parts = [*racks(), source(0.88, 1.5 * MB), NO_ROOM, *FULL_OTHERS, *TWO]
        for most, right in ((4 * TIB, ["add_log_dir"]), (int(4.4 * TIB), ["expand_disk", "add_log_dir"])):
            (remedy,) = remedies([fills()], *parts, limits=policy(log_dirs=[LogDirRule(max_bytes=most)]))
            assert kinds(remedy.actions) == right

    def test_a_cordon_comes_before_the_moves_that_empty_its_directory(self):
        listed = broker(1, rack="a", **{"log.dirs": "/data/d1,/data/d2", "cordoned.log.dirs": ""})
        parts = [listed, *racks()[1:], source(is_cordoned=False), ROOM, *FULL_OTHERS, *BIG]
        (remedy,) = remedies([fills()], *parts, metadata_version="4.3-IV0")
        assert kinds(remedy.actions) == ["cordon_log_dir", "move_log_dir"]
