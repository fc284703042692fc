"""Directories that fill on real brokers, with the autopilot and without it, and whether it keeps its promises.

    python bench/bench_autopilot.py [--runs 3] [--seed 1] [--without-autopilot] [--logs FOLDER]

Starts a cluster of three brokers with two sized disks each and lets one seeded incident after the other happen on it
(pilot_incidents.py): a topic grows until its directory would be full. What its brokers say goes through the product's
state machine and planner (pilot_watch.py), and a process of ``logdirwatch autopilot``, which may do everything
unattended that it can be allowed, carries their actions out; without it the same seeds show that the directory runs
full. At the end of each run everything is read back from the brokers (pilot_stage.py).

Printed for each run: the incident, the highest use of its directory, the directories that went offline, protected
records that are gone, throttles left, what somebody else had set, every execution with its end, and why other actions
were not taken; the autopilot's logs are kept in ``--logs``. Exit code 1 if a promise is broken: a directory went
offline although something could help; a protected record is gone; a partition has fewer replicas; a throttle is left;
something of somebody else was changed; an execution did not end, or is stuck without a reason; or not all was written,
as on a machine that stood still. Without the autopilot, if a directory did not run full.
"""

import argparse
import logging
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the clusters of the tests

import msgspec
import structlog
import yaml

from logdirwatch import settings as configuration
from logdirwatch.autopilot.feed import TOPICS
from logdirwatch.executions import is_running
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.model import topics
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState
from logdirwatch.plan.action_types import EXECUTABLE
from logdirwatch.settings import Settings
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import CLUSTER, ClusterSpec
from logdirwatch_lab.demo.services import Service
from pilot_incidents import BROKERS, LOG_DIRS, POLICIES, SIZES, Incident, Relief, incident
from pilot_stage import Stage
from pilot_watch import Watch
from tests.kafka.applying import watched
from tests.kafka.conftest import cluster_in
from tests.support.waiting import DEADLINE_S, wait_until

LOOK_S = 1.0
LONGEST_S = 150.0
SETTLES_S = 6.0
"""How long nothing must run at the end of a burst, so that an action under way is begun."""
NOT_TAKEN = re.compile(r"autopilot\.not_taken .*?kind=(\S+) .*?why=(['\"])(.*?)\2(?: \w+=|$)")


@dataclass
class Result:
    """What became of one incident."""

    incident: Incident
    is_piloted: bool
    highest_ratio: float = 0.0
    poured_bytes: int = 0
    offline: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    shrunk: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    executions: list[ExecutionRecord] = field(default_factory=list)
    not_taken: set[str] = field(default_factory=set)
    seconds: float = 0.0

    def broken(self) -> Iterator[str]:
        """Yield each promise that is broken."""
        if not self.is_piloted:
            if not self.offline:
                yield "the directory did not run full without the autopilot"
            return
        if not self.offline and self.poured_bytes < self.incident.burst_bytes:
            yield f"proves nothing: {self.poured_bytes} of {self.incident.burst_bytes} bytes were written"
        if self.offline and self.incident.relief is not Relief.NOTHING:
            yield f"{self.incident.relief.value} could help, and offline went {', '.join(self.offline)}"
        yield from (f"protected records are gone: {one}" for one in self.lost)
        yield from (f"fewer replicas than before: {one}" for one in self.shrunk)
        yield from (f"a throttle is left: {one}" for one in self.left)
        yield from (f"of somebody else was changed: {one}" for one in self.touched)
        for one in self.executions:
            if is_running(one) or (one.state is ExecutionState.STUCK and not one.reason):
                yield f"{one.kind} has no end: {one.state}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=1, help="of the first run; the next ones follow")
    arguments.add_argument("--without-autopilot", action="store_true")
    arguments.add_argument("--logs", type=Path)
    chosen = arguments.parse_args()
    # Mounts and processes go away also when somebody ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    is_piloted = not chosen.without_autopilot
    print(f"{'with' if is_piloted else 'without'} the autopilot\n\n{HEADER}", flush=True)
    results = []
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logdirwatch-bench-")))
        disks = stack.enter_context(cluster_in(home, ClusterSpec(BROKERS, LOG_DIRS, SIZES[0])))
        bench = Bench(disks, home, chosen.logs or home)
        for seed in range(chosen.seed, chosen.seed + chosen.runs):
            results.append(bench.run(incident(seed), is_piloted=is_piloted))
            print("\n".join(lines(results[-1])), flush=True)
    print(f"\n{summary(results)}")
    return 1 if any(any(one.broken()) for one in results) else 0


class Bench:
    """One cluster, and a configuration in which the autopilot may do everything by itself."""

    def __init__(self, disks: LocalCluster, folder: Path, logs: Path) -> None:
        self._disks, self._logs = disks, logs
        self._config = folder / "bench.yaml"
        self._config.write_text(yaml.safe_dump(pilot_config(disks)))
        self._own: Settings = configuration.load(self._config)

    def run(self, wanted: Incident, *, is_piloted: bool) -> Result:
        """Let an incident happen."""
        began_s, result = time.monotonic(), Result(wanted, is_piloted)
        with clients.admin(watched(self._own)) as admin:
            stage = Stage(self._disks, self._own, admin)
            try:
                stage.set_up(wanted)
                limits, moves = stage.limits(), stage.foreign_moves()
                if is_piloted:
                    self._piloted(stage, result)
                else:
                    self._burst(stage, result)
                result.offline, result.poured_bytes = stage.offline(), stage.poured_bytes
                if is_piloted:
                    result.lost, result.shrunk = stage.lost(), stage.shrunk()
                left = stage.limits()
                result.left = [f"{who} {key}={left[who, key]}" for who, key in sorted(left.keys() - limits.keys())]
                gone = sorted(one for one, value in limits.items() if left.get(one) != value)
                result.touched = [f"{key} of {who}" for who, key in gone]
                led_to = stage.foreign_moves()
                result.touched += [f"{key[0]}-{key[1]}" for key in moves if led_to.get(key) != moves[key]]
            finally:
                stage.clear()
        result.seconds = time.monotonic() - began_s
        return result

    def _piloted(self, stage: Stage, result: Result) -> None:
        _empty_topics(self._own)
        log = self._logs / f"autopilot-{result.incident.seed}.log"
        log.unlink(missing_ok=True)
        service = Service("autopilot", ["--config", str(self._config), "autopilot"], log)
        with ExitStack() as stack:
            stack.callback(service.stop)
            service.start()
            watch = stack.enter_context(Watch(self._own))
            self._burst(stage, result, service, watch)
        result.executions = executions(self._own)
        found = (NOT_TAKEN.search(line) for line in log.read_text().splitlines())
        result.not_taken = {f"{one[1]} {one[3]}" for one in found if one}

    def _burst(self, stage: Stage, result: Result, service: Service | None = None, watch: Watch | None = None) -> None:
        """Pour until all is written and nothing runs any more, or a directory is offline."""
        stop, ends_s = threading.Event(), time.monotonic() + LONGEST_S
        pouring = threading.Thread(target=stage.pour, args=(result.incident, stop), daemon=True)
        pouring.start()
        idle_s = time.monotonic()
        try:
            while time.monotonic() < ends_s:
                result.highest_ratio = max(result.highest_ratio, stage.used_ratio(result.incident.place))
                if service is not None and watch is not None:
                    service.check()
                    watch.check()
                is_busy = pouring.is_alive() or (watch and any(is_running(one) for one in executions(self._own)))
                idle_s = time.monotonic() if is_busy else idle_s
                if stage.offline() or (not is_busy and time.monotonic() - idle_s > SETTLES_S):
                    break
                time.sleep(LOOK_S)
        finally:
            stop.set()
            pouring.join()


def pilot_config(disks: LocalCluster) -> dict[str, object]:
    """The local cluster's configuration with owners' floors and waits of seconds, as disks here fill in a minute."""
    content: dict[str, dict] = yaml.safe_load(disks.config_path.read_text())
    content["collect"] |= {"inventory_interval_ms": 1_000}
    content["clusters"][CLUSTER]["tools"] |= {"timeout_ms": 2_000}
    rules = [{"topic": f"{name}*", **said} for name, said in POLICIES.items()]
    content["plan"] |= {"inventory_delay_ms": 4_000, "topics": rules}
    content["autopilot"] = {
        "settle_ms": 2_000,
        "recheck_ms": 2_000,
        "clusters": {
            CLUSTER: {"kinds": {str(kind): {"unattended": True} for kind in EXECUTABLE}, "max_actions_per_hour": 1_000}
        },
    }
    return content


def _empty_topics(own: Settings) -> None:
    """Let the autopilot know nothing of earlier runs."""
    with clients.admin(own.telemetry) as admin:
        known = [name for name in admin.list_topics() if name in TOPICS]
        if known:
            admin.delete_topics(known)
        wait_until(lambda: not set(admin.list_topics()) & set(TOPICS), DEADLINE_S, "the old topics to be gone")
    telemetry_topics.create_missing(own)


def executions(own: Settings) -> list[ExecutionRecord]:
    """The last record of every execution, in the order in which they began."""
    read = clients.read_all(own.telemetry, topics.EXECUTIONS, isolation_level="read_committed")
    found = [msgspec.json.decode(one.value, type=ExecutionRecord) for one in read if one.value is not None]
    return sorted({one.execution_id: one for one in found}.values(), key=lambda one: one.started_at_ms)


HEADER = (
    f"{'seed':>4} {'MiB':>4} {'full in s':>9}  {'what can help':<18}{'somebody else':<14}"
    f"{'highest':>8}{'offline':>8}{'lost':>5}{'left':>5}{'touched':>8}{'s':>5}  executions"
)


def lines(result: Result) -> Iterator[str]:
    """Yield the row of a run, and what is wrong below it."""
    one = result.incident
    ends = Counter(f"{done.kind} {done.state}" for done in result.executions)
    yield (
        f"{one.seed:>4} {one.size_bytes >> 20:>4} {one.full_in_s:>9.0f}  {one.relief.value:<18}{one.foreign.value:<14}"
        f"{result.highest_ratio:>8.2f}{len(result.offline):>8}{len(result.lost):>5}{len(result.left):>5}"
        f"{len(result.touched):>8}{result.seconds:>5.0f}  "
        + (", ".join(f"{count} {end}" if count > 1 else end for end, count in ends.items()) or "none")
    )
    yield from (f"     stuck: {done.kind}: {done.reason}" for done in result.executions if done.reason)
    yield from (f"     not taken: {why}" for why in sorted(result.not_taken))
    yield from (f"     BROKEN {what}" for what in result.broken())


def summary(results: list[Result]) -> str:
    helped = [one for one in results if one.incident.relief is not Relief.NOTHING]
    states = Counter(str(done.state) for one in results for done in one.executions)
    return (
        f"{len(results)} runs: a directory went offline in {sum(bool(one.offline) for one in results)}, in "
        f"{sum(bool(one.offline) for one in helped)} of the {len(helped)} where something could help; "
        f"{sum(len(one.lost) for one in results)} partitions lost protected records, "
        f"{sum(len(one.left) for one in results)} throttles left, "
        f"{sum(len(one.touched) for one in results)} of somebody else changed; executions: "
        f"{', '.join(f'{count} {state}' for state, count in sorted(states.items())) or 'none'}; "
        f"{sum(any(one.broken()) for one in results)} runs broke a promise"
    )


if __name__ == "__main__":
    sys.exit(main())
