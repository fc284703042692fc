"""The bundle for Databricks: each resource is one that Databricks knows, and names what there really is."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from databricks.bundles.alerts import Alert
from databricks.bundles.apps import App
from databricks.bundles.dashboards import Dashboard
from databricks.bundles.external_locations import ExternalLocation
from databricks.bundles.genie_spaces import GenieSpace
from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema
from databricks.bundles.secret_scopes import SecretScope
from databricks.bundles.sql_warehouses import SqlWarehouse
from typer.main import get_command

from logdirwatch import __version__, settings
from logdirwatch.cli.main import app
from logdirwatch.jobs.session import DELTA_CONF, SESSION_CONF
from logdirwatch.reference.support import DATABRICKS_RUNTIMES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "conf" / "databricks"
FILES = sorted(FOLDER.glob("resources/*.yml"))
KINDS = {
    "alerts": Alert,
    "apps": App,
    "dashboards": Dashboard,
    "external_locations": ExternalLocation,
    "genie_spaces": GenieSpace,
    "jobs": Job,
    "schemas": Schema,
    "secret_scopes": SecretScope,
    "sql_warehouses": SqlWarehouse,
}
NAMES = ("display_name", "name", "title")
COMMANDS = get_command(app).commands


def merged(one, other):
    """As bundles merge a target into the rest: maps by key, the clusters of a job by their key."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: merged(one[key], value) if key in one else value for key, value in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        by_key = {cluster["job_cluster_key"]: cluster for cluster in one}
        return [merged(by_key[cluster["job_cluster_key"]], cluster) for cluster in other]
    return other


def resources_of(target):
    found = {}
    for path in FILES:
        found = merged(found, yaml.safe_load(path.read_text())["resources"])
    return merged(found, copy.deepcopy(BUNDLE["targets"][target].get("resources", {})))


BUNDLE = yaml.safe_load((FOLDER / "databricks.yml").read_text())
TARGETS = sorted(BUNDLE["targets"])
RESOURCES = {target: resources_of(target) for target in TARGETS}
PROD = RESOURCES["prod"]
EVERY_TEXT = "\n".join(path.read_text() for path in [FOLDER / "databricks.yml", *FILES])


@pytest.mark.parametrize("target", TARGETS)
def test_every_resource_is_what_databricks_knows(target):
    # Raises for a field or a value that there is not.
    made = {(k, n): KINDS[k].from_dict(one) for k, group in RESOURCES[target].items() for n, one in group.items()}
    assert made
    assert BUNDLE["include"] == ["resources/*.yml"]


def test_every_variable_is_described_and_used_and_no_other_is():
    used = set(re.findall(r"\$\{var\.(\w+)\}", EVERY_TEXT))
    assert used == set(BUNDLE["variables"])
    assert all(len(variable["description"]) > 10 for variable in BUNDLE["variables"].values())
    page = (ROOT / "docs" / "databricks.md").read_text()
    assert not [name for name in BUNDLE["variables"] if f"`{name}`" not in page and f'"{name}"' not in page]


def test_what_a_resource_says_of_another_one_is_there():
    for kind, name, field in re.findall(r"\$\{resources\.(\w+)\.(\w+)\.(\w+)\}", EVERY_TEXT):
        known = PROD[kind][name]
        assert field in known or field in ("id", "service_principal_client_id"), f"{kind}.{name}.{field}"


@pytest.mark.parametrize("target", TARGETS)
def test_every_file_that_the_bundle_names_is_there(target):
    paths = re.findall(r"(?:file_path|source_code_path): (\S+)", "\n".join(path.read_text() for path in FILES))
    assert all((FOLDER / "resources" / path).exists() for path in paths)
    wheels = {
        lib["whl"] for job in RESOURCES[target]["jobs"].values() for t in job["tasks"] for lib in t["libraries"][:1]
    }
    assert wheels == {"../app/*.whl"}
    assert {file["source"] for file in BUNDLE["artifacts"]["logdirwatch"]["files"]} == {"app/*.whl"}
    assert BUNDLE["sync"]["include"] == ["app/*.whl"]
    assert (FOLDER / BUNDLE["artifacts"]["logdirwatch"]["path"]).resolve() == ROOT
    assert "conf/databricks/app/*.whl" in (ROOT / ".gitignore").read_text().split()


def test_two_targets_in_one_workspace_share_no_name():
    """Databricks puts the developer's name in front of the others in development mode; prod and small have folders."""
    prefixed = {"alerts", "dashboards", "genie_spaces", "jobs", "schemas", "sql_warehouses"}
    for kind in PROD.keys() - prefixed:
        for one in PROD[kind].values():
            (name,) = (one[key] for key in NAMES if key in one)
            assert "${bundle.target}" in name, name
    for target in ("prod", "small"):
        assert "${bundle.target}" in BUNDLE["targets"][target]["workspace"]["root_path"]


def test_the_principal_is_named_where_it_runs_something():
    """Not for the whole bundle: the CLI refuses that beside an app, which runs as itself."""
    assert "run_as" not in BUNDLE
    assert all("run_as" not in target for target in BUNDLE["targets"].values())
    for kind in ("jobs", "alerts"):
        for one in PROD.get(kind, {}).values():
            assert one["run_as"] == {"service_principal_name": "${var.principal}"}
    assert {"level": "CAN_VIEW", "service_principal_name": "${var.principal}"} in BUNDLE["permissions"]


def test_who_reads_may_write_nothing():
    (schema,) = PROD["schemas"].values()
    granted = {grant["principal"]: set(grant["privileges"]) for grant in schema["grants"]}
    assert granted.pop("${var.principal}") == {"USE_SCHEMA", "CREATE_TABLE", "SELECT", "MODIFY"}
    assert "${var.readers}" in granted
    assert all(privileges == {"USE_SCHEMA", "SELECT"} for privileges in granted.values())
    (location,) = PROD["external_locations"].values()
    assert [grant["principal"] for grant in location["grants"]] == ["${var.principal}"]
    levels = {
        permission["level"]
        for kind in ("alerts", "dashboards", "genie_spaces", "sql_warehouses")
        for one in PROD.get(kind, {}).values()
        for permission in one["permissions"]
    }
    assert levels <= {"CAN_READ", "CAN_RUN", "CAN_USE", "CAN_VIEW"}


@pytest.mark.parametrize("target", TARGETS)
def test_the_jobs_run_commands_that_there_are(target):
    tasks = {task["task_key"]: task for job in RESOURCES[target]["jobs"].values() for task in job["tasks"]}
    commands = {key: task["python_wheel_task"]["parameters"] for key, task in tasks.items()}
    assert commands == {"stream": ["stream"], "optimize": ["tables", "optimize"], "validate": ["validate"]}
    assert {words[0] for words in commands.values()} <= set(COMMANDS)
    for job in RESOURCES[target]["jobs"].values():
        (cluster,) = job["job_clusters"]
        assert {task["job_cluster_key"] for task in job["tasks"]} == {cluster["job_cluster_key"]}


def test_tables_are_validated_at_night_also_when_one_could_not_be_optimized():
    validate = next(task for task in PROD["jobs"]["nightly"]["tasks"] if task["task_key"] == "validate")
    assert validate["run_if"] == "ALL_DONE"
    assert validate["depends_on"] == [{"task_key": "optimize"}]
    quality = re.search(r'^quality = \["(.+)"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert {"pypi": {"package": quality}} in validate["libraries"]


@pytest.mark.parametrize("target", TARGETS)
def test_the_clusters_are_dedicated_of_a_fixed_size_and_of_a_runtime_that_is_supported(target):
    clusters = [job["job_clusters"][0]["new_cluster"] for job in RESOURCES[target]["jobs"].values()]
    assert {cluster["data_security_mode"] for cluster in clusters} == {"SINGLE_USER"}
    assert {cluster["spark_version"] for cluster in clusters} == {"${var.runtime}"}
    assert not [cluster for cluster in clusters if "autoscale" in cluster]
    runtime = BUNDLE["variables"]["runtime"]
    supported = {name.split()[0].split(".")[0] for name in DATABRICKS_RUNTIMES}
    assert set(re.findall(r"(\d+)(?:\.\d+)?\.x", runtime["description"])) == supported
    assert runtime["default"].split(".")[0] in supported


def test_the_stream_keeps_to_what_real_time_mode_demands():
    job = PROD["jobs"]["stream"]
    cluster = job["job_clusters"][0]["new_cluster"]
    assert cluster["runtime_engine"] == "STANDARD"
    assert cluster["aws_attributes"]["availability"] == "ON_DEMAND"
    assert cluster["spark_conf"]["spark.databricks.streaming.realTimeMode.enabled"] == "true"
    assert "continuous" in job


def test_a_cluster_is_configured_with_nothing_that_the_session_sets():
    cluster = PROD["jobs"]["stream"]["job_clusters"][0]["new_cluster"]
    assert not cluster["spark_conf"].keys() & {*SESSION_CONF, *DELTA_CONF}


def test_a_small_fleet_has_one_node_and_no_query_that_holds_slots():
    for job in RESOURCES["small"]["jobs"].values():
        cluster = job["job_clusters"][0]["new_cluster"]
        assert cluster["num_workers"] == 0
        assert cluster["spark_conf"]["spark.databricks.cluster.profile"] == "singleNode"
        assert cluster["spark_conf"]["spark.master"].startswith("local[")
        assert cluster["custom_tags"] == {"ResourceClass": "SingleNode"}
        assert cluster["spark_env_vars"]["LOGDIRWATCH_STREAM__FAST_LANE_MODE"] == "micro_batch"


ENVIRONMENTS = [
    pytest.param(job["job_clusters"][0]["new_cluster"]["spark_env_vars"], id=f"{target}-{name}")
    for target in TARGETS
    for name, job in RESOURCES[target]["jobs"].items()
]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_configuration_is_one_with_what_the_bundle_adds(environment, monkeypatch):
    assert environment["LOGDIRWATCH_CONFIG"].removeprefix("${workspace.file_path}/") == "app/logdirwatch.yaml"
    loaded = with_environment(environment, monkeypatch)
    assert loaded.stream.master is None
    assert loaded.checkpoints.path == "${resources.external_locations.checkpoints.url}"
    assert (loaded.tables.catalog, loaded.tables.path) == ("${resources.schemas.tables.catalog_name}", None)
    assert loaded.telemetry.client == {"security.protocol": "SASL_SSL"}


def test_the_console_runs_what_the_deployment_puts_beside_it_as_an_app(monkeypatch):
    (console,) = PROD["apps"].values()
    assert console["config"]["command"] == ["logdirwatch", "console"]
    assert "console" in COMMANDS
    wheel = f"logdirwatch-{__version__}-py3-none-any.whl"
    lines = (FOLDER / "app" / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [f"./{wheel}[databricks]"]
    given = {one["name"]: one.get("value", "{{}}") for one in console["config"]["env"]}
    assert given["LOGDIRWATCH_CONFIG"] == "logdirwatch.yaml"
    sources = {one["value_from"] for one in console["config"]["env"] if "value_from" in one}
    assert sources <= {one["name"] for one in console["resources"]}
    # As every App has them.
    apps_own = {"DATABRICKS_HOST": "adb-1.net", "DATABRICKS_CLIENT_ID": "c", "DATABRICKS_CLIENT_SECRET": "s"}
    loaded = with_environment(given | apps_own, monkeypatch)
    assert loaded.console.databricks_app
    assert (loaded.tables.databricks.server_hostname, loaded.tables.databricks.client_id) == ("adb-1.net", "c")


def test_the_console_reads_and_who_operates_opens_it():
    (schema,) = PROD["schemas"].values()
    itself = {"principal": "${resources.apps.console.service_principal_client_id}"}
    assert itself | {"privileges": ["USE_SCHEMA", "SELECT"]} in schema["grants"]
    (console,) = PROD["apps"].values()
    assert console["permissions"] == [{"level": "CAN_USE", "group_name": "${var.operators}"}]


def with_environment(environment, monkeypatch):
    """The configuration as a process of the bundle loads it, with a secret in place of its reference."""
    for name, value in environment.items():
        monkeypatch.setenv(name, re.sub(r"\{\{.*\}\}", '{"security.protocol": "SASL_SSL"}', value))
    return settings.load(FOLDER / "app" / "logdirwatch.yaml")
