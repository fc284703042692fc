"""``autopilot`` on real brokers with small disks: alone, stopped by a decision, killed, fenced, without telemetry."""

import os
import signal

import msgspec
import pytest
import yaml

from logdirwatch.cli.reading import live_cluster
from logdirwatch.jobs.policy import policy_for
from logdirwatch.kafka import clients, turn
from logdirwatch.kafka.cluster_description import allowed_operations
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, ActionKind, ActionStatus, Decision
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.recommend import recommend
from logdirwatch_lab.config import CLUSTER
from logdirwatch_lab.demo.services import Service
from tests.kafka.applying import (
    MIB,
    executions,
    limits_left,
    now,
    places,
    states,
    topic_of_4_mib,
    watched,
    within_broker,
)
from tests.kafka.collecting import run
from tests.kafka.telemetry import fresh_topics, send_records
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.plan.builders import space_alert

SLOW = MIB // 4
CRAWLING = MIB // 16
ENDED = (signal.SIGTERM, signal.SIGKILL)
"""So slow that another process starts while it copies."""


@pytest.fixture
def own(on_disks):
    return on_disks


@pytest.fixture
def admin(own):
    with clients.admin(watched(own)) as client:
        yield client


@pytest.fixture
def made(own, admin):
    """A topic with 4 MiB in one partition on brokers 1 and 2; telemetry is empty, and the topic gone after the test."""
    fresh_topics(own)
    name = topic_of_4_mib(own, admin, "autopilot")
    yield name
    admin.delete_topics([name])


@pytest.fixture
def started(disks, tmp_path):
    """A function that starts an autopilot that may move replicas; whatever runs is killed after the test."""
    running = []

    def start(name="first", *, unattended=False, **allowed):
        content = yaml.safe_load(disks.config_path.read_text())
        kinds = {"move_log_dir": {"unattended": unattended}}
        content["autopilot"] = {
            "telemetry_max_age_ms": 3_000,
            "clusters": {CLUSTER: {"kinds": kinds, "max_actions_per_hour": 100, **allowed}},
        }
        config = tmp_path / f"{name}.yaml"
        config.write_text(yaml.safe_dump(content))
        service = Service(name, ["--config", str(config), "autopilot"], tmp_path / f"{name}.log").start()
        running.append(service)
        return service

    yield start
    for service in running:
        service.stop()


def says(service, text):
    """Wait for a text in a service's log."""

    def found():
        service.check()
        return text in service.log_file.read_text()

    wait_until(found, DEADLINE_S, lambda: f"{text!r} in the log of {service.name}; {service.tail()}")


def decide(own, action, decision=Decision.ACCEPT):
    record = DecisionRecord(
        version=1,
        id=action.action_id,
        decision=decision,
        by="ann",
        reason="because",
        at_ms=now(),
        content_hash=content_hash(action),
    )
    clients.write(own.telemetry, topics.DECISIONS, [(record.id, msgspec.json.encode(record))])


def ends(own, action, state):
    wait_until(lambda: state in states(own, action), DEADLINE_S, lambda: f"{state}, not {states(own, action)}")


def proposed(own, disks, admin, made, rate):
    return within_broker(own, disks, admin, made, rate=rate, status=ActionStatus.PROPOSED)


def planned_move(own, place):
    """The move that the planner proposes for a directory that fills, from what the brokers say."""
    policy = policy_for(own, CLUSTER)

    def found():
        facts = live_cluster.facts_of(CLUSTER, live_cluster.seen(own.clusters[CLUSTER], own), own, {})
        alert = space_alert(number=place[0], log_dir=place[1], cluster=CLUSTER)
        moves = [a for a in recommend(alert, facts, policy, now()) if a.kind is ActionKind.MOVE_LOG_DIR]
        return moves and not moves[0].vetoes and moves[0]

    return wait_until(found, DEADLINE_S, "a move to be proposed")


def test_a_filling_directory_is_emptied_with_nobody_there(own, disks, started):
    fresh_topics(own)
    disks.fill(0, 0, until_ratio=0.8, partitions=6)
    place = 0, disks.state().broker(0).log_dirs[0]
    action = planned_move(own, place)
    send_records(own, topics.ACTIONS, action)
    service = started(unattended=True)
    ends(own, action, "done")
    wait_until(
        lambda: disks.space(*place).used_ratio <= own.plan.target_ratio, DEADLINE_S, "the old copies to be deleted"
    )
    said = [
        msgspec.json.decode(record.value, type=DecisionRecord)
        for record in clients.read_all(own.telemetry, topics.DECISIONS)
    ]
    assert [(one.id, one.content_hash) for one in said] == [(action.action_id, action.content_hash)]
    assert said[0].by.startswith("autopilot ")
    assert service.stop() == 0


def test_nothing_starts_without_a_decision_and_a_revoked_one_stops_what_runs(own, disks, admin, made, started):
    action, here, there = proposed(own, disks, admin, made, CRAWLING)
    service = started()
    says(service, f"waits for an acceptance: logdirwatch actions accept {action.action_id}")
    assert states(own, action) == []
    decide(own, action)
    ends(own, action, "copying")
    decide(own, action, Decision.REJECT)
    ends(own, action, "stuck")
    (last,) = executions(own, action)
    assert last.reason == "ann rejected it: because"
    assert places(admin, made)[1] == here
    assert not moving(admin, made)
    assert limits_left(admin, made) == {}
    assert service.log_file.read_text().count("waits for an acceptance") == 1
    assert there


def test_one_member_has_the_turn_until_it_leaves_and_again_after_the_topic_was_gone(own):
    fresh_topics(own)
    one, other = (turn.Turn(own.telemetry, "turn", topics.EXECUTIONS) for _ in range(2))
    wait_until(one.is_ours, DEADLINE_S, "the turn")
    fresh_topics(own)
    wait_until(one.is_ours, DEADLINE_S, "the turn on the new topic")
    assert not other.is_ours()
    one.close()
    wait_until(other.is_ours, DEADLINE_S, "the turn that was given back")
    other.close()


def moving(admin, name):
    return [
        found["log_dir"]
        for answer in admin.describe_log_dirs([name], brokers=[0, 1, 2])
        for found in answer["log_dirs"]
        for topic in found["topics"]
        for part in topic["partitions"]
        if part["is_future_key"]
    ]


def test_killed_in_the_middle_it_is_resumed_by_the_next_start(own, disks, admin, made, started):
    action, _, there = proposed(own, disks, admin, made, SLOW)
    decide(own, action)
    service = started()
    ends(own, action, "copying")
    os.kill(service.pid, signal.SIGKILL)
    assert limits_left(admin, made) == {("broker 1", LOG_DIR_THROTTLE): str(SLOW)}
    again = started("again")
    says(again, "autopilot.resumed")
    ends(own, action, "done")
    assert places(admin, made)[1] == there
    assert limits_left(admin, made) == {}
    assert len(executions(own, action)) == 1


@pytest.mark.parametrize("end", [*(pytest.param(one, marks=pytest.mark.long) for one in ENDED), signal.SIGSTOP])
def test_a_second_one_stands_by_and_takes_over_once_the_first_is_gone(own, disks, admin, made, started, end):
    action, _, there = proposed(own, disks, admin, made, CRAWLING)
    decide(own, action)
    first = started()
    ends(own, action, "copying")
    second = started("second")
    says(second, "autopilot.stands_by")
    os.kill(first.pid, end)
    says(second, "autopilot.resumed")
    if end is signal.SIGSTOP:
        os.kill(first.pid, signal.SIGCONT)
        says(first, "autopilot.fenced")
        says(first, "autopilot.stands_by")
    ends(own, action, "done")
    assert places(admin, made)[1] == there
    assert len(executions(own, action)) == 1
    assert second.log_file.read_text().count("autopilot.resumed") == 1


def test_without_the_telemetry_cluster_no_call_is_made(own, disks, admin, made, started):
    """The copy ends by itself; not even its own throttle goes before the telemetry cluster is back."""
    action, _, there = proposed(own, disks, admin, made, SLOW)
    decide(own, action)
    service = started()
    ends(own, action, "copying")
    telemetry = disks.state().telemetry.process.pid
    os.kill(telemetry, signal.SIGSTOP)
    try:
        says(service, "nothing is called until they do")
        says(service, "autopilot.telemetry.failed")
        # Its own pace may have lowered the throttle before.
        held = limits_left(admin, made)
        assert list(held) == [("broker 1", LOG_DIR_THROTTLE)]
        wait_until(lambda: places(admin, made)[1] == there, DEADLINE_S, "the copy to end")
        assert limits_left(admin, made) == held
    finally:
        os.kill(telemetry, signal.SIGCONT)
    ends(own, action, "done")
    assert limits_left(admin, made) == {}


def test_a_dry_run_says_what_would_be_done_and_doctor_sees_that_it_may(own, disks, admin, made, tmp_path, started):
    action, here, _ = proposed(own, disks, admin, made, SLOW)
    decide(own, action)
    service = started("dry", paused=True)
    says(service, f"waits: autopilot.clusters.{CLUSTER}.paused is set")
    assert service.stop() == 0
    config = tmp_path / "dry.yaml"
    config.write_text(config.read_text().replace("paused: true", "paused: false"))
    dry = run(config, "autopilot", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert f"move_log_dir {action.action_id} would start now" in dry.stdout
    assert "nothing was changed" in dry.stdout
    assert (places(admin, made)[1], states(own, action)) == (here, [])
    assert allowed_operations(admin) >= {"ALTER", "ALTER_CONFIGS"}
