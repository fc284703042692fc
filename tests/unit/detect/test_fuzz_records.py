"""Records at the limits of what is accepted stop neither ``detect`` nor ``fleet``; a poisonous one would for good."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.spark.judge import PIPELINE_BROKER
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.jobs.processors import ClusterProcessor
from logdirwatch.model import topics
from logdirwatch.model.records import (
    DecisionRecord,
    EventRecord,
    HostRecord,
    MetricsRecord,
    PipelineRecord,
    StateRecord,
)
from logdirwatch.parse.records import Accepted, parse
from tests.support.generated import documents
from tests.unit.detect.standin import stand_in

T0 = 1_700_000_000_000
DAY_MS = 24 * 3_600_000
TOPIC_OF = {
    MetricsRecord: topics.METRICS,
    HostRecord: topics.METRICS,
    EventRecord: topics.EVENTS,
    DecisionRecord: topics.DECISIONS,
    PipelineRecord: topics.METRICS,
    StateRecord: topics.STATE,
}
BROKER = {"cluster": "prod", "broker": 7}
times = st.sampled_from([T0, T0 + 5_000, T0 + 10_000, T0 + 15_000])


@st.composite
def histories(draw: st.DrawFn, *kinds: type[Struct]) -> list[tuple[str, dict[str, Any]]]:
    """Draw records of one broker, most of them of one time, so that one meets what another left."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(kinds))
        record = draw(documents(kind)) | (BROKER if kind is not PipelineRecord else {"query": "store"})
        stamp = next((name for name in ("timestamp_ms", "at_ms") if name in record), None)
        if stamp is not None and draw(st.booleans()):
            record[stamp] = draw(times)
        found.append((TOPIC_OF[kind], record))
    return found


def rows(history: list[tuple[str, dict[str, Any]]], **place: Any) -> list[Row]:
    values = [(topic, msgspec.json.encode(record)) for topic, record in history]
    return [
        Row(topic=topic, partition=0, offset=offset, timestamp_ms=T0 + offset, value=value, **place)
        for offset, (topic, value) in enumerate(values)
    ]


def assert_accepted(written: list[Row]) -> None:
    """What a query writes is read by the others; without a value it is the tombstone of a broker that is gone."""
    for row in written:
        assert row.value is None or isinstance(
            parse(row.topic, row.key.encode(), row.value.encode(), T0, "home"), Accepted
        ), row


@given(history=histories(MetricsRecord, HostRecord, EventRecord, DecisionRecord), cut=st.integers(0, 4))
def test_no_accepted_record_stops_the_state_machine(history: list[tuple[str, dict[str, Any]]], cut: int) -> None:
    tester = stand_in(DetectSettings(), T0 - 1)
    given_rows = rows(history, cluster="prod", broker=7)
    for at_ms, batch in ((T0, given_rows[:cut]), (T0 + 60_000, given_rows[cut:])):
        assert_accepted(tester.setProcessingTime(at_ms) or [])
        assert_accepted(tester.test(("prod", 7), batch))
    assert_accepted(tester.setProcessingTime(T0 + DAY_MS))


@given(history=histories(PipelineRecord))
def test_no_accepted_record_stops_the_judgement_of_queries(history: list[tuple[str, dict[str, Any]]]) -> None:
    tester = stand_in(DetectSettings(), T0 - 1)
    assert_accepted(tester.test(("*", 30), rows(history, cluster="*", broker=PIPELINE_BROKER)))


@given(history=histories(StateRecord), cut=st.integers(0, 4))
def test_no_accepted_state_stops_the_judgement_of_clusters(history: list[tuple[str, dict[str, Any]]], cut: int) -> None:
    tester = TwsTester(ClusterProcessor(FleetSettings(), DetectSettings()), timeMode="ProcessingTime")
    given_rows = rows(history, cluster="prod", key=b"prod/7")
    for at_ms, batch in ((T0, given_rows[:cut]), (T0 + 60_000, given_rows[cut:])):
        assert_accepted(tester.setProcessingTime(at_ms) or [])
        assert_accepted(tester.test("prod", batch))
    assert_accepted(tester.setProcessingTime(T0 + DAY_MS))


BAD = [
    b"garbage",
    b'{"version":2,"cluster":"prod","broker":7}',
    b'{"version":1,"cluster":"prod","broker":7,"timestamp_ms":5,"status":"of the future"}',
    b'{"version":1,"cluster":"other","broker":7,"timestamp_ms":5,"status":"ok"}',
]


@pytest.mark.parametrize("broker", [7, -1, PIPELINE_BROKER])
def test_what_is_refused_leaves_no_memory_behind(broker: int) -> None:
    tester = stand_in(DetectSettings(), T0 - 1)
    refused = [
        Row(topic=topics.METRICS, partition=0, offset=n, timestamp_ms=T0, value=value, cluster="prod", broker=broker)
        for n, value in enumerate(BAD)
    ]
    assert tester.test(("prod", 7), refused) == []
    assert tester.peekValueState("memories", ("prod", 7)) is None
