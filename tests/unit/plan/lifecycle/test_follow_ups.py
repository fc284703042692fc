"""What follows an action that was carried out: the way back once the danger is over, and limits that stayed behind."""

import msgspec
import pytest
from msgspec.structs import replace as changed

from logdirwatch.jobs.queries.recommend import Recommender
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, Decision, LogDirStatus, Rule
from logdirwatch.plan.cluster.cordons import CORDON
from logdirwatch.plan.commands.throttles import within_brokers
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from logdirwatch.plan.lifecycle.follow_ups import follow_ups, is_follow_up, may_owe, unsettled
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import LogDirRule, TopicRule
from tests.unit.plan.answers import kinds
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    action,
    alert,
    broker,
    decision,
    directory,
    facts,
    policy,
    replica,
    space_alert,
    topic,
)

MINUTE = 60_000
RESERVED = {"log_dirs": (LogDirRule(reserve_file="reserve", reserve_bytes=40 * MIB),)}
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class Story:
    """A book that is told of an alert, of what people say, and of facts that change with time.

    As in production, nobody looks while no cluster is open, and facts are there of the open ones alone.
    """

    def __init__(self, *parts, limits=None, **fields):
        # Cut down to the target, as moves go: here it is about what follows a cut.
        self.policy = policy(**({"cut_ratio": 0.7} | (limits or {})))
        self.fields, self.records, self.minute = fields, [], 0
        self.book = ActionTracker(60_000)
        self.tell(topics.ALERTS, space_alert(to="saturated"))
        self.look(*parts)

    @property
    def now_ms(self):
        return NOW_MS + self.minute * MINUTE

    def tell(self, topic_name, record):
        self.records.append((topic_name, record))
        self.book.take(topic_name, b"", msgspec.json.encode(record), -1)

    def look(self, *parts, after=0):
        """Let minutes pass and look at facts of that moment; return what is published, runbook steps left out."""
        self.minute += after
        found = facts(*parts, inventory_at_ms=self.now_ms, **self.fields)
        return self.revise(dict.fromkeys(self.book.open_clusters, found)) if self.is_waiting() else []

    def revise(self, known):
        published = self.book.revise(known, lambda _: self.policy, self.now_ms)
        self.records += [(topics.ACTIONS, action) for action in published]
        return [(str(a.kind), str(a.status)) for a in published if a.kind is not ActionKind.INVESTIGATE]

    def resolve(self):
        self.tell(
            topics.ALERTS,
            space_alert(revision=9, status=AlertStatus.RESOLVED, to="online", reason="recovered", at_ms=self.now_ms),
        )

    def restart(self):
        self.book = ActionTracker(60_000)
        for name, record in self.records:
            self.book.take(name, b"", msgspec.json.encode(record), -1)

    def latest(self, kind):
        return next(a for name, a in reversed(self.records) if name == topics.ACTIONS and a.kind is kind)

    def accept(self, kind):
        said = changed(decision(Decision.ACCEPT, at_ms=self.now_ms), id=self.latest(kind).action_id)
        self.tell(topics.DECISIONS, said)

    def is_waiting(self):
        return self.book.open_clusters == {"c"}


FULL = [directory(1, "/d1", 850 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB)]


def lowered(story, used=600 * MIB, size=230 * MIB, **fields):
    to = story.latest(ActionKind.LOWER_RETENTION).configs["t"]["retention.bytes"]["to"]
    cut = topic("t", (1,), configs={"retention.bytes": to}, overridden=frozenset({"retention.bytes"}))
    return [directory(1, "/d1", used, **fields), cut, replica(1, "/d1", "t", size=size)]


class TestRetention:
    def done(self, **limits):
        story = Story(*FULL, limits=limits)
        story.look(*lowered(story), after=6)
        story.resolve()
        return story

    def test_it_is_restored_when_the_alert_is_over_and_there_is_room(self):
        story = self.done(topics=(TopicRule(owner="ann"),))
        assert story.latest(ActionKind.LOWER_RETENTION).status == "done"
        published = story.look(*lowered(story, used=400 * MIB), after=4)
        assert published == [("restore_retention", "proposed")]
        action = story.latest(ActionKind.RESTORE_RETENTION)
        assert action.target["after"] == story.latest(ActionKind.LOWER_RETENTION).action_id
        assert action.alert_id == "alert"
        assert action.commands[0].endswith("--delete-config retention.bytes")
        assert action.expected["on"] == [{"broker": 1, "log_dir": "/d1", "bytes": -151 * MIB}]
        assert "ann, the owner of t" in action.reason
        assert not action.data_loss
        assert action.expires_at_ms == story.now_ms + 24 * 60 * MINUTE

    def test_nothing_is_restored_while_the_alert_fires(self):
        story = Story(*FULL)
        story.look(*lowered(story), after=6)
        kinds = {
            kind for minutes in (3, 3, 3) for kind, _ in story.look(*lowered(story, used=400 * MIB), after=minutes)
        }
        assert "restore_retention" not in kinds

    def test_without_room_for_what_comes_back_it_waits_and_says_what_is_missing(self):
        story = self.done()
        story.look(*lowered(story, used=600 * MIB), after=4)
        action = story.latest(ActionKind.RESTORE_RETENTION)
        assert [veto["name"] for veto in action.vetoes] == ["no_room_for_old_retention"]
        assert "51 MiB are missing in /d1 of broker 1 below 70 %" in action.vetoes[0]["reason"]
        assert action.commands == []
        assert story.look(*lowered(story, used=400 * MIB), after=1) == [("restore_retention", "proposed")]
        assert story.latest(ActionKind.RESTORE_RETENTION).commands

    def test_a_directory_that_fills_again_takes_the_advice_back(self):
        story = self.done()
        story.look(*lowered(story, used=400 * MIB), after=4)
        story.look(*lowered(story, used=400 * MIB, status=LogDirStatus.FILLING), after=1)
        assert [v["name"] for v in story.latest(ActionKind.RESTORE_RETENTION).vetoes] == ["not_over"]

    def test_a_restored_limit_is_seen_and_the_alert_forgotten(self):
        story = self.done()
        story.look(*lowered(story, used=400 * MIB), after=4)
        assert story.look(*FULL, after=2) == [("restore_retention", "done")]
        assert not story.is_waiting()

    def test_a_limit_that_somebody_restored_already_needs_nothing(self):
        story = self.done()
        assert story.look(*FULL, after=4) == []
        assert story.look(*FULL, after=4) == []
        assert not story.is_waiting()

    def test_after_a_restart_it_is_still_owed_and_not_said_twice(self):
        story = self.done()
        story.restart()
        assert story.look(*lowered(story, used=400 * MIB), after=4) == [("restore_retention", "proposed")]
        story.restart()
        assert story.look(*lowered(story, used=400 * MIB), after=1) == []

    def test_a_cut_that_shows_after_its_alert_is_over_is_taken_back_too(self):
        story = Story(*FULL)
        story.resolve()
        assert ("lower_retention", "done") in story.look(*lowered(story), after=2)
        assert story.is_waiting()
        assert story.look(*lowered(story, used=400 * MIB), after=4) == [("restore_retention", "proposed")]

    def test_a_day_later_a_restart_without_facts_forgets_nothing(self):
        story = self.done()
        story.restart()
        story.minute += 24 * 60
        assert story.revise({}) == []
        assert story.look(*lowered(story, used=400 * MIB)) == [("restore_retention", "proposed")]

    def test_what_was_rejected_is_not_asked_for_again(self):
        story = self.done()
        story.look(*lowered(story, used=400 * MIB), after=4)
        said = changed(
            decision(Decision.REJECT, at_ms=story.now_ms), id=story.latest(ActionKind.RESTORE_RETENTION).action_id
        )
        story.tell(topics.DECISIONS, said)
        assert story.look(*lowered(story, used=400 * MIB), after=1) == [("restore_retention", "rejected")]
        assert story.look(*lowered(story, used=400 * MIB), after=60) == []
        assert not story.is_waiting()

    def test_a_cut_that_nobody_made_is_not_undone(self):
        story = Story(*FULL)
        story.resolve()
        story.look(*FULL, after=4)
        assert story.look(*FULL, after=10) == []
        assert not story.is_waiting()

    def test_a_topic_that_is_cut_twice_gets_back_what_it_had_before_the_first(self):
        story = Story(*FULL)
        assert ("lower_retention", "done") in story.look(*lowered(story), after=6)
        first = story.latest(ActionKind.LOWER_RETENTION)
        filling = [directory(1, "/d1", 800 * MIB), *lowered(story)[1:]]
        assert ("lower_retention", "proposed") in story.look(*filling, after=4)
        second = story.latest(ActionKind.LOWER_RETENTION)
        assert second.action_id == first.action_id
        change = second.configs["t"]["retention.bytes"]
        assert (change["from"], change["was"]) == (first.configs["t"]["retention.bytes"]["to"], "-1")
        assert second.undo["commands"][0].endswith("--delete-config retention.bytes")
        story.look(*lowered(story, size=120 * MIB), after=6)
        story.resolve()
        story.look(*lowered(story, used=300 * MIB, size=120 * MIB), after=4)
        action = story.latest(ActionKind.RESTORE_RETENTION)
        assert action.configs["t"]["retention.bytes"]["to"] == "-1"
        freed = [cut.expected["on"][0]["bytes"] for cut in (first, second)]
        assert action.expected["on"] == [{"broker": 1, "log_dir": "/d1", "bytes": -sum(freed)}]
        assert action.commands[0].endswith("--delete-config retention.bytes")

    def test_a_deeper_cut_that_nobody_made_does_not_make_the_first_one_forgotten(self):
        story = Story(*FULL)
        story.look(*lowered(story), after=6)
        cut = lowered(story, used=400 * MIB)
        story.look(directory(1, "/d1", 800 * MIB), *cut[1:], after=4)
        assert story.latest(ActionKind.LOWER_RETENTION).status == "proposed"
        story.resolve()
        story.look(*cut, after=4)
        story.look(*cut, after=4)
        action = story.latest(ActionKind.RESTORE_RETENTION)
        assert action.vetoes == []
        assert action.expected["on"] == [{"broker": 1, "log_dir": "/d1", "bytes": -151 * MIB}]
        assert action.commands[0].endswith("--delete-config retention.bytes")


def lowering(change, *, undo=None, **fields):
    """A cut of t that was carried out, as its record."""
    values = {
        "target": {"broker": 1, "log_dir": "/d1", "topic": "t"},
        "status": ActionStatus.DONE,
        "configs": {"t": {"retention.bytes": change}},
        "expected": {"on": [{"broker": 1, "log_dir": "/d1", "bytes": 100 * MIB}]},
        "undo": {"configs": {"t": {"retention.bytes": undo}}, "commands": ["undo"]},
    }
    return action(ActionKind.LOWER_RETENTION, **(values | fields))


def limited(value):
    return facts(directory(1, "/d1", 400 * MIB), topic("t", (1,), configs={"retention.bytes": value}))


def test_what_a_later_version_wrote_stops_no_way_back():
    cut = lowering({"from": "-1", "to": "50"}, status=ActionStatus.SUPERSEDED, observed={"is_set": True})
    later = changed(cut, target=cut.target | {"later": 1}, expected=cut.expected | {"later": {"bytes": 1}})
    (restore,) = follow_ups(alert(), [later], limited("50"), policy(), NOW_MS + 10 * MINUTE, is_over=True)
    assert restore.target == cut.target | {"after": later.action_id}


class TestRoomForAll:
    """What several cuts freed comes back together, and not at once."""

    def cut(self, name, **fields):
        target = {"broker": 1, "log_dir": "/d1", "topic": name}
        return action(
            ActionKind.LOWER_RETENTION,
            **{
                "target": target,
                "action_id": name,
                "status": ActionStatus.DONE,
                "configs": {name: {"retention.bytes": {"from": "-1", "to": "50"}}},
                "expected": {
                    "on": [{"broker": 1, "log_dir": "/d1", "bytes": 100 * MIB}],
                    "topic_bytes_before": 150 * MIB,
                },
                "undo": {"configs": {name: {"retention.bytes": None}}, "commands": ["undo"]},
            }
            | fields,
        )

    def vetoes(self, used, *, limits=("50", "50"), size=50 * MIB, cuts=None):
        parts = [topic(name, (1,), configs={"retention.bytes": to}) for name, to in zip("ab", limits, strict=True)]
        parts += [replica(1, "/d1", name, size=size) for name in "ab"]
        known = cuts or [self.cut("a"), self.cut("b")]
        now_ms = NOW_MS + 60 * MINUTE
        found = follow_ups(
            space_alert(), known, facts(directory(1, "/d1", used), *parts), policy(), now_ms, is_over=True
        )
        return [[veto["name"] for veto in one.vetoes] for one in found]

    def test_one_restored_limit_needs_its_room_beside_the_other(self):
        assert self.vetoes(500 * MIB) == [[], []]
        assert self.vetoes(500 * MIB + 1) == [[], ["no_room_for_old_retention"]]
        assert self.vetoes(600 * MIB + 1) == [["no_room_for_old_retention"]] * 2

    def test_one_that_has_to_wait_takes_no_room_from_the_others(self):
        large = {"on": [{"broker": 1, "log_dir": "/d1", "bytes": 300 * MIB}], "topic_bytes_before": 350 * MIB}
        cuts = [self.cut("a", expected=large), self.cut("b")]
        assert self.vetoes(500 * MIB, cuts=cuts) == [["no_room_for_old_retention"], []]

    def test_what_was_restored_already_and_has_not_come_back_yet_counts_too(self):
        assert self.vetoes(500 * MIB, limits=("-1", "50")) == [[]]
        assert self.vetoes(500 * MIB + 1, limits=("-1", "50")) == [["no_room_for_old_retention"]]

    def test_as_far_as_it_has_come_back_it_counts_as_used_alone(self):
        assert self.vetoes(550 * MIB, limits=("-1", "50"), size=100 * MIB) == [[]]
        assert self.vetoes(600 * MIB, limits=("-1", "50"), size=150 * MIB) == [[]]
        assert self.vetoes(600 * MIB, limits=("-1", "50"), size=200 * MIB) == [[]]

    def test_a_cut_that_nobody_made_brings_nothing_back(self):
        cuts = [self.cut("a", status=ActionStatus.EXPIRED), self.cut("b")]
        assert self.vetoes(600 * MIB, limits=("-1", "50"), cuts=cuts) == [[]]

    def test_nor_does_one_whose_bytes_before_nobody_knows_or_whose_topic_is_gone(self):
        unknown = self.cut("a", expected={"on": [{"broker": 1, "log_dir": "/d1", "bytes": 100 * MIB}]})
        assert self.vetoes(600 * MIB, limits=("-1", "50"), cuts=[unknown, self.cut("b")]) == [[]]
        assert self.vetoes(600 * MIB, limits=("-1", "50"), cuts=[self.cut("c"), self.cut("b")]) == [[]]


class TestWhatWasNotCarriedOut:
    """A way back follows only what was seen done, or what somebody said that they would do."""

    def follow(self, known, *parts, is_over=True, now_ms=NOW_MS + 60 * MINUTE):
        found = follow_ups(space_alert(), [known], facts(*parts), policy(**RESERVED), now_ms, is_over=is_over)
        return kinds(found)

    def cordon(self, **fields):
        return action(ActionKind.CORDON_LOG_DIR, expected={"is_cordoned": True, "on": []}, **fields)

    CORDONED = directory(1, "/d1", 400 * MIB, is_cordoned=True)

    def test_a_cordon_that_failed_is_somebody_elses(self):
        assert self.follow(self.cordon(status=ActionStatus.DONE), self.CORDONED) == ["uncordon_log_dir"]
        assert self.follow(self.cordon(status=ActionStatus.FAILED), self.CORDONED) == []
        assert self.follow(self.cordon(status=ActionStatus.EXPIRED), self.CORDONED) == []
        accepted = {"status": ActionStatus.EXPIRED, "decision": {"decision": "accept"}}
        assert self.follow(self.cordon(**accepted), self.CORDONED) == ["uncordon_log_dir"]
        assert (
            self.follow(self.cordon(status=ActionStatus.EXPIRED, decision={"decision": "reject"}), self.CORDONED) == []
        )

    def test_one_that_is_open_still_or_rejected_has_not_ended(self):
        for status in (ActionStatus.PROPOSED, ActionStatus.ACCEPTED, ActionStatus.RUNNING, ActionStatus.REJECTED):
            found = self.cordon(status=status, decision={"decision": "accept"}, observed={"started_at_ms": NOW_MS})
            assert self.follow(found, self.CORDONED) == []

    def test_a_directory_that_is_open_or_gone_needs_no_uncordon(self):
        done = self.cordon(status=ActionStatus.DONE)
        assert self.follow(done, directory(1, "/d1", 400 * MIB, is_cordoned=False)) == []
        assert self.follow(done, directory(2)) == []

    def test_a_reserve_that_was_not_given_up_is_not_made_anew(self):
        def released(status):
            return action(ActionKind.RELEASE_RESERVE, status=status, expected={"on": [], "frees_bytes": 40 * MIB})

        room = directory(1, "/d1", 400 * MIB)
        assert self.follow(released(ActionStatus.DONE), room) == ["recreate_reserve"]
        assert self.follow(released(ActionStatus.FAILED), room) == []
        assert self.follow(released(ActionStatus.DONE), directory(2)) == []

    def test_a_quota_that_nobody_took_up_is_not_taken_away(self):
        slowed = action(ActionKind.THROTTLE_PRODUCERS, status=ActionStatus.EXPIRED)
        said = changed(slowed, decision={"decision": "accept"})
        assert self.follow(slowed, directory(1)) == []
        assert self.follow(said, directory(1)) == ["clear_throttles"]
        # Done by what was seen alone, which a quota never is, it was not set either.
        assert self.follow(changed(slowed, status=ActionStatus.DONE), directory(1)) == []

    def test_limits_of_a_plan_that_never_began_are_somebody_elses(self):
        sets = {"on": [], "sets_limits": within_brokers([1], 50_000_000).as_data()}
        begun = action(ActionKind.MOVE_LOG_DIR, status=ActionStatus.FAILED, expected=sets)
        limited = [broker(1, **{RATE: "50000000"}), directory(1)]
        assert self.follow(begun, *limited, is_over=False) == ["clear_throttles"]
        accepted = changed(begun, status=ActionStatus.EXPIRED, decision={"decision": "accept"})
        assert self.follow(accepted, *limited, is_over=False) == []
        of_before = changed(begun, expected={"on": []})
        assert self.follow(of_before, *limited, is_over=False) == []

    def test_while_the_alert_fires_and_the_facts_are_too_new_nothing_follows(self):
        done = self.cordon(status=ActionStatus.DONE)
        assert self.follow(done, self.CORDONED, is_over=False) == []
        settling = policy().settling_ms
        assert self.follow(done, self.CORDONED, now_ms=NOW_MS + settling - 1) == []
        assert self.follow(done, self.CORDONED, now_ms=NOW_MS + settling) == ["uncordon_log_dir"]

    @pytest.mark.parametrize("status", [ActionStatus.DONE, ActionStatus.REJECTED])
    def test_what_was_followed_to_its_end_is_settled(self, status):
        done = self.cordon(status=ActionStatus.DONE)
        back = {"target": {"broker": 1, "log_dir": "/d1", "after": done.action_id}}
        settled = action(ActionKind.UNCORDON_LOG_DIR, status=status, **back)
        assert unsettled([done, settled]) == set()
        assert unsettled([done, changed(settled, status=ActionStatus.EXPIRED)]) == {done.action_id}
        assert is_follow_up(settled)
        assert not is_follow_up(done)

    @pytest.mark.parametrize(("minutes", "is_waited_for"), [(5, True), (6, True), (7, False)])
    def test_what_was_done_shows_late(self, minutes, is_waited_for):
        owing = [self.cordon(status=ActionStatus.DONE)]
        now_ms = NOW_MS + minutes * MINUTE
        assert may_owe(owing, 2 * MINUTE, now_ms, are_facts_known=True) is is_waited_for
        assert may_owe(owing, 2 * MINUTE, now_ms, are_facts_known=False)
        assert not may_owe([], 2 * MINUTE, now_ms, are_facts_known=False)


def test_the_query_looks_without_news_until_what_was_cut_is_taken_back():
    story, published = Story(*FULL), []
    story.resolve()
    story.look(*lowered(story), after=2)
    keeper = Recommender(
        read=lambda: [(name, b"", msgspec.json.encode(record), -1) for name, record in story.records],
        facts=lambda _: facts(*lowered(story, used=400 * MIB), inventory_at_ms=story.now_ms),
        publish=published.extend,
        policy=lambda _: story.policy,
        skew_ms=60_000,
    )
    for _ in range(4):
        story.minute += 1
        keeper.look(story.now_ms)
    assert [(str(action.kind), str(action.status)) for action in published] == [("restore_retention", "proposed")]


class TestCordon:
    def parts(self, *, cordoned, used=850 * MIB, **fields):
        return [
            broker(1, **{"log.dirs": "/d1", "cordoned.log.dirs": "/d1" if cordoned else ""}),
            directory(1, "/d1", used, is_cordoned=cordoned, **fields),
            directory(2),
            *FULL[1:],
        ]

    def test_a_cordon_ends_with_the_danger(self):
        story = Story(*self.parts(cordoned=False), metadata_version=CORDON)
        assert ("cordon_log_dir", "done") in story.look(*self.parts(cordoned=True), after=1)
        story.resolve()
        story.look(*self.parts(cordoned=True, used=400 * MIB), after=4)
        action = story.latest(ActionKind.UNCORDON_LOG_DIR)
        assert action.commands[0].endswith("--delete-config cordoned.log.dirs")
        assert story.look(*self.parts(cordoned=False, used=400 * MIB), after=2) == [("uncordon_log_dir", "done")]

    def test_a_cordon_that_was_there_before_is_not_ours_to_end(self):
        story = Story(*self.parts(cordoned=True), metadata_version=CORDON)
        story.resolve()
        assert "uncordon_log_dir" not in dict(story.look(*self.parts(cordoned=True, used=400 * MIB), after=4))


def test_a_reserve_that_is_gone_without_an_action_is_made_anew():
    gone = alert(Rule.LOG_DIR_CHANGED, to="online", cause=None, evidence={"why": "reserve"})
    (action,) = recommend(gone, facts(directory(1, replica_count=100)), policy(**RESERVED), NOW_MS)
    assert action.kind is ActionKind.RECREATE_RESERVE
    assert action.target == {"broker": 1, "log_dir": "/d1"}
    assert action.commands == ["# On broker 1's host: fallocate -l 41943040 -- /d1/reserve"]
    other = alert(Rule.LOG_DIR_CHANGED, to="online", cause=None, evidence={"why": "capacity"})
    assert kinds(recommend(other, facts(directory(1)), policy(**RESERVED), NOW_MS)) == ["investigate"]
    assert kinds(recommend(gone, facts(directory(1)), policy(), NOW_MS)) == ["investigate"]


class TestReserve:
    def parts(self, used, unaccounted, status=LogDirStatus.SATURATED):
        return [
            directory(1, "/d1", used, status=status, growth_bytes_per_s=1.0 * MIB, unaccounted_bytes=unaccounted),
            *FULL[1:],
        ]

    def test_a_reserve_that_was_given_up_is_made_anew(self):
        story = Story(*self.parts(960 * MIB, 50 * MIB), limits=RESERVED)
        assert ("release_reserve", "done") in story.look(*self.parts(920 * MIB, 10 * MIB), after=1)
        story.resolve()
        story.look(*self.parts(400 * MIB, 10 * MIB, LogDirStatus.ONLINE), after=4)
        action = story.latest(ActionKind.RECREATE_RESERVE)
        assert action.commands == ["# On broker 1's host: fallocate -l 41943040 -- /d1/reserve"]
        assert action.expected["takes_bytes"] == 40 * MIB
        done = story.look(*self.parts(440 * MIB, 50 * MIB, LogDirStatus.ONLINE), after=2)
        assert done == [("recreate_reserve", "done")]


class TestQuota:
    SLOWED = (directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED, growth_bytes_per_s=1.0 * MIB), *FULL[1:])

    def test_a_quota_that_somebody_said_they_would_set_is_taken_away(self):
        story = Story(*self.SLOWED)
        story.accept(ActionKind.THROTTLE_PRODUCERS)
        story.look(*self.SLOWED, after=1)
        story.resolve()
        calm = directory(1, "/d1", 400 * MIB)
        story.look(calm, *FULL[1:], after=4)
        story.look(calm, *FULL[1:], after=4)
        action = story.latest(ActionKind.CLEAR_THROTTLES)
        assert action.target["after"] == story.latest(ActionKind.THROTTLE_PRODUCERS).action_id
        assert action.commands[0].endswith("--delete-config producer_byte_rate")
        assert action.expected["needs_ms"] == 0

    def test_what_nobody_took_up_leaves_nothing_to_undo(self):
        story = Story(*self.SLOWED)
        story.resolve()
        calm = directory(1, "/d1", 400 * MIB)
        story.look(calm, *FULL[1:], after=4)
        assert "clear_throttles" not in dict(story.look(calm, *FULL[1:], after=4))


class TestThrottles:
    def parts(self, path, **configs):
        return [
            broker(1, **configs),
            directory(1, "/d1", 850 * MIB),
            directory(1, "/d2", 100 * MIB),
            topic("t", (1,)),
            replica(1, path, "t", size=200 * MIB),
        ]

    def test_a_limit_that_a_plan_left_behind_is_taken_away_though_the_alert_still_fires(self):
        story = Story(*self.parts("/d1"))
        assert ("move_log_dir", "done") in story.look(*self.parts("/d2", **{RATE: "50000000"}), after=3)
        assert "clear_throttles" not in dict(story.look(*self.parts("/d2", **{RATE: "50000000"}), after=1))
        story.look(*self.parts("/d2", **{RATE: "50000000"}), after=2)
        action = story.latest(ActionKind.CLEAR_THROTTLES)
        assert action.expected["clears"]["brokers"] == {"1": {RATE: 50_000_000}}
        assert ("clear_throttles", "done") in story.look(*self.parts("/d2", **{"log.dirs": "/d1"}), after=2)
