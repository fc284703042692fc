"""Recommendations carried out on a real cluster as they stand: pasted into a shell, with Kafka's own tools.

Directories are sized filesystems, since space is the point.
"""

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

from logdirwatch import settings as configuration
from logdirwatch.jobs.queries.recommend import policy_for
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import ActionKind, Cause, LogDirStatus, Severity
from logdirwatch.plan.cluster.snapshot import with_excluded_log_dirs
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.rule_responses import RUNBOOKS, investigate
from logdirwatch.plan.settings import LogDirRule
from logdirwatch_lab.config import CLUSTER, ClusterSpec
from logdirwatch_lab.fill import Ended, FillWith
from tests.kafka.collecting import collector_of
from tests.kafka.conftest import cluster_in
from tests.kafka.observing import facts_after
from tests.support.pasting import paste
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.plan.builders import MIB, alert, space_alert

SLACK_S = 30
EMPTY_RATIO = 0.1
THROTTLES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)


@pytest.fixture(scope="module")
def sized(tmp_path_factory):
    """Four brokers in two racks, with two directories of 64 MiB each."""
    spec = ClusterSpec(brokers=4, log_dirs=2, log_dir_size_bytes=64 * MIB)
    with cluster_in(tmp_path_factory.mktemp("sized"), spec) as running:
        telemetry_topics.create_missing(configuration.load(running.config_path))
        yield running


@pytest.fixture(scope="module")
def policy(sized):
    return policy_for(configuration.load(sized.config_path), CLUSTER)


@pytest.fixture(scope="module")
def collector(sized, tmp_path_factory):
    with collector_of(sized, tmp_path_factory.mktemp("collector")) as running:
        yield running


@pytest.fixture(autouse=True)
def emptied(sized):
    """What a test wrote is gone before the next one begins."""
    yield
    servers = KafkaSettings(bootstrap_servers=sized.bootstrap_servers)
    with clients.admin(servers) as admin:
        admin.delete_topics([name for name in admin.list_topics() if name.startswith("fill-")])
    places = [(node.id, path) for node in sized.state().brokers for path in node.log_dirs]
    wait_until(
        lambda: all(sized.space(*place).used_ratio < EMPTY_RATIO for place in places), SLACK_S, "the data to be deleted"
    )


def now():
    return time.time_ns() // 1_000_000


def filled(sized, collector, broker, index, partitions):
    """Fill a directory to four fifths; return its place and the facts."""
    place = broker, sized.state().broker(broker).log_dirs[index]
    sized.fill(broker, index, until_ratio=0.8, partitions=partitions)
    used = 0.79 * 64 * MIB
    return place, facts_after(collector, now(), lambda facts: facts.directories[place].used_bytes >= used)


def recommended(facts, policy, an_alert, place, kind):
    actions = recommend(an_alert(number=place[0], log_dir=place[1], cluster="test"), facts, policy, now())
    assert actions[0].vetoes == []
    found = [action for action in actions if action.kind is kind]
    assert found, [(str(action.kind), action.vetoes, action.reason) for action in actions]
    return found[0]


def throttles_left(facts):
    """The brokers' throttles as their last sample tells; the inventory may be newer than that."""
    return [(b.id, key) for b in facts.brokers.values() for key in THROTTLES if _is_set(b.configs.get(key))]


def _is_set(value):
    return value is not None and int(value) != 2**63 - 1


def test_a_filling_directory_is_saved_by_a_move_and_the_move_can_be_undone(sized, collector, policy, tmp_path):
    place, before = filled(sized, collector, broker=1, index=0, partitions=6)
    action = recommended(before, policy, space_alert, place, ActionKind.MOVE_LOG_DIR)
    said = paste(action.commands, tmp_path / "do")
    assert "completed successfully" in said
    after = facts_after(collector, now(), lambda facts: progress(action, facts).is_done and not throttles_left(facts))
    freed = before.directories[place].used_bytes - after.directories[place].used_bytes
    assert freed == pytest.approx(action.expected["frees_bytes"], rel=0.1)
    assert after.directories[place].used_bytes < policy.limits.target_ratio * 64 * MIB
    paste(action.undo["commands"], tmp_path / "undo")
    back = facts_after(collector, now(), lambda facts: not progress(action, facts).is_running)
    assert progress(action, back).reached == 0


@contextmanager
def limits_of_others(sized, *limits):
    """Set limits as somebody else would: each a broker, a key and a value; they are gone afterwards."""
    with clients.admin(KafkaSettings(bootstrap_servers=sized.bootstrap_servers)) as admin:
        _configure(admin, [(broker, {key: (AlterConfigOp.SET, str(value))}) for broker, key, value in limits])
        try:
            yield
        finally:
            _configure(admin, [(broker, {key: (AlterConfigOp.DELETE, None)}) for broker, key, _ in limits])


def _configure(admin, changes):
    for broker, change in changes:
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, str(broker), change)], raise_on_unknown=False)


class Writer:
    """Writes on to a topic at a rate; what it may write in all keeps a slow machine from losing the race."""

    def __init__(self, sized, topic, partitions, rate_bytes_per_s, most_bytes):
        self._servers = KafkaSettings(bootstrap_servers=sized.bootstrap_servers)
        self._topic, self._partitions, self._step = topic, partitions, rate_bytes_per_s // 10
        self.most_bytes, self.written_bytes = most_bytes, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _write(self):
        with clients.producer(self._servers, acks="all") as producer:
            while not self._stop.wait(0.1):
                if self.written_bytes < self.most_bytes:
                    partition = self.written_bytes // self._step % self._partitions
                    producer.send(self._topic, os.urandom(self._step), partition=partition).get(timeout=DEADLINE_S)
                    self.written_bytes += self._step


@pytest.mark.long
def test_a_directory_that_fills_fast_is_saved_by_its_first_action_and_others_limits_stay(
    sized, collector, policy, tmp_path
):
    """At the rate of the writer a cut would come too late: the brokers look at retention each five minutes."""
    place, rate = (1, sized.state().broker(1).log_dirs[0]), 200_000
    theirs = [(2, THROTTLES[0], 10_000_000), (2, THROTTLES[1], 10_000_000), (3, THROTTLES[2], 20_000_000)]
    limits = {(broker, key): str(value) for broker, key, value in theirs}
    topic = sized.fill(1, 0, until_ratio=0.85, partitions=6).topic
    with limits_of_others(sized, *theirs):
        seen = facts_after(
            collector,
            now(),
            lambda facts: facts.directories[place].used_bytes >= 0.84 * 64 * MIB and _limits(facts, limits) == limits,
        )
        facts = _filling(seen, place, rate)
        left = facts.directories[place].usable_bytes
        page = space_alert("critical", number=1, log_dir=place[1], cluster="test", severity=Severity.PAGE)
        actions = recommend(page, facts, policy, now())
        first = actions[0]
        assert (first.kind, first.vetoes, first.data_loss) == (ActionKind.MOVE_LOG_DIR, [], False)
        (in_time,) = (p for p in first.preconditions if p["name"] == "in_time")
        assert (in_time["holds"], "only if it begins within" in in_time["text"]) == (None, True), "for a person"
        assert not [a for a in actions if a.data_loss and not a.vetoes], "nothing is lost where a move is in time"
        with Writer(sized, topic, 6, rate, most_bytes=left - 4 * MIB) as writer:
            paste(first.commands, tmp_path)
            writer.most_bytes = left + MIB
            wait_until(lambda: writer.written_bytes >= left, DEADLINE_S, "more to be written than there was room for")
        after = facts_after(collector, now(), lambda facts: progress(first, facts).is_done)
        assert after.directories[place].status is not LogDirStatus.OFFLINE
        assert _limits(after, limits) == limits
        assert set(throttles_left(after)) == set(limits), "the action's own limit is gone"


def _filling(seen, place, rate):
    """Return facts with what only the state knows: how fast the directory fills; and with Kafka's usual retention."""
    grows = replace(seen.directories[place], growth_bytes_per_s=float(rate), status=LogDirStatus.CRITICAL)
    usual = {"log.retention.check.interval.ms": "300000"}
    brokers = {number: replace(one, configs={**one.configs, **usual}) for number, one in seen.brokers.items()}
    return replace(seen, directories=seen.directories | {place: grows}, brokers=brokers)


def _limits(facts, wanted):
    return {(broker, key): facts.brokers[broker].configs.get(key) for broker, key in wanted}


@pytest.mark.long
def test_a_retention_cut_frees_what_it_promised_when_it_promised(sized, collector, policy, tmp_path):
    place = 2, sized.state().broker(2).log_dirs[0]
    sized.fill(2, 0, until_ratio=0.92, partitions=2)
    seen = facts_after(collector, now(), lambda facts: facts.directories[place].used_bytes >= 0.91 * 64 * MIB)
    # Only a cut can help where no plan may use another directory.
    limits = policy.limits.model_copy(update={"min_retention_ms": 1, "log_dirs": (LogDirRule(destination=False),)})
    policy, before = replace(policy, limits=limits), with_excluded_log_dirs(_filling(seen, place, rate=1), limits)
    action = recommended(before, policy, space_alert, place, ActionKind.LOWER_RETENTION)
    paste(action.commands, tmp_path)
    promised = action.expected["frees_bytes"]
    enough = before.directories[place].used_bytes - promised
    wait_until(
        lambda: sized.space(*place).used_ratio * 64 * MIB <= enough,
        action.expected["needs_ms"] / 1000 + SLACK_S,
        f"the promised bytes to be free in {place}",
    )
    after = facts_after(collector, now(), lambda facts: progress(action, facts).is_done)
    observed = progress(action, after).observed["frees_bytes"]
    assert promised <= observed <= promised + 2 * MIB, "one segment of 1 MiB more in each of two replicas"
    topic = action.target["topic"]
    paste(action.undo["commands"], tmp_path)
    undone = facts_after(collector, now(), lambda facts: not progress(action, facts).is_running)
    assert undone.topics[topic].configs["retention.bytes"] == before.topics[topic].configs["retention.bytes"]
    assert "retention.bytes" not in undone.topics[topic].overridden


def test_the_replicas_of_a_failed_directory_are_rebuilt_where_the_action_says(sized, collector, policy, tmp_path):
    """The lost replicas are the leaders; the reassignment is accepted by Kafka's own tool and verified to its end."""
    place = 3, sized.state().broker(3).log_dirs[1]
    sized.fill(3, 1, until_ratio=0.3, partitions=4, replicas=[0])
    wanted = facts_after(collector, now(), lambda facts: len(facts.replicas_in(place)) >= 4)
    lost = {replica.key for replica in wanted.replicas_in(place)}
    sized.break_log_dir(3, 1)
    failed = facts_after(
        collector, now(), lambda facts: facts.directories[place].status is LogDirStatus.OFFLINE and _led(facts, lost)
    )
    # The last sample before the failure, as the state machine keeps it.
    known = replace(failed.directories[place], cause=Cause.FAILED)
    facts = replace(failed, directories=failed.directories | {place: known})
    action = recommended(facts, policy, alert, place, ActionKind.REASSIGN)
    assert {(p["topic"], p["partition"]) for p in action.reassignment["partitions"]} >= {
        key for key in lost if len(facts.partitions[key].replicas) > 1
    }
    said = paste(action.commands, tmp_path)
    assert "Clearing broker-level throttles" not in said
    after = facts_after(collector, now(), lambda facts: progress(action, facts).is_done and not throttles_left(facts))
    for entry in action.reassignment["partitions"]:
        rebuilt = after.partitions[entry["topic"], entry["partition"]]
        assert rebuilt.replicas == tuple(entry["replicas"])
        assert set(rebuilt.isr) == set(entry["replicas"])
        racks = {after.brokers[number].rack for number in rebuilt.replicas}
        assert racks == {facts.brokers[number].rack for number in facts.partitions[rebuilt.key].replicas}
        for number, path in zip(entry["replicas"], entry["log_dirs"], strict=True):
            places = {r.place for r in after.replicas_of(rebuilt.key)}
            assert path == "any" or (number, path) in places


@pytest.mark.long
def test_the_first_action_for_a_directory_that_ran_full_can_be_pasted(sized, collector, policy, tmp_path):
    """Bytes that no replica explains leave little room, data takes the rest, and Kafka gives the directory up."""
    place = 1, sized.state().broker(1).log_dirs[1]
    try:
        sized.fill(1, 1, FillWith.FILE, until_ratio=0.85)
        assert sized.fill(1, 1, partitions=2, replicas=[2]).ended is Ended.FAILED
        full = facts_after(
            collector, now(), lambda facts: facts.directories[place].status is LogDirStatus.OFFLINE and facts.partitions
        )
        known = replace(full.directories[place], cause=Cause.FULL)
        facts = replace(full, directories=full.directories | {place: known})
        told = alert(number=place[0], log_dir=place[1], cluster="test", cause=Cause.FULL)
        first = recommend(told, facts, policy, now())[0]
        assert (first.vetoes, bool(first.commands)) == ([], True), first
        paste(first.commands, tmp_path)
    finally:
        sized.restore(1, 1)


def test_every_step_of_the_runbook_runs_as_it_stands(policy, tmp_path):
    alerts = [alert(rule, number=0, cluster="test") for rule in RUNBOOKS]
    commands = [command for an_alert in alerts for command in investigate(an_alert, policy).commands]
    paste(dict.fromkeys(commands), tmp_path)


def _led(facts, keys):
    return all(facts.partitions[key].leader not in (None, 3) for key in keys if len(facts.partitions[key].replicas) > 1)
