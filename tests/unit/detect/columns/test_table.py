"""Brokers judged in columns: it changes nothing of what is said, written and remembered, and it is taken."""

import json
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import defstruct, inspect
from msgspec.structs import replace

from logdirwatch.detect import machine, state_view, upkeep
from logdirwatch.detect.alerts.context import Outcome
from logdirwatch.detect.columns.answers import fingerprint, words_of
from logdirwatch.detect.columns.table import Table
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, decode, encode
from logdirwatch.model.records import LogDirSample, MetricsRecord, PartitionHealth, ReplicaMoves
from tests.support.properties import examples
from tests.unit.detect.builders import GIB, POLL_MS, T0
from tests.unit.detect.state.test_clocks import SET, Clock
from tests.unit.detect.test_machine import SETTINGS as OF_MACHINE
from tests.unit.detect.test_machine import histories as of_machine
from tests.unit.detect.test_machine import observations
from tests.unit.detect.test_rest import HOUR_MS, SETTINGS, fleet_at_rest, histories, shown

TIMER_MS = 1


class Lived:
    """A broker's life in a shard: what comes out of each step, and the memory after it."""

    def __init__(self, judged_by, is_in_columns, broker=7):
        self.settings, self.is_in_columns, self.broker = judged_by, is_in_columns, broker
        self.table, self.stored, self.at_rest = Table(judged_by), None, 0

    def step(self, seen, now_ms=None):
        now_ms = seen.origin.kafka_timestamp_ms if now_ms is None else now_ms
        taken = {}
        if self.is_in_columns and isinstance(seen, Sample):
            # Whatever is stored is read again.
            self.table = Table(self.settings, self.table.stored())
            taken = self.table.advance([seen], now_ms)
        if taken:
            return self._at_rest(*taken.values())
        memory = self._memory()
        outcome = machine.advance(memory, seen, now_ms, self.settings)
        news = state_view.has_news(memory, self.settings.state_refresh_ms)
        news = state_view.state_record(memory, []) if news else None
        memory.timer_ms = TIMER_MS
        self.stored = encode(memory)
        if self.is_in_columns:
            self.table.keep(memory, seen if isinstance(seen, Sample) else None)
        return self._shown(outcome, news)

    def _at_rest(self, is_due):
        self.at_rest += 1
        news = None
        if is_due:
            memory = self._memory()
            news = state_view.state_record(memory, [])
            self.table.wrote(memory)
        return self._shown(Outcome([], []), news)

    def _memory(self):
        memory = BrokerMemory(cluster="prod", broker=self.broker) if self.stored is None else decode(1, self.stored)
        self.table.complete(memory)
        return memory

    def _shown(self, outcome, news):
        memory = self._memory()
        return outcome, news, machine.next_deadline_ms(memory, self.settings), encode(memory)


def compared(history, judged_by, clocks=None):
    """Play a history both ways; return how many steps were taken in columns.

    ``clocks`` are those of its collector, of the topic's leader and of the stream; without them all are right.
    """
    alone, in_columns = Lived(judged_by, is_in_columns=False), Lived(judged_by, is_in_columns=True)
    for seen in history:
        one, now_ms = (seen, None) if clocks is None else on_clocks(seen, *clocks)
        assert alone.step(one, now_ms) == in_columns.step(one, now_ms)
    return in_columns.at_rest


def on_clocks(seen, collector, leader, stream):
    true_ms, (record, origin) = seen.origin.kafka_timestamp_ms, seen
    moves = None if record.moves is None else replace(record.moves, at_ms=collector.at(record.moves.at_ms))
    record = replace(record, timestamp_ms=collector.at(record.timestamp_ms), moves=moves)
    return Sample(record, origin._replace(kafka_timestamp_ms=leader.at(true_ms))), stream.at(true_ms)


@given(histories, st.sampled_from(SETTINGS))
def test_columns_leave_everything_as_the_state_machine_does(history, judged_by):
    compared(list(shown(history)), judged_by)


@given(of_machine)
def test_so_they_do_among_failures_of_every_kind(history):
    compared(observations(history), OF_MACHINE)


@pytest.mark.parametrize("interval_ms", [5_000, 10_000, 30_000])
def test_a_fleet_at_rest_is_judged_in_columns(interval_ms):
    history = list(fleet_at_rest(interval_ms, 2 * 3_600_000 // interval_ms))
    assert compared(history, DetectSettings()) / len(history) >= 0.85


@given(SET, SET, SET, st.booleans())
@examples(8)
def test_columns_follow_clocks_that_are_set_as_the_state_machine_does(collector, leader, stream, is_create_time):
    history = [seen for seen in fleet_at_rest(10_000, 200) if isinstance(seen, Sample)]
    compared(history, DetectSettings(), (collector, collector if is_create_time else leader, stream))


@pytest.mark.parametrize("by_ms", [-3_600_000, 3_600_000])
def test_a_fleet_whose_collectors_clock_is_wrong_is_at_rest(by_ms):
    history = [seen for seen in fleet_at_rest(10_000, 700) if isinstance(seen, Sample)]
    wrong = Clock(((5, by_ms),))
    assert compared(history, DetectSettings(), (wrong, wrong, Clock())) / len(history) >= 0.8


def test_random_histories_are_judged_in_columns_too():
    """Else the comparison of both ways would say nothing."""
    at_rest = []

    @given(histories)
    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    def played(history):
        at_rest.append(compared(list(shown(history)), SETTINGS[0]))

    played()
    assert sum(at_rest) > 80


def changed(found, kind):
    """Yield copies of a stored value in which one of its parts is another one of its type."""
    if isinstance(found, dict):
        for name, value in found.items():
            part = kind.value_type if isinstance(kind, inspect.DictType) else fields_of(kind)[name]
            yield from ({**found, name: other} for other in changed(value, part))
        for name, part in fields_of(kind).items():
            if name not in found:
                yield from ({**found, name: other} for other in examples(part))
    else:
        yield from (other for other in [*examples(kind), *near(found)] if other != found)


def fields_of(kind):
    for part in getattr(kind, "types", [kind]):
        if isinstance(part, inspect.StructType):
            return {field.encode_name: field.type for field in part.fields}
    return {}


def near(value):
    """Return what is a little more or less than a number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [value - 1, value + 1, -value, value + 4 * POLL_MS, value - HOUR_MS] if is_number else []


PLAIN = {
    inspect.NoneType: (None,),
    inspect.BoolType: (False, True),
    inspect.IntType: (0, 1, T0, T0 + HOUR_MS),
    inspect.FloatType: (0.0, 0.97),
    inspect.StrType: ("a", "b", "/d1"),
}


def examples(kind):
    """Yield some values of a type."""
    yield from PLAIN.get(type(kind), ())
    match kind:
        case inspect.UnionType(types=types):
            for part in types:
                yield from examples(part)
        case inspect.EnumType(cls=members):
            yield from map(str, members)
        case inspect.ListType(item_type=part) | inspect.SetType(item_type=part) | inspect.VarTupleType(item_type=part):
            yield from ([], [next(examples(part))])
        case inspect.DictType(key_type=name, value_type=part):
            yield from ({}, {next(examples(name)): next(examples(part))})
        case inspect.StructType(fields=parts):
            yield {part.encode_name: next(examples(part.type)) for part in parts if part.required}


def at_rest_with(memory):
    """Return both lives of a broker that is at rest, except for what a memory says."""
    lives = Lived(SETTINGS[0], is_in_columns=False), Lived(SETTINGS[0], is_in_columns=True)
    for life in lives:
        for seen in QUIET[:5]:
            life.step(seen)
    assert lives[1].at_rest
    for life in lives:
        life.stored = json.dumps(memory)
    lives[1].table.keep(decode(1, lives[1].stored), QUIET[4])
    return lives


QUIET = list(shown([(POLL_MS, "a", ("answer", [(GIB, {}), (0, {}), (-GIB, {})]))] * 8))


def test_whatever_else_a_broker_at_rest_remembers_the_columns_leave_everything_as_the_state_machine_does():
    """One part of its memory after the other is made another one of its type; what follows is the same both ways."""
    resting, tried = Lived(SETTINGS[0], is_in_columns=False), 0
    for seen in QUIET[:5]:
        resting.step(seen)
    of_others = {"cluster": {"prod"}, "broker": {7}, "timer_ms": {None, TIMER_MS}}
    before = json.loads(resting.stored)
    for other in changed(before, inspect.type_info(BrokerMemory)):
        is_right_clock = other.get("clocks") == {"a": {}}  # and such a one is forgotten
        is_like_the_first = any(other["log_dirs"].get(path) != before["log_dirs"][path] for path in ("/d2", "/d3"))
        if (
            is_right_clock
            or is_like_the_first
            or any(other.get(name) not in may_be for name, may_be in of_others.items())
        ):
            continue
        alone, in_columns = at_rest_with(other)
        for seen in QUIET[5:]:
            assert in_columns.step(seen) == alone.step(seen), other
        tried += 1
    assert tried > 500


# What the next answer of a broker at rest may say: each directory's growth, and what else is odd about it.
NEXT = [
    [(GIB, {}), (0, {}), (-GIB, {})],
    [(-11 * GIB // 2, {}), (0, {}), (-GIB, {})],  # as much is usable in the second one
    [(450 * GIB, {}), (0, {}), (-GIB, {})],
    [(GIB, {}), (0, {"replica_bytes": None}), (-GIB, {})],
    [(GIB, {}), (0, {}), (-GIB, {"error_code": 56})],
]
BROKERS = tuple(range(7, 7 + len(NEXT)))


def answer_of(broker, number, said):
    """The answer of a broker with a number in its history, which says something."""
    last = list(shown([(POLL_MS, "a", ("answer", NEXT[0]))] * number + [(POLL_MS, "a", ("answer", said))]))[-1]
    return Sample(replace(last.record, broker=broker), last.origin)


def table_of(*brokers):
    """Return the table of brokers at rest, and the memory of each."""
    table, memories = Table(SETTINGS[0]), {}
    for broker in brokers:
        life = Lived(SETTINGS[0], is_in_columns=True, broker=broker)
        for number in range(5):
            life.step(answer_of(broker, number, NEXT[0]))
        memories[broker] = life._memory()
        table.keep(memories[broker], answer_of(broker, 4, NEXT[0]))
    return table, memories


def test_what_is_not_known_is_stored_as_earlier_releases_stored_it():
    """A release that reads another one's rows judges the brokers again, by the numbers in these rows."""
    table, _ = table_of(*BROKERS)
    (rows,) = table.stored()
    assert -1 in np.frombuffer(rows.of_log_dir, np.int64)


def remembered(table, memories):
    for memory in memories.values():
        table.complete(memory)
    return {broker: encode(memory) for broker, memory in memories.items()}


@pytest.mark.parametrize("turn", range(len(NEXT)))
def test_brokers_that_are_judged_together_are_judged_as_each_of_them_alone(turn):
    """Each is taken or left by its own answer, and the numbers of none are those of another."""
    said = dict(zip(BROKERS, [*NEXT[turn:], *NEXT[:turn]], strict=True))
    together, memories = table_of(*BROKERS)
    answers = [answer_of(broker, 5, said[broker]) for broker in BROKERS]
    found = together.advance(answers, answers[0].origin.kafka_timestamp_ms)
    alone, kept = {}, {}
    for broker, answer in zip(BROKERS, answers, strict=True):
        table, memory = table_of(broker)
        alone |= table.advance([answer], answer.origin.kafka_timestamp_ms)
        kept |= remembered(table, memory)
        assert together.silent_from_ms(broker) == table.silent_from_ms(broker) > answers[0].record.timestamp_ms
    assert found == alone
    assert list(found) == [broker for broker in BROKERS if said[broker] is NEXT[0]]
    assert remembered(together, memories) == kept
    stored = Table(SETTINGS[0], together.stored())
    assert remembered(stored, memories) == kept
    stored.remove(BROKERS[0])
    assert [rows.brokers for rows in stored.stored()] == [list(BROKERS[1:])]


@pytest.mark.parametrize("judge", [*upkeep.JUDGES_OF_ANSWERS, *upkeep.JUDGES_OF_SCANS], ids=lambda one: one.__module__)
def test_every_judge_of_answers_and_scans_says_when_the_columns_need_not_ask_it(judge):
    """A rule without ``is_quiet`` gets every answer, which keeps every broker out of the columns."""
    assert "is_quiet" in vars(import_module(judge.__module__))


def test_a_rule_that_does_not_say_when_it_is_quiet_gets_every_answer(monkeypatch):
    assert compared(QUIET, SETTINGS[0])
    monkeypatch.setattr(upkeep, "_QUIET", (*upkeep._QUIET, upkeep._is_never_quiet))
    assert compared(QUIET, SETTINGS[0]) == 0


ADDED = {"medium": (str | None, None), "io_wait_ratio": (float | None, None), "labels": (dict[str, str], {})}


@pytest.mark.parametrize("field", ADDED)
@pytest.mark.parametrize("kind", [MetricsRecord, LogDirSample, ReplicaMoves])
def test_a_field_that_somebody_adds_counts_until_it_is_declared_a_number(kind, field):
    added = defstruct("Added", [(field, *ADDED[field])], bases=(kind,), frozen=True, kw_only=True)
    known = set(kind.__struct_fields__)
    assert words_of(added, known) == (field,)
    assert words_of(added, {*known, field}) == ()


OF_RECORD = {
    "host": "h9",
    "rack": "r9",
    "controller_id": 9,
    "kafka_version": "4.3",
    "not_reported": ["elr"],
    "configs": {},
}
OF_RECORD |= {
    "collector": "z",
    "interval_ms": 7,
    "metadata_version": "4.2-IV1",
    "partitions": PartitionHealth(leaderless=1),
}
OF_DIRECTORY = {"path": "/d9", "is_metadata_dir": True, "is_cordoned": True, "strays": {"t-0": 1}}
NUMBER_OF_DIRECTORY = (
    "usable_bytes",
    "replica_count",
    "replica_bytes",
    "future_bytes",
    "incoming_bytes",
    "outgoing_bytes",
)


def test_what_an_answer_says_in_words_is_its_fingerprint_and_numbers_are_not():
    record = QUIET[4].record
    first, *rest = record.log_dirs
    same = [replace(record, timestamp_ms=record.timestamp_ms + 1), replace(record, metrics={"x": 1.0})]
    same += [replace(record, log_dirs=[replace(first, **{name: 1}), *rest]) for name in NUMBER_OF_DIRECTORY]
    same += [
        replace(record, controller_at_ms=1),
        replace(record, log_dirs=[replace(first, out_of_sync_count=9), *rest]),
    ]
    others = [replace(record, **{name: value}) for name, value in OF_RECORD.items()]
    others += [
        replace(record, log_dirs=[replace(first, **{name: value}), *rest]) for name, value in OF_DIRECTORY.items()
    ]
    known = fingerprint(record)
    assert known is not None
    assert {fingerprint(one) for one in same} == {known}
    assert len({known, *map(fingerprint, others)}) == 1 + len(others)
    for name, value in {"error_code": 56, "capacity_source": "configuration"}.items():
        assert fingerprint(replace(record, log_dirs=[replace(first, **{name: value}), *rest])) is None
