"""A stop of ``apply`` on real brokers: an alert with the way back, by ``stream`` and ``notify``, until it is undone."""

import pytest
from msgspec.structs import replace

from logdirwatch.execute import journal
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.ports import Halt, Ports
from logdirwatch.execute.run import carry_out
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import AlertStatus, ExecutionState
from logdirwatch_lab.config import CLUSTER
from tests.kafka.applying import MIB, begun, now, places, states, topic_of_4_mib, watched, within_broker
from tests.kafka.collecting import run
from tests.kafka.telemetry import Run, fresh_topics, send_records
from tests.kafka.test_notify_kafka import notifying
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.plan.builders import space_alert


@pytest.fixture
def own(on_disks):
    fresh_topics(on_disks)
    return on_disks


@pytest.fixture
def stream(own, tmp_path):
    """The query fleet alone: it reads the journal, whatever has become of who wrote it."""
    running = Run(tmp_path / "stream", own, queries=("fleet",))
    running.start()
    yield running
    running.stop()


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


def test_a_stop_is_told_with_the_way_back_and_holds_until_it_is_undone(own, disks, stream, tmp_path):
    with clients.admin(watched(own)) as admin, receiving() as receiver:
        made = topic_of_4_mib(own, admin, "stopped")
        planned, here, _ = within_broker(own, disks, admin, made, rate=MIB // 16)
        other, _, _ = within_broker(own, disks, admin, made)
        over = replace(
            space_alert(), alert_id=planned.alert_id, revision=2, cluster=CLUSTER, status=AlertStatus.RESOLVED
        )
        send_records(own, topics.ALERTS, over)
        stopped(own, admin, planned)
        stream.wait_for(lambda: stream.alerts().keys() - {(over.alert_id, over.revision)}, "the alert")
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
