"""What Kafka's own tool prints, in both of its forms."""

import json
from typing import Any

import pytest

from logdirwatch.model import topics
from logdirwatch.model.records import Placement
from logdirwatch.parse.log_dirs_tool import Listing
from logdirwatch.parse.records import Accepted, Rejected, parse

KAFKA_MS = 77
PROSE = "Querying brokers for log directories information\nReceived log directory information from brokers 1,2\n"


def printed(*log_dirs: dict[str, Any], broker: int = 1) -> dict[str, Any]:
    return {"version": 1, "brokers": [{"broker": broker, "logDirs": list(log_dirs)}]}


def answer(*partitions: dict[str, Any], error: str | None = None) -> dict[str, Any]:
    return {"logDir": "/data/d1", "error": error, "partitions": list(partitions)}


def partition(name: str = "orders-eu-12", **fields: Any) -> dict[str, Any]:
    return {"partition": name, "size": 5, "offsetLag": 0, "isFuture": False, **fields}


def proposed(spelling: str = "log_dirs", **fields: Any) -> dict[str, Any]:
    replica = {"topic": "a-b", "partition": 3, "size": 9, "offset_lag": -1, "is_temporary": True}
    return {"version": 1, spelling: [{"is_live": True, "path": "/data/d1", "partitions": [replica], **fields}]}


def read(text: str, key: bytes | None = None) -> Accepted | Rejected:
    result = parse(topics.INVENTORY, key, text.encode(), KAFKA_MS, "home")
    assert isinstance(result, (Accepted, Rejected))
    return result


def listing(record: dict[str, Any], key: bytes | None = None, prose: str = "") -> Listing:
    result = read(prose + json.dumps(record) + "\n", key)
    assert isinstance(result, Accepted), result
    assert isinstance(result.record, Listing)
    return result.record


def test_the_tools_output_is_accepted_with_its_prose() -> None:
    (record,) = listing(printed(answer(partition())), prose=PROSE).replicas
    assert (record.cluster, record.broker, record.log_dir, record.timestamp_ms) == ("home", 1, "/data/d1", KAFKA_MS)
    assert (record.part, record.parts) == (0, 1)
    assert record.replicas == [Placement(topic="orders-eu", partition=12, size_bytes=5, offset_lag=0)]


def test_minus_one_is_unknown_and_a_future_replica_is_told() -> None:
    (record,) = listing(printed(answer(partition(size=-1, offsetLag=-1, isFuture=True)))).replicas
    assert record.replicas == [Placement(topic="orders-eu", partition=12, is_future=True)]


def test_a_directory_with_an_error_keeps_its_last_placements() -> None:
    failed = answer(error="org.apache.kafka.common.errors.KafkaStorageException")
    assert listing(printed(failed, answer())).replicas[0].replicas == []
    assert len(listing(printed(failed, answer())).replicas) == 1


@pytest.mark.parametrize("name", ["orders", "orders-", "-1", "orders-x", "orders-٣", "orders-99999999999"])
def test_a_partition_without_topic_or_number_is_refused(name: str) -> None:
    result = read(json.dumps(printed(answer(partition(name)))))
    assert isinstance(result, Rejected)
    assert "is not TOPIC-NUMBER" in result.reason


@pytest.mark.parametrize(
    ("key", "cluster"), [(None, "home"), (b"prod", "prod"), (b"prod/7", "prod"), (b"eu/prod", "eu/prod")]
)
def test_the_cluster_is_the_keys_or_the_default(key: bytes | None, cluster: str) -> None:
    assert listing(printed(answer()), key).cluster == cluster


@pytest.mark.parametrize("spelling", ["log_dirs", "log dirs"])
def test_the_proposed_form_is_accepted_in_both_spellings(spelling: str) -> None:
    (record,) = listing(proposed(spelling), key=b"prod/4").replicas
    assert (record.cluster, record.broker, record.log_dir) == ("prod", 4, "/data/d1")
    assert record.replicas == [Placement(topic="a-b", partition=3, size_bytes=9, is_future=True)]


def test_a_dead_directory_of_the_proposed_form_keeps_its_last_placements() -> None:
    assert listing(proposed(is_live=False), key=b"prod/4").replicas == ()


def test_the_proposed_form_needs_a_key_that_names_the_broker() -> None:
    result = read(json.dumps(proposed()), b"prod")
    assert isinstance(result, Rejected)
    assert "expected the Kafka key CLUSTER/BROKER" in result.reason


def test_what_is_wrong_in_the_output_is_named() -> None:
    record = printed(answer(partition(size="big")))
    result = read(PROSE + json.dumps(record))
    assert isinstance(result, Rejected)
    assert result.reason == "Expected `int`, got `str` - at `$.brokers[0].logDirs[0].partitions[0].size`"
    assert read(PROSE) == Rejected("JSON is malformed: invalid character (byte 0)")
    assert read(json.dumps({**record, "version": 2})) == Rejected("version 2 is not known, expected 1")


def test_a_key_that_is_not_text_is_refused() -> None:
    result = read(json.dumps(printed(answer())), b"\xff")
    assert isinstance(result, Rejected)
    assert result.reason.startswith("not UTF-8")
