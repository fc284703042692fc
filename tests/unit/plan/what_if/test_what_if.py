"""Changes tried on a snapshot: what they bring, what they cost, and how they refuse."""

from dataclasses import replace

import pytest

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.task import parse_mode
from logdirwatch.plan.cluster.layout import Ramp, full_in_ms
from logdirwatch.plan.what_if.parse import EXAMPLES, MOST_CHANGES, parse
from logdirwatch.plan.what_if.planner import what_if
from tests.unit.plan.builders import MIB, NOW_MS, SIZE, directory, facts, policy, replica
from tests.unit.plan.builders import topic as any_topic

DAY_MS = 86_400_000
CONFIGS = {"retention.ms": str(7 * DAY_MS), "cleanup.policy": "delete", "segment.bytes": str(MIB)}
AT_LIMIT = {"retention.bytes": str(700 * MIB)}
LOCALLY = {"remote.storage.enable": "true", "local.retention.ms": "-2"}
FRESH = {"sample_at_ms": NOW_MS, "state_at_ms": NOW_MS, "incoming_bytes": 0}


def disk(number, path="/d1", used=500 * MIB, **fields):
    return directory(number, path, used, **{"growth_bytes_per_s": float(MIB), **FRESH, **fields})


def topic(name, *assignments, configs):
    """A topic that nothing moves."""
    made = any_topic(name, *assignments, configs=configs)
    return replace(made, partitions=tuple(replace(one, adding=(), removing=()) for one in made.partitions))


@pytest.fixture
def cluster():
    """Three brokers with a directory each; orders has two replicas of 200 MiB and one of 100 MiB is alone."""
    return facts(
        disk(1, used=500 * MIB),
        disk(2, used=400 * MIB),
        disk(3, used=100 * MIB),
        topic("orders", [1, 2], [2, 1], configs=CONFIGS),
        topic("alone", [1], configs=CONFIGS),
        topic("keys", [2], configs={**CONFIGS, "cleanup.policy": "compact"}),
        topic("forever", [3], configs={**CONFIGS, "retention.ms": "-1"}),
        *(replica(n, "/d1", "orders", part, 200 * MIB) for n in (1, 2) for part in (0, 1)),
        replica(1, "/d1", "alone", 0, 100 * MIB),
        replica(2, "/d1", "keys", 0, 0),
        replica(3, "/d1", "forever", 0, 100 * MIB),
    )


def tried(cluster, *texts, mode=None, **limits):
    return what_if(cluster, parse(texts), policy(**limits), mode and parse_mode(mode))


def fills(outcome, broker):
    place = broker, "/d1"
    return next((one.before, one.after) for one in outcome.directories if (one.broker, one.log_dir) == place)


def used_mib(outcome):
    return {(one.broker, one.log_dir): one.after and round(one.after.used_bytes / MIB) for one in outcome.directories}


class TestGrowth:
    def test_a_directory_is_full_as_much_sooner(self, cluster):
        before, after = fills(tried(cluster, "growth=2x"), 1)
        left_ms = (SIZE - 500 * MIB) * 1000 // MIB
        assert before.full_in_ms == left_ms
        assert after.full_in_ms == left_ms // 2
        assert after.growth_bytes_per_s == pytest.approx(2 * MIB)

    @pytest.mark.parametrize(
        ("net", "times", "configs", "grows_mib_a_day", "full_in_days"),
        [
            (0.0, "1.5x", {}, 350 / 7, 6),
            (0.0, "1.2x", {}, 140 / 7, None),
            (0.0, "1x", {}, 0, None),
            (0.0, "0.5x", {}, -350 / 7, None),
            (-10.0, "2x", {}, 700 / 7 - 10, 3),
            (0.0, "2x", {"retention.ms": "-1"}, 0, None),
            (0.0, "2x", {"cleanup.policy": "compact"}, 0, None),
            (0.0, "2x", AT_LIMIT, 0, None),
            (0.0, "0.5x", AT_LIMIT, 0, None),
            (0.0, "9x", AT_LIMIT | {"retention.ms": "-1"}, 0, None),
            (0.0, "2x", AT_LIMIT | {"cleanup.policy": "compact,delete"}, 0, None),
            (0.0, "2x", AT_LIMIT | {"cleanup.policy": "compact"}, 0, None),
            (0.0, "2x", {"retention.bytes": "0"}, 0, None),
            (0.0, "2x", {"retention.bytes": str(699 * MIB)}, 0, None),
            (0.0, "2x", {"retention.bytes": str(990 * MIB)}, 700 / 7, None),
            (0.0, "2x", {"retention.bytes": str(1500 * MIB)}, 700 / 7, 3),
            (0.0, "2x", LOCALLY | {"local.retention.bytes": str(700 * MIB)}, 0, None),
            (0.0, "2x", LOCALLY | {"local.retention.bytes": "-2", "retention.bytes": str(700 * MIB)}, 0, None),
            (0.0, "2x", LOCALLY | {"local.retention.bytes": "-1", "retention.bytes": str(700 * MIB)}, 700 / 7, 3),
        ],
    )
    def test_a_directory_in_balance_holds_more_as_long_as_nothing_more_is_deleted(
        self, net, times, configs, grows_mib_a_day, full_in_days
    ):
        a_day = MIB / 86_400
        here = facts(
            disk(1, used=705 * MIB, growth_bytes_per_s=net * a_day),
            topic("t", [1], configs=CONFIGS | configs),
            replica(1, "/d1", "t", 0, 700 * MIB),
        )
        _, after = fills(tried(here, f"growth={times}"), 1)
        assert after.growth_bytes_per_s == pytest.approx(grows_mib_a_day * a_day)
        assert (after.full_in_ms and round(after.full_in_ms / DAY_MS)) == full_in_days

    def test_what_nobody_knows_stays_unknown(self, cluster):
        unknown = facts(disk(1, growth_bytes_per_s=None), disk(2))
        outcome = tried(unknown, "growth=2x")
        assert fills(outcome, 1)[1].full_in_ms is None
        assert fills(outcome, 2)[1].full_in_ms is not None

    def test_without_growth_it_is_never_full(self, cluster):
        assert fills(tried(cluster, "growth=0"), 1)[1].full_in_ms is None

    def test_nothing_is_copied(self, cluster):
        assert tried(cluster, "growth=2x").moves.bytes == 0


class TestRetention:
    def test_a_cut_frees_in_proportion_less_what_segments_hold(self, cluster):
        outcome = tried(cluster, "retention=orders:84h")
        before, after = fills(outcome, 2)
        assert before.used_bytes - after.used_bytes == 2 * (100 - 1) * MIB
        assert after.growth_bytes_per_s == before.growth_bytes_per_s
        assert outcome.notes == ["orders holds as much history as its retention of 7 d lets it"]

    def test_a_longer_one_is_grown_into_at_the_rate_of_the_topic(self, cluster):
        still = facts(
            disk(1, used=500 * MIB, growth_bytes_per_s=0.0),
            topic("orders", [1], configs=CONFIGS),
            replica(1, "/d1", "orders", 0, 400 * MIB),
        )
        needed = SIZE - 500 * MIB
        enough = f"retention=orders:{7 * (1 + needed / (400 * MIB)) * 24 + 24:.0f}h"
        after = fills(tried(still, enough), 1)[1]
        assert after.full_in_ms == pytest.approx(7 * DAY_MS * needed / (400 * MIB), rel=1e-6)
        assert fills(tried(still, "retention=orders:8d"), 1)[1].full_in_ms is None

    @pytest.mark.parametrize(
        ("text", "mib_a_day", "configs", "freed_mib", "full_in_days"),
        [
            ("84h", None, {}, 349, None),
            ("14d", None, {}, 0, 3),
            ("3d", None, AT_LIMIT, 0, None),
            ("14d", None, AT_LIMIT, 0, None),
            ("14d", None, {"retention.bytes": str(990 * MIB)}, 0, None),
            ("14d", None, {"retention.bytes": str(1500 * MIB)}, 0, 3),
            ("14d", None, LOCALLY | {"local.retention.bytes": str(700 * MIB)}, 0, None),
            ("3d", None, AT_LIMIT | {"cleanup.policy": "compact,delete"}, 0, None),
            ("3d", 700, {}, 0, None),
            ("12h", 700, {}, 349, None),
            ("84h", 10, {}, 349, None),
            ("84h", 0, {}, 349, None),
            ("14d", 700, {}, 0, None),
        ],
    )
    def test_what_a_topic_holds_follows_from_the_limit_that_holds_it(
        self, text, mib_a_day, configs, freed_mib, full_in_days
    ):
        rate = {} if mib_a_day is None else {((1, "/d1"), ("t", 0)): mib_a_day * MIB / 86_400}
        here = facts(
            disk(1, used=705 * MIB, growth_bytes_per_s=0.0),
            topic("t", [1], configs=CONFIGS | configs),
            replica(1, "/d1", "t", 0, 700 * MIB),
            growth=rate,
        )
        before, after = fills(tried(here, f"retention=t:{text}"), 1)
        assert (before.used_bytes - after.used_bytes) / MIB == freed_mib
        assert (after.full_in_ms and round(after.full_in_ms / DAY_MS)) == full_in_days

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("retention=ordres:3d", "no topic ordres in c; did you mean orders?"),
            ("retention=keys:3d", "keys is compacted only"),
            ("retention=forever:3d", "the retention of forever is unlimited"),
            ("retention=orders", "write a topic and how long"),
            ("retention=orders:3x", "write a topic and how long"),
            ("retention=:3d", "write a topic and how long"),
            ("retention=orders:0d", "write a topic and how long"),
        ],
    )
    def test_what_cannot_be_said_is_one_line(self, cluster, text, why):
        with pytest.raises(UserError, match=why) as refused:
            tried(cluster, text)
        assert str(refused.value).startswith(f"what-if {text}: ")
        assert "\n" not in str(refused.value)
        assert refused.value.exit_code == 2


class TestAddDisks:
    def test_a_new_disk_takes_its_share_of_the_broker_and_the_growth_goes_along(self, cluster):
        outcome = tried(cluster, "add-disks=1:2TB")
        before, after = fills(outcome, 1)
        moved = outcome.moves
        assert moved.bytes == moved.within_brokers_bytes > 0
        assert used_mib(outcome)[1, "/d1"] == 500 - moved.bytes / MIB
        assert used_mib(outcome)[1, "new-1"] == moved.bytes / MIB
        new = next(one for one in outcome.directories if one.log_dir == "new-1")
        assert new.before is None
        assert after.growth_bytes_per_s + new.after.growth_bytes_per_s == pytest.approx(before.growth_bytes_per_s)
        assert moved.needs_ms > 0

    def test_other_brokers_are_left_alone_unless_a_mode_says_otherwise(self, cluster):
        uneven = facts(
            *(disk(1, path, used) for path, used in (("/a", 400 * MIB), ("/b", 0))),
            disk(2, "/a", 400 * MIB),
            topic("t", *[[1]] * 4, *[[2]] * 4, configs=CONFIGS),
            *(replica(1, "/a", "t", n, 100 * MIB) for n in range(4)),
            *(replica(2, "/a", "t", n, 100 * MIB) for n in range(4, 8)),
        )
        assert used_mib(tried(uneven, "add-disks=2:1GiB"))[1, "/b"] == 0
        whole = tried(uneven, "add-disks=2:1GiB", mode="balance-all")
        assert used_mib(whole)[1, "/b"] > 0

    def test_several_at_once_and_twice(self, cluster):
        outcome = tried(cluster, "add-disks=3:2x1TB", "add-disks=3:1TiB")
        new = [one for one in outcome.directories if one.before is None]
        sizes = {one.log_dir: one.after.total_bytes for one in new}
        assert sizes == {"new-1": 10**12, "new-2": 10**12, "new-3": 2**40}

    @pytest.mark.parametrize("value", ["3", "3:", "3:8", "3:0x8TB", "3:-8TB", "x:8TB", "3:8XB", "3:101x8TB", ":8TB"])
    def test_what_is_no_disk_is_refused(self, cluster, value):
        with pytest.raises(UserError, match="what-if add-disks"):
            tried(cluster, f"add-disks={value}")

    def test_a_broker_that_is_not_there(self, cluster):
        with pytest.raises(UserError, match="no broker 9 in c; its brokers: 1-3"):
            tried(cluster, "add-disks=9:8TB")


class TestLoseBroker:
    def test_what_it_held_is_rebuilt_where_there_is_room_and_what_was_alone_is_lost(self, cluster):
        outcome = tried(cluster, "lose-broker=1")
        assert fills(outcome, 1)[1] is None
        assert used_mib(outcome) == {(1, "/d1"): None, (2, "/d1"): 400, (3, "/d1"): 500}
        assert outcome.moves.between_brokers_bytes == 400 * MIB
        assert outcome.unplaced.lost == ["alone-0"]
        assert outcome.unplaced.replicas == 0

    def test_the_growth_of_what_is_rebuilt_goes_along(self, cluster):
        before, after = fills(tried(cluster, "lose-broker=1"), 3)
        assert after.growth_bytes_per_s == pytest.approx(before.growth_bytes_per_s + MIB * 400 / 500)

    @pytest.mark.parametrize(
        ("orders", "alone", "brings"),
        [(0.0, MIB, 0.0), (MIB / 4, 0.0, MIB / 2), (MIB, 0.0, MIB), (None, MIB / 2, MIB / 2), (0.0, None, 0.0)],
        ids=["it does not grow", "it grows", "deleted as it is written", "not known, but the rest", "all of the rest"],
    )
    def test_a_replica_brings_its_own_growth(self, cluster, orders, alone, brings):
        """1 MiB/s in all: what is not known of two replicas of orders and one of alone is in these."""
        rates = {("orders", 0): orders, ("orders", 1): orders, ("alone", 0): alone}
        known = {((1, "/d1"), key): rate for key, rate in rates.items() if rate is not None}
        before, after = fills(tried(replace(cluster, growth=known), "lose-broker=1"), 3)
        assert after.growth_bytes_per_s - before.growth_bytes_per_s == pytest.approx(brings)

    def test_it_takes_as_long_as_the_busiest_broker_copies(self, cluster):
        outcome = tried(cluster, "lose-broker=1", replication_throttle_bytes_per_s=10 * MIB)
        assert outcome.moves.needs_ms == 40_000

    def test_what_fits_nowhere_is_counted_with_its_reason(self, cluster):
        outcome = tried(cluster, "lose-broker=1", destination_max_ratio=0.3)
        assert (outcome.unplaced.replicas, outcome.unplaced.bytes) == (2, 400 * MIB)
        assert outcome.unplaced.reason
        assert used_mib(outcome)[3, "/d1"] == 100

    def test_more_than_one_plan_may_name_are_rebuilt(self, cluster):
        outcome = tried(cluster, "lose-broker=1", partitions_per_reassignment=1)
        assert outcome.moves.replicas == 2

    def test_two_may_be_lost(self, cluster):
        outcome = tried(cluster, "lose-broker=1", "lose-broker=3")
        assert {one.broker for one in outcome.directories if one.after is not None} == {2}

    @pytest.mark.parametrize(
        ("text", "why"), [("lose-broker=9", "no broker 9 in c; its brokers: 1-3"), ("lose-broker=x", "no broker's id")]
    )
    def test_what_is_no_broker_is_refused(self, cluster, text, why):
        with pytest.raises(UserError, match=why):
            tried(cluster, text)

    def test_the_last_broker_cannot_be_lost(self):
        with pytest.raises(UserError, match="c has no other broker"):
            tried(facts(disk(1)), "lose-broker=1")


class TestTogether:
    def test_the_order_in_which_they_are_written_is_of_no_account(self, cluster):
        texts = ["lose-broker=1", "add-disks=3:2TB", "retention=orders:84h", "growth=1.5x"]
        one, other = tried(cluster, *texts), tried(cluster, *reversed(texts))
        assert one == other
        assert one.what_if == list(reversed(texts))

    def test_a_new_disk_takes_what_a_lost_broker_held(self, cluster):
        outcome = tried(cluster, "lose-broker=1", "add-disks=3:2TB")
        assert outcome.unplaced.replicas == 0
        assert used_mib(outcome)[3, "new-1"] >= 400

    def test_what_is_full_first_comes_first(self, cluster):
        outcome = tried(cluster, "growth=1.5x")
        assert [one.broker for one in outcome.directories] == [1, 2, 3]

    @pytest.mark.parametrize(
        "text", ["", "grow=2x", "growth", "=", "lose-brokr=7", "growth=nan", "growth=-1x", "growth=x"]
    )
    def test_what_is_no_change_is_refused_with_what_there_is(self, text):
        with pytest.raises(UserError, match="what-if") as refused:
            parse([text])
        assert "\n" not in str(refused.value)

    def test_the_nearest_name_is_proposed(self):
        with pytest.raises(UserError, match=r"did you mean lose-broker\?") as refused:
            parse(["lose-brokr=7"])
        assert EXAMPLES in str(refused.value)

    def test_there_is_an_end_of_them(self):
        with pytest.raises(UserError, match=f"at most {MOST_CHANGES}"):
            parse(["growth=1x"] * (MOST_CHANGES + 1))


@pytest.mark.parametrize(
    ("left", "growth", "ramps", "expected"),
    [
        (1_000, 1.0, [], 1_000_000),
        (1_000, 0.0, [], None),
        (1_000, -1.0, [], None),
        (0, 0.0, [], 0),
        (1_000, 1.0, [Ramp(1.0, 100_000)], 900_000),
        (1_000, 0.0, [Ramp(10.0, 100_000)], 100_000),
        (1_000, 0.0, [Ramp(9.0, 100_000)], None),
        (1_000, 0.0, [Ramp(5.0, 100_000), Ramp(5.0, 200_000)], 100_000),
        (1_000, 0.0, [Ramp(5.0, 50_000), Ramp(5.0, 200_000)], 150_000),
        (1_000, -1.0, [Ramp(2.0, 500_000)], None),
    ],
)
def test_when_a_directory_is_full(left, growth, ramps, expected):
    assert full_in_ms(left, growth, ramps) == expected
