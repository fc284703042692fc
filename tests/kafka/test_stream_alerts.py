"""What a running stream tells of what is not there: polls that end, and a stop of ``apply`` until it is undone."""

import json
import time

import pytest
from msgspec.structs import replace

from logdirwatch.execute import journal
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.ports import Halt, Ports
from logdirwatch.execute.run import carry_out
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import AlertStatus, ExecutionState, Rule
from logdirwatch_lab.config import CLUSTER
from tests.kafka.applying import MIB, begun, now, places, states, topic_of_4_mib, watched, within_broker
from tests.kafka.collecting import run
from tests.kafka.telemetry import Message, Run, fresh_topics, send, send_records
from tests.kafka.test_notify_kafka import notifying
from tests.kafka.test_pipeline import STREAM, poll
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.plan.builders import space_alert


@pytest.fixture(scope="module")
def stream(on_disks, tmp_path_factory):
    fresh_topics(on_disks)
    overrides = {
        "stream": STREAM | {"fleet_trigger": "2 seconds"},
        "detect": {"silence_min_ms": 3_000, "state_refresh_ms": 0},
    }
    folder = tmp_path_factory.mktemp("stream") / "run"
    running = Run(folder, on_disks, overrides=overrides, queries=("detect", "fleet"))
    running.start()
    yield running
    running.stop()


def test_silence_is_found_though_nobody_writes_and_no_batch_is_empty(stream):
    send(stream.settings, [Message(topics.METRICS, poll(1, int(time.time() * 1_000)), None)])
    state = stream.wait_for(
        lambda: [state for state in stream.states().values() if state["is_silent"]], "the broker whose polls ended"
    )
    assert state[0]["broker"] == 1
    ticks = stream.wait_for(
        lambda: [value for key, value in stream.values("logdir.metrics") if key == b"pipeline/detect"][2:],
        "records that let time pass",
    )
    assert all(json.loads(tick)["query"] == "detect" for tick in ticks)
    batches = list((stream.folder / "checkpoints/detect/commits").iterdir())
    assert len([one for one in batches if one.name.isdecimal()]) <= len(stream.values("logdir.metrics"))


def message_in(receiver, title):
    """Return the message with that title; others may be told of other things meanwhile."""
    return next((body for body in receiver.bodies if body["title"] == title), None)


def stopped(own, admin, planned):
    """Carry an action out until somebody must stop it in the middle of its copy."""
    writing = journal.Journal(own.telemetry, CLUSTER)
    try:

        def permit(record):
            return Halt("ann rejected it: not today") if record.state is ExecutionState.COPYING else None

        ports = Ports(AdminCluster(admin), writing.write, print, lambda _: False, now, permit)
        ended = carry_out(begun(planned), ports)
    finally:
        writing.close()
    assert ended.state is ExecutionState.STUCK, ended


def test_a_stop_is_told_with_the_way_back_and_holds_until_it_is_undone(on_disks, disks, stream, tmp_path):
    own = on_disks
    with clients.admin(watched(own)) as admin, receiving() as receiver:
        made = topic_of_4_mib(own, admin, "stopped")
        planned, here, _ = within_broker(own, disks, admin, made, rate=MIB // 16)
        other, _, _ = within_broker(own, disks, admin, made)
        over = replace(
            space_alert(), alert_id=planned.alert_id, revision=2, cluster=CLUSTER, status=AlertStatus.RESOLVED
        )
        send_records(own, topics.ALERTS, over)
        stopped(own, admin, planned)
        told = b'"rule":"%s"' % Rule.EXECUTION_STOPPED.encode()
        stream.wait_for(lambda: any(told in value for _, value in stream.values(topics.ALERTS)), "the alert")
        with notifying(own, tmp_path, receiver) as notify:
            firing = f"[warning] execution_stopped: {CLUSTER}"
            message = wait_until(lambda: message_in(receiver, firing), DEADLINE_S, lambda: f"it; {notify.tail()}")
            assert "ann rejected it: not today" in message["message"]
            way_back = f"logdirwatch apply --resume or --undo or --release {planned.action_id[:8]}"
            assert way_back in message["message"]
            refused = run(disks.config_path, "apply", other.action_id, "--yes")
            assert f"logdirwatch apply --undo {planned.action_id}" in refused.stderr
            assert (refused.returncode, states(own, other)) == (1, [])
            undone = run(disks.config_path, "apply", planned.action_id, "--undo", "--yes")
            assert (undone.returncode, places(admin, made)[1]) == (0, here), undone.stdout + undone.stderr
            resolved = f"[resolved] execution_stopped: {CLUSTER}"
            ended = wait_until(lambda: message_in(receiver, resolved), DEADLINE_S, "that it is over")
            assert "undone" in ended["message"]
        assert run(disks.config_path, "apply", other.action_id, "--yes").returncode == 0
        admin.delete_topics([made])
