"""``apply`` on real brokers with small disks: there and back, killed at every step, beside others, onto a full disk."""

import contextlib
import signal
import subprocess
import sys
import time
import uuid

import msgspec
import pytest
from kafka import TopicPartition, TopicPartitionReplica
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from msgspec.structs import replace as changed

from logdirwatch.execute import journal
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.calls import ChangeConfig, PlaceReplicas, Reassign
from logdirwatch.execute.ports import Ports, RefusedError
from logdirwatch.execute.run import carry_out
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.executions import is_unfinished
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import (
    FOLLOWER_THROTTLE,
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    THROTTLED_REPLICAS,
    ActionKind,
    ActionStatus,
    AlertStatus,
    Decision,
    ExecutionState,
)
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.operations import ANOTHER_TOPIC, UNKNOWN
from logdirwatch.plan.commands.throttles import Limit, Limits
from logdirwatch_lab.config import CLUSTER
from logdirwatch_lab.fill import FillWith
from tests.kafka.applying import (
    MIB,
    begun,
    configs,
    limits_left,
    now,
    other_dir,
    places,
    published,
    states,
    to_broker_0,
    topic_of_4_mib,
    watched,
    within_broker,
)
from tests.kafka.telemetry import fresh_topics, send_records
from tests.simulation.hand.kafka import Kafka
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.plan.builders import action, space_alert

STATES_OF_A_MOVE = ["claimed", "checked", "throttled", "started", "copying", "verified", "cleaned", "done"]


@pytest.fixture(scope="module")
def own(on_disks):
    fresh_topics(on_disks)
    return on_disks


@pytest.fixture
def admin(own):
    with clients.admin(watched(own)) as client:
        yield client


@pytest.fixture
def made(own, admin):
    """A topic with 4 MiB in one partition on brokers 1 and 2; it is gone after the test."""
    name = topic_of_4_mib(own, admin, "apply", **{"retention.ms": "9000000"})
    yield name
    with contextlib.suppress(Exception):
        admin.delete_topics([name])


@pytest.fixture
def apply(disks):
    def run(*arguments, **options):
        line = [sys.executable, "-m", "logdirwatch", "--config", str(disks.config_path), "apply", *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=DEADLINE_S, check=False, **options)

    return run


def test_a_move_within_a_broker_there_and_back(own, disks, admin, made, apply):
    planned, here, there = within_broker(own, disks, admin, made, rate=20 * MIB)
    dry = apply(planned.action_id, "--dry-run", "--yes")
    assert (dry.returncode, places(admin, made)[1]) == (0, here), dry.stderr
    assert "AlterReplicaLogDirs" in dry.stdout
    done = apply(planned.action_id, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert places(admin, made)[1] == there
    assert limits_left(admin, made) == {}
    assert [state for state in dict.fromkeys(states(own, planned)) if state != "copying"] == [
        state for state in STATES_OF_A_MOVE if state != "copying"
    ]
    undone = apply(planned.action_id, "--undo", "--yes")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert places(admin, made)[1] == here
    assert limits_left(admin, made) == {}


def test_the_model_of_the_simulation_answers_as_real_brokers_do(disks, admin, made):
    """The same calls on both, each compared with what is seen afterwards."""
    at, dirs = places(admin, made), {broker: disks.state().broker(broker).log_dirs for broker in (0, 1, 2)}
    model = Kafka({(broker, path): 96 * MIB for broker, paths in dirs.items() for path in paths})
    model.create((made, 0), at, 4 * MIB)
    real, key, new = AdminCluster(admin), (made, 0), dirs[0][1]
    there, here = Assignment(made, 0, (0, 2), (new, "any")), Assignment(made, 0, (1, 2), (at[1], "any"))
    step = Move((there,), {key: here})
    slow = [Limit(*one) for one in _slow_limits(made)]
    for call in (
        *(ChangeConfig(*one) for one in slow),
        PlaceReplicas({(made, 0, 0): new}),
        Reassign({key: (0, 2)}),
        Reassign({key: (0, 2, 1)}),
        Reassign({key: None}),
        Reassign({key: None}),
        Reassign({key: (2, 9)}),
        PlaceReplicas({(made, 0, 1): next(path for path in dirs[1] if path != at[1])}),
        PlaceReplicas({(made, 0, 1): at[1]}),
        PlaceReplicas({(made, 0, 1): "/nowhere"}),
        *(ChangeConfig(*one[:3], None) for one in slow),
    ):
        answers = [_answer(cluster, call) for cluster in (real, model)]
        assert answers[0] == answers[1], call
        model.tick(0.01)
        wait_until(
            lambda: _shape(real, step, slow) == _shape(model, step, slow),
            DEADLINE_S,
            lambda call=call: f"{call}: {_shape(real, step, slow)}, the model: {_shape(model, step, slow)}",
        )


def test_new_replicas_are_born_where_they_are_to_be_and_go_back(own, disks, admin, made, apply):
    planned, here, target = to_broker_0(own, disks, admin, made, rate=50 * MIB)
    done = apply(planned.action_id, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert places(admin, made)[0] == target
    assert limits_left(admin, made) == {}
    undone = apply(planned.action_id, "--undo", "--yes")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    wait_until(lambda: set(places(admin, made)) == {1, 2}, DEADLINE_S, "the copy on broker 0 to be gone")
    assert places(admin, made)[1] == here


def test_a_cut_is_made_once_and_taken_back_but_not_over_somebody_elses(own, admin, made, apply):
    planned = _cut(own, made)
    done = apply(planned.action_id, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert configs(admin, ConfigResourceType.TOPIC, made)["retention.ms"] == "7200000"
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, made, {"retention.ms": "8000000"})])
    refused = apply(planned.action_id, "--undo", "--yes")
    assert refused.returncode == 1
    assert "somebody changed it, and it stays" in refused.stdout
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, made, {"retention.ms": "7200000"})])
    undone = apply(planned.action_id, "--undo", "--yes")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert configs(admin, ConfigResourceType.TOPIC, made)["retention.ms"] == "9000000"


def _cut(own, made, **fields):
    step = operations.topic_config(made, "retention.ms", "7200000", now="9000000", old="9000000")
    return published(
        own,
        kind=ActionKind.LOWER_RETENTION,
        target={"broker": None, "log_dir": None, "topic": made},
        configs={made: {"retention.ms": {"from": "9000000", "to": "7200000"}}},
        operations=operations.as_data([step]),
        expected={"frees_bytes": 0, "on": [], "needs_ms": 0},
        undo={"configs": {made: {"retention.ms": "9000000"}}},
        **fields,
    )


def _rejected_by_a_slow_clock(own, made):
    planned = _cut(own, made)
    for decision, at_ms in ((Decision.ACCEPT, now()), (Decision.REJECT, now() - 90_000)):
        said = DecisionRecord(
            version=1, id=planned.action_id, decision=decision, by="ann", reason="no", at_ms=at_ms,
            content_hash=planned.content_hash,
        )  # fmt: skip
        clients.write(own.telemetry, topics.DECISIONS, [(said.id, msgspec.json.encode(said))])
    return planned


def _no_longer_needed(own, made):
    planned = _cut(own, made)
    over = changed(space_alert(), alert_id=planned.alert_id, cluster=CLUSTER, revision=2, status=AlertStatus.RESOLVED)
    send_records(own, topics.ALERTS, over)
    return planned


def _another_topic(own, made):
    return _cut(own, made, based_on={"topic_ids": {made: str(uuid.uuid4())}})


def _fewer_replicas(own, made):
    plans = [to_json([Assignment(made, 0, brokers, ("any",) * len(brokers))]) for brokers in ((1,), (1, 2))]
    forged = operations.reassign(*plans, "f", limits=Limits(), back=Limits())
    return published(own, kind=ActionKind.REASSIGN, operations=operations.as_data([forged]), reassignment=None)


def _another_undo(own, made):
    planned = _cut(own, made)
    (step,) = planned.operations
    other = operations.as_data([operations.topic_config(made, "retention.ms", "1", now="7200000", old="7200000")])
    send_records(own, topics.ACTIONS, changed(planned, operations=[{**step, "inverse": other[0]}], revision=2))
    return planned


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (_rejected_by_a_slow_clock, "ann rejected it"),
        (_no_longer_needed, "its alert is over"),
        (_another_topic, ANOTHER_TOPIC),
        (_fewer_replicas, UNKNOWN),
        (_another_undo, "is not what its content_hash stands for"),
    ],
)
def test_what_nobody_wants_now_or_somebody_forged_changes_nothing(own, admin, made, apply, wrong, says):
    refused = apply(wrong(own, made).action_id, "--yes")
    assert refused.returncode == 1
    assert says in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr
    assert configs(admin, ConfigResourceType.TOPIC, made)["retention.ms"] == "9000000"
    assert set(places(admin, made)) == {1, 2}


def test_what_was_accepted_is_all_that_is_done(own, disks, admin, made, apply):
    planned, here, _ = within_broker(own, disks, admin, made)
    other = changed(planned, operations=[{**planned.operations[0], "args": {"file": "x"}}], revision=2)
    send_records(own, topics.ACTIONS, other)
    refused = apply(planned.action_id, "--yes")
    assert refused.returncode == 1
    assert "is not what its content_hash stands for" in refused.stderr
    said = {"decision": "accept_other_content", "by": "me", "reason": "", "at_ms": now()}
    newer = changed(planned, revision=3, status=ActionStatus.PROPOSED, decision=said)
    send_records(own, topics.ACTIONS, newer)
    assert "says something else than what was accepted" in apply(planned.action_id).stderr
    assert places(admin, made)[1] == here


def test_the_throttles_of_others_stay_and_nothing_of_ours_does(own, disks, admin, made, apply):
    planned, _, target = to_broker_0(own, disks, admin, made, rate=50 * MIB)
    set_throttle_of_0(admin, str(30 * MIB))
    try:
        done = apply(planned.action_id, "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "set by somebody else" in done.stdout
        assert places(admin, made)[0] == target
        assert limits_left(admin, made) == {("broker 0", FOLLOWER_THROTTLE): str(30 * MIB)}
    finally:
        set_throttle_of_0(admin, ("DELETE", None))


def set_throttle_of_0(admin, change):
    """Set it as somebody else does; kafka-python does not know the key among a broker's dynamic ones."""
    resource = ConfigResource(ConfigResourceType.BROKER, "0", {FOLLOWER_THROTTLE: change})
    answer = admin.alter_configs([resource], raise_on_unknown=False)
    assert answer == {"broker": {"0": "OK"}}


def led_by(admin, name):
    (topic,) = admin.describe_topics([name])
    return topic["partitions"][0]["leader_id"], topic["partitions"][0]["replica_nodes"]


def ordered(name, *replicas):
    return to_json([Assignment(name, 0, replicas, ("any",) * len(replicas))])


def test_others_lead_and_then_it_is_as_before(own, admin, made, apply):
    order = operations.prefer_leaders(ordered(made, 2, 1), ordered(made, 1, 2), "plan.json")
    planned = published(own, kind=ActionKind.DEMOTE_LEADERS, operations=operations.as_data([order]))
    done = apply(planned.action_id, "--yes")
    assert (done.returncode, led_by(admin, made)) == (0, (2, [2, 1])), done.stdout + done.stderr
    undone = apply(planned.action_id, "--undo", "--yes")
    assert (undone.returncode, led_by(admin, made)) == (0, (1, [1, 2])), undone.stdout + undone.stderr


def test_preferred_leaders_are_elected_and_nothing_takes_that_back(own, admin, made, apply):
    admin.alter_partition_reassignments({TopicPartition(made, 0): [2, 1]})
    wait_until(lambda: led_by(admin, made) == (1, [2, 1]), DEADLINE_S, "the other order to be known")
    election = operations.elect_leaders({"partitions": [{"topic": made, "partition": 0}]}, "plan.json")
    planned = published(
        own,
        kind=ActionKind.ELECT_LEADERS,
        operations=operations.as_data([election]),
        target={"broker": 1, "log_dir": None, "election": "preferred"},
        expected={"election": {"partitions": [{"topic": made, "partition": 0}]}, "frees_bytes": None, "on": []},
        undo={"text": "leaders move again"},
    )
    done = apply(planned.action_id, "--yes")
    assert (done.returncode, led_by(admin, made)[0]) == (0, 2), done.stdout + done.stderr
    refused = apply(planned.action_id, "--undo", "--yes")
    assert "cannot be undone: leaders move again" in refused.stderr


def cancelling(own, name, moves, goals, **fields):
    before = ordered(name, 1, 2)
    found = operations.cancel_moves(moves, goals, before, "plan.json", again=Limits())
    return published(own, kind=ActionKind.CANCEL_MOVES, operations=operations.as_data([found]), **fields)


def test_a_reassignment_of_somebody_is_cancelled_and_begun_again(own, disks, admin, made, apply):
    set_throttle_of_0(admin, str(MIB // 16))
    lists = {"follower.replication.throttled.replicas": "*"}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, made, lists)], incremental=True)
    key, goals = TopicPartition(made, 0), ordered(made, 0, 2)
    try:
        admin.alter_partition_reassignments({key: [0, 2]})
        planned = cancelling(own, made, goals, goals)
        done = apply(planned.action_id, "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        assert key not in admin.list_partition_reassignments()
        assert sorted(led_by(admin, made)[1]) == [1, 2]
        assert limits_left(admin, made)["broker 0", FOLLOWER_THROTTLE] == str(MIB // 16)
    finally:
        set_throttle_of_0(admin, ("DELETE", None))
    undone = apply(planned.action_id, "--undo", "--yes")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert led_by(admin, made)[1] == [0, 2]


def test_a_copy_of_somebody_within_a_broker_is_cancelled(own, disks, admin, made, apply):
    here = places(admin, made)[1]
    there = other_dir(disks, 1, here)
    change = {LOG_DIR_THROTTLE: ("SET", str(MIB // 16))}
    admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", change)], raise_on_unknown=False)
    try:
        admin.alter_replica_log_dirs({TopicPartitionReplica(made, 0, 1): there})
        moves = to_json([Assignment(made, 0, (1, 2), (there, "any"))])
        planned = cancelling(own, made, moves, moves)
        done = apply(planned.action_id, "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        change = {LOG_DIR_THROTTLE: ("DELETE", None)}
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", change)], raise_on_unknown=False)
    assert places(admin, made)[1] == here
    assert not is_copied(admin, made, 1)


def test_throttles_are_cleared_by_their_value_and_set_again(own, admin, made, apply):
    set_throttle_of_0(admin, str(MIB))
    clear = operations.clear_throttles(Limits({0: {FOLLOWER_THROTTLE: MIB}}))
    planned = published(own, kind=ActionKind.CLEAR_THROTTLES, operations=operations.as_data([clear]))
    try:
        done = apply(planned.action_id, "--yes")
        assert (done.returncode, limits_left(admin, made)) == (0, {}), done.stdout + done.stderr
        undone = apply(planned.action_id, "--undo", "--yes")
        left = {("broker 0", FOLLOWER_THROTTLE): str(MIB)}
        assert (undone.returncode, limits_left(admin, made)) == (0, left), undone.stdout + undone.stderr
    finally:
        set_throttle_of_0(admin, ("DELETE", None))


class KilledError(BaseException):
    """Stands for kill -9: nothing is done after it."""


class Dying:
    """A journal and a cluster that end the process after so many writes and calls."""

    def __init__(self, write, cluster, lives):
        self._write, self._cluster, self._lives = write, cluster, lives

    def note(self, record):
        self._write(record)
        self._spend()

    def look(self, step, limits):
        return self._cluster.look(step, limits)

    def call(self, call):
        self._cluster.call(call)
        self._spend()

    def _spend(self):
        self._lives -= 1
        if self._lives == 0:
            raise KilledError


def test_killed_after_every_write_and_every_call_it_goes_on_to_the_same_end(own, disks, admin, made):
    planned, here, target = to_broker_0(own, disks, admin, made, rate=20 * MIB)
    kills, record = 0, begun(planned)
    while record.state is not ExecutionState.DONE:
        writing = journal.Journal(own.telemetry, CLUSTER)
        try:
            if kills == 0:
                writing.write(record)
            # So few writes and calls each time: every one of them is the last of a process.
            dying = Dying(writing.write, AdminCluster(admin), lives=1 + kills % 5)
            ports = Ports(dying, dying.note, print, lambda _: time.sleep(0.2), now)
            with contextlib.suppress(KilledError):
                carry_out(record, ports)
        finally:
            writing.close()
        kills += 1
        assert kills < 60, record
        (record,) = [one for one in journal.read(own.telemetry, CLUSTER) if one.action_id == planned.action_id]
    assert kills >= 5
    assert places(admin, made)[0] == target
    assert limits_left(admin, made) == {}
    wait_until(lambda: set(places(admin, made)) == {0, 2}, DEADLINE_S, "the old copy to be gone")
    assert here


@contextlib.contextmanager
def copying(disks, own, planned):
    """A process of apply in the middle of its copy; it has ended after the block."""
    line = [
        sys.executable,
        "-m",
        "logdirwatch",
        "--config",
        str(disks.config_path),
        "apply",
        planned.action_id,
        "--yes",
    ]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            wait_until(lambda: "copying" in states(own, planned), DEADLINE_S, "the copy to run")
            yield running
        finally:
            running.kill()


def test_a_killed_process_leaves_a_copy_that_resume_finishes_and_nobody_else_begins(own, disks, admin, made, apply):
    planned, _, there = within_broker(own, disks, admin, made, rate=MIB // 2)
    with copying(disks, own, planned) as running:
        running.send_signal(signal.SIGKILL)
    assert limits_left(admin, made) == {("broker 1", LOG_DIR_THROTTLE): str(MIB // 2)}
    other = apply(within_broker(own, disks, admin, made)[0].action_id, "--yes")
    assert "unfinished" in other.stderr
    done = apply(planned.action_id, "--resume", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert places(admin, made)[1] == there
    assert limits_left(admin, made) == {}


def test_a_second_executor_fences_the_first(own, made):
    first = journal.Journal(own.telemetry, CLUSTER)
    second = journal.Journal(own.telemetry, CLUSTER)
    record = changed(begun(action(content_hash="h", operations=[], cluster=CLUSTER)), state=ExecutionState.DONE)
    try:
        second.write(record)
        with pytest.raises(Exception, match="took over"):
            first.write(record)
    finally:
        first.close()
        second.close()


def is_copied(admin, name, broker):
    answers = admin.describe_log_dirs([name], brokers=[broker])
    parts = [p for a in answers for d in a["log_dirs"] for t in d["topics"] for p in t["partitions"]]
    return any(part["is_future_key"] for part in parts)


@pytest.mark.parametrize(
    ("answer", "state"), [("s", "stuck"), pytest.param("r", "rolled_back", marks=pytest.mark.long)]
)
def test_ctrl_c_leaves_no_throttle_and_a_journal_to_go_on_from(own, disks, admin, made, apply, answer, state):
    planned, here, there = within_broker(own, disks, admin, made, rate=MIB // 16)
    with copying(disks, own, planned) as running:
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(f"{answer}\n", timeout=DEADLINE_S)
    assert states(own, planned)[-1] == state, said
    assert (limits_left(admin, made), places(admin, made)[1], is_copied(admin, made, 1)) == ({}, here, False)
    if state == "stuck":
        faster, _, there = within_broker(own, disks, admin, made, rate=20 * MIB)
        refused = apply(faster.action_id, "--yes")
        assert "is stuck (stopped by a person at the terminal); go on with it or end it" in refused.stderr
        released = apply(planned.action_id, "--release", "--yes", "--by", "ann", "--reason", "by a faster one")
        assert released.returncode == 0, released.stderr
        done = apply(faster.action_id, "--yes")
        assert (done.returncode, places(admin, made)[1]) == (0, there), done.stdout + done.stderr
        assert "there is nothing to go on with" in apply(planned.action_id, "--resume", "--yes").stderr


def test_a_throttle_of_somebody_that_appears_stops_it(own, disks, admin, made):
    planned, here, _ = within_broker(own, disks, admin, made, rate=MIB // 16)
    try:
        with copying(disks, own, planned) as running:
            set_throttle_of_0(admin, str(MIB))
            said, _ = running.communicate(timeout=DEADLINE_S)
        assert f"stuck: somebody else set {FOLLOWER_THROTTLE}={MIB} of broker 0" in said
        assert running.returncode == 1
        assert limits_left(admin, made) == {("broker 0", FOLLOWER_THROTTLE): str(MIB)}
        assert (places(admin, made)[1], is_copied(admin, made, 1)) == (here, False)
    finally:
        set_throttle_of_0(admin, ("DELETE", None))


@pytest.mark.long
def test_a_reassignment_of_somebody_that_appears_stops_it_and_goes_on(own, disks, admin, made):
    planned, here, _ = within_broker(own, disks, admin, made, rate=MIB // 16)
    other = topic_of_4_mib(own, admin, "other")
    set_throttle_of_0(admin, str(MIB // 16))
    lists = {"follower.replication.throttled.replicas": "*"}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, other, lists)], incremental=True)
    try:
        with copying(disks, own, planned) as running:
            admin.alter_partition_reassignments({TopicPartition(other, 0): [0, 2]})
            said, _ = running.communicate(timeout=DEADLINE_S)
        assert f"stuck: somebody else reassigns {other}-0 to [0, 2]" in said
        assert TopicPartition(other, 0) in admin.list_partition_reassignments()
        assert (places(admin, made)[1], is_copied(admin, made, 1)) == (here, False)
    finally:
        set_throttle_of_0(admin, ("DELETE", None))
        admin.delete_topics([other])


@pytest.mark.long
def test_a_partition_under_min_isr_elsewhere_stops_it(own, disks, admin, made):
    planned, here, _ = within_broker(own, disks, admin, made, rate=MIB // 16)
    other = f"strict-{time.time_ns()}"
    strict = {"min.insync.replicas": "2"}
    admin.create_topics([NewTopic(other, replica_assignments={0: [2, 0]}, topic_configs=strict)])
    try:
        with copying(disks, own, planned) as running:
            disks.kill(0)
            said, _ = running.communicate(timeout=DEADLINE_S)
        assert f"stuck: {other}-0 has fewer replicas in sync than its min.insync.replicas" in said
        assert (places(admin, made, (1, 2))[1], is_copied(admin, made, 1)) == (here, False)
    finally:
        disks.start(0)
        admin.delete_topics([other])
    wait_until(lambda: limits_left(admin, made) == {}, DEADLINE_S, "no throttle to be left")


def test_a_destination_that_others_fill_stops_it(own, disks, admin, made):
    planned, here, there = within_broker(own, disks, admin, made, rate=MIB // 16)
    index = disks.state().broker(1).log_dirs.index(there)
    try:
        with copying(disks, own, planned) as running:
            disks.fill(1, index, FillWith.FILE, until_ratio=0.93)
            said, _ = running.communicate(timeout=DEADLINE_S)
        assert f"stuck: {there} of broker 1, where it copies to, is 9" in said
        assert (limits_left(admin, made), places(admin, made)[1], is_copied(admin, made, 1)) == ({}, here, False)
    finally:
        disks.restore(1, index)


def test_a_full_destination_ends_stuck_with_the_reason_and_no_throttle(own, disks, admin, made):
    planned, here, there = within_broker(own, disks, admin, made, rate=MIB)
    index = disks.state().broker(1).log_dirs.index(there)
    disks.fill(1, index, FillWith.FILE, until_ratio=0.98)
    writing = journal.Journal(own.telemetry, CLUSTER)
    try:
        ports = Ports(AdminCluster(admin), writing.write, print, lambda _: time.sleep(0.2), now)
        ended = carry_out(begun(planned), ports)
        assert ended.state is ExecutionState.STUCK
        assert f"{there} of broker 1 is offline" in ended.reason
        assert is_unfinished(ended)
        assert limits_left(admin, made) == {}
        assert admin.describe_topics([made])[0]["partitions"][0]["isr_nodes"]
        assert TopicPartition(made, 0) not in admin.list_partition_reassignments()
        assert here
    finally:
        writing.close()
        disks.restore(1, index)


def _slow_limits(topic):
    for broker in ("0", "1", "2"):
        yield from (("brokers", broker, rate, "1024") for rate in (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE))
    yield from (("topics", topic, listed, "0:0,0:1,0:2") for listed in THROTTLED_REPLICAS)


def _answer(cluster, call):
    try:
        return cluster.call(call)
    except RefusedError:
        return "refused"


def _shape(cluster, step, limits):
    seen, values = cluster.look(step, ()), cluster.look(None, limits).configs
    (one,) = seen.partitions.values()
    return (
        (one.replicas, set(one.isr), set(one.adding), set(one.removing)),
        {held: copy.path for held, copy in seen.replicas.items() if held[2] in one.isr},
        {held: copy.path for held, copy in seen.futures.items()},
        {limit: values[limit.entity, limit.name].get(limit.key) for limit in limits},
    )
