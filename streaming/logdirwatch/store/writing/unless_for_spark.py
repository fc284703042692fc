"""Write by the driver, and by Spark what the driver cannot."""

from collections.abc import Callable
from typing import TypeVar

import structlog

from logdirwatch.errors import UserError
from logdirwatch.store.direct.newest import NotDirectError
from logdirwatch.store.tables import short

log = structlog.get_logger(__name__)

Result = TypeVar("Result")


def unless_for_spark(write: Callable[[], Result]) -> Result | None:
    """Return the result of ``write``; None if Spark has to do it, in which case the log says why.

    What is written by then, Spark finds and does not repeat.
    """
    try:
        return write()
    except NotDirectError as reason:
        log.debug("store.by_spark", reason=str(reason))
    except UserError:
        raise
    except Exception as error:
        log.warning("store.by_spark", error=f"{type(error).__name__}: {short(error)}", exc_info=True)
    return None
