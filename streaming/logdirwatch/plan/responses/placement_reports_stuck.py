"""A broker that cannot report to the controller where its replicas are."""

from logdirwatch.plan.actions.brokers.investigate import Runbook, quorum_status
from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=Runbook(
        "the broker cannot tell the controller where its replicas are, so a directory's failure may not fail over: see "
        "the controller and the network between",
        (quorum_status,),
    ),
    nothing_to_propose="what stands between a broker and its controller shows in the network and their logs alone",
    ends_when="no report waits in the broker",
)
