"""A local Kafka cluster, and its configuration with the Spark session left to others."""

import pytest

from logdirwatch_lab.config import ClusterSpec
from tests.kafka.conftest import cluster_in
from tests.scenarios.world import write_config


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    with cluster_in(tmp_path_factory.mktemp("kafka"), ClusterSpec(brokers=3, log_dirs=2)) as cluster:
        yield cluster


@pytest.fixture
def config(kafka, tmp_path):
    """The local cluster's own configuration, with the session left to spark-submit."""
    stream = {"master": None, "shuffle_partitions": 2}
    checkpoints, stored = {"path": str(tmp_path / "checkpoints")}, {"path": str(tmp_path / "tables")}
    path = tmp_path / "logdirwatch.yaml"
    # The status calls data stale that is three refreshes old, and with one worker left a batch of store takes 20 s.
    detect = {"state_refresh_ms": 30_000}
    return write_config(kafka, path, stream=stream, detect=detect, checkpoints=checkpoints, tables=stored)
