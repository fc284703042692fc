"""The stream on a real telemetry cluster: what each kind of record does, and what a kill -9 may not change."""

import json
import shutil
import time
from collections import defaultdict

import pytest

from logdirwatch.kafka import telemetry_topics
from logdirwatch.model.identity import Origin, alert_id
from tests.kafka.telemetry import Message, Run, fresh_topics_with_own_times, send
from tests.support.waiting import DEADLINE_S, wait_until

# An hour ago, the same for every run: older records would fall to the topics' retention.
T0 = int(time.time()) * 1_000 - 3_600_000
POLL_MS = 5_000
POLLS = 24
BROKERS = 5
MIB = 1 << 20
TOTAL = 1_000 * MIB
LAST_MS = T0 + (POLLS - 1) * POLL_MS


def metrics(broker, poll, *, used=0.5, error_code=0, **fields):
    """A poll's answer of two directories; the first is the one that things happen to."""
    space = {"total_bytes": TOTAL, "usable_bytes": round(TOTAL * (1 - used))}
    first = {"path": "/d1", "error_code": error_code} | ({} if error_code else space)
    second = {"path": "/d2", "error_code": 0, "total_bytes": TOTAL, "usable_bytes": TOTAL // 2}
    record = {
        "version": 1,
        "cluster": "prod",
        "broker": broker,
        "timestamp_ms": T0 + poll * POLL_MS,
        "status": "ok",
        "collector": "c1",
        "interval_ms": POLL_MS,
        "log_dirs": [first, second],
    } | fields
    return Message("logdir.metrics", json.dumps(record).encode(), record["timestamp_ms"], broker % 6)


def event(broker, poll, after_ms=1, value=None, **fields):
    at_ms = T0 + poll * POLL_MS + after_ms
    record = {
        "version": 1,
        "broker": broker,
        "event": "LogDirFailure",
        "cluster": "prod",
        "timestamp_ms": at_ms,
    } | fields
    return Message("logdir.events", value or json.dumps(record).encode(), at_ms, 0)


def poll_of(broker, poll):
    """Broker 0 fills up, 1 fails with an event, 2 fails without one, 3 times out, 4 is well; all recover."""
    if broker == 0:
        return metrics(broker, poll, used=min(0.999, 0.6 + 0.03 * poll)) if poll < 18 else metrics(broker, poll)
    if broker in {1, 2}:
        return metrics(broker, poll, error_code=56 if 6 <= poll < 18 else 0)
    if broker == 3 and 8 <= poll < 14:
        return metrics(broker, poll, status="timeout", error="no answer", log_dirs=[])
    return metrics(broker, poll)


def history():
    """Every poll of every broker in the order of time, with the events between them."""
    messages = [event(1, 5, log_dir="/d1")]
    for poll in range(POLLS):
        messages += [poll_of(broker, poll) for broker in range(BROKERS)]
    return sorted(messages, key=lambda message: message.timestamp_ms)


@pytest.fixture(scope="module")
def settings(on_disks):
    return on_disks


def is_caught_up(run):
    states = run.states()
    return len(states) == BROKERS and all(state["at_ms"] == LAST_MS for state in states.values())


def is_stored(run):
    """Whether the last batch is in the tables; of these ``broker_state`` is written last."""
    stored = {(row["alert_id"], row["revision"]) for row in run.rows("alerts")}
    now = [row["at_ms"] for row in run.rows("broker_state")]
    return stored == set(run.alerts()) and now == [LAST_MS] * BROKERS


def is_event_judged(run):
    """Whether `detect` judged the event of broker 1: the fast lane's own alert has revision 0."""
    values = (json.loads(value) for (_, revision), found in run.alerts().items() if revision for value in found)
    return any(value["rule"] == "log_dir_offline" and value["broker"] == 1 for value in values)


def play(run, messages, between=lambda _: None):
    """Write the history in pieces with the stream running, and wait until everything is judged and stored.

    What is before the event and the event itself are judged one after the other: between topics there is no order,
    and a batch after a restart may have the event without the polls before it.
    """
    at = next(at for at, message in enumerate(messages) if message.topic == "logdir.events")
    send(run.settings, messages[:at])
    before_ms = messages[at - 1].timestamp_ms
    run.wait_for(lambda: {state["at_ms"] for state in run.states().values()} == {before_ms}, "the first polls judged")
    send(run.settings, messages[at : at + 1])
    run.wait_for(lambda: is_event_judged(run), "the event judged")
    rest = messages[at + 1 :]
    for number, start in enumerate(range(0, len(rest), 20)):
        send(run.settings, rest[start : start + 20])
        between(number)
    run.wait_for(lambda: is_caught_up(run), "every broker judged up to its last poll")
    run.wait_for(lambda: is_stored(run), "every alert and state stored")


def outcome(run):
    """What must not depend on crashes: alerts byte for byte, and the rows of the tables."""
    return {
        "alerts": run.rows("alerts"),
        "transitions": run.rows("transitions"),
        "log_dir_state": run.rows("log_dir_state", without=("sequence",)),
        "broker_state": run.rows("broker_state", without=("sequence", "record")),
        "log_dir_samples": run.rows("log_dir_samples"),
        "rejected_records": run.rows("rejected_records"),
    }


@pytest.fixture(scope="module")
def undisturbed(settings, tmp_path_factory):
    """The history without a crash; its stream goes on for the tests of single records."""
    fresh_topics_with_own_times(settings)
    run = Run(tmp_path_factory.mktemp("undisturbed") / "run", settings)
    run.start()
    try:
        play(run, history())
        yield run, outcome(run)
    finally:
        run.stop()


@pytest.mark.long
def test_a_kill_inside_a_batch_changes_nothing_of_what_comes_out(undisturbed, settings, tmp_path):
    run, expected = undisturbed
    assert run.stop() == 0, run.folder
    assert [row for row in expected["alerts"] if row["rule"] == "log_dir_offline"], "the history fires alerts"
    fresh_topics_with_own_times(settings)
    killed = Run(tmp_path / "run", settings)
    killed.start()
    cut = {}

    def crash(piece):
        for query, first in (("detect", 0), ("store", 2)):
            # A batch may end in the moment between the look and the kill: then it was not cut, and one of the next
            # piece is. The same piece brings no further batch for certain.
            if piece >= first and not cut.get(query):
                cut[query] = killed.kill_inside_a_batch(query, deadline_s=DEADLINE_S)
                killed.start()

    try:
        play(killed, history(), between=crash)
        assert cut["detect"], "a kill cut a batch of detect: offsets written, commit not"
        assert cut["store"], "a kill cut a batch of store: offsets written, commit not"
        different = {key: values for key, values in killed.alerts().items() if len(values) > 1}
        assert different == {}, "repeats on the topic are byte for byte the same"
        seen = outcome(killed)
        for table, rows in expected.items():
            assert seen[table] == rows, table
        keys = [(row["alert_id"], row["revision"]) for row in seen["alerts"]]
        assert len(keys) == len(set(keys))
    finally:
        killed.stop()


@pytest.mark.long
@pytest.mark.parametrize("source", ["logdir.state", "broker_state"])
def test_a_lost_checkpoint_of_detect_is_made_good_and_nothing_fires_twice(settings, tmp_path, source):
    fresh_topics_with_own_times(settings)
    run = Run(tmp_path / "run", settings)
    run.start()
    try:
        messages = history()
        half = len(messages) // 2
        send(settings, messages[:half])
        at_ms = messages[half - 1].timestamp_ms
        run.wait_for(lambda: newest(run) >= at_ms - POLL_MS and is_stored_up_to(run), "the first half stored")
        assert run.stop() == 0
        before = run.alerts()
        assert before, "the first half fires alerts"
        shutil.rmtree(run.folder / "checkpoints" / "detect")
        if source == "broker_state":
            forget_states(settings)
        send(settings, messages[half:])
        run.start()
        run.wait_for(lambda: is_caught_up(run), "every broker judged up to its last poll")
        assert f"read_from={source}" in run.service.log_file.read_text()
        after = run.alerts()
        assert all(len(values) == 1 for values in after.values()), "no revision was written with two values"
        assert {key: after[key] for key in before} == before
        lives = defaultdict(list)
        for alert_id, revision in sorted(after):
            lives[alert_id].append(revision)
        stateful = [revisions for revisions in lives.values() if revisions != [0]]
        assert all(revisions[-1] == sum(map(bool, revisions)) for revisions in stateful), "no revision is missing"
        opened = [(json.loads(v)["rule"], json.loads(v)["broker"]) for (_, r), (v,) in after.items() if r == 1]
        assert sorted(opened) == sorted(set(opened)), "nothing fires under a second identity"
    finally:
        run.stop()


def newest(run):
    return min((state["at_ms"] for state in run.states().values()), default=0)


def is_stored_up_to(run):
    return {row["at_ms"] for row in run.rows("broker_state")} == {state["at_ms"] for state in run.states().values()}


def forget_states(settings):
    from logdirwatch.kafka.clients import admin

    with admin(settings.telemetry) as client:
        client.delete_topics(["logdir.state"])
        wait_until(lambda: "logdir.state" not in client.list_topics(), DEADLINE_S, "the old topic to be gone")
    telemetry_topics.create_missing(settings)


@pytest.fixture
def stream(settings, tmp_path):
    fresh_topics_with_own_times(settings)
    run = Run(tmp_path / "run", settings)
    run.start()
    yield run
    run.stop()


def test_every_kind_of_record_does_what_the_contract_says(stream):
    """Garbage, a future version, 900 KB, and an event in the KIP's bare form, by name and by integer."""
    big = metrics(3, 0, metrics={f"metric-{number:06d}": float(number) for number in range(38_000)})
    assert 850_000 < len(big.value) < 1_000_000
    garbage = Message("logdir.metrics", b"\xff garbage \x00", T0 + 1)
    future = Message("logdir.events", json.dumps({"version": 9, "broker": 1, "event": 1}).encode(), T0 + 2)
    by_name = event(1, 0, after_ms=3, value=b'{"version" : 1, "broker" : 1, "event" : "LogDirFailure"}')
    by_number = event(2, 0, after_ms=4, value=b'{"version":1,"broker":2,"event":1}')
    polls = [metrics(broker, 0, cluster="fallback") for broker in (1, 2)]
    send(stream.settings, [*polls, big, garbage, future, by_name, by_number])
    expected = {
        alert_id("fallback", broker, None, "log_dir_offline", str(Origin("logdir.events", 0, offset, T0 + 2 + broker)))
        for broker, offset in ((1, 1), (2, 2))
    }
    stream.wait_for(
        lambda: {key for key, revision in stream.alerts() if revision == 0} == expected, "the fast alerts of both forms"
    )
    stream.wait_for(lambda: ("prod", 3) in stream.states(), "the broker of the big record judged")
    send(stream.settings, [metrics(broker, 1, cluster="fallback", error_code=56) for broker in (1, 2)])
    stream.wait_for(
        lambda: {key for key, revision in stream.alerts() if revision == 1} == expected,
        "both answered under the same alert_id by the directory that failed",
    )
    stream.wait_for(lambda: len(stream.rows("rejected_records")) == 2, "the two rejected records stored")
    rejected = {row["topic"]: row for row in stream.rows("rejected_records")}
    assert rejected["logdir.metrics"]["value"] == garbage.value
    assert (rejected["logdir.metrics"]["partition"], rejected["logdir.metrics"]["offset"]) == (0, 0)
    assert rejected["logdir.events"]["value"] == future.value
    assert "version 9 is unknown" in rejected["logdir.events"]["reason"]


@pytest.mark.long
def test_where_real_time_mode_is_refused_the_fast_lane_runs_in_micro_batches_and_says_so(settings, tmp_path):
    fresh_topics_with_own_times(settings)
    run = Run(tmp_path / "run", settings, {"stream": {"fast_lane_batch": "1 second"}}, queries=("fast_lane",))
    run.start()
    try:
        send(settings, [event(1, 0, log_dir="/d1")])
        run.wait_for(run.alerts, "the alert of the fast lane")
        ((value,),) = run.alerts().values()
        assert json.loads(value)["lane"] == "fast_micro_batch"
        assert "fast_lane.micro_batches" in run.service.log_file.read_text()
    finally:
        run.stop()


def test_a_missing_topic_is_said_in_one_line_at_start(settings, tmp_path):
    from logdirwatch.kafka.clients import admin

    fresh_topics_with_own_times(settings)
    with admin(settings.telemetry) as client:
        client.delete_topics(["logdir.decisions"])
    run = Run(tmp_path / "run", settings)
    run.start()
    assert run.service._process.wait(DEADLINE_S) == 1
    lines = run.service.log_file.read_text().splitlines()
    assert lines == [
        "logdirwatch: stream: the telemetry cluster lacks logdir.decisions; create them with: logdirwatch topics create"
    ]


def test_too_few_slots_are_refused_in_one_line(settings, tmp_path):
    fresh_topics_with_own_times(settings)
    run = Run(tmp_path / "run", settings, overrides={"stream": {"master": "local[3]"}})
    run.start()
    assert run.service._process.wait(DEADLINE_S) == 1
    (line,) = run.service.log_file.read_text().splitlines()
    assert "3 task slots are too few: fast_lane occupies 3" in line
