"""``actions check`` against live brokers: what holds, what no longer does, commands that run.

Actions are planned on what the brokers answer this moment, written to the topic, then read, judged and carried out as a
person would do it.
"""

import subprocess
import sys
import time

import msgspec
import pytest
from kafka.admin import NewTopic
from msgspec.structs import replace as changed

from logdirwatch.cli.reading import live_cluster
from logdirwatch.jobs.policy import policy_for
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Rule
from logdirwatch.plan.actions.replicas.demote_leaders import demote
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands.operations import ANOTHER_TOPIC
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from logdirwatch_lab.config import CLUSTER
from tests.kafka.telemetry import fresh_topics, send_records
from tests.support.pasting import paste
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.plan.builders import action, alert


def now():
    return time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def commands(cluster, watched):
    """What runs a command of ours as a person does."""
    fresh_topics(watched)

    def command(*arguments, **options):
        line = [sys.executable, "-m", "logdirwatch", "--config", str(cluster.config_path), *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=DEADLINE_S, check=False, **options)

    return command


@pytest.fixture
def made(watched):
    """A topic with one partition, led by broker 1, with a replica on broker 2; it is gone after the test."""
    settings = KafkaSettings(bootstrap_servers=watched.clusters[CLUSTER].bootstrap_servers)
    name = f"check-{time.time_ns()}"
    with clients.admin(settings) as admin:
        admin.create_topics([NewTopic(name, replica_assignments={0: [1, 2]})])
        yield name
        if name in admin.list_topics():
            admin.delete_topics([name])


def seen(watched):
    """Return the facts of the cluster as ``actions check`` sees them."""
    found = live_cluster.seen(watched.clusters[CLUSTER], watched)
    assert found.unknown == {}, "every question must be answered"
    return live_cluster.facts_of(CLUSTER, found, watched, {}), found


def led_by(watched, name):
    facts, _ = seen(watched)
    return facts.partitions[name, 0].leader if (name, 0) in facts.partitions else None


def reassign(watched, name, target):
    """An action that gives the topic's one partition other brokers, planned on the cluster as it is."""
    facts, _ = seen(watched)
    before = facts.partitions[name, 0].replicas
    plan, back = (to_json([Assignment(name, 0, tuple(order), ("any",) * 2)]) for order in (target, before))
    tools = policy_for(watched, CLUSTER).tools
    return action(
        ActionKind.REASSIGN,
        action_id=f"id-{name}",
        cluster=CLUSTER,
        target={"broker": 1, "log_dir": None},
        reassignment=plan,
        commands=tools.reassign(plan, "plan.json", limits=Limits()),
        undo={"reassignment": back, "commands": tools.reassign(back, "back.json", limits=Limits())},
        expires_at_ms=now() + 600_000,
        based_on={"topic_ids": {name: facts.topics[name].id}},
        alert={"rule": "partition_failed", "severity": "warning"},
    )


def test_a_live_cluster_tells_everything_that_a_check_needs(watched, made):
    wait_until(lambda: led_by(watched, made) is not None, DEADLINE_S, "the topic to be led")
    facts, found = seen(watched)
    assert {broker.status for broker in facts.brokers.values()} == {"online"}
    assert all(directory.used_bytes is not None for directory in facts.directories.values())
    partition = facts.partitions[made, 0]
    assert (partition.replicas, partition.adding, partition.removing) == ((1, 2), (), ())
    assert partition.elr is not None
    assert found.quorum.leader in found.quorum.caught_up
    assert all(found.quorum.caught_up.values())
    assert len(found.quorum.caught_up) == 3


def test_an_action_holds_until_somebody_else_changed_what_it_is_about(watched, commands, made, tmp_path):
    wait_until(lambda: led_by(watched, made) == 1, DEADLINE_S, "broker 1 to lead")
    planned = reassign(watched, made, (3, 2))
    send_records(watched, topics.ACTIONS, planned)
    first = commands("actions", "check", f"id-{made}")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("holds: reassign")
    paste(planned.commands, tmp_path)
    second = commands("actions", "check", f"id-{made}")
    assert second.returncode == 1
    assert f"no longer holds: the replicas of {made}-0 are no longer those" in second.stdout
    paste(planned.undo["commands"], tmp_path)
    assert commands("actions", "check", f"id-{made}").returncode == 0


def test_a_deleted_topic_a_new_one_of_its_name_and_an_old_action_hold_no_more(watched, commands, made):
    wait_until(lambda: led_by(watched, made) is not None, DEADLINE_S, "the topic to be led")
    planned = reassign(watched, made, (3, 2))
    send_records(watched, topics.ACTIONS, changed(planned, expires_at_ms=now() - 60_000))
    with clients.admin(KafkaSettings(bootstrap_servers=watched.clusters[CLUSTER].bootstrap_servers)) as admin:
        admin.delete_topics([made])
    wait_until(lambda: led_by(watched, made) is None, DEADLINE_S, "the topic to be gone")
    ended = commands("actions", "check", planned.action_id)
    assert ended.returncode == 1
    assert f"no longer holds: {made}-0 does not exist any more" in ended.stdout
    assert "ago and was not renewed" in ended.stdout
    with clients.admin(KafkaSettings(bootstrap_servers=watched.clusters[CLUSTER].bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(made, replica_assignments={0: [1, 2]})])
    wait_until(lambda: led_by(watched, made) is not None, DEADLINE_S, "the topic to be there again")
    assert f"{made} {ANOTHER_TOPIC}" in commands("actions", "check", planned.action_id).stdout


def test_an_accepted_plan_is_withdrawn_when_somebody_else_moved_what_it_is_about(watched, made, tmp_path):
    wait_until(lambda: led_by(watched, made) == 1, DEADLINE_S, "broker 1 to lead")
    about = {"number": 1, "log_dir": None, "cause": None, "cluster": CLUSTER}
    firing = alert(Rule.PARTITION_FAILED, **about, opened_at_ms=now(), at_ms=now())
    accepted = changed(reassign(watched, made, (3, 2)), alert_id=firing.alert_id, status=ActionStatus.ACCEPTED)
    book = ActionTracker(60_000)
    for topic, record in ((topics.ALERTS, firing), (topics.ACTIONS, accepted)):
        assert book.take(topic, b"k", msgspec.json.encode(record), -1)
    assert not _withdrawn(book, watched), "its partition is as it was"
    paste(reassign(watched, made, (0, 2)).commands, tmp_path)
    (withdrawn,) = _withdrawn(book, watched)
    assert withdrawn.action_id == accepted.action_id
    assert f"the replicas of {made}-0 are no longer those that it was planned for" in withdrawn.status_reason


def _withdrawn(book, watched):
    facts, _ = seen(watched)
    revisions = book.revise({CLUSTER: facts}, lambda cluster: policy_for(watched, cluster), now())
    return [action for action in revisions if action.status is ActionStatus.WITHDRAWN]


def test_leaders_are_demoted_and_given_back_by_kafkas_own_tools(watched, made, tmp_path):
    """The predicted leader is the one that Kafka elects, there and back."""
    wait_until(lambda: led_by(watched, made) == 1, DEADLINE_S, "broker 1 to lead")
    facts, _ = seen(watched)
    (demotion,) = demote(1, None, [facts.partitions[made, 0]], facts, policy_for(watched, CLUSTER), "it is a test")
    (predicted,) = demotion.expected["leadership"]["examples"]
    assert (predicted["now"]["leader"], predicted["demoted"]["leader"]) == (1, 2)
    paste(demotion.commands, tmp_path)
    wait_until(lambda: led_by(watched, made) == 2, DEADLINE_S, "broker 2 to lead")
    paste(demotion.undo["commands"], tmp_path)
    wait_until(lambda: led_by(watched, made) == 1, DEADLINE_S, "broker 1 to lead again")


def test_the_permission_command_is_one_that_kafkas_tool_reads(watched, tmp_path):
    """The local cluster has no authorizer: the tool says so, and nothing against the command itself."""
    commands = policy_for(watched, CLUSTER).tools.allow_collector()
    script = "\n".join(["export COLLECTOR_PRINCIPAL='User:it is me'", *commands])
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    said = done.stdout + done.stderr
    assert "SecurityDisabledException" in said
    assert "is not a recognized option" not in said
