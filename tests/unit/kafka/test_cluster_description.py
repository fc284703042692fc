"""Which cluster it is, asked of brokers of every release."""

import pytest
from kafka import errors
from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse

from logdirwatch.kafka import clients
from logdirwatch.kafka.cluster_description import ClusterDescription, allowed_operations, describe_cluster, described
from logdirwatch.kafka.settings import KafkaSettings
from tests.support import fake_broker
from tests.support.fake_broker import CLUSTER_ID, FakeBroker

RELEASES = ["ZOOKEEPER_2_7", "ZOOKEEPER_2_8", "ZOOKEEPER_3_9", "KRAFT_3_7", "KRAFT_4_3"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_of_any_release_tells_its_cluster(release):
    broker = FakeBroker(getattr(fake_broker, release))
    try:
        with clients.admin(KafkaSettings(bootstrap_servers=broker.address)) as client:
            assert describe_cluster(client) == ClusterDescription(CLUSTER_ID, frozenset({1}), frozenset({1}))
    finally:
        broker.close()
    assert broker.times(DescribeClusterRequest) == (release != "ZOOKEEPER_2_7")


def test_fenced_brokers_are_told_apart_and_a_refusal_is_raised():
    broker = DescribeClusterResponse.DescribeClusterBroker
    nodes = [
        broker(version=2, broker_id=number, host="h", port=9092, rack=None, is_fenced=number == 2) for number in (1, 2)
    ]
    response = DescribeClusterResponse(version=2, error_code=0, cluster_id="x", controller_id=1, brokers=nodes)
    assert described(response) == ClusterDescription("x", frozenset({1, 2}), frozenset({1}))
    refused = DescribeClusterResponse(version=0, error_code=31, error_message="no", cluster_id="", brokers=[])
    with pytest.raises(errors.ClusterAuthorizationFailedError):
        described(refused)


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_user_may_do_is_told_or_not_known(release):
    broker = FakeBroker(getattr(fake_broker, release))
    try:
        with clients.admin(KafkaSettings(bootstrap_servers=broker.address)) as client:
            assert allowed_operations(client) is None
    finally:
        broker.close()
