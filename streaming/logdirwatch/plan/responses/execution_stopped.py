"""An execution that stopped: a person goes on with it, undoes it, or ends it as it is."""

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.clusters import ExecutionStoppedEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.actions.brokers.investigate import Runbook, Step, list_reassignments, show_status
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.responses.response import Response


def commands(alert: AlertRecord) -> Runbook:
    """Return the runbook with the commands of the execution."""
    shown = read_as(alert.evidence, ExecutionStoppedEvidence)
    text = f"{_TEXT}: {'; '.join(shown.commands)}" if shown.commands else _TEXT
    return Runbook(text, (show_status, list_reassignments, *map(_run, shown.commands)))


def _run(command: str) -> Step:
    return lambda _, __: note(f"Where logdirwatch runs: {command}")


_TEXT = "once what stopped it is repaired, go on with the execution, or undo it, or end it as it is"

RESPONSE = Response(
    runbook=Runbook(_TEXT, (show_status, list_reassignments)),
    runbook_for=commands,
    nothing_to_propose="only a person can decide whether it goes on",
    ends_when="the execution was resumed and has ended, was undone, or was released by a person",
)
