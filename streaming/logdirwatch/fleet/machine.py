"""The judgement of one cluster from the states of its brokers.

``take`` processes one record, ``tick`` the passing of time. Both change the memory in the context they are given and
collect the records to write there. Partitions and space are judged by the time of the evidence alone, so that the
result does not depend on how records are split into batches. Only silence is judged by the batch's clock, since no
record may come.
"""

from logdirwatch.detect.alerts.context import EvidenceTime
from logdirwatch.fleet import intake, peers, restarts, risk, silence, space, stops
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.intake import Seen
from logdirwatch.fleet.memory import FleetMemory
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.records import StateRecord
from logdirwatch.model.vocabulary import Rule


def take(context: ClusterContext, seen: Seen, now_ms: int) -> None:
    """Process one record; ``now_ms`` is the batch's time and is used only for waiting."""
    is_news = _remove(context, seen, now_ms) if seen.state is None else _note(context, seen.state, now_ms)
    if is_news and context.memory.brokers and context.memory.newest_ms > context.memory.judged_until_ms:
        moment = EvidenceTime(context.memory.newest_ms, str(seen.origin))
        risk.judge(context, moment)
        space.judge(context, moment)
        peers.judge(context, moment)
        restarts.judge(context, moment)
        context.alerts.renew(moment.at_ms)


def tick(context: ClusterContext, now_ms: int) -> None:
    """Let time pass: it decides only whether brokers and executions are silent, and for how long."""
    silence.judge(context, now_ms)
    stops.judge(context, now_ms)
    silence.renew_unseen(context, now_ms)


def next_deadline_ms(memory: FleetMemory, settings: FleetSettings) -> int | None:
    """Return when ``tick`` has something to decide next; None when only a record can change anything."""
    of_brokers = silence.next_deadline_ms(memory, settings), silence.unseen_renewal_ms(memory)
    deadlines = [*of_brokers, *stops.next_deadline_ms(memory)]
    return min((deadline_ms for deadline_ms in deadlines if deadline_ms is not None), default=None)


def _note(context: ClusterContext, state: StateRecord, now_ms: int) -> bool:
    """Apply a broker's state; return whether it was newer than the known one."""
    memory, broker = context.memory, state.broker
    before = memory.brokers.get(broker)
    known = memory.gone.get(broker) if before is None else (before.sequence, before.at_ms)
    if not intake.is_newer(state, known):
        return False
    memory.gone.pop(broker, None)
    memory.newest_ms = max(memory.newest_ms, state.at_ms)
    memory.brokers[broker] = intake.digest(state, before, now_ms)
    context.tally.put(broker, memory.brokers[broker])
    if state.at_ms > memory.judged_until_ms:
        silence.follow(context, broker, now_ms)
    restarts.follow(context, state, before)
    return True


def _remove(context: ClusterContext, seen: Seen, now_ms: int) -> bool:
    """Forget a broker; return whether it was known. When the last one is removed, the cluster's alerts end too."""
    memory, broker = context.memory, seen.broker
    digest = memory.brokers.pop(broker, None)
    if digest is None:
        return False
    memory.gone[broker] = digest.sequence, digest.at_ms
    context.tally.drop(broker)
    restarts.forget(memory, broker)
    if seen.origin.kafka_timestamp_ms <= memory.judged_until_ms:
        return True
    silence.forget(context, broker, now_ms)
    if not memory.brokers:
        memory.pending.clear()
        for rule in (Rule.PARTITIONS_AT_RISK, Rule.FLEET_SPACE, peers.RULE, restarts.RULE):
            context.alerts.resolve(rule, None, "removed", memory.newest_ms)
    return True
