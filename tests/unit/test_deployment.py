"""What is shipped for deployment: each file fits its format's published schema, and names what there really is."""

import configparser
import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from databricks.bundles.jobs import Job
from jsonschema.validators import validator_for
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.collect.metrics import CollectorMetrics
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.jobs.metrics import StreamMetrics
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.session import DELTA_CONF, SESSION_CONF
from logdirwatch.reference.support import DATABRICKS_RUNTIMES
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker" / "compose.yaml"
MANIFESTS = sorted((ROOT / "conf" / "kubernetes").glob("*.yaml"))
BUNDLE = ROOT / "conf" / "databricks" / "databricks.yml"
UNITS = sorted((ROOT / "conf" / "systemd").glob("*.*"))
COMMANDS = set(get_command(app).commands)


class Yaml12(yaml.SafeLoader):
    """Octal numbers are written 0o17, as YAML 1.2 and Compose have it."""


Yaml12.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^0o[0-7]+$"), ["0"])
Yaml12.add_constructor(
    "tag:yaml.org,2002:int",
    lambda loader, node: (
        int(node.value[2:], 8) if node.value.startswith("0o") else yaml.SafeLoader.construct_yaml_int(loader, node)
    ),
)


@pytest.fixture(scope="module")
def compose():
    return yaml.load(COMPOSE.read_text(), Yaml12)


def test_the_composition_fits_its_schema(compose):
    schema = get_builtin_schema("vendor.compose-spec")
    errors = [error.message for error in validator_for(schema)(schema).iter_errors(compose)]
    assert errors == []


def test_every_image_is_pinned_and_every_port_is_of_this_machine_only(compose):
    for name, service in compose["services"].items():
        image, _, tag = service["image"].rpartition(":")
        assert image, name
        assert tag != "latest" or "build" in service, name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_what_is_mounted_is_there(compose):
    mounted = [v for service in compose["services"].values() for v in service.get("volumes", ()) if isinstance(v, str)]
    paths = [text.split(":")[0] for text in mounted if text.startswith(".")]
    assert paths
    assert [path for path in paths if not (COMPOSE.parent / path).exists()] == []


def test_the_brokers_disks_are_sized(compose):
    for number in (1, 2, 3):
        service = compose["services"][f"kafka-{number}"]
        disks = {volume["target"]: volume["tmpfs"]["size"] for volume in service["volumes"]}
        assert sorted(disks) == service["environment"]["KAFKA_LOG_DIRS"].split(",")
        assert all(size == 256 << 20 for size in disks.values())


def test_every_spark_worker_has_a_work_directory_that_it_may_make(compose):
    commands = [service.get("command", ()) for service in compose["services"].values()]
    workers = [command for command in commands if "org.apache.spark.deploy.worker.Worker" in command]
    assert workers
    assert all(command[command.index("--work-dir") + 1].startswith("/tmp/") for command in workers)


def test_trino_learns_of_every_table():
    script = (ROOT / "docker" / "trino" / "register.sh").read_text()
    (names,) = re.findall(r'^tables="(.*)"$', script, re.MULTILINE)
    assert sorted(names.split()) == sorted(TABLES)


def test_the_configuration_of_the_composition_is_valid(compose):
    settings = Settings(**yaml.safe_load((ROOT / "docker" / "logdirwatch.yaml").read_text()))
    assert settings.stream.master is None
    named = {address for cluster in settings.clusters.values() for address in cluster.bootstrap_servers.split(",")}
    hosts = {address.split(":")[0] for address in (*named, settings.telemetry.bootstrap_servers)}
    assert hosts <= set(compose["services"])
    (demo,) = settings.clusters.values()
    assert demo.tools.prefix == f"docker exec --interactive {compose['name']}-kafka-1-1 /opt/kafka/bin/"


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_the_manifests_fit_the_schemas_of_kubernetes(path):
    for manifest in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_the_manifests_configuration_is_valid_and_its_probes_are_served(path):
    config, deployment = yaml.safe_load_all(path.read_text())
    settings = Settings(**yaml.safe_load(config["data"]["logdirwatch.yaml"]))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    section = {"collector": settings.collect, "autopilot": settings.autopilot}[path.stem]
    assert section.listen == f"0.0.0.0:{port['containerPort']}"
    newest = re.search(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert container["image"] == f"logdirwatch:{newest[1]}", "the newest release of the changelog"
    assert {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")} == {"/health", "/ready"}
    assert set(container["args"]) <= COMMANDS


def test_the_bundles_jobs_are_what_databricks_knows():
    bundle = yaml.safe_load(BUNDLE.read_text())
    jobs = {name: Job.from_dict(job) for name, job in bundle["resources"]["jobs"].items()}
    assert sorted(jobs) == ["maintain", "stream", "validate"]
    for name, job in jobs.items():
        (task,) = job.tasks
        assert task.python_wheel_task.parameters == (["tables", "optimize"] if name == "maintain" else [name])
        assert task.python_wheel_task.parameters[0] in COMMANDS


def test_the_bundles_stream_keeps_to_what_real_time_mode_demands():
    job = yaml.safe_load(BUNDLE.read_text())["resources"]["jobs"]["stream"]
    cluster = job["job_clusters"][0]["new_cluster"]
    assert "autoscale" not in cluster
    assert (cluster["runtime_engine"], cluster["data_security_mode"]) == ("STANDARD", "SINGLE_USER")
    assert cluster["aws_attributes"]["availability"] == "ON_DEMAND"
    assert cluster["spark_conf"]["spark.databricks.streaming.realTimeMode.enabled"] == "true"
    assert "continuous" in job


def test_the_bundles_clusters_are_dedicated_and_of_a_runtime_that_is_supported():
    bundle = yaml.safe_load(BUNDLE.read_text())
    clusters = [job["job_clusters"][0]["new_cluster"] for job in bundle["resources"]["jobs"].values()]
    assert {cluster["data_security_mode"] for cluster in clusters} == {"SINGLE_USER"}
    assert {cluster["spark_version"] for cluster in clusters} == {"${var.runtime}"}
    runtime = bundle["variables"]["runtime"]["default"]
    assert runtime.split(".")[0] in {name.split()[0].split(".")[0] for name in DATABRICKS_RUNTIMES}


def test_the_bundle_sets_on_a_cluster_nothing_that_the_session_sets():
    cluster = yaml.safe_load(BUNDLE.read_text())["resources"]["jobs"]["stream"]["job_clusters"][0]["new_cluster"]
    assert not cluster["spark_conf"].keys() & {*SESSION_CONF, *DELTA_CONF}


def test_the_bundles_variables_are_those_that_are_defined():
    text = BUNDLE.read_text()
    assert set(re.findall(r"\$\{var\.(\w+)\}", text)) == set(yaml.safe_load(text)["variables"])


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_a_command_that_there_is(path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(path)
    assert unit["Unit"]["Description"]
    if path.suffix == ".timer":
        assert path.with_suffix(".service").is_file()
        assert unit["Timer"]["OnCalendar"]
        return
    program, command, *options = unit["Service"]["ExecStart"].split()
    assert (program, command in COMMANDS) == ("/opt/logdirwatch/bin/logdirwatch", True)
    known = {name for parameter in get_command(app).commands[command].params for name in parameter.opts}
    assert {option for option in options if option.startswith("--")} <= known
    assert unit["Service"]["NoNewPrivileges"] == "true"


SERVICES = [path for path in UNITS if path.suffix == ".service"]
WRITES_TABLES = {"stream", "maintain", "validate"}


def settings_of(path):
    """The settings of a unit's service, each with all of its values."""
    found = {}
    for line in path.read_text().partition("[Service]")[2].partition("[Install]")[0].splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_unit_has_a_user_a_folder_and_secrets_of_its_part_alone(path):
    unit, part = settings_of(path), path.stem.removeprefix("logdirwatch-")
    user = "kafka" if part == "watch-host" else f"logdirwatch-{'stream' if part in WRITES_TABLES else part}"
    secrets = "host" if part == "watch-host" else user.removeprefix("logdirwatch-")
    assert unit["User"] == [user]
    assert unit["EnvironmentFile"] == [f"-/etc/logdirwatch/{secrets}.env"]
    (folder,), (home,) = unit["StateDirectory"], unit["WorkingDirectory"]
    assert home == f"/var/lib/{folder}"
    assert f"LOGDIRWATCH_HOME={home}" in unit["Environment"][0].split()
    assert (folder == "logdirwatch") == (part in WRITES_TABLES)
    assert user in (ROOT / "docs" / "deployment.md").read_text()


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_unit_may_do_nothing_on_its_host_that_it_does_not_need(path):
    unit = settings_of(path)
    assert (unit["CapabilityBoundingSet"], unit["AmbientCapabilities"]) == ([""], [""])
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces", "RestrictSUIDSGID"):
        assert unit[name] == ["true"], name
    assert unit["SystemCallFilter"][0] == "@system-service"
    # The probe takes a log directory that is read-only for a disk that failed.
    assert unit["ProtectSystem"] == ["full" if "watch-host" in path.name else "strict"]


def test_prometheus_is_asked_for_metrics_that_there_are():
    groups = yaml.safe_load((ROOT / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"]
    asked = {
        name for group in groups for rule in group["rules"] for name in re.findall(r"logdirwatch_\w+", rule["expr"])
    }
    served = {
        metric.name + ("_total" if metric.type == "counter" else "")
        for metrics in (CollectorMetrics([], Publisher(lambda: None, 1, 1)), StreamMetrics(Runner(None, None, {})))
        for metric in metrics.collect()
    }
    assert asked
    assert asked <= served
