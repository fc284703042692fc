"""Situations in which advice must not harm: the last copy, limits of others, strays, and what was accepted."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, Rule, Severity
from tests.unit.plan import builders as b
from tests.unit.plan.builders import moving, partition_of
from tests.unit.situations.table import Advice, check_advice

LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"
LED, FOLLOWED = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
TOOLS_OWN = (" --throttle ", "--replica-alter-log-dirs-throttle", "--verify --reassignment", "--cancel --reassignment")
"""What Kafka's tool does to limits whoever set them."""


def down(*numbers):
    return [b.broker(number, BrokerStatus.OFFLINE) for number in numbers]


def unseen(*numbers):
    return [b.directory(number, status=LogDirStatus.UNKNOWN) for number in numbers]


def copies(name, *numbers, size=100 * b.MIB):
    return [b.replica(number, "/d1", name, size=size) for number in numbers]


def _orders(isr, *, adding=(3, 4), lost=(4, 1, 2), **fields):
    made = moving(b.topic("orders", (3, 4, 1, 2), isr={0: isr}), adding=adding, removing=(1, 2))
    return partition_of(made, offline_replicas=lost, **fields)


DISK_OF_4 = [b.directory(3), b.offline(4), b.directory(4, "/d2")]


def _old_replicas_dead(about=None, isr=(3,)):
    about = about or b.alert(number=4)
    return about, b.facts(*down(1, 2), *unseen(1, 2), *DISK_OF_4, _orders(isr), *copies("orders", 1, 2, 3))


def _stalled():
    told = {"/d1": {"verdict": "stands_still", "remaining_bytes": 9, "throttle": None}}
    return _old_replicas_dead(b.alert(Rule.MOVE_STALLED, number=4, log_dir=None, to=None, evidence={"moves": told}))


def _new_broker_gone():
    about = b.alert(Rule.BROKER_OFFLINE, number=4, log_dir=None, cause=None, opened_at_ms=b.NOW_MS - 3_600_000)
    dead = [*down(1, 2, 4), *unseen(1, 2, 4), b.directory(3)]
    return about, b.facts(*dead, _orders((3,)), *copies("orders", 1, 2, 3))


def _old_replicas_well():
    alive = [b.directory(1), b.directory(2), *DISK_OF_4]
    return b.alert(number=4), b.facts(*alive, _orders((1, 2, 3), lost=(4,)), *copies("orders", 1, 2, 3))


def _one_old_replica_well():
    alive = [*down(1), *unseen(1), b.directory(2), *DISK_OF_4]
    return b.alert(number=4), b.facts(*alive, _orders((2, 3), lost=(4, 1)), *copies("orders", 1, 2, 3))


def _old_replica_lags():
    alive = [b.directory(1), b.directory(2), *DISK_OF_4]
    return b.alert(number=4), b.facts(*alive, _orders((3,), lost=(4,)), *copies("orders", 1, 2, 3))


def _strict_restart():
    made = b.topic("pay", (1, 2), configs={"min.insync.replicas": "2"})
    places = [b.replica(1, "/d2", "pay"), b.replica(2, "/d1", "pay")]
    return b.alert(cause=None), b.facts(b.offline(1, cause=None), b.directory(1, "/d2"), b.directory(2), made, *places)


def _sole_restart():
    alone = [b.topic("one", (1,)), b.replica(1, "/d2", "one")]
    return b.alert(cause=None), b.facts(b.offline(1, cause=None), b.directory(1, "/d2"), b.directory(2), *alone)


CANCELS = [
    Advice(
        "a move cannot end and its old replicas are down",
        _old_replicas_dead,
        vetoes={"cancel_moves": ("leaderless_after",)},
        never=("cancel_moves",),
        says=("bring broker 1, 2 back first",),
    ),
    Advice(
        "a stalled one of that kind", _stalled, vetoes={"cancel_moves": ("leaderless_after",)}, never=("cancel_moves",)
    ),
    Advice(
        "its new broker is gone as well",
        _new_broker_gone,
        never=("cancel_moves",),
        vetoes={"cancel_moves": ("leaderless_after",)},
    ),
    Advice(
        "its old replicas live and lag",
        _old_replica_lags,
        never=("cancel_moves",),
        vetoes={"cancel_moves": ("leaderless_after",)},
    ),
    Advice(
        "its old replicas are well",
        _old_replicas_well,
        first="cancel_moves",
        ready=("cancel_moves",),
        never_says=TOOLS_OWN,
    ),
    Advice("one of its old replicas is well", _one_old_replica_well, ready=("cancel_moves",)),
    Advice(
        "a restart stops the writes of a topic that needs every replica",
        _strict_restart,
        vetoes={"restart_broker": ("under_min_isr_after",)},
    ),
    Advice(
        "a restart takes the only replica of a topic away",
        _sole_restart,
        vetoes={"restart_broker": ("last_in_sync_replica",)},
    ),
]


def _filling(*brokers, topic=None, at=900, beside=50):
    made = topic or b.topic("t", (1, 2))
    disks = [b.directory(1, "/d1", at * b.MIB), *([b.directory(1, "/d2", beside * b.MIB)] if beside else [])]
    rest = [b.directory(2, "/d1", 880 * b.MIB), b.directory(3, "/d1", 20 * b.MIB)]
    places = [b.replica(1, "/d1", "t", size=300 * b.MIB), b.replica(2, "/d1", "t", size=300 * b.MIB)]
    return b.space_alert("critical"), b.facts(*brokers, *disks, *rest, made, *places)


def _elsewhere_limited():
    return _filling(b.broker(2, **{LEADER: "1", FOLLOWER: "1", WITHIN: "1"}), b.broker(3, **{WITHIN: "1"}))


def _own_broker_limited():
    return _filling(b.broker(1, **{WITHIN: "20000000"}))


def _limited_below_writes():
    about, found = _filling(b.broker(1, **{WITHIN: "1000000"}))
    full = dict(found.directories)
    full[1, "/d1"] = b.directory(1, "/d1", 900 * b.MIB, growth_bytes_per_s=2e6)
    return about, b.facts(*found.brokers.values(), *full.values(), *found.topics.values(), *found.layout.replicas)


def _destination_limited():
    return _filling(b.broker(3, **{FOLLOWER: "7000000"}), beside=None)


def _listed_by_others():
    return _filling(topic=b.topic("t", (1, 2), configs={FOLLOWED: "*", LED: "0:9"}), beside=None)


def _repair_beside_limits():
    parts = [
        b.offline(1),
        b.directory(2, used=10 * b.MIB),
        b.directory(3, used=20 * b.MIB),
        b.topic("t", (1, 2), isr={0: (2,)}),
    ]
    limited = [b.broker(2, **{LEADER: "5000000"}), b.broker(3, **{WITHIN: "1500000"})]
    return b.alert(), b.facts(*limited, *parts, *copies("t", 1, 2))


def _move_left_a_limit():
    evidence = {"throttles": {WITHIN: 5}, "throttled_replicas": 0}
    about = b.alert(Rule.THROTTLE_LEFT, log_dir=None, cause=None, to=None, evidence=evidence)
    return about, b.facts(b.broker(1, **{WITHIN: "5", LEADER: "9"}), b.directory(1))


LIMITS = [
    Advice(
        "somebody limits other brokers",
        _elsewhere_limited,
        first="move_log_dir",
        never_says=(*TOOLS_OWN, "brokers 2", "brokers 3"),
        says=(f"brokers 1 {WITHIN}=", "--verify --preserve-throttles"),
    ),
    Advice(
        "somebody limits this broker",
        _own_broker_limited,
        ready=("move_log_dir",),
        never_says=(*TOOLS_OWN, f"brokers 1 {WITHIN}"),
    ),
    Advice(
        "somebody limits this broker below what is written",
        _limited_below_writes,
        never=("move_log_dir",),
        vetoes={"move_log_dir": ("slower_than_writes",)},
    ),
    Advice(
        "somebody limits where copies arrive",
        _destination_limited,
        ready=("reassign",),
        never_says=(*TOOLS_OWN, f"brokers 3 {FOLLOWER}"),
        says=(f"brokers 1 {LEADER}",),
    ),
    Advice(
        "somebody lists the topic's replicas",
        _listed_by_others,
        ready=("reassign",),
        never_says=(*TOOLS_OWN, "topics t "),
        says=(f"brokers 3 {FOLLOWER}",),
    ),
    Advice(
        "a repair beside others' limits",
        _repair_beside_limits,
        first="reassign",
        never_says=(*TOOLS_OWN, f"brokers 2 {LEADER}", WITHIN),
        says=(f"brokers 3 {FOLLOWER}",),
    ),
    Advice(
        "new replicas are not limited within their broker",
        lambda: _filling(beside=None),
        ready=("reassign",),
        never_says=(WITHIN,),
    ),
    Advice(
        "a limit that stayed behind is named with its value",
        _move_left_a_limit,
        first="clear_throttles",
        says=(f"brokers 1 {WITHIN}=5",),
        never_says=(LEADER,),
    ),
]


def _stray(*more, size=600, name="t", number=0, path="/d1"):
    disks = [b.directory(1, "/d1", 900 * b.MIB, growth_bytes_per_s=1e5), b.directory(1, "/d2", 100 * b.MIB)]
    rest = [
        b.directory(2, "/d1", 700 * b.MIB),
        b.directory(3, "/d1", 710 * b.MIB),
        b.topic("t", (2, 3)),
        b.topic("u", (1, 2)),
    ]
    places = [*copies("t", 2, 3, size=600 * b.MIB), *copies("u", 1, 2, size=200 * b.MIB)]
    lost = b.replica(1, path, name, number, size=size * b.MIB)
    return b.space_alert("critical", severity=Severity.CRITICAL), b.facts(*disks, *rest, *more, *places, lost)


def _reported_stray():
    """As the tables have it: the directory's own report, no row of the replica."""
    disk = b.directory(1, "/d1", 900 * b.MIB, strays={"t-0": 600 * b.MIB})
    rest = [b.directory(2), b.topic("t", (2,)), b.topic("u", (1, 2)), *copies("u", 1, 2, size=200 * b.MIB)]
    return b.space_alert("critical"), b.facts(disk, rest[0], *rest[1:])


def _arriving():
    made = moving(b.topic("t", (1, 2, 3), isr={0: (2, 3)}), adding=(1,), removing=(3,))
    disks = [b.directory(1, "/d1", 900 * b.MIB), b.directory(2), b.directory(3)]
    return b.space_alert("critical"), b.facts(*disks, made, *copies("t", 1, 2, 3, size=200 * b.MIB))


NOTHING_ON_IT = ("move_log_dir", "reassign", "lower_retention", "delete_records", "expand_disk")
STRAYS = [
    *(
        Advice(name, given, first="investigate", never=NOTHING_ON_IT, says=(says,))
        for name, given, says in (
            ("a stray of an assigned partition fills a directory", _stray, "t-0, 600 MiB, assigned to broker 2, 3"),
            (
                "a replica of a topic that is gone fills it",
                lambda: _stray(name="gone"),
                "gone-0, 600 MiB, of a topic that the metadata does not know",
            ),
            ("a partition that its topic has no more", lambda: _stray(number=7), "t-7, 600 MiB"),
            ("a topic whose name ends in a number", lambda: _stray(name="a-1"), "a-1-0, 600 MiB"),
            ("tables that keep no row of it name it as well", _reported_stray, "t-0, 600 MiB"),
        )
    ),
    Advice(
        "a stray that is not enough",
        lambda: _stray(size=50),
        first="investigate",
        ready=("move_log_dir",),
        says=("t-0, 50 MiB",),
    ),
    Advice(
        "a stray in another directory explains nothing here",
        lambda: _stray(path="/d2", size=50),
        first="move_log_dir",
        never_says=("stray",),
    ),
    Advice("what a reassignment brings is no stray", _arriving, never_says=("stray",)),
]


@pytest.mark.parametrize("row", [*CANCELS, *LIMITS, *STRAYS], ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)
