"""``pipeline_rejects``: a query rejects many records."""

from logdirwatch.plan.actions.brokers.investigate import Runbook, select_rejected
from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=Runbook(
        "find the sender that writes what cannot be read; every such record is kept, with the reason, in the table "
        "rejected_records",
        (select_rejected,),
    ),
    nothing_to_propose="only the owner of the sender can change what it writes",
    ends_when="fewer than half as many records were rejected within the window",
)
