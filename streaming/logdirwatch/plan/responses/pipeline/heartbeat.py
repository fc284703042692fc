"""``heartbeat``: the sign that alerts are delivered."""

from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=None,
    nothing_to_propose="it fires always, as the sign that alerts get through; its absence is what alerts",
    ends_when="a heartbeat comes through",
)
