"""What Kafka's own tool prints."""

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
    assert (record.part, record.parts, record.collector) == (0, 1, "kafka-log-dirs")
    assert record.replicas == [Placement(topic="orders-eu", partition=12, size_bytes=5, offset_lag=0)]


def test_minus_one_is_unknown_and_a_future_replica_is_told() -> None:
    (record,) = listing(printed(answer(partition(size=-1, offsetLag=-1, isFuture=True)))).replicas
    assert record.replicas == [Placement(topic="orders-eu", partition=12, is_future=True)]


def test_the_highest_partition_and_broker_are_kept_and_what_is_not_said_of_a_replica_is_its_default() -> None:
    short = {"partition": "t-2147483647", "size": 5, "offsetLag": 0}
    (record,) = listing(printed(answer(short), broker=2**31 - 1)).replicas
    assert record.replicas == [Placement(topic="t", partition=2**31 - 1, size_bytes=5, offset_lag=0, is_future=False)]
    assert (record.version, record.broker) == (1, 2**31 - 1)


def test_json_that_is_none_is_no_listing() -> None:
    assert isinstance(read(PROSE + FIRST.replace(": 5", ": NaN")), Rejected)
    assert isinstance(read(FIRST.replace(": 5", ": NaN") + FIRST), Accepted)


def test_a_directory_with_an_error_keeps_its_last_placements() -> None:
    failed = answer(error="org.apache.kafka.common.errors.KafkaStorageException")
    assert listing(printed(failed, answer())).replicas[0].replicas == []
    assert len(listing(printed(failed, answer())).replicas) == 1


@pytest.mark.parametrize(
    "name", ["orders", "orders-", "-1", "orders-x", "orders-٣", "orders-99999999999", "orders-2147483648", "orders-+1"]
)
def test_a_partition_without_topic_or_number_is_refused(name: str) -> None:
    result = read(json.dumps(printed(answer(partition(name)))))
    assert isinstance(result, Rejected)
    assert "is not TOPIC-NUMBER" in result.reason


@pytest.mark.parametrize(
    ("key", "cluster"),
    [
        (None, "home"),
        (b"prod", "prod"),
        (b"prod/7", "prod"),
        (b"prod/2147483648", "prod/2147483648"),
        (b"eu/prod", "eu/prod"),
    ],
)
def test_the_cluster_is_the_keys_or_the_default(key: bytes | None, cluster: str) -> None:
    assert listing(printed(answer()), key).cluster == cluster


def test_what_is_wrong_in_the_output_is_named() -> None:
    record = printed(answer(partition(size="big")))
    result = read(PROSE + json.dumps(record))
    assert isinstance(result, Rejected)
    assert result.reason == "Expected `int`, got `str` - at `$.brokers[0].logDirs[0].partitions[0].size`"
    assert read(json.dumps({**record, "version": 2})) == Rejected("version 2 is unknown, expected 1", None, 2)


def test_a_key_that_is_not_text_is_refused() -> None:
    result = read(json.dumps(printed(answer())), b"\xff")
    assert isinstance(result, Rejected)
    assert result.reason.startswith("not UTF-8")


FIRST, SECOND = json.dumps(printed(answer(partition("a-0")))), json.dumps(printed(answer(partition("b-1")), broker=2))
AROUND = {
    "options of the JVM with braces": ("Picked up JAVA_TOOL_OPTIONS: -javaagent:/jmx.jar=7071:/opt/${ROLE}.yml\n", ""),
    "a map of log4j": ("[2026-03-01 10:00:00,001] WARN The configuration {ssl.x=1, y={}} was supplied (x)\n", ""),
    "a log line in JSON": ('{"timestamp":"2026-03-01T10:00:00Z","level":"WARN","message":"{x"}\n', ""),
    "a JSON line that was cut": ('{"timestamp":"2026-03-01T10:00:00Z","level":"WA\n', ""),
    "JSON of another shape": ('{"brokerList":[{"broker":1}]} {"type":"x","brokers":[]}\n', ""),
    "addresses that others call brokers": ('{"brokers":["b1:9092"],"level":"INFO"} {"brokers":"b1:9092"}\n', ""),
    "the garbage collector": (
        "0.407: [GC pause (G1 Evacuation Pause) (young), 0.009 secs]\n",
        "\nHeap\n total 131072K {\n",
    ),
    "a line of log4j behind": ("", "\n[2026-03-01 10:00:00,001] WARN [AdminClient] closing (x)\n"),
    "JSON behind": (PROSE, '\n{"level":"INFO","message":"done"}\n'),
    "a byte order mark": ("\ufeff", ""),
    "Windows line ends": (PROSE.replace("\n", "\r\n"), "\r\n"),
    "another brace in front": ("{", ""),
    "a quote in front": ('warning: "', ""),
}


@pytest.mark.parametrize(("before", "behind"), AROUND.values(), ids=AROUND)
def test_text_around_the_output_is_passed_over(before: str, behind: str) -> None:
    result = read(before + FIRST + behind)
    assert isinstance(result, Accepted), result
    (record,) = result.record.replicas  # type: ignore[union-attr]
    assert [(item.topic, item.partition) for item in record.replicas] == [("a", 0)]


def test_the_output_may_be_pretty_printed_and_its_keys_in_any_order() -> None:
    turned = {"brokers": printed(answer(partition("a-0")))["brokers"], "version": 1}
    result = read(PROSE + json.dumps(turned, indent=4))
    assert isinstance(result, Accepted), result


def test_several_runs_are_one_listing() -> None:
    result = read(PROSE + FIRST + "\n" + PROSE + SECOND + "\n")
    assert isinstance(result, Accepted)
    found = [(one.broker, one.log_dir, one.replicas[0].topic) for one in result.record.replicas]  # type: ignore[union-attr]
    assert found == [(1, "/data/d1", "a"), (2, "/data/d1", "b")]


def test_runs_of_one_topic_each_add_up_in_a_directory_and_the_last_word_of_a_replica_holds() -> None:
    runs = [
        printed(answer(partition("a-0", size=1), partition("a-0", size=7, isFuture=True))),
        printed(answer(partition("b-0", size=2))),
        printed(answer(partition("a-0", size=3))),
    ]
    result = read("\n".join(json.dumps(run) for run in runs))
    assert isinstance(result, Accepted)
    (record,) = result.record.replicas  # type: ignore[union-attr]
    assert [(item.topic, item.size_bytes, item.is_future) for item in record.replicas] == [
        ("a", 3, False),
        ("a", 7, True),
        ("b", 2, False),
    ]


def test_one_wrong_run_among_several_refuses_them_all() -> None:
    result = read(FIRST + json.dumps(printed(answer(partition(size="big")))))
    assert isinstance(result, Rejected)
    assert "Expected `int`, got `str`" in result.reason


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        PROSE + "Error while executing log dirs command: x",
        PROSE + FIRST[:-1],
        "[2026-03-01] WARN {x=1} {}",
        '"{"',
    ],
)
def test_text_without_the_output_is_refused_in_clear_words(text: str) -> None:
    result = read(text)
    assert isinstance(result, Rejected)
    if text[0] not in "[{":
        assert result.reason.startswith("no JSON of an inventory or of kafka-log-dirs --describe in it: "), (
            result.reason
        )


def test_a_thousand_maps_of_log4j_in_front_hide_nothing() -> None:
    assert isinstance(read("[2026-03-01] DEBUG {ssl.x=1, y={}}\n" * 1_500 + FIRST), Accepted)


def test_what_is_cut_is_refused_though_a_part_of_it_is_whole() -> None:
    assert isinstance(read('{"version":1,"brokers":[' + FIRST[FIRST.index("[") + 1 : -2]), Rejected)


@pytest.mark.parametrize("unit", ["{", '{"', '{"a":[', '{"a":{"b":', "{}", '{"brokers'])
def test_garbage_costs_no_more_than_it_is_long(unit: str) -> None:
    size = 1_000_000
    assert isinstance(read("x" + unit * (size // len(unit)) + "[" + "1," * size), Rejected)


def test_text_around_the_output_may_be_in_another_encoding_but_the_output_may_not() -> None:
    before, name = 'Picked up JAVA_TOOL_OPTIONS: -Dx=\xe9\n{"a":"\xe9"}'.encode("latin-1"), "d\xe9".encode("latin-1")
    assert isinstance(parse(topics.INVENTORY, None, before + FIRST.encode(), KAFKA_MS, "home"), Accepted)
    wrong = FIRST.encode().replace(b"/data/d1", b"/data/" + name)
    assert isinstance(parse(topics.INVENTORY, None, wrong, KAFKA_MS, "home"), Rejected)
