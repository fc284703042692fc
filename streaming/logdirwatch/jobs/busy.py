"""Tells a machine that is too busy from a query that is ill.

For queries with state, and for what writes tables, Spark starts a Python process of its own at the start of a query and
gives it ten seconds to connect (Spark 4.2.0 ``PythonWorkerFactory.createSimpleWorker``; no setting changes it). On a
machine that is short of processor time the start of Python alone takes longer, and the query ends.
"""

WORKER_STARTS_WITHIN_S = 10
_SIGNS = ("Python worker failed to connect back", "waiting for the Python worker to connect back")


def is_busy(error: BaseException | None) -> bool:
    """Tell whether a query ended because a Python worker did not start in time."""
    while error is not None:
        if any(sign in str(error) for sign in _SIGNS):
            return True
        error = getattr(error, "_cause", None)
    return False


def line() -> str:
    """Say it in one line."""
    return (
        f"the machine is too busy: a Python worker did not start within {WORKER_STARTS_WITHIN_S} s; "
        "nothing is lost, the query is started again at once"
    )
