"""The configuration of a session that this process starts."""

import pytest

from logdirwatch.jobs.session import worker_conf


@pytest.mark.parametrize("master", ["local", "local[2]", "local[8,4]"])
def test_workers_of_a_local_session_share_their_modules(master):
    assert worker_conf(master)["spark.python.daemon.module"] == "logdirwatch.jobs.worker_daemon"


@pytest.mark.parametrize("master", [None, "spark://master:7077", "yarn", "k8s://https://host:6443"])
def test_workers_on_other_machines_are_left_to_spark(master):
    assert worker_conf(master) == {}
