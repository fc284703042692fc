"""Directories that fill: what saves them in time, what comes first, and that nothing is lost for nothing."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, Severity
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.builders import (
    NOW_MS,
    broker,
    directory,
    facts,
    moving,
    policy,
    replica,
    slowly,
    space_alert,
    topic,
)
from tests.unit.situations.table import Advice, check_advice

MB, GIB, TIB = 10**6, 1 << 30, 1 << 40
HOUR_MS = 3_600_000
PLAIN = {"retention.ms": str(7 * 24 * HOUR_MS), "segment.bytes": str(GIB)}
COMPACT = {"cleanup.policy": "compact"}
LIMIT = "follower.replication.throttled.rate"


def disk(number, path, ratio, *, growth=None, total=4 * TIB, **fields):
    """A directory with its status by its ratio; no two look like one volume."""
    used = int(total * ratio) + number * 7 * GIB + sum(map(ord, path)) % 50 * GIB
    levels = [(0.95, LogDirStatus.SATURATED), (0.85, LogDirStatus.CRITICAL), (0.75, LogDirStatus.FILLING)]
    status = next((level for least, level in levels if used >= least * total), LogDirStatus.ONLINE)
    return directory(number, path, used, **({"total": total, "status": status, "growth_bytes_per_s": growth} | fields))


def plain(name, *assignments, configs=None, **fields):
    return topic(name, *assignments, configs=PLAIN | (configs or {}), unread={}, **fields)


def copies(name, size, *brokers, partition=0, path="/data/d1"):
    return [replica(number, path, name, partition, size) for number in brokers]


def racks(**fields):
    return [broker(1, rack="a", **fields), broker(2, rack="b"), broker(3, rack="c"), broker(4, rack="a")]


def given(*parts, to="critical", path="/data/d1", **fields):
    severity = Severity.PAGE if to == "saturated" else Severity.CRITICAL
    return lambda: (space_alert(to, log_dir=path, severity=severity), facts(*parts, **fields))


def source(ratio=0.9, growth=5 * MB, **fields):
    return disk(1, "/data/d1", ratio, growth=growth, **fields)


FULL_OTHERS = [disk(number, "/data/d1", 0.84) for number in (2, 3)]
BIG = [plain("big", (1, 2, 3)), *copies("big", 1100 * GIB, 1, 2, 3)]
TWO = [*BIG, plain("pay", (1, 2, 3)), *copies("pay", 600 * GIB, 1, 2, 3)]
ROOM = disk(1, "/data/d2", 0.3)
NO_ROOM = disk(1, "/data/d2", 0.86)
SLOW_DISK = policy(disk_bandwidth_bytes_per_s=60 * MB)
SLOW = policy(disk_bandwidth_bytes_per_s=60 * MB, network_bandwidth_bytes_per_s=60 * MB)
GROWS_IN_6_H = policy(log_dirs=[LogDirRule(growing_takes_ms=6 * HOUR_MS, max_bytes=16 * TIB)])
RESERVE = policy(log_dirs=[LogDirRule(reserve_file="reserve", reserve_bytes=600 * GIB)])

IN_TIME = [
    Advice(
        "room beside it, a day left: a move and no loss",
        given(*racks(), source(), ROOM, *FULL_OTHERS, *BIG),
        first="move_log_dir",
        never=("lower_retention", "expand_disk"),
        lossless=True,
    ),
    Advice(
        "room beside it, three hours left: the move at the rate that is in time, which is named",
        given(*racks(), source(0.97, 10 * MB), ROOM, *FULL_OTHERS, *BIG, to="saturated"),
        first="move_log_dir",
        lossless=True,
        says=("which its disks must sustain (the usual limit is 47.7 MiB/s)",),
        never_says=("too late",),
    ),
    Advice(
        "two that do not fit beside it: one inside, one to another broker, both in time",
        given(*racks(), source(0.97, 10 * MB), disk(1, "/data/d2", 0.5), *FULL_OTHERS, disk(4, "/data/d1", 0.3), *TWO),
        order=("move_log_dir", "reassign"),
        lossless=True,
    ),
    Advice(
        "a hundred TB at 150 MB/s of growth: not the usual 50 MB/s",
        given(
            *racks(),
            source(0.9, 150 * MB, total=100 * TIB),
            disk(1, "/data/d2", 0.4, total=100 * TIB),
            *(plain(f"x{n}", (1, 2, 3)) for n in range(45)),
            *(one for n in range(45) for one in copies(f"x{n}", 2 * TIB, 1)),
            *(disk(number, "/data/d1", 0.5, total=100 * TIB) for number in (2, 3)),
        ),
        first="move_log_dir",
        lossless=True,
        says=("at 476.8 MiB/s",),
    ),
    Advice(
        "the only broker with room is another one",
        given(*racks(), source(), NO_ROOM, *FULL_OTHERS, disk(4, "/data/d1", 0.3), *BIG),
        first="reassign",
        lossless=True,
    ),
    Advice(
        "a broker with one directory that holds the metadata log: it halts when that fills",
        given(*racks(), source(0.88, 4 * MB, is_metadata_dir=True), *FULL_OTHERS, disk(4, "/data/d1", 0.4), *BIG),
        first="reassign",
        lossless=True,
        says=("broker 1 halts when /data/d1 is full: it holds the metadata log",),
    ),
    Advice(
        "the last directory that serves: the broker halts, too",
        given(
            *racks(),
            source(0.88, 4 * MB, is_metadata_dir=False),
            disk(1, "/data/d2", 0.3, status=LogDirStatus.OFFLINE),
            *FULL_OTHERS,
            *BIG,
        ),
        says=("broker 1 halts when /data/d1 is full: no other log directory of it serves",),
    ),
    Advice(
        "a directory beside others that serve: nobody says that the broker halts",
        given(*racks(), source(is_metadata_dir=False), ROOM, *FULL_OTHERS, *BIG),
        never_says=("halts when",),
    ),
    Advice(
        "three hours left and a slow disk: the small one first, in whose time the large one is",
        given(
            *racks(),
            source(0.97, 10 * MB),
            ROOM,
            *FULL_OTHERS,
            *BIG,
            plain("small", (1, 2, 3)),
            *copies("small", 300 * GIB, 1, 2, 3),
        ),
        first="move_log_dir",
        lossless=True,
        policy=SLOW_DISK,
        says=("in 2 waves, so that the first is free sooner",),
    ),
]

NOT_IN_TIME = [
    Advice(
        "full in twenty minutes, only retention helps: as much as is needed, growing the volume offered before",
        given(*racks(), source(0.955, 120 * MB), NO_ROOM, *FULL_OTHERS, *TWO, to="saturated"),
        first="throttle_producers",
        order=("throttle_producers", "demote_leaders", "expand_disk", "lower_retention"),
        ready=("lower_retention",),
    ),
    Advice(
        "a move that is late: growth first, the cut that wins its time, then the move, called late",
        given(*racks(), source(0.97, 10 * MB), ROOM, *FULL_OTHERS, *BIG, to="saturated"),
        order=("expand_disk", "lower_retention", "move_log_dir"),
        policy=SLOW,
        says=("too late: in time it needs more than",),
        never_says=("(enough)",),
    ),
    Advice(
        "a volume that grows in six hours, a day left: nothing is lost",
        given(*racks(), source(), NO_ROOM, *FULL_OTHERS, *TWO),
        first="expand_disk",
        lossless=True,
        policy=GROWS_IN_6_H,
        says=("it takes 6 h", "so that is in time"),
    ),
    Advice(
        "a volume that grows in six hours, three left: begun at once, and a cut that lasts until then",
        given(*racks(), source(0.97, 10 * MB), NO_ROOM, *FULL_OTHERS, *TWO, to="saturated"),
        order=("expand_disk", "lower_retention"),
        policy=GROWS_IN_6_H,
        says=("start now, the following actions gain the time",),
    ),
    Advice(
        "a reserve that wins enough: nothing of anybody's is deleted",
        given(*racks(), source(0.97, 10 * MB, unaccounted_bytes=700 * GIB), NO_ROOM, *FULL_OTHERS, *TWO),
        first="release_reserve",
        order=("release_reserve", "expand_disk"),
        lossless=True,
        policy=RESERVE,
    ),
    Advice(
        "nothing is in time: the brake comes before what is late",
        given(*racks(), source(0.97, 450 * MB), NO_ROOM, *FULL_OTHERS, *TWO, to="saturated"),
        first="throttle_producers",
        order=("throttle_producers", "demote_leaders", "expand_disk", "lower_retention"),
    ),
    Advice(
        "time enough and no room anywhere: a bigger volume, and no loss while it only fills",
        given(*racks(), source(0.78, 2 * MB), NO_ROOM, *FULL_OTHERS, *TWO, to="filling"),
        first="expand_disk",
        lossless=True,
    ),
    Advice(
        "nobody knows when it is full, and it only fills: no loss",
        given(*racks(), source(0.8, None), NO_ROOM, *FULL_OTHERS, *TWO, to="filling"),
        first="expand_disk",
        lossless=True,
    ),
    Advice(
        "the volume is as large as it can be: one more directory before a cut",
        given(*racks(), source(), NO_ROOM, *FULL_OTHERS, *TWO),
        order=("add_log_dir", "lower_retention"),
        vetoes={"expand_disk": ("volume_at_maximum",)},
        policy=policy(log_dirs=[LogDirRule(max_bytes=4 * TIB)]),
    ),
    Advice(
        "saturated and nothing that loses nothing is in time: leaders off first, it takes fewer away",
        given(
            *racks(), source(0.97, 10 * MB), NO_ROOM, disk(2, "/data/d1", 0.7), *FULL_OTHERS[1:], *BIG, to="saturated"
        ),
        first="demote_leaders",
        order=("demote_leaders", "expand_disk", "lower_retention"),
    ),
    Advice(
        "saturated, and it shrinks: nothing is deleted",
        given(*racks(), source(0.97, -5 * MB), NO_ROOM, *FULL_OTHERS, *TWO, to="saturated"),
        order=("demote_leaders", "expand_disk"),
        lossless=True,
    ),
    Advice(
        "saturated with a move in time: that saves it, so it comes before the leaders",
        given(
            *racks(),
            source(0.97, 10 * MB),
            ROOM,
            *(disk(number, "/data/d1", 0.5) for number in (2, 3)),
            *TWO,
            plain("tiny", (1, 2, 3)),
            *copies("tiny", GIB, 1, 2, 3),
            to="saturated",
        ),
        order=("move_log_dir", "demote_leaders"),
        lossless=True,
    ),
]

CLOSED_ROOM = [
    Advice(
        "the only room is cordoned, in the broker itself",
        given(*racks(), source(), disk(1, "/data/d2", 0.1, is_cordoned=True), *FULL_OTHERS, *BIG),
        first="uncordon_log_dir",
        lossless=True,
        says=("uncordon /data/d2 of broker 1, 89.",),
    ),
    Advice(
        "the only room is cordoned, on another broker",
        given(*racks(), source(), NO_ROOM, *FULL_OTHERS, disk(4, "/data/d1", 0.1, is_cordoned=True), *BIG),
        first="uncordon_log_dir",
        lossless=True,
        says=("uncordon /data/d1 of broker 4, 89.",),
    ),
    Advice(
        "cordoned room whose disk is suspect stays closed",
        given(*racks(), source(), disk(1, "/data/d2", 0.1, is_cordoned=True, is_suspect=True), *FULL_OTHERS, *BIG),
        never=("uncordon_log_dir",),
    ),
    Advice(
        "cordoned room that the configuration keeps out stays closed",
        given(*racks(), source(), disk(1, "/data/d2", 0.1, is_cordoned=True, is_marked=True), *FULL_OTHERS, *BIG),
        never=("uncordon_log_dir",),
    ),
    Advice(
        "cordoned room that cannot be filled in time saves nothing by itself",
        given(*racks(), source(0.97, 10 * MB), disk(1, "/data/d2", 0.1, is_cordoned=True), *FULL_OTHERS, *BIG),
        order=("uncordon_log_dir", "lower_retention"),
        policy=SLOW,
    ),
    Advice(
        "open room is used, cordoned room left alone",
        given(*racks(), source(), ROOM, disk(1, "/data/d3", 0.1, is_cordoned=True), *FULL_OTHERS, *BIG),
        first="move_log_dir",
        never=("uncordon_log_dir",),
        lossless=True,
    ),
    Advice(
        "the only room is on a fenced broker: bring it back, grow, and only then lose",
        given(
            *racks()[:3],
            replace(broker(4, rack="a"), is_fenced=True),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.1),
            *BIG,
        ),
        order=("expand_disk", "investigate", "lower_retention"),
        never=("reassign",),
        says=("bring broker 4 back, it is fenced",),
        vetoes={"lower_retention": ("lossless_first",)},
        lossless=True,
    ),
    Advice(
        "the only room is on a stopped broker whose directories nobody sees",
        given(
            *racks()[:3],
            broker(4, BrokerStatus.OFFLINE, rack="a"),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.1, status=LogDirStatus.UNKNOWN),
            *BIG,
        ),
        order=("expand_disk", "investigate", "lower_retention"),
        says=("bring broker 4 back, it is offline",),
    ),
    Advice(
        "the only room is on a fenced broker, and under somebody's limit no copy would get there",
        given(
            *racks()[:3],
            replace(broker(4, rack="a", **{"follower.replication.throttled.rate": "1000"}), is_fenced=True),
            source(),
            NO_ROOM,
            *FULL_OTHERS,
            disk(4, "/data/d1", 0.1),
            *BIG,
            growth=slowly(*BIG, rate=5e6),
        ),
        never_says=("bring broker 4 back",),
    ),
]


def limited_by_others(ratio=0.97, growth=10 * MB, *, path=None, **limits):
    """The only room is on broker 4, whose limits somebody set, or in the broker itself."""
    own = racks()[0] if path is None else broker(1, rack="a", **limits)
    there = racks() if path else [*racks()[:3], broker(4, rack="a", **limits)]
    room = disk(1, "/data/d2", 0.1) if path else NO_ROOM
    other = disk(4, "/data/d1", 0.1 if path is None else 0.84)
    return given(own, *there[1:], source(ratio, growth), room, *FULL_OTHERS, other, *BIG)


OF_OTHERS = [
    Advice(
        "somebody's limit where copies arrive makes the move late: they are asked to raise it, and nothing is deleted",
        limited_by_others(**{LIMIT: "7000000"}),
        first="investigate",
        order=("investigate", "reassign"),
        vetoes={"lower_retention": ("lossless_first",)},
        never=("clear_throttles", "throttle_producers"),
        lossless=True,
        says=(
            "ask those who set the limit to raise",
            "follower.replication.throttled.rate=6.7 MiB/s of broker 4 to at least",
            "too late: in time it needs more than",
        ),
        never_says=("--delete-config follower", "--add-config follower"),
    ),
    Advice(
        "so it is with the limit of moves inside the broker",
        limited_by_others(path="/data/d2", **{"replica.alter.log.dirs.io.max.bytes.per.second": "7000000"}),
        order=("demote_leaders", "investigate", "lower_retention"),
        vetoes={"lower_retention": ("lossless_first",)},
        lossless=True,
        says=("to raise replica.alter.log.dirs.io.max.bytes.per.second=6.7 MiB/s of broker 1 to at least",),
    ),
    Advice(
        "a limit under which the move is in time is nobody's business",
        limited_by_others(0.9, 5 * MB, **{LIMIT: "40000000"}),
        first="reassign",
        lossless=True,
        never_says=("ask those who set the limit",),
    ),
    Advice(
        "where no rate is in time nobody is asked",
        limited_by_others(0.97, 450 * MB, **{LIMIT: "7000000"}),
        ready=("lower_retention",),
        never_says=("ask those who set the limit",),
    ),
    Advice(
        "where little time is left to ask the cut is ready, too",
        limited_by_others(0.97, 30 * MB, **{LIMIT: "7000000"}),
        ready=("investigate", "lower_retention"),
        order=("investigate", "lower_retention"),
        says=("ask those who set the limit",),
    ),
]


def leaving(copied=100 * GIB, **fields):
    """The reassignment of 1.5 TiB from broker 1 to 4, on which ``copied`` are there."""
    runs = moving(plain("orders", (1, 2, 3, 4), isr={0: (1, 2, 3)}), adding=(4,), removing=(1,))
    there = [
        disk(4, "/data/d1", 0.3),
        *copies("orders", 1500 * GIB, 1, 2, 3),
        replica(4, "/data/d1", "orders", 0, copied),
    ]
    return [broker(1, rack="a"), broker(2, rack="b"), broker(3, rack="c"), broker(4, rack="a", **fields), runs, *there]


def coming(incoming=1400 * GIB):
    """A reassignment that brings 1.5 TiB to broker 1."""
    runs = moving(plain("inc", (2, 3, 4, 1), isr={0: (2, 3, 4)}), adding=(1,), removing=(4,))
    there = [disk(4, "/data/d1", 0.3), *copies("inc", 1500 * GIB, 2, 3, 4), replica(1, "/data/d1", "inc", 0, 100 * GIB)]
    return [*racks(), source(0.8, 5 * MB, incoming_bytes=incoming), runs, *there]


RUNNING = [
    Advice(
        "a reassignment that runs relieves it in time: nothing else",
        given(*leaving(), source(), ROOM, *FULL_OTHERS, *BIG),
        first="investigate",
        never=("move_log_dir", "reassign", "lower_retention", "expand_disk"),
        lossless=True,
        says=("moves that run already (orders-0) free 1.5 TiB", "in time and enough"),
    ),
    Advice(
        "it runs under a limit that is too low: that counts for nothing, and the rate that would do is named",
        given(*leaving(**{LIMIT: "1000000"}), source(), ROOM, *FULL_OTHERS, *BIG),
        first="move_log_dir",
        lossless=True,
        says=("moves that run already (orders-0)", "too late", "would be in time"),
    ),
    Advice(
        "it stands still: that counts for nothing",
        given(*leaving(), source(), ROOM, *FULL_OTHERS, *BIG, copied_bytes_per_s={(4, "/data/d1"): 0.0}),
        first="move_log_dir",
        says=("they stand still",),
    ),
    Advice(
        "a copy to another directory of the broker relieves it in time",
        given(
            *racks(), source(), ROOM, *FULL_OTHERS, *BIG, replica(1, "/data/d2", "big", 0, 900 * GIB, is_future=True)
        ),
        first="investigate",
        never=("move_log_dir", "reassign", "lower_retention", "expand_disk"),
        says=("moves that run already (big-0) free 1.1 TiB",),
    ),
    Advice(
        "moves that come and do not fit end first; that is enough to need no loss",
        given(*coming(), disk(1, "/data/d2", 0.3), *FULL_OTHERS, *BIG, to="filling"),
        first="cancel_moves",
        lossless=True,
    ),
    Advice(
        "saturated, and moves come that do not fit: their end comes before any change of leaders",
        given(
            *coming(),
            source(0.96, 1 * MB, incoming_bytes=1400 * GIB),
            NO_ROOM,
            *(disk(number, "/data/d1", 0.84) for number in (2, 3, 4)),
            *BIG,
            to="saturated",
        ),
        first="cancel_moves",
        order=("cancel_moves", "demote_leaders"),
    ),
    Advice(
        "moves that come and do not fit, and no room: after their end no loss while days are left",
        given(*coming(), NO_ROOM, *FULL_OTHERS, *BIG, to="filling"),
        first="cancel_moves",
        lossless=True,
    ),
]


def compacted(*parts, ratio=0.9, growth=6 * MB):
    made = [plain(f"kv{n}", (1, 2, 3), configs=COMPACT) for n in range(5)]
    there = [one for n in range(5) for one in copies(f"kv{n}", 700 * GIB, 1, 2, 3)]
    return [*racks(), source(ratio, growth), *made, *there, *parts]


OTHERS = [
    Advice(
        "compacted topics only: look at the cleaner, then grow; no brake that wins nothing",
        given(*compacted(NO_ROOM, *FULL_OTHERS)),
        first="investigate",
        order=("investigate", "expand_disk"),
        never=("throttle_producers", "lower_retention"),
        says=("look whether the log cleaner of broker 1 works", "DeadThreadCount"),
    ),
    Advice(
        "compacted topics with room beside: the look, and the move",
        given(*compacted(ROOM, *FULL_OTHERS)),
        order=("investigate", "move_log_dir"),
        lossless=True,
    ),
    Advice(
        "compacted topics and half an hour left: first what saves it",
        given(*compacted(disk(1, "/data/d2", 0.1), *FULL_OTHERS, ratio=0.97, growth=40 * MB), to="saturated"),
        first="move_log_dir",
        order=("move_log_dir", "investigate"),
    ),
    Advice(
        "segments too large to cut, six hours left: a brake far above the growth is not advised",
        given(
            *racks(),
            source(0.9, 1 * MB, total=200 * GIB),
            *(disk(number, "/data/d1", 0.84, total=200 * GIB) for number in (2, 3)),
            plain("many", *[(1, 2, 3)] * 100),
            *(one for n in range(100) for one in copies("many", 7 * GIB // 4, 1, 2, 3, partition=n)),
        ),
        never=("throttle_producers",),
    ),
    Advice(
        "an inventory two hours old: what needs none, and what waits is said",
        given(*racks(), source(0.97, 50 * MB), ROOM, *FULL_OTHERS, *BIG, inventory_at_ms=NOW_MS - 2 * HOUR_MS),
        order=("throttle_producers", "expand_disk", "investigate"),
        never=("move_log_dir", "lower_retention"),
        says=("the last inventory is 2 h old: moves and cuts wait for a new inventory",),
    ),
    Advice(
        "no inventory at all and a reserve: that first",
        given(*racks(), source(0.97, 50 * MB), ROOM, *BIG, inventory_at_ms=None),
        first="release_reserve",
        order=("release_reserve", "throttle_producers", "expand_disk", "investigate"),
        policy=RESERVE,
    ),
    Advice(
        "an old inventory and an old state: only the look",
        given(*racks(), source(), ROOM, *BIG, inventory_at_ms=NOW_MS - 2 * HOUR_MS, state_at_ms=NOW_MS - 2 * HOUR_MS),
        first="investigate",
        never=("expand_disk", "throttle_producers"),
    ),
]

ROWS = [*IN_TIME, *NOT_IN_TIME, *CLOSED_ROOM, *OF_OTHERS, *RUNNING, *OTHERS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)
