"""What an action predicts of itself speaks against it, whatever its kind."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Decision, LogDirStatus
from logdirwatch.plan.action_records import record
from logdirwatch.plan.availability.impact import LEADERLESS, UNDER_MIN_ISR, outlook, veto_predicted_harm
from logdirwatch.plan.availability.leadership import LeadershipState
from logdirwatch.plan.lifecycle.live_check import reasons_against
from logdirwatch.plan.proposal import ProposedAction, Veto, effect
from logdirwatch.plan.reassignment.running_copies import dead_ends
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes import replica_vetoes
from tests.unit.plan.answers import kinds, of_kind, vetoed
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    moving,
    offline,
    partition_of,
    policy,
    replica,
    space_alert,
    topic,
)

LED = LeadershipState((1, 2), 1, (1, 2), min_isr=2)
ALONE = LeadershipState((1, 2), 1, (1,), min_isr=2)
NOBODY = LeadershipState((1, 2), None, (), min_isr=2)


def drafted(kind, *steps, data_loss=False, against=()):
    leadership = outlook([("t-0", dict(zip(("now", "stopped", "started"), steps, strict=False)))])
    found = effect(leadership=leadership)
    return ProposedAction(
        kind, {"broker": 1, "log_dir": "/d1"}, "", found, commands=("do",), data_loss=data_loss, vetoes=against
    )


@pytest.mark.parametrize("kind", list(ActionKind), ids=str)
class TestEveryKind:
    def record(self, *args, **fields):
        return record(drafted(*args, **fields), alert(), None, policy(), NOW_MS)

    @pytest.mark.parametrize("data_loss", [False, True])
    def test_what_takes_a_leader_away_is_vetoed_and_cannot_be_pasted(self, kind, data_loss):
        action = self.record(kind, LED, NOBODY, LED, data_loss=data_loss)
        assert vetoed(action) == [LEADERLESS]
        assert action.commands == []
        assert "t-0 would have no leader while the broker is away" in action.vetoes[0]["reason"]

    def test_what_takes_writes_away_is_vetoed(self, kind):
        assert vetoed(self.record(kind, LED, ALONE, LED)) == [UNDER_MIN_ISR]

    @pytest.mark.parametrize("steps", [(LED, LED), (NOBODY, NOBODY), (NOBODY, LED), (ALONE, ALONE), (ALONE, LED)])
    def test_what_is_no_worse_than_now_is_not(self, kind, steps):
        assert vetoed(self.record(kind, *steps)) == []

    def test_one_partition_that_is_mended_hides_none_that_is_hurt(self, kind):
        paths = [("a-0", {"now": NOBODY, "then": LED}), ("b-0", {"now": LED, "then": NOBODY})]
        draft = ProposedAction(kind, {}, "", effect(leadership=outlook(paths)))
        (veto,) = veto_predicted_harm(draft).vetoes
        assert veto.name == LEADERLESS
        assert veto.reason.startswith("b-0 would have no leader afterwards")

    def test_a_veto_that_says_it_already_is_not_doubled(self, kind):
        said = Veto("last_in_sync_replica", "said")
        assert vetoed(self.record(kind, LED, NOBODY, against=(said,))) == ["last_in_sync_replica"]


def test_many_are_counted_and_some_are_named():
    paths = [(f"t-{number}", {"now": LED, "cancelled": NOBODY}) for number in range(9)]
    (veto,) = veto_predicted_harm(
        ProposedAction(ActionKind.CANCEL_MOVES, {}, "", effect(leadership=outlook(paths)))
    ).vetoes
    assert "t-0, t-1, t-2 and 6 more would have no leader once that is cancelled" in veto.reason


GONE = [broker(number, BrokerStatus.OFFLINE) for number in (1, 2)]
DISKS = [
    *(directory(number, status=LogDirStatus.UNKNOWN) for number in (1, 2)),
    directory(3),
    offline(4, "/d1"),
    directory(4, "/d2"),
]
COPIED = partition_of(
    moving(topic("orders", (3, 4, 1, 2), isr={0: (3,)}), adding=(3, 4), removing=(1, 2)), offline_replicas=(4, 1, 2)
)
PLACES = [replica(number, "/d1", "orders") for number in (1, 2, 3)]


class TestCancelling:
    """KAFKA-14424: the old replicas are gone, and only what the move adds has the data."""

    def cancel(self, *parts):
        found = facts(*GONE, *DISKS, COPIED, *PLACES, *parts)
        return of_kind(recommend(alert(number=4), found, policy(), NOW_MS), ActionKind.CANCEL_MOVES)

    def test_the_last_copy_is_not_thrown_away(self):
        action = self.cancel()
        assert vetoed(action) == [LEADERLESS]
        assert (action.data_loss, action.commands) == (True, [])
        assert (
            "only what the move adds is in sync, and cancelling drops it; bring broker 1, 2 back first" in action.reason
        )

    def test_others_are_cancelled_without_it(self):
        other = moving(topic("calm", (4, 3, 5), isr={0: (3, 5)}), adding=(4,), removing=(5,))
        more = [directory(5), partition_of(other, offline_replicas=(4,)), replica(4, "/d1", "calm", size=MIB)]
        action = self.cancel(*more, *(replica(number, "/d1", "calm") for number in (3, 5)))
        assert (vetoed(action), action.data_loss) == ([], False)
        assert [entry["topic"] for entry in action.expected["cancels"]["partitions"]] == ["calm"]
        assert "Not so orders-0" in action.reason

    def test_one_whose_only_good_copy_is_an_added_one_has_no_source_left(self):
        parts = [*GONE, directory(3), directory(4), *DISKS[:2], partition_of(COPIED, offline_replicas=(1, 2)), *PLACES]
        assert [one.why.name for one in dead_ends(facts(*parts))] == ["no_live_source"]

    def test_a_copy_that_would_overflow_its_disk_is_not_stopped_where_that_drops_the_last_one(self):
        full = [directory(4, "/d1", 900 * MIB), directory(4, "/d2")]
        arriving = replica(4, "/d1", "orders", size=10 * MIB)
        big = [replica(3, "/d1", "orders", size=400 * MIB)]
        parts = [*GONE, *DISKS[:3], *full, partition_of(COPIED, offline_replicas=(1, 2)), *big, arriving]
        planned = recommend(space_alert("critical", number=4), facts(*parts), policy(), NOW_MS)
        assert "cancel_moves" not in kinds(planned)

    def test_the_live_cluster_is_asked_again_before_it_is_done(self):
        parts = [*DISKS, COPIED, *PLACES]
        well = partition_of(COPIED, isr=(1, 2, 3), leader=1, offline_replicas=(4,))
        planned = recommend(
            alert(number=4), facts(*(directory(n) for n in (1, 2)), *DISKS[2:], well, *PLACES), policy(), NOW_MS
        )
        action = of_kind(planned, ActionKind.CANCEL_MOVES)
        assert vetoed(action) == []
        found = reasons_against(action, facts(*GONE, *parts), None, policy(), NOW_MS)
        assert any("orders-0 would have no leader once that is cancelled" in reason for reason in found)


def test_a_restart_that_stops_the_writes_of_a_topic_that_needs_every_replica_is_vetoed():
    strict = topic("t", (1, 2), configs={"min.insync.replicas": "2"})
    parts = [offline(1, cause=None), directory(1, "/d2"), directory(2), strict]
    places = [replica(1, "/d2", "t"), replica(2, "/d1", "t")]
    action = of_kind(recommend(alert(cause=None), facts(*parts, *places), policy(), NOW_MS), ActionKind.RESTART_BROKER)
    assert UNDER_MIN_ISR in vetoed(action)


class TestTheLastInSyncCopy:
    """A repair needs another live in-sync replica than the one that is lost."""

    def veto(self, isr, *parts):
        made = topic("t", (1, 2), isr={0: isr})
        places = [replica(number, "/d1", "t") for number in (1, 2)]
        found = facts(directory(1), directory(2), made, *places, *parts)
        return replica_vetoes.no_live_source(found, found.partitions["t", 0], without=1)

    def test_the_lost_one_itself_is_no_source_though_its_broker_lives(self):
        assert self.veto((1,)).name == "no_live_source"

    def test_another_one_is(self):
        assert self.veto((1, 2)) is None
        assert self.veto((2,)) is None

    def test_another_one_that_is_down_is_none(self):
        assert self.veto((1, 2), broker(2, BrokerStatus.OFFLINE)).name == "no_live_source"


def test_decisions_spell_no_word_of_ours():
    """``accept_other_content`` in an action's decision is never a decision that somebody sent."""
    assert "accept_other_content" not in [str(decision) for decision in Decision]
