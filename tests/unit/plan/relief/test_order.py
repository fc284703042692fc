"""Who fills a directory, or a cluster, is slowed down and cut first; its neighbours keep their history meanwhile."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus, Rule
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.answers import holds, kinds, recommended, the, vetoed
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    policy,
    replica,
    slowly,
    space_alert,
    topic,
)

HERE = (1, "/d1")
HOUR_MS = 3_600_000
FLEET = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="critical", cause=None)
FOR_EVER = {"configs": {"retention.ms": "-1"}, "overridden": frozenset({"retention.ms"})}


def world(
    *parts,
    run=100,
    calm=700,
    free=100,
    mib_per_s=0.022,
    share=0.95,
    known=("run", "calm"),
    written=None,
    status=LogDirStatus.CRITICAL,
    run_topic=None,
    calm_topic=None,
    numbers=(1,),
    **fields,
):
    """Directories that ``run`` fills, in MiB, in which ``calm`` has most of the bytes.

    ``written`` are MiB per second that a topic is written, of which the directory's growth may be a part.
    """
    source = directory(1, "/d1", (1000 - free) * MIB, growth_bytes_per_s=mib_per_s * MIB, status=status, **fields)
    rates = {"run": share * mib_per_s * MIB, "calm": (1 - share) * mib_per_s * MIB}
    rates |= {name: rate * MIB for name, rate in (written or {}).items()}
    found = [topic("run", numbers, **(run_topic or {})), topic("calm", numbers, **(calm_topic or {}))]
    for number in numbers:
        found += [replace(source, broker=number), replica(number, "/d1", "run", size=run * MIB)]
        found.append(replica(number, "/d1", "calm", size=calm * MIB))
    growth = {((number, "/d1"), (name, 0)): rates[name] for number in numbers for name in known}
    return [*found, *parts], growth


LARGE = {"run": 600, "calm": 200, "mib_per_s": 0.01}
"""Most of the bytes are of who grows, and it is full in 2 h 47 min."""


BUSY = {"written": {"calm": 0.1}}
"""Most of what is written is of the neighbour."""
SOON = {"written": {"calm": 0.04, "run": 0.02}, "mib_per_s": 0.06, "free": 140, "calm": 600}
BOTH = {"cleanup.policy": "compact,delete"}
TIERED = {"remote.storage.enable": "true", "retention.ms": "-1", "local.retention.bytes": str(695 * MIB)}


def limited(mib, **configs):
    return {"configs": {"retention.bytes": str(mib * MIB if mib > 0 else mib), **configs}}


def aged(seconds):
    return {"configs": {"retention.ms": str(seconds * 1000)}}


def checked(hours):
    return broker(1, **{"log.retention.check.interval.ms": str(hours * HOUR_MS)})


def deleted(hours):
    return broker(1, **{"log.segment.delete.delay.ms": str(hours * HOUR_MS)})


def file_delay(hours):
    return {"configs": {"file.delete.delay.ms": str(hours * HOUR_MS)}}


def advised(case, of=None, **decisions):
    parts, growth = case
    known = facts(*parts, growth=growth, decisions=OperatorDecisions(**decisions))
    return recommend(of or space_alert("critical"), known, policy(), NOW_MS)


def order(actions):
    """What slows down or cuts, in order: a topic, with a ``-`` before it where it is kept back."""
    names = {ActionKind.THROTTLE_PRODUCERS: "brake"}
    found = [one for one in actions if one.data_loss or one.kind in names]
    return " ".join(("-" if one.vetoes else "") + names.get(one.kind, str(one.target.get("topic"))) for one in found)


ROWS = [
    ("its own history is enough", world(run=200, mib_per_s=0.02), "brake run"),
    ("it is not: its neighbour's is kept back", world(), "brake run -calm"),
    ("it has none to give", world(run=15), "brake -calm"),
    ("half an hour left: the neighbour's too, behind it", world(free=38), "brake run calm"),
    ("a little more", world(free=42), "brake run -calm"),
    ("a day left", world(run=50, mib_per_s=0.001), "brake run -calm"),
    ("all grow alike: nobody is innocent", world(share=0.5, mib_per_s=0.02), "calm run"),
    ("nearly alike", world(share=0.6, mib_per_s=0.02), "calm run"),
    ("alike in the last hour", world(share=0.5, mib_per_s=0.04), "brake calm run"),
    ("nobody knows who grows", world(known=()), "calm run"),
    ("nor in the last hour", world(known=(), free=60), "brake calm run"),
    ("the rest can only be of the one whose growth is unknown", world(known=("calm",), share=1.0), "brake run -calm"),
    ("what is unknown does not grow by much", world(known=("run",)), "brake run -calm"),
    ("a copy that arrives may be the rest", world(replica(*HERE, "calm", is_future=True), known=("calm",)), ""),
    ("foreign files may be the rest", world(known=("calm",), unaccounted_bytes=120 * MIB), "calm run"),
    ("few of them may not", world(known=("calm",), unaccounted_bytes=50 * MIB), "brake run -calm"),
    ("brokers write it, which no quota limits", world(run_topic={"is_internal": True}), "calm"),
    ("kept for ever, its producers can wait", world(run_topic=FOR_EVER), "brake -calm"),
    ("its neighbour is kept for ever", world(calm_topic=FOR_EVER), "brake run"),
    ("who grows has most of the bytes", world(run=600, calm=200, mib_per_s=0.01), "run"),
    ("and in the last hour", world(run=600, calm=200, mib_per_s=0.03), "brake run"),
    ("only filling", world(status=LogDirStatus.FILLING), "run calm"),
    ("its growth does not last", world(lasting_growth_bytes_per_s=0.0), ""),
    ("there is room beside it", world(directory(1, "/d2"), run=300, calm=500), ""),
    ("a cut that comes after a day is waited for", world(checked(24), **LARGE), "brake run"),
    ("and after six hours", world(checked(6), **LARGE), "brake run"),
    ("a little after it is full", world(checked(3), **LARGE), "brake run"),
    ("a cut after two hours is in time", world(checked(2), **LARGE), "run"),
    ("its files stay for six hours", world(**LARGE, run_topic=file_delay(6)), "brake run"),
    ("its files stay for one", world(**LARGE, run_topic=file_delay(1)), "run"),
    ("the broker keeps all files for six hours", world(deleted(6), **LARGE), "brake run"),
    ("nobody knows who grows, and every cut is late", world(checked(6), **LARGE, known=()), "brake run calm"),
    ("all grow alike, and every cut is late", world(checked(6), share=0.5, mib_per_s=0.01), "brake calm run"),
    (
        "its neighbour's cut would be in time, and costs more",
        world(mib_per_s=0.01, run_topic=file_delay(6)),
        "brake run",
    ),
    ("late where it is only filling", world(checked(6), **LARGE, status=LogDirStatus.FILLING), "run"),
    ("late, and its growth does not last", world(checked(6), **LARGE, lasting_growth_bytes_per_s=0.0), ""),
    (
        "its neighbour is written faster, and held by its bytes",
        world(**BUSY, calm_topic=limited(695)),
        "brake run -calm",
    ),
    ("it is held by its age", world(**BUSY, calm_topic=aged(7000)), "brake run -calm"),
    ("by both", world(**BUSY, calm_topic=limited(695, **{"retention.ms": "7000000"})), "brake run -calm"),
    ("and compacted", world(**BUSY, calm_topic=limited(695, **BOTH)), "brake run -calm"),
    ("held locally", world(**BUSY, calm_topic=limited(-2, **TIERED)), ""),
    ("held, in the last hour", world(**BUSY, free=60, calm_topic=limited(695)), "brake run -calm"),
    ("held, and half an hour left", world(**BUSY, free=38, calm_topic=limited(695)), "brake run calm"),
    ("it is about to be held", world(**SOON, calm_topic=limited(601)), "brake run"),
    ("it is held too late to help", world(**SOON, calm_topic=limited(1500)), "brake calm run"),
    ("nothing holds it", world(**SOON), "brake calm run"),
    ("both are held: it is never full", world(**BUSY, run_topic=limited(100), calm_topic=limited(695)), ""),
    ("late, with room beside it", world(checked(6), directory(1, "/d2"), run=300, calm=500), ""),
]


@pytest.mark.parametrize(("case", "right"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_whoever_fills_a_directory_answers_for_it(case, right):
    assert order(advised(case)) == right


def rejected(kind, **target):
    return ((kind, {"broker": 1, "log_dir": "/d1", **target}),)


@pytest.mark.parametrize(
    ("kind", "target", "right"),
    [
        (ActionKind.THROTTLE_PRODUCERS, {}, "run calm"),
        (ActionKind.LOWER_RETENTION, {"topic": "run"}, "brake -calm"),
        (ActionKind.LOWER_RETENTION, {"topic": "calm"}, "brake run"),
    ],
)
def test_who_refuses_gets_the_next_one(kind, target, right):
    assert order(advised(world(), rejected=rejected(kind, **target))) == right


def test_the_brake_wins_more_than_the_neighbour_would_lose_for():
    actions = advised(world())
    brake = next(one for one in actions if one.kind is ActionKind.THROTTLE_PRODUCERS)
    assert brake.expected["time_to_full_after_ms"] >= 2 * 100 / 0.022 * 1000 - 10
    assert [one["topic"] for one in brake.expected["growing"]] == ["run", "calm"]
    assert "95 % of the growth of 22.5 KiB/s is in run (delete)" in actions[0].reason
    (veto,) = next(one for one in actions if one.target.get("topic") == "calm").vetoes
    assert veto["name"] == "others_grow"
    assert "the growth is in run: throttle its producers first" in veto["reason"]


def test_of_several_new_topics_it_is_said_that_it_is_one_of_them():
    new = [topic("new", (1,)), replica(*HERE, "new", size=30 * MIB)]
    actions = advised(world(*new, known=("calm",), share=1.0))
    brake = next(one for one in actions if one.kind is ActionKind.THROTTLE_PRODUCERS)
    assert "new, run (22.5 KiB/s, one of them or all: their growth is not known yet)" in brake.reason
    assert {one["topic"] for one in brake.expected["growing"]} == {"new", "run"}


ALL = (1, 2, 3)
FLEET_ROWS = [
    ("its neighbour's is kept back", world(numbers=ALL), "brake run -calm"),
    ("three quarters of an hour left", world(numbers=ALL, free=60), "brake run -calm"),
    ("half an hour left", world(numbers=ALL, free=38), "brake run calm"),
    ("its own history is enough", world(numbers=ALL, run=300, calm=500, mib_per_s=0.001, free=140), "brake run"),
    ("it has none to give", world(numbers=ALL, run=15), "brake -calm"),
    ("all grow alike", world(numbers=ALL, share=0.5, mib_per_s=0.02), "calm run"),
    ("alike in the last hour", world(numbers=ALL, share=0.5, mib_per_s=0.04), "brake calm run"),
    ("nobody knows who grows", world(numbers=ALL, known=()), "calm run"),
    ("nor in the last hour", world(numbers=ALL, known=(), free=60), "brake calm run"),
    ("the rest can only be of one", world(numbers=ALL, known=("calm",), share=1.0), "brake run -calm"),
    ("foreign files may be the rest", world(numbers=ALL, known=("calm",), unaccounted_bytes=120 * MIB), "calm run"),
    ("only filling", world(numbers=ALL, status=LogDirStatus.FILLING), "brake run -calm"),
    ("brokers write it", world(numbers=ALL, run_topic={"is_internal": True}), "calm"),
    ("kept for ever", world(numbers=ALL, run_topic=FOR_EVER), "brake -calm"),
    ("nothing grows", world(numbers=ALL, mib_per_s=0.0), ""),
]


@pytest.mark.parametrize(("case", "right"), [row[1:] for row in FLEET_ROWS], ids=[row[0] for row in FLEET_ROWS])
def test_whoever_fills_a_cluster_answers_for_it(case, right):
    assert order(advised(case, FLEET)) == right


def test_a_refused_brake_of_a_cluster_gives_way():
    refused = ((ActionKind.THROTTLE_PRODUCERS, {"broker": None, "log_dir": None}),)
    assert order(advised(world(numbers=ALL), FLEET, rejected=refused)) == "run calm"


def test_the_brake_of_a_cluster_is_the_smallest_that_any_of_its_directories_needs():
    parts, growth = world(numbers=ALL, share=1.0)
    fuller = directory(3, "/d1", 920 * MIB, growth_bytes_per_s=0.022 * MIB, status=LogDirStatus.CRITICAL)
    first, brake, *_ = advised(([*parts, fuller], growth), FLEET)
    assert first.kind is ActionKind.INVESTIGATE
    assert "100 % of the growth of 67.6 KiB/s is in run (delete)" in first.reason
    assert "the cuts, with those that wait for slower producers, free the" in first.reason
    assert brake.target == {"broker": None, "log_dir": None}
    assert "throttle the producers that fill 3 directories, first those that write to /d1 of broker 3" in brake.reason
    assert brake.expected["time_to_full_after_ms"] == pytest.approx(172_800_000, rel=0.05)


FULL = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB)


class TestRoom:
    def grow(self, source=FULL, **rule):
        return recommended(source, directory(2), limits={"log_dirs": (LogDirRule(**rule),)})

    def test_a_volume_grows_as_far_as_it_may_and_says_what_is_missing(self):
        action = the(ActionKind.EXPAND_DISK, self.grow(max_bytes=1100 * MIB))
        assert action.expected["total_bytes"] == 1100 * MIB
        assert "(214.3 MiB are needed; its maximum allows no more)" in action.reason
        assert holds(action, "volume_can_grow") is False

    def test_a_maximum_that_is_enough_is_known_to_be(self):
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(max_bytes=9000 * MIB)), "volume_can_grow") is True

    def test_whether_the_cloud_is_quick_enough_is_told(self):
        quick = replace(FULL, growth_bytes_per_s=0.1 * MIB)
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(quick, growing_takes_ms=899_000)), "in_time") is True
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(quick, growing_takes_ms=900_000)), "in_time") is None
        slow = the(ActionKind.EXPAND_DISK, self.grow(growing_takes_ms=6 * 3_600_000))
        assert holds(slow, "in_time") is False
        assert slow.expected["needs_ms"] == 6 * 3_600_000

    def test_a_volume_at_its_maximum_leaves_one_more_directory(self):
        add, grow = self.grow(max_bytes=1000 * MIB)
        assert (grow.kind, vetoed(grow)) == (ActionKind.EXPAND_DISK, ["volume_at_maximum"])
        assert (add.kind, vetoed(add)) == (ActionKind.ADD_LOG_DIR, [])
        assert "is as large as it can be: 1000 MiB" in add.reason
        assert any("add its path to log.dirs" in command for command in add.commands)
        assert add.expected["log_dirs_before"] == ["/d1"]

    def test_a_directory_is_not_added_while_another_broker_is_down(self):
        limits = {"log_dirs": (LogDirRule(max_bytes=1000 * MIB),)}
        parts = [directory(1, "/d1", 850 * MIB), broker(2, BrokerStatus.OFFLINE)]
        actions = recommended(*parts, limits=limits)
        assert vetoed(the(ActionKind.ADD_LOG_DIR, actions)) == ["other_broker_down"]
        assert kinds(actions)[0] == "investigate"

    def test_what_helps_only_a_part_is_followed_by_what_gives_the_rest(self):
        parts = [directory(1, "/d1", 850 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=120 * MIB)]
        actions = recommended(*parts, growth=slowly(*parts), limits={"cut_ratio": 0.7})
        assert kinds(actions) == ["expand_disk", "lower_retention"], "what loses nothing is offered first"
        assert "all other actions free 100 MiB of the 150 MiB needed" in actions[0].reason
        assert actions[0].expected["frees_bytes"] == int((150 * MIB + 1) / 0.7) + 1


HOUR_MS, DAY_MS = 3_600_000, 24 * 3_600_000
REJECTED = OperatorDecisions(rejected=((ActionKind.EXPAND_DISK, {"broker": 1, "log_dir": "/d1"}),))
AT_MAXIMUM = {"log_dirs": (LogDirRule(max_bytes=1000 * MIB),)}
AT_MAXIMUM_SOON = LogDirRule(max_bytes=1000 * MIB, growing_takes_ms=6 * HOUR_MS)
AWAY = broker(2, BrokerStatus.OFFLINE)
SPREAD = [topic("t", (1, 2), unread={0: 0.0}), directory(2)]


def takes(growing_takes_ms):
    return {"log_dirs": (LogDirRule(growing_takes_ms=growing_takes_ms),)}


@pytest.mark.parametrize(
    ("left_ms", "parts", "fields", "right"),
    [
        (72 * HOUR_MS, [], {}, "expand_disk -lower_retention"),
        (49 * HOUR_MS, [], {}, "expand_disk -lower_retention"),
        (47 * HOUR_MS, [], {}, "expand_disk lower_retention"),
        (2 * HOUR_MS, [], {}, "expand_disk lower_retention"),
        (None, [], {}, "expand_disk lower_retention"),
        (72 * HOUR_MS, [], {"limits": {"fleet_cuts_last_ms": 7 * DAY_MS}}, "expand_disk lower_retention"),
        (5 * HOUR_MS, [], {"limits": {"fleet_cuts_last_ms": 4 * HOUR_MS}}, "expand_disk -lower_retention"),
        (72 * HOUR_MS, [], {"decisions": REJECTED}, "lower_retention"),
        (72 * HOUR_MS, SPREAD, {"limits": AT_MAXIMUM}, "add_log_dir -expand_disk -lower_retention"),
        (72 * HOUR_MS, [AWAY], {"limits": AT_MAXIMUM}, "add_log_dir -expand_disk -lower_retention"),
        (47 * HOUR_MS, [AWAY], {"limits": AT_MAXIMUM}, "lower_retention -expand_disk -add_log_dir"),
        (47 * HOUR_MS, SPREAD, {"limits": {"log_dirs": (AT_MAXIMUM_SOON,)}}, "add_log_dir -expand_disk"),
        (72 * HOUR_MS, [], {"limits": takes(DAY_MS)}, "expand_disk"),
        (72 * HOUR_MS, [], {"limits": takes(6 * DAY_MS)}, "expand_disk lower_retention"),
    ],
    ids=[
        "three days left",
        "a little more than room takes",
        "a little less",
        "two hours",
        "nobody knows how long",
        "room takes a week here",
        "or an hour",
        "no bigger volume: rejected",
        "one more directory instead",
        "which nobody can add now, but in days",
        "which nobody can add in time",
        "which is known to be in time",
        "known to be in time",
        "known to be late",
    ],
)
def test_no_history_is_deleted_while_room_can_be_added_in_time(left_ms, parts, fields, right):
    """``plan.fleet_cuts_last_ms`` says how long it takes to add room; producers are not slowed down meanwhile."""
    rate = None if left_ms is None else 100 * MIB * 1000 / left_ms
    source = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=rate, status=LogDirStatus.CRITICAL)
    held = [topic("t", (1,), unread={0: 0.0}), replica(1, "/d1", "t", size=500 * MIB)]
    found = recommended(source, *held, *parts, growth=slowly(*held), **fields)
    assert " ".join(f"{'-' if one.vetoes else ''}{one.kind}" for one in found) == right
