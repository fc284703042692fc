"""Defects planted in the product, to show that the simulation finds them: each replaces one function by a wrong one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from logdirwatch.detect import brokers, log_dirs, predicates
from logdirwatch.detect.alerts import lifecycle
from logdirwatch.detect.columns import judgement
from logdirwatch.detect.rules import broker_offline, log_dir_space
from logdirwatch.detect.spark import judge
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule
from logdirwatch.notify import service
from logdirwatch.notify.groups import Group, Message
from logdirwatch.notify.heartbeats import Switch
from logdirwatch.notify.reader import Reader
from logdirwatch.notify.sending import Delivery
from logdirwatch.parse.records import Rejected

Defect = Callable[[], AbstractContextManager[Any]]
Function = Callable[..., Any]


def _replaced(owner: Any, name: str, wrong: Function) -> Defect:
    return lambda: patch.object(owner, name, wrong)


def _around(owner: Any, name: str, wrong: Function) -> Defect:
    """Replace a function by one that gets it as its first argument."""
    right = getattr(owner, name)
    return lambda: patch.object(owner, name, lambda *given, **named: wrong(right, *given, **named))


def _ends_by_silence(right: Function, context: Any, reason: str, moment: Any) -> None:
    right(context, reason, moment)
    for path in context.memory.log_dirs:
        context.alerts.resolve(Rule.LOG_DIR_OFFLINE, path, lifecycle.RECOVERED, moment.at_ms)


def _is_old(right: Function, memory: Any, record: Any, *given: Any) -> Any:
    return None if memory.collectors else right(memory, record, *given)


def _forgets_some(right: Function, self: Reader, known: Any) -> list[AlertRecord]:
    return [alert for alert in right(self, known) if alert.rule is not Rule.LOG_DIR_SPACE]


def _takes_a_refusal_for_delivery(right: Function, *given: Any) -> list[tuple[Message, bool]]:
    return [(message, True) for message, _ in right(*given)]


def _never_ends(right: Function, self: Reader, known: Any) -> list[AlertRecord]:
    return [alert for alert in right(self, known) if alert.status is AlertStatus.FIRING]


def _counts_twice(right: Function, alert: Any, *given: Any, **named: Any) -> AlertRecord:
    alert.revision += 1
    record: AlertRecord = right(alert, *given, **named)
    return record


def _forgets_alerts(right: Function, version: int, body: str) -> Any:
    known = right(version, body)
    for log_dir in known.log_dirs.values():
        log_dir.alerts.clear()
    return known


def _raises(right: Function, *given: Any) -> Any:
    found = right(*given)
    if isinstance(found, Rejected):
        raise TypeError(found.reason)
    return found


def _is_always(right: Function, *given: Any) -> Any:
    return right(*given) | True


def _is_online(right: Function, context: Any, sample: Any, log_dir: Any, moment: Any) -> None:
    del right
    log_dir_space.take_sample_without_size(context, sample, moment)


DEFECTS: dict[str, Defect] = {
    "samples are dropped as old": _around(brokers.clocks, "in_evidence_time", _is_old),
    "an alert ends because nobody looks": _around(log_dirs, "lose_sight", _ends_by_silence),
    "notify forgets alerts about space": _around(Reader, "alerts", _forgets_some),
    "a message that was refused counts as delivered": _around(Delivery, "finished", _takes_a_refusal_for_delivery),
    "people never hear that an alert ended": _around(Reader, "alerts", _never_ends),
    "the dead man's switch is off": _replaced(Switch, "alerts", lambda *_: []),
    "what was told is forgotten at a restart": _replaced(service, "told_before", lambda *_: []),
    "a level never changes": _replaced(predicates, "debounced_level", lambda current, *_: current),
    "a filling directory is at rest": _around(judgement, "_are_quiet", _is_always),
    "a directory without a size is online": _around(log_dirs, "_take_unmeasured", _is_online),
    "a broker that is down is not told": _replaced(broker_offline, "raise_offline", lambda *_: None),
    "a broker that hangs is not told": _replaced(broker_offline, "raise_unknown", lambda *_: None),
    "an alert's revisions skip a number": _around(lifecycle, "next_revision", _counts_twice),
    "open alerts are lost with a restart": _around(judge.broker_state.CODEC, "decode", _forgets_alerts),
    "a record that cannot be read ends the query": _around(judge, "parse", _raises),
    "a group forgets when it sent": _replaced(Group, "_is_time", lambda *_: False),
}
"""By what is wrong."""

FOUND_BY = {
    "samples are dropped as old": 1,
    "notify forgets alerts about space": 2,
    "people never hear that an alert ended": 9,
    "the dead man's switch is off": 8,
    "what was told is forgotten at a restart": 38,
    "a level never changes": 2,
    "a filling directory is at rest": 33,
    "a directory without a size is online": 1,
    "an alert ends because nobody looks": 9,
    "a broker that is down is not told": 9,
    "an alert's revisions skip a number": 1,
    "a broker that hangs is not told": 6,
    "a record that cannot be read ends the query": 3,
    "a group forgets when it sent": 1,
    "open alerts are lost with a restart": 7,
    "a message that was refused counts as delivered": 252,
}
"""The first seed that finds each (``python -m tests.simulation --seeds 300 --defects``); new faults change it."""
