"""The ledger of the chaos runs finds planted defects: the machine, made wrong on purpose, over a known history."""

from functools import lru_cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.detect import brokers, log_dirs, machine, predicates
from logdirwatch.detect.alerts import lifecycle
from logdirwatch.detect.observations import Event, Sample
from logdirwatch.detect.rules import log_dir_space
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.times import WriterClock
from logdirwatch.model.vocabulary import Cause, Rule, Severity
from logdirwatch.parse.records import Accepted, parse
from tests.chaos import ledger
from tests.chaos.history import History
from tests.chaos.reference import Reference
from tests.chaos.world import JUDGED
from tests.support.properties import examples

T0 = 1_700_000_000_000
TICKS = 200


@lru_cache(maxsize=4)
def known(seed):
    history, reference = History(seed, T0), Reference()
    records = []
    for tick in range(TICKS):
        # As the runs do, which hold it while they look.
        history.is_held = tick % 50 in range(30, 40)
        records += history.tick()
    history.is_held = False
    records += history.end()
    reference.take(records)
    return records, reference


def play(records):
    """What the machine makes of a history: alerts, transitions, and how many records it could not read."""
    settings = DetectSettings.model_validate(JUDGED)
    memories, offsets, told, steps, rejected = {}, {}, [], [], 0
    for record in records:
        place = record.topic, record.partition
        offsets[place] = offset = offsets.get(place, -1) + 1
        result = parse(record.topic, None, record.value, record.timestamp_ms, "none")
        if not isinstance(result, Accepted):
            rejected += 1
            continue
        found = result.record
        kind = Sample if isinstance(found, MetricsRecord) else Event
        memory = memories.setdefault(
            (found.cluster, found.broker), BrokerMemory(cluster=found.cluster, broker=found.broker)
        )
        seen = kind(found, Origin(*place, offset, record.timestamp_ms))
        outcome = machine.advance(memory, seen, record.timestamp_ms, settings)
        told += map(msgspec.to_builtins, outcome.alerts)
        steps += map(msgspec.to_builtins, outcome.transitions)
    return told, steps, rejected


def found_wrong(seed=4):
    records, reference = known(seed)
    told, steps, rejected = play(records)
    return [
        *ledger.of_detect(reference, told, steps),
        *ledger.differences("rejected records", [rejected], [reference.rejected]),
    ]


@given(st.integers(0, 1 << 20))
@examples(5)
def test_the_machine_and_the_reference_agree(seed):
    assert found_wrong(seed) == []


def test_the_history_has_everything_in_it():
    _, reference = known(1)
    seen = {(life.rule, life.cause, life.reason) for life in reference.lives}
    assert seen >= {
        ("broker_unknown", None, "recovered"),
        ("log_dir_offline", "unknown", "recovered"),
        ("log_dir_offline", "full", "recovered"),
        ("log_dir_offline", "unknown", "unconfirmed"),
        ("log_dir_space", None, "offline"),
        ("log_dir_space", None, "recovered"),
        ("log_dir_suspect", None, "recovered"),
    }
    assert any(life.severities == ["warning", "critical", "page"] for life in reference.lives)
    assert {reason for _, _, reason in reference.answered} == {"merged"}
    assert reference.rejected > 10


def test_of_the_watched_cluster_only_what_a_stretched_machine_does_is_true():
    told = {"cluster": "quiet", "broker": 0, "log_dir": "/a", "status": "firing", "at_ms": 1, "summary": "x"}
    assert ledger.of_watched([told | {"rule": "log_dir_space"}], "quiet") == []
    assert len(ledger.of_watched([told | {"rule": "log_dir_offline"}], "quiet")) == 1
    assert len(ledger.of_watched([told | {"rule": "log_dir_space", "cluster": "unheard"}], "quiet")) == 1


# -- ten defects and more


def swap_causes(patch):
    swapped = {Cause.FULL: Cause.UNKNOWN, Cause.UNKNOWN: Cause.FULL}
    right = predicates.offline_cause

    def wrong(*arguments):
        cause, decided_by = right(*arguments)
        return swapped.get(cause, cause), decided_by

    patch.setattr(predicates, "offline_cause", wrong)


def believe_the_first_sample(patch):
    right = predicates.debounced_level
    patch.setattr(predicates, "debounced_level", lambda current, proposals, samples: right(current, proposals, 1))


def drop_a_resolve(patch):
    right = lifecycle.BrokerAlerts.resolve

    def wrong(alerts, rule, path, reason, at_ms, **fields):
        if (rule, reason) != (Rule.LOG_DIR_SPACE, "offline"):
            right(alerts, rule, path, reason, at_ms, **fields)

    patch.setattr(lifecycle.BrokerAlerts, "resolve", wrong)


def lose_a_revision(patch):
    right = lifecycle.BrokerAlerts._write

    def wrong(alerts, *arguments, **fields):
        right(alerts, *arguments, **fields)
        if alerts.records[-1].revision == 2:
            alerts.records.pop()

    patch.setattr(lifecycle.BrokerAlerts, "_write", wrong)


def miss_the_threshold_by_a_byte(patch):
    right = predicates.level
    patch.setattr(
        predicates,
        "level",
        lambda thresholds, total, usable, **lowered: right(thresholds, total, usable + 1, **lowered),
    )


def forget_the_hysteresis(patch):
    right = predicates.judged_level
    patch.setattr(predicates, "judged_level", lambda thresholds, room, on_the_way_back=False: right(thresholds, room))


def count_a_record_twice(patch):
    right = log_dir_space.take_good_sample

    def wrong(*arguments):
        right(*arguments)
        right(*arguments)

    patch.setattr(log_dir_space, "take_good_sample", wrong)


def believe_late_records(patch):
    right = brokers.take_sample

    def wrong(context, sample, now_ms):
        context.memory.collectors.clear()
        right(context, sample, now_ms)

    patch.setattr(brokers, "take_sample", wrong)


def believe_clocks_that_are_ahead(patch):
    patch.setattr(WriterClock, "evidence_ms", lambda clock, written_ms, arrival, known: written_ms)


def leave_an_event_unanswered(patch):
    patch.setattr(lifecycle.BrokerAlerts, "answer_fast", lambda *arguments: None)


def forget_gaps(patch):
    patch.setattr(predicates, "is_gap", lambda memory, at_ms, interval_ms: memory.sample_at_ms is None)


def cry_too_early(patch):
    patch.setattr(
        brokers.broker_offline,
        "raise_unknown",
        lambda context, failures, moment: brokers.broker_offline._tell_unknown(context, moment),
    )


def whisper(patch):
    patch.setitem(predicates.SPACE_SEVERITY, "saturated", Severity.CRITICAL)


def call_nonsense_online(patch):
    patch.setattr(log_dirs, "_become_suspect", lambda context, sample, log_dir, moment: None)


DEFECTS = (
    swap_causes,
    believe_the_first_sample,
    drop_a_resolve,
    lose_a_revision,
    miss_the_threshold_by_a_byte,
    forget_the_hysteresis,
    count_a_record_twice,
    believe_late_records,
    believe_clocks_that_are_ahead,
    leave_an_event_unanswered,
    forget_gaps,
    cry_too_early,
    whisper,
    call_nonsense_online,
)


@pytest.mark.parametrize("plant", DEFECTS)
def test_a_planted_defect_is_found(plant, monkeypatch):
    plant(monkeypatch)
    assert found_wrong(), plant.__name__
