"""What no answer to a failure may ever do, on clusters of any shape."""

import json
import random
import subprocess
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.action_records import DENIED_BY
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.lifecycle.overlay import with_alerts
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.support.properties import examples
from tests.unit.plan.answers import assert_leaders_stay
from tests.unit.plan.builders import MIB, NOW_MS, alert, broker, directory, facts, partition_of, policy, replica, topic

RULES = (
    Rule.LOG_DIR_OFFLINE,
    Rule.LOG_DIR_SUSPECT,
    Rule.LOG_DIR_UNKNOWN,
    Rule.BROKER_OFFLINE,
    Rule.BROKER_UNKNOWN,
    Rule.PARTITION_FAILED,
    Rule.PARTITIONS_AT_RISK,
    Rule.MOVE_STALLED,
)
ABOUT_DIRECTORIES = {Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_SUSPECT, Rule.LOG_DIR_UNKNOWN}
STARTS = {ActionKind.RESTART_BROKER, ActionKind.REPLACE_DISK}


@st.composite
def troubles(draw):
    """A cluster in trouble, and one alert about it."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    count = rng.randint(2, 6)
    parts = [part for number in range(1, count + 1) for part in _broker(rng, number)]
    parts += [part for number in range(rng.randint(1, 5)) for part in _topic(rng, number, count, parts)]
    found = facts(*parts)
    about = _alert(rng, draw(st.sampled_from(RULES)), found)
    return about, with_alerts(found, [about])


def _broker(rng, number):
    status = rng.choices(list(BrokerStatus), weights=[8, 1, 1, 1])[0]
    configs = {"process.roles": "broker,controller"} if rng.random() < 0.3 else {}
    yield broker(number, status, rng.choice([None, "a", "b"]), **configs)
    for index in range(rng.randint(1, 3)):
        level = rng.choices(list(LogDirStatus), weights=[6, 1, 1, 1, 2, 1])[0]
        cause = rng.choice(list(Cause)) if level is LogDirStatus.OFFLINE else None
        used = None if rng.random() < 0.05 else rng.randrange(0, 1000) * MIB
        yield directory(
            number,
            f"/d{index}",
            used,
            status=level,
            cause=cause,
            is_metadata_dir=rng.choice([None, False, True]),
            is_suspect=rng.random() < 0.1,
        )


def _topic(rng, number, brokers, parts):
    name = rng.choice(["t", "__internal"]) + str(number)
    width = rng.randint(1, min(4, brokers))
    assignments = [tuple(rng.sample(range(1, brokers + 1), width)) for _ in range(rng.randint(1, 3))]
    isr = {n: a[: rng.randint(1, width)] for n, a in enumerate(assignments)}
    configs = rng.choice([{}, {"min.insync.replicas": str(rng.randint(1, width))}])
    made = topic(name, *assignments, isr=isr, configs=configs)
    for partition, replicas in enumerate(assignments):
        if rng.random() < 0.2:
            adding = tuple(rng.sample(replicas, rng.randint(0, 1)))
            made = partition_of(made, partition, adding=adding, removing=(), is_reassigned=bool(adding))
        if rng.random() < 0.2:
            made = partition_of(made, partition, leader=None)
        if rng.random() < 0.1:
            made = partition_of(made, partition, isr=(), elr=replicas[:1], leader=None)
        size = None if rng.random() < 0.05 else rng.randrange(0, 200) * MIB
        for number_ in replicas:
            paths = [part.path for part in parts if hasattr(part, "path") and part.broker == number_]
            yield replica(number_, rng.choice(paths), name, partition, size)
    yield made


def _alert(rng, rule, found):
    place = rng.choice(sorted(found.directories))
    labels = [partition.label for partition in found.partitions.values()]
    evidence = {
        "why": rng.choice([["probe"], ["slow_probe"], rng.sample(labels, min(2, len(labels)))]),
        "reason": rng.choice(["timeout", "unauthorized: no"]),
        "log_dirs": {place[1]: {"last_status": rng.choice(["saturated", "online", None])}},
        "moves": {place[1]: {"verdict": "stands_still", "throttle": None, "remaining_bytes": 5}},
    }
    is_cluster = rule is Rule.PARTITIONS_AT_RISK
    return alert(
        rule,
        number=None if is_cluster else place[0],
        log_dir=place[1] if rule in ABOUT_DIRECTORIES else None,
        to=None,
        cause=rng.choice(list(Cause)) if rule is Rule.LOG_DIR_OFFLINE else None,
        evidence=evidence,
        opened_at_ms=NOW_MS - rng.choice([0, 3_600_000]),
    )


@given(trouble=troubles())
@examples(60)
def test_every_law_holds(trouble):
    about, found = trouble
    actions = recommend(about, found, policy(), NOW_MS)
    for law in LAWS:
        law(found, actions)


@given(trouble=troubles())
@examples(10)
def test_the_same_trouble_gets_the_same_answer_as_json_with_commands_that_a_shell_can_read(trouble):
    about, found = trouble
    one, two = (recommend(about, replace(found), policy(), NOW_MS) for _ in range(2))
    assert one == two
    for action in one:
        assert json.loads(json.dumps(action.expected)) == action.expected
        assert json.loads(json.dumps(action.undo)) == action.undo
    lines = "\n".join(line for action in one for line in action.commands)
    checked = subprocess.run(["sh", "-n"], input=lines, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def there_is_always_something_to_do_that_nothing_speaks_against(_, actions):
    assert any(not action.vetoes for action in actions)
    assert len({action.action_id for action in actions}) == len(actions)
    assert all(action.commands == [] for action in actions if action.vetoes)


def what_is_proposed_passes_the_judge_and_no_partition_is_named_twice(found, actions):
    named = []
    for action in actions:
        if action.reassignment is not None:
            assert violations(from_json(action.reassignment), found, policy()) == []
            named += [assignment.key for assignment in from_json(action.reassignment)]
    assert len(set(named)) == len(named)


def the_predicted_leader_is_alive_and_in_sync_at_every_step(found, actions):
    by_label = {partition.label: partition for partition in found.partitions.values()}
    for action in actions:
        added = {a.label: set(a.replicas) for a in from_json(action.reassignment or {"partitions": []})}
        back = {action.target["broker"]} if action.kind in STARTS else set()
        for example in (action.expected.get("leadership") or {}).get("examples", ()):
            partition = by_label[example["partition"]]
            live = leadership.live_replicas(partition, found) | back | added.get(partition.label, set())
            for step, told in example.items():
                if step != "partition" and told["leader"] is not None:
                    assert told["leader"] in told["isr"], (step, example)
                    assert told["leader"] in live, (step, example)


def nobody_is_sent_to_restart_a_broker_that_others_need(found, actions):
    """Counted here in the plainest way: no second broker down, nobody's only living copy, no disk known to be sick."""
    for action in actions:
        number = action.target.get("broker")
        if action.kind not in STARTS or action.vetoes or not found.is_alive(number):
            continue
        assert all(found.is_alive(other) for other in found.brokers)
        for partition in found.partitions.values():
            in_sync = leadership.live_replicas(partition, found) & set(partition.isr)
            assert in_sync != {number}, partition
        if action.kind is ActionKind.RESTART_BROKER and "step" not in action.target:
            sick = {Cause.FAILED, Cause.FILE_SYSTEM}
            assert not any((d.cause in sick and not d.is_serving) or d.is_suspect for d in found.directories_of[number])


def what_may_be_done_stands_before_what_must_not(_, actions):
    assert [action.position for action in actions] == list(range(len(actions)))
    blocked = [bool(action.vetoes) for action in actions]
    assert blocked == sorted(blocked)


def no_action_calls_well_what_one_of_its_vetoes_denies(_, actions):
    for action in actions:
        vetoed = {veto["name"] for veto in action.vetoes}
        well = {item["name"] for item in action.preconditions if item["holds"]}
        assert not [name for name in well if vetoed & DENIED_BY.get(name, set())]


def writes_that_are_said_to_go_on_go_on_in_the_prediction_too(_, actions):
    for action in actions:
        well = {item["name"] for item in action.preconditions if item["holds"]}
        if "writes_go_on" not in well:
            continue
        steps = {step["step"]: step for step in action.expected["leadership"]["steps"]}
        now, stopped = steps.get("now"), steps.get("stopped")
        if now is not None and stopped is not None:
            assert stopped["leaderless"] <= now["leaderless"]
            assert stopped["under_min_isr"] <= now["under_min_isr"]


def what_loses_data_says_so(_, actions):
    for action in actions:
        lost = (action.expected.get("lost_with_it") or {}).get("count", 0)
        is_unclean = action.target.get("election") == "unclean"
        if action.kind is ActionKind.CANCEL_MOVES:
            assert action.vetoes or not action.data_loss
            continue
        assert action.data_loss == (bool(lost) or is_unclean), action.kind


def nothing_that_may_be_done_takes_a_leader_away(_, actions):
    assert_leaders_stay(actions)


LAWS = (
    there_is_always_something_to_do_that_nothing_speaks_against,
    what_is_proposed_passes_the_judge_and_no_partition_is_named_twice,
    the_predicted_leader_is_alive_and_in_sync_at_every_step,
    nobody_is_sent_to_restart_a_broker_that_others_need,
    what_may_be_done_stands_before_what_must_not,
    no_action_calls_well_what_one_of_its_vetoes_denies,
    writes_that_are_said_to_go_on_go_on_in_the_prediction_too,
    what_loses_data_says_so,
    nothing_that_may_be_done_takes_a_leader_away,
)
