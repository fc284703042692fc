"""``pipeline_data_loss``: records were deleted before a query read them."""

from logdirwatch.plan.actions.brokers.investigate import Runbook, list_topics, show_status
from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=Runbook(
        "telemetry was deleted before it was read: see why the query was away so long, and give the topic's retention "
        "more time",
        (show_status, list_topics),
    ),
    nothing_to_propose="what was deleted before it was read is gone",
    ends_when="nothing more was lost for an hour",
)
