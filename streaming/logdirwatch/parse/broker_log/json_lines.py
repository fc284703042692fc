"""A line of a broker's log as a JSON object, logfmt or XML, by the names of its fields. Pure.

Log4j's JsonLayout and the templates of its JsonTemplateLayout (ECS, Logstash, GELF, GCP), Logback's Logstash encoder,
Confluent's and Strimzi's own templates, OpenTelemetry; and envelopes around a line of text: docker, journald, fluentd,
GCP, Splunk.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from logdirwatch.parse.broker_log import xml_events
from logdirwatch.parse.broker_log.heads import LEVEL, Head, cleaned, head, head_of
from logdirwatch.parse.decoding import Decoder, NotReadableError
from logdirwatch.parse.os_errors import decoded_line
from logdirwatch.parse.patterns import compiled

# Names without what joins their words, in small letters: log_level, log.level, logLevel and @LogLevel are one.
_MESSAGES = (
    "message", "msg", "log", "textpayload", "fullmessage", "shortmessage", "body", "text", "line", "raw",
    "formattedmessage", "renderedmessage", "logmessage", "logentry", "event",
)  # fmt: skip
_LEVELS = ("level", "loglevel", "severity", "levelname", "lvl", "severitytext", "status")
_LOGGERS = (
    "loggername", "logger", "loglogger", "loggerfqcn", "category", "class", "name", "instrumentationscopename",
    "scopename",
)  # fmt: skip
_TIMES = ("timestamp", "time", "ts", "date", "timemillis", "instant", "datetime")
_STACKS = (
    "errorstacktrace", "stacktrace", "thrown", "exception", "throwable", "throwableinformation", "excinfo", "error",
    "err", "exceptionstacktrace", "errorstack", "errstack", "stack",
)  # fmt: skip
# A level as a number: of syslog, which GELF has, and of Bunyan.
_NUMBERED = {
    **dict.fromkeys(("0", "1", "2", "60"), "FATAL"), **dict.fromkeys(("3", "50"), "ERROR"),
    **dict.fromkeys(("4", "40"), "WARN"), **dict.fromkeys(("5", "6", "30"), "INFO"), "7": "DEBUG", "20": "DEBUG",
    "10": "TRACE",
}  # fmt: skip
_WRITTEN = ("stack_trace", "stackTrace", "stacktrace", "extendedStackTrace")
_CLASSES, _WORDS = ("name", "class", "type", "exception_class", "className"), ("message", "exception_message")
_TYPES, _SAID = ("errortype", "errorname", "errorkind", "exceptiontype"), ("errormessage", "exceptionmessage")
_NESTED = ("jsonpayload", "fields", "structured", "data", "parsed", "attributes", "event")
_BETWEEN_WORDS = compiled(r"[@._ -]")
_LEVEL = compiled(LEVEL, re.IGNORECASE)
# time=... level=error logger=... msg="..." (logfmt).
_PAIR = compiled(r'([\w.@]{1,60})=("(?:[^"\\]|\\.){0,65536}"|[^\s"]{0,65536})')
_PAIRS_FIRST = compiled(r"(?:time|ts|timestamp|level|lvl|logger|severity)=\S")
_SINCE_1970 = compiled(r"(?P<second>1[0-9]{9})(?:(?P<milli>[0-9]{3})|\.(?P<fraction>[0-9]{1,9}))?")
_ESCAPE = compiled(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t"}
_FRAME = compiled(r"\s+at |\s*\.\.\. \d+ more")
_THROWN = compiled(r"\s*(?:Caused by: |Suppressed: )?[\w$]+(?:\.[\w$]+)+(?:Exception|Error)(?::|$)")
DEPTH = 4
_OBJECT = Decoder(dict[str, Any])


def read_object(text: str) -> Head | str | None:
    """Return the entry in an object, the line of text in an envelope, or None if it is neither."""
    if _PAIRS_FIRST.match(text):
        return _read(_opened({name: _unquoted(value) for name, value in _PAIR.findall(text)}))
    if (event := xml_events.fields_of(text)) is not None:
        return _read(_opened(event))
    if not text.startswith("{"):
        return None
    try:
        return _read(_opened(_OBJECT.decode(text)))
    except NotReadableError:
        return None


def end_of(text: str) -> str | None:
    """Return what ends an object that begins with ``text`` and spans several lines, None if none does.

    Its fields may have a line each, or only the lines of a stack trace (``stackTraceAsArray`` of ECS).
    """
    line = text.rstrip()
    if line.startswith("{") and line.endswith("["):
        return "]}"
    return "}" if line == "{" else None


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text[1:-1]) if text[:1] == '"' else text


def _opened(found: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten ``{"log": {"level": ...}}`` to ``loglevel``, and lift the content of an envelope to the top."""
    opened: dict[str, Any] = {}
    for name, value in found.items():
        opened.setdefault(_plain_name(name), value)
    for name, written in tuple(opened.items()):
        value = _by_key(written)
        if isinstance(value, dict):
            for key, one in value.items():
                opened.setdefault(_plain_name(key) if name in _NESTED else f"{name}{_plain_name(key)}", one)
    return opened


def _plain_name(name: str) -> str:
    return _BETWEEN_WORDS.sub("", name).lower()


def _by_key(value: Any) -> Any:
    """Return OpenTelemetry's list of attributes (``{"key": ..., "value": ...}``) as an object."""
    if not isinstance(value, list) or not all(isinstance(one, dict) and "key" in one for one in value):
        return value
    return {str(one["key"]): one.get("value") for one in value}


def _read(fields: Mapping[str, Any]) -> Head | str | None:
    message = _first(fields, _MESSAGES)
    if message is None:
        return None
    level = (_first(fields, _LEVELS) or "").upper()
    logger = _first(fields, _LOGGERS) or ""
    level = _NUMBERED.get(level, level) if logger else level
    first, *rest = message.splitlines() or [""]
    more = tuple(line for line in dict.fromkeys((*rest, *_exception(fields))) if not _FRAME.match(line))
    if (wrapped := head_of(cleaned(first))) is not None and wrapped.level:
        return replace(wrapped, more=(*wrapped.more, *more))
    if not logger and (not _LEVEL.fullmatch(level) or _FRAME.match(message) or _THROWN.match(message)):
        return message.rstrip("\n")
    return head(_time(fields), level, logger, first, more)


def _time(fields: Mapping[str, Any]) -> str:
    """Return the time as written; a number since 1970, which log4j2 also writes in two, as ISO 8601."""
    second, nano = (_first(fields, (name,)) or "" for name in ("instantepochsecond", "instantnanoofsecond"))
    instant = f"{second}.{nano.zfill(9)}"
    written = _first(fields, _TIMES) or instant
    if (number := _SINCE_1970.fullmatch(written)) is None:
        return "" if written is instant else written
    at = datetime.fromtimestamp(int(number["second"]), timezone.utc).isoformat().removesuffix("+00:00")
    return f"{at}.{number['milli'] or number['fraction'] or '0':0<3.3}Z"


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    found = (value for name in names if isinstance(value := _plain(fields.get(name)), (str, int, float)))
    return next((text if isinstance(text, str) else str(text) for text in found), None)


def _plain(value: Any) -> Any:
    """Return text that journald writes as numbers of bytes, because it has colours or is not UTF-8.

    OpenTelemetry wraps each value in an object that names its type.
    """
    if isinstance(value, dict) and len(value) == 1:
        return value.get("stringValue")
    if not isinstance(value, list) or not value or not all(isinstance(one, int) and 0 <= one < 256 for one in value):
        return value
    return decoded_line(bytes(value))


def _exception(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the exception; its class and message only if there is no stack trace."""
    found = [line for name in _STACKS for line in _texts(fields.get(name), DEPTH)]
    yield from found or filter(None, [": ".join(filter(None, (_first(fields, _TYPES), _first(fields, _SAID))))])


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of an exception that is a text, or an object with its causes."""
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, list):
        yield from (line for one in value if isinstance(one, str) for line in one.splitlines())
    elif isinstance(value, dict) and depth:
        written = [value[key] for key in _WRITTEN if isinstance(value.get(key), str)]
        parts = [value[key] for key in (*_CLASSES, *_WORDS) if isinstance(value.get(key), str)]
        yield from (written[0].splitlines() if written else filter(None, [": ".join(parts)]))
        yield from _texts(value.get("cause"), depth - 1)
