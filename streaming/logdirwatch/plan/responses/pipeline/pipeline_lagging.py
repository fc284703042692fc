"""``pipeline_lagging``: a query is behind its topics, or does not run."""

from logdirwatch.plan.actions.brokers.investigate import Runbook, show_status
from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=Runbook(
        "logdirwatch itself is behind: see its log for batches that fail or take long, and its machine's load; until "
        "it has caught up, alerts and tables show the past",
        (show_status,),
    ),
    nothing_to_propose="why a query is behind shows in its own log and on its machine",
    ends_when="the query has caught up",
)
