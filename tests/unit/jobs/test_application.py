"""What the stream asks of Kafka and of Spark, by the queries that it runs."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.jobs import application, small_fleet
from logdirwatch.settings import Settings

OPERATIONS = {
    "fast_lane": ("events", "alerts"),
    "detect": ("metrics events decisions state alerts", "alerts state"),
    "fleet": ("state executions alerts", "alerts"),
    "store": ("metrics events state alerts actions decisions executions", ""),
    "store_inventory": ("inventory state", ""),
    "recommend": ("alerts decisions actions", "actions"),
}
"""The topics that each query reads and writes."""


def stream(**fields):
    return Settings(stream=fields)


@pytest.mark.parametrize("query", OPERATIONS)
def test_a_query_needs_the_topics_that_it_reads_and_writes_and_its_progress_is_written(query):
    reads, writes = ({f"logdir.{name}" for name in names.split()} for names in OPERATIONS[query])
    quiet = application.operations(stream(pipeline_interval_ms=0), [query])
    assert quiet == {"READ": reads, "WRITE": writes}
    assert application.operations(stream(), [query]) == {"READ": reads, "WRITE": {*writes, "logdir.metrics"}}
    assert application.operations(stream(), list(OPERATIONS))["READ"] >= reads


@pytest.mark.parametrize(
    ("names", "mode", "slots", "is_enough"),
    [
        (["fast_lane"], "real_time", 3, True),
        (["fast_lane"], "real_time", 2, False),
        (["fast_lane", "store"], "real_time", 5, True),
        (["fast_lane", "store"], "real_time", 4, False),
        (["fast_lane", "store"], "micro_batch", 1, True),
        (["detect", "store"], "real_time", 1, True),
    ],
)
def test_only_the_real_time_query_holds_task_slots(names, mode, slots, is_enough):
    settings = stream(fast_lane_mode=mode)
    assert application._holds_slots(settings, names) is ("fast_lane" in names and mode == "real_time")
    if is_enough:
        application._check_slots(settings, names, slots, 3)
        return
    with pytest.raises(UserError, match="task slots are too few"):
        application._check_slots(settings, names, slots, 3)


@pytest.mark.parametrize(("master", "is_small"), [("local[2]", True), (None, False)])
def test_only_the_java_that_this_process_starts_is_sized_for_a_small_fleet(monkeypatch, master, is_small):
    monkeypatch.setattr(small_fleet, "arriving_per_s", lambda *_: 0.0)
    assert application._is_small(stream(master=master)) is is_small
