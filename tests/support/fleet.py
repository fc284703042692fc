"""The tables of a large fleet with some faults, as of now: for the cost of the console's pages, and for pictures."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, ExecutionState, Rule, Severity
from tests.support.delta import Written
from tests.unit.report.builders import action, alert, execution
from tests.unit.report.rows import TIB, broker, log_dir, partition

HOUR_MS = 3_600_000
WEEK_MS = 168 * HOUR_MS
LOST_MS = 11 * 60_000
BAD = ("filling", "critical", "saturated", "offline")
SEVERITIES = {
    "filling": Severity.WARNING,
    "critical": Severity.CRITICAL,
    "saturated": Severity.PAGE,
    "offline": Severity.PAGE,
}
USED = {"filling": (0.75, 0.85), "critical": (0.85, 0.95), "saturated": (0.95, 0.999)}
TOPICS = ("orders", "payments", "clicks", "audit-log", "inventory.changes", "sessions", "emails.outbound", "metrics")
COPIES = 3
PARTITIONS_A_TOPIC = 64


@dataclass
class Fleet:
    """How large it is; ``bad_ratio`` of the directories, ``replicas`` in each one; ``lost_rack`` does not answer."""

    brokers: int = 2_000
    log_dirs: int = 12
    bad_ratio: float = 0.01
    replicas: int = 10
    racks: int = 20
    lost_rack: int | None = None
    cluster: str = "prod"
    draw: random.Random = field(default_factory=lambda: random.Random(7))

    def write(self, tables: Written, now_ms: int) -> None:
        """Write its tables."""
        found = list(self._log_dirs(now_ms))
        bad = [row for row in found if row["status"] in BAD]
        tables.write("broker_state", *self._brokers(now_ms))
        tables.write("log_dir_state", *found)
        tables.write("log_dir_inventory", *self._inventories(now_ms))
        tables.write("replica_state", *self._replicas(found, now_ms))
        tables.write("topic_state", *self._partitions(bad))
        tables.write("log_dir_samples", *self._samples(found, now_ms))
        tables.write("transitions", *self._transitions(bad, now_ms))
        tables.alerts(*self._alerts(bad, now_ms))
        tables.actions(*self._actions(bad, now_ms))
        tables.executions(*self._executions(now_ms))

    def _brokers(self, now_ms: int) -> Iterator[dict[str, Any]]:
        for number in range(self.brokers):
            fresh = {"at_ms": now_ms, "last_seen_ms": now_ms, "since_ms": now_ms - 30 * 24 * HOUR_MS}
            host = f"kafka-{number}.example.net"
            if self._is_lost(number):
                fresh |= {"status": "offline", "last_seen_ms": now_ms - LOST_MS, "since_ms": now_ms - LOST_MS}
            yield broker(number, self.cluster, rack=f"r{number % self.racks}", host=host, **fresh)

    def _is_lost(self, number: int) -> bool:
        return self.lost_rack is not None and number % self.racks == self.lost_rack

    def _log_dirs(self, now_ms: int) -> Iterator[dict[str, Any]]:
        for number in range(self.brokers):
            for path in range(self.log_dirs):
                status = self.draw.choice(BAD) if self.draw.random() < self.bad_ratio else "online"
                status = "unknown" if self._is_lost(number) else status
                used = self.draw.uniform(*USED.get(status, (0.3, 0.75)))
                growth = self.draw.uniform(0, 1.2e6)
                full_ms = int(TIB * (1 - used) / growth * 1000)
                fields = {
                    "status": status,
                    "last_status": "online" if status == "unknown" else None,
                    "cause": "failed" if status == "offline" else None,
                    "growth_bytes_per_s": growth,
                    "full_at_ms": now_ms + full_ms if full_ms < WEEK_MS else None,
                    "replica_count": self.replicas,
                    "since_ms": now_ms - self.draw.randrange(1, 600) * 60_000,
                    "at_ms": now_ms,
                    "last_seen_ms": now_ms,
                    "sample_at_ms": now_ms,
                    "incoming_bytes": 0,
                    "volume": f"disk-{number}-{path}",
                }
                yield log_dir(number, f"/var/lib/kafka/data-{path:02}", used, self.cluster, **fields)

    def _inventories(self, now_ms: int) -> Iterator[dict[str, Any]]:
        yield {"cluster": self.cluster, "inventory_at_ms": now_ms}
        yield from (
            {"cluster": self.cluster, "broker": number, "inventory_at_ms": now_ms} for number in range(self.brokers)
        )

    @property
    def _all_partitions(self) -> int:
        return self.brokers * self.log_dirs * self.replicas // COPIES

    def _topic(self, number: int) -> tuple[str, int]:
        """Return topic and partition by the number of a partition in the cluster."""
        topic, part = divmod(number, PARTITIONS_A_TOPIC)
        return f"{TOPICS[topic % len(TOPICS)]}.{topic // len(TOPICS):03}", part

    def _brokers_of(self, number: int) -> list[int]:
        """Return the brokers of a partition: each one's next neighbours, so that its replicas are on three racks."""
        return [(number + copy) % self.brokers for copy in range(COPIES)]

    def _replicas(self, found: list[dict[str, Any]], now_ms: int) -> Iterator[dict[str, Any]]:
        bytes_by_place = {(row["broker"], row["log_dir"]): row["total_bytes"] - row["usable_bytes"] for row in found}
        status_by_place = {(row["broker"], row["log_dir"]): row["status"] for row in found}
        for number in range(self._all_partitions):
            topic, part = self._topic(number)
            for copy, holder in enumerate(self._brokers_of(number)):
                place = holder, f"/var/lib/kafka/data-{number // self.brokers % self.log_dirs:02}"
                is_offline = status_by_place[place] == "offline"
                yield {
                    "cluster": self.cluster,
                    "broker": holder,
                    "log_dir": place[1],
                    "topic": topic,
                    "partition": part,
                    "size_bytes": bytes_by_place[place] // self.replicas,
                    "offset_lag": 0,
                    "is_future": False,
                    "is_listed": True,
                    "status": "offline" if is_offline else "online",
                    "cause": "directory" if is_offline else None,
                    "is_leader": copy == 0 and not is_offline,
                    "in_isr": not is_offline,
                    "inventory_at_ms": now_ms,
                }

    def _partitions(self, bad: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        lost = {(row["broker"], row["log_dir"]) for row in bad if row["status"] == "offline"}
        for number in range(self._all_partitions):
            topic, part = self._topic(number)
            path = f"/var/lib/kafka/data-{number // self.brokers % self.log_dirs:02}"
            holders = self._brokers_of(number)
            isr = [holder for holder in holders if (holder, path) not in lost]
            dangers = {
                "is_leaderless": not isr,
                "is_under_min_isr": len(isr) < COPIES - 1,
                "is_at_min_isr": len(isr) == COPIES - 1,
                "is_sole_replica": len(isr) == 1,
            }
            more = {"leader": isr[0] if isr else None, "replicas": holders, "isr": isr, "min_insync_replicas": 2}
            known = {"configs": {"retention.ms": "604800000", "cleanup.policy": "delete"}, "overridden": []}
            moves = {"adding": [], "removing": [], "elr": [], "last_known_elr": [], "offline_replicas": []}
            yield partition(topic, part, self.cluster, **dangers) | more | known | moves

    def _samples(self, found: list[dict[str, Any]], now_ms: int) -> Iterator[dict[str, Any]]:
        """Yield a sample of every directory at the beginning of the month's first day, and a day of each bad one."""
        for row in found:
            ages = (24,) if row["status"] == "online" else range(24, -1, -1)
            for age in ages:
                grown = row["growth_bytes_per_s"] * age * 3_600
                yield {
                    **{name: row[name] for name in ("cluster", "broker", "log_dir", "total_bytes")},
                    "collector": "c",
                    "kind": "log_dir",
                    "error_code": 0,
                    "usable_bytes": min(row["total_bytes"], round(row["usable_bytes"] + grown)),
                    "timestamp_ms": now_ms - age * HOUR_MS,
                }

    def _transitions(self, bad: list[dict[str, Any]], now_ms: int) -> Iterator[dict[str, Any]]:
        for number, row in enumerate(bad):
            yield {
                **{name: row[name] for name in ("cluster", "broker", "log_dir", "cause")},
                "transition_id": f"t{number}",
                "from_status": "online",
                "to_status": row["status"],
                "reason": "log_dir_failed" if row["status"] == "offline" else "space",
                "at_ms": row["since_ms"],
            }

    def _alerts(self, bad: list[dict[str, Any]], now_ms: int) -> Iterator[Any]:
        for number, row in enumerate(bad):
            status, place = row["status"], f"Broker {row['broker']} {row['log_dir']}"
            is_offline = status == "offline"
            yield alert(
                f"{number:032x}",
                rule=Rule.LOG_DIR_OFFLINE if is_offline else Rule.LOG_DIR_SPACE,
                severity=SEVERITIES[status],
                broker=row["broker"],
                log_dir=row["log_dir"],
                to_status=status,
                cause=row["cause"],
                opened_at_ms=row["since_ms"],
                at_ms=now_ms,
                affected={"replica_count": self.replicas, "at_min_isr": self.replicas} if is_offline else {},
                summary=f"{place} is offline: disk failure, not full" if is_offline else f"{place} is {status}",
            )

        for number in filter(self._is_lost, range(self.brokers)):
            yield alert(
                f"{self.log_dirs * self.brokers + number:032x}",
                rule=Rule.BROKER_OFFLINE,
                severity=Severity.PAGE,
                broker=number,
                log_dir=None,
                to_status="offline",
                opened_at_ms=now_ms - LOST_MS,
                at_ms=now_ms,
                summary=f"Broker {number} is offline: no answer for {LOST_MS // 60_000} min",
            )

    def _actions(self, bad: list[dict[str, Any]], now_ms: int) -> Iterator[Any]:
        for number, row in enumerate(bad[: len(bad) // 2]):
            is_held = number % 3 == 0
            frees = 64 << 30
            changes = [
                {"broker": row["broker"], "log_dir": row["log_dir"], "bytes": frees},
                {"broker": row["broker"], "log_dir": "/var/lib/kafka/data-00", "bytes": -frees},
            ]
            veto = {"name": "other_broker_down", "reason": "broker 3 is offline: wait until it is back"}
            yield action(
                f"{number:032x}",
                alert_id=f"{number:032x}",
                alert={"severity": SEVERITIES[row["status"]], "rule": "log_dir_space"},
                kind=ActionKind.MOVE_LOG_DIR,
                status=ActionStatus.PROPOSED,
                target={"broker": row["broker"], "log_dir": row["log_dir"]},
                reason="three replicas fit into /var/lib/kafka/data-00",
                expected={
                    "frees_bytes": frees,
                    "needs_ms": 2 * HOUR_MS,
                    "time_to_full_after_ms": WEEK_MS,
                    "on": changes,
                },
                vetoes=[veto] if is_held else [],
                operations=execution().operations,
                at_ms=now_ms,
                expires_at_ms=now_ms + HOUR_MS,
            )

    def _executions(self, now_ms: int) -> Iterator[Any]:
        states = (
            *(ExecutionState.DONE,) * 20,
            ExecutionState.ROLLED_BACK,
            ExecutionState.STUCK,
            ExecutionState.COPYING,
        )
        for number, state in zip(count(), states, strict=False):
            begun = now_ms - (len(states) - number) * HOUR_MS
            fields = {
                "started_at_ms": begun,
                "at_ms": begun + HOUR_MS // 2,
                "state": state,
                "action_id": f"{number:032x}",
            }
            reason = "the target directory went offline" if state is ExecutionState.STUCK else None
            yield execution(f"{number:032x}", reason=reason, **fields)
