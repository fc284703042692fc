"""What other people, tools and brokers did to executions, on real brokers: each once its copies run, or before a call.

The laws are those of the drawn schedules; each run has its end and its words besides.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from logdirwatch.execute.calls import ChangeConfig, Reassign
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, THROTTLED_FOLLOWERS, ActionKind
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch_lab.cluster import LocalCluster
from tests.chaos_apply.brokers import MIB, Brokers, wrong
from tests.simulation.hand.adversary import Adversary
from tests.simulation.hand.run import SIZE_BYTES, Ran, Schedule, World, throttles

RATE = MIB // 8
Deed = Callable[[Adversary], None]


class Run(NamedTuple):
    """What others do, the end that the execution comes to first, and what its reason says."""

    does: Deed
    ends: str
    says: str = ""
    when: str = "copying"
    topics: int = 2
    before: Deed | None = None


def _first(one: Adversary) -> tuple[str, int]:
    return min(one.kafka.partitions)


def _cancels(one: Adversary) -> None:
    one.does(Reassign({_first(one): None}, changes_factor=True))


def _raises(one: Adversary) -> None:
    one.does(Reassign({_first(one): (1, 2, 0)}, changes_factor=True))


def _moves_elsewhere(one: Adversary) -> None:
    one.does(Reassign({_first(one): (2,)}, changes_factor=True))


def _fills_while_the_old_replica_is_away(one: Adversary) -> None:
    one.kafka.die(1)
    one.kafka.fill((0, one.kafka.paths(0)[1]), 0.93)


def _unthrottles(one: Adversary) -> None:
    one.does(ChangeConfig("brokers", "0", FOLLOWER_THROTTLE, None))


def _lists(one: Adversary) -> None:
    one.does(ChangeConfig("topics", _first(one)[0], THROTTLED_FOLLOWERS, "9:9"))


RUNS = {
    "somebody cancels a move through Kafka's API": Run(_cancels, "stuck", "somebody cancelled"),
    "somebody raises the replication factor between look and call": Run(_raises, "stuck", "", when="after a note"),
    "somebody else moves a partition of the wave": Run(_moves_elsewhere, "stuck", "somebody else|changed"),
    "a topic of the wave is deleted": Run(lambda one: one.kafka.delete(_first(one)[0]), "stuck", ""),
    "the destination fills while an old replica is away": Run(_fills_while_the_old_replica_is_away, "stuck", "% full"),
    "the broker of an old replica dies": Run(
        lambda one: one.kafka.die(1), "stuck", "done, but throttles are left: broker 1"
    ),
    "the destination is dead for good": Run(lambda one: one.kafka.die(0), "stuck", "no progress"),
    "the directory of the destination fails": Run(
        lambda one: one.kafka.fail((0, one.kafka.paths(0)[1])), "stuck", "offline"
    ),
    "somebody deletes a throttle": Run(_unthrottles, "done"),
    "a list of throttled replicas that nobody needs is there": Run(lambda one: None, "done", before=_lists),
}


class Once(Adversary):
    """Lets one thing happen, once."""

    run: Run
    has_happened = False

    def edge(self, where: str, *, may_kill: bool = True) -> None:
        """See ``Adversary``."""
        is_due = where == self.run.when if self.run.when != "copying" else bool(self.laws.rates())
        if is_due and not self.has_happened:
            self.has_happened = True
            self.log.append(f"{where}: it happens")
            self.run.does(self)


def run(disks: LocalCluster, monitored: KafkaSettings, names: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Carry out the runs; return what happened in each one that went wrong."""
    failed = []
    with clients.admin(monitored) as admin:
        for number, name in enumerate(names):
            began_s = time.monotonic()
            with Brokers(disks, admin, monitored, f"named{number}-{time.time_ns()}") as brokers:
                ran, reason = _carried_out(RUNS[name], brokers)
            found = [*ran.broken, *_against(RUNS[name], reason)]
            say(f"{name}: {reason}; {time.monotonic() - began_s:.0f} s")
            if found:
                failed.append(wrong(name, ran.log, found))
    return failed


def _carried_out(planned: Run, brokers: Brokers) -> tuple[Ran, str]:
    """Return the whole run, which a person resumes if it is stuck, and how it ended first."""
    schedule = Schedule(1, (), lambda _: _world(planned, brokers), Once)
    assert isinstance(schedule.others, Once)
    schedule.others.run = planned
    if planned.before is not None:
        planned.before(schedule.others)
    ran = schedule.run()
    first = next(one for one in schedule.journal if str(one.state) in {"done", "stuck", "rolled_back"})
    return ran, f"{first.state} {first.reason or ''}".strip()


def _world(planned: Run, brokers: Brokers) -> World:
    """Replicas on brokers 1 and 2, of which those on broker 1 are to be moved to broker 0."""
    for number in range(planned.topics):
        brokers.create(("t", number), {1: brokers.paths(1)[1], 2: brokers.paths(2)[1]}, SIZE_BYTES)
    pairs = [
        (Assignment(*key, (1, 2), (ANY, ANY)), Assignment(*key, (0, 2), (brokers.paths(0)[1], ANY)))
        for key in sorted(brokers.partitions)
    ]
    there, here = [one for _, one in pairs], [one for one, _ in pairs]
    limits = throttles(pairs, ActionKind.REASSIGN, RATE)
    made = operations.reassign(to_json(there), to_json(here), "f.json", limits=limits, back=limits)
    return World(brokers, [made], ActionKind.REASSIGN)


def _against(planned: Run, reason: str) -> list[str]:
    is_right = reason.startswith(planned.ends) and re.search(planned.says, reason)
    return [] if is_right else [f"ended {reason!r}, not {planned.ends} with {planned.says!r}"]
