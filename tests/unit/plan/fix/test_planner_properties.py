"""What one plan for all alerts may never do, on clusters of any shape with any alerts."""

from collections import Counter
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Cause, LogDirStatus, Rule, Severity
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.fix.plan import Fix, reassignment, steps
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.vetoes.reassignment import violations
from tests.support.properties import examples
from tests.unit.plan.builders import NOW_MS, alert, policy, space_alert
from tests.unit.plan.test_properties import LIMIT, clusters

FULL = {LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED}


class Made(NamedTuple):
    facts: ClusterSnapshot
    plan: Fix

    def __repr__(self):
        return f"a plan of {len(self.plan.actions)} actions"


@st.composite
def plans(draw):
    """A cluster's facts, and the plan for an alert of everything that is wrong there."""
    facts = draw(clusters()).facts
    severities = st.sampled_from(list(Severity))
    alerts = [_alert(directory, draw(severities)) for directory in facts.directories.values()]
    if draw(st.booleans()):
        alerts.append(alert(Rule.FLEET_SPACE, alert_id="fleet", number=None, log_dir=None, severity=draw(severities)))
    return Made(facts, fix([one for one in alerts if one is not None], (), facts, policy(), NOW_MS))


def _alert(directory, severity):
    where = {"number": directory.broker, "log_dir": directory.path, "severity": severity}
    identity = f"{directory.broker}{directory.path}"
    if directory.status in FULL:
        return space_alert(str(directory.status), alert_id=identity, **where)
    if directory.status is LogDirStatus.OFFLINE:
        return alert(alert_id=identity, cause=directory.cause or Cause.FAILED, **where)
    if directory.status is LogDirStatus.UNKNOWN:
        return alert(Rule.LOG_DIR_UNKNOWN, alert_id=identity, to="unknown", cause=None, **where)
    return None


def arriving(plan, facts):
    """Every copy of the whole plan at once, as far as its directory is named."""
    found = Counter()
    for assignment in from_json(reassignment(plan)):
        homes = {replica.place for replica in facts.replicas_of(assignment.key)}
        for place in set(assignment.chosen) - homes:
            found[place] += facts.layout.size_of(assignment.key) or 0
    return found


@given(made=plans())
@examples(40)
def test_every_law_holds(made):
    for law in LAWS:
        law(made)


def no_directory_overflows_not_even_with_all_copies_there_and_nothing_deleted(made):
    facts, plan = made
    for place, size in arriving(plan, facts).items():
        directory = facts.directories[place]
        assert directory.used_bytes + size <= LIMIT * directory.total_bytes


def no_step_overfills_a_directory(made):
    facts, plan = made
    before = {place: d.used_bytes / d.total_bytes for place, d in facts.directories.items() if d.used_bytes is not None}
    for wave in steps(plan)["waves"]:
        for one in wave["directories"]:
            assert one["worst_ratio"] <= max(LIMIT, before[one["broker"], one["log_dir"]]) + 1e-9


def no_partition_is_reassigned_twice_and_no_topic_is_cut_that_is_moved_within_a_broker(made):
    """Retention of a replica stands still while it moves to another directory; a new copy elsewhere stops nothing."""
    _, plan = made
    assignments = from_json(reassignment(plan))
    assert len({assignment.key for assignment in assignments}) == len(assignments)
    cut = {str(action.target["topic"]) for action in plan.actions if action.kind is ActionKind.LOWER_RETENTION}
    moves = [move for wave in steps(plan)["waves"] for move in wave["moves"]]
    assert not cut & {move["topic"] for move in moves if move["from_broker"] == move["to_broker"]}


def the_judge_of_reassignments_passes_every_action_and_all_of_them_together(made):
    """The judge shares no step with the planners; it knows where Kafka may let a new replica be born."""
    facts, plan = made
    for action in plan.actions:
        assert action.vetoes == []
        assert violations(from_json(action.reassignment or {"partitions": []}), facts, policy()) == []
    assert violations(from_json(reassignment(plan)), facts, policy()) == []


def every_alert_is_answered_the_loudest_first(made):
    _, plan = made
    ranks = [remedy.alert.severity.rank for remedy in plan.remedies]
    assert ranks == sorted(ranks, reverse=True)
    assert all(action.status is ActionStatus.PROPOSED for action in plan.actions)
    assert all(remedy.actions or remedy.missing_bytes == 0 for remedy in plan.remedies)


LAWS = (
    no_directory_overflows_not_even_with_all_copies_there_and_nothing_deleted,
    no_step_overfills_a_directory,
    no_partition_is_reassigned_twice_and_no_topic_is_cut_that_is_moved_within_a_broker,
    the_judge_of_reassignments_passes_every_action_and_all_of_them_together,
    every_alert_is_answered_the_loudest_first,
)
