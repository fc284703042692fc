"""The rate of copies: fast enough for the time left, within the spare bandwidth, never below the write rate.

``replica.alter.log.dirs.io.max.bytes.per.second`` limits all moves between the directories of a broker together,
``leader|follower.replication.throttled.rate`` all that a broker sends or receives (KIP-73, KIP-113). A copy at or below
the rate at which its partition is written never completes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import MoveStalledEvidence
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, ActionStatus, Rule
from logdirwatch.plan.capacity.timing import REACTION_MS, time_to_full_ms
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Precondition
from logdirwatch.text.units import human_rate

SHARE_OF_TIME_LEFT = 0.5
"""A copy is planned to end after this share of the time to full, because growth may rise."""
UNKNOWN_BANDWIDTH = 500_000_000
"""The maximum bandwidth assumed for disks and network without configuration, in bytes per second."""
HELD_BACK_RATIO = 0.8
"""A copy seen at less than this share of the usual limit was held back by something else."""
ABOVE_WRITES = 2
"""A copy gets at least so many times the rate of what is written to it meanwhile, where that can be had."""


def copy_growth(growth_bytes_per_s: float | None, copied_bytes: int, rate: int) -> int:
    """Return the bytes written while ``copied_bytes`` are copied at ``rate``; 0 if the growth is unknown."""
    return int(max(0.0, growth_bytes_per_s or 0.0) * copied_bytes / rate)


def spare_disk(bandwidth: int | None, directories: Iterable[LogDir]) -> int | None:
    """Return the bandwidth of the busiest disk that producers leave free; None if its total is unknown.

    Only growth is counted: reads, and data that is written and deleted again, are not visible.
    """
    return None if bandwidth is None else max(1, bandwidth - int(max(map(_growth, directories), default=0.0)))


def spare_network(bandwidth: int | None, directories: Iterable[LogDir]) -> int | None:
    """Return the network bandwidth of a broker that producers leave free; None if its total is unknown."""
    return None if bandwidth is None else max(1, bandwidth - int(sum(map(_growth, directories))))


def _growth(directory: LogDir) -> float:
    return max(0.0, directory.growth_bytes_per_s or 0.0)


def throttle(
    usual: int,
    spare: int | None,
    copied_bytes: int,
    left_ms: int | None,
    settles_ms: int,
    written_bytes_per_s: float = 0.0,
) -> int:
    """Return the throttle of a plan that copies ``copied_bytes``, in bytes per second.

    The usual rate, unless it takes more than half of ``left_ms``, or than a person leaves of it: then as much more as
    that needs and as is spare, or up to :data:`UNKNOWN_BANDWIDTH` if the bandwidth is unknown. The same applies if as
    much is written meanwhile as is copied. ``settles_ms`` pass between the copy and the freeing of the bytes.
    """
    most = ceiling(usual, spare)
    wanted = max(usual, int(ABOVE_WRITES * written_bytes_per_s))
    if left_ms is not None:
        copying_ms = int(min(left_ms * SHARE_OF_TIME_LEFT, left_ms - REACTION_MS)) - settles_ms
        wanted = max(wanted, most if copying_ms <= 0 else copied_bytes * 1000 // copying_ms + 1)
    return min(wanted, most)


def ceiling(usual: int, spare: int | None) -> int:
    """Return the highest throttle that a plan may use."""
    return max(usual, UNKNOWN_BANDWIDTH) if spare is None else spare


@dataclass(frozen=True)
class Rates:
    """The rates of copies off the directory ``source``: the usual one, and what producers leave of the bandwidth.

    Its bytes are free ``settles_ms`` after a copy.
    """

    source: LogDir
    usual: int
    spare: int | None
    settles_ms: int

    @property
    def most(self) -> int:
        """The highest rate."""
        return ceiling(self.usual, self.spare)

    def of(self, copied_bytes: int, written_bytes_per_s: float = 0.0) -> int:
        """Return the rate for some bytes, so that they are copied before the directory is full."""
        left_ms = time_to_full_ms(self.source)
        return throttle(self.usual, self.spare, copied_bytes, left_ms, self.settles_ms, written_bytes_per_s)


def seen_rate(destinations: Iterable[LogDirId], snapshot: ClusterSnapshot) -> float | None:
    """Return the rate at which copies to all of these directories were observed; None if one has none."""
    found = [snapshot.copied_bytes_per_s.get(place) for place in destinations]
    return min((rate for rate in found if rate is not None), default=None) if None not in found else None


def as_seen(rate: int, usual: int, seen: float | None) -> int:
    """Return how fast copies get on that may run at ``rate``: no faster than was seen, if that was not a throttle.

    A rate near the usual limit was seen under it, and says nothing about what the disks can do.
    """
    return rate if seen is None or seen >= HELD_BACK_RATIO * usual else max(1, min(rate, int(seen)))


def sustained(rate: int, usual: int, bandwidth: int | None, seen: float | None) -> tuple[Precondition, ...]:
    """Return the warning for a rate above the usual one, or above ``seen``, which was observed there before."""
    if seen is not None and as_seen(rate, usual, seen) < rate:
        text = f"copies there were seen at {human_rate(seen)}, slower than the {human_rate(rate)} that they may use"
        return (Precondition("rate_sustained", f"{text}: they are expected to take as long as then", holds=False),)
    if rate <= usual:
        return ()
    text = f"to be in time it copies at {human_rate(rate)}, the usual limit is {human_rate(usual)}"
    if bandwidth is not None:
        return (Precondition("rate_sustained", f"{text}; the configured bandwidth has that to spare", True),)
    told = "" if seen is None else f"; copies there were seen at {human_rate(seen)}"
    must = f"{text}: its disks and network must sustain that, their bandwidth is not configured{told}"
    return (Precondition("rate_sustained", must, True if seen is not None and seen >= rate else None),)


def paced(rate: int, usual: int, copied_bytes: int, late_for_ms: int | None, settles_ms: int) -> str:
    """Say how fast a plan copies; if it is late for the time left, ``late_for_ms``, how fast it would have to be."""
    told = f"at {human_rate(rate)}"
    if late_for_ms is None:
        more = f", which its disks must sustain (the usual limit is {human_rate(usual)})"
        return told + (more if rate > usual else "")
    copying_ms = late_for_ms - REACTION_MS - settles_ms
    if copying_ms <= 0:
        return f"{told}, too late: no rate is in time"
    wanted = copied_bytes * 1000 // copying_ms + 1
    return f"{told}, too late: in time it needs more than {human_rate(max(wanted, rate))}"


def throttle_free(keys: Mapping[int, Iterable[str]], snapshot: ClusterSnapshot) -> Precondition:
    """Say whether other throttles already apply to a plan's copies: the plan keeps them and runs under them.

    ``keys``: by broker.
    """
    named = sorted(keys)
    where = f"broker {', '.join(map(str, named))}"
    found = [f"{key}={human_rate(limit)} on broker {broker}" for broker, key, limit in foreign(keys, snapshot)]
    if found:
        text = f"somebody else limits {where}: {', '.join(found)}; that stays, and these copies run under it"
        return Precondition("throttle_free", text, holds=False)
    is_known = all(broker in snapshot.brokers and snapshot.brokers[broker].configs for broker in named)
    text = f"no limit of other moves is set on {where}; this plan sets its own, and removes only these"
    return Precondition("throttle_free", text, True if is_known else None)


def under_others(rate: int, keys: Mapping[int, Iterable[str]], snapshot: ClusterSnapshot) -> int:
    """Return the effective rate of copies planned at ``rate``: a lower throttle set by others stays in force.

    ``keys``: by broker the throttle keys that affect the copies. What a broker sends is not limited by what it may
    receive (KIP-73). Kafka accepts a limit of 0, under which nothing is copied; it counts as so slow that no time is
    enough.
    """
    return max(1, min([rate, *(limit for _, _, limit in foreign(keys, snapshot))]))


def slowed_by_others(rate: int, snapshot: ClusterSnapshot) -> frozenset[int]:
    """Return the brokers that receive copies at less than ``rate`` because of somebody else's throttle."""
    return frozenset(
        broker for broker in snapshot.brokers if under_others(rate, {broker: (FOLLOWER_THROTTLE,)}, snapshot) < rate
    )


def foreign(keys: Mapping[int, Iterable[str]], snapshot: ClusterSnapshot) -> Iterator[tuple[int, str, int]]:
    """Yield the throttles among ``keys`` that are set already: broker, key, and bytes per second."""
    for broker, named in sorted(keys.items()):
        configs = snapshot.configs_of(broker)
        for key in sorted(set(named)):
            if (value := configs.get(key)) is not None and is_limit(value):
                yield broker, key, int(value)


def is_limit(value: str) -> bool:
    """Whether the value of a throttle limits anything: Kafka's default is the largest number."""
    return value.isdigit() and int(value) < 2**63 - 1


def with_rates(
    snapshot: ClusterSnapshot, actions: Iterable[ActionRecord], alerts: Iterable[AlertRecord]
) -> ClusterSnapshot:
    """Return the snapshot with the fastest observed copy to each directory; running copies take precedence."""
    found: dict[LogDirId, float] = {}
    for action in actions:
        if action.cluster == snapshot.cluster and action.status is ActionStatus.DONE:
            for place, rate in _carried_out(action):
                found[place] = max(rate, found.get(place, 0.0))
    for alert in alerts:
        if alert.cluster == snapshot.cluster and alert.rule is Rule.MOVE_STALLED and alert.broker is not None:
            found.update(_held_up(alert, alert.broker))
    return replace(snapshot, copied_bytes_per_s=found)


def _carried_out(action: ActionRecord) -> Iterable[tuple[LogDirId, float]]:
    """Yield the destinations of a completed move and the rate of its copies together: they shared one throttle."""
    observed = action.observed or {}
    took_ms, copied = observed.get("took_ms"), observed.get("copies_bytes")
    if not took_ms or not copied or action.reassignment is None:
        return
    for assignment in from_json(action.reassignment):
        yield from ((place, copied * 1000 / took_ms) for place in assignment.chosen)


def _held_up(alert: AlertRecord, broker: int) -> dict[LogDirId, float]:
    """Return the rates of the stalled moves that an alert names; 0 for those that copy nothing any more."""
    moves = read_as(alert.evidence, MoveStalledEvidence).moves
    return {
        (broker, path): max(0.0, move.bytes_per_s or 0.0)
        for path, move in moves.items()
        if move.bytes_per_s is not None or move.verdict == "stands_still"
    }


# Copies that run together are freed together, at the end; waves are freed one after the other. So a directory that is
# full before the last copy ends may be saved by a first wave that ends earlier. No wave has more copies than the broker
# runs at once, within MOST_WAVES: the others would only wait in Kafka's queue, where retention does not run on them
# (KIP-113).
MOST_WAVES = 6


@dataclass(frozen=True)
class Waves:
    """The copies by index, in the order of the waves; ``is_in_time`` None: unknown, as without a known growth.

    ``in_time_bytes`` are those of the leading waves that are in time.
    """

    groups: tuple[tuple[int, ...], ...]
    needs_ms: int
    is_in_time: bool | None
    in_time_bytes: int = 0


@dataclass(frozen=True)
class Pace:
    """The rate of copies off the directory ``source``, and the delay until deleted files are gone.

    ``at_once`` is the number of copies that the broker runs in parallel.
    """

    source: LogDir
    bytes_per_s: int
    settles_ms: int
    at_once: int = 1

    def is_in_time(self, size_bytes: int, freed_bytes: int) -> bool:
        """Tell whether a copy is freed before the directory is full, after others in sequence; True if unknown."""
        ends_ms = REACTION_MS + self.copy_ms(freed_bytes + size_bytes) + self.settles_ms
        return ends_ms < self.full_at_ms(freed_bytes)

    def copy_ms(self, size_bytes: int) -> int:
        """Return how long copies of ``size_bytes`` take together, including what is written to them meanwhile."""
        grown = copy_growth(self.source.outlook_bytes_per_s, size_bytes, self.bytes_per_s)
        return (size_bytes + grown) * 1000 // self.bytes_per_s

    def full_at_ms(self, freed_bytes: int) -> float:
        """Return when the directory is full if ``freed_bytes`` are freed before; infinite: never, or unknown."""
        left_ms = time_to_full_ms(self.source, freed_bytes)
        return math.inf if left_ms is None else left_ms


def in_waves(sizes: Sequence[int], pace: Pace) -> Waves:
    """Split copies of ``sizes`` into as few waves as end in time; if time suffices or is unknown, by number only.

    A wave is in time if its bytes are freed before those that earlier waves freed are full again, although a person
    takes ``REACTION_MS`` to begin. ``is_in_time`` is unknown if they are only in time without that.
    """
    by_person = _split(sizes, replace(pace, settles_ms=pace.settles_ms + REACTION_MS))
    if by_person.is_in_time is not False:
        return replace(by_person, needs_ms=by_person.needs_ms - REACTION_MS)
    at_once = _split(sizes, pace)
    return replace(at_once, is_in_time=None if at_once.is_in_time else False, in_time_bytes=by_person.in_time_bytes)


def _split(sizes: Sequence[int], pace: Pace) -> Waves:
    everything = tuple(range(len(sizes)))
    needs_ms = pace.copy_ms(sum(sizes)) + pace.settles_ms
    full_at_ms, most = pace.full_at_ms(0), max(pace.at_once, math.ceil(len(sizes) / MOST_WAVES))
    if needs_ms < full_at_ms:
        parts = tuple(everything[begin : begin + most] for begin in range(0, len(sizes), most))
        return Waves(parts, needs_ms, None if full_at_ms == math.inf else True, sum(sizes))
    groups: list[tuple[int, ...]] = []
    left, elapsed_ms, freed, is_in_time, in_time_bytes = list(everything), 0, 0, True, 0
    while left:
        budget_ms = pace.full_at_ms(freed) - pace.settles_ms - elapsed_ms
        group = _first_fit(left, sizes, pace, budget_ms)[:most] if len(groups) < MOST_WAVES - 1 else ()
        if not group:
            group = tuple(left if len(groups) == MOST_WAVES - 1 else left[:most])
            is_in_time = is_in_time and pace.copy_ms(_sum_of(group, sizes)) < budget_ms
        groups.append(group)
        left = [number for number in left if number not in group]
        elapsed_ms += pace.copy_ms(_sum_of(group, sizes))
        freed += _sum_of(group, sizes)
        in_time_bytes = freed if is_in_time else in_time_bytes
    return Waves(tuple(groups), elapsed_ms + pace.settles_ms, is_in_time, in_time_bytes)


def _first_fit(left: Sequence[int], sizes: Sequence[int], pace: Pace, budget_ms: float) -> tuple[int, ...]:
    group: list[int] = []
    for number in left:
        if pace.copy_ms(_sum_of([*group, number], sizes)) < budget_ms:
            group.append(number)
    return tuple(group)


def _sum_of(numbers: Iterable[int], sizes: Sequence[int]) -> int:
    return sum(sizes[number] for number in numbers)
