"""What is judged of an answering broker beside its directories' room: balance, followers that lag, moves, throttles.

Every module in ``rules`` that has ``judge_answer`` or ``judge_scan`` takes part, in the order of their names.
"""

import pkgutil
from importlib import import_module
from typing import Any

from logdirwatch.detect import rules
from logdirwatch.detect.alerts.context import Desk, Moment
from logdirwatch.detect.rules import broker_offline
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import Rule

_MODULES = [import_module(f"{rules.__name__}.{found.name}") for found in pkgutil.iter_modules(rules.__path__)]
_RULES = frozenset(Rule) - {*broker_offline.RULES}
"""The rules about a broker, but those of its absence."""


def _functions(name: str) -> tuple[Any, ...]:
    return tuple(vars(module)[name] for module in _MODULES if name in vars(module))


JUDGES_OF_ANSWERS = _functions("judge_answer")
"""Each is called with every answer of the broker: ``judge_answer(desk, record, moment)``."""
JUDGES_OF_SCANS = _functions("judge_scan")
"""What moves and what lags is counted by the inventory scan: ``judge_scan(desk, record, counted_ms, moment)``."""
_FORGETTING = _functions("lose_sight")


def judge(desk: Desk, record: MetricsRecord, moment: Moment) -> None:
    """Judge one answer."""
    for judge_answer in JUDGES_OF_ANSWERS:
        judge_answer(desk, record, moment)
    # A record that does not say when its moves were counted speaks of its own time.
    counted_ms = moment.at_ms if record.moves is None else min(record.moves.at_ms, moment.at_ms)
    if counted_ms <= desk.memory.moves_at_ms:
        return
    desk.memory.moves_at_ms = counted_ms
    for judge_scan in JUDGES_OF_SCANS:
        judge_scan(desk, record, counted_ms, moment)


def lose_sight(desk: Desk, moment: Moment) -> None:
    """Begin anew, as the broker does not answer, with what must last a while; what fires says since when."""
    for forget in _FORGETTING:
        forget(desk.memory)
    if desk.memory.alerts:
        desk.book.mark_stale(None, moment.at_ms, only=_RULES)
