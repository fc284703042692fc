"""What brokers encode is what the collector understands, errors included."""

from uuid import UUID

import pytest
from kafka import errors

from logdirwatch.collect.kafka import responses
from logdirwatch.model.vocabulary import PollStatus
from tests.unit.collect.builders import (
    GIB,
    T0,
    cluster_response,
    configs_response,
    log_dir_result,
    log_dirs_response,
    partition_fields,
    quorum_response,
    reassignments_response,
    topics_response,
)


def test_a_missing_permission_is_unauthorized_and_never_a_broker_without_disks():
    answer = responses.log_dirs(log_dirs_response(error_code=31))
    assert answer.status is PollStatus.UNAUTHORIZED
    assert "ClusterAuthorizationFailedError" in answer.error
    assert answer.log_dirs == ()


def test_an_old_broker_that_lists_nothing_is_an_error_and_names_the_permission():
    answer = responses.log_dirs(log_dirs_response(version=2))
    assert answer.status is PollStatus.ERROR
    assert "DESCRIBE" in answer.error


def test_another_top_level_error_keeps_its_name():
    answer = responses.log_dirs(log_dirs_response(error_code=35))
    assert (answer.status, "UnsupportedVersionError" in answer.error) == (PollStatus.ERROR, True)


def test_a_directory_has_its_capacity_and_its_replicas():
    result = log_dir_result(usable=20 * GIB, cordoned=True, replicas=[("t", 3, 700, 5, True)])
    (log_dir,) = responses.log_dirs(log_dirs_response(result)).log_dirs
    assert (log_dir.total_bytes, log_dir.usable_bytes, log_dir.is_cordoned) == (100 * GIB, 20 * GIB, True)
    (replica,) = log_dir.replicas
    assert (replica.topic, replica.partition, replica.size_bytes, replica.offset_lag) == ("t", 3, 700, 5)
    assert replica.is_future


def test_minus_one_is_nobody_knows():
    result = log_dir_result(error_code=56, total=-1, usable=-1)
    (log_dir,) = responses.log_dirs(log_dirs_response(result)).log_dirs
    assert (log_dir.error_code, log_dir.total_bytes, log_dir.usable_bytes) == (56, None, None)


@pytest.mark.parametrize(
    ("version", "total", "cordoned"), [(3, None, None), (4, 100 * GIB, None), (5, 100 * GIB, False)]
)
def test_what_an_older_broker_does_not_tell_is_unknown(version, total, cordoned):
    answer = responses.log_dirs(log_dirs_response(log_dir_result(version=version), version=version))
    (log_dir,) = answer.log_dirs
    assert (log_dir.total_bytes, log_dir.is_cordoned) == (total, cordoned)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TimeoutError("no answer"), PollStatus.TIMEOUT),
        (errors.KafkaTimeoutError("no answer"), PollStatus.TIMEOUT),
        (errors.RequestTimedOutError("no answer"), PollStatus.TIMEOUT),
        (errors.ClusterAuthorizationFailedError("no"), PollStatus.UNAUTHORIZED),
        (errors.SaslAuthenticationFailedError("wrong password"), PollStatus.UNAUTHORIZED),
        (errors.KafkaConnectionError("refused"), PollStatus.ERROR),
        (OSError("no route"), PollStatus.ERROR),
    ],
)
def test_every_error_is_a_status_and_a_text(error, status):
    answer = responses.failure(error)
    assert answer.status is status
    assert answer.error
    assert "\n" not in answer.error


def test_fenced_brokers_are_listed_as_such():
    topology = responses.topology(cluster_response((1, False), (2, True)), T0)
    assert {number: node.is_fenced for number, node in topology.nodes.items()} == {1: False, 2: True}
    assert topology.lists_fenced
    assert topology.at_ms == T0


def test_a_broker_that_cannot_list_fenced_ones_says_nothing_of_them():
    topology = responses.topology(cluster_response((1, False), version=1), T0)
    assert topology.nodes[1].is_fenced is None
    assert not topology.lists_fenced


def test_a_refused_description_of_the_cluster_raises_kafkas_error():
    with pytest.raises(errors.ClusterAuthorizationFailedError):
        responses.topology(cluster_response(error_code=31), T0)


def test_a_partition_without_leader_has_none():
    page = responses.topic_page(
        topics_response(("t", 0, [partition_fields(leader=-1, isr=[2], offline=[1, 2], elr=[3])]))
    )
    (partition,) = page.topics[0].partitions
    assert partition.leader is None
    assert (partition.isr, partition.offline_replicas, partition.elr) == ([2], [1, 2], [3])
    assert partition.last_known_elr is None


def test_a_topic_deleted_meanwhile_is_left_out():
    page = responses.topic_page(topics_response(("gone", 3, []), ("__t", 0, [partition_fields()])))
    assert [(topic.name, topic.is_internal) for topic in page.topics] == [("__t", True)]


@pytest.mark.parametrize(("given", "found"), [(UUID(int=7), str(UUID(int=7))), (UUID(int=0), None), (None, None)])
def test_a_topic_has_the_id_that_kafka_gave_it(given, found):
    page = responses.topic_page(topics_response(("t", 0, [partition_fields()]), topic_id=given))
    assert responses.merged([page, page])[0].id == found


def test_pages_that_cut_a_topic_are_joined():
    first = responses.topic_page(topics_response(("t", 0, [partition_fields(0)]), cursor=("t", 1)))
    second = responses.topic_page(topics_response(("t", 0, [partition_fields(1)]), ("u", 0, [partition_fields(0)])))
    assert (first.cursor, second.cursor) == (("t", 1), None)
    topics = responses.merged([first, second])
    assert [(topic.name, [part.partition for part in topic.partitions]) for topic in topics] == [
        ("t", [0, 1]),
        ("u", [0]),
    ]


def test_configs_tell_values_what_is_set_on_the_topic_and_what_failed():
    configs = responses.configs(
        configs_response(("t", 0, {"retention.ms": ("9", 1), "cleanup.policy": ("delete", 5)}), ("gone", 3, {}))
    )
    assert configs.values == {"t": {"retention.ms": "9", "cleanup.policy": "delete"}}
    assert configs.overridden == {"t": ("retention.ms",)}
    assert "UnknownTopicOrPartitionError" in configs.failed["gone"]


def test_parts_of_the_configuration_are_joined():
    parts = [responses.configs(configs_response((name, 0, {"a": ("1", 1)}))) for name in "xy"]
    assert set(responses.joined(parts).values) == {"x", "y"}


def test_running_reassignments_name_what_comes_and_what_goes():
    found = responses.reassignments(reassignments_response(("t", 4, [3], [1])))
    assert (found["t", 4].adding, found["t", 4].removing) == ((3,), (1,))


@pytest.mark.parametrize("decoded", [responses.quorum_leader, responses.quorum])
def test_a_controller_that_does_not_lead_the_quorum_knows_nothing_of_it(decoded):
    """It answers the error with the partition, not above it, and leaves the leader at 0."""
    with pytest.raises(errors.NotLeaderForPartitionError):
        decoded(quorum_response(error_code=6, leader=0))
    with pytest.raises(errors.ClusterAuthorizationFailedError):
        decoded(quorum_response(top_level_error=31))


def test_the_leader_of_the_quorum_is_the_controller_and_there_may_be_none():
    assert responses.quorum_leader(quorum_response(leader=3)) == 3
    assert responses.quorum(quorum_response(leader=3)).leader == 3
    assert responses.quorum_leader(quorum_response(leader=-1)) is None
