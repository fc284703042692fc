"""The reason for a broker's absence from its own log: kept until the broker answers again."""

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import broker_offline
from logdirwatch.detect.state.broker_state import BrokerLogFinding, BrokerMemory
from logdirwatch.detect.state.episodes import STOPPING_MS
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.records import EventRecord
from logdirwatch.text.printable import printable
from logdirwatch.text.words import shortened

SAID_CHARACTERS = 400


def take(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Record why a broker says that it stops, and revise an open alert with it.

    If the broker has answered since then for longer than a shutdown takes, the reason is not about its present absence.
    """
    memory, known = context.memory, context.memory.word
    if memory.seen_ms is not None and memory.seen_ms - moment.at_ms > STOPPING_MS:
        return
    if known is not None and moment.at_ms < known.at_ms:
        return
    reason = record.reason or BrokerFailureReason.OTHER.value
    text = printable(shortened(record.detail or reason, SAID_CHARACTERS))
    memory.word = BrokerLogFinding(at_ms=moment.at_ms, reason=reason, text=text)
    broker_offline.tell_again(context, moment)


def forget_if_over(memory: BrokerMemory, at_ms: int) -> None:
    """Forget the reason of a broker that answers: after an absence, or for longer than a shutdown takes."""
    word = memory.word
    if word is None or at_ms <= word.at_ms:
        return
    if memory.status in broker_offline.AWAY or at_ms - word.at_ms > STOPPING_MS:
        memory.word = None
