"""The state machine of one broker and its log directories.

``advance`` processes one observation, ``tick`` the passing of time. Both change the memory they are given and return
the results. Nothing here reads a clock.

A log directory::

             two samples in a row (debounce), 5 points of hysteresis on the way back
        ┌──────────┐ ──▶ ┌──────────┐ ──▶ ┌──────────┐ ──▶ ┌───────────┐
        │  online  │     │ filling  │     │ critical │     │ saturated │
        └──────────┘ ◀── └──────────┘ ◀── └──────────┘ ◀── └───────────┘
             │  a jump goes straight to its level; LogDirSaturated needs no second sample
             │
             ├── error 56, LogDirFailure ─────────▶ offline ──┐  first good sample:
             └── broker offline or unknown,                   ├─▶ straight to its level
                 other error, left the report ───▶ unknown ───┘

A broker: ``online`` (answers), ``degraded`` (answers, a directory is offline), ``offline`` (the controller says so),
``unknown`` (no answer). Maintenance changes no status, only the severity of alerts about the broker's absence.
"""

from logdirwatch.detect import brokers, events, host, unnamed_failures
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime, Outcome
from logdirwatch.detect.observations import Decided, HostView, Observation, Sample
from logdirwatch.detect.rules import healthy
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state import maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.identity import Origin


def advance(memory: BrokerMemory, observation: Observation, now_ms: int, settings: DetectSettings) -> Outcome:
    """Process one observation; ``now_ms`` is the batch's time and is used only for waiting."""
    context = BrokerContext(memory, settings)
    if isinstance(observation, Decided):
        brokers.take_decision(context, observation)
        healthy.take_word(context, observation)
        return context.outcome()
    if _is_replay(memory, observation.origin):
        return context.outcome()
    if isinstance(observation, HostView):
        host.take_host_view(context, observation, now_ms)
        return context.outcome()
    if isinstance(observation, Sample):
        brokers.take_sample(context, observation, now_ms)
    else:
        memory.heard_ms = now_ms
        events.take_event(context, observation, now_ms)
        brokers.follow_event(context, EvidenceTime(max(memory.newest_ms, memory.since_ms), str(observation.origin)))
    return context.outcome()


def tick(memory: BrokerMemory, now_ms: int, settings: DetectSettings) -> Outcome:
    """Let time pass: judges events without a directory, the end of maintenance, and silence."""
    context = BrokerContext(memory, settings)
    unnamed_failures.expire(context, now_ms)
    brokers.end_maintenance(context, now_ms)
    brokers.judge_silence(context, now_ms)
    brokers.renew_unseen(context, now_ms)
    return context.outcome()


def next_deadline_ms(memory: BrokerMemory, settings: DetectSettings) -> int | None:
    """Return when ``tick`` is due next; None if only a record can change anything."""
    deadlines = [event.deadline_ms for event in memory.pending if unnamed_failures.is_answered(memory, event)]
    if (planned := maintenance.running(memory)) is not None:
        deadlines.append(planned.until_ms)
    if memory.collectors and not memory.is_silent:
        deadlines.append(memory.heard_ms + brokers.silence_ms(memory, settings))
    if (renewal_ms := brokers.unseen_renewal_ms(memory)) is not None:
        deadlines.append(renewal_ms)
    return min(deadlines, default=None)


def _is_replay(memory: BrokerMemory, origin: Origin) -> bool:
    """Tell whether the record was processed before; a recreated topic starts at offset 0 with newer timestamps."""
    position = f"{origin.topic}/{origin.partition}"
    is_old = origin.offset <= memory.positions.get(position, -1)
    if is_old and origin.kafka_timestamp_ms <= memory.newest_kafka_ms:
        return True
    memory.positions[position] = origin.offset
    memory.newest_kafka_ms = max(memory.newest_kafka_ms, origin.kafka_timestamp_ms)
    return False
