"""The expectations of each table, as a suite of Great Expectations. Pure: nothing is read here."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from great_expectations import ExpectationSuite
from great_expectations import expectations as gxe
from great_expectations.expectations.expectation import Expectation

from logdirwatch.model.vocabulary import (
    ActionKind,
    ActionStatus,
    AlertStatus,
    BrokerStatus,
    Cause,
    Decision,
    Departure,
    ExecutionState,
    Lane,
    LogDirStatus,
    ReplicaCause,
    ReplicaStatus,
    Rule,
    Severity,
)
from logdirwatch.quality.relations import RELATIONS, CheckTimes
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    DECISIONS,
    EXECUTIONS,
    LOG_DIR_INVENTORY,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TRANSITIONS,
)

NULL_IN_KEY = {LOG_DIR_INVENTORY.name: {"broker", "log_dir"}, LOG_DIR_SAMPLES.name: {"log_dir", "collector"}}
"""Key columns that may be null: the row is then about a broker or cluster."""

VALUES: Mapping[str, Mapping[str, tuple[type[Enum], ...]]] = {
    BROKER_STATE.name: {"status": (BrokerStatus,)},
    LOG_DIR_STATE.name: {"status": (LogDirStatus,), "last_status": (LogDirStatus,), "cause": (Cause,)},
    REPLICA_STATE.name: {"status": (ReplicaStatus,), "cause": (ReplicaCause,)},
    TRANSITIONS.name: {
        "from_status": (BrokerStatus, LogDirStatus),
        "to_status": (BrokerStatus, LogDirStatus, Departure),
    },
    ALERTS.name: {
        "status": (AlertStatus,),
        "rule": (Rule,),
        "severity": (Severity,),
        "lane": (Lane,),
        "cause": (Cause,),
    },
    ACTIONS.name: {"status": (ActionStatus,), "kind": (ActionKind,)},
    EXECUTIONS.name: {"state": (ExecutionState,), "kind": (ActionKind,)},
    DECISIONS.name: {"decision": (Decision,)},
}
"""The values that a column may have."""

MAY_BE_NEGATIVE = {"unaccounted_bytes"}
_RATIOS = ("_ratio", "_confidence")


def suite_of(table: Table, times: CheckTimes) -> ExpectationSuite:
    """Return the expectations of a table at a time."""
    found = [*_keys(table), *_words(table), *_numbers(table), *_relations(table, times)]
    return ExpectationSuite(name=table.name, expectations=found)


def _keys(table: Table) -> Iterator[Expectation]:
    said = f"{', '.join(table.key)} is unique"
    if len(table.key) == 1:
        yield gxe.ExpectColumnValuesToBeUnique(column=table.key[0], description=said)
    else:
        columns = list(table.key)
        yield gxe.ExpectCompoundColumnsToBeUnique(column_list=columns, ignore_row_if="never", description=said)
    for column in table.key:
        if column not in NULL_IN_KEY.get(table.name, ()):
            yield gxe.ExpectColumnValuesToNotBeNull(column=column, description=f"{column} is never null")


def _words(table: Table) -> Iterator[Expectation]:
    for column, kinds in VALUES.get(table.name, {}).items():
        known = sorted({str(word.value) for kind in kinds for word in kind})
        yield gxe.ExpectColumnValuesToBeInSet(column=column, value_set=known, description=f"{column} has a known value")


def _numbers(table: Table) -> Iterator[Expectation]:
    whole = [c.name for c in table.columns if c.kind in {"int", "bigint"} and c.name not in MAY_BE_NEGATIVE]
    amounts = [name for name in whole if name.endswith(("_bytes", "_count", "_ms"))]
    if amounts:
        yield _rows("no size, count or time is negative", _any(f"{name} < 0" for name in amounts))
    ratios = [c.name for c in table.columns if c.kind == "double" and c.name.endswith(_RATIOS)]
    if ratios:
        yield _rows("every ratio lies between 0 and 1", _any(f"NOT {name} BETWEEN 0 AND 1" for name in ratios))
    if {"total_bytes", "usable_bytes"} <= set(whole):
        yield _rows("usable_bytes is at most total_bytes", "usable_bytes > total_bytes")


def _relations(table: Table, times: CheckTimes) -> Iterator[Expectation]:
    for said, query in RELATIONS.get(table.name, {}).items():
        yield gxe.UnexpectedRowsExpectation(unexpected_rows_query=query(times), description=said)


def _rows(said: str, wrong: str) -> Expectation:
    query = f"SELECT * FROM {{batch}} WHERE {wrong}"  # noqa: S608 - names of ours
    return gxe.UnexpectedRowsExpectation(unexpected_rows_query=query, description=said)


def _any(conditions: Iterable[str]) -> str:
    return " OR ".join(conditions)
