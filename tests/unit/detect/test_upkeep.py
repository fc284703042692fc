"""What holds for balance, moves and throttles whatever the machine is shown."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from logdirwatch.detect import machine
from logdirwatch.detect.observations import Sample, in_order
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, decode, encode
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ReplicaMoves
from logdirwatch.model.vocabulary import Rule
from tests.unit.detect.builders import POLL_MS, T0, log_dir, metrics

IMPATIENT = DetectSettings(
    imbalance_after_ms=POLL_MS,
    move_stalled_after_ms=2 * POLL_MS,
    move_max_ms=20 * POLL_MS,
    throttle_left_after_ms=POLL_MS,
)
RULES = {Rule.LOG_DIR_IMBALANCE, Rule.MOVE_STALLED, Rule.THROTTLE_LEFT}
PATHS = ("/d1", "/d2", "/d3")
THROTTLES = (
    None,
    {},
    {"follower.replication.throttled.rate": 5},
    {"replica.alter.log.dirs.io.max.bytes.per.second": 5},
)

counts = st.sampled_from([None, 0, 3])
directory = st.one_of(
    st.builds(
        log_dir,
        st.sampled_from(PATHS),
        st.sampled_from([0.05, 0.4, 0.7]),
        incoming_bytes=st.sampled_from([None, 0, 0, 500, 1_000]),
        future_bytes=st.sampled_from([None, 0, 100]),
        is_cordoned=st.sampled_from([None, False, True]),
    ),
    st.builds(lambda path, code: log_dir(path, error_code=code), st.sampled_from(PATHS), st.sampled_from([56, -1])),
)
told = st.builds(
    dict, reassignments=counts, copies=counts, throttles=st.sampled_from(THROTTLES), throttled_replicas=counts
)
answers = st.tuples(
    st.just("ok"),
    st.lists(directory, max_size=3, unique_by=lambda sample: sample.path),
    st.one_of(st.none(), st.tuples(st.integers(0, 2), told)),
)
polls = st.one_of(answers, answers, answers, st.just(("timeout", [], None)))
histories = st.lists(st.tuples(st.sampled_from(["a", "b"]), polls), max_size=30)


def observations(history):
    offsets, shown = {}, []
    for step, (collector, (status, dirs, moves)) in enumerate(history):
        at_ms, partition = T0 + step * POLL_MS, 0 if collector == "a" else 1
        offsets[partition] = offset = offsets.get(partition, -1) + 1
        seen = None if moves is None else ReplicaMoves(at_ms=at_ms - moves[0] * POLL_MS, **moves[1])
        record = metrics(at_ms, *dirs, status=status, collector=collector, moves=seen)
        shown.append(Sample(record, Origin("logdir.metrics", partition, offset, at_ms)))
    return shown


def play(batches):
    memory, alerts = BrokerMemory(cluster="prod", broker=7), []
    for batch in batches:
        memory = decode(1, encode(memory))
        for observation in in_order(batch):
            alerts += machine.advance(memory, observation, T0, IMPATIENT).alerts
    return memory, [alert for alert in alerts if alert.rule in RULES]


def one_by_one(history):
    return [[observation] for observation in observations(history)]


@given(histories)
def test_every_alert_is_resolved_once_or_open_and_remembered(history):
    memory, alerts = play(one_by_one(history))
    latest = {}
    for alert in alerts:
        before = latest.get(alert.alert_id)
        assert before is None or before.status == "firing"
        assert alert.revision == (1 if before is None else before.revision + 1)
        assert (alert.broker, alert.log_dir) == (7, None), "one for the broker, not one a directory"
        latest[alert.alert_id] = alert
    firing = {alert.alert_id for alert in latest.values() if alert.status == "firing"}
    assert firing == {alert.alert_id for rule, alert in memory.alerts.items() if rule in RULES}


@given(histories, st.lists(st.integers(0, 30)))
def test_how_a_history_is_cut_into_batches_changes_nothing(history, cuts):
    shown = observations(history)
    edges = sorted({0, len(shown), *(cut for cut in cuts if cut < len(shown))})
    cut_memory, cut_alerts = play([shown[start:end] for start, end in itertools.pairwise(edges)])
    memory, alerts = play([[observation] for observation in shown])
    assert (encode(cut_memory), cut_alerts) == (encode(memory), alerts)


@given(histories, st.randoms(use_true_random=False))
def test_a_repeat_changes_nothing(history, random):
    shown = observations(history)
    memory, _ = play([[observation] for observation in shown])
    before = encode(memory)
    for observation in in_order(random.sample(shown, k=random.randint(0, len(shown)))):
        assert machine.advance(memory, observation, T0, IMPATIENT) == ([], [])
    assert encode(memory) == before


@given(histories)
def test_what_nobody_knows_opens_nothing(history):
    """Each poll without what a rule needs: its alert may not open on it."""
    memory, shown = BrokerMemory(cluster="prod", broker=7), observations(history)
    for observation in shown:
        record = observation.record
        opened = {
            alert.rule for alert in machine.advance(memory, observation, T0, IMPATIENT).alerts if alert.revision == 1
        }
        if record.status != "ok":
            assert not opened & RULES
        if not any(sample.incoming_bytes for sample in record.log_dirs):
            assert Rule.MOVE_STALLED not in opened
        if record.moves is None or record.moves.throttles is None:
            assert Rule.THROTTLE_LEFT not in opened
        if sum(not sample.error_code and not sample.is_cordoned for sample in record.log_dirs) < 2:
            assert Rule.LOG_DIR_IMBALANCE not in opened


UNSURE = log_dir("/d2", 0.05, incoming_bytes=None)
ANSWERS_AGAIN = [
    ("a", ("ok", [log_dir("/d2", 0.05, incoming_bytes=500)], None)),
    ("a", ("ok", [], None)),
    ("a", ("ok", [log_dir("/d1", 0.05, incoming_bytes=None), log_dir("/d2", 0.05, incoming_bytes=500)], None)),
    ("b", ("ok", [log_dir("/d2", error_code=56), log_dir("/d1", 0.05, incoming_bytes=None)], None)),
    ("a", ("ok", [UNSURE], None)),
]


@example(history=ANSWERS_AGAIN)
@given(histories)
def test_only_evidence_of_health_resolves(history):
    memory = BrokerMemory(cluster="prod", broker=7)
    for observation in observations(history):
        record = observation.record
        outcome = machine.advance(memory, observation, T0, IMPATIENT)
        ended = {alert.rule for alert in outcome.alerts if alert.status == "resolved"} & RULES
        assert not ended or record.status == "ok"
        if any(sample.error_code == -1 for sample in record.log_dirs):
            assert not ended & {Rule.LOG_DIR_IMBALANCE, Rule.MOVE_STALLED}
        if any(not sample.error_code and sample.incoming_bytes is None for sample in record.log_dirs):
            assert Rule.MOVE_STALLED not in ended
