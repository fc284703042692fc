"""State in a checkpoint that Spark cannot read: files that are cut, lost or overwritten.

Only ``detect`` and ``fleet`` keep state, and both start without a checkpoint from what they wrote on the topics. So a
checkpoint whose state cannot be read is set aside after a few failures in succession: nothing is lost, and nothing that
fires is told twice. One failure may have another reason, such as a store that does not answer.
"""

import re

FAILURES = 3
"""After so many failures in succession the state is taken for damaged."""
_SIGNS = re.compile("CANNOT_LOAD_STATE_STORE|CANNOT_READ_STREAMING_STATE|StateSchema|OperatorStateMetadata")
"""Spark's error classes, and the classes that read the metadata of state, whose errors have none."""
_FILE = re.compile(r"(?:file:)?/[^\s'\"(),\]]*/state/[^\s'\"(),\]]+")


def reason(error: BaseException | None) -> str | None:
    """Return what cannot be read if a query failed because of its state, None if it failed for another reason."""
    text = "\n".join(_texts(error))
    if _SIGNS.search(text) is None:
        return None
    file = _FILE.search(text)
    return f"its state cannot be read{'' if file is None else f', of {file.group()}'}"


def _texts(error: BaseException | None) -> list[str]:
    found = []
    while error is not None:
        found += [str(error), str(getattr(error, "_stackTrace", ""))]
        error = getattr(error, "_cause", None)
    return found
