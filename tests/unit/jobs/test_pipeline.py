"""Every query of the stream is watched, with its own topics and trigger."""

import pytest

from logdirwatch.cli.commands.stream import Query
from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs import application, pipeline
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


@pytest.mark.parametrize(
    ("names", "speaker"),
    [(["fast_lane", "store", "detect"], "detect"), (["fast_lane", "store", "fleet"], "store"), (["fast_lane"], None)],
)
def test_one_query_speaks_for_all_of_the_streams_absence(names, speaker):
    tellers = {name: pipeline._teller(Settings(), name, T0) for name in names}
    found = pipeline._speaker(tellers)
    assert (None if found is None else found.query) == speaker
