"""Executions under fire: killed at drawn moments, a second executor, a dead broker, a full disk, a person between."""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from logdirwatch.executions import unfinished_of
from logdirwatch.kafka import clients
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, LEADER_THROTTLE, ExecutionState
from logdirwatch.settings import Settings
from logdirwatch_lab import probes
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.fill import FillWith
from tests.chaos_apply import rounds
from tests.chaos_apply.brokers import is_spent
from tests.chaos_apply.rounds import KINDS, Planned, World
from tests.kafka.applying import executions, limits_left, places, topic_of_4_mib, watched
from tests.support.waiting import DEADLINE_S, wait_until

MOST_LIVES = 7
"""In how many moments of a process one is drawn in which it is killed."""
MOST_KILLS = 5
"""How often one execution is killed, so that all kinds have their turn."""
RUN_S = 180
FOREIGN = str(1 << 40)
"""A throttle of somebody else on broker 2, so high that it holds nothing back."""
Other = Callable[[World, Planned, Any], None]
"""What else happens to an execution, with the process that carries it out."""
ENDS = {ExecutionState.DONE, ExecutionState.ROLLED_BACK, ExecutionState.STUCK}


@dataclass
class Report:
    """What was done and what was found."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    found: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """Return it for people."""
        kills, actions = sum(self.kills.values()), sum(self.kinds.values())
        return [
            f"seed {self.seed}: {kills} kills, {actions} actions, {self.calls} calls; {self.seconds:.0f} s",
            *(f"  {times:>4} killed {point}" for point, times in sorted(self.kills.items())),
            *(f"  {times:>4} {kind}" for kind, times in sorted(self.kinds.items())),
            *(f"  {times:>4} {other}" for other, times in sorted(self.others.items())),
            *(f"  {times:>4} ended {state}" for state, times in sorted(self.ends.items())),
            *(f"  WRONG {line}" for line in self.found),
            "  nothing lost, nothing done twice, no throttle left" if not self.found else f"  {len(self.found)} wrong",
        ]


class Campaign:
    """One run over a cluster of three brokers with two sized disks each."""

    def __init__(self, disks: LocalCluster, own: Settings, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self._disks, self._own, self._folder, self._say = disks, own, folder, say
        self._random = random.Random(seed)
        self._while_copying = cycle(
            (
                self._broker_dies,
                self._person_reassigns,
                self._controller_dies,
                self._second_executor,
                self._destination_fills,
                None,
            )
        )
        self._otherwise = cycle((None, self._second_executor, self._person_changes, self._controller_dies))
        self._between = (self._person_reassigns, self._person_changes)
        self._persons: Callable[[], bool] | None = None
        self.report = Report(seed)

    def strike(self, kills: int) -> Report:
        """Kill so many times; return what was found."""
        began_s, number = time.monotonic(), 0
        with clients.admin(watched(self._own)) as admin:
            World(self._own, self._disks, admin, "").set_on_broker(2, LEADER_THROTTLE, FOREIGN)
            while sum(self.report.kills.values()) < kills:
                self._round(admin, number)
                number += 1
        self.report.seconds = time.monotonic() - began_s
        return self.report

    def _round(self, admin: Any, number: int) -> None:
        kind = KINDS[number % len(KINDS)]
        name = topic_of_4_mib(self._own, admin, f"chaos-{number}", **{"retention.ms": "9000000"})
        world = World(self._own, self._disks, admin, name)
        try:
            planned = kind(world)
            other, self._persons = self._other(planned), None
            log = self._folder / f"{number}.log"
            self.report.kinds[str(planned.action.kind)] += 1
            self._say(f"{number}: {planned.action.kind}{'' if other is None else f', {other.__name__[1:]}'}")
            end = self._carried(planned, log, other, world)
            self._judge(world, planned, log, end, is_disturbed=other is not None)
            if end is ExecutionState.DONE and planned.is_here is not None and self._random.random() < 0.4:
                back = self._folder / f"{number}-back.log"
                end = self._carried(planned, back, None, world, first=("--undo",))
                self._judge(world, planned, back, end, is_disturbed=False, back=True)
        finally:
            self._tidy(world)
            self._release(planned)

    def _release(self, planned: Planned) -> None:
        """End what is stuck, as a person does who has seen to it: the next round could not begin."""
        if planned.action.action_id in unfinished_of(executions(self._own, planned.action)):
            options = ("--release", "--yes", "--by", "a person", "--reason", "the next round begins")
            line = [sys.executable, "-m", "logdirwatch", "--config", str(self._disks.config_path), "apply"]
            subprocess.run([*line, planned.action.action_id, *options], check=True, stdout=subprocess.DEVNULL)

    def _other(self, planned: Planned) -> Other | None:
        """Return what else happens, in turn."""
        if planned.copies:
            return next(self._while_copying)
        other = next(self._otherwise)
        return None if other == self._person_changes and planned.change is None else other

    # -- one execution

    def _carried(
        self, planned: Planned, log: Path, other: Other | None, world: World, first: tuple[str, ...] = ()
    ) -> ExecutionState | None:
        """Kill it again and again until a process comes to the end; return the end."""
        words, is_over, more = first, False, other
        for attempt in range(40):
            lives = self._random.randint(1, MOST_LIVES) if attempt < MOST_KILLS else 10**6
            process = self._begin(planned, log, lives, words)
            if more is not None and more not in self._between:
                more(world, planned, process)
                more = None
            process.communicate(timeout=RUN_S)
            if more is not None and process.returncode == -9:
                more(world, planned, process)
                more = None
            ended = executions(self._own, planned.action)
            mine = [one for one in ended if one.back == bool(first) or one.state is ExecutionState.ROLLED_BACK]
            is_over = bool(mine) and mine[-1].state in ENDS and process.returncode != -9
            if is_over:
                break
            if not ended and process.returncode == 1:
                # Killed before its first record, and by now it does not hold on the cluster: nothing was begun.
                self._count(log)
                self.report.ends["refused before it began"] += 1
                return None
            # One that was killed before its first record is begun again, whatever else goes on.
            words = ("--resume",) if mine and mine[-1].state not in {*ENDS} - {ExecutionState.STUCK} else first
        self._count(log)
        if not is_over:
            self.report.found.append(f"{planned.action.kind} {world.name} came to no end")
            return None
        state = mine[-1].state
        self.report.ends[str(state)] += 1
        if state is ExecutionState.STUCK and not mine[-1].reason:
            self.report.found.append(f"{planned.action.kind} {world.name} is stuck without a reason")
        if state is ExecutionState.STUCK:
            self._say(f"   stuck: {mine[-1].reason}")
        return state

    def _begin(self, planned: Planned, log: Path, lives: int, words: tuple[str, ...]) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "tests.chaos_apply.victim", str(lives), str(log)]
        line += ["--config", str(self._disks.config_path), "apply", planned.action.action_id, "--yes", *words]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ))

    def _count(self, log: Path) -> None:
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        self.report.kills.update(line["killed"] for line in lines if "killed" in line)
        self.report.calls += sum("called" in line for line in lines)

    # -- what else happens

    def _second_executor(self, world: World, planned: Planned, process: Any) -> None:
        """Another process goes on with the same execution while the first one runs."""
        self.report.others["second executor"] += 1
        self._until_begun(planned, process)
        second = self._begin(planned, self._folder / f"{world.name}-second.log", 10**6, ("--resume",))
        with contextlib.suppress(subprocess.TimeoutExpired):
            second.communicate(timeout=RUN_S)
        if second.poll() is None:
            second.kill()

    def _broker_dies(self, world: World, planned: Planned, process: Any) -> None:
        self.report.others["broker died"] += 1
        self._until_begun(planned, process)
        self._die(1)

    def _controller_dies(self, world: World, planned: Planned, process: Any) -> None:
        """Another controller takes over, which the executor's connections do not know of."""
        self.report.others["controller failed over"] += 1
        self._until_begun(planned, process)
        leader = wait_until(
            lambda: {probes.quorum_leader(self._disks.bootstrap_servers)} - {None}, DEADLINE_S, "a controller to lead"
        )
        self._die(*leader)

    def _die(self, broker: int) -> None:
        self._disks.kill(broker)
        time.sleep(self._random.uniform(0, 12))
        self._disks.start(broker)

    def _destination_fills(self, world: World, planned: Planned, process: Any) -> None:
        self.report.others["destination filled"] += 1
        self._until_begun(planned, process)
        for place in _destinations(planned):
            self._disks.fill(*place, FillWith.FILE, until_ratio=0.99)

    def _person_reassigns(self, world: World, planned: Planned, process: Any) -> None:
        """Somebody moves the same partition between two steps of the journal."""
        self.report.others["person moved the same partition"] += 1
        world.reassign(2, 0, 1)
        self._persons = lambda: sorted(world.led()[1]) == [0, 1, 2]

    def _person_changes(self, world: World, planned: Planned, process: Any) -> None:
        """Somebody changes the same value between two steps of the journal."""
        self.report.others["person changed the same value"] += 1
        self._persons = planned.change()

    def _until_begun(self, planned: Planned, process: Any) -> None:
        """Wait until the journal knows it, or its process is dead."""
        wait_until(
            lambda: executions(self._own, planned.action) or process.poll() is not None,
            DEADLINE_S,
            "the execution to begin",
        )

    # -- what must hold

    def _judge(
        self,
        world: World,
        planned: Planned,
        log: Path,
        end: ExecutionState | None,
        *,
        is_disturbed: bool,
        back: bool = False,
    ) -> None:
        what = f"{planned.action.kind} {world.name}{' back' if back else ''}"
        wrong = self.report.found
        wanted = planned.is_here if back else planned.is_there
        if end is ExecutionState.DONE and wanted is not None and not _becomes(wanted):
            wrong.append(f"{what} is done and not there")
        if end is ExecutionState.STUCK and not is_disturbed:
            wrong.append(f"{what} is stuck, and nobody disturbed it")
        if self._persons is not None and not _becomes(self._persons):
            wrong.append(f"{what} overwrote what a person changed")
        (topic,) = world.admin.describe_topics([world.name])
        if len(topic["partitions"][0]["replica_nodes"]) < 2:
            wrong.append(f"{what} has fewer replicas than before")
        left = limits_left(world.admin, world.name)
        foreign = "broker 2", LEADER_THROTTLE
        own = {one: value for one, value in left.items() if one != foreign and not _is_of_round(one, planned)}
        if own:
            wrong.append(f"{what} left throttles: {own}")
        if left.get(foreign) != FOREIGN:
            wrong.append(f"{what} took a throttle of somebody else away")
        if not is_disturbed:
            wrong += [f"{what} was done twice: {call}" for call in _repeated(log)]

    def _tidy(self, world: World) -> None:
        """Undo what others did, so that the next round begins as the first one."""
        for broker in self._disks.state().brokers:
            for index, path in enumerate(broker.log_dirs):
                if is_spent(self._disks, broker.id, index):
                    self._say(f"   restoring {path}")
                    self._disks.restore(broker.id, index)
        wait_until(
            lambda: _becomes(lambda: len(places(world.admin, world.name)) >= 1), DEADLINE_S, "the brokers to answer"
        )
        world.set_on_broker(0, FOLLOWER_THROTTLE, None)
        world.set_on_broker(2, rounds.CORDON, None)
        world.admin.delete_topics([world.name])
        wait_until(lambda: world.name not in world.admin.list_topics(), DEADLINE_S, "the topic to be gone")


def _becomes(is_so: Callable[[], bool]) -> bool:
    """Wait for what brokers tell each other a moment later."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: _quietly(is_so), 30, "it to be so")
        return True
    return False


def _quietly(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except Exception:
        return False


def _is_of_round(place: tuple[str, str], planned: Planned) -> bool:
    """Tell whether a throttle was set by the round itself: by whoever began what is cancelled or cleared."""
    names = {"broker 0", "topic"}
    return planned.action.kind in {"cancel_moves", "clear_throttles"} and place[0] in names


def _destinations(planned: Planned) -> list[tuple[int, str]]:
    plan, before = planned.action.reassignment["partitions"], planned.action.undo["reassignment"]["partitions"]
    here = {(old["topic"], b, path) for old in before for b, path in zip(old["replicas"], old["log_dirs"], strict=True)}
    return [
        (broker, path)
        for new in plan
        for broker, path in zip(new["replicas"], new["log_dirs"], strict=True)
        if path != "any" and (new["topic"], broker, path) not in here
    ]


def _repeated(log: Path) -> list[str]:
    """Return the calls that were made twice.

    A placement before an assignment is said again until that is made, and the deletion of a value, which has no effect
    then, until the broker shows that it is gone.
    """
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    calls = [line["called"] for line in lines if "called" in line]
    is_between = any(call.startswith("Reassign") for call in calls)
    counted = Counter(
        call
        for call in calls
        if not (is_between and call.startswith("PlaceReplicas")) and not call.endswith("value=None)")
    )
    return [call for call, times in counted.items() if times > 1]
