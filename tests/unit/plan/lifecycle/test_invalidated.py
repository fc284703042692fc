"""Advice that became wrong is withdrawn at once, and what was carried out keeps what was seen of it."""

from dataclasses import replace as with_fields

from msgspec.structs import replace as changed

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, BrokerStatus, Cause, ClusterOwner, Rule
from logdirwatch.plan.lifecycle.transitions import close, reconcile
from logdirwatch.plan.proposal import Owner
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import of_kind
from tests.unit.plan.builders import (
    FAILED,
    FILLING,
    MIB,
    MINUTE,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    later,
    offline,
    partition_of,
    policy,
    replica,
    space_alert,
    topic,
)

FULL = [offline(1, cause=Cause.FULL, used=1000 * MIB), directory(2), directory(3), topic("t", (1, 2, 3))]


def accepted(kind, an_alert, *parts, **limits):
    action = of_kind(recommend(an_alert, facts(*parts), policy(**limits), NOW_MS), kind)
    return changed(action, status=ActionStatus.ACCEPTED, revision=2)


def look(known, an_alert, *parts, now_ms, **limits):
    fresh, allowed = facts(*parts, inventory_at_ms=now_ms), policy(**limits)
    return reconcile(known, recommend(an_alert, fresh, allowed, now_ms), fresh, allowed, now_ms)


def ends(revisions, kind):
    return [(str(a.status), a.status_reason) for a in revisions if a.kind is kind]


class TestWithdrawn:
    def test_an_accepted_restart_when_another_broker_goes_away(self):
        known = [accepted(ActionKind.RESTART_BROKER, alert(cause=Cause.FULL), *FULL)]
        found = look(known, alert(cause=Cause.FULL), *FULL, broker(2, BrokerStatus.OFFLINE), now_ms=later())
        assert ends(found, ActionKind.RESTART_BROKER)[0] == (
            "withdrawn",
            "it no longer holds: broker 2 is not known to be alive",
        )

    def test_it_is_proposed_again_with_its_veto_and_without_commands(self):
        known = [accepted(ActionKind.RESTART_BROKER, alert(cause=Cause.FULL), *FULL)]
        found = look(known, alert(cause=Cause.FULL), *FULL, broker(2, BrokerStatus.OFFLINE), now_ms=later())
        again = [a for a in found if a.kind is ActionKind.RESTART_BROKER][-1]
        assert (str(again.status), again.revision, again.commands) == ("proposed", 4, [])

    def test_a_new_disk_when_it_turns_out_that_the_old_one_was_only_full(self):
        known = [accepted(ActionKind.REPLACE_DISK, alert(), *FAILED)]
        full = [offline(1, cause=Cause.FULL, used=1000 * MIB), *FAILED[1:]]
        found = look(known, alert(cause=Cause.FULL), *full, now_ms=later())
        assert ends(found, ActionKind.REPLACE_DISK) == [
            ("withdrawn", "it no longer holds: its alert was about the cause failed, and now is about full")
        ]

    def test_what_still_holds_stays(self):
        known = [accepted(ActionKind.RESTART_BROKER, alert(cause=Cause.FULL), *FULL)]
        assert ends(look(known, alert(cause=Cause.FULL), *FULL, now_ms=later()), ActionKind.RESTART_BROKER) == []

    def test_what_runs_is_not_called_back(self):
        known = [changed(accepted(ActionKind.REPLACE_DISK, alert(), *FAILED), status=ActionStatus.RUNNING, observed={})]
        known = [changed(known[0], observed={"started_at_ms": NOW_MS})]
        full = [offline(1, cause=Cause.FULL, used=1000 * MIB), *FAILED[1:]]
        assert ends(look(known, alert(cause=Cause.FULL), *full, now_ms=later()), ActionKind.REPLACE_DISK) == []

    def test_the_same_cause_by_another_plan_withdraws_nothing(self):
        """A rebuilt replica is not planned again; the accepted restart and disk are still what is wanted."""
        known = [accepted(ActionKind.REPLACE_DISK, alert(), *FAILED)]
        rebuilt = [*FAILED[:3], topic("t", (3, 2)), replica(3, "/d1", "t"), replica(2, "/d1", "t")]
        assert ends(look(known, alert(), *rebuilt, now_ms=later()), ActionKind.REPLACE_DISK) == []


class TestCuts:
    """Of t-0's 900 MiB a cut keeps 679 MiB: more than was unread when it was planned."""

    def parts(self, unread, **configs):
        return [
            directory(1, "/d1", 910 * MIB),
            topic("t", (1,), unread={0: unread}, configs=configs),
            replica(1, "/d1", "t", size=900 * MIB),
        ]

    def cut(self, status=ActionStatus.PROPOSED):
        action = accepted(ActionKind.LOWER_RETENTION, space_alert(), *self.parts(0.05), cut_ratio=0.7)
        return changed(action, status=status)

    def limit(self, action):
        return int(action.configs["t"]["retention.bytes"]["to"])

    def test_a_proposal_gives_way_to_one_that_leaves_what_is_unread_now(self):
        known = self.cut()
        assert self.limit(known) == 679 * MIB
        again = of_kind(look([known], space_alert(), *self.parts(0.85), now_ms=later(), cut_ratio=0.7), known.kind)
        assert (again.kind, str(again.status), self.limit(again)) == (known.kind, "proposed", 765 * MIB)

    def test_an_accepted_one_is_withdrawn_and_proposed_anew(self):
        known = self.cut(ActionStatus.ACCEPTED)
        revisions = look([known], space_alert(), *self.parts(0.85), now_ms=later(), cut_ratio=0.7)
        withdrawn, again = (revision for revision in revisions if revision.kind is known.kind)
        ((status, why),) = ends([withdrawn], known.kind)
        assert status == "withdrawn"
        assert "retention.bytes of t would be 711983104: consumer group readers has still to read about 765 MiB" in why
        assert (str(again.status), again.revision, self.limit(again)) == ("proposed", 4, 765 * MIB)

    def test_an_accepted_one_is_withdrawn_where_all_is_unread_and_no_cut_is_left(self):
        found = look([self.cut(ActionStatus.ACCEPTED)], space_alert(), *self.parts(1.0), now_ms=later())
        assert [status for status, _ in ends(found, ActionKind.LOWER_RETENTION)] == ["withdrawn"]

    def test_one_step_of_the_collector_more_withdraws_nothing(self):
        known = self.cut(ActionStatus.ACCEPTED)
        assert ends(look([known], space_alert(), *self.parts(0.8), now_ms=later()), known.kind) == []

    def test_what_was_carried_out_is_not_called_back(self):
        known = self.cut(ActionStatus.ACCEPTED)
        is_set = self.parts(1.0, **{"retention.bytes": str(self.limit(known))})
        (running, *_) = look([known], space_alert(), *is_set, now_ms=later())
        assert (running.kind, str(running.status)) == (known.kind, "running")
        assert ends(look([running], space_alert(), *is_set, now_ms=later(2)), known.kind) == []

    def test_a_cut_whose_alert_is_over_ends_as_ever(self):
        over = space_alert(status=AlertStatus.RESOLVED, to="online", reason="recovered", at_ms=later())
        known, is_done = self.cut(ActionStatus.ACCEPTED), facts(*self.parts(1.0), inventory_at_ms=later(2))
        (closed,) = close([known], over, is_done, policy(), later(2))
        assert closed.status_reason == "its alert is resolved: recovered"

    def test_where_unread_records_are_not_spared_it_waits_for_a_persons_word(self):
        """A cut that goes on into what a group has still to read has a veto, however it is configured."""
        known, free = self.cut(ActionStatus.ACCEPTED), policy(spare_unread=False)
        fresh = facts(*self.parts(1.0), inventory_at_ms=later())
        planned = recommend(space_alert(), fresh, free, later())
        assert [status for status, _ in ends(reconcile([known], planned, fresh, free, later()), known.kind)] == [
            "withdrawn",
            "proposed",
        ]

    def test_an_owner_who_keeps_more_now(self):
        known, kept = self.cut(ActionStatus.ACCEPTED), policy(topics=[{"topic": "t", "min_retention_bytes": 713031680}])
        fresh = facts(*self.parts(0.05), inventory_at_ms=later())
        found = reconcile([known], recommend(space_alert(), fresh, kept, later()), fresh, kept, later())
        (status, why), *_ = ends(found, known.kind)
        assert status == "withdrawn"
        assert why.endswith("would be 711983104: the configuration asks for 713031680 at least")


class TestObserved:
    def moved(self, *, copied):
        place = {"size": 200 * MIB} if copied else {"size": 50 * MIB, "is_future": True}
        left = [] if copied else [replica(1, "/d1", "t", size=200 * MIB)]
        return [*FILLING[:4], *left, replica(1, "/d2", "t", **place), replica(2, "/d1", "t", size=200 * MIB)]

    def test_a_move_that_was_seen_to_begin_tells_how_long_it_took_and_what_it_copied(self):
        known = [of_kind(recommend(space_alert(), facts(*FILLING), policy(), NOW_MS), ActionKind.MOVE_LOG_DIR)]
        (running, *_) = look(known, space_alert(), *self.moved(copied=False), now_ms=later(1))
        (done, *_) = look([running], space_alert(), *self.moved(copied=True), now_ms=later(3))
        assert done.status is ActionStatus.DONE
        assert done.observed["took_ms"] == 2 * MINUTE
        assert done.observed["copies_bytes"] == 200 * MIB
        assert done.observed["usable_bytes"] == 150 * MIB

    def test_one_that_was_only_seen_at_its_end_has_no_time(self):
        known = [of_kind(recommend(space_alert(), facts(*FILLING), policy(), NOW_MS), ActionKind.MOVE_LOG_DIR)]
        (done, *_) = look(known, space_alert(), *self.moved(copied=True), now_ms=later(3))
        assert done.status is ActionStatus.DONE
        assert "took_ms" not in done.observed

    def test_a_rebuilt_replica_tells_its_bytes(self):
        known = [of_kind(recommend(alert(), facts(*FAILED), policy(), NOW_MS), ActionKind.REASSIGN)]
        assert known[0].expected["copies_bytes"] == 100 * MIB
        rebuilt = [*FAILED[:3], topic("t", (3, 2)), replica(3, "/d1", "t", size=90 * MIB), replica(2, "/d1", "t")]
        (done, *_) = look(known, alert(), *rebuilt, now_ms=later())
        assert (done.status, done.observed["copies_bytes"]) == (ActionStatus.DONE, 90 * MIB)


class TestWaves:
    MANY = (
        offline(1),
        directory(2, used=10 * MIB),
        directory(3, used=20 * MIB),
        topic("t", *[(1, 2)] * 3),
        *(replica(number, "/d1", "t", part) for number in (1, 2) for part in range(3)),
    )

    def plan(self, *parts, now_ms=NOW_MS):
        return recommend(alert(), facts(*parts, inventory_at_ms=now_ms), policy(partitions_per_reassignment=2), now_ms)

    def test_a_drift_of_sizes_does_not_change_which_partitions_come_first(self):
        sizes = [replica(1, "/d1", "t", 2, 300 * MIB), replica(2, "/d1", "t", 2, 300 * MIB)]
        one, two = (of_kind(self.plan(*self.MANY, *more), ActionKind.REASSIGN) for more in ([], sizes))
        named = [{(e["topic"], e["partition"]) for e in a.reassignment["partitions"]} for a in (one, two)]
        assert named[0] == named[1] == {("t", 0), ("t", 1)}

    def test_the_next_wave_follows_when_the_first_is_done(self):
        first = of_kind(self.plan(*self.MANY), ActionKind.REASSIGN)
        assert first.expected["later"] == 1
        made = topic("t", (3, 2), (3, 2), (1, 2))
        parts = [*self.MANY[:3], made, replica(1, "/d1", "t", 2)]
        parts += [replica(number, "/d1", "t", part) for number in (3, 2) for part in (0, 1)]
        parts += [replica(2, "/d1", "t", 2)]
        done = [a for a in self.look([first], *parts, now_ms=later(1)) if a.kind is ActionKind.REASSIGN]
        assert [str(a.status) for a in done] == ["done"]
        (following,) = [a for a in self.look(done, *parts, now_ms=later(10)) if a.kind is ActionKind.REASSIGN]
        assert [e["partition"] for e in following.reassignment["partitions"]] == [2]
        assert following.expected["later"] == 0

    def look(self, known, *parts, now_ms):
        fresh = facts(*parts, inventory_at_ms=now_ms)
        plans = recommend(alert(), fresh, policy(partitions_per_reassignment=2), now_ms)
        return reconcile(known, plans, fresh, policy(partitions_per_reassignment=2), now_ms)


def test_a_demotion_that_still_covers_what_is_led_says_nothing_new():
    about = alert(Rule.LOG_DIR_SUSPECT, to="unknown", cause=None, evidence={"why": ["slow_probe"]})
    parts = [directory(1, status="unknown"), directory(2, used=MIB), topic("t", (1, 2), (1, 2))]
    parts += [replica(number, "/d1", "t", part) for number in (1, 2) for part in (0, 1)]
    known = recommend(about, facts(*parts), policy(), NOW_MS)
    assert look(known, about, *parts, now_ms=later()) == []
    one_left = partition_of(parts[2], 0, replicas=(2, 1), leader=2)
    again = look(known, about, *parts, one_left, now_ms=later())
    assert ends(again, ActionKind.DEMOTE_LEADERS)[0][0] == "running"


def test_a_cut_that_strimzi_reverts_is_withdrawn_once_the_cluster_is_known_to_be_strimzis():
    parts = [directory(1, "/d1", 990 * MIB), directory(1, "/d2", 800 * MIB), *FILLING[3:]]
    cut = accepted(ActionKind.LOWER_RETENTION, space_alert(), *parts)
    owned = with_fields(policy(), owner=Owner(ClusterOwner.STRIMZI, "c"))
    fresh = facts(*parts, inventory_at_ms=later())
    found = reconcile([cut], recommend(space_alert(), fresh, owned, later()), fresh, owned, later())
    (status, reason) = ends(found, ActionKind.LOWER_RETENTION)[0]
    assert status == "withdrawn"
    assert "Strimzi reverts it" in reason
