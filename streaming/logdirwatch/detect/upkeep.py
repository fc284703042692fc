"""Judges a broker that answers beyond its directories' space: balance, lagging replicas, moves, throttles.

Every module in ``rules`` with ``judge_answer`` or ``judge_scan`` is called, in the order of their names. What each
declares quiet decides which brokers are judged in columns.
"""

from typing import Any

from logdirwatch.detect import rules
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import broker_offline
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import Rule
from logdirwatch.modules_by_name import modules_by_name

_MODULES = modules_by_name(rules).values()
_RULES = frozenset(Rule) - {*broker_offline.RULES, Rule.BROKER_CRASH_LOOP}
"""The rules about a broker, except those about its absences."""


def _functions(name: str) -> tuple[Any, ...]:
    return tuple(vars(module)[name] for module in _MODULES if name in vars(module))


JUDGES_OF_ANSWERS = _functions("judge_answer")
"""Each is called with every answer of the broker: ``judge_answer(context, record, moment)``."""
JUDGES_OF_SCANS = _functions("judge_scan")
"""Moves and lag are counted by the inventory scan, so they are judged once per scan:
``judge_scan(context, record, counted_ms, moment)``."""
_FORGETTING = _functions("lose_sight")


def _is_never_quiet(_: BrokerMemory) -> bool:
    """Return False: a rule that does not say when it is quiet gets every answer."""
    return False


_QUIET = tuple(
    getattr(module, "is_quiet", _is_never_quiet)
    for module in _MODULES
    if {"judge_answer", "judge_scan", "is_quiet"} & vars(module).keys()
)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether an answer that changes only numbers which the columns watch gives no rule anything to judge."""
    return all(rests(memory) for rests in _QUIET)


def judge(context: BrokerContext, record: MetricsRecord, moment: EvidenceTime) -> None:
    """Judge one answer."""
    for judge_answer in JUDGES_OF_ANSWERS:
        judge_answer(context, record, moment)
    # A record without the time of its move counts uses its own time.
    counted_ms = moment.at_ms if record.moves is None else min(record.moves.at_ms, moment.at_ms)
    if counted_ms <= context.memory.moves_at_ms:
        return
    context.memory.moves_at_ms = counted_ms
    for judge_scan in JUDGES_OF_SCANS:
        judge_scan(context, record, counted_ms, moment)


def lose_sight(context: BrokerContext, moment: EvidenceTime) -> None:
    """Restart waiting times when the broker does not answer; firing alerts become stale."""
    for forget in _FORGETTING:
        forget(context.memory)
    if context.memory.alerts:
        context.alerts.mark_stale(None, moment.at_ms, only=_RULES)
