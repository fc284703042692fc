"""The responses to alerts for which nothing is proposed: a runbook each, and why."""

from collections.abc import Mapping

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence
from logdirwatch.model.evidence.clusters import ExecutionStoppedEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import LogDirStatus, Rule
from logdirwatch.plan.actions.brokers.investigate import (
    UNAVAILABLE,
    UNDER_MIN_ISR,
    Runbook,
    list_reassignments,
    list_topics,
    quorum_status,
    select_rejected,
    show_status,
    where_it_runs,
)
from logdirwatch.plan.actions.brokers.startup_failures import as_its_log_says
from logdirwatch.plan.responses.response import Response
from logdirwatch.text.words import some_of

_GOES_ON = "once what stopped it is repaired, resume the execution, undo it, or release it as it is"


def _commands(alert: AlertRecord) -> Runbook:
    """Return the runbook with the commands of the execution."""
    shown = read_as(alert.evidence, ExecutionStoppedEvidence)
    text = f"{_GOES_ON}: {'; '.join(shown.commands)}" if shown.commands else _GOES_ON
    return Runbook(text, (show_status, list_reassignments, *map(where_it_runs, shown.commands)))


def _of_full_directory(alert: AlertRecord) -> Runbook | None:
    """Return what the log says, or how to find out whether the directory that was full is what ends the broker."""
    known = read_as(alert.evidence, BrokerAwayEvidence).log_dirs
    full = sorted(path for path, log_dir in known.items() if log_dir.last_status == LogDirStatus.SATURATED)
    said = as_its_log_says(alert)
    # The log says why this start failed; the last sample only says how it was before.
    if said is not None or not full:
        return said
    return Runbook(
        f"make room in {some_of(full)} of broker {alert.broker}, or it halts again: it was full when last seen, and a "
        "start writes there first; check in its log that this is why it ends. The directory's alert has the actions",
        (UNAVAILABLE, UNDER_MIN_ISR),
    )


RESPONSES: Mapping[Rule, Response] = {
    Rule.PIPELINE_LAGGING: Response(
        runbook=Runbook(
            "logdirwatch itself is behind: see its log for batches that fail or take long, and its machine's load; "
            "until it has caught up, alerts and tables show the past",
            (show_status,),
        ),
        nothing_to_propose="why a query is behind shows in its own log and on its machine",
        ends_when="the query has caught up",
    ),
    Rule.PIPELINE_DATA_LOSS: Response(
        runbook=Runbook(
            "telemetry was deleted before it was read: see why the query was away so long, and give the topic's "
            "retention more time",
            (show_status, list_topics),
        ),
        nothing_to_propose="what was deleted before it was read is gone",
        ends_when="nothing more was lost for an hour",
    ),
    Rule.PIPELINE_REJECTS: Response(
        runbook=Runbook(
            "find the sender that writes what cannot be read; every such record is kept, with the reason, in the table "
            "rejected_records",
            (select_rejected,),
        ),
        nothing_to_propose="only the owner of the sender can change what it writes",
        ends_when="fewer than half as many records were rejected within the window",
    ),
    Rule.DATA_QUALITY: Response(
        runbook=Runbook("see the table quality_results: which expectation failed on which table", ()),
        nothing_to_propose="only the tables show which data is wrong",
        ends_when="a later check finds every expectation met",
    ),
    Rule.HEARTBEAT: Response(
        runbook=Runbook(
            "nothing is monitored: logdirwatch doctor, where it runs, says which part is dead (collector, stream or "
            "telemetry cluster); start it again",
            (show_status,),
        ),
        nothing_to_propose="it always fires, to show that alerts get through; its absence is the alert",
        ends_when="a heartbeat comes through",
    ),
    Rule.PLACEMENT_REPORTS_STUCK: Response(
        runbook=Runbook(
            "the broker cannot tell the controller where its replicas are, so a directory's failure may not fail over: "
            "see the controller and the network between",
            (quorum_status,),
        ),
        nothing_to_propose="only the network and the logs of both show what holds back a broker's reports",
        ends_when="the broker has no report left to send",
    ),
    Rule.BROKER_CRASH_LOOP: Response(
        runbook=Runbook(
            "find out why the broker ends: the last lines of its log, the kernel's log (killed for lack of memory), "
            "the supervisor's (a liveness probe that fails while logs are recovered); restart no other broker "
            "meanwhile",
            (UNAVAILABLE, UNDER_MIN_ISR),
        ),
        nothing_to_propose="it restarts by itself; only the reason why it ends can be repaired",
        runbook_for=_of_full_directory,
        ends_when="the broker has answered for ten minutes, and for twice as long as ever between its restarts",
    ),
    Rule.EXECUTION_STOPPED: Response(
        runbook=Runbook(_GOES_ON, (show_status, list_reassignments)),
        runbook_for=_commands,
        nothing_to_propose="only a person can decide whether it goes on",
        ends_when="the execution was resumed and has ended, was undone, or was released by a person",
    ),
}
