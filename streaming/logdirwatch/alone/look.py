"""One look at a cluster: what its brokers answer within seconds, judged and planned for like the stream's records.

Beside alerts it shows what is odd without being wrong yet, each with the command that shows it.
"""

import asyncio
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from logdirwatch.alone.judges import Judges, alerts_of
from logdirwatch.alone.planning import Planned, planned, polling
from logdirwatch.clock import wall_ms
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS, AlertStatus
from logdirwatch.plan.capacity.projected_use import alike
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.kafka_tools import CONFIGS, TOPICS, Tools, note
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.relief.stuck_deletion import propose_stray_check
from logdirwatch.settings import ClusterSettings, Settings
from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted, some_of


async def look(
    name: str, cluster: ClusterSettings, live: LiveCluster, settings: Settings, policy: Policy, polls: int
) -> Planned:
    """Poll the brokers some times, one interval apart; ``live`` is what they have just answered."""
    sent: list[Outgoing] = []
    watch = polling(name, cluster, settings, sent.extend)
    judges, newest = Judges(settings), dict[str, AlertRecord]()
    try:
        await watch.once()
        for number in range(polls):
            if number:
                await asyncio.sleep(settings.collect.metrics_interval_ms / 1000)
                await watch.poller.poll()
            taken, sent[:] = list(sent), []
            newest |= {one.alert_id: one for one in alerts_of(judges.take(taken, wall_ms()))}
    finally:
        watch.close()
    firing = [one for one in newest.values() if one.status is AlertStatus.FIRING]
    return planned(name, cluster, live, firing, settings, policy)


FOREIGN_RATIO = 0.1
"""The part of a directory from which bytes of no replica are named; file systems keep a few percent for themselves."""
_NAMED = 3


class Noticed(NamedTuple):
    """One finding, and the commands that show it or end it."""

    text: str
    commands: tuple[str, ...]


def noticed(snapshot: ClusterSnapshot, policy: Policy) -> list[Noticed]:
    """Return the findings, those about bytes first."""
    return [
        *_foreign(snapshot),
        *_strays(snapshot, policy),
        *_throttles(snapshot, policy.tools),
        *_cordons(snapshot, policy.tools),
        *_last_copies(snapshot, policy.tools),
    ]


def _foreign(snapshot: ClusterSnapshot) -> Iterator[Noticed]:
    held = Counter[LogDirId]()
    for replica in snapshot.layout.replicas:
        held[replica.broker, replica.log_dir] += replica.size_bytes or 0
    unsized = {(one.broker, one.log_dir) for one in snapshot.layout.replicas if one.size_bytes is None}
    # Directories of one volume count each other's replicas as foreign.
    shared = {one.place for group in alike(snapshot) for one in group}
    for place, directory in sorted(snapshot.directories.items()):
        used, total = directory.used_bytes, directory.total_bytes
        if used is None or not total or place in shared | unsized or not directory.is_serving:
            continue
        foreign = used - held[place]
        if foreign > FOREIGN_RATIO * total:
            yield Noticed(
                f"{human_bytes(foreign)} of {human_bytes(total)} in {directory.path} of broker {directory.broker} "
                "belong to no replica that the broker reports",
                (
                    note(
                        f"On broker {directory.broker}'s host: du -xhd1 {shlex.quote(directory.path)} | sort -h | tail"
                    ),
                ),
            )


def _strays(snapshot: ClusterSnapshot, policy: Policy) -> Iterator[Noticed]:
    for _, directory in sorted(snapshot.directories.items()):
        for found in propose_stray_check(directory, snapshot, policy):
            yield Noticed(found.reason, found.commands)


def _throttles(snapshot: ClusterSnapshot, tools: Tools) -> Iterator[Noticed]:
    """Yield throttles while nothing is reassigned: they slow down replicas that catch up."""
    topics = snapshot.layout.topics.values()
    runs = any(part.is_reassigned for topic in topics for part in topic.partitions)
    if runs or any(replica.is_future for replica in snapshot.layout.replicas):
        return
    rates = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE)
    brokers = [str(one.id) for one in snapshot.brokers.values() if any(one.configs.get(key) for key in rates)]
    listed = [topic.name for topic in topics if any(topic.configs.get(key) for key in THROTTLED_REPLICAS)]
    places = [*(f"broker {number}" for number in brokers), *(f"topic {name}" for name in listed)]
    if places:
        yield Noticed(
            f"throttles are set and nothing is reassigned: {some_of(places, _NAMED)}",
            (
                *(tools.call(CONFIGS, "--describe", "--broker", number) for number in brokers[:_NAMED]),
                *(tools.call(CONFIGS, "--describe", "--topic", name) for name in listed[:_NAMED]),
            ),
        )


def _cordons(snapshot: ClusterSnapshot, tools: Tools) -> Iterator[Noticed]:
    found = [one for _, one in sorted(snapshot.directories.items()) if one.is_cordoned]
    if found:
        names = some_of([f"{one.path} of broker {one.broker}" for one in found], _NAMED)
        commands = (tools.call(CONFIGS, "--describe", "--broker", str(broker)) for broker in {d.broker for d in found})
        yield Noticed(f"no new replicas are placed in {names}: cordoned", tuple(commands))


def _last_copies(snapshot: ClusterSnapshot, tools: Tools) -> Iterator[Noticed]:
    """Yield how many partitions end with one broker."""
    parts = [part for topic in snapshot.layout.topics.values() for part in topic.partitions]
    alone = [part for part in parts if len(part.isr) == 1 and part.leader is not None]
    if alone and len(snapshot.brokers) > 1:
        names = some_of([f"{part.topic}-{part.partition}" for part in alone], _NAMED)
        share = human_ratio(len(alone) / len(parts), 0)
        yield Noticed(
            f"{counted(len(alone), 'partition has', 'partitions have')} one replica in sync ({share}): {names}; each "
            "is unavailable when its broker is",
            (tools.call(TOPICS, "--describe", "--under-replicated-partitions"),),
        )
