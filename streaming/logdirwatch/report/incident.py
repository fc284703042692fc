"""One alert in full, as it is now, and the write-up of its whole life for those who were not there. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import OPEN, AlertStatus
from logdirwatch.plan.rule_responses import RESPONSES, first_look
from logdirwatch.report.actions.listing import effect, is_blocked, listed
from logdirwatch.report.affected import affected_lines, affected_links
from logdirwatch.report.alerts import meaning
from logdirwatch.report.executions import compared, execution
from logdirwatch.report.handling import marks
from logdirwatch.report.timeline import Moment, moments
from logdirwatch.report.words import change, place
from logdirwatch.text.printable import printable, printable_lines
from logdirwatch.text.units import human_ago, human_ms
from logdirwatch.text.words import short_id, utc

MOST_MOMENTS = 500


class Incident(NamedTuple):
    """The records about an alert: its revisions, the newest first, the latest revisions of its actions, and more.

    ``executions`` has every record of the executions of its actions, ``transitions`` the rows of its broker and
    directory while it fired.
    """

    life: Sequence[AlertRecord]
    actions: Sequence[ActionRecord] = ()
    executions: Sequence[ExecutionRecord] = ()
    decisions: Sequence[DecisionRecord] = ()
    transitions: Sequence[Mapping[str, Any]] = ()


def details(alert: AlertRecord, decided: AlertDecisions, actions: Iterable[ActionRecord], now_ms: int) -> str:
    """Return an alert as it is now, as text: what it is about, who handles it, and what to do."""
    lines = list(_about(alert, decided, now_ms))
    if alert.status is AlertStatus.FIRING:
        lines += [f"  ends      when {RESPONSES[alert.rule].ends_when}", *_what_to_do(alert, actions)]
    if evidence := _evidence(alert):
        lines += ["", "evidence:", *(f"  {line}" for line in evidence)]
    return "\n".join(map(printable, lines)) + "\n"


def _about(alert: AlertRecord, decided: AlertDecisions, now_ms: int) -> Iterator[str]:
    yield f"{alert.rule} {alert.alert_id} (revision {alert.revision}): {alert.status}, {alert.severity}"
    yield f"  where     {place(alert.cluster, alert.broker, alert.log_dir)}"
    yield f"  opened    {utc(alert.opened_at_ms)}, {human_ago(alert.opened_at_ms, now_ms)}"
    if changed := change(alert.from_status, alert.to_status, alert.cause):
        yield f"  status    {changed}"
    yield f"  what      {meaning(alert, now_ms)}"
    if alert.reason is not None:
        yield f"  over      {alert.reason}"
    yield from (f"  handled   {mark}" for mark in marks(decided))
    yield from (f"  affects   {term}: {text}" for term, text in _affected(alert))


def _what_to_do(alert: AlertRecord, actions: Iterable[ActionRecord]) -> Iterator[str]:
    yield from ("", "what to do, the first before the others:")
    open_actions = listed(actions, everything=False)
    for action in open_actions:
        must_not = "not now: " if is_blocked(action) else ""
        effects = f" ({', '.join(effect(action))})" if effect(action) and not must_not else ""
        yield f"  {short_id(action.action_id)}  {must_not}{action.kind}{effects}: {action.reason}"
    yield "  Show one with its commands: logdirwatch actions show ID" if open_actions else f"  {first_look(alert)}"


def _affected(alert: AlertRecord) -> Iterator[tuple[str, str]]:
    yield from affected_lines(alert.affected)
    for term, links in affected_links(alert.affected):
        yield term, ", ".join(link.text for link in links)


def _evidence(alert: AlertRecord) -> list[str]:
    evidence = {name: value for name, value in msgspec.to_builtins(alert.evidence).items() if value is not None}
    return [f"{name}: {json.dumps(value)}" for name, value in sorted(evidence.items())]


def written_up(incident: Incident, now_ms: int) -> str:
    """Return the write-up of an alert in Markdown: what happened and when, what was decided and done, to what effect.

    It says what records say, and nothing else: why it happened is for people to add.
    """
    return "\n".join(map(printable_lines, _written_up(incident, now_ms))) + "\n"


def _written_up(incident: Incident, now_ms: int) -> Iterator[str]:
    alert, worst = incident.life[0], max(incident.life, key=lambda alert: (alert.severity.rank, alert.at_ms))
    yield from (f"# {alert.rule}: {_cell(place(alert.cluster, alert.broker, alert.log_dir))}", "")
    yield f"Alert {alert.alert_id}, at worst {worst.severity}, from {utc(alert.opened_at_ms)} {_end(alert, now_ms)}."
    yield from ("", "## What happened", "", _cell(worst.summary))
    yield from (f"- {term}: {_cell(text)}" for term, text in _affected(worst))
    yield from ("", "## Timeline", "", "| time | of | what | why |", "|---|---|---|---|")
    yield from map(_row, _timeline(incident))
    yield from ("", "## Actions", "")
    yield from _actions(incident)
    yield from ("", "## Evidence at the worst moment", "")
    yield from (f"- {_cell(line)}" for line in _evidence(worst))


def _end(alert: AlertRecord, now_ms: int) -> str:
    if alert.status is AlertStatus.FIRING:
        return f"on; it still fires after {human_ms(now_ms - alert.opened_at_ms)}"
    return f"to {utc(alert.at_ms)} ({human_ms(alert.at_ms - alert.opened_at_ms)}): {_cell(alert.reason or 'resolved')}"


def _timeline(incident: Incident) -> list[Moment]:
    """Return what happened, the oldest first; revisions that change neither severity nor status are left out."""
    changes: list[AlertRecord] = []
    for alert in reversed(incident.life):
        if not changes or (changes[-1].severity, changes[-1].status) != (alert.severity, alert.status):
            changes.append(alert)
    found, _ = moments(incident.transitions, changes, incident.executions, MOST_MOMENTS, incident.decisions)
    return sorted(found, key=lambda moment: moment.at_ms)


def _row(moment: Moment) -> str:
    cells = (utc(moment.at_ms), moment.what, f"{moment.word}: {moment.text}", moment.why)
    return f"| {' | '.join(map(_cell, cells))} |"


def _actions(incident: Incident) -> Iterator[str]:
    if not incident.actions:
        yield "No action is recorded."
        return
    yield from ("| action | status | reason | expected and observed |", "|---|---|---|---|")
    last = {record.action_id: execution(record) for record in sorted(incident.executions, key=lambda one: one.at_ms)}
    for action in incident.actions:
        done = last.get(action.action_id)
        effects = () if done is None else compared(done, action)
        outcome = "; ".join(f"{one.what}: {one.expected}, was {one.observed}" for one in effects)
        status = action.status if action.status in OPEN else f"{action.status} {action.status_reason or ''}"
        cells = (f"{action.kind} {short_id(action.action_id)}", status, action.reason, outcome)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Return a text that ends no cell and begins no block of Markdown or HTML."""
    return printable(text).strip().replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
