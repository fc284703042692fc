"""What holds of every cut: Kafka frees what it promises, floors stand, enough is enough, and shares are equal."""

import random

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.plan.capacity.growth_by_topic import filling_topics
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.retention.planner import plan_cuts, turn_of
from logdirwatch.plan.settings import TopicRule
from tests.support.properties import examples
from tests.unit.plan.builders import MIB, NOW_MS, alert, directory, facts, policy, replica, topic

HERE = (1, "/d1")
PLACES = (HERE, (1, "/d2"), (2, "/d1"))
SEGMENT = 10 * MIB
ALL_THAT_THERE_IS = 10**15
NO_LIMIT = {"retention_topics": 100}


class World:
    """Some topics in three directories, with whatever may be known of them or not, and what their owners keep."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.source = directory(*HERE, 900 * MIB)
        self.parts, self.growth, rules = [], {}, []
        for number in range(self.rng.randint(1, 5)):
            self._topic(f"t{number}")
            if self.rng.random() < 0.3:
                kept = {
                    "min_retention_bytes": self.rng.choice([None, 150 * MIB]),
                    "min_retention_ms": self.rng.choice([None, 60_000, 7_200_000]),
                }
                rules.append(TopicRule(topic=f"t{number}", **kept))
        self.limits = {"topics": rules, "min_retention_ms": self.rng.choice([0, 600_000, 3_600_000])}
        others = [directory(*place, 300 * MIB) for place in PLACES[1:]]
        self.facts = facts(self.source, *others, *self.parts, growth=self.growth)

    def _topic(self, name):
        rng, configs = self.rng, {"retention.ms": self.rng.choice([None, "-1", "3600000", "86400000"])}
        configs["retention.bytes"] = rng.choice(["-1", "-1", str(500 * MIB)])
        tiered = rng.random() < 0.3
        if tiered:
            configs |= {"remote.storage.enable": "true", "local.retention.bytes": "-2", "local.retention.ms": "-2"}
        lag = rng.choice([None, 0, 30 * MIB, 300 * MIB]) if tiered else None
        count = rng.randint(1, 4)
        unread = rng.choice([None, {n: rng.choice([0.05, 0.4, 0.9]) for n in range(count)}])
        assignments = [(1, 2)] * count
        self.parts.append(topic(name, *assignments, configs=configs, unread=unread, remote_copy_lag_bytes=lag))
        is_known = rng.random() < 0.6
        for number in range(count):
            size, rate = rng.randrange(0, 500) * MIB + rng.randrange(MIB), rng.choice([0.0, 1e3, 1e5, 1e6])
            for place in (rng.choice(PLACES[:2]), PLACES[2]):
                self.parts.append(replica(*place, name, number, size))
                if is_known:
                    self.growth[place, (name, number)] = rate

    def cut(self, needed, **limits):
        return plan_cuts(self.source, self.facts, policy(**self.limits, **NO_LIMIT, **limits), needed)

    def replicas(self, name, place):
        return [r for r in self.facts.replicas_in(place) if r.topic == name]


worlds = st.integers(0, 2**32).map(World)
needs = st.integers(1, 2000).map(lambda mib: mib * MIB + 1)


def left_by_kafka(size, limit, waiting, rng):
    """Delete as Kafka does: the oldest segments, while at least the limit remains, and only what was copied.

    What waits for its copy is closed segments, the newest ones.
    """
    segments = []
    while sum(segments) < size:
        segments.append(min(size - sum(segments), rng.randint(SEGMENT // 2, SEGMENT)))
    kept = 1
    while kept < len(segments) and sum(segments[-kept - 1 : -1]) <= waiting:
        kept += 1
    while len(segments) > kept and sum(segments[1:]) >= limit:
        segments.pop(0)
    return sum(segments)


@given(world=worlds, needed=needs)
def test_kafka_frees_what_is_promised_whatever_the_segments_are_and_wherever_the_copies_lag(world, needed):
    for cut in world.cut(needed).cuts:
        if cut.way.is_estimate:
            continue
        for place, promised in cut.frees.items():
            waiting, freed = cut.topic.remote_copy_lag_bytes or 0, 0
            for one in world.rng.sample(replicas := world.replicas(cut.topic.name, place), len(replicas)):
                part = world.rng.choice([0, waiting, waiting // 2])
                waiting -= part
                freed += one.size_bytes - left_by_kafka(one.size_bytes, cut.new_value, part, world.rng)
            assert freed >= promised > 0


def assert_above_floors(world, name, key, limit):
    rule = next((r for r in world.limits["topics"] if r.topic == name), TopicRule())
    wanted = world.limits["min_retention_ms"] if rule.min_retention_ms is None else rule.min_retention_ms
    if key.endswith("ms"):
        assert limit >= wanted
        return
    assert limit >= max(SEGMENT, rule.min_retention_bytes or 0)
    for partition in world.facts.topics[name].partitions:
        for one in world.facts.replicas_of(partition.key):
            rate = world.growth.get((one.place, one.key))
            if rate is not None:
                assert limit >= rate * wanted / 1000
            elif not key.startswith("local."):
                assert limit >= one.size_bytes / 2
            if not key.startswith("local."):
                assert limit >= (partition.unread_ratio or 0) * one.size_bytes


@given(world=worlds, needed=needs)
def test_no_cut_goes_below_a_floor(world, needed):
    for cut in world.cut(needed).cuts:
        assert_above_floors(world, cut.topic.name, cut.way.key, cut.new_value)


@given(world=worlds, needed=needs)
def test_what_is_needed_is_given_where_it_can_be_and_hardly_more(world, needed):
    most = sum(cut.frees_at(HERE) for cut in world.cut(ALL_THAT_THERE_IS).cuts)
    found = world.cut(needed)
    freed = sum(cut.frees_at(HERE) for cut in found.cuts)
    assert freed >= min(needed, most)
    assert (freed >= needed) or found.vetoes or found.cuts
    by_bytes = [cut for cut in found.cuts if not cut.way.is_estimate]
    if len(by_bytes) == len(found.cuts) and freed >= needed:
        steps = sum(MIB * len(world.replicas(cut.topic.name, HERE)) + 1 for cut in by_bytes)
        assert freed - needed <= steps


@given(world=worlds, needed=needs)
def test_every_topic_of_one_turn_that_loses_history_gives_the_same_share(world, needed):
    filling = filling_topics(world.source, world.facts)
    most = {cut.topic.name: cut.frees_at(HERE) for cut in world.cut(ALL_THAT_THERE_IS).cuts}
    losing = [cut for cut in world.cut(needed).cuts if cut.way.loses_data]
    for cut in losing:
        for other in losing:
            turns = {turn_of(one.topic, filling) for one in (cut, other)}
            if cut.way.is_estimate or other.way.is_estimate or len(turns) > 1:
                continue
            step = (MIB * len(world.replicas(cut.topic.name, HERE)) + 1) / most[cut.topic.name]
            mine = cut.frees_at(HERE) / most[cut.topic.name]
            assert mine <= other.frees_at(HERE) / most[other.topic.name] + step


@given(world=worlds, needed=needs)
def test_nothing_is_lost_while_local_copies_are_enough(world, needed):
    found = world.cut(needed).cuts
    if any(cut.way.loses_data for cut in found):
        local = [cut for cut in world.cut(ALL_THAT_THERE_IS).cuts if not cut.way.loses_data]
        assert sum(cut.frees_at(HERE) for cut in local) < needed


@given(world=worlds)
@examples(20)
def test_the_cuts_of_a_whole_cluster_keep_the_same_floors_and_give_every_directory_what_it_needs(world):
    fleet = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="filling", cause=None)
    found = recommend(fleet, world.facts, policy(**world.limits, **NO_LIMIT), NOW_MS)
    cuts = [action for action in found if action.kind is ActionKind.LOWER_RETENTION]
    for action in cuts:
        assert action.vetoes == []
        for key, change in action.configs[action.target["topic"]].items():
            assert_above_floors(world, action.target["topic"], key, int(change["to"]))
    if any(action.kind is ActionKind.INVESTIGATE and "; to delete nothing, add" in action.reason for action in found):
        freed = sum(e["bytes"] for a in cuts for e in a.expected["on"] if (e["broker"], e["log_dir"]) == HERE)
        assert freed > 200 * MIB
