"""The expectations of a successful run. Pure: records and table rows in, verdicts out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import (
    ActionKind,
    AlertStatus,
    BrokerStatus,
    Cause,
    Lane,
    LogDirStatus,
    ReplicaStatus,
    Rule,
)
from logdirwatch.report.folding import latest

Row = dict[str, Any]

BROKEN_ACTIONS = {ActionKind.INVESTIGATE, ActionKind.RESTART_BROKER}
FILLING_ACTIONS = {ActionKind.MOVE_LOG_DIR, ActionKind.LOWER_RETENTION}

FAST_LANES = (Lane.FAST, Lane.FAST_MICRO_BATCH)
"""Spark's release decides which one is used."""


@dataclass(frozen=True)
class Place:
    """A log directory of a broker."""

    broker: int
    log_dir: str

    def __str__(self) -> str:
        return f"broker {self.broker} {self.log_dir}"


@dataclass(frozen=True)
class Verdict:
    """One expectation and whether it is met."""

    text: str
    holds: bool


def of_place(alerts: Iterable[AlertRecord], place: Place, rule: Rule) -> list[AlertRecord]:
    """Return the revisions of one rule's alerts about one directory, in the order given."""
    return [a for a in alerts if (a.broker, a.log_dir, a.rule) == (place.broker, place.log_dir, rule)]


def of_lanes(alerts: Iterable[AlertRecord], *lanes: Lane) -> list[AlertRecord]:
    """Return the firing revisions of some lanes."""
    return [a for a in alerts if a.lane in lanes and a.status is AlertStatus.FIRING]


def has_cause(alerts: Iterable[AlertRecord], cause: Cause) -> bool:
    """Tell whether a firing revision names the cause."""
    return any(a.cause is cause and a.status is AlertStatus.FIRING for a in alerts)


def _is_left_open(alerts: Sequence[AlertRecord]) -> bool:
    """Tell whether the state machine gives no cause: space was left, and no log is read here."""
    causes = {alert.cause for alert in of_lanes(alerts, Lane.STATEFUL)}
    return causes == {Cause.UNKNOWN}


def is_resolved(alerts: Sequence[AlertRecord]) -> bool:
    """Tell whether every alert's highest revision is resolved; no alert at all does not count."""
    return bool(alerts) and all(alert.status is AlertStatus.RESOLVED for alert in latest(alerts))


def kinds_for(actions: Iterable[ActionRecord], alerts: Sequence[AlertRecord]) -> set[ActionKind]:
    """Return the kinds of action proposed for any of the alerts."""
    identities = {alert.alert_id for alert in alerts}
    return {action.kind for action in actions if action.alert_id in identities}


def broken_verdicts(place: Place, alerts: Sequence[AlertRecord], actions: Sequence[ActionRecord]) -> list[Verdict]:
    """Judge the broken directory: both lanes with one alert_id, the cause, and the actions."""
    offline = of_place(alerts, place, Rule.LOG_DIR_OFFLINE)
    fast = {a.alert_id for a in of_lanes(offline, *FAST_LANES)}
    stateful = {a.alert_id for a in of_lanes(offline, Lane.STATEFUL)}
    return [
        Verdict(f"{place}: LogDirFailure alert in the fast lane", bool(fast)),
        Verdict(f"{place}: the same alert_id in the stateful lane", bool(fast & stateful)),
        Verdict(f"{place}: not called full, and no disk to be replaced", _is_left_open(offline)),
        Verdict(f"{place}: actions to investigate, then to restart", kinds_for(actions, offline) >= BROKEN_ACTIONS),
    ]


def filled_verdicts(place: Place, alerts: Sequence[AlertRecord], actions: Sequence[ActionRecord]) -> list[Verdict]:
    """Judge the filled directory: early alert with an action, saturated, then offline because it was full."""
    space = of_place(alerts, place, Rule.LOG_DIR_SPACE)
    offline = of_place(alerts, place, Rule.LOG_DIR_OFFLINE)
    return [
        Verdict(f"{place}: filling alert", bool(of_lanes(space, Lane.STATEFUL))),
        Verdict(f"{place}: saturated before it went offline", _saturated_first(space, offline)),
        Verdict(f"{place}: offline with cause full", has_cause(offline, Cause.FULL)),
        Verdict(
            f"{place}: action move_log_dir or lower_retention while filling",
            bool(kinds_for(actions, space) & FILLING_ACTIONS),
        ),
        Verdict(f"{place}: an action once it was offline", bool(kinds_for(actions, offline))),
        Verdict(f"{place}: first alert early enough for its first action", _in_time(space, actions)),
    ]


def _saturated_first(space: Sequence[AlertRecord], offline: Sequence[AlertRecord]) -> bool:
    saturated = [a.at_ms for a in space if a.to_status == LogDirStatus.SATURATED]
    return bool(saturated and offline) and min(saturated) <= min(a.at_ms for a in offline)


def lead_ms(space: Sequence[AlertRecord]) -> int | None:
    """Return the time between the first alert about space and saturation; None without both."""
    saturated = [a.at_ms for a in space if a.to_status == LogDirStatus.SATURATED]
    return min(saturated) - min(a.at_ms for a in space) if saturated else None


def first_action(space: Sequence[AlertRecord], actions: Iterable[ActionRecord]) -> ActionRecord | None:
    """Return the first action that relieves a filling directory."""
    identities = {alert.alert_id for alert in space}
    relieving = (a for a in actions if a.alert_id in identities and a.kind in FILLING_ACTIONS)
    return next(relieving, None)


def _in_time(space: Sequence[AlertRecord], actions: Sequence[ActionRecord]) -> bool:
    action, lead = first_action(space, actions), lead_ms(space)
    if action is None or lead is None:
        return False
    needs_ms = action.expected.get("needs_ms")
    return needs_ms is not None and lead >= needs_ms


def table_verdicts(
    broken: Place, filled: Place, log_dirs: Sequence[Row], brokers: Sequence[Row], replicas: Sequence[Row]
) -> list[Verdict]:
    """Judge the tables while both directories are offline."""
    lost = [row for row in replicas if (row["broker"], row["log_dir"]) == (broken.broker, broken.log_dir)]
    return [
        *(
            Verdict(
                f"log_dir_state: {place} offline, cause {cause}",
                any(_is_offline(row, place, cause) for row in log_dirs),
            )
            for place, cause in ((broken, Cause.UNKNOWN), (filled, Cause.FULL))
        ),
        *(
            Verdict(
                f"broker_state: broker {place.broker} degraded",
                any(row["broker"] == place.broker and row["status"] == BrokerStatus.DEGRADED for row in brokers),
            )
            for place in (broken, filled)
        ),
        Verdict(
            f"replica_state: the replicas of {broken} offline",
            bool(lost) and all(row["status"] == ReplicaStatus.OFFLINE for row in lost),
        ),
    ]


def _is_offline(row: Row, place: Place, cause: Cause) -> bool:
    place_of_row = (row["broker"], row["log_dir"])
    return (*place_of_row, row["status"], row["cause"]) == (
        place.broker,
        place.log_dir,
        LogDirStatus.OFFLINE,
        cause,
    )


def recovered_verdicts(
    places: Sequence[Place], alerts: Sequence[AlertRecord], log_dirs: Sequence[Row]
) -> list[Verdict]:
    """Judge the end: every alert resolved, every directory writable again."""
    offline = {(row["broker"], row["log_dir"]) for row in log_dirs if row["status"] == LogDirStatus.OFFLINE}
    return [
        verdict
        for place in places
        for verdict in (
            Verdict(
                f"{place}: alerts resolved after the restart",
                is_resolved(of_place(alerts, place, Rule.LOG_DIR_OFFLINE)),
            ),
            Verdict(
                f"log_dir_state: {place} no longer offline",
                bool(log_dirs) and (place.broker, place.log_dir) not in offline,
            ),
        )
    ]
