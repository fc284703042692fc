"""Records that nobody can read, each with what its reason says."""

import gzip
import json

from logdirwatch.model import topics

METRICS = {"version": 1, "cluster": "prod", "broker": 7, "timestamp_ms": 5, "status": "ok"}
LOG_DIR = {"path": "/d1", "error_code": 0}
STATE = {"version": 1, "cluster": "prod", "broker": 7, "sequence": 1, "at_ms": 5, "status": "online", "since_ms": 5}
DECISION = {"version": 1, "id": "a", "decision": "acknowledge", "by": "ada", "reason": "r", "at_ms": 5}

ACTION = {"version": 1, "action_id": "a", "revision": 1, "status": "proposed", "kind": "move_log_dir", "alert_id": "b",
          "alert": {}, "cluster": "prod", "target": {}, "reason": "r", "expected": {}, "preconditions": [],
          "vetoes": [], "data_loss": False, "requires_approval": True, "expires_at_ms": 5, "commands": [],
          "reassignment": None, "configs": None, "undo": {}, "based_on": {}, "at_ms": 5}  # fmt: skip


def _json(record, **fields):
    return json.dumps(record | fields).encode()


RECORDS = [
    (topics.METRICS, b"garbage", "JSON is malformed"),
    (topics.METRICS, b"", "empty value"),
    (topics.METRICS, None, "no value"),
    (topics.METRICS, bytes(range(256)), "not UTF-8"),
    (topics.METRICS, _json(METRICS)[:-1], "truncated"),
    (topics.METRICS, _json(METRICS) * 2, "trailing"),
    (topics.METRICS, _json(METRICS, version=2), "version 2 is unknown"),
    (topics.METRICS, _json(METRICS, version=None), "version null is unknown"),
    (topics.METRICS, _json(METRICS, broker="7"), "Expected `int`, got `str`"),
    (topics.METRICS, _json(METRICS, broker=7.0), "Expected `int`, got `float`"),
    (topics.METRICS, _json(METRICS, broker=-1), "`int` >= 0"),
    (topics.METRICS, _json(METRICS, broker=-2), "`int` >= 0"),
    (topics.METRICS, _json(METRICS, broker=2**31), "<= 2147483647"),
    (topics.METRICS, _json(METRICS, broker=None), "Expected `int`, got `null`"),
    (topics.METRICS, _json(METRICS, timestamp_ms=2**60), "<= 9007199254740992"),
    (topics.METRICS, _json(METRICS, timestamp_ms=10**400), "$.timestamp_ms"),
    (topics.METRICS, _json(METRICS, timestamp_ms=float("nan")), "malformed"),
    (topics.METRICS, _json(METRICS, metrics={"a": float("inf")}), "malformed"),
    (topics.METRICS, _json(METRICS, metrics={"a": 10**400}), "$.metrics[...]"),
    (topics.METRICS, _json(METRICS, cluster=""), "length >= 1"),
    (topics.METRICS, _json(METRICS, status="\x1b[31m"), "Invalid enum value"),
    (topics.METRICS, _json(METRICS, log_dirs=[LOG_DIR, LOG_DIR]), "is listed twice"),
    (topics.METRICS, _json(METRICS, log_dirs=[LOG_DIR | {"usable_bytes": -1}]), "$.log_dirs[0].usable_bytes"),
    (topics.METRICS, _json(METRICS, log_dirs=LOG_DIR), "Expected `array`, got `object`"),
    (topics.METRICS, _json(METRICS, type="of the future"), "$.type"),
    (topics.METRICS, _json(METRICS)[:-1] + b',"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "nested too deeply"),
    (topics.METRICS, b'{"version":1,"cluster":"\\ud800"}', "half of a surrogate pair"),
    (topics.METRICS, _json({"version": 1, "type": "heartbeat"}), "missing required field"),
    (topics.METRICS, _json({"version": 1, "type": "pipeline", "query": ""}), "length >= 1"),
    (topics.METRICS, b" " * (1 << 20), "empty value"),
    (topics.METRICS, b'"' + b"x" * (1 << 20), "truncated"),
    (topics.EVENTS, _json({"version": 1, "broker": 7, "event": "Nothing"}), "is unknown"),
    (topics.EVENTS, _json({"version": 1, "broker": 7}), "missing required field `event`"),
    (topics.STATE, _json(STATE), "missing required field `log_dirs`"),
    (topics.STATE, b"[]", "Expected `object`, got `array`"),
    (topics.ALERTS, _json({"version": 1, "alert_id": "a"}), "missing required field"),
    (topics.ACTIONS, b"null", "Expected `object`, got `null`"),
    (topics.DECISIONS, _json(DECISION, decision="maintenance"), "must name its cluster and broker"),
    (topics.DECISIONS, _json(DECISION, by=""), "length >= 1"),
]
PARTS = [
    (topics.ACTIONS, _json(ACTION, alert={"severity": []}), "Expected `str`, got `array` - at `$.alert.severity`"),
    (topics.ACTIONS, _json(ACTION, expected={"on": [1]}), "Expected `object`, got `int` - at `$.expected.on[0]`"),
    (topics.ACTIONS, _json(ACTION, preconditions=[{"holds": {}}]), "at `$.preconditions[0].holds`"),
    (topics.ACTIONS, _json(ACTION, undo={"commands": 7}), "at `$.undo.commands`"),
    (topics.ACTIONS, _json(ACTION, based_on={"state_at_ms": "x"}), "at `$.based_on.state_at_ms`"),
]
INVENTORY = [
    (topics.INVENTORY, b"Querying brokers for log directories information\n", "malformed"),
    (topics.INVENTORY, b'{"version":1,"cluster":"prod"}', "missing required field `type`"),
    (topics.INVENTORY, b'{"version":1,"brokers":[{"broker":1}]}', "missing required field `logDirs`"),
    (topics.INVENTORY, b'{"version":1,"log_dirs":[]}', "missing required field `type`"),
    (topics.INVENTORY, b'{"version":1,"type":"replicas","replicas":[{}]}', "missing required field"),
    (topics.INVENTORY, None, "no value"),
]


def _extended(good: bytes, value: bytes) -> bytes:
    """Add a field that nobody knows: a reader must not trust what it skips."""
    return good[:-1] + b',"zz":' + value + b"}"


UNREADABLE = {
    "Latin-1": lambda good: _extended(good, '"M\u00fcller"'.encode("latin-1")),
    "cut UTF-8": lambda good: _extended(good, b'"\xc3"'),
    "UTF-8 of a surrogate": lambda good: _extended(good, b'"\xed\xa0\x80"'),
    "UTF-16": lambda good: good.decode().encode("utf-16"),
    "half of a surrogate pair": lambda good: _extended(good, b'"\\ud800"'),
    "lists nested deeply": lambda good: _extended(good, b"[" * 50_000 + b"]" * 50_000),
    "objects nested deeply": lambda good: _extended(good, b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "only a nest": lambda good: b"[" * 100_000,
    "NaN": lambda good: _extended(good, b"NaN"),
    "Infinity": lambda good: _extended(good, b"-Infinity"),
    "a version beyond 64 bits": lambda good: good.replace(b'"version":1', b'"version":' + b"9" * 30, 1),
    "a version of 5,000 digits": lambda good: good.replace(b'"version":1', b'"version":' + b"9" * 5_000, 1),
    "a version with a fraction": lambda good: good.replace(b'"version":1', b'"version":1.0', 1),
    "a version as text": lambda good: good.replace(b'"version":1', b'"version":"1"', 1),
    "no version": lambda good: good.replace(b'"version":1,', b"", 1),
    "a list": lambda good: b"[" + good + b"]",
    "a number": lambda good: b"7",
    "a huge number": lambda good: b"9" * 5_000,
    "a text": lambda good: json.dumps(good.decode()).encode(),
    "null": lambda good: b"null",
    "an empty object": lambda good: b"{}",
    "nothing": lambda good: b"",
    "blanks": lambda good: b" \n",
    "zeros": lambda good: bytes(1_000),
    "every byte": lambda good: bytes(range(256)),
    "the first half": lambda good: good[: len(good) // 2],
    "without its end": lambda good: good[:-1],
    "twice": lambda good: good + good,
    "a byte order mark": lambda good: b"\xef\xbb\xbf" + good,
    "a comment": lambda good: good + b" // said the operator",
    "single quotes": lambda good: good.replace(b'"', b"'"),
    "Avro with a schema id": lambda good: b"\0\0\0\0\x07" + good,
    "compressed": lambda good: gzip.compress(good, mtime=0),
    "terminal escapes": lambda good: b"\x1b]0;owned\x07\x1b[2J",
    "a text without an end": lambda good: good[:-1] + b',"zz":"' + b"x" * (1 << 20),
}
"""What no reader of any topic can read, made of a record that it can."""

READABLE = {
    "a name twice": lambda good: good[:-1] + b',"version":1}',
    "a text of 1 MiB": lambda good: _extended(good, b'"' + b"x" * (1 << 20) + b'"'),
    "a list of 100,000": lambda good: _extended(good, b"[" + b"0," * 100_000 + b"0]"),
    "control characters": lambda good: _extended(good, b'"\\u001b[2J\\u0000\\u202e"'),
    "a new field": lambda good: _extended(good, b'{"of":"the future"}'),
    "blanks around it": lambda good: b" \r\n\t" + good + b"\n",
}
"""What looks strange and is read all the same."""

KEYS = {"no key": None, "an empty key": b"", "a key that is not UTF-8": b"\xff\xfe", "a key of 1 MiB": b"k" * (1 << 20)}
