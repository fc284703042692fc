"""``logdirwatch plan`` from a running cluster, carried out with Kafka's own tool: what happens is what it said.

Directories are sized filesystems, since space is the point.
"""

import json
import re
import subprocess
import sys
import time

import pytest

from logdirwatch import settings as configuration
from logdirwatch.cli.reading import live_cluster
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, Severity
from logdirwatch.plan.capacity.copy_rates import is_limit
from logdirwatch_lab.config import CLUSTER, ClusterSpec
from tests.kafka.conftest import cluster_in
from tests.kafka.telemetry import send_records
from tests.support.pasting import paste
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.plan.builders import MIB, space_alert

pytestmark = pytest.mark.long

SLOW_BYTES_PER_S = 1_500_000
SIZE = 64 * MIB
PARTITIONS = 14
"""More than a directory takes part in within one wave."""
INDEXES = 2 * (64 << 10)
"""What the two indexes of a segment take at most on the local cluster; Kafka's sizes leave them out."""
TOLERANCE = (PARTITIONS * (INDEXES + 16 * 1024) + MIB) / SIZE
"""Of a fill: the indexes and small files of each replica that moved, and what Kafka writes into its own files."""


@pytest.fixture(scope="module")
def sized(tmp_path_factory):
    """Two brokers with three directories of 64 MiB each."""
    spec = ClusterSpec(brokers=2, log_dirs=3, log_dir_size_bytes=SIZE)
    with cluster_in(tmp_path_factory.mktemp("sized"), spec) as running:
        telemetry_topics.create_missing(configuration.load(running.config_path))
        yield running


@pytest.fixture(scope="module")
def settings(sized):
    return configuration.load(sized.config_path)


@pytest.fixture
def plan(sized, tmp_path):
    """Run ``logdirwatch plan`` as a person does; return what it printed for programs."""

    def planned(*arguments):
        line = [sys.executable, "-m", "logdirwatch", "--config", str(sized.config_path), "plan", *arguments, "--json"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return planned


@pytest.fixture(autouse=True)
def emptied(sized):
    """What a test wrote is gone before the next one begins."""
    yield
    with clients.admin(KafkaSettings(bootstrap_servers=sized.bootstrap_servers)) as admin:
        admin.delete_topics([name for name in admin.list_topics() if name.startswith("fill-")])
    places = [(node.id, path) for node in sized.state().brokers for path in node.log_dirs]
    wait_until(
        lambda: all(sized.space(*place).used_ratio < 0.1 for place in places), DEADLINE_S, "the data to be deleted"
    )


def now_facts(settings):
    return live_cluster.facts_of(CLUSTER, live_cluster.seen(settings.clusters[CLUSTER], settings), settings, {})


def throttle(settings, broker):
    """Return the limit of moves within a broker, None where none is set."""
    value = now_facts(settings).brokers[broker].configs.get(LOG_DIR_THROTTLE)
    return int(value) if value is not None and is_limit(value) else None


def fill_of(sized, broker, path):
    return sized.space(broker, path).used_ratio


def settled(sized, wave):
    """Wait until every directory of a wave is as full as the plan says."""
    for one in wave["directories"]:
        wait_until(
            lambda one=one: abs(fill_of(sized, one["broker"], one["log_dir"]) - one["after_ratio"]) < TOLERANCE,
            DEADLINE_S,
            f"{one} to be as full as the plan says, not {fill_of(sized, one['broker'], one['log_dir'])}",
        )


def test_a_plan_is_applied_wave_by_wave_and_undone(sized, settings, tmp_path):
    """A person says yes; a kill in the middle is no loss."""
    source = sized.state().broker(1).log_dirs[0]
    sized.fill(1, 0, until_ratio=0.3, partitions=4)
    there = {replica.key for replica in now_facts(settings).replicas_in((1, source))}
    line = [sys.executable, "-m", "logdirwatch", "--config", str(sized.config_path)]
    evacuate = [*line, "plan", "--mode", f"evacuate:1:{source}", "--apply"]

    def run(*words, said="y\n"):
        return subprocess.run(words, input=said, capture_output=True, text=True, timeout=DEADLINE_S, check=False)

    dry = run(*evacuate, "--dry-run", said="")
    assert dry.returncode == 0, dry.stdout + dry.stderr
    assert "dry run: nothing was changed" in dry.stdout
    assert run(*evacuate, said="n\n").returncode == 1
    assert {replica.key for replica in now_facts(settings).replicas_in((1, source))} == there
    done = run(*evacuate)
    assert done.returncode == 0, done.stdout + done.stderr
    identity = re.search(r"undo it: logdirwatch apply --undo (plan-[0-9a-f]+)", done.stdout)[1]
    assert now_facts(settings).replicas_in((1, source)) == ()
    assert throttle(settings, 1) is None
    undone = run(*line, "apply", identity, "--undo")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert {replica.key for replica in now_facts(settings).replicas_in((1, source))} == there
    assert "there is nothing to go on with" in run(*line, "apply", identity, "--resume").stderr


def test_a_killed_plan_goes_on(sized, settings, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_PLAN__LOG_DIR_THROTTLE_BYTES_PER_S", str(SLOW_BYTES_PER_S))
    source = sized.state().broker(1).log_dirs[0]
    sized.fill(1, 0, until_ratio=0.3, partitions=4)
    line = [sys.executable, "-m", "logdirwatch", "--config", str(sized.config_path)]
    evacuate = [*line, "plan", "--mode", f"evacuate:1:{source}", "--apply"]
    with subprocess.Popen(evacuate, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write("y\n")
        running.stdin.flush()
        said = iter(running.stdout.readline, "")
        heading = next(line for line in said if "move_log_dir plan-" in line)
        next(line for line in said if line.startswith("copying"))
        running.kill()
    identity = re.search(r"plan-[0-9a-f]+", heading)[0]
    assert throttle(settings, 1) == SLOW_BYTES_PER_S
    done = subprocess.run(
        [*line, "apply", identity, "--resume", "--yes"], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert now_facts(settings).replicas_in((1, source)) == ()
    assert throttle(settings, 1) is None


def test_an_evacuation_planned_from_the_running_cluster_empties_the_directory_wave_by_wave(
    sized, settings, plan, tmp_path
):
    source = sized.state().broker(1).log_dirs[0]
    sized.fill(1, 1, until_ratio=0.15, partitions=2)
    sized.fill(1, 0, until_ratio=0.5, partitions=PARTITIONS)
    before = now_facts(settings)
    there = {replica.key: replica.size_bytes for replica in before.replicas_in((1, source))}
    assert len(there) >= PARTITIONS
    told = plan("--live", "--mode", f"evacuate:1:{source}", "--steps", "steps.json", "--reassignment", "all.json")
    assert told["moved"]["bytes"] == told["lower_bound"]["bytes"] == sum(there.values())
    assert set(told["violations"].values()) == {0}
    steps = json.loads((tmp_path / "steps.json").read_text())
    assert len(steps["waves"]) == 1, "copies that are done in five minutes share a wave"
    paste(steps["commands_before"], tmp_path)
    for wave in steps["waves"]:
        assert throttle(settings, 1) == wave["throttle"]["log_dir_bytes_per_s"] == 50_000_000
        assert "Clearing broker-level throttles" not in paste(wave["commands"], tmp_path)
        settled(sized, wave)
    paste(steps["commands_after"], tmp_path)
    assert throttle(settings, 1) is None
    after = now_facts(settings)
    assert after.replicas_in((1, source)) == ()
    whole = json.loads((tmp_path / "all.json").read_text())["partitions"]
    assert {(entry["topic"], entry["partition"]) for entry in whole} == set(there)
    for entry in whole:
        (path,) = [path for path in entry["log_dirs"] if path != "any"]
        (replica,) = [r for r in after.replicas_of((entry["topic"], entry["partition"])) if r.broker == 1]
        assert (replica.log_dir, replica.size_bytes) == (path, there[replica.key])
    fullest = max(fill_of(sized, 1, path) for path in sized.state().broker(1).log_dirs)
    assert fullest == pytest.approx(told["evacuation"]["max_ratio"], abs=TOLERANCE)


def test_new_replicas_and_moves_within_brokers_end_where_the_plan_says_under_a_low_limit(
    sized, settings, plan, tmp_path, monkeypatch
):
    """Kafka creates a new replica where the fewest logs are; it must not stay there because moves are limited."""
    for kind in ("LOG_DIR", "REPLICATION"):
        monkeypatch.setenv(f"LOGDIRWATCH_PLAN__{kind}_THROTTLE_BYTES_PER_S", str(SLOW_BYTES_PER_S))
    sized.fill(1, 0, until_ratio=0.6, partitions=PARTITIONS)
    sized.fill(0, 2, until_ratio=0.05, partitions=1)
    before = now_facts(settings)
    told = plan("--live", "--mode", "balance-all", "--steps", "steps.json", "--reassignment", "all.json")
    assert told["moved"]["waves"] > 1
    assert min(told["moved"]["within_brokers_bytes"], told["moved"]["between_brokers_bytes"]) > 0
    assert set(told["violations"].values()) == {0}
    steps = json.loads((tmp_path / "steps.json").read_text())
    paste(steps["commands_before"], tmp_path)
    for wave in steps["waves"]:
        paste(wave["commands"], tmp_path)
        settled(sized, wave)
    paste(steps["commands_after"], tmp_path)
    after = now_facts(settings)
    for entry in json.loads((tmp_path / "all.json").read_text())["partitions"]:
        key = entry["topic"], entry["partition"]
        assert after.partitions[key].replicas == tuple(entry["replicas"])
        lie = {replica.broker: replica.log_dir for replica in after.replicas_of(key) if not replica.is_future}
        for broker, path in zip(entry["replicas"], entry["log_dirs"], strict=True):
            stays = next((r.log_dir for r in before.replicas_of(key) if r.broker == broker), None)
            assert lie[broker] == (stays if path == "any" else path)
    assert [throttle(settings, broker) for broker in (0, 1)] == [None, None]


def test_one_plan_for_the_open_alerts_brings_the_directory_down_as_far_as_it_says(sized, settings, plan, tmp_path):
    path = sized.state().broker(0).log_dirs[0]
    sized.fill(0, 1, until_ratio=0.15, partitions=2)
    sized.fill(0, 0, until_ratio=0.8, partitions=6)
    at_ms = time.time_ns() // 1_000_000
    alert = space_alert(
        "critical", cluster=CLUSTER, number=0, log_dir=path, severity=Severity.CRITICAL, opened_at_ms=at_ms, at_ms=at_ms
    )
    send_records(settings, topics.ALERTS, alert)
    (told,) = plan("--live", "--mode", "fix", "--steps", "steps.json")["alerts"]
    assert told["missing_bytes"] == 0
    assert told["actions"][0]["kind"] == "move_log_dir"
    for wave in json.loads((tmp_path / "steps.json").read_text())["waves"]:
        paste(wave["commands"], tmp_path)
        settled(sized, wave)
    assert fill_of(sized, 0, path) < 0.7 + TOLERANCE
    assert throttle(settings, 0) is None
