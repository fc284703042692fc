"""What holds for the state machine whatever it is shown."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.detect import brokers, machine
from logdirwatch.detect.observations import Decided, Event, HostView, Sample, in_order
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, decode, encode
from logdirwatch.errors import UserError
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import POLL_MS, T0, event, host_dir, host_view, log_dir, maintenance, metrics

SETTINGS = DetectSettings()
IMPATIENT = DetectSettings(broker_offline_grace_ms=POLL_MS, failure_polls=1)
ABOUT_BROKERS = {"broker_offline", "broker_unknown"}
PATHS = ("/d1", "/d2")
EVENTS = (
    "LogDirFailure",
    "LogDirSaturated",
    "LogDirRecovered",
    "LogDirReset",
    "PartitionFailed",
    "PartitionUncleanable",
    "RemoteCopyFailed",
    "LogCleanerDied",
    "LogCleanerStarted",
    "BrokerTaskFailed",
    "BrokerTaskResumed",
    "BrokerFailure",
)

directory = st.one_of(
    st.builds(log_dir, st.sampled_from(PATHS), st.sampled_from([0.1, 0.72, 0.76, 0.86, 0.96, 0.99999])),
    st.builds(lambda path, code: log_dir(path, error_code=code), st.sampled_from(PATHS), st.sampled_from([56, -1])),
)
answers = st.lists(directory, max_size=2, unique_by=lambda sample: sample.path).map(lambda dirs: ("ok", dirs))
failures = st.sampled_from(["timeout", "unauthorized", "error", "fenced"]).map(lambda status: (status, []))
polls = st.one_of(answers, answers, failures).map(lambda poll: ("metrics", poll))
happenings = st.tuples(st.sampled_from(EVENTS), st.sampled_from([None, *PATHS])).map(lambda e: ("event", e))
looks = st.builds(
    host_dir,
    st.sampled_from(PATHS),
    is_read_only=st.sampled_from([None, False, True]),
    probe_error=st.sampled_from([None, "EIO"]),
    probe_ms=st.sampled_from([None, 3.0]),
    total_inodes=st.just(100),
    free_inodes=st.sampled_from([1, 90]),
    volume=st.sampled_from([None, "dev 8:1", "dev 8:2"]),
    is_root_volume=st.booleans(),
    is_reserve_there=st.sampled_from([None, False, True]),
).map(lambda seen: ("host", seen))
plans = st.sampled_from([0, 3 * POLL_MS, 10 * POLL_MS]).map(lambda for_ms: ("decision", for_ms))
steps = st.one_of(polls, polls, happenings, looks, plans)
histories = st.lists(st.tuples(st.sampled_from(["a", "b"]), steps), max_size=25)


GAUGES = (
    {},
    {"DeadThreadCount": 1.0, f"UncleanableBytes:{PATHS[0]}": 7.0, "RemoteCopyLagBytes": 9e12},
    {"DeadThreadCount": 0.0, "OfflineLogDirectoryCount": 1.0},
    {"scrape_ok": 0.0},
    {f"UncleanablePartitionsCount:{path}": 0.0 for path in PATHS} | {"RemoteCopyErrorsTotal": 1.0},
    {f"UncleanablePartitionsCount:{PATHS[0]}": 2.0, "RemoteCopyErrorsTotal": 3.0},
    {"DeadThreadCount": 2.0},
)
SOURCES = {"event": "logdir.events", "decision": "logdir.decisions"}


def observations(history):
    """Give each item of a history its time, its source and its place in Kafka."""
    offsets = {}
    shown = []
    for step, (collector, (kind, what)) in enumerate(history):
        at_ms = T0 + step * POLL_MS
        source = SOURCES.get(kind, "logdir.metrics")
        partition = 0 if collector == "a" else 1
        offsets[source, partition] = offset = offsets.get((source, partition), -1) + 1
        origin = Origin(source, partition, offset, at_ms)
        if kind == "event":
            shown.append(Event(event(at_ms, *what, collector=collector, topic="t", partition=step % 3), origin))
            continue
        if kind == "host":
            shown.append(HostView(host_view(at_ms, what), origin))
            continue
        if kind == "decision":
            shown.append(Decided(maintenance(at_ms, what), origin))
            continue
        status, dirs = what
        fields = {"is_fenced": True, "controller_at_ms": at_ms} if status == "fenced" else {}
        status = "timeout" if status == "fenced" else status
        health = PartitionHealth(
            leaderless=int(step % 3 == 0), out_of_sync=step % 2, hurt_topics=["t"] * (step % 3 == 0)
        )
        fields |= {"partitions": health, "metrics": GAUGES[step % len(GAUGES)], "host": "h1" if step % 2 else None}
        record = metrics(at_ms, *dirs, status=status, collector=collector, **fields)
        shown.append(Sample(record, origin))
    return shown


def play(batches, judged_by=SETTINGS):
    memory = BrokerMemory(cluster="prod", broker=7)
    outcomes = [
        machine.advance(memory, observation, T0, judged_by) for batch in batches for observation in in_order(batch)
    ]
    alerts = [alert for outcome in outcomes for alert in outcome.alerts]
    transitions = [transition for outcome in outcomes for transition in outcome.transitions]
    return memory, alerts, transitions


@given(histories)
def test_revisions_rise_by_one_and_nothing_follows_a_resolve(history):
    _, alerts, _ = play([[observation] for observation in observations(history)])
    seen = {}
    for alert in alerts:
        revision, status = seen.get(alert.alert_id, (0, "firing"))
        assert status == "firing"
        assert alert.revision == revision + 1
        seen[alert.alert_id] = (alert.revision, alert.status)


@given(histories)
def test_what_can_wait_is_no_page_and_what_cannot_is_no_warning(history):
    _, alerts, _ = play([[observation] for observation in observations(history)], IMPATIENT)
    for alert in alerts:
        if alert.status == "firing" and alert.severity in {"info", "warning"}:
            assert "can wait until morning: no" not in alert.summary, alert
        if alert.status == "firing" and alert.severity == "page":
            assert "can wait until morning: yes" not in alert.summary, alert


@given(histories, st.lists(st.sampled_from([0, 20_000, 60_000, 600_000]), min_size=25, max_size=25))
def test_no_alert_ends_by_the_passing_of_time_alone(history, pauses):
    memory, now_ms = BrokerMemory(cluster="prod", broker=7), T0
    for observation, pause_ms in zip(observations(history), pauses, strict=False):
        now_ms += pause_ms
        seen_ms = memory.seen_ms
        for alert in machine.tick(memory, now_ms, IMPATIENT).alerts:
            is_answered = alert.reason == "unconfirmed" and seen_ms is not None and seen_ms > alert.opened_at_ms
            assert alert.status == "firing" or is_answered, alert
        machine.advance(memory, observation, now_ms, IMPATIENT)


@given(histories)
def test_an_alert_ends_by_an_answer_or_in_one_that_fires(history):
    memory, latest = BrokerMemory(cluster="prod", broker=7), {}
    for observation in observations(history):
        outcome = machine.advance(memory, observation, T0, IMPATIENT)
        latest |= {alert.alert_id: alert for alert in outcome.alerts}
        is_answer = isinstance(observation, Sample) and observation.record.status == "ok"
        for alert in outcome.alerts:
            if alert.status == "resolved" and alert.reason != "unconfirmed":
                is_handed_on = alert.merged_into in latest and latest[alert.merged_into].status == "firing"
                is_seen = is_answer or isinstance(observation, HostView)
                assert is_handed_on or is_seen, alert


@given(histories)
def test_what_fires_is_in_the_memory_and_what_is_in_the_memory_fires(history):
    memory, alerts, _ = play([[observation] for observation in observations(history)])
    latest = {alert.alert_id: alert for alert in alerts}
    firing = {key for key, alert in latest.items() if alert.status == "firing"}
    remembered = [alert.alert_id for holder in (memory, *memory.log_dirs.values()) for alert in holder.alerts.values()]
    assert len(remembered) == len(set(remembered))
    assert firing == set(remembered)


@given(histories)
def test_transitions_chain_without_a_gap(history):
    _, _, transitions = play([[observation] for observation in observations(history)])
    last = {}
    for transition in transitions:
        before = last.get(transition.log_dir)
        assert transition.from_status == (None if before == "removed" else before)
        assert transition.from_status != transition.to_status
        last[transition.log_dir] = transition.to_status


@given(histories)
def test_a_status_is_never_better_than_the_last_answer(history):
    shown = observations(history)
    memory, _, _ = play([[observation] for observation in shown])
    samples = [observation.record for observation in shown if isinstance(observation, Sample)]
    if not samples:
        return
    last = samples[-1]
    for sample in last.log_dirs if last.status == "ok" else []:
        status = memory.log_dirs[sample.path].status
        if sample.error_code == 56:
            assert status == "offline"
        elif sample.error_code:
            assert status in {"unknown", "offline"}
    if last.is_fenced:
        assert memory.status == "offline"
        assert {log_dir.status for log_dir in memory.log_dirs.values()} <= {"unknown", "offline"}


@given(histories, st.randoms(use_true_random=False))
def test_a_repeated_batch_changes_nothing(history, random):
    shown = observations(history)
    memory, _, _ = play([[observation] for observation in shown])
    before = encode(memory)
    repeated = random.sample(shown, k=random.randint(0, len(shown)))
    for observation in in_order(repeated):
        outcome = machine.advance(memory, observation, T0, SETTINGS)
        assert outcome == ([], [])
    assert encode(memory) == before


@given(histories, st.lists(st.integers(0, 25)))
def test_how_a_history_is_cut_into_batches_changes_nothing(history, cuts):
    shown = observations(history)
    edges = sorted({0, len(shown), *(cut for cut in cuts if cut < len(shown))})
    batches = [shown[start:end] for start, end in itertools.pairwise(edges)]
    cut_memory, cut_alerts, cut_transitions = play(batches)
    memory, alerts, transitions = play([[observation] for observation in shown])
    assert encode(cut_memory) == encode(memory)
    assert cut_alerts == alerts
    assert cut_transitions == transitions


def one_by_one(shown):
    return [[observation] for observation in shown]


@given(histories)
def test_maintenance_changes_nothing_but_what_is_told_of_the_brokers_absence(history):
    shown = observations(history)
    unplanned = [observation for observation in shown if not isinstance(observation, Decided)]
    _, alerts, transitions = play(one_by_one(shown), IMPATIENT)
    _, otherwise, same_transitions = play(one_by_one(unplanned), IMPATIENT)
    assert transitions == same_transitions
    for path in PATHS:
        assert [alert for alert in alerts if alert.log_dir == path] == [a for a in otherwise if a.log_dir == path]
    assert [a for a in alerts if a.rule not in ABOUT_BROKERS] == [a for a in otherwise if a.rule not in ABOUT_BROKERS]
    assert _lives(alerts) == _lives(otherwise)


def _lives(alerts):
    """Which alerts there were, and how each ended."""
    return {alert.alert_id: (alert.rule, alert.status, alert.reason) for alert in alerts}


@given(histories)
def test_while_maintenance_runs_no_absence_is_loud_and_afterwards_none_is_quiet(history):
    memory, said = BrokerMemory(cluster="prod", broker=7), {}
    for observation in observations(history):
        outcome = machine.advance(memory, observation, T0, IMPATIENT)
        said |= {alert.alert_id: alert for alert in outcome.alerts if alert.rule in ABOUT_BROKERS}
        is_running = memory.maintenance is not None and not memory.maintenance.is_over
        for alert in said.values():
            if alert.status == "firing" and memory.status in {"offline", "unknown"}:
                assert (alert.severity == "info") is is_running
        assert not is_running or memory.newest_ms < memory.maintenance.until_ms


@given(histories)
def test_the_last_decision_on_the_topic_holds_whatever_came_before_it(history):
    shown = observations(history)
    decided = [observation for observation in shown if isinstance(observation, Decided)]
    others = [observation for observation in shown if not isinstance(observation, Decided)]
    memory, _, _ = play(one_by_one([*others, *decided]), IMPATIENT)
    alone, _, _ = play(one_by_one([*others, *decided[-1:]]), IMPATIENT)
    assert memory.maintenance == alone.maintenance


@given(histories)
def test_no_timer_is_left_that_changes_nothing(history):
    memory, _, _ = play(one_by_one(observations(history)), IMPATIENT)
    for _ in range(5):
        deadline_ms = machine.next_deadline_ms(memory, IMPATIENT)
        if deadline_ms is None:
            return
        is_renewal = deadline_ms == brokers.unseen_renewal_ms(memory)
        outcome = machine.tick(memory, deadline_ms, IMPATIENT)
        if is_renewal:
            assert outcome.alerts
            assert machine.next_deadline_ms(memory, IMPATIENT) > deadline_ms
            return
    raise AssertionError("a timer is set again and again")


def test_state_of_another_release_is_refused_with_one_line():
    body = encode(BrokerMemory(cluster="prod", broker=7))
    with pytest.raises(UserError, match="state of version 2, this release reads version 1"):
        decode(2, body)
    with pytest.raises(UserError, match="cannot be read"):
        decode(1, "{}")
