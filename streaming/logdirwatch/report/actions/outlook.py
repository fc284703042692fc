"""The effect of an action on leaders, copies and writes, in a few lines for people; the numbers are in ``expected``."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted

_STEPS = {
    "now": "now",
    "copied": "once copied",
    "preferred": "after the preferred election",
    "stopped": "while the broker is away",
    "started": "when it is back",
    "demoted": "then",
    "cancelled": "then",
}


class Effect(NamedTuple):
    """One line of the effect; ``term`` is empty where a text continues the one above."""

    term: str
    text: str


def outlook_lines(expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield the predicted effect for a terminal."""
    yield from (f"  {term:<9} {text}" for term, text in effects(expected))


def effects(expected: Mapping[str, Any]) -> Iterator[Effect]:
    """Yield the predicted effect on the partitions that an action affects; nothing if it affects none."""
    if expected.get("returns_count"):
        count = counted(expected["returns_count"], "partition comes", "partitions come")
        yield Effect("returns", f"{count} back")
    yield from _leaders(expected.get("leadership") or {})
    yield from _endurance(expected.get("endurance") or {})
    yield from _left_out(expected)
    yield from _leaving(expected.get("leave_log_dirs") or {})


def _leaders(leadership: Mapping[str, Any]) -> Iterator[Effect]:
    steps = leadership.get("steps") or []
    if not leadership.get("partitions") or not steps:
        return
    told = [f"{_STEPS.get(step['step'], step['step'])}: {_step(step)}" for step in steps]
    yield Effect("leaders", f"of {counted(leadership['partitions'], 'partition')}; {'; '.join(told)}")


def _step(step: Mapping[str, Any]) -> str:
    parts = (
        (step.get("leaderless"), "without a leader"),
        (step.get("under_min_isr"), "under min ISR"),
        (step.get("led_anew"), "with a new leader"),
    )
    return ", ".join(f"{count} {what}" for count, what in parts if count) or "all with a leader"


def _endurance(endurance: Mapping[str, Any]) -> Iterator[Effect]:
    if not endurance.get("topics"):
        return
    of_all = f"of {endurance['topics']} topics"
    weakest = next(iter(endurance.get("examples") or ()), None)
    named = "" if weakest is None else f" ({weakest['partition']})"
    parts = (
        (endurance.get("without_copy"), "without a good copy"),
        (endurance.get("next_failure_loses_data"), "with data lost at the next failure of a disk or broker"),
        (endurance.get("writes_stopped"), "without writes"),
        (endurance.get("next_failure_stops_writes"), "without writes after the next failure"),
        (endurance.get("writes_unknown"), "with an unknown minimum of in-sync replicas"),
    )
    first, *rest = [(count, what) for count, what in parts if count] or [(None, "")]
    if first[0] is None:
        yield Effect("afterwards:", f"every one {of_all} survives a failure")
    else:
        more = "".join(f", {count} {what}" for count, what in rest)
        yield Effect("afterwards:", f"{first[0]} {of_all} {first[1]}{named}{more}")
    if weakest is not None:
        copies = counted(weakest["copies"], "good copy", "good copies")
        yield Effect("", f"weakest: {weakest['partition']}, {copies}{_warned(weakest)}")


def _warned(weakest: Mapping[str, Any]) -> str:
    return "".join(f"; {warning}" for warning in weakest.get("warnings") or ())


def _left_out(expected: Mapping[str, Any]) -> Iterator[Effect]:
    if expected.get("later"):
        more = counted(expected["later"], "more partition follows", "more partitions follow")
        yield Effect("later", f"{more} when these are done")
    if expected.get("unplaced_count"):
        size = human_bytes(expected.get("unplaced_bytes"))
        yield Effect("not now", f"{counted(expected['unplaced_count'], 'replica')} ({size}); would help:")
        yield from (Effect("", text) for text in expected.get("would_help") or ())


def _leaving(found: Mapping[str, Any]) -> Iterator[Effect]:
    if found.get("fits"):
        size = human_bytes(found.get("needs_bytes"))
        yield Effect("log.dirs", f"may leave it out: its {size} fit into the other directories")
    elif found.get("why_not"):
        yield Effect("log.dirs", f"must keep it: {found['why_not']['reason']}")
