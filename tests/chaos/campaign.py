"""The stream under fire: a known history, strikes drawn from a seed, and the ledger at the end."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from logdirwatch.settings import Settings
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.state import MountMode
from logdirwatch_lab.volumes import open_volumes, unmount_below
from tests.chaos import blows, ledger, strikes
from tests.chaos.feeder import Feeder
from tests.chaos.history import ARRIVAL_MS, CLUSTERS, History
from tests.chaos.judge import Judge
from tests.chaos.strikes import Struck
from tests.chaos.world import World
from tests.kafka.telemetry import fresh_topics_with_own_times

DISK_BYTES = 1 << 30
HOUR_MS = 3_600_000


@dataclass
class Report:
    """What was done and what was found."""

    seed: int
    struck: list[Struck] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    watched: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """Return it for people."""
        inside = sum(struck.is_inside for struck in self.struck)
        by_phase = Counter(struck.phase for struck in self.struck)
        return [
            f"seed {self.seed}: {len(self.struck)} kills of the driver, {inside} inside a batch; {self.seconds:.0f} s",
            *(f"  {times:>4} at {phase}" for phase, times in sorted(by_phase.items())),
            *(f"  {times:>4} {other}" for other, times in sorted(Counter(self.others).items())),
            *(f"  {times:>4} times {ended}" for ended, times in sorted(Counter(self.restarts).items())),
            "  " + ", ".join(f"{count} {name}" for name, count in self.counts.items()),
            *(f"  the watched cluster's and the stream's own: {line}" for line in self.watched),
            *(f"  WRONG {line}" for line in self.found),
            "  nothing lost, invented or unheard" if not self.found else f"  {len(self.found)} differences",
        ]


class Campaign:
    """One run over a telemetry broker, broker 0 of ``cluster``; the folder's disks have a size of their own."""

    def __init__(
        self,
        cluster: LocalCluster,
        settings: Settings,
        folder: Path,
        seed: int,
        say: Callable[[str], None],
        only: str = "",
    ) -> None:
        self._say, self._random = say, random.Random(seed)
        volumes = open_volumes(MountMode.DIRECT, folder)
        telemetry = settings.telemetry.model_copy(update={"bootstrap_servers": cluster.bootstrap_servers})
        feeder = Feeder(telemetry, History(seed, _begin_ms()))
        self._world = World(cluster, settings, folder, seed, volumes, feeder)
        self._blows = cycle(blows.drawn(self._random, only))
        self.report = Report(seed)

    def strike(self, kills: int, each: int, minutes: float) -> Report:
        """Strike so many times, or so long, in one of the other ways after ``each``; return what the ledger says."""
        begin_s, world = time.monotonic(), self._world
        for name in ("checkpoints", "tables"):
            (world.run.folder / name).mkdir()
            world.volumes.mount(world.run.folder / name, DISK_BYTES)
        fresh_topics_with_own_times(world.run.settings)
        world.feeder.start()
        try:
            world.start()
            world.goes_on()
            while len(self.report.struck) < kills and time.monotonic() - begin_s < minutes * 60:
                self._kill()
                if not len(self.report.struck) % each or len(self.report.struck) == kills:
                    self._strike_otherwise()
            world.feeder.end()
            self._judge()
        finally:
            world.stop()
            unmount_below(world.run.folder)
        self.report.seconds = time.monotonic() - begin_s
        return self.report

    def _kill(self) -> None:
        world = self._world
        phase = self._random.choice(strikes.phases(world.run))
        struck = strikes.kill_driver(world.run, phase, self._random)
        self.report.struck.append(struck)
        self._say(f"{len(self.report.struck)}: {struck.phase}{', inside a batch' if struck.is_inside else ''}")
        world.run.start()

    def _strike_otherwise(self) -> None:
        """Strike in the next of the other ways while the stream runs; see that it goes on, and what people see."""
        world = self._world
        world.goes_on()
        blow = next(self._blows)
        self._say(blow.name)
        known, noted = len(world.found), len(world.notes)
        try:
            with world.feeder.held() if blow.is_held else nullcontext():
                blow.strike(world)
                world.goes_on()
            with world.feeder.held():
                self._look()
        except AssertionError as stuck:
            world.found.append(f"{blow.name}: {str(stuck).splitlines()[0]}")
            world.mend()
        self.report.others += [blow.name, *(f"- {note}" for note in world.notes[noted:])]
        for line in world.found[known:]:
            self._say(f"  WRONG {line}")

    def _look(self) -> None:
        """Compare what people see with what is so, while nothing happens: messages, ``alerts``, ``status``."""
        world = self._world
        firing = {heard.alert_id for heard in world.settle()}
        shown = map(json.loads, world.command("alerts", "--json").splitlines())
        seen = {alert["alert_id"] for alert in shown if alert["cluster"] in CLUSTERS and alert["severity"] != "info"}
        world.found += ledger.differences("shown by alerts", seen, firing)
        status = json.loads(world.command("status", "--json"))
        missing = set(CLUSTERS) - {cluster["cluster"] for cluster in status["clusters"]}
        world.found += [f"status does not show {cluster}" for cluster in sorted(missing)]

    def _judge(self) -> None:
        judge, report = Judge(self._world), self.report
        report.found += judge.differences()
        report.watched, report.counts = judge.watched(), judge.counts()
        report.restarts = self._world.restarts


def _begin_ms() -> int:
    """Return a time so long ago that the history, which runs faster than the clock, never comes up with it."""
    return (int(time.time()) * 1_000 - 12 * HOUR_MS) - ARRIVAL_MS
