"""No secret shows anywhere: all parts run with one in every place that takes one, and all they leave is searched."""

import json
import os
import re
import subprocess
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path

import psutil
import pytest
import requests
from deltalake import DeltaTable

from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch_lab import ports
from logdirwatch_lab.config import INTERPRETED
from logdirwatch_lab.demo.services import Service
from tests.kafka.acls import run_tool
from tests.kafka.collecting import COMMAND
from tests.kafka.conftest import JARS_HOME
from tests.kafka.secured import add_scram_users, secured_broker
from tests.kafka.telemetry import Message, Run, fresh_topics, send, send_records
from tests.support.login import Person
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.report.builders import alert

pytestmark = [pytest.mark.long, pytest.mark.release]

# In letters and digits alone, so that no escaping hides one.
SECRETS = {
    "telemetry": "Sesame4711telemetry",
    "key": "Sesame4711key",
    "wrong": "Sesame4711wrong",
    "url": "Sesame4711url",
    "header": "Sesame4711header",
    "console": "Sesame4711console",
    "login": "Sesame4711login",
    "store": "Sesame4711store",
}
ALERT = "a" * 32
QUERIES = ("fast_lane", "detect", "fleet", "store", "store_inventory", "recommend")
ONE_SHOTS = (
    ("config", "check"),
    ("config", "check", "--all"),
    ("status",),
    ("alerts",),
    ("actions",),
    ("doctor",),
    ("topics", "list"),
    ("collect", "--once"),
    ("notify", "--test"),
)


MAY = "--allow-principal User:stream --operation All --resource-pattern-type prefixed --topic logdir."
MAY_NOT = "--deny-principal User:stream --operation Read --topic logdir.events"


@pytest.fixture
def secured(tmp_path_factory):
    with secured_broker(tmp_path_factory.mktemp("secured"), JARS_HOME) as broker:
        acl(broker, MAY)
        add_scram_users(broker.admin, {"stream": SECRETS["telemetry"]})
        yield broker


def acl(secured, words):
    run_tool(secured, ["kafka-acls.sh", "--bootstrap-server", secured.sasl, "--add", *words.split()])


class Places:
    """Where a secret could show: each place with what is there."""

    def __init__(self):
        self.searched = {}

    def add(self, place, content):
        """Take a place in; what is there must not be empty."""
        self.searched[place] = content if isinstance(content, bytes) else str(content).encode()

    def with_text(self, text):
        return {place for place, content in self.searched.items() if text.encode() in content}

    def showing(self):
        return {
            (name, place)
            for place, content in self.searched.items()
            for name, secret in SECRETS.items()
            if secret.encode() in content
        }


def test_no_secret_shows_anywhere(watched, secured, tmp_path):
    settings = watched.model_copy(update={"telemetry": secured.admin})
    fresh_topics(settings)
    at = dict(zip(("ui", "stream", "collect", "console"), ports.free_ports(4), strict=True))
    places = Places()
    with receiving() as receiver, ExitStack() as running:
        receiver.status = 503
        stream = Run(tmp_path / "run", settings, contents(secured, receiver, at, tmp_path / "users"), queries=QUERIES)
        environment = secrets_in_environment(secured)
        running.enter_context(environment_of(environment))
        parts = {name: service(name, stream, tmp_path) for name in ("collect", "notify")}
        stream.start()
        running.callback(stream.stop)
        for part in parts.values():
            running.callback(part.start().stop)
        at_ms = time.time_ns() // 1_000_000
        send(settings, [Message(topics.EVENTS, b"garbage", at_ms)])
        send_records(settings, topics.ALERTS, alert(ALERT, 1))
        stream.wait_for(lambda: stream.rows("broker_state"), "the tables written", DEADLINE_S)
        stream.wait_for(lambda: "notify.receiver.failed" in log_of(parts["notify"]), "notify to fail")
        added = said(stream, secured, ("console", "add-user", "ada"), False, typed=SECRETS["login"])
        places.add("console add-user", added)
        console = service("console", stream, tmp_path)
        running.callback(console.start().stop)
        wait_until(lambda: "console.listening" in log_of(console), DEADLINE_S, "the console")
        with ThreadPoolExecutor(4) as pool:
            answers = pool.map(lambda asked: (asked, said(stream, secured, *asked)), product(ONE_SHOTS, (False, True)))
            for (words, is_wrong), answer in answers:
                places.add(f"{' '.join(words)} {is_wrong}", answer)
        acl(secured, MAY_NOT)
        stream.wait_for(lambda: "query.failed" in (stream.folder / "stream.log").read_text(), "a query to fail")
        browse(places, at)
        log_in(places, f"http://127.0.0.1:{at['console']}")
        look_at_processes(places, stream)
    look_at_files(places, tmp_path, stream)
    look_at_records(places, settings)
    assert places.showing() == set()
    assert places.with_text(hash_in(tmp_path / "users")) == {"file users"}
    assert "console.decided" in log_of(console)
    was_looked_at(places)


def contents(secured, receiver, at, users):
    """Return a configuration with a secret in every place of the file that takes one."""
    url = f"json://user:{SECRETS['url']}@127.0.0.1:{receiver.port}/{SECRETS['url']}?rate=0&+X-Token={SECRETS['header']}"
    return {
        "telemetry": {"bootstrap_servers": secured.sasl_tls},
        "clusters": {"test": {"bootstrap_servers": secured.mutual}},
        "collect": {"listen": f"127.0.0.1:{at['collect']}", "metrics_interval_ms": 500},
        "notify": {"receivers": {"ops": {"urls": [url]}}, "group_wait_ms": 200, "backoff_max_ms": 1_000},
        "console": {"listen": f"127.0.0.1:{at['console']}", "login": {"users_file": str(users)}},
        "stream": {
            "driver_memory": "1g",
            "listen": f"127.0.0.1:{at['stream']}",
            "pipeline_interval_ms": 500,
            "store_trigger": "2 seconds",
            "store_inventory_trigger": "2 seconds",
            "fleet_trigger": "1 second",
            "stop_timeout_ms": 1_000,
            "driver_java_options": "-XX:TieredStopAtLevel=1",
            "shuffle_partitions": 1,
            "extra": {
                **INTERPRETED,
                "spark.ui.enabled": "true",
                "spark.ui.port": str(at["ui"]),
                "spark.sql.maxPlanStringLength": "1000000",
                # The first plans are wanted too, however many batches a slow machine has done since.
                "spark.sql.ui.retainedExecutions": "10000",
                "spark.sql.debug.maxToStringFields": "1000",
                "spark.hadoop.fs.azure.account.key.tables": SECRETS["store"],
            },
        },
    }


def secrets_in_environment(secured):
    client = secured.sasl_tls_client("stream", SECRETS["telemetry"])
    return {
        "LOGDIRWATCH_TELEMETRY__CLIENT": json.dumps(client),
        "LOGDIRWATCH_CLUSTERS__TEST__CLIENT": json.dumps(secured.mutual_client("admin", SECRETS["key"])),
        "LOGDIRWATCH_CONSOLE__PASSWORD": SECRETS["console"],
    }


class environment_of:  # noqa: N801 - reads as what it is
    """The test's own environment with some variables, which what it starts inherits."""

    def __init__(self, variables):
        self._variables = variables

    def __enter__(self):
        os.environ.update(self._variables)

    def __exit__(self, *_):
        for name in self._variables:
            del os.environ[name]


def service(name, stream, folder):
    return Service(name, ["--config", str(stream.config), name], folder / f"{name}.log")


def log_of(part):
    return part.log_file.read_text()


def said(stream, secured, words, is_wrong, typed=""):
    """Return all that a command says, with the right password or a wrong one."""
    environment = dict(os.environ)
    if is_wrong:
        environment["LOGDIRWATCH_TELEMETRY__CLIENT"] = json.dumps(secured.sasl_tls_client("stream", SECRETS["wrong"]))
    line = [*COMMAND, "--config", str(stream.config), *words]
    given = f"{typed}\n".encode()
    done = subprocess.run(line, input=given, capture_output=True, timeout=DEADLINE_S, check=False, env=environment)
    return done.stdout + done.stderr


def browse(places, at):
    """Look at every page of Spark's interface that shows configuration or plans, and at every endpoint of ours."""
    ui = f"http://127.0.0.1:{at['ui']}"
    (application,) = requests.get(f"{ui}/api/v1/applications", timeout=DEADLINE_S).json()
    api = f"/api/v1/applications/{application['id']}"
    executions = requests.get(f"{ui}{api}/sql?details=true&planDescription=true&length=10000", timeout=DEADLINE_S)
    places.add("ui sql", executions.content)
    numbers = [one["id"] for one in executions.json()]
    plans = [f"/SQL/execution/?id={number}" for number in numbers[:: max(1, len(numbers) // 40)]]
    pages = ["/environment/", "/SQL/", "/jobs/", "/StreamingQuery/", "/executors/", f"{api}/environment", *plans]
    for page in [*pages, f"{api}/jobs", f"{api}/stages"]:
        places.add(f"ui {page}", requests.get(f"{ui}{page}", timeout=DEADLINE_S).content)
    for name in ("stream", "collect"):
        for page in ("/metrics", "/health", "/ready"):
            places.add(f"{name} {page}", requests.get(f"http://127.0.0.1:{at[name]}{page}", timeout=DEADLINE_S).content)
    for page in ("/", "/alerts", "/actions"):
        # Few wrong ones: after three of them everybody has to wait.
        for password in (SECRETS["console"], *([SECRETS["wrong"]] if page == "/" else [])):
            url = f"http://127.0.0.1:{at['console']}{page}"
            answer = requests.get(url, auth=("logdirwatch", password), timeout=DEADLINE_S)
            places.add(f"console {page} {answer.status_code}", answer.content + str(answer.headers).encode())


def log_in(places, address):
    """Type passwords into every field of the console's login, the right one at last, and decide."""
    basic = b64encode(f"logdirwatch:{SECRETS['console']}".encode()).decode()
    person = Person(address, Authorization=f"Basic {basic}")
    for name, password in (("ada", SECRETS["wrong"]), (SECRETS["wrong"], ""), ("ada", SECRETS["login"])):
        answer = person.log_in(name, password)
        places.add(f"login {name} {answer.status_code}", answer.content + str(answer.headers).encode())
    assert answer.status_code == 303
    page = f"/alerts/{ALERT}"
    person.send(page, f"{page}/acknowledge", reason="a test")
    places.add("console decided", person.get(page).content)


def hash_in(users):
    return users.read_text().strip().partition(":")[2]


def look_at_processes(places, stream):
    """Every user of a machine may read the command lines of all processes.

    What is in ``stream.extra`` is there, for PySpark starts its JVM so; docs/security.md warns of it.
    """
    driver = psutil.Process(stream.service.pid)
    lines = []
    for process in (driver, *driver.children(recursive=True)):
        # One that has just ended has none any more.
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    places.add("command lines", "\n".join(lines).replace(SECRETS["store"], ""))


def look_at_files(places, folder, stream):
    """Every file that was written, and the rows of every table, which are compressed in theirs."""
    taking_secrets = {stream.config}
    for path in folder.rglob("*"):
        if path.is_file() and path not in taking_secrets:
            places.add(f"file {path.relative_to(folder)}", path.read_bytes())
    for log in Path(stream.settings.tables_path).glob("*/_delta_log"):
        rows = DeltaTable(log.parent).to_pyarrow_table().to_pylist()
        places.add(f"table {log.parent.name}", rows)


def look_at_records(places, settings):
    for topic in topics.TOPICS:
        for record in clients.read_all(settings.telemetry, topic.name):
            place = f"record {topic.name}/{record.partition}/{record.offset}"
            places.add(place, b"%b %b %r" % (record.key or b"", record.value or b"", repr(record.headers).encode()))


def was_looked_at(places):
    """A search that found nothing has proved nothing where there was nothing."""
    together = b"\n".join(places.searched.values())
    assert b"Subscribe[" in together, "some plan shows Kafka's source"
    environment = next(content for place, content in places.searched.items() if place.endswith("/environment"))
    assert b"spark.hadoop.fs.azure.account.key.tables" in environment
    assert b"redacted" in environment
    for kind in ("file run/checkpoints/detect", "file run/tables", "table broker_state", f"record {topics.METRICS}"):
        assert any(place.startswith(kind) for place in places.searched), kind
    for name in ("stream", "collect"):
        assert b"logdirwatch_" in places.searched[f"{name} /metrics"], name
    assert b"********" in places.searched["config check False"]
    assert re.search(b"credentials|Authentication", places.searched["topics list True"])
