"""What a broker's own log says of why it is away: kept from when it is read until the broker answers again."""

from logdirwatch.detect.alerts.context import Desk, Moment
from logdirwatch.detect.rules import broker_offline
from logdirwatch.detect.state.broker_state import BrokerMemory, BrokerWord
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.records import EventRecord
from logdirwatch.text.printable import printable

STOPPING_MS = 60_000
"""For so long a broker may still answer that said why it ends: a controlled shutdown moves its leaders first."""
SAID_CHARACTERS = 400


def take(desk: Desk, record: EventRecord, moment: Moment) -> None:
    """Note why a broker says that it ends; an alert that is open already says it as well.

    One that has answered since then for longer than a shutdown takes is no word of its present absence.
    """
    memory, known = desk.memory, desk.memory.word
    if memory.seen_ms is not None and memory.seen_ms - moment.at_ms > STOPPING_MS:
        return
    if known is not None and moment.at_ms < known.at_ms:
        return
    reason = record.reason or BrokerFailureReason.OTHER.value
    text = printable((record.detail or reason)[:SAID_CHARACTERS])
    memory.word = BrokerWord(at_ms=moment.at_ms, reason=reason, text=text)
    broker_offline.tell_again(desk, moment)


def forget_if_over(memory: BrokerMemory, at_ms: int) -> None:
    """Forget the word of a broker that answers: after it was away, or for longer than a shutdown takes."""
    word = memory.word
    if word is None or at_ms <= word.at_ms:
        return
    if memory.status in broker_offline.AWAY or at_ms - word.at_ms > STOPPING_MS:
        memory.word = None
