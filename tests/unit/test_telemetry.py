"""What is said of telemetry topics that are not as wanted, and how to change them."""

from logdirwatch import telemetry
from logdirwatch.model import topics
from logdirwatch.settings import TopicSettings

SETTINGS = TopicSettings(events_partitions=5)
EVENTS = next(topic for topic in telemetry.wanted(SETTINGS) if topic.name == topics.EVENTS)
ALERTS = next(topic for topic in telemetry.wanted(SETTINGS) if topic.name == topics.ALERTS)


def found(topic, partitions=None, replication_factor=1, **configs):
    existing = telemetry.Existing(partitions or topic.partitions, replication_factor, {**topic.configs, **configs})
    return telemetry.differences(topic, existing, 1, "host:1")


def test_the_settings_decide_the_number_of_partitions():
    by_name = {topic.name: topic.partitions for topic in telemetry.wanted(SETTINGS)}
    assert (by_name[topics.EVENTS], by_name[topics.METRICS], by_name[topics.ALERTS]) == (5, 6, 3)
    assert set(by_name) == {topic.name for topic in topics.TOPICS}


def test_a_topic_as_wanted_has_no_difference():
    assert found(EVENTS) == []


def test_too_few_partitions_can_be_added():
    (difference,) = found(EVENTS, partitions=1)
    assert difference.text == "1 partitions, wanted 5"
    assert difference.command == (
        "kafka-topics.sh --bootstrap-server host:1 --alter --topic logdir.events --partitions 5"
    )


def test_too_many_partitions_cannot_be_taken_away():
    (difference,) = found(EVENTS, partitions=9)
    assert "partitions only grow" in difference.command


def test_other_settings_are_named_with_the_command_that_changes_them():
    (difference,) = found(ALERTS, **{"cleanup.policy": "delete", "retention.ms": "1"})
    assert "cleanup.policy delete, wanted compact,delete" in difference.text
    assert "--add-config cleanup.policy=[compact,delete],retention.ms=2592000000" in difference.command


def test_another_replication_factor_is_named():
    (difference,) = found(EVENTS, replication_factor=3)
    assert difference.text == "replication factor 3, wanted 1"
