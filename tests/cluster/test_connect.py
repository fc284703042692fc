"""The queries that raise alerts through a real Spark Connect server; everything else is refused in one line."""

import pytest

from logdirwatch import settings as configuration
from logdirwatch.kafka import telemetry_topics
from logdirwatch_lab.demo.services import Service
from tests.cluster.standalone import ConnectServer
from tests.scenarios.reading import Alerts
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.release
ALERTING = [word for query in ("fast_lane", "detect", "fleet") for word in ("--query", query)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ConnectServer(tmp_path_factory.mktemp("connect")) as running:
        yield running


def test_alerts_are_raised_and_end_by_spark_connect_across_a_restart(server, kafka, config, tmp_path):
    settings = configuration.load(config)
    telemetry_topics.create_missing(settings)
    path = kafka.state().broker(2).log_dirs[1]
    alerts = Alerts(settings.telemetry)
    collector = Service("collect", ["--config", str(config), "collect"], tmp_path / "collect.log")

    def told(stream, status):
        def lanes():
            stream.check()
            mine = [r for r in alerts.revisions() if (r["rule"], r["log_dir"]) == ("log_dir_offline", path)]
            return {r["lane"]: r["alert_id"] for r in mine if r["status"] == status}

        return lanes

    def waits(condition, stream):
        return wait_until(condition, DEADLINE_S, lambda: f"{stream.log_file}: {stream.said()[-3_000:]}", pause_s=0.5)

    stream = server.run(config, tmp_path / "stream.log", "stream", *ALERTING)
    try:
        collector.start()
        stream.waits_to_say("stream.running")
        kafka.break_log_dir(2, 1)
        first = waits(lambda: (lanes := told(stream, "firing")()).keys() == {"fast", "stateful"} and lanes, stream)
        assert stream.stop() == 0, stream.said()[-3_000:]
        stream = server.run(config, tmp_path / "again.log", "stream", *ALERTING)
        stream.waits_to_say("stream.running")
        kafka.restore(2, 1)
        ended = waits(told(stream, "resolved"), stream)
        assert set(ended.values()) == set(first.values()), "the same alert, from the same memory"
        assert told(stream, "firing")() == first
    finally:
        stream.stop()
        collector.stop()
        alerts.close()


@pytest.mark.parametrize("command", [("stream",), ("tables", "optimize"), ("stream", "--query", "store")])
def test_what_writes_tables_is_refused_in_one_line(server, kafka, config, tmp_path, command):
    telemetry_topics.create_missing(configuration.load(config))
    refused = server.run(config, tmp_path / "refused.log", *command)
    wait_until(lambda: refused.ended() is not None, DEADLINE_S, "the command to end")
    assert refused.ended() == 1
    lines = [line for line in refused.said().splitlines() if line.startswith("logdirwatch:")]
    assert len(lines) == 1, refused.said()
    assert "there only the queries that raise alerts run" in lines[0].lower()
    assert "Traceback" not in refused.said()
