"""A whole cluster that fills: history that frees what is needed, and how much is missing else."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Rule
from logdirwatch.plan.cluster.layout import Replica
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    offline,
    policy,
    replica,
    slowly,
    topic,
)

FLEET = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="filling", cause=None)
SHORT = [
    directory(1, "/d1", 850 * MIB),
    directory(2, "/d1", 800 * MIB),
    directory(3, "/d1", 420 * MIB),
    topic("t", (1, 2, 3)),
    replica(1, "/d1", "t", size=400 * MIB),
    replica(2, "/d1", "t", size=400 * MIB),
    replica(3, "/d1", "t", size=400 * MIB),
]


def recommended(*parts, **limits):
    return recommend(FLEET, facts(*parts), policy(**limits), NOW_MS)


def test_one_cut_is_planned_for_all_directories_that_need_it():
    look, cut = recommended(*SHORT)
    assert cut.kind is ActionKind.LOWER_RETENTION
    assert cut.target == {"broker": None, "log_dir": None, "topic": "t"}
    # Broker 1 needs 150 MiB and broker 2 needs 100; the third, which needs nothing, is freed as well.
    assert cut.expected["frees_bytes"] == 250 * MIB + 2
    assert [entry["bytes"] for entry in cut.expected["on"]] == [151 * MIB] * 3
    assert "453 MiB in 3 directories, 250 MiB of it where it is needed" in cut.reason
    assert "the cuts free the 250 MiB that 2 directories need" in look.reason
    assert "to delete nothing, add 1 broker like the present ones, or 250 MiB more" in look.reason


@pytest.mark.parametrize("used_mib", [850, 1000])
def test_in_the_last_hour_the_brake_and_the_cut_come_before_the_room_that_has_to_be_bought(used_mib):
    hurried = directory(1, "/d1", used_mib * MIB, growth_bytes_per_s=MIB)
    found = [str(one.kind) for one in recommended(hurried, *SHORT[1:])]
    assert found == ["throttle_producers", "lower_retention", "investigate"]


def test_a_cut_goes_no_deeper_than_the_neediest_directory_asks():
    _, cut = recommended(*SHORT)
    assert int(cut.configs["t"]["retention.bytes"]["to"]) == 239 * MIB


def test_what_fits_nowhere_is_told_with_what_would_make_it_possible():
    compacted = topic("t", (1, 2, 3), configs={"cleanup.policy": "compact"})
    (look,) = recommended(*SHORT, compacted)
    assert look.kind is ActionKind.INVESTIGATE
    assert "; 250 MiB fit nowhere" in look.reason
    assert "the cleanup policy of t is compact" in look.reason
    assert "1 broker like the present ones" in look.reason


BESIDE = [directory(4, "/d1", 100 * MIB), directory(5, "/d1", 100 * MIB)]
GROWS = {"growth_bytes_per_s": 0.1 * MIB}


@pytest.mark.parametrize(
    ("case", "parts", "is_moved"),
    [
        ("two brokers were added", [*SHORT, *BESIDE], True),
        ("one is enough", [*SHORT, BESIDE[0]], True),
        ("an empty directory in each of the brokers", [*SHORT, directory(1, "/d2"), directory(2, "/d2")], True),
        ("of 250 MiB 249 fit", [*SHORT, directory(4, "/d1", 451 * MIB)], False),
        ("of 250 MiB 251 fit", [*SHORT, directory(4, "/d1", 449 * MIB)], True),
        ("the brokers with room have a replica of all", SHORT, False),
        ("only the one broker has a second directory", [*SHORT, directory(1, "/d2")], False),
        ("the new ones are cordoned", [*SHORT, *(replace(one, is_cordoned=True) for one in BESIDE)], False),
        ("they are no destination", [*SHORT, *(replace(one, is_marked=True) for one in BESIDE)], False),
        ("they are suspect", [*SHORT, *(replace(one, is_suspect=True) for one in BESIDE)], False),
        ("they are offline", [*SHORT, offline(4, "/d1", used=1 * MIB)], False),
        ("their brokers are away", [*SHORT, BESIDE[0], broker(4, BrokerStatus.OFFLINE)], False),
        ("they fill as well", [*SHORT, *(directory(n, "/d1", 100 * MIB, **GROWS) for n in (4, 5))], False),
        ("how full they are is not known", [*SHORT, directory(4, "/d1", None)], False),
        ("what they would take is small", [*SHORT[:3], topic("t", (1, 2, 3)), replica(1, "/d1", "t", size=MIB)], False),
    ],
)
def test_nothing_is_cut_that_fits_beside_it(case, parts, is_moved):
    found = recommended(*parts)
    assert [one for one in found if one.data_loss and not one.vetoes] == [] or not is_moved, case
    assert ("move them there" in found[0].reason) is is_moved, case


def test_in_the_last_hour_no_move_is_waited_for():
    hurried = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=MIB)
    found = [str(one.kind) for one in recommended(hurried, *SHORT[1:], *BESIDE)]
    assert found[0] == "throttle_producers"


def test_internal_topics_and_those_that_must_not_be_touched_give_nothing():
    assert len(recommended(*SHORT, topics=(TopicRule(never_touch=True),))) == 1
    assert len(recommended(*SHORT, internal_topics=("t",))) == 1


def test_a_directory_that_is_offline_is_no_reason_to_cut():
    (look,) = recommended(offline(1, "/d1", used=900 * MIB), *SHORT[3:])
    assert "no directory is above the target ratio now" in look.reason


def test_below_the_target_ratio_room_is_asked_for_and_nothing_cut():
    fast = [directory(number, used=600 * MIB, growth_bytes_per_s=10_000.0) for number in (1, 2)]
    (look,) = recommended(*fast, *SHORT[3:])
    assert "2 directories that are below the target ratio will be full within 2 d: add 4 brokers like" in look.reason


def test_directories_on_one_volume_need_their_bytes_once():
    shared = [directory(1, "/d1", 850 * MIB), directory(1, "/d2", 850 * MIB), directory(2), directory(3)]
    look, _ = recommended(*shared, *SHORT[3:])
    assert "the 150 MiB that 1 directory needs" in look.reason


MORE = [*SHORT, topic("u", (1,)), replica(1, "/d1", "u", size=300 * MIB)]


def cuts_of(*parts, **limits):
    found = recommend(FLEET, facts(*parts, growth=slowly(*parts)), policy(**limits), NOW_MS)
    return {a.target["topic"]: a.expected["on"][0]["bytes"] for a in found if a.kind is ActionKind.LOWER_RETENTION}


def test_every_topic_of_a_directory_gives_in_proportion_and_the_neediest_directory_decides():
    # In /d1 of broker 1 t can give 380 MiB and u 280 of the 150 that are needed; broker 2 needs 100 of t's 380.
    assert cuts_of(*MORE) == {"t": 101 * MIB, "u": 64 * MIB}


def test_no_more_topics_are_named_than_configured():
    assert cuts_of(*MORE, retention_topics=1) == {"t": 151 * MIB}
    assert cuts_of(*MORE, retention_topics=1, retention_spread="fewest_topics") == {"t": 151 * MIB}


def test_where_these_would_lose_more_than_half_others_give_too():
    fuller = [directory(1, "/d1", 920 * MIB), *MORE[1:]]
    assert set(cuts_of(*fuller, retention_topics=1)) == {"t", "u"}


def slowly_filling():
    """Growing by 1 KiB/s the 150 MiB that are free last 42 h."""
    return [directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1024.0), *SHORT[2:]]


def test_a_directory_that_lasts_until_there_is_room_needs_nothing():
    assert cuts_of(*slowly_filling(), fleet_cuts_last_ms=3_600_000) == {}


HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("used_mib", "rates", "lasts_ms", "missing_mib"),
    [
        ((850, 800), (1024.0, 1024.0), HOUR_MS, 250),
        ((850, 800), (1.0, 1.0), 48 * HOUR_MS, 250),
        ((850, 800), (0.0, 0.0), 48 * HOUR_MS, 250),
        ((850, 800), (-1.0, 1.0), 48 * HOUR_MS, 250),
        ((850, 700), (1.0, 1.0), 48 * HOUR_MS, 150),
        ((710, 705), (1.0, 1.0), 48 * HOUR_MS, 15),
        ((699, 690), (1.0, 1.0), 48 * HOUR_MS, 0),
        ((300, 690), (1024.0, 1024.0), 48 * HOUR_MS, 0),
        ((850, 800), (1024.0, 1.0), 48 * HOUR_MS, None),
        ((850, 800), (1.0, None), 48 * HOUR_MS, None),
        ((850, 800), (None, None), 48 * HOUR_MS, None),
    ],
    ids=[
        "room comes in an hour",
        "they last for weeks",
        "for ever",
        "one shrinks",
        "one is under the target",
        "both are a little above it",
        "both just below it",
        "both far below",
        "one does not last",
        "of one nobody knows",
        "nor of any",
    ],
)
def test_while_all_last_the_room_that_is_missing_is_named_and_nothing_deleted(used_mib, rates, lasts_ms, missing_mib):
    filling = [
        directory(number, "/d1", used * MIB, growth_bytes_per_s=rate)
        for number, (used, rate) in enumerate(zip(used_mib, rates, strict=True), 1)
    ]
    look, *cuts = recommended(*filling, *SHORT[2:], fleet_cuts_last_ms=lasts_ms)
    assert bool(cuts) is (missing_mib is None)
    lasts = "every directory lasts until there is room, so delete nothing; add 1 broker like the present ones, or"
    assert (lasts in look.reason) is bool(missing_mib)
    assert ("no directory is above the target ratio now" in look.reason) is (missing_mib == 0)
    if missing_mib:
        assert f"or {missing_mib} MiB more on volumes and disks" in look.reason


A_DAY = {"retention.ms": str(24 * HOUR_MS)}
BY_BYTES = {"retention.bytes": str(450 * MIB)}
AS_REMOTE = {"remote.storage.enable": "true", "local.retention.ms": "-2", "remote.log.copy.disable": "false"}


@pytest.mark.parametrize(
    ("case", "configs", "mib_an_hour", "other", "is_cut"),
    [
        ("nothing ends it", {}, 20, 0, True),
        ("its age does, in four hours", A_DAY, 20, 0, False),
        ("its age does, too late", {"retention.ms": str(72 * HOUR_MS)}, 20, 0, True),
        ("its size does", BY_BYTES, 20, 0, False),
        ("its size does, too late", {"retention.bytes": str(900 * MIB)}, 20, 0, True),
        ("the nearer of the two", A_DAY | {"retention.bytes": str(900 * MIB)}, 20, 0, False),
        ("what is kept locally as long as remotely", A_DAY | AS_REMOTE, 20, 0, False),
        ("it is compacted as well", A_DAY | {"cleanup.policy": "compact,delete"}, 20, 0, False),
        ("it is compacted only", A_DAY | {"cleanup.policy": "compact"}, 20, 0, True),
        ("it holds more than it may", A_DAY, 4, 0, True),
        ("another topic goes on", A_DAY, 20, 10, True),
        ("another one does, for weeks to come", A_DAY, 20, 0.1, False),
    ],
)
def test_growth_that_ends_by_itself_costs_no_history(case, configs, mib_an_hour, other, is_cut):
    rates = {"t": mib_an_hour * MIB / 3600, "u": other * MIB / 3600}
    parts = [
        *(directory(n, "/d1", 850 * MIB, growth_bytes_per_s=sum(rates.values())) for n in (1, 2)),
        directory(3, "/d1", 690 * MIB),
        topic("t", (1, 2), configs=configs),
        topic("u", (1, 2)),
        *(replica(number, "/d1", name, size=400 * MIB) for number in (1, 2) for name in ("t", "u")),
    ]
    growth = {(part.place, part.key): rates[part.topic] for part in parts if isinstance(part, Replica)}
    look, *found = recommend(FLEET, facts(*parts, growth=growth), policy(), NOW_MS)
    cuts = [one for one in [look, *found] if one.data_loss or one.kind is ActionKind.LOWER_RETENTION]
    lasts = "every directory lasts until there is room, so delete nothing" in look.reason
    assert (bool(cuts), lasts) == (is_cut, not is_cut), case


def test_a_cut_wins_the_time_until_there_is_room_and_no_more():
    # 48 h take 168.75 MiB.
    assert cuts_of(*slowly_filling()) == {"t": 19 * MIB}


def test_a_cut_says_what_it_wins_where_it_wins_least():
    growing = [directory(number, "/d1", 850 * MIB, growth_bytes_per_s=number * 1024.0) for number in (1, 2)]
    _, cut, *_ = recommended(*growing, directory(3, "/d1", 100 * MIB), *SHORT[3:])
    freed = cut.expected["on"][1]["bytes"]
    assert cut.expected["wins_ms"] == int(freed / 2048 * 1000)
    assert "each is full" in cut.reason
    assert recommended(*SHORT)[1].expected["wins_ms"] is None


def test_nothing_is_emptied_below_the_target():
    assert cuts_of(*slowly_filling(), fleet_cuts_last_ms=10 * 86_400_000) == {"t": 151 * MIB}


def test_what_is_only_local_gives_before_what_is_lost():
    tiered = topic("t", (1, 2, 3), configs={"remote.storage.enable": "true", "local.retention.bytes": "-2"})
    parts = [tiered if getattr(part, "name", None) == "t" else part for part in MORE]
    assert cuts_of(*parts) == {"t": 151 * MIB}


def test_it_is_done_when_the_bytes_are_gone_everywhere():
    _, cut = recommended(*SHORT)
    to = cut.configs["t"]["retention.bytes"]["to"]
    is_set = topic("t", (1, 2, 3), configs={"retention.bytes": to})
    assert progress(cut, facts(*SHORT, is_set)).is_running
    smaller = [replica(number, "/d1", "t", size=245 * MIB) for number in (1, 2, 3)]
    assert progress(cut, facts(*SHORT[:3], is_set, *smaller)).is_done
