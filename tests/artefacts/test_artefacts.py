"""The wheel, the files of the image, what the chart renders and what the bundle's job names tell of a broken disk."""

import json
from typing import NamedTuple

import pytest
import yaml

from logdirwatch_lab.config import CLUSTER, ClusterSpec
from logdirwatch_lab.ports import free_ports
from tests.artefacts.installed import ROOT, Installed
from tests.chart.conftest import Helm, program
from tests.kafka.conftest import cluster_in
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.timeout(1_500)
WORKLOADS = ("topics", "collect", "stream")
JOBS = ROOT / "conf" / "databricks" / "resources" / "jobs.yml"


class Started(NamedTuple):
    """How an artefact runs: the configuration, and arguments by part."""

    config: dict
    arguments: dict[str, list[str]]
    in_a_session: bool = False


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with cluster_in(tmp_path_factory.mktemp("kafka"), ClusterSpec(brokers=4, log_dirs=2)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


def by_hand(kafka, folder, **stream):
    """Return how an installation of one's own runs, with the smallest configuration."""
    config = {
        "telemetry": {"bootstrap_servers": kafka.telemetry},
        "clusters": {CLUSTER: {"bootstrap_servers": kafka.bootstrap_servers}},
        "topics": {"replication_factor": 1},
        "checkpoints": {"path": str(folder / "checkpoints")},
        "tables": {"path": str(folder / "tables")},
        "stream": stream,
    }
    return Started(config, {part: [part] for part in ("collect", "stream")} | {"topics": ["topics", "create"]})


def by_chart(kafka, folder):
    """Return the configuration and the containers' arguments that Helm renders, with this machine's folders."""
    values = {
        "telemetry": {"bootstrapServers": kafka.telemetry, "replicationFactor": 1},
        "clusters": {CLUSTER: {"bootstrapServers": kafka.bootstrap_servers, "client": {}}},
        "console": {"passwordSecret": {"name": "console"}},
    }
    manifests = Helm(program(), folder).render(values)
    (text,) = [one["data"]["logdirwatch.yaml"] for one in manifests if one["kind"] == "ConfigMap"]
    config = yaml.safe_load(text.replace("/data/", f"{folder}/"))
    for part, port in zip(("collect", "stream"), free_ports(2), strict=True):
        config[part]["listen"] = f"127.0.0.1:{port}"
    containers = [
        container
        for one in manifests
        if one["kind"] in {"Deployment", "Job"}
        for container in one["spec"]["template"]["spec"]["containers"]
    ]
    return Started(config, {one["name"]: one["args"] for one in containers if one["name"] in WORKLOADS})


def by_bundle(kafka, folder):
    """Return what the bundle's job gives the wheel's entry point, beside the session of a cluster."""
    started = by_hand(kafka, folder, master=None)
    (task,) = yaml.safe_load(JOBS.read_text(encoding="utf-8"))["resources"]["jobs"]["stream"]["tasks"]
    arguments = {**started.arguments, "stream": task["python_wheel_task"]["parameters"]}
    return Started(started.config, arguments, in_a_session=True)


@pytest.mark.parametrize(
    ("broker", "artefact", "how"),
    [(0, "wheel", by_hand), (1, "image", by_hand), (2, "image", by_chart), (3, "wheel", by_bundle)],
    ids=["wheel", "image", "chart", "bundle"],
)
def test_an_artefact_alone_tells_of_a_broken_disk(kafka, installed, tmp_path, broker, artefact, how):
    """Of a disk of its own: what breaks again and again is held back as flapping."""
    getattr(installed, artefact)()
    started = how(kafka, tmp_path)
    path = tmp_path / "logdirwatch.yaml"
    path.write_text(yaml.safe_dump(started.config), encoding="utf-8")
    environment = {"LOGDIRWATCH_CONFIG": str(path)}
    made = installed.run(*started.arguments["topics"], **environment)
    assert made.returncode == 0, made.stderr
    parts = [
        installed.begin(
            f"{tmp_path.name}-{part}",
            started.arguments[part],
            environment,
            in_a_session=started.in_a_session and part == "stream",
        )
        for part in ("collect", "stream")
    ]
    lost = kafka.state().broker(broker).log_dirs[1]

    def told(status, alert_id=None):
        for part in parts:
            part.check()
        listed = installed.run("alerts", "--all", "--json", **environment).stdout.splitlines()
        mine = (one for one in map(json.loads, listed) if (one["rule"], one["log_dir"]) == ("log_dir_offline", lost))
        ours = (one for one in mine if alert_id in {None, one["alert_id"]} and one["lane"] == "stateful")
        return next((one for one in ours if one["status"] == status), None)

    def waits(condition):
        return wait_until(condition, DEADLINE_S, lambda: parts[1].said()[-3_000:], pause_s=2)

    try:
        parts[1].waits_to_say("stream.running")
        kafka.break_log_dir(broker, 1)
        alert = waits(lambda: told("firing"))
        kafka.restore(broker, 1)
        waits(lambda: told("resolved", alert["alert_id"]))
    finally:
        for part in reversed(parts):
            part.stop()
