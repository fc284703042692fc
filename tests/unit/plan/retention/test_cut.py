"""Which way a topic is cut, who loses how much, what the configuration keeps, and what the action says of it."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.retention.planner import plan_cuts
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.answers import holds, vetoed
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, policy, replica, slowly, space_alert, topic

HOUR_MS = 3_600_000
FULL = directory(1, "/d1", 850 * MIB)
HERE = (1, "/d1")
TIERED = {"remote.storage.enable": "true", "local.retention.bytes": "-2", "local.retention.ms": "-2"}


def cuts(*parts, needed=100 * MIB, growth=None, rules=(), **limits):
    found = facts(FULL, *parts, growth=growth or {})
    return plan_cuts(FULL, found, policy(topics=rules, **limits), needed)


def grows(*sized, place=HERE):
    """Growth of partitions 0, 1, ... of topic t in bytes per second."""
    return {(place, ("t", number)): float(rate) for number, rate in enumerate(sized)}


def cut_action(*parts, growth=None, rules=(), **limits):
    found = facts(FULL, *parts, growth=growth or {})
    allowed = policy(topics=rules, **({"cut_ratio": 0.7} | limits))
    actions = recommend(space_alert(), found, allowed, NOW_MS)
    return next(action for action in actions if action.kind is ActionKind.LOWER_RETENTION)


class TestWays:
    SKEWED = (
        topic("t", (1,), (1,), configs={"retention.ms": str(100 * HOUR_MS)}),
        replica(1, "/d1", "t", 0, 400 * MIB),
        replica(1, "/d1", "t", 1, 100 * MIB),
    )
    RATES = grows(400 * MIB / 360_000, 100 * MIB / 360_000)

    def test_of_unequal_partitions_as_old_as_each_other_a_limit_of_age_keeps_more_history(self):
        (cut,) = cuts(*self.SKEWED, growth=self.RATES, needed=200 * MIB).cuts
        assert cut.way.key == "retention.ms"
        assert cut.frees_at(HERE) >= 200 * MIB
        assert 55 * HOUR_MS < cut.new_value == cut.keeps_ms < 57 * HOUR_MS
        assert cut.new_value % 60_000 == 0

    def test_without_known_rates_only_a_limit_of_bytes_is_known_to_help(self):
        (cut,) = cuts(*self.SKEWED, needed=200 * MIB).cuts
        assert cut.way.key == "retention.bytes"
        assert cut.keeps_ms is None

    def test_one_replica_whose_rate_is_not_known_is_enough_to_know_nothing_of_age(self):
        (cut,) = cuts(*self.SKEWED, growth=grows(400 * MIB / 360_000), needed=200 * MIB).cuts
        assert cut.way.key == "retention.bytes"

    def test_where_both_leave_as_much_the_sure_one_is_taken(self):
        alike = topic("t", (1,), configs={"retention.ms": str(100 * HOUR_MS)})
        (cut,) = cuts(alike, replica(1, "/d1", "t", size=400 * MIB), growth=grows(400 * MIB / 360_000)).cuts
        assert cut.way.key == "retention.bytes"

    @pytest.mark.parametrize("needed", [100 * MIB, 399 * MIB], ids=["enough", "down_to_the_minimum"])
    def test_where_the_owner_names_the_history_a_limit_of_age_keeps_it_when_more_is_written(self, needed):
        parts = topic("t", (1,), configs={"retention.ms": str(100 * HOUR_MS)}), replica(1, "/d1", "t", size=400 * MIB)
        owner = TopicRule(min_retention_ms=30 * HOUR_MS)
        (cut,) = cuts(*parts, rules=(owner,), growth=grows(400 * MIB / 360_000), needed=needed).cuts
        assert cut.way.key == "retention.ms"
        assert cut.new_value >= 30 * HOUR_MS

    @pytest.mark.parametrize(("owned", "keeps"), [(100 * MIB, 30 * HOUR_MS), (300 * MIB, 75 * HOUR_MS)])
    def test_a_limit_of_age_leaves_the_bytes_that_the_owner_names_too(self, owned, keeps):
        parts = topic("t", (1,), configs={"retention.ms": str(100 * HOUR_MS)}), replica(1, "/d1", "t", size=400 * MIB)
        owner = TopicRule(min_retention_ms=30 * HOUR_MS, min_retention_bytes=owned)
        (cut,) = cuts(*parts, rules=(owner,), growth=grows(400 * MIB / 360_000), needed=399 * MIB).cuts
        assert (cut.way.key, cut.new_value) == ("retention.ms", keeps)

    def test_of_a_topic_that_has_no_more_than_its_owner_wants_nothing_is_cut(self):
        parts = topic("t", (1,), configs={"retention.ms": str(100 * HOUR_MS)}), replica(1, "/d1", "t", size=400 * MIB)
        owner = TopicRule(min_retention_ms=30 * HOUR_MS, min_retention_bytes=400 * MIB)
        assert cuts(*parts, rules=(owner,), growth=grows(400 * MIB / 360_000)).cuts == ()

    def test_a_limit_of_age_that_nobody_read_is_not_changed(self):
        unread = topic("t", (1,), (1,))
        (cut,) = cuts(unread, *self.SKEWED[1:], growth=self.RATES, needed=200 * MIB).cuts
        assert cut.way.key == "retention.bytes"

    def test_a_limit_of_age_is_an_estimate_and_says_so(self):
        action = cut_action(*self.SKEWED, growth=self.RATES)
        assert action.expected["is_estimate"] is True
        assert "deletes about its oldest" in action.reason
        assert list(action.configs["t"]) == ["retention.ms"]
        assert holds(action, "timestamps") is None


class TestTiered:
    PARTS = (topic("t", (1,), configs=TIERED | {"retention.bytes": "-1"}), replica(1, "/d1", "t", size=400 * MIB))

    def test_of_a_tiered_topic_the_local_copy_goes_and_no_data_is_lost(self):
        action = cut_action(*self.PARTS)
        assert action.configs["t"]["local.retention.bytes"]["from"] == "-2"
        assert not action.data_loss
        assert "from the remote limit to" in action.reason
        assert "what waits for its copy to remote storage stays" in action.reason
        assert action.undo["commands"][0].endswith("--delete-config local.retention.bytes")

    def test_what_is_not_copied_yet_stays_and_the_rest_is_cut(self):
        behind = topic("t", (1,), configs=TIERED, remote_copy_lag_bytes=200 * MIB)
        (cut,) = cuts(behind, self.PARTS[1], needed=300 * MIB).cuts
        assert cut.frees_at(HERE) == 190 * MIB
        action = cut_action(behind, self.PARTS[1])
        assert holds(action, "remote_copied") is True
        assert not action.data_loss
        assert not action.vetoes

    def test_a_lag_within_what_the_limit_leaves_takes_nothing_away(self):
        behind = topic("t", (1,), configs=TIERED, remote_copy_lag_bytes=200 * MIB)
        (cut,) = cuts(behind, self.PARTS[1], needed=150 * MIB).cuts
        assert (cut.new_value, cut.frees_at(HERE)) == (240 * MIB, 150 * MIB)

    def test_at_worst_one_of_several_partitions_waits_for_its_copy(self):
        parts = [replica(1, "/d1", "t", number, 100 * MIB) for number in range(4)]
        behind = topic("t", (1,), (1,), (1,), (1,), configs=TIERED, remote_copy_lag_bytes=60 * MIB)
        (cut,) = cuts(behind, *parts, needed=900 * MIB).cuts
        # Each keeps two segments of 10 MiB; of one the lag beyond its first stays as well.
        assert cut.frees_at(HERE) == (4 * 80 - 50) * MIB

    def test_where_all_of_it_waits_that_is_why_nothing_is_cut(self):
        behind = topic("t", (1,), configs=TIERED, remote_copy_lag_bytes=400 * MIB)
        found = cuts(behind, self.PARTS[1])
        assert vetoed(found) == ["remote_copy_lags"]
        assert "delayed" not in found.vetoes[0].reason
        wanted = topic("t", (1,), configs=TIERED | {"remote.copy.lag.ms": "-1"}, remote_copy_lag_bytes=400 * MIB)
        assert "delayed by remote.copy.lag.*" in cuts(wanted, self.PARTS[1]).vetoes[0].reason
        copied = topic("t", (1,), configs=TIERED, remote_copy_lag_bytes=0)
        assert holds(cut_action(copied, self.PARTS[1]), "remote_copied") is True

    def test_a_leaderless_partition_archives_nothing(self):
        without = topic("t", (1,), (1,), leaderless=(1,), configs=TIERED)
        found = cuts(without, self.PARTS[1])
        assert vetoed(found) == ["leaderless_archives_nothing"]
        assert "only deleting the topic frees its bytes" in found.vetoes[0].reason

    def test_without_remote_storage_on_a_host_nothing_local_goes(self):
        off = broker(1, BrokerStatus.ONLINE, **{"remote.log.storage.system.enable": "false"})
        assert vetoed(cuts(*self.PARTS, off)) == ["tiered_storage_off"]

    def test_a_local_limit_that_follows_the_remote_one_is_lowered_from_there(self):
        limited = topic("t", (1,), configs=TIERED | {"retention.bytes": str(200 * MIB)})
        (cut,) = cuts(limited, self.PARTS[1], needed=50 * MIB).cuts
        assert cut.new_value < 200 * MIB

    @pytest.mark.parametrize(("key", "delay"), [("remote.copy.lag.bytes", 300 * MIB), ("remote.copy.lag.ms", 0)])
    def test_a_local_limit_stays_above_the_delay_of_the_copies(self, key, delay):
        delayed = topic("t", (1,), configs=TIERED | {key: str(delay)})
        (cut,) = cuts(delayed, self.PARTS[1], needed=300 * MIB).cuts
        assert cut.new_value >= delay
        assert cut.frees_at(HERE) == (90 * MIB if delay else 300 * MIB)

    @pytest.mark.parametrize(
        ("lag", "is_known"),
        [
            ({}, True),
            ({"remote.copy.lag.ms": "0"}, True),
            ({"remote.copy.lag.ms": "-1"}, None),
            ({"remote.copy.lag.ms": "60000"}, None),
            ({"remote.copy.lag.ms": "-1", "remote.copy.lag.bytes": "0"}, True),
        ],
    )
    def test_what_waits_on_purpose_is_no_part_of_the_lag(self, lag, is_known):
        delayed = topic("t", (1,), configs=TIERED | lag, remote_copy_lag_bytes=0)
        assert holds(cut_action(delayed, self.PARTS[1]), "remote_copied") is is_known


class TestRules:
    PARTS = (topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB))

    def test_the_owner_is_named(self):
        action = cut_action(*self.PARTS, rules=(TopicRule(topic="t", owner="team payments"),))
        assert action.expected["owner"] == "team payments"
        assert any("team payments, the owner of t," in p["text"] for p in action.preconditions)

    def test_no_cut_goes_below_the_bytes_that_the_owner_wants(self):
        (cut,) = cuts(*self.PARTS, rules=(TopicRule(min_retention_bytes=350 * MIB),)).cuts
        assert cut.new_value == 350 * MIB
        assert cut.frees_at(HERE) == 40 * MIB

    def test_no_cut_goes_below_the_history_that_the_owner_wants_where_the_rate_is_known(self):
        hour = TopicRule(min_retention_ms=HOUR_MS)
        (cut,) = cuts(*self.PARTS, rules=(hour,), growth=grows(100 * MIB / 3600), needed=390 * MIB).cuts
        assert cut.new_value == 100 * MIB
        assert cut.keeps_ms == HOUR_MS

    def test_where_nobody_knows_the_rate_that_is_left_to_be_checked(self):
        assert holds(cut_action(*self.PARTS), "min_retention") is None
        assert vetoed(cuts(*self.PARTS, rules=(TopicRule(min_retention_ms=HOUR_MS),))) == ["owner_minimum"]

    def test_a_minimum_that_leaves_nothing_says_so(self):
        assert vetoed(cuts(*self.PARTS, rules=(TopicRule(min_retention_bytes=400 * MIB),))) == ["owner_minimum"]

    def test_the_first_rule_that_matches_holds_and_only_those_of_the_cluster(self):
        rules = (TopicRule(cluster="other", owner="a"), TopicRule(topic="x", owner="b"), TopicRule(owner="c"))
        limits = policy(topics=rules).limits.for_cluster("c")
        assert limits.topic_rule("t").owner == "c"
        assert limits.topic_rule("x").owner == "b"
        assert policy(topics=rules).limits.for_cluster("other").topic_rule("t").owner == "a"


class TestSpread:
    PARTS = (
        topic("large", (1,)),
        topic("small", (1,)),
        replica(1, "/d1", "large", size=320 * MIB),
        replica(1, "/d1", "small", size=120 * MIB),
    )

    def shares(self, *, needed=200 * MIB, **limits):
        found = cuts(*self.PARTS, growth=slowly(*self.PARTS), needed=needed, **limits).cuts
        return {cut.topic.name: cut.frees_at(HERE) for cut in found}

    def test_every_topic_gives_the_same_share_of_what_it_can_give(self):
        assert self.shares() == {"large": 150 * MIB, "small": 50 * MIB}

    def test_a_setting_of_before_says_the_same(self):
        assert self.shares(retention_spread="evenly") == self.shares()

    def test_where_few_owners_are_to_be_asked_the_largest_gives_all(self):
        assert self.shares(retention_spread="fewest_topics") == {"large": 200 * MIB}

    @pytest.mark.parametrize("spread", ["fewest_topics", "evenly", "proportional"])
    def test_what_all_together_cannot_give_is_not_promised(self, spread):
        assert sum(self.shares(needed=900 * MIB, retention_spread=spread).values()) == 400 * MIB

    def test_no_more_topics_are_named_than_configured_while_these_lose_half_at_most(self):
        assert self.shares(needed=150 * MIB, retention_topics=1) == {"large": 150 * MIB}

    def test_where_these_would_lose_more_others_give_too(self):
        assert self.shares(needed=160 * MIB, retention_topics=1) == {"large": 120 * MIB, "small": 40 * MIB}

    def test_of_few_owners_no_more_than_configured_are_asked(self):
        assert self.shares(needed=900 * MIB, retention_topics=1, retention_spread="fewest_topics") == {
            "large": 300 * MIB
        }


class TestHeldBack:
    def test_of_a_leaderless_partition_nothing_is_promised(self):
        parts = [topic("t", (1,), (1,), leaderless=(1,)), replica(1, "/d1", "t", 0, 200 * MIB)]
        found = cuts(*parts, replica(1, "/d1", "t", 1, 400 * MIB), needed=500 * MIB, growth=grows(1, 1))
        assert found.cuts[0].frees_at(HERE) == 180 * MIB

    def test_without_any_leader_the_high_watermark_stands_still(self):
        found = cuts(topic("t", (1,), leaderless=(0,)), replica(1, "/d1", "t", size=400 * MIB))
        assert vetoed(found) == ["high_watermark_stands"]

    def test_the_floor_that_no_limit_reaches_is_told(self):
        action = cut_action(topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB))
        assert action.expected["floor_bytes"] == 20 * MIB

    def test_a_limit_below_one_segment_is_never_raised(self):
        tiny = topic("t", (1,), configs={"retention.bytes": str(5 * MIB)})
        assert vetoed(cuts(tiny, replica(1, "/d1", "t", size=25 * MIB), growth=grows(1))) == ["one_segment_left"]


class TestConsumers:
    SIZED = replica(1, "/d1", "t", 0, 400 * MIB)

    def test_a_cut_stops_at_what_a_group_has_still_to_read(self):
        wanted = {"needed": 300 * MIB, "growth": grows(1)}
        spared = cuts(topic("t", (1,), unread={0: 0.5}), self.SIZED, **wanted).cuts
        taken = cuts(topic("t", (1,), unread={0: 0.5}), self.SIZED, **wanted, spare_unread=False).cuts
        assert spared[0].new_value == 200 * MIB
        assert taken[0].new_value < 200 * MIB

    def test_the_slowest_partition_counts_for_the_whole_topic(self):
        parts = (topic("t", (1,), (1,), unread={1: 0.75}), self.SIZED, replica(1, "/d1", "t", 1, 400 * MIB))
        (cut,) = cuts(*parts, needed=600 * MIB).cuts
        assert cut.new_value == 300 * MIB

    def test_where_all_is_unread_nothing_is_cut_and_the_veto_names_the_group(self):
        found = cuts(topic("t", (1,), unread={0: 1.0}), self.SIZED)
        assert found.cuts == ()
        assert vetoed(found) == ["consumers_unread"]
        assert "consumer group readers has still to read about 400 MiB of t-0" in found.vetoes[0].reason

    def test_what_goes_on_into_the_unread_as_configured_has_a_veto(self):
        action = cut_action(topic("t", (1,), unread={0: 0.9}), self.SIZED, spare_unread=False)
        assert [veto["name"] for veto in action.vetoes] == ["consumers_unread"]
        assert action.commands == []
        assert not cut_action(topic("t", (1,), unread={0: 0.3}), self.SIZED, spare_unread=False).vetoes

    def test_a_tiered_topic_is_read_from_remote_storage(self):
        tiered = topic("t", (1,), configs=TIERED, unread={0: 1.0}, remote_copy_lag_bytes=0)
        assert cuts(tiered, self.SIZED).cuts != ()
