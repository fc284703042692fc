"""What is said of telemetry topics that are not as wanted, and how to change them."""

import shlex

import pytest

from logdirwatch.kafka import telemetry_topics
from logdirwatch.kafka.settings import TopicSettings
from logdirwatch.model import topics

SETTINGS = TopicSettings(events_partitions=5)
EVENTS = next(topic for topic in telemetry_topics.wanted(SETTINGS) if topic.name == topics.EVENTS)
ALERTS = next(topic for topic in telemetry_topics.wanted(SETTINGS) if topic.name == topics.ALERTS)


def found(topic, partitions=None, replication_factor=1, **configs):
    existing = telemetry_topics.Existing(
        partitions or topic.partitions, replication_factor, {**topic.configs, **configs}
    )
    return telemetry_topics.differences(topic, existing, 1, "host:1")


def test_the_settings_decide_the_number_of_partitions():
    by_name = {topic.name: topic.partitions for topic in telemetry_topics.wanted(SETTINGS)}
    assert (by_name[topics.EVENTS], by_name[topics.METRICS], by_name[topics.ALERTS]) == (5, 6, 3)
    assert set(by_name) == {topic.name for topic in topics.TOPICS}


def test_a_topic_as_wanted_has_no_difference():
    assert found(EVENTS) == []


def test_too_few_partitions_can_be_added():
    (difference,) = found(EVENTS, partitions=1)
    assert difference.text == "1 partition, wanted 5"
    assert difference.command == (
        "kafka-topics.sh --bootstrap-server host:1 --alter --topic logdir.events --partitions 5"
    )


def test_too_many_partitions_cannot_be_taken_away():
    (difference,) = found(EVENTS, partitions=9)
    assert "the number of partitions can only grow" in difference.command


def test_other_settings_are_named_with_the_command_that_changes_them():
    (difference,) = found(ALERTS, **{"cleanup.policy": "delete", "retention.ms": "1"})
    assert "cleanup.policy delete, wanted compact,delete" in difference.text
    assert "--add-config 'cleanup.policy=[compact,delete],retention.ms=2592000000'" in difference.command
    assert "cleanup.policy=[compact,delete],retention.ms=2592000000" in shlex.split(difference.command)


def test_more_partitions_than_wanted_are_no_reason_to_delete_a_topic():
    for name, setting in ((topics.EVENTS, "set topics.events_partitions to 9"), (topics.ALERTS, "leave it")):
        topic = next(topic for topic in telemetry_topics.wanted(SETTINGS) if topic.name == name)
        (difference,) = found(topic, partitions=9)
        assert difference.command.startswith(setting)
        assert "--delete" not in difference.command


@pytest.mark.parametrize(
    ("brokers", "text", "command"),
    [
        (1, "factor 1, wanted 3; the telemetry cluster has 1 broker", "set topics.replication_factor to 1"),
        (2, "factor 1, wanted 3; the telemetry cluster has 2 brokers", "set topics.replication_factor to 2"),
        (3, "factor 1, wanted 3", "--execute --reassignment-json-file replicas.json (docs/doctor.md"),
        (None, "factor 1, wanted 3", "--execute --reassignment-json-file replicas.json (docs/doctor.md"),
    ],
)
def test_replicas_that_no_broker_is_there_for_are_a_matter_of_the_setting(brokers, text, command):
    existing = telemetry_topics.Existing(EVENTS.partitions, 1, EVENTS.configs)
    (difference,) = telemetry_topics.differences(EVENTS, existing, 3, "host:1", brokers)
    assert difference.text == f"replication {text}"
    assert command in difference.command


def test_another_replication_factor_is_named():
    (difference,) = found(EVENTS, replication_factor=3)
    assert difference.text == "replication factor 3, wanted 1"
