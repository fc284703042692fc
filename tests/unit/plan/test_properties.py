"""What no plan may ever do, on clusters of any shape."""

import random
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.cluster.assignment import ANY, from_json
from logdirwatch.plan.reassignment.replacement_replicas import plan_repair
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.support.properties import examples
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, policy, replica, space_alert, topic

LIMIT = 0.85


@dataclass
class Model:
    facts: object
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


def actions_of(model, an_alert):
    number, log_dir = model.place
    return recommend(an_alert(number=number, log_dir=log_dir), model.facts, policy(), NOW_MS)


@given(model=clusters())
@examples(50)
def test_nothing_stands_against_what_is_proposed(model):
    """The judge, which shares no step with the planners, passes every reassignment: no overflow, no rack lost, ..."""
    for action in [*actions_of(model, alert), *actions_of(model, space_alert)]:
        if action.reassignment is not None:
            assert violations(from_json(action.reassignment), model.facts, policy()) == []


@given(model=clusters())
@examples(50)
def test_no_replica_is_lost_or_duplicated(model):
    for assignment in plan_repair(model.place, model.facts, policy()).assignments:
        before = model.facts.partitions[assignment.key].replicas
        assert len(set(assignment.replicas)) == len(assignment.replicas) == len(before)
        assert set(before) - set(assignment.replicas) == {model.place[0]}
        assert [old for old, new in zip(before, assignment.replicas, strict=True) if old != new] == [model.place[0]]


@given(model=clusters())
@examples(50)
def test_every_lost_replica_is_placed_or_told(model):
    repair = plan_repair(model.place, model.facts, policy())
    lost = {
        partition.label
        for partition in model.facts.partitions.values()
        if model.place in {r.place for r in model.facts.replicas_of(partition.key)}
    }
    placed = [a.label for a in repair.assignments]
    told = [left.label for left in repair.unplaced]
    assert sorted(placed + told) == sorted(lost)


@given(model=clusters())
@examples(50)
def test_no_directory_is_filled_above_the_limit(model):
    """All chosen copies at once, nothing deleted yet; counted here in the plainest way."""
    for action in [*actions_of(model, alert), *actions_of(model, space_alert)]:
        arriving = {}
        for assignment in from_json(action.reassignment or {"partitions": []}):
            for place in assignment.chosen:
                arriving[place] = arriving.get(place, 0) + model.facts.layout.size_of(assignment.key)
        for place, size in arriving.items():
            destination = model.facts.directories[place]
            assert destination.used_bytes + size <= LIMIT * destination.total_bytes


@given(model=clusters())
@examples(50)
def test_racks_that_were_distinct_stay_distinct(model):
    def racks(brokers):
        return len({model.facts.brokers[b].rack for b in brokers} - {None})

    for assignment in plan_repair(model.place, model.facts, policy()).assignments:
        assert racks(assignment.replicas) >= racks(model.facts.partitions[assignment.key].replicas)


@given(model=clusters())
@examples(50)
def test_moves_stay_in_the_broker_and_leave_internal_topics_alone(model):
    for action in actions_of(model, space_alert):
        if action.kind is not ActionKind.MOVE_LOG_DIR:
            continue
        for assignment in from_json(action.reassignment or {"partitions": []}):
            assert assignment.replicas == model.facts.partitions[assignment.key].replicas
            assert {b for b, path in zip(assignment.replicas, assignment.log_dirs, strict=True) if path != ANY} == {
                model.place[0]
            }
            assert assignment.topic.startswith("t")


@given(model=clusters())
@examples(50)
def test_what_leaves_for_other_brokers_keeps_its_racks_its_number_and_the_others(model):
    def racks(brokers):
        return len({model.facts.brokers[b].rack for b in brokers} - {None})

    for action in actions_of(model, space_alert):
        if action.kind is not ActionKind.REASSIGN:
            continue
        for assignment in from_json(action.reassignment or {"partitions": []}):
            before = model.facts.partitions[assignment.key].replicas
            assert set(before) - set(assignment.replicas) == {model.place[0]}
            assert len(set(assignment.replicas)) == len(before)
            assert racks(assignment.replicas) >= racks(before)
            assert assignment.topic.startswith("t")


@given(model=clusters())
@examples(50)
def test_retention_is_lowered_on_plain_topics_only_and_promises_no_more_than_is_there(model):
    for action in actions_of(model, space_alert):
        for name in action.configs or {}:
            assert name.startswith("t")
            assert model.facts.topics[name].configs["cleanup.policy"] == "delete"
            for entry in action.expected["on"]:
                place = entry["broker"], entry["log_dir"]
                here = model.facts.layout.topic_bytes(place, name)
                assert 0 < entry["bytes"] <= here
                assert here - entry["bytes"] >= 10 * MIB


@given(model=clusters())
@examples(50)
def test_no_replica_is_moved_twice_for_one_alert(model):
    moved = [
        (entry["topic"], entry["partition"])
        for action in actions_of(model, space_alert)
        for entry in (action.reassignment or {"partitions": []})["partitions"]
    ]
    assert len(moved) == len(set(moved))


@given(model=clusters())
@examples(25)
def test_a_whole_cluster_is_given_no_more_than_what_is_there_and_always_an_answer(model):
    fleet = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="filling", cause=None)
    actions = recommend(fleet, model.facts, policy(), NOW_MS)
    assert any(not action.vetoes for action in actions)
    for action in actions:
        for entry in action.expected["on"]:
            assert (
                0
                < entry["bytes"]
                <= model.facts.layout.topic_bytes((entry["broker"], entry["log_dir"]), action.target["topic"])
            )
        assert action.kind in {ActionKind.LOWER_RETENTION, ActionKind.INVESTIGATE, ActionKind.THROTTLE_PRODUCERS}


@given(model=clusters())
@examples(25)
def test_there_is_always_something_that_nothing_speaks_against(model):
    assert any(not action.vetoes for action in actions_of(model, alert))
    assert any(not action.vetoes for action in actions_of(model, space_alert))
