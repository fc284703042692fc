"""A broker that crashes again and again: the remedy of what its log says; another restart helps nothing."""

from logdirwatch.plan.actions.brokers.investigate import UNAVAILABLE, UNDER_MIN_ISR, Runbook
from logdirwatch.plan.actions.brokers.startup_failures import as_its_log_says
from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=Runbook(
        "find out why the broker ends: the last lines of its log, the kernel's log (killed for lack of memory), the "
        "supervisor's (a liveness probe that fails while logs are recovered); restart no other broker meanwhile",
        (UNAVAILABLE, UNDER_MIN_ISR),
    ),
    nothing_to_propose="a restart is what it does by itself; only the reason why it ends can be removed",
    runbook_for=as_its_log_says,
    ends_when="the broker has answered for ten minutes, and for twice as long as ever between its restarts",
)
