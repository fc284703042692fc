"""What must come out of a history: the rules in a few plain lines that share no code with the machine.

Numbers are whole bytes and times whole milliseconds; nothing of the product is imported.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.chaos.history import EVENTS, OFFLINE, RESERVE_BYTES, Written

LEVELS = ("online", "filling", "critical", "saturated")
PERCENT = {"filling": 75, "critical": 85, "saturated": 95}
BACK = 5
SEVERITY = {"filling": "warning", "critical": "critical", "saturated": "page"}
IN_A_ROW = 2
POLLS_UNTIL_UNKNOWN = 3
GAP_POLLS = 3
AHEAD_MS = 60_000
BROKER = "*"
Place = tuple[str, int, str]
"""Cluster, broker, and path of the directory or ``BROKER``."""


class Step(NamedTuple):
    """A change of status."""

    place: Place
    status: str
    at_ms: int


@dataclass
class Life:
    """One alert from its first revision to its last."""

    place: Place
    rule: str
    opened_ms: int
    severities: list[str]
    cause: str | None = None
    ended_ms: int | None = None
    reason: str | None = None

    def told(self) -> tuple[Any, ...]:
        """Return it as something to compare."""
        return (*self.place, self.rule, self.opened_ms, *self.severities, self.cause, self.ended_ms, self.reason)


@dataclass
class _Disk:
    status: str | None = None
    asked: list[str] = field(default_factory=list)
    good_ms: int | None = None
    usable_bytes: int | None = None
    told_ms: int | None = None
    is_confirmed: bool = False
    cause: str | None = None


@dataclass
class _Broker:
    status: str | None = None
    taken_ms: int = -1
    failures: int = 0
    disks: dict[str, _Disk] = field(default_factory=dict)


class Reference:
    """Takes every record in the order of its partition; holds what must have come out by then."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.lives: list[Life] = []
        self.samples: set[tuple[Place, int]] = set()
        self.rejected = 0
        self.fast = 0
        self.answered: list[tuple[str, int, str]] = []
        self._brokers: dict[tuple[str, int], _Broker] = {}
        self._firing: dict[tuple[Place, str], Life] = {}

    def take(self, records: Iterable[Written]) -> None:
        """Take records."""
        for record in records:
            if not record.is_good:
                self.rejected += 1
            elif record.topic == EVENTS:
                self._event(json.loads(record.value))
            else:
                self._poll(json.loads(record.value), record.timestamp_ms)

    def statuses(self) -> dict[Place, str]:
        """Return the status of every broker and directory now."""
        found = {}
        for (cluster, number), broker in self._brokers.items():
            found[cluster, number, BROKER] = broker.status or ""
            found |= {(cluster, number, path): disk.status or "" for path, disk in broker.disks.items()}
        return found

    # -- one record

    def _poll(self, record: dict[str, Any], arrived_ms: int) -> None:
        cluster, number = record["cluster"], record["broker"]
        at_ms = record["timestamp_ms"]
        at_ms = arrived_ms if at_ms > arrived_ms + AHEAD_MS else at_ms
        for answer in record["log_dirs"]:
            self.samples.add(((cluster, number, answer["path"]), at_ms))
        broker = self._brokers.setdefault((cluster, number), _Broker())
        if at_ms <= broker.taken_ms:
            return
        broker.taken_ms = at_ms
        here = (cluster, number, BROKER)
        if record["status"] != "ok":
            self._unanswered(broker, here, at_ms)
            return
        broker.failures = 0
        for answer in record["log_dirs"]:
            disk = broker.disks.setdefault(answer["path"], _Disk())
            self._answer(disk, (cluster, number, answer["path"]), answer, at_ms, record["interval_ms"])
        self._broker_by_disks(broker, here, at_ms)
        self._end(here, "broker_unknown", at_ms, "recovered")

    def _unanswered(self, broker: _Broker, here: Place, at_ms: int) -> None:
        broker.failures += 1
        broker.status = self._step(here, broker.status, "unknown", at_ms)
        for path, disk in broker.disks.items():
            disk.status = self._step((*here[:2], path), disk.status, "unknown", at_ms)
        if broker.failures >= POLLS_UNTIL_UNKNOWN:
            self._fire(here, "broker_unknown", at_ms, "critical")

    def _broker_by_disks(self, broker: _Broker, here: Place, at_ms: int) -> None:
        is_degraded = any(disk.status == "offline" for disk in broker.disks.values())
        broker.status = self._step(here, broker.status, "degraded" if is_degraded else "online", at_ms)

    def _answer(self, disk: _Disk, place: Place, answer: dict[str, Any], at_ms: int, interval_ms: int) -> None:
        if answer["error_code"] == OFFLINE:
            self._offline(disk, place, at_ms)
        elif answer["error_code"]:
            disk.status = self._step(place, disk.status, "unknown", at_ms)
            self._fire(place, "log_dir_suspect", at_ms, "warning")
        elif disk.told_ms is None or at_ms > disk.told_ms:
            self._good(disk, place, answer, at_ms, interval_ms)

    def _offline(self, disk: _Disk, place: Place, at_ms: int) -> None:
        if not disk.is_confirmed:
            disk.is_confirmed = True
            disk.cause = "full" if disk.usable_bytes is not None and disk.usable_bytes < RESERVE_BYTES else "unknown"
        disk.status = self._step(place, disk.status, "offline", at_ms)
        self._end(place, "log_dir_suspect", at_ms, "offline")
        self._fire(place, "log_dir_offline", at_ms, "critical", disk.cause)
        self._end(place, "log_dir_space", at_ms, "offline")

    def _good(self, disk: _Disk, place: Place, answer: dict[str, Any], at_ms: int, interval_ms: int) -> None:
        is_alone = disk.status not in LEVELS or disk.good_ms is None or at_ms - disk.good_ms > GAP_POLLS * interval_ms
        disk.good_ms, disk.usable_bytes = at_ms, answer["usable_bytes"]
        level = _level(answer, disk.status if not is_alone else None)
        if is_alone:
            disk.asked = [level]
        else:
            disk.asked = [*disk.asked, level][-IN_A_ROW:]
            level = _agreed(str(disk.status), disk.asked)
        disk.status = self._step(place, disk.status, level, at_ms)
        self._end(place, "log_dir_offline", at_ms, "recovered" if disk.is_confirmed else "unconfirmed")
        disk.is_confirmed, disk.cause = False, None
        self._end(place, "log_dir_suspect", at_ms, "recovered")
        if level == "online":
            self._end(place, "log_dir_space", at_ms, "recovered")
        else:
            self._fire(place, "log_dir_space", at_ms, SEVERITY[level])

    def _event(self, record: dict[str, Any]) -> None:
        cluster, number, path, at_ms = (record[name] for name in ("cluster", "broker", "log_dir", "timestamp_ms"))
        self.fast += 1
        broker = self._brokers.setdefault((cluster, number), _Broker())
        disk, place = broker.disks.setdefault(path, _Disk()), (cluster, number, path)
        is_open = (place, "log_dir_offline") in self._firing
        if disk.status == "offline" and is_open:
            self.answered.append((cluster, number, "merged"))
            return
        disk.told_ms, disk.cause = at_ms, "unknown"
        if is_open:
            self.answered.append((cluster, number, "merged"))
        disk.status = self._step(place, disk.status, "offline", at_ms)
        self._end(place, "log_dir_suspect", at_ms, "offline")
        self._fire(place, "log_dir_offline", at_ms, "critical", "unknown")
        self._end(place, "log_dir_space", at_ms, "offline")
        if broker.status in {"online", "degraded"}:
            self._broker_by_disks(broker, (cluster, number, BROKER), broker.taken_ms)

    # -- what comes out

    def _step(self, place: Place, before: str | None, after: str, at_ms: int) -> str:
        if before != after:
            self.steps.append(Step(place, after, at_ms))
        return after

    def _fire(self, place: Place, rule: str, at_ms: int, severity: str, cause: str | None = None) -> None:
        life = self._firing.get((place, rule))
        if life is None:
            self._firing[place, rule] = Life(place, rule, at_ms, [severity], cause)
            self.lives.append(self._firing[place, rule])
            return
        if life.severities[-1] != severity:
            life.severities.append(severity)
        life.cause = cause

    def _end(self, place: Place, rule: str, at_ms: int, reason: str) -> None:
        life = self._firing.pop((place, rule), None)
        if life is not None:
            life.ended_ms, life.reason = at_ms, reason


def _level(answer: dict[str, Any], current: str | None) -> str:
    """Return the level of one answer: up at a limit, down only five points below it."""
    used, total = 100 * (answer["total_bytes"] - answer["usable_bytes"]), answer["total_bytes"]
    reached = [level for level in LEVELS[1:] if used >= PERCENT[level] * total]
    held = [level for level in LEVELS[1:] if used >= (PERCENT[level] - BACK) * total]
    up = reached[-1] if reached else LEVELS[0]
    if current is None or LEVELS.index(up) >= LEVELS.index(current):
        return up
    down = held[-1] if held else LEVELS[0]
    return down if LEVELS.index(down) < LEVELS.index(current) else current


def _agreed(current: str, asked: list[str]) -> str:
    """Return the change that all of the last samples support."""
    ranks, now = [LEVELS.index(level) for level in asked], LEVELS.index(current)
    if len(ranks) == IN_A_ROW and min(ranks) > now:
        return LEVELS[min(ranks)]
    if len(ranks) == IN_A_ROW and max(ranks) < now:
        return LEVELS[max(ranks)]
    return current
