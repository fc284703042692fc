"""Distinguishes a machine that is too busy from a failing query.

When a query with state starts, Spark starts a Python process and gives it ten seconds to connect. Where this package
starts Spark on the same machine, ``driver_worker`` connects in time. Elsewhere PySpark is imported first, which may
take longer on a busy machine, and the query fails.
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
    """Return the error in one line."""
    return (
        f"the machine is too busy: a Python worker did not start within {WORKER_STARTS_WITHIN_S} s; "
        "nothing is lost, the query is started again at once"
    )
