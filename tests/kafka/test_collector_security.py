"""The collector where it must say who it is: without permission, with it, with the wrong password, over TLS."""

import re

import pytest

from logdirwatch.model.vocabulary import PollStatus
from tests.kafka.collecting import Collector, run, write_config
from tests.kafka.secured import PASSWORD


def collecting(cluster, servers, folder, client=None):
    return Collector(cluster.telemetry, servers, folder, client=client or {})


@pytest.mark.parametrize("listener", ["open", "tls", "sasl"])
def test_a_broker_that_may_not_be_asked_is_unauthorized_and_not_without_disks(
    collected_cluster, secured, tmp_path, listener
):
    client = {"open": {}, "tls": secured.tls_client, "sasl": secured.client("watcher")}[listener]
    with collecting(collected_cluster, getattr(secured, listener), tmp_path, client) as collector:
        record = collector.metrics_where(0, lambda record: record.status is not PollStatus.TIMEOUT, "an answer")
        assert record.status is PollStatus.UNAUTHORIZED
        assert "ClusterAuthorizationFailedError" in record.error
        assert record.log_dirs == []
        assert (record.is_fenced, record.is_registered) == (False, True)
        assert "collect.broker.failed" in collector.says("status=unauthorized")
        assert collector.stop() == 0


def test_with_permission_its_directories_are_told(collected_cluster, secured, tmp_path):
    with collecting(collected_cluster, secured.sasl, tmp_path, secured.client("admin")) as collector:
        record = collector.metrics_where(
            0, lambda record: record.log_dirs and record.log_dirs[0].replica_count is not None, "complete"
        )
        assert record.status is PollStatus.OK
        assert record.log_dirs[0].total_bytes > 0
        paths = [log_dir.path for log_dir in record.log_dirs]
        assert record.configs is None or record.configs["log.dirs"].split(",") == paths
        assert [log_dir.is_metadata_dir for log_dir in record.log_dirs] == [True, False]


def test_a_wrong_password_is_said_and_never_shown(collected_cluster, secured, tmp_path):
    config = write_config(
        tmp_path / "wrong.yaml",
        collected_cluster.telemetry,
        secured.sasl,
        client=secured.client("admin", "wr0ng"),
    )
    done = run(config, "collect", "--once")
    assert done.returncode == 1
    assert re.search("SaslAuthenticationFailedError|are the credentials right", done.stderr)
    assert "test did not answer completely" in done.stderr
    for secret in ("wr0ng", PASSWORD):
        assert secret not in done.stdout + done.stderr


def test_an_untranslatable_property_is_named_at_the_start(collected_cluster, tmp_path):
    config = write_config(
        tmp_path / "odd.yaml", collected_cluster.telemetry, "127.0.0.1:1", client={"ssl.provider": "hidden"}
    )
    done = run(config, "collect")
    assert done.returncode == 2
    assert done.stderr.startswith(f"logdirwatch: configuration ({config}): clusters.")
    assert "client: Kafka client property ssl.provider: not supported; " in done.stderr
    assert done.stderr.count("\n") == 1
    assert "hidden" not in done.stderr
