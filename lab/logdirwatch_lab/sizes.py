"""Parses sizes."""

import re

from logdirwatch.errors import UserError

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parse_bytes(text: str) -> int:
    """Return the bytes of ``64MB``, ``64M``, ``64MiB`` or ``67108864``; units are powers of 1024, as for tmpfs.

    Raises UserError (wrong usage) for anything else, including zero.

    >>> parse_bytes("64MB")
    67108864
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    size = int(float(match[1]) * 1024 ** _UNITS[match[2].upper()]) if match else 0
    if size <= 0:
        raise UserError(f"{text!r} is not a size; write it like 64MB, 512K or 1GB", exit_code=2)
    return size
