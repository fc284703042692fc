"""Records that nobody can read, each with what its reason says."""

import json

from logdirwatch.model import topics

METRICS = {"version": 1, "cluster": "prod", "broker": 7, "timestamp_ms": 5, "status": "ok"}
LOG_DIR = {"path": "/d1", "error_code": 0}
STATE = {"version": 1, "cluster": "prod", "broker": 7, "sequence": 1, "at_ms": 5, "status": "online", "since_ms": 5}
DECISION = {"version": 1, "id": "a", "decision": "acknowledge", "by": "ada", "reason": "r", "at_ms": 5}


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
INVENTORY = [
    (topics.INVENTORY, b"Querying brokers for log directories information\n", "malformed"),
    (topics.INVENTORY, b'{"version":1,"cluster":"prod"}', "missing required field `type`"),
    (topics.INVENTORY, b'{"version":1,"brokers":[{"broker":1}]}', "missing required field `logDirs`"),
    (topics.INVENTORY, b'{"version":1,"log_dirs":[]}', "expected the Kafka key CLUSTER/BROKER"),
    (topics.INVENTORY, b'{"version":1,"type":"replicas","replicas":[{}]}', "missing required field"),
    (topics.INVENTORY, None, "no value"),
]
