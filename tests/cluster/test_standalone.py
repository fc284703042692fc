"""The stream by spark-submit on a real standalone cluster, as the documentation shows it; a worker is killed."""

import json
import signal

import pytest

from logdirwatch import settings as configuration
from logdirwatch.kafka import telemetry_topics
from logdirwatch_lab.demo import tables
from logdirwatch_lab.demo.services import Service
from tests.cluster.standalone import Standalone
from tests.kafka import collecting
from tests.scenarios.reading import Alerts
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.timeout(1_500)


def told(config):
    done = collecting.run(config, "status", "--json")
    assert done.returncode == 0, done.stderr
    (cluster,) = json.loads(done.stdout)["clusters"]
    return {broker["broker"]: broker["status"] for broker in cluster["brokers"]}


def test_the_stream_goes_on_when_a_worker_is_killed(kafka, config, tmp_path):
    settings = configuration.load(config)
    telemetry_topics.create_missing(settings)
    collector = Service("collect", ["--config", str(config), "collect"], tmp_path / "collect.log")
    alerts = Alerts(settings.telemetry)

    def offline(broker):
        """The lanes in which the loss of a broker's first directory was told."""
        path = kafka.state().broker(broker).log_dirs[0]
        mine = [r for r in alerts.revisions() if (r["rule"], r["broker"]) == ("log_dir_offline", broker)]
        return {r["lane"] for r in mine if r["status"] == "firing" and r["log_dir"] == path}

    def stored():
        found = tables.rows(settings.tables_path, "log_dir_state")
        return {(row["broker"], row["log_dir"]): row["status"] for row in found}

    with Standalone(tmp_path) as spark:
        # One query of each kind: in real time, with state, and into tables.
        queries = [word for query in ("fast_lane", "detect", "store") for word in ("--query", query)]
        stream = spark.submit(config, tmp_path / "stream.log", "stream", *queries)

        def waits(condition, message, pause_s=0.5):
            def seen():
                stream.check()
                collector.check()
                return condition()

            return wait_until(
                seen, DEADLINE_S, lambda: f"{message}; {stream.log_file}: {stream.said()[-2_000:]}", pause_s=pause_s
            )

        try:
            collector.start()
            waits(lambda: len(stored()) == 6, "every directory stored")
            kafka.break_log_dir(0, 0)
            waits(lambda: offline(0) == {"fast", "stateful"}, "the loss told in both lanes")
            spark.workers[0].kill()
            kafka.break_log_dir(1, 0)
            waits(lambda: offline(1) == {"fast", "stateful"}, "the next loss told in both lanes, with a worker less")
            lost = {(broker, kafka.state().broker(broker).log_dirs[0]) for broker in (0, 1)}
            waits(lambda: {key for key, status in stored().items() if status == "offline"} == lost, "both stored")
            # The two tables are written one after the other. The command itself takes seconds of the processor's time.
            waits(
                lambda: told(config) == {0: "degraded", 1: "degraded", 2: "online"}, "two brokers degraded", pause_s=10
            )
            identities = [(r["alert_id"], r["revision"]) for r in alerts.revisions() if r["rule"] == "log_dir_offline"]
            assert {revision for _, revision in identities} >= {0, 1}
            # The signal reaches spark-submit's JVM, which ends by it; batches that it cut are done again.
            assert stream.stop() == 128 + signal.SIGTERM, stream.said()[-3_000:]
            wait_until(lambda: not stream.left(), DEADLINE_S, f"the program to end with its JVM: {stream.left()}")
        finally:
            collector.stop()
            alerts.close()
            for broker in (0, 1):
                kafka.restore(broker, 0)
