"""What holds for the judgement of a cluster whatever it is shown."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from logdirwatch.detect.observations import in_order
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet import machine, silence
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.machine import Seen
from logdirwatch.fleet.memory import FleetMemory, decode, encode
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import PartitionHealth
from tests.unit.fleet.builders import SILENCE, T0, filling, log_dir, state

STEP_MS = 5_000
SETTINGS = FleetSettings(risk_after_ms=STEP_MS, risk_hold_ms=STEP_MS, space_after_ms=STEP_MS, space_hold_ms=STEP_MS)
BROKERS = (1, 2, 3)
GONE = "gone"

HEALTHS = (
    PartitionHealth(),
    PartitionHealth(leaderless=1, under_min_isr=1, examples=["__consumer_offsets-0"]),
    PartitionHealth(under_min_isr=2, examples=["a-0", "a-1"], hurt_topics=["a"], hurt_groups=["g"], out_of_sync=2),
    PartitionHealth(sole_replica=5, at_min_isr=1, examples=["b-0"]),
)
UNSEEN = (log_dir(used=0.8, status="unknown", last_status="filling"),)
TOLD = {"broker_unknown": "of detect"}
KINDS = {
    "well": {"dirs": (log_dir(used=0.3),)},
    "filling": {"dirs": (filling(used=0.9), filling("/d2", used=0.8))},
    "away": {"dirs": UNSEEN, "status": "unknown", "reason": "timeout: no answer"},
    "told": {"dirs": UNSEEN, "status": "unknown", "reason": "timeout: no answer", "absence_alerts": TOLD},
    "told, then silent": {"dirs": UNSEEN, "status": "unknown", "reason": SILENCE, "absence_alerts": TOLD},
    "fenced": {"dirs": UNSEEN, "status": "offline", "reason": "fenced by the controller"},
    "silent": {"dirs": UNSEEN, "status": "unknown", "reason": SILENCE, "host": "h1"},
    "planned": {"dirs": UNSEEN, "status": "unknown", "reason": SILENCE, "maintenance_until_ms": T0 + 90_000},
    GONE: {},
}

happenings = st.tuples(st.sampled_from(BROKERS), st.sampled_from(sorted(KINDS)), st.sampled_from(HEALTHS))
histories = st.lists(happenings, max_size=30)
waits = st.lists(st.sampled_from([0, 1_000, 15_000, 60_000]), min_size=30, max_size=30)


def records(history):
    """Give each item of a history its sequence, its time and its place in Kafka."""
    shown, sequences, offsets = [], {}, {}
    for step, (broker, kind, health) in enumerate(history):
        at_ms, partition = T0 + step * STEP_MS, broker % 2
        sequences[broker] = sequences.get(broker, 0) + 1
        offsets[partition] = offsets.get(partition, -1) + 1
        fields = dict(KINDS[kind])
        dirs = fields.pop("dirs", ())
        record = state(broker, *dirs, sequence=sequences[broker], at_ms=at_ms, health=health, **fields)
        origin = Origin("logdir.state", partition, offsets[partition], at_ms)
        shown.append(Seen(broker, None if kind == GONE else record, origin))
    return shown


def play(batches, pauses=None):
    """Show batches; with ``pauses`` the batch's clock runs on before each, and timers fire."""
    memory, alerts, now_ms = FleetMemory(cluster="prod"), [], T0
    for batch, pause_ms in zip(batches, pauses or itertools.repeat(0), strict=False):
        now_ms += pause_ms
        context = ClusterContext(decode(1, encode(memory)), SETTINGS, DetectSettings())
        deadline_ms = machine.next_deadline_ms(context.memory, SETTINGS)
        if pauses and deadline_ms is not None and deadline_ms <= now_ms:
            machine.tick(context, now_ms)
        for seen in in_order(batch):
            machine.take(context, seen, now_ms)
        memory = context.memory
        alerts += context.alerts.records
    return memory, alerts


def one_by_one(history):
    return [[seen] for seen in records(history)]


@given(histories, waits)
def test_revisions_rise_by_one_and_nothing_follows_a_resolve(history, pauses):
    _, alerts = play(one_by_one(history), pauses)
    latest = {}
    for alert in alerts:
        before = latest.get(alert.alert_id)
        assert alert.revision == (1 if before is None else before.revision + 1)
        assert before is None or (before.status == "firing" and before.at_ms <= alert.at_ms)
        assert alert.at_ms >= alert.opened_at_ms
        latest[alert.alert_id] = alert


@given(histories, waits)
def test_what_fires_is_in_the_memory_and_one_alert_speaks_of_one_place(history, pauses):
    memory, alerts = play(one_by_one(history), pauses)
    latest = {alert.alert_id: alert for alert in alerts}
    firing = {key: (alert.rule, alert.broker) for key, alert in latest.items() if alert.status == "firing"}
    assert firing == {alert.alert_id: (alert.rule, alert.broker) for alert in memory.alerts.values()}
    assert len(set(firing.values())) == len(firing)


@given(histories, waits)
def test_silence_is_said_once_and_of_nobody_who_answers_or_is_told_already(history, pauses):
    memory, _ = play(one_by_one(history), pauses)
    untold = {broker for broker, digest in memory.brokers.items() if digest.is_untold}
    said = {alert.broker for alert in memory.alerts.values() if alert.rule == "broker_unknown"}
    assert said <= untold | {None}
    assert None not in said or (said == {None} and untold)


@given(histories, waits)
@example(
    [(1, kind, None) for kind in ("away", "told, then silent")] + [(broker, "away", None) for broker in (2, 1)],
    [0, 0, 60_000, 60_000],
)
def test_only_an_answer_a_merge_or_a_removal_ends_what_is_said_of_silence(history, pauses):
    memory, now_ms = FleetMemory(cluster="prod"), T0
    for seen, pause_ms in zip(records(history), pauses, strict=False):
        now_ms += pause_ms
        for step in (machine.tick, lambda context, now, seen=seen: machine.take(context, seen, now)):
            context = ClusterContext(memory, SETTINGS, DetectSettings())
            step(context, now_ms)
            ended = [alert for alert in context.alerts.records if alert.rule == "broker_unknown" and alert.reason]
            assert all(ended_by_evidence(alert, memory) for alert in ended), ended


def ended_by_evidence(alert, memory):
    """Whether what the memory holds now bears out why an alert of silence ended."""
    brokers = memory.brokers if alert.broker is None else [b for b in memory.brokers if b == alert.broker]
    firing = {alert.alert_id for alert in memory.alerts.values()} | set(TOLD.values())
    return {
        "recovered": all(not memory.brokers[b].is_silent and memory.brokers[b].is_answering for b in brokers),
        "merged": alert.merged_into in firing,
        "narrowed": all(has_answer_or_alert(b, memory) for b in brokers),
        "removed": not brokers,
    }[alert.reason]


def has_answer_or_alert(broker, memory):
    """Whether a broker answers, or has an alert of its own: that of ``detect`` stays, and no second one is opened."""
    digest = memory.brokers[broker]
    is_told = "broker_unknown" in digest.absence_alerts or f"broker_unknown/{broker}" in memory.alerts
    return is_told or not digest.is_untold


@given(histories, waits)
def test_every_silence_is_told_in_the_end_and_then_nothing_is_left_to_decide(history, pauses):
    memory, _ = play(one_by_one(history), pauses)
    context = ClusterContext(memory, SETTINGS, DetectSettings())
    for _ in range(3):
        machine.tick(context, T0 + 10**9)
    silent = {broker for broker, digest in memory.brokers.items() if digest.is_silent}
    untold = {broker for broker, digest in memory.brokers.items() if digest.is_untold}
    told = {broker for broker, digest in memory.brokers.items() if digest.absence_alerts}
    are_all = bool(silent) and len(silent) == len(memory.brokers)
    said = {alert.broker for alert in memory.alerts.values() if alert.rule == "broker_unknown"}
    assert said == {None} if are_all else silent - told <= said <= untold
    assert silence.next_deadline_ms(memory, SETTINGS) is None
    assert machine.next_deadline_ms(memory, SETTINGS) == silence.unseen_renewal_ms(memory)


@given(histories, waits)
def test_silence_is_loud_unless_it_is_planned(history, pauses):
    memory, _ = play(one_by_one(history), pauses)
    now_ms = T0 + sum(pauses[: len(history)])
    silent = [digest for digest in memory.brokers.values() if digest.is_silent]
    for alert in memory.alerts.values():
        if alert.rule != "broker_unknown":
            continue
        about = silent if alert.broker is None else [memory.brokers[alert.broker]]
        ends = [digest.maintenance_until_ms or 0 for digest in about]
        if alert.broker is not None or memory.regather_ms is None:
            assert (alert.severity == "info") is (min(ends) > now_ms)


@given(histories, st.lists(st.integers(0, 30)))
def test_how_a_history_is_cut_into_batches_changes_nothing(history, cuts):
    shown = records(history)
    edges = sorted({0, len(shown), *(cut for cut in cuts if cut < len(shown))})
    whole_memory, whole_alerts = play([shown[start:end] for start, end in itertools.pairwise(edges)])
    memory, alerts = play([[seen] for seen in shown])
    assert encode(whole_memory) == encode(memory)
    assert whole_alerts == alerts


@given(histories, st.randoms(use_true_random=False))
def test_repeated_and_old_records_change_nothing(history, random):
    shown = records(history)
    memory, _ = play([shown])
    before = encode(memory)
    states = [seen for seen in shown if seen.state is not None]
    context = ClusterContext(memory, SETTINGS, DetectSettings())
    for seen in random.sample(states, k=random.randint(0, len(states))):
        machine.take(context, seen, T0)
    assert context.alerts.records == []
    assert encode(memory) == before


@given(histories)
def test_the_sums_that_are_kept_are_those_of_the_brokers(history):
    context = ClusterContext(FleetMemory(cluster="prod"), SETTINGS, DetectSettings())
    for seen in records(history):
        machine.take(context, seen, T0)
    assert context.tally.sums == ClusterContext(context.memory, SETTINGS, DetectSettings()).tally.sums
