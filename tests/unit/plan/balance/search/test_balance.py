"""Balance, on clusters of a few replicas. Directories hold 1000 bytes unless said otherwise; the tolerance is 9 %."""

import pytest
from hypothesis import given

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model import board
from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.task import Kind, Mode, parse_mode
from logdirwatch.plan.balance.search import balance as search_balance
from logdirwatch.plan.balance.summary import summarise
from tests.support.properties import examples
from tests.unit.plan.balance.builders import at, cluster, layout, moved, planned, used
from tests.unit.plan.balance.test_properties import clusters


def brokers_of(model, topic, number):
    return [broker for broker, _, _ in layout(model)[topic, number]]


class TestWithinBrokers:
    def test_the_fullest_directory_gives_as_little_as_it_must(self):
        plan = planned(cluster(at(1, "/a", t0=300, t1=200, t2=90, t3=10), at(1, "/b", t4=400)), "balance-disks")
        assert moved(plan) == ["t2 1/a 1/b"]

    def test_one_replica_that_does_is_taken_before_two(self):
        plan = planned(cluster(at(1, "/a", t0=500, t1=80, t2=20, t3=75), at(1, "/b", t4=475)), "balance-disks")
        assert moved(plan) == ["t3 1/a 1/b"]

    def test_a_directory_that_is_new_takes_from_all_others(self):
        old = [at(1, f"/{name}", **{f"{name}{n}": 30 for n in range(20)}) for name in "abc"]
        plan = planned(cluster(*old, at(1, "/new")), "balance-disks")
        assert set(used(plan.after).values()) == {420, 450, 480}
        assert {move.split()[2] for move in moved(plan)} == {"1/new"}
        assert summarise(plan).outside == []

    def test_what_is_within_the_tolerance_stays(self):
        plan = planned(cluster(at(1, "/a", t0=540), at(1, "/b", t1=300, t2=160)), "balance-disks")
        assert moved(plan) == []
        assert plan.waves == ()

    def test_two_replicas_are_swapped_where_no_single_move_does(self):
        plan = planned(cluster(at(1, "/a", t0=390, t1=310), at(1, "/b", t2=270, t3=130)), "balance-disks")
        assert moved(plan) == ["t1 1/a 1/b", "t3 1/b 1/a"]
        assert summarise(plan).outside == []

    def test_of_two_swaps_the_one_that_leaves_least_is_taken(self):
        plan = planned(cluster(at(1, "/a", t0=240, t1=110), at(1, "/b", t2=300, t3=350, t4=140)), "balance-disks")
        assert moved(plan) == ["t1 1/a 1/b", "t2 1/b 1/a"]
        assert used(plan.after) == {(1, "/a"): 540, (1, "/b"): 600}

    def test_what_cannot_be_mended_is_listed_with_the_reason(self):
        plan = planned(cluster(at(1, "/a", t0=600), at(1, "/b", t1=200)), "balance-disks")
        assert moved(plan) == []
        outside = summarise(plan).outside
        assert [(one.broker, one.log_dir, one.used_ratio, one.mean_ratio) for one in outside] == [
            (1, "/a", 0.6, 0.4),
            (1, "/b", 0.2, 0.4),
        ]
        assert {one.reason for one in outside} == {
            "no single move and no swap of two replicas brings it within the tolerance, or nearer by a tenth"
        }

    def test_what_cannot_be_brought_in_is_brought_nearer(self):
        model = cluster(at(1, "/a", t0=600, t1=40, t2=40), at(1, "/b", t3=60), at(1, "/c", t4=60))
        plan = planned(model, "balance-disks")
        assert used(plan.after)[1, "/a"] == 600

    def test_a_directory_of_twice_the_size_takes_twice_as_much(self):
        parts = {f"t{n}": 50 for n in range(18)}
        plan = planned(cluster(at(1, "/a", **parts), at(1, "/b", capacity=2000)), "balance-disks")
        assert used(plan.after) == {(1, "/a"): 300, (1, "/b"): 600}

    def test_other_brokers_are_not_looked_at(self):
        plan = planned(cluster(at(1, "/a", t0=800), at(2, "/a", t1=10)), "balance-disks")
        assert moved(plan) == []

    def test_the_bytes_are_those_of_the_bound_where_sizes_allow(self):
        sizes = {f"t{n}": 10 for n in range(70)}
        plan = planned(cluster(at(1, "/a", **sizes), at(1, "/b", u0=300)), "balance-disks")
        told = summarise(plan)
        assert (told.lower_bound.bytes, told.moved.bytes) == (155, 160)


class TestBetweenBrokers:
    def test_the_fullest_broker_gives_to_the_emptiest(self):
        plan = planned(cluster(at(1, t0=400, t1=200), at(2, t2=400), at(3, t3=200)), "balance-brokers")
        assert moved(plan) == ["t1 1/a 3/a"]

    def test_the_directory_that_stays_the_emptiest_takes_it(self):
        model = cluster(
            at(1, "/a", t0=400, t1=150),
            at(1, "/b", t2=400),
            at(2, "/a", t3=150),
            at(2, "/b", t4=100, capacity=2000),
            at(2, "/c", t5=50, capacity=400),
        )
        plan = planned(model, "balance-brokers", tolerance=0.8)
        assert moved(plan) == ["t1 1/a 2/b"]

    def test_no_partition_is_ever_twice_on_a_broker(self):
        plan = planned(cluster(at(1, t0=300, t1=300), at(2, t0=300, t1=300), at(3)), "balance-brokers")
        for number in (0, 1):
            assert len(set(brokers_of(plan.after, "t", number))) == 2
        assert used(plan.after)[3, "/a"] == 300

    def test_followers_move_and_leaders_stay(self):
        model = cluster(at(1, t0=100, t1=100, t2=100), at(2, t0=100, t1=100, t2=100, t3=100, t4=100), at(3))
        plan = planned(model, "balance-brokers", tolerance=0.3)
        assert len(moved(plan)) == 2
        assert {move[:2] for move in moved(plan)} < {"t0", "t1", "t2"}
        assert summarise(plan).moved.leaders == 0

    def test_a_leader_moves_where_no_follower_helps_and_keeps_its_place_in_the_order(self):
        model = cluster(at(1, t0=200, t1=200, t2=200), at(2, t0=200), at(3, t1=200), at(4))
        plan = planned(model, "balance-brokers", tolerance=0.7)
        told = summarise(plan)
        assert told.moved.leaders == 1
        assert told.outside == []
        moved_leader = moved(plan)[0][1]
        assert brokers_of(plan.after, "t", int(moved_leader))[0] == 4

    def test_racks_that_hold_a_replica_each_keep_theirs(self):
        model = cluster(
            at(1, rack="x", t0=300, t1=300), at(2, rack="x"), at(3, rack="y", t0=300, t1=300), at(4, rack="y")
        )
        plan = planned(model, "balance-brokers")
        for number in (0, 1):
            one, other = brokers_of(plan.after, "t", number)
            assert one in {1, 2}
            assert other in {3, 4}
        assert set(used(plan.after).values()) == {300}

    def test_a_rack_that_cannot_be_balanced_is_told_with_the_bound_that_counts_racks(self):
        model = cluster(at(1, rack="x", t0=300, t1=300), at(2, rack="y", t0=300), at(3, rack="y", t1=300))
        plan = planned(model, "balance-brokers")
        assert moved(plan) == []
        assert {one.broker for one in summarise(plan).outside} == {1, 2, 3}

    def test_what_racks_cost_is_in_a_bound_of_its_own(self):
        # Rack x has 60 bytes too much on broker 1, rack y lacks 30 on broker 3; no byte can serve both.
        names = [f"t{n}" for n in range(60)]
        model = cluster(
            at(1, rack="x", **dict.fromkeys(names[:36], 10)),
            at(2, rack="x", **dict.fromkeys(names[36:], 10)),
            at(3, rack="y", **dict.fromkeys(names[:15], 10)),
            at(4, rack="y", **dict.fromkeys(names[15:37], 10)),
            at(5, rack="y", **dict.fromkeys(names[37:], 10)),
        )
        told = summarise(planned(model, "balance-brokers", tolerance=0.25))
        assert (told.lower_bound.bytes, told.lower_bound.in_racks_bytes, told.moved.bytes) == (60, 90, 90)
        assert told.outside == []

    def test_nothing_goes_from_a_rack_to_a_broker_without_one(self):
        plan = planned(cluster(at(1, rack="x", t0=300, t1=300), at(2, rack="")), "balance-brokers")
        assert moved(plan) == []
        plan = planned(cluster(at(1, rack="", t0=300, t1=300), at(2, rack="")), "balance-brokers")
        assert len(moved(plan)) == 1

    def test_racks_that_are_shared_already_may_get_better_not_worse(self):
        model = cluster(at(1, rack="x", t0=200, t1=200), at(2, rack="x", t0=200, t2=200), at(3, rack="y"))
        plan = planned(model, "balance-brokers", tolerance=0.5)
        assert sorted(brokers_of(plan.after, "t", 0)) in ([1, 3], [2, 3])


class TestAllDirectories:
    def test_a_replica_moves_once_to_where_it_is_to_stay(self):
        model = cluster(
            at(1, "/a", t0=300, t1=300), at(1, "/b", t2=300, t3=300), at(2, "/a", t4=300), at(2, "/b", t5=300)
        )
        plan = planned(model, "balance-all", tolerance=0.5)
        assert moved(plan) == []
        model = cluster(at(1, "/a", t0=300, t1=300), at(1, "/b", t2=300, t3=300), at(2, "/a"), at(2, "/b"))
        plan = planned(model, "balance-all")
        assert set(used(plan.after).values()) == {300}
        assert len(moved(plan)) == 2

    def test_a_directory_of_the_same_broker_is_as_good_and_moves_no_leader(self):
        plan = planned(cluster(at(1, "/a", t0=300, t1=300), at(1, "/b"), at(2, "/a", t2=300)), "balance-all")
        assert len(moved(plan)) == 1
        assert summarise(plan).moved.leaders == 0


@pytest.mark.parametrize("mode", ["balance-disks", "balance-brokers", "balance-all"])
class TestInEveryMode:
    def test_internal_topics_stay(self, mode):
        model = cluster(at(1, "/a", __consumer_offsets0=400, _schemas0=300), at(1, "/b"), at(2, "/a"), at(2, "/b"))
        assert moved(planned(model, mode)) == []

    def test_further_topics_are_internal_or_untouchable_by_configuration(self, mode):
        model = cluster(at(1, "/a", t0=400, u0=400), at(1, "/b"), at(2, "/a"), at(2, "/b"))
        assert moved(planned(model, mode, internal_topics=["t", "u"])) == []
        assert moved(planned(model, mode, never_touch=["?"])) == []
        assert moved(planned(model, mode, never_touch=["t"]))[0].startswith("u0 ")

    def test_a_name_that_kafka_cannot_move_stays(self, mode):
        model = cluster(at(1, "/a", **{"n" * 220 + "0": 400, "m" * 220 + "0": 400}), at(1, "/b"), at(2, "/a"))
        assert moved(planned(model, mode)) == []

    def test_nothing_moves_without_a_byte(self, mode):
        model = cluster(at(1, "/a", t0=0, t1=400, t2=400), at(1, "/b"), at(2, "/a"), at(2, "/b"))
        assert not any(move.startswith("t0 ") for move in moved(planned(model, mode)))

    def test_a_cluster_without_replicas_is_balanced(self, mode):
        plan = planned(cluster(at(1), at(2)), mode)
        assert moved(plan) == []
        assert summarise(plan).outside == []

    def test_no_directory_is_filled_above_the_limit(self, mode):
        model = cluster(
            at(1, "/a", t0=450, t1=60, t2=440), at(1, "/b", t3=800), at(2, "/a", t4=850), at(2, "/b", t5=790)
        )
        plan = planned(model, mode, tolerance=0.05, destination_max_ratio=0.85)
        before, after = used(plan.before), used(plan.after)
        assert all(after[place] <= max(850, before[place]) for place in after)
        assert summarise(plan).violations.directories_over_limit == 0


@pytest.mark.parametrize(
    "text",
    ["balance", "evacuate", "evacuate:1", "evacuate:1:", "evacuate:x:/a", "evacuate:-1:/a", "balance-disks:1:/a", ""],
)
def test_another_mode_is_wrong_use(text):
    with pytest.raises(UserError, match="there are balance-disks") as refused:
        parse_mode(text)
    assert refused.value.exit_code == 2


def test_a_path_may_hold_colons():
    mode = parse_mode("evacuate:7:/data:1/d0")
    assert mode == Mode(Kind.EVACUATE, (7, "/data:1/d0"))
    assert str(mode) == "evacuate:7:/data:1/d0"


def test_a_dear_plan_is_made_again_in_another_way(monkeypatch):
    # /a is too full by 346, and x1 finds room only as long as the others have not taken the small ones.
    model = cluster(
        at(1, "/a", x0=420, x1=270, s0=20, s1=20, s2=20, s3=20, s4=20),
        at(1, "/b", b0=120, b1=110, b2=100),
        at(1, "/c", c0=110, c1=90, c2=130),
        at(1, "/d", d0=120, d1=60),
    )
    best = summarise(planned(model, "balance-disks"))
    monkeypatch.setattr(search_balance, "MOST_UNITS", 0)
    first = summarise(planned(model, "balance-disks"))
    assert (first.moved.bytes, best.moved.bytes) == (580, 430)
    assert best.outside == []


def test_a_cheap_plan_is_the_first(monkeypatch):
    monkeypatch.setattr(search_balance, "_large_first", None)
    plan = planned(cluster(at(1, "/a", **{f"t{n}": 1 for n in range(600)}), at(1, "/b", u0=400)), "balance-disks")
    assert used(plan.after) == {(1, "/a"): 545, (1, "/b"): 455}
    assert len(moved(plan)) == 55


@given(model=clusters())
@examples(20)
def test_no_plan_is_worse_than_the_first_attempt(model):
    for mode in ("balance-disks", "balance-brokers", "balance-all"):
        best = worth(planned(model, mode))
        kept, search_balance.MOST_UNITS = search_balance.MOST_UNITS, 0
        try:
            assert best <= worth(planned(model, mode))
        finally:
            search_balance.MOST_UNITS = kept


def worth(plan):
    told = summarise(plan)
    return sum(one.off_bytes for one in told.outside), told.moved.bytes


def closed_racks(partitions=60):
    """A small rack that is too full and a large empty one, each with a replica of every partition: nothing helps."""
    sizes = {f"t{number}": 10 + number for number in range(partitions)}
    full, empty = dict(list(sizes.items())[:40]), dict(list(sizes.items())[40:])
    return cluster(
        at(1, "/a", 2000, "small", **full),
        at(2, "/a", 2000, "small", **empty),
        at(3, "/a", 20_000, "large", **full),
        at(4, "/a", 20_000, "large", **empty, solo0=1),
    )


def test_a_goal_that_racks_forbid_costs_no_more_attempts_than_a_plan_has(monkeypatch):
    tried = []
    may_go = Board.may_go
    monkeypatch.setattr(Board, "may_go", lambda *rest: tried.append(1) or may_go(*rest))
    for budget in (500, 2_000):
        monkeypatch.setattr(board, "ATTEMPTS", budget)
        monkeypatch.setattr(board, "ATTEMPTS_PER_REPLICA", 0)
        tried.clear()
        plan = planned(closed_racks(), "balance-all")
        assert len(tried) < 3 * budget
        if not plan.is_searched:
            assert "the search ended before every swap was tried" in summarise(plan).outside[0].reason


def test_a_search_that_ended_early_says_so(monkeypatch):
    monkeypatch.setattr(board, "ATTEMPTS", 1)
    monkeypatch.setattr(board, "ATTEMPTS_PER_REPLICA", 0)
    plan = planned(closed_racks(), "balance-all")
    assert not plan.is_searched
    assert {one.reason for one in summarise(plan).outside} == {
        "the search ended before every swap was tried: the rules forbid nearly all of them"
    }
