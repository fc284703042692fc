"""Situations in which history is cut: how much, whose, and what is never cut."""

import pytest

from logdirwatch.model.vocabulary import Rule, Severity
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.retention.planner import plan_cuts
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import NOW_MS, alert, broker, directory, facts, policy, replica, space_alert, topic
from tests.unit.situations.table import Advice, check_advice

MB, GIB, TIB = 10**6, 1 << 30, 1 << 40
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
HERE = (1, "/d1")
PLAIN = {"retention.ms": str(7 * DAY_MS), "segment.bytes": str(GIB)}
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}
TIERED = {"remote.storage.enable": "true", "local.retention.ms": "-2", "local.retention.bytes": "-2"}


def small(size, count=100, **configs):
    """A topic of many replicas of ``size`` bytes."""
    made = topic("t", *[(1,)] * count, configs=PLAIN | configs, unread={})
    return [made, *(replica(1, "/d1", "t", number, size) for number in range(count))]


HELD = "t has no more than one segment a replica to give; its 100 replicas keep"
UNKNOWN = "the size of 100 replicas of t is not known"
FLOORS = [
    ("one open segment each", f"{HELD} 100 GiB", *small(GIB)),
    ("a little more than one", f"{HELD} 190 GiB", *small(int(1.9 * GIB))),
    ("two each", f"{HELD} 200 GiB", *small(2 * GIB)),
    ("an age that has passed long ago", f"{HELD} 100 GiB", *small(GIB, **{"retention.ms": "60000"})),
    ("bytes far below a segment", f"{HELD} 190 GiB", *small(int(1.9 * GIB), **{"retention.bytes": "1000"})),
    ("large segments", "(segment.bytes, now 4 GiB)", *small(7 * GIB, **{"segment.bytes": str(4 * GIB)})),
    (
        "compacted as well",
        f"{HELD} 100 GiB",
        *small(GIB, **{"cleanup.policy": "compact,delete"}),
    ),
    ("a segment that is unknown is a GiB", f"{HELD} 100 GiB", *small(GIB, **{"segment.bytes": None})),
    ("sizes that nobody knows", UNKNOWN, *small(None)),
    ("nor how large its segments are", UNKNOWN, *small(None, **{"segment.bytes": None})),
    ("empty replicas", f"{HELD} 0 B", *small(0)),
]


def written(size, a_second=700.0, count=500, **configs):
    """A topic of many replicas of ``size`` bytes that are written ``a_second`` each, with their growth."""
    parts = small(size, count, **configs)
    rates = {} if a_second is None else {(HERE, ("t", number)): a_second for number in range(count)}
    return parts, rates


AN_HOUR = {"retention.ms": str(HOUR_MS)}
HUNDRED_MIB = {"retention.ms": "-1", "retention.bytes": str(100 << 20)}
SEGMENTS = [
    ("an age that an open segment outlasts", True, *written(GIB, **AN_HOUR)),
    ("bytes far below a segment", True, *written(GIB, **HUNDRED_MIB)),
    ("written at an unknown rate", True, *written(GIB, None, **HUNDRED_MIB)),
    ("the age alone, at an unknown rate", False, *written(GIB, None, **AN_HOUR)),
    ("the nearer limit counts", True, *written(GIB, **AN_HOUR, **{"retention.bytes": str(900 << 20)})),
    (
        "what is left locally",
        True,
        *written(GIB, **AN_HOUR, **{"remote.storage.enable": "true", "local.retention.ms": "-2"}),
    ),
    ("few replicas", False, *written(GIB, count=100, **HUNDRED_MIB)),
    ("little of each", False, *written(120 << 20, **HUNDRED_MIB)),
    ("more than a segment: deletion is stuck", False, *written(3 * GIB, **HUNDRED_MIB)),
    ("written fast", False, *written(GIB, 10 * MB, **AN_HOUR)),
    ("kept for long", False, *written(GIB)),
    ("compacted", False, *written(GIB, **HUNDRED_MIB, **{"cleanup.policy": "compact"})),
    ("nothing limits it", False, *written(GIB, **FOR_EVER)),
]


def full(ratio=0.9, growth=5 * MB, number=1, path="/d1", total=4 * TIB):
    return directory(number, path, int(ratio * total), total=total, growth_bytes_per_s=growth)


def plain(name, *assignments, **fields):
    return topic(name, *(assignments or [(1,)]), configs=PLAIN | fields.pop("configs", {}), **fields)


def cuts(*parts, needed, source=None, growth=None, **limits):
    source = source or full()
    return plan_cuts(source, facts(source, *parts, growth=growth or {}), policy(**limits), needed)


def given(*parts, source=None, **fields):
    return lambda: (space_alert("critical"), facts(source or full(), *parts, **fields))


def alike(count=4, size=800 * GIB):
    names = [f"t{number}" for number in range(count)]
    return [plain(name, unread={}) for name in names] + [replica(1, "/d1", name, size=size) for name in names]


def shares(found, sizes):
    return {cut.topic.name: round(cut.frees_at(HERE) / sizes[cut.topic.name], 2) for cut in found.cuts}


class TestHowMuch:
    def test_what_is_asked_for_and_no_more(self):
        found = cuts(*alike(), needed=100 * GIB)
        freed = sum(cut.frees_at(HERE) for cut in found.cuts)
        assert 100 * GIB <= freed < 100 * GIB + 4 * (1 << 20)

    @pytest.mark.parametrize("needed", [GIB, 100 * GIB, 829 * GIB, 1500 * GIB])
    def test_no_topic_is_cut_to_a_segment_while_its_neighbour_keeps_all(self, needed):
        found = cuts(*alike(), needed=needed)
        given_each = [cut.frees_at(HERE) for cut in found.cuts]
        assert len(given_each) == 4
        assert max(given_each) - min(given_each) <= 1 << 20

    def test_of_unequal_topics_each_gives_its_share(self):
        sizes = {"small": 100 * GIB, "middle": 400 * GIB, "large": 1600 * GIB}
        parts = [plain(name, unread={}) for name in sizes]
        parts += [replica(1, "/d1", name, size=size) for name, size in sizes.items()]
        found = cuts(*parts, needed=630 * GIB)
        assert shares(found, sizes) == {"small": 0.29, "middle": 0.3, "large": 0.3}

    def test_the_many_small_ones_are_left_alone(self):
        parts = [*alike(2), *(plain(f"s{n}") for n in range(40))]
        parts += [replica(1, "/d1", f"s{n}", size=3 * GIB) for n in range(40)]
        assert len(cuts(*parts, needed=100 * GIB).cuts) == 10

    def test_limits_are_values_that_people_write(self):
        for cut in cuts(*alike(3), needed=100 * GIB + 12345).cuts:
            assert cut.new_value % (1 << 20) == 0


class TestHistoryThatStays:
    HOT = (plain("hot", unread={}), replica(1, "/d1", "hot", size=400 * GIB))

    def grows(self, rate):
        return {(HERE, ("hot", 0)): rate}

    def test_a_topic_that_holds_less_than_the_minimum_gives_nothing(self):
        found = cuts(*self.HOT, needed=300 * GIB, growth=self.grows(200 * MB))
        assert found.cuts == ()
        assert [veto.name for veto in found.vetoes] == ["min_retention"]
        assert "the last 1 h of hot stay" in found.vetoes[0].reason

    def test_a_cut_stops_at_the_minimum(self):
        (cut,) = cuts(*self.HOT, needed=300 * GIB, growth=self.grows(60 * MB)).cuts
        assert cut.keeps_ms >= HOUR_MS
        assert cut.new_value - (60 * MB * 3600) < 1 << 20

    def test_a_hot_partition_elsewhere_keeps_its_history_too(self):
        by_bytes = {"retention.ms": None}
        parts = [plain("hot", (1,), (2,), unread={}, configs=by_bytes), full(number=2)]
        parts += [replica(1, "/d1", "hot", 0, 400 * GIB)]
        parts += [replica(2, "/d1", "hot", 1, 400 * GIB)]
        growth = {(HERE, ("hot", 0)): 1.0 * MB, ((2, "/d1"), ("hot", 1)): 60.0 * MB}
        (cut,) = cuts(*parts, needed=390 * GIB, growth=growth).cuts
        assert cut.new_value >= 60 * MB * 3600

    def test_a_log_that_is_trimmed_by_age_hardly_grows_and_is_written_all_the_same(self):
        """400 GiB in 4 h are 29 MB/s, however little the size changes from one inventory to the next."""
        steady = plain("hot", unread={}, configs={"retention.ms": str(4 * HOUR_MS)})
        (cut,) = cuts(steady, self.HOT[1], needed=390 * GIB, growth=self.grows(0.0)).cuts
        assert cut.new_value >= 100 * GIB

    def test_the_owners_word_goes_before_the_general_one(self):
        rules = [TopicRule(topic="hot", min_retention_ms=2 * HOUR_MS)]
        assert cuts(*self.HOT, needed=300 * GIB, growth=self.grows(60 * MB), topics=rules).cuts == ()

    def test_where_nobody_knows_the_rate_half_stays(self):
        (cut,) = cuts(*self.HOT, needed=390 * GIB).cuts
        assert cut.new_value == 200 * GIB

    def test_what_a_group_has_still_to_read_stays(self):
        behind = plain("hot", unread={0: 0.75})
        (cut,) = cuts(behind, self.HOT[1], needed=390 * GIB, growth=self.grows(1.0)).cuts
        assert cut.new_value == 300 * GIB

    def test_a_smaller_cut_is_made_where_a_larger_one_may_not_be(self):
        parts = [*self.HOT, plain("cold", unread={}), replica(1, "/d1", "cold", size=400 * GIB)]
        growth = self.grows(100 * MB) | {(HERE, ("cold", 0)): 1.0}
        found = cuts(*parts, needed=350 * GIB, growth=growth)
        given_each = {cut.topic.name: cut.frees_at(HERE) for cut in found.cuts}
        assert set(given_each) == {"hot", "cold"}
        assert 400 * GIB - given_each["hot"] >= 100 * MB * 3600
        assert sum(given_each.values()) >= 350 * GIB


LEDGER_SET = frozenset({"retention.ms", "retention.bytes"})
KEPT = [
    ("both limits taken off on the topic", FOR_EVER, LEDGER_SET),
    ("only the limit of age", FOR_EVER, frozenset({"retention.ms"})),
    ("nobody knows who took them off", FOR_EVER, None),
    ("the largest number there is", {"retention.ms": str(2**63 - 1), "retention.bytes": "-1"}, LEDGER_SET),
    ("a hundred years", {"retention.ms": str(100 * 365 * DAY_MS), "retention.bytes": str(2**63 - 1)}, LEDGER_SET),
    ("compacted and deleted, kept for ever", FOR_EVER | {"cleanup.policy": "compact,delete"}, LEDGER_SET),
]
NOT_KEPT = [
    ("the broker's default", FOR_EVER, frozenset()),
    ("only the limit of bytes, whose default it is", FOR_EVER | {"retention.ms": "604800000"}, LEDGER_SET),
    ("ten years", FOR_EVER | {"retention.ms": str(10 * 365 * DAY_MS)}, LEDGER_SET),
    ("a limit of bytes instead", FOR_EVER | {"retention.bytes": str(3 * TIB)}, LEDGER_SET),
]


def ledger(configs, overridden):
    made = topic("ledger", (1,), (1,), configs=configs | {"segment.bytes": str(GIB)}, overridden=overridden, unread={})
    sized = [replica(1, "/d1", "ledger", number, 1700 * GIB) for number in (0, 1)]
    return [made, *sized]


ADVICE = [
    *(
        Advice(
            f"history kept for ever: {name}",
            given(*ledger(configs, overridden)),
            never=("lower_retention", "delete_records"),
            lossless=True,
        )
        for name, configs, overridden in KEPT
    ),
    *(
        Advice(f"history without a limit, but not on purpose: {name}", given(*ledger(configs, overridden)))
        for name, configs, overridden in NOT_KEPT
    ),
    Advice(
        "a ledger is named with its owner",
        given(*ledger(FOR_EVER, LEDGER_SET)),
        says=("ledger keeps 3.3 TiB for ever on purpose (retention.ms=-1): ask team books",),
        policy=policy(topics=[TopicRule(topic="ledger", owner="team books")]),
        lossless=True,
    ),
    Advice(
        "compacted topics are not cut",
        given(plain("kv", configs={"cleanup.policy": "compact"}), replica(1, "/d1", "kv", size=3 * TIB)),
        never=("lower_retention", "delete_records"),
    ),
    Advice(
        "partitions of one segment each",
        given(
            plain("many", *[(1,)] * 100, configs={"retention.bytes": str(1200 << 20)}, unread={}),
            *(replica(1, "/d1", "many", number, int(1.75 * GIB)) for number in range(100)),
            source=full(total=200 * GIB),
        ),
        never=("lower_retention",),
        says=("100 replicas keep 175 GiB: smaller segments (segment.bytes, now 1 GiB)",),
    ),
    *(
        Advice(name, given(*parts), never=("lower_retention", "delete_records"), says=(says,))
        for name, says, *parts in FLOORS
    ),
    *(
        Advice(
            name,
            given(*parts, growth=growth),
            order=("investigate", "expand_disk") if is_told else (),
            says=("ask the owner of t for smaller segments",) if is_told else (),
            never_says=() if is_told else ("ask the owner of t for smaller segments",),
        )
        for name, is_told, parts, growth in SEGMENTS
    ),
]


@pytest.mark.parametrize("row", ADVICE, ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)


@pytest.mark.parametrize(("name", "configs", "overridden"), NOT_KEPT, ids=[row[0] for row in NOT_KEPT])
def test_what_is_not_kept_on_purpose_may_be_cut(name, configs, overridden):
    assert cuts(*ledger(configs, overridden), needed=100 * GIB).cuts, name


def tiered(lag, *, configs=None, unread=None):
    made = topic(
        "tier",
        (1,),
        (1,),
        configs=PLAIN | TIERED | (configs or {}),
        unread={0: 0.9} if unread is None else unread,
        remote_copy_lag_bytes=lag,
    )
    return [made, *(replica(1, "/d1", "tier", number, 1700 * GIB) for number in (0, 1))]


class TestTiered:
    @pytest.mark.parametrize("lag", [0, 5 * GIB, 1000 * GIB])
    def test_what_is_copied_goes_without_loss(self, lag):
        found = cuts(*tiered(lag), needed=829 * GIB)
        (cut,) = found.cuts
        assert not cut.way.loses_data
        assert cut.frees_at(HERE) >= 829 * GIB

    def test_what_waits_stays(self):
        (cut,) = cuts(*tiered(3000 * GIB), needed=829 * GIB).cuts
        assert cut.frees_at(HERE) <= 400 * GIB

    def test_a_lag_that_is_not_known_is_said(self):
        (cut_, *_) = recommend(space_alert("critical"), facts(full(), *tiered(None)), policy(), NOW_MS)
        assert cut_.kind == "lower_retention"
        assert [p["holds"] for p in cut_.preconditions if p["name"] == "remote_copied"] == [None]
        assert not cut_.data_loss

    def test_it_gives_all_that_it_can_before_anything_is_lost(self):
        found = cuts(*tiered(0), *alike(1), needed=829 * GIB)
        assert [cut.topic.name for cut in found.cuts] == ["tier"]

    def test_a_ledger_whose_local_copy_goes_keeps_all(self):
        (cut,) = cuts(*tiered(0, configs=FOR_EVER), needed=829 * GIB).cuts
        assert cut.way.key.startswith("local.retention.")


class TestTimeThatIsWon:
    def test_the_action_says_what_it_buys_and_what_stays(self):
        parts = [plain("t", unread={}), replica(1, "/d1", "t", size=2000 * GIB)]
        source = full(growth=40 * MB)
        growth = {(HERE, ("t", 0)): 40.0 * MB}
        found = recommend(space_alert("critical"), facts(source, *parts, growth=growth), policy(), NOW_MS)
        cut = next(action for action in found if action.kind == "lower_retention")
        freed = cut.expected["frees_bytes"]
        assert cut.expected["wins_ms"] == int(freed / (40 * MB) * 1000)
        assert cut.expected["keeps_bytes"] == 2000 * GIB - freed
        assert cut.expected["needs_ms"] == 360_000
        assert "the directory is full" in cut.reason
        assert "every partition keeps at least" in cut.reason

    def test_the_slowest_broker_decides_and_defaults_stand_for_what_is_not_known(self):
        quick = {"log.retention.check.interval.ms": "1000", "log.segment.delete.delay.ms": "1000"}
        parts = [broker(1, **quick), broker(2), plain("t", (1, 2), unread={}), replica(1, "/d1", "t", size=2 * TIB)]
        found = recommend(space_alert("critical"), facts(full(), *parts), policy(), NOW_MS)
        assert next(a for a in found if a.kind == "lower_retention").expected["needs_ms"] == 360_000


class TestWholeCluster:
    def parts(self):
        places = [(number, path) for number in (1, 2) for path in ("/d1", "/d2")]
        names = [f"t{number}" for number in range(3)]
        yield from (full(number=number, path=path) for number, path in places)
        yield from (plain(name, *[(1,)] * 2, *[(2,)] * 2, unread={}) for name in names)
        for name in names:
            yield from (replica(*place, name, number, 800 * GIB) for number, place in enumerate(places))

    def test_every_topic_gives_its_share(self):
        fleet = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="filling", cause=None, severity=Severity.WARNING)
        found = recommend(fleet, facts(*self.parts()), policy(), NOW_MS)
        given_each = [a.expected["on"][0]["bytes"] for a in found if a.kind == "lower_retention"]
        assert len(given_each) == 3
        assert max(given_each) - min(given_each) <= 1 << 20
        assert max(given_each) < 0.5 * 800 * GIB
