"""Every query of the stream is watched, with its own topics and trigger."""

import pytest

from logdirwatch.cli.commands.stream import Query
from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs import application, pipeline
from logdirwatch.model.records import PipelineRecord
from logdirwatch.parse.records import parse
from logdirwatch.settings import Settings

T0 = 1_700_000_000_000


def test_every_query_is_known_with_its_topics():
    assert set(pipeline.TOPICS) == set(application.QUERIES) == {query.value for query in Query}
    assert all(pipeline.TOPICS.values())


@pytest.mark.parametrize(
    ("query", "trigger_ms", "is_measured"),
    [("detect", 500, True), ("store", 30_000, True), ("store_inventory", 60_000, True), ("fast_lane", 0, False)],
)
def test_a_query_may_be_as_late_as_its_trigger(query, trigger_ms, is_measured):
    teller = pipeline._teller(Settings(stream=StreamSettings()), query, T0)
    assert (teller.trigger_ms, teller.is_measured, teller.lag_ms) == (trigger_ms, is_measured, 60_000)


def test_the_progress_of_a_query_is_a_record_that_every_reader_accepts():
    record = PipelineRecord(version=1, query="store", timestamp_ms=T0, lag_ms=7)
    told = pipeline._outgoing(record)
    found = parse(told.topic, told.key, told.value, T0, "")
    assert (told.topic, told.key, found.record) == ("logdir.metrics", record.key.encode(), record)


def test_nothing_is_watched_where_the_configuration_says_so():
    with pipeline.watching(None, Settings(stream={"pipeline_interval_ms": 0}), ["store"], {}, None) as watcher:
        assert watcher is None


@pytest.mark.parametrize(
    ("names", "speaker"),
    [(["fast_lane", "store", "detect"], "detect"), (["fast_lane", "store", "fleet"], "store"), (["fast_lane"], None)],
)
def test_one_query_speaks_for_all_of_the_streams_absence(names, speaker):
    tellers = {name: pipeline._teller(Settings(), name, T0) for name in names}
    found = pipeline._speaker(tellers)
    assert (None if found is None else found.query) == speaker
