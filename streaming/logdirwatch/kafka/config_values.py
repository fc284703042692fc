"""How Kafka reads the texts of its configuration."""

import re

_LONG = re.compile(r"[+-]?\d{1,1000}")
"""Python refuses to convert more than 4300 digits, and no setting needs them."""
_TRIMMED = "".join(map(chr, range(0x21)))


def number_of(value: object) -> int | None:
    """Return a value as Kafka reads it, None where it refuses it or there is none.

    It is trimmed like ``String.trim``, which takes off all characters up to the blank, and read like ``Long.parseLong``
    (Kafka 4.3.1 ``ConfigDef.parseType``): a sign is allowed, and so are the digits of every script.
    """
    text = value.strip(_TRIMMED) if isinstance(value, str) else ""
    return int(text) if _LONG.fullmatch(text) and -(2**63) <= int(text) < 2**63 else None
