"""What no plan may ever do, on clusters of any shape."""

import random
from collections import Counter
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.cluster.assignment import ANY, from_json
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.reassignment.replacement_replicas import plan_repair
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.support.properties import examples
from tests.unit.plan.answers import assert_leaders_stay
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, policy, replica, space_alert, topic

LIMIT = 0.85


class Model(NamedTuple):
    facts: ClusterSnapshot
    place: tuple


@st.composite
def clusters(draw):
    """A cluster with some racks, fills, cordons, offline directories and dead brokers, and one of its directories."""
    seed = draw(st.integers(0, 2**32))
    rng = random.Random(seed)
    count, racks = draw(st.integers(2, 6)), draw(st.integers(0, 3))
    parts = []
    for number in range(1, count + 1):
        rack = f"r{rng.randrange(racks)}" if racks else None
        parts.append(broker(number, BrokerStatus.OFFLINE if rng.random() < 0.1 else BrokerStatus.ONLINE, rack))
        parts += [_directory(rng, number, f"/d{index}") for index in range(draw(st.integers(1, 3)))]
    parts += _topics(rng, draw(st.integers(1, 6)), count, parts)
    found = facts(*parts)
    return Model(found, rng.choice(sorted(found.directories)))


def _directory(rng, number, path):
    status = rng.choices(list(LogDirStatus), weights=[6, 2, 1, 1, 1, 1])[0]
    cause = rng.choice([Cause.FAILED, Cause.FULL]) if status is LogDirStatus.OFFLINE else None
    used = None if rng.random() < 0.05 else rng.randrange(0, 1000) * MIB
    growth = rng.choice([None, 0.0, 1e6, 6e7])
    cordoned = rng.choice([None, False, False, True])
    return directory(number, path, used, status=status, cause=cause, growth_bytes_per_s=growth, is_cordoned=cordoned)


def _topics(rng, count, brokers, parts):
    paths = {}
    for part in parts:
        if hasattr(part, "path"):
            paths.setdefault(part.broker, []).append(part.path)
    made = []
    for number in range(count):
        name = rng.choice(["t", "t", "__internal"]) + str(number)
        width = rng.randint(1, min(3, brokers))
        assignments = [tuple(rng.sample(range(1, brokers + 1), width)) for _ in range(rng.randint(1, 4))]
        isr = {n: a[: rng.randint(1, width)] for n, a in enumerate(assignments) if rng.random() < 0.3}
        configs = {"cleanup.policy": rng.choice(["delete", "delete", "compact", "compact,delete"])}
        made.append(topic(name, *assignments, isr=isr, configs=configs))
        for partition, replicas in enumerate(assignments):
            size = rng.randrange(0, 200) * MIB
            made += [replica(b, rng.choice(paths[b]), name, partition, size) for b in replicas]
    return made


class Answers(NamedTuple):
    """What is answered to the failure of a directory, to one that fills, and to a whole cluster that does."""

    model: Model
    repair: object
    to_failure: list
    to_filling: list
    to_fleet: list

    def __repr__(self):
        return f"a cluster of {len(self.model.facts.brokers)} brokers"


@st.composite
def answers(draw):
    model = draw(clusters())
    number, log_dir = model.place
    fleet = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="filling", cause=None)
    about = alert(number=number, log_dir=log_dir), space_alert(number=number, log_dir=log_dir), fleet
    actions = (recommend(one, model.facts, policy(), NOW_MS) for one in about)
    return Answers(model, plan_repair(model.place, model.facts, policy()), *actions)


def assignments(action):
    return from_json(action.reassignment or {"partitions": []})


@given(found=answers())
@examples(50)
def test_every_law_holds(found):
    for law in LAWS:
        law(found)


def nothing_stands_against_what_is_proposed(found):
    """The judge, which shares no step with the planners, passes every reassignment: no overflow, no rack lost, ..."""
    for action in [*found.to_failure, *found.to_filling]:
        assert violations(assignments(action), found.model.facts, policy()) == []


def no_replica_is_lost_or_duplicated(found):
    for assignment in found.repair.assignments:
        before = found.model.facts.partitions[assignment.key].replicas
        assert len(set(assignment.replicas)) == len(assignment.replicas) == len(before)
        assert set(before) - set(assignment.replicas) == {found.model.place[0]}
        changed = [old for old, new in zip(before, assignment.replicas, strict=True) if old != new]
        assert changed == [found.model.place[0]]


def every_lost_replica_is_placed_or_named(found):
    facts, place = found.model
    lost = [p.label for p in facts.partitions.values() if place in {r.place for r in facts.replicas_of(p.key)}]
    placed = [a.label for a in found.repair.assignments]
    assert sorted(placed + [left.label for left in found.repair.unplaced]) == sorted(lost)


def no_directory_is_filled_above_the_limit(found):
    """All chosen copies at once, nothing deleted yet; counted here in the plainest way."""
    facts = found.model.facts
    for action in [*found.to_failure, *found.to_filling]:
        arriving = Counter()
        for assignment in assignments(action):
            for place in assignment.chosen:
                arriving[place] += facts.layout.size_of(assignment.key)
        for place, size in arriving.items():
            assert facts.directories[place].used_bytes + size <= LIMIT * facts.directories[place].total_bytes


def racks(facts, brokers):
    return len({facts.brokers[b].rack for b in brokers} - {None})


def racks_that_were_distinct_stay_distinct(found):
    facts = found.model.facts
    for assignment in found.repair.assignments:
        before = facts.partitions[assignment.key].replicas
        assert racks(facts, assignment.replicas) >= racks(facts, before)


def moves_stay_in_the_broker_and_leave_internal_topics_alone(found):
    for action in found.to_filling:
        for assignment in assignments(action) if action.kind is ActionKind.MOVE_LOG_DIR else ():
            assert assignment.replicas == found.model.facts.partitions[assignment.key].replicas
            placed = zip(assignment.replicas, assignment.log_dirs, strict=True)
            assert {broker for broker, path in placed if path != ANY} == {found.model.place[0]}
            assert assignment.topic.startswith("t")


def what_leaves_for_other_brokers_keeps_its_racks_its_number_and_the_others(found):
    facts = found.model.facts
    for action in found.to_filling:
        for assignment in assignments(action) if action.kind is ActionKind.REASSIGN else ():
            before = facts.partitions[assignment.key].replicas
            assert set(before) - set(assignment.replicas) == {found.model.place[0]}
            assert len(set(assignment.replicas)) == len(before)
            assert racks(facts, assignment.replicas) >= racks(facts, before)
            assert assignment.topic.startswith("t")


def retention_is_lowered_on_plain_topics_only_and_promises_no_more_than_is_there(found):
    facts = found.model.facts
    for action in found.to_filling:
        for name in action.configs or {}:
            assert name.startswith("t")
            assert "delete" in facts.topics[name].configs["cleanup.policy"].split(",")
            for entry in action.expected["on"]:
                here = facts.layout.topic_bytes((entry["broker"], entry["log_dir"]), name)
                assert 0 < entry["bytes"] <= here
                assert here - entry["bytes"] >= 10 * MIB


def no_replica_is_moved_twice_for_one_alert(found):
    moved = [assignment.key for action in found.to_filling for assignment in assignments(action)]
    assert len(moved) == len(set(moved))


def a_whole_cluster_is_given_no_more_than_what_is_there(found):
    for action in found.to_fleet:
        for entry in action.expected["on"]:
            place = entry["broker"], entry["log_dir"]
            assert 0 < entry["bytes"] <= found.model.facts.layout.topic_bytes(place, action.target["topic"])
        assert action.kind in {ActionKind.LOWER_RETENTION, ActionKind.INVESTIGATE, ActionKind.THROTTLE_PRODUCERS}


def there_is_always_something_that_nothing_speaks_against(found):
    for actions in found[-3:]:
        assert any(not action.vetoes for action in actions)


def nothing_takes_a_leader_away(found):
    assert_leaders_stay([*found.to_failure, *found.to_filling])


LAWS = (
    nothing_stands_against_what_is_proposed,
    no_replica_is_lost_or_duplicated,
    every_lost_replica_is_placed_or_named,
    no_directory_is_filled_above_the_limit,
    racks_that_were_distinct_stay_distinct,
    moves_stay_in_the_broker_and_leave_internal_topics_alone,
    what_leaves_for_other_brokers_keeps_its_racks_its_number_and_the_others,
    retention_is_lowered_on_plain_topics_only_and_promises_no_more_than_is_there,
    no_replica_is_moved_twice_for_one_alert,
    a_whole_cluster_is_given_no_more_than_what_is_there,
    there_is_always_something_that_nothing_speaks_against,
    nothing_takes_a_leader_away,
)
