"""``data_quality``: tables do not meet their expectations."""

from logdirwatch.plan.actions.brokers.investigate import Runbook
from logdirwatch.plan.responses.response import Response

RESPONSE = Response(
    runbook=Runbook("see the table quality_results: which expectation failed on which table", ()),
    nothing_to_propose="which data is wrong shows in the tables alone",
    ends_when="a later look finds all of it met",
)
