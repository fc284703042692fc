"""Stored rows as the observations that they were made from."""

import pytest

from logdirwatch.report.stored import observations


@pytest.mark.parametrize("column", ["c1/PartitionFailed/t-0", "c1/PartitionFailed"], ids=["now", "older releases"])
def test_a_failed_partition_has_its_collector_again(column):
    source = {"source_topic": "logdir.events", "source_partition": 0, "source_offset": 3, "kafka_timestamp_ms": 77}
    place = {"cluster": "prod", "broker": 7, "log_dir": "/d1", "timestamp_ms": 5}
    row = {"kind": "event", "event": "PartitionFailed", "collector": column, "topic": "t", "partition": 0}
    (observed,) = observations([source | place | row])
    record = observed.record
    assert (record.collector, record.event, record.topic, record.partition) == ("c1", "PartitionFailed", "t", 0)
