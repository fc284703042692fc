"""An acceptance holds for what the person saw, and for nothing else."""

import pytest
from msgspec.structs import replace as changed

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Decision
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle.follow_ups import unsettled
from logdirwatch.plan.lifecycle.transitions import decide, reconcile
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    action,
    decision,
    directory,
    facts,
    policy,
    replica,
    space_alert,
    topic,
)

LATER = NOW_MS + 31_000


def cut(to, revision, **fields):
    configs = {"t": {"retention.bytes": {"from": "-1", "to": str(to)}}}
    target = {"broker": 1, "log_dir": "/d1", "topic": "t"}
    made = action(ActionKind.LOWER_RETENTION, target=target, revision=revision, configs=configs, **fields)
    return changed(made, content_hash=content_hash(made))


def accepts(**fields):
    return changed(decision(at_ms=NOW_MS + 10_000), **fields)


SEEN = cut(1 << 40, 3)
NOW = cut(1 << 30, 4)


class TestTheHash:
    @pytest.mark.parametrize(
        "other",
        [
            {"commands": ["rm"]},
            {"reassignment": {"version": 1, "partitions": []}},
            {"configs": {"t": {"retention.bytes": {"from": "-1", "to": "5"}}}},
            {"target": {"broker": 2}},
            {"data_loss": True},
            {"kind": ActionKind.DELETE_RECORDS},
        ],
    )
    def test_what_would_be_done_changes_it(self, other):
        assert content_hash(changed(SEEN, **other)) != content_hash(SEEN)

    @pytest.mark.parametrize(
        "other",
        [
            {"reason": "in other words"},
            {"revision": 9},
            {"at_ms": NOW_MS + 9},
            {"expires_at_ms": NOW_MS + 9},
            {"expected": {"frees_bytes": 7}},
            {"status": ActionStatus.EXPIRED},
            {"position": 3},
            {"configs": {"t": {"retention.bytes": {"from": "-1", "to": str(1 << 40), "was": "-1"}}}},
        ],
    )
    def test_words_times_and_what_is_remembered_do_not(self, other):
        assert content_hash(changed(SEEN, **other)) == content_hash(SEEN)

    def test_every_recommended_action_carries_it(self):
        parts = [directory(1, "/d1", 900 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=800 * MIB)]
        found = recommend(space_alert("critical"), facts(*parts), policy(), NOW_MS)
        assert [one.content_hash for one in found] == [content_hash(one) for one in found] != []


class TestTheAcceptance:
    def test_it_holds_for_the_content_that_was_seen_in_whatever_revision(self):
        said = accepts(revision=3, content_hash=SEEN.content_hash)
        assert decide(SEEN, said, LATER).status is ActionStatus.ACCEPTED
        assert decide(changed(SEEN, revision=7), said, LATER).status is ActionStatus.ACCEPTED

    @pytest.mark.parametrize("said", [{"revision": 3}, {"revision": 3, "content_hash": SEEN.content_hash}, {}])
    def test_another_content_needs_another_word(self, said):
        found = decide(NOW, accepts(**said), LATER)
        assert (found.status, found.revision) == (ActionStatus.PROPOSED, 5)
        assert "which said something else" in found.status_reason
        assert found.configs == NOW.configs
        assert unsettled([changed(found, status=ActionStatus.EXPIRED)]) == set()

    def test_it_says_which_revision_was_accepted(self):
        assert "ann accepted it as revision 3" in decide(NOW, accepts(revision=3), LATER).status_reason

    def test_the_same_hash_under_another_revision_number_says_the_same(self):
        assert decide(NOW, accepts(revision=3, content_hash=NOW.content_hash), LATER).status is ActionStatus.ACCEPTED

    def test_a_word_without_a_hash_holds_for_its_revision_alone(self):
        assert decide(NOW, accepts(revision=4), LATER).status is ActionStatus.ACCEPTED

    @pytest.mark.parametrize(("revision", "status"), [(1, ActionStatus.ACCEPTED), (2, ActionStatus.PROPOSED)])
    def test_a_word_that_names_nothing_holds_for_the_first_revision_only(self, revision, status):
        assert decide(cut(1 << 40, revision), accepts(), LATER).status is status

    def test_a_record_without_a_hash_is_judged_by_its_content(self):
        old = changed(SEEN, content_hash=None)
        assert decide(old, accepts(content_hash=SEEN.content_hash), LATER).status is ActionStatus.ACCEPTED
        assert decide(old, accepts(content_hash=NOW.content_hash), LATER).status is ActionStatus.PROPOSED

    def test_a_topic_that_was_created_again_is_other_content(self):
        seen, now = (cut(1 << 40, number, based_on={"topic_ids": {"t": one}}) for number, one in ((3, "a"), (4, "b")))
        said = accepts(content_hash=seen.content_hash)
        assert decide(seen, said, LATER).status is ActionStatus.ACCEPTED
        assert decide(now, said, LATER).status is ActionStatus.PROPOSED

    def test_it_is_refused_once(self):
        said = accepts(revision=3)
        assert decide(decide(NOW, said, LATER), said, LATER) is None

    def test_a_second_word_for_what_it_says_now_is_applied(self):
        refused = decide(NOW, accepts(revision=3), LATER)
        again = changed(accepts(revision=5, content_hash=refused.content_hash), at_ms=NOW_MS + 40_000)
        assert decide(refused, again, LATER).status is ActionStatus.ACCEPTED

    def test_a_rejection_is_one_of_the_action_whatever_it_says(self):
        said = changed(decision(Decision.REJECT), revision=3, content_hash="f" * 32)
        assert decide(NOW, said, LATER).status is ActionStatus.REJECTED

    def test_the_next_revision_goes_on_saying_it(self):
        parts = [directory(1, "/d1", 900 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=800 * MIB)]
        seen = facts(*parts)
        first = recommend(space_alert("critical"), seen, policy(), NOW_MS)
        refused = [decide(changed(one, revision=4), accepts(revision=3), LATER) for one in first]
        renewed = reconcile(refused, first, seen, policy(), max(one.expires_at_ms for one in first) + 1)
        assert renewed
        assert all("which said something else" in one.status_reason for one in renewed)
