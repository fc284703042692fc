"""``logdirwatch plan`` reads what Spark wrote, without Spark, and sees the very facts that ``recommend`` sees."""

import time
from dataclasses import replace
from functools import partial

import msgspec

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.plan_source import Source, find
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.plan.cluster.from_tables_spark import load_facts
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables
from tests.spark.test_recommend import PARTITION, a_directory, a_replica, write
from tests.unit.plan.builders import action, alert

TIERED = {"remote.storage.enable": "true", "a": "b"}
NOW = (BROKER_STATE, LOG_DIR_STATE, REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY)


def test_the_facts_are_the_same_with_spark_and_without(spark, tmp_path):
    settings = Settings(tables=TableSettings(path=str(tmp_path)))
    tables = Tables(spark, settings)
    tables.create_missing([*NOW, ALERTS, ACTIONS])
    at_ms = time.time_ns() // 1_000_000
    told = {"status": "online", "at_ms": at_ms, "configs": {"log.dirs": "/d 1"}, "remote_copy_lag_bytes": 7}
    brokers = ({"broker": n, **told} for n in (1, 2))
    write(spark, tables, BROKER_STATE, *brokers, {"broker": 1, "cluster": "other"})
    of_another = {"broker": 1, "log_dir": "/x", "cluster": "other"}
    write(spark, tables, LOG_DIR_STATE, a_directory(1) | {"strays": {"gone-0": 5}}, a_directory(2), of_another)
    write(spark, tables, REPLICA_STATE, a_replica(1), a_replica(2))
    known = {"elr": [], "adding": [], "removing": [2], "configs": TIERED, "overridden": ["a"], "is_internal": True}
    write(spark, tables, TOPIC_STATE, {**PARTITION, **known, "topic": "t", "partition": 0})
    write(spark, tables, LOG_DIR_INVENTORY, {"inventory_at_ms": at_ms}, {"broker": 1, "inventory_at_ms": 7})
    proposed = action(action_id="x")
    revisions = [proposed, msgspec.structs.replace(proposed, revision=2, status=ActionStatus.ACCEPTED)]
    write(spark, tables, ACTIONS, *map(_row, revisions))
    write(spark, tables, ALERTS, _row(alert()), _row(alert(alert_id="else", cluster="other")))
    context = Context()
    context.settings = settings
    found = find(context, Source("c", is_live=False, tables=None, bootstrap_server=None), needs_alerts=True)
    facts = load_facts(spark, settings, "c")
    assert found.facts == facts
    assert facts.directories[1, "/d 1"].strays == {"gone-0": 5}
    assert facts.layout.topics["t"].remote_copy_lag_bytes == 7
    assert [one.alert_id for one in found.alerts] == ["alert"]
    assert found.taken_up == revisions[1:]


def test_what_tables_of_an_earlier_release_do_not_tell_is_not_known(spark, tmp_path):
    """``store`` adds the columns when it starts; until then ``recommend`` and ``plan`` read what is there."""
    settings = Settings(tables=TableSettings(path=str(tmp_path)))
    tables = Tables(spark, settings)
    older = {BROKER_STATE: {"remote_copy_lag_bytes"}, LOG_DIR_STATE: {"strays"}}
    tables.create_missing(_without(table, older.get(table, set())) for table in NOW)
    add = partial(write, spark, tables)
    add(_without(BROKER_STATE, older[BROKER_STATE]), {"broker": 1, "status": "online", "at_ms": 5})
    add(_without(LOG_DIR_STATE, older[LOG_DIR_STATE]), a_directory(1))
    add(TOPIC_STATE, {**PARTITION, "topic": "t", "partition": 0, "configs": TIERED})
    facts = load_facts(spark, settings, "c")
    assert facts.directories[1, "/d 1"].strays == {}
    assert facts.layout.topics["t"].remote_copy_lag_bytes is None
    context = Context()
    context.settings = settings
    source = Source("c", is_live=False, tables=None, bootstrap_server=None)
    assert find(context, source, needs_alerts=False).facts == facts


def _without(table, names):
    return replace(table, columns=tuple(column for column in table.columns if column.name not in names))


def _row(record):
    names = ("alert_id", "action_id", "revision", "cluster")
    told = {name: getattr(record, name) for name in names if hasattr(record, name)}
    return {**told, "record": msgspec.json.encode(record).decode()}
