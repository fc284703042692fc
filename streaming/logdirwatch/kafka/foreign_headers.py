"""Records with headers whose names are not text, which brokers and Java's clients take.

kafka-python refuses such a record, so that no consumer ever gets past it. Headers mean nothing here and are left out.
"""

from typing import Any

from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.util import decode_varint

_read = DefaultRecordBatch._read_msg  # noqa: SLF001 - it has no other seam


def _read_any(batch: Any) -> Any:
    try:
        return _read(batch)
    except UnicodeDecodeError:
        return _without_headers(batch)


def _without_headers(batch: Any) -> DefaultRecord:
    """Read a record of message format 2 (KIP-98) up to its headers."""
    length, begin = decode_varint(batch._buffer, batch._pos)  # noqa: SLF001
    _, at = decode_varint(batch._buffer, begin)  # noqa: SLF001 - attributes, which have no meaning yet
    since_first_ms, at = decode_varint(batch._buffer, at)  # noqa: SLF001
    after_base, at = decode_varint(batch._buffer, at)  # noqa: SLF001
    key, at = _bytes(batch._buffer, at)  # noqa: SLF001
    value, _ = _bytes(batch._buffer, at)  # noqa: SLF001
    batch._pos = begin + length  # noqa: SLF001
    is_appended = batch.timestamp_type == batch.LOG_APPEND_TIME
    timestamp_ms = batch.max_timestamp if is_appended else batch.first_timestamp + since_first_ms
    return DefaultRecord(length, batch.base_offset + after_base, timestamp_ms, batch.timestamp_type, key, value, [])


def _bytes(buffer: Any, at: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(buffer, at)
    return (None, at) if size < 0 else (bytes(buffer[at : at + size]), at + size)


def accept() -> None:
    """Let every consumer of this process read such records."""
    DefaultRecordBatch._read_msg = _read_any  # noqa: SLF001
