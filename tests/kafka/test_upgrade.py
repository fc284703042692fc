"""The present stream goes on where a release stopped: its checkpoints, tables and topics, packed by itself."""

import json
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from logdirwatch.execute.journal import Journal
from logdirwatch.kafka import telemetry_topics
from logdirwatch.kafka.clients import admin, producer
from logdirwatch.model import topics
from tests.data import release
from tests.kafka import collecting
from tests.kafka.telemetry import NAMES, Message, Run, fresh_topics, send
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.report.builders import execution

pytestmark = pytest.mark.long

FOLDER = Path(release.__file__).parent
ARCHIVES = [pytest.param(FOLDER / "release-0.2.0.tar.xz", id="0.2.0")]
KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1"}


@pytest.fixture(params=ARCHIVES)
def upgraded(request, watched, tmp_path):
    """Everything as it lay when the release was stopped, and the present stream, not started yet."""
    run = Run(tmp_path / "run", watched, queries=(*release.QUERIES, "fleet"))
    lying = release.unpack(request.param, run.folder)
    old_topics(watched)
    send(watched, [Message(m.topic, m.value, m.timestamp_ms, m.partition, m.key) for m in lying])
    # A topic that the release did not have, and its checkpoint of ``store`` does not name.
    note_executions(watched)
    yield run, min(message.timestamp_ms for message in lying if message.topic == topics.METRICS)
    run.stop()
    fresh_topics(watched)


NOTED = execution("e")


def note_executions(settings):
    """Write one execution as ``apply`` does, and one whose transaction is aborted, as that of a fenced process is."""
    journal = Journal(settings.telemetry, "prod")
    journal.write(NOTED)
    journal.close()
    fenced = producer(settings.telemetry, transactional_id="fenced")
    fenced.init_transactions()
    fenced.begin_transaction()
    fenced.send(topics.EXECUTIONS, msgspec.json.encode(execution("fenced")), b"fenced").get(timeout=DEADLINE_S)
    fenced.abort_transaction()
    fenced.close(timeout=5)


def old_topics(settings):
    """Make the topics so that records which are years old stay in them."""
    with admin(settings.telemetry) as client:
        client.delete_topics([name for name in client.list_topics() if name in NAMES])
        wait_until(
            lambda: not set(client.list_topics()) & set(NAMES), DEADLINE_S, "the old telemetry topics to be gone"
        )
        wanted = {
            topic.name: {"num_partitions": topic.partitions, "replication_factor": 1, "configs": KEPT_FOR_EVER}
            for topic in topics.TOPICS
        }
        client.create_topics(wanted, wait_for_metadata=True)
    telemetry_topics.create_missing(settings)


def revisions(run):
    """The revisions of every alert of the stateful lane, by (rule, broker, directory)."""
    found = defaultdict(dict)
    for _, value in run.values(topics.ALERTS):
        record = json.loads(value)
        if record["revision"] and record["rule"] != "heartbeat":
            found[record["alert_id"]][record["revision"]] = record
    return found


def batches(run):
    return {query: max(run._batches(query, "commits"), default=-1) for query in release.QUERIES}


def test_a_releases_checkpoints_tables_and_topics_are_read(upgraded):
    run, begin_ms = upgraded
    for command in ("status", "alerts", "actions"):
        done = collecting.run(run.config, command, "--json")
        assert done.returncode == 0, done.stderr
    before, packed = revisions(run), batches(run)
    firing = {key for key, life in before.items() if life[max(life)]["status"] == "firing"}
    assert {before[key][1]["rule"] for key in firing} == {"log_dir_offline", "log_dir_space", "broker_unknown"}
    run.start()
    rest = release.story(begin_ms, range(release.PACKED_POLLS, release.POLLS))
    send(run.settings, [Message(m.topic, m.value, m.timestamp_ms, m.partition, m.key) for m in rest])
    last_ms = release.last_ms(begin_ms, release.POLLS)

    def is_over():
        states = run.states().values()
        stored = {(row["alert_id"], row["revision"]) for row in run.rows("alerts")}
        return (
            {(state["status"], state["at_ms"]) for state in states} == {("online", last_ms)}
            and all(life[max(life)]["status"] == "resolved" for life in revisions(run).values())
            and stored == set(run.alerts())
            and {row["status"] for row in run.rows("replica_state")} == {"online"}
            and {row["at_ms"] for row in run.rows("log_dir_state")} == {last_ms}
            and all(row["status"] != "proposed" for row in newest(run.rows("actions")))
        )

    run.wait_for(is_over, "everything online again, resolved and stored", 300)
    after = revisions(run)
    assert all(set(life) == set(range(1, max(life) + 1)) for life in after.values())
    places = [(life[1]["rule"], life[1]["broker"], life[1]["log_dir"]) for life in after.values()]
    assert len(places) == len(set(places)), "what the release had told is told again"
    assert {after[key][max(after[key])]["reason"] for key in firing} == {"recovered"}
    # The releases kept the state of detect in another form; a batch of fast_lane lasts five minutes.
    assert all(batches(run)[query] > packed[query] for query in ("store", "store_inventory", "recommend"))
    assert [path.name.partition(".")[0] for path in run.folder.glob("checkpoints/[!.]*.*")] == ["detect"]
    assert [(row["execution_id"], row["record"]) for row in run.rows("executions")] == [
        ("e", msgspec.json.encode(NOTED).decode())
    ]
    samples = [row for row in run.rows("log_dir_samples") if row["log_dir"]]
    told = sorted((row["broker"], row["log_dir"], row["timestamp_ms"]) for row in samples)
    assert told == sorted(release.answers(begin_ms)), "every answer is stored once, those of the release too"
    said = run.service.log_file.read_text()
    assert "query.failed" not in said, said


def newest(actions):
    last = {}
    for row in sorted(actions, key=lambda row: row["revision"]):
        last[row["action_id"]] = row
    return last.values()


@pytest.mark.release
def test_a_releases_tables_are_kept_up(upgraded):
    run, _ = upgraded
    done = collecting.run(run.config, "tables", "optimize")
    assert done.returncode == 0, done.stderr
