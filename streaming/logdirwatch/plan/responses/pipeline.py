"""The responses to alerts about logdirwatch itself: a runbook each, and why nothing is proposed."""

from collections.abc import Mapping

from logdirwatch.model.vocabulary import Rule
from logdirwatch.plan.actions.brokers.investigate import Runbook, list_topics, select_rejected, show_status
from logdirwatch.plan.responses.response import Response

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
        nothing_to_propose="which data is wrong shows in the tables alone",
        ends_when="a later look finds all of it met",
    ),
    Rule.HEARTBEAT: Response(
        runbook=None,
        nothing_to_propose="it fires always, as the sign that alerts get through; its absence is what alerts",
        ends_when="a heartbeat comes through",
    ),
}
