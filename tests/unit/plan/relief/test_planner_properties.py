"""What no answer to a filling directory may ever do, on clusters of any shape, rates and times."""

import random
from dataclasses import replace
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.capacity.projected_use import in_flight_bytes
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.fix.plan import Remedy
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import LogDirRule
from tests.support.properties import examples
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, moving, policy, replica, space_alert, topic

SIZE = 10_000 * MIB
FULL = (LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED)
MOVES = {ActionKind.MOVE_LOG_DIR, ActionKind.REASSIGN}
DRAWN = {
    ActionKind.UNCORDON_LOG_DIR,
    ActionKind.CANCEL_MOVES,
    ActionKind.DEMOTE_LEADERS,
    ActionKind.RELEASE_RESERVE,
    ActionKind.EXPAND_DISK,
    ActionKind.LOWER_RETENTION,
    ActionKind.THROTTLE_PRODUCERS,
}


class Filling(NamedTuple):
    alert: AlertRecord
    facts: ClusterSnapshot
    policy: Policy

    def __repr__(self):
        return f"a cluster of {len(self.facts.brokers)} brokers"


@st.composite
def fillings(draw):
    """A cluster with a directory that fills, its alert, and what the configuration says of disks and volumes."""
    return drawn(random.Random(draw(st.integers(0, 2**32))))


def drawn(rng):
    count = rng.randint(2, 5)
    parts = [broker(number, rack=rng.choice([None, "a", "b"])) for number in range(1, count + 1)]
    if count > 2 and rng.random() < 0.2:
        parts[-1] = replace(parts[-1], is_fenced=True)
    parts += [_directory(rng, number, f"/d{n}") for number in range(1, count + 1) for n in range(rng.randint(1, 3))]
    parts = [_filling(rng, part) if getattr(part, "place", None) == (1, "/d0") else part for part in parts]
    for number in range(rng.randint(1, 6)):
        parts += _topic(rng, f"t{number}", count, parts)
    found = facts(*parts)
    status = found.directories[1, "/d0"].status
    return Filling(space_alert(str(status), log_dir="/d0"), found, _policy(rng))


def _directory(rng, number, path):
    used = int(SIZE * rng.uniform(0.05, 0.9)) + rng.randrange(MIB)
    return directory(number, path, used, total=SIZE, is_cordoned=rng.random() < 0.2)


def _filling(rng, part):
    ratio, status = rng.choice([(0.8, FULL[0]), (0.88, FULL[1]), (0.93, FULL[1]), (0.97, FULL[2])])
    growth = rng.choice([None, 0.0, 1e3, 1e5, 3e5, 1e6, 5e6, 5e7])
    usable = SIZE - int(SIZE * ratio)
    return replace(part, usable_bytes=usable, status=status, growth_bytes_per_s=growth, is_cordoned=False)


def _topic(rng, name, brokers, parts):
    width = rng.randint(1, min(3, brokers))
    assignments = [tuple(rng.sample(range(1, brokers + 1), width)) for _ in range(rng.randint(1, 4))]
    configs = rng.choice([{}, {}, {"cleanup.policy": "compact"}, {"retention.ms": "604800000"}])
    made = topic(name, *assignments, configs=configs, unread={})
    for partition, replicas in enumerate(assignments):
        size = rng.randrange(50, 2000) * MIB
        for number in replicas:
            paths = [part.path for part in parts if hasattr(part, "path") and part.broker == number]
            path = "/d0" if number == 1 and rng.random() < 0.8 else rng.choice(paths)
            yield replica(number, path, name, partition, size)
        if width < brokers and rng.random() < 0.15:
            added = next(number for number in range(1, brokers + 1) if number not in replicas)
            yield replica(added, "/d0", name, partition, size // 10)
            made = moving(_added(made, partition, added), partition, adding=(added,), removing=(replicas[0],))
    yield made


def _added(made, number, added):
    partitions = [replace(p, replicas=(*p.replicas, added)) if p.partition == number else p for p in made.partitions]
    return replace(made, partitions=tuple(partitions))


def _policy(rng):
    rules = [LogDirRule(growing_takes_ms=rng.choice([60_000, 3_600_000, 86_400_000]))] if rng.random() < 0.3 else []
    rules = [LogDirRule(reserve_file="r", reserve_bytes=500 * MIB)] if rng.random() < 0.1 else rules
    bandwidth = rng.choice([None, 5_000_000, 60_000_000])
    return policy(log_dirs=rules, disk_bandwidth_bytes_per_s=bandwidth, network_bandwidth_bytes_per_s=bandwidth)


def in_time(action):
    """Whether it is; None where nobody knows. Of several waves of which only the first are, it is not."""
    return next((p["holds"] for p in action.preconditions if p["name"] == "in_time"), None)


def needed(found, place=(1, "/d0")):
    """What must leave the directory, counted in the plainest way."""
    one = found.directories[place]
    return one.total_bytes - one.usable_bytes + in_flight_bytes(found).get(place, 0) - int(0.7 * one.total_bytes)


class Answer(NamedTuple):
    """What is recommended for a directory that fills: all of it, what has no vetoes, and the plan for it."""

    filling: Filling
    actions: list
    ready: list
    remedy: Remedy


def answered(filling):
    actions = recommend(*filling, NOW_MS)
    about, found, allowed = filling
    (remedy,) = fix([about], (), found, allowed, NOW_MS).remedies
    return Answer(filling, actions, [action for action in actions if not action.vetoes], remedy)


def test_every_law_holds_on_clusters_of_all_sorts():
    seen = []

    @given(filling=fillings())
    @examples(100)
    def hold(filling):
        answer = answered(filling)
        seen.extend(answer.actions)
        for law in LAWS:
            law(answer)

    hold()
    assert {a.kind for a in seen} > MOVES | DRAWN, "answers of every kind are drawn, or the laws say little"
    assert {in_time(a) for a in seen if a.kind in MOVES} == {True, False, None}
    assert any("under_way" in str(a.target.get("step")) for a in seen)


def growth(answer):
    return answer.filling.facts.directories[1, "/d0"].growth_bytes_per_s or 0


def nothing_is_lost_while_what_loses_nothing_is_in_time_and_enough(answer):
    if not any(action.data_loss for action in answer.ready):
        return
    safe = [a for a in answer.ready if not a.data_loss and a.expected["needs_ms"] is not None]
    safe = [a for a in safe if in_time(a) is True or growth(answer) <= 0]
    gives = sum((a.expected["frees_bytes"] or 0) + (a.expected.get("then_frees_bytes") or 0) for a in safe)
    told = [(str(a.kind), in_time(a), a.expected["frees_bytes"]) for a in answer.actions]
    assert gives < needed(answer.filling.facts), told


def every_enough_is_in_time(answer):
    for action in answer.actions:
        if "(enough)" in action.reason:
            assert in_time(action) is not False, action.reason
        if "too late" in action.reason and action.kind in MOVES:
            assert in_time(action) is False


def what_is_late_stands_behind_what_is_in_time(answer):
    """But what must be begun at once: a bigger volume, and room that a person has to open."""
    late = [n for n, a in enumerate(answer.ready) if in_time(a) is False and a.kind in MOVES]
    timely = [n for n, a in enumerate(answer.ready) if in_time(a) is True]
    assert not late or not timely or max(timely) < min(late), [(str(a.kind), in_time(a)) for a in answer.ready]


def no_loss_stands_before_what_loses_nothing_and_a_bigger_volume_is_always_offered_before(answer):
    losses = [n for n, a in enumerate(answer.ready) if a.data_loss]
    if not losses:
        return
    kinds = [a.kind for a in answer.ready[: losses[0]]]
    assert ActionKind.EXPAND_DISK in kinds or ActionKind.ADD_LOG_DIR in kinds, kinds
    behind = [a for a in answer.ready[losses[0] :] if not a.data_loss and a.expected["frees_bytes"]]
    assert not [a for a in behind if in_time(a) is True]


def no_first_action_is_predicted_to_leave_a_partition_without_a_leader(answer):
    first = answer.actions[0]
    counts = [step["leaderless"] for step in (first.expected.get("leadership") or {}).get("steps") or ()]
    assert all(count <= counts[0] for count in counts), first.reason


def something_is_ready_and_every_command_belongs_to_it(answer):
    assert answer.ready
    assert len({action.action_id for action in answer.actions}) == len(answer.actions)
    assert all(action.commands == [] for action in answer.actions if action.vetoes)


def a_cut_asks_for_no_more_than_moves_would(answer):
    cuts = [a for a in answer.actions if a.kind is ActionKind.LOWER_RETENTION]
    freed = sum(action.expected["frees_bytes"] for action in cuts)
    assert freed <= max(0, needed(answer.filling.facts)) + (1 + len(cuts)) * 2 * MIB


def a_plan_for_all_alerts_counts_only_what_is_in_time(answer):
    found, remedy = answer.filling.facts, answer.remedy
    if growth(answer) <= 0 or any(a.kind is ActionKind.CANCEL_MOVES for a in remedy.actions):
        return
    missing = max(0, needed(found))
    losses = [a for a in remedy.actions if a.kind is ActionKind.LOWER_RETENTION or a.data_loss]
    if not losses and "under_way" not in [a.target.get("step") for a in remedy.actions]:
        assert remedy.missing_bytes >= min(missing, max(0, missing - given_in_time(answer)))


def given_in_time(answer):
    """Moves run one after the other, and what one of them frees in time postpones the moment for the next."""
    ends, elapsed_ms = [], 0
    for action in answer.remedy.actions:
        needs_ms, frees_bytes = action.expected["needs_ms"] or 0, action.expected["frees_bytes"] or 0
        elapsed_ms += needs_ms if action.reassignment else 0
        ends.append((elapsed_ms if action.reassignment else needs_ms, frees_bytes))
    usable_bytes, given_bytes = answer.filling.facts.directories[1, "/d0"].usable_bytes, 0
    for end_ms, frees_bytes in sorted(ends):
        if end_ms / 1000 * growth(answer) <= usable_bytes + given_bytes:
            given_bytes += frees_bytes
    return given_bytes


LAWS = (
    nothing_is_lost_while_what_loses_nothing_is_in_time_and_enough,
    every_enough_is_in_time,
    what_is_late_stands_behind_what_is_in_time,
    no_loss_stands_before_what_loses_nothing_and_a_bigger_volume_is_always_offered_before,
    no_first_action_is_predicted_to_leave_a_partition_without_a_leader,
    something_is_ready_and_every_command_belongs_to_it,
    a_cut_asks_for_no_more_than_moves_would,
    a_plan_for_all_alerts_counts_only_what_is_in_time,
)


def test_copies_that_arrive_are_cancelled_where_moves_alone_are_not_enough():
    """Only once the move is chosen does their room decide whether something is missing."""
    answer = answered(drawn(random.Random(1322)))
    ended = [action for action in answer.remedy.actions if action.kind is ActionKind.CANCEL_MOVES]
    spared = sum(action.expected["spares_bytes"] for action in ended)
    assert 0 < needed(answer.filling.facts) - given_in_time(answer) <= spared
    assert answer.remedy.missing_bytes == 0
