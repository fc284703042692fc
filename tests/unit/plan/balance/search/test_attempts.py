"""More than one attempt at a pool: the best one stays, and nothing of the others."""

from hypothesis import given

from logdirwatch.plan.balance.model import board
from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.search import attempts
from logdirwatch.plan.balance.summary import summarise
from tests.support.properties import examples
from tests.unit.plan.balance.builders import at, cluster, moved, planned, used
from tests.unit.plan.balance.test_properties import clusters


def test_a_dear_plan_is_made_again_in_another_way(monkeypatch):
    # /a is too full by 346, and x1 finds room only as long as the others have not taken the small ones.
    model = cluster(
        at(1, "/a", x0=420, x1=270, s0=20, s1=20, s2=20, s3=20, s4=20),
        at(1, "/b", b0=120, b1=110, b2=100),
        at(1, "/c", c0=110, c1=90, c2=130),
        at(1, "/d", d0=120, d1=60),
    )
    best = summarise(planned(model, "balance-disks"))
    monkeypatch.setattr(attempts, "MOST_UNITS", 0)
    first = summarise(planned(model, "balance-disks"))
    assert (first.moved.bytes, best.moved.bytes) == (580, 430)
    assert best.outside == []


def test_a_cheap_plan_is_the_first(monkeypatch):
    monkeypatch.setattr(attempts, "_large_first", None)
    plan = planned(cluster(at(1, "/a", **{f"t{n}": 1 for n in range(600)}), at(1, "/b", u0=400)), "balance-disks")
    assert used(plan.after) == {(1, "/a"): 545, (1, "/b"): 455}
    assert len(moved(plan)) == 55


@given(model=clusters())
@examples(20)
def test_no_plan_is_worse_than_the_first_attempt(model):
    for mode in ("balance-disks", "balance-brokers", "balance-all"):
        best = worth(planned(model, mode))
        kept, attempts.MOST_UNITS = attempts.MOST_UNITS, 0
        try:
            assert best <= worth(planned(model, mode))
        finally:
            attempts.MOST_UNITS = kept


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
