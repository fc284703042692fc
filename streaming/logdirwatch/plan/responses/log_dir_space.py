"""Which actions answer an alert about space, balance, or what moves leave behind."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import LogDirStatus, Rule
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import Stage
from logdirwatch.plan.actions.brokers.free_space import free_inodes
from logdirwatch.plan.actions.brokers.investigate import investigate
from logdirwatch.plan.actions.replicas.clear_throttles import clear_draft, raise_draft
from logdirwatch.plan.actions.replicas.move_log_dir import move_drafts
from logdirwatch.plan.availability.broker_halt import saying_that_it_halts
from logdirwatch.plan.availability.offline_log_dirs import proof_of
from logdirwatch.plan.capacity.growth_by_policy import growth_by_policy, told
from logdirwatch.plan.capacity.reserve_file import reserve_of
from logdirwatch.plan.cluster.snapshot import Directory, Facts
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Draft, Policy
from logdirwatch.plan.reassignment.throttles import limits_on, topics_throttled_on
from logdirwatch.plan.reassignment.within_broker import plan_moves
from logdirwatch.plan.relief.freed_bytes import counted_bytes
from logdirwatch.plan.relief.planner import filling_drafts
from logdirwatch.plan.responses.failures import leaders_off
from logdirwatch.plan.responses.fleet_space import fleet_drafts
from logdirwatch.plan.responses.uncleanable_partitions import uncleanable_drafts
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.report.units import human_bytes

Answer = Callable[[AlertRecord, Facts, Policy, int], list[Draft]]

BY_INODES = "inodes"
"""What the evidence of log_dir_space says when inodes run out, not space."""
LISTS = "throttled_replicas"
"""How the alert's evidence calls the topics' lists."""

RAISED_BY = 2
_FILLING = frozenset({LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED})


def space_drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Answer a directory that fills."""
    directory = directory_of(alert, facts)
    if directory is None or not directory.is_serving:
        return []
    drafts = [*_by_inodes(alert, directory), *filling_drafts(directory, facts, policy, now_ms)]
    led = leaders_off(directory, facts, policy, drafts)
    found = [*_led_in_place(drafts, led, directory), *_unexplained(alert, directory, policy)]
    return _with_growth(saying_that_it_halts(found, directory, facts), growth_by_policy(directory, facts))


def _led_in_place(drafts: list[Draft], led: list[Draft], directory: Directory) -> list[Draft]:
    """Put the change of leaders behind what saves the directory: it frees nothing. Where nothing does it is first."""
    saves = [n for n, draft in enumerate(drafts) if _saves(draft, directory)]
    place = saves[0] + 1 if saves else 0
    return [*drafts[:place], *led, *drafts[place:]]


def _saves(draft: Draft, directory: Directory) -> bool:
    """Tell whether an action frees something in time without loss, or wins the time for what does."""
    is_brake = ACTION_TYPES[draft.kind].relief.stage is Stage.SLOWS_WRITES and not draft.vetoes
    return is_brake or (not draft.data_loss and counted_bytes(draft, directory) > 0)


def _by_inodes(alert: AlertRecord, directory: Directory) -> list[Draft]:
    """Return how inodes are freed where they run out, whatever space is left: no byte that is freed helps alone."""
    return [free_inodes(directory, proof_of(alert.evidence))] if alert.evidence.get("decided_by") == BY_INODES else []


def unaccounted_drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Answer bytes that no replica explains: nobody but a person on the host sees whose they are."""
    del now_ms
    directory = directory_of(alert, facts)
    if directory is None:
        return []
    path = shlex.quote(directory.path)
    steps = (
        f"du -x --max-depth=1 -- {path} | sort -n | tail -20: what ends in -delete or -stray is Kafka's own.",
        (
            f"du -sx -- {path}; du -sx --apparent-size -- {path}: where the first is much larger, the file system "
            "holds more than the files have (preallocated blocks, as on XFS); a restart of the broker frees them."
        ),
        (
            f"lsof +L1 -- {path}: deleted files that a process still holds open take space as well; those of the "
            "broker are freed by its restart."
        ),
        "Remove what is not Kafka's; never segment files of a replica that is listed.",
    )
    found = investigate(alert, policy, _explained(directory, policy))
    notes = tuple(note(f"On broker {directory.broker}'s host: {step}") for step in steps)
    return [replace(found, commands=(*found.commands, *notes))]


def imbalance_drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Answer a broker whose directories are filled unequally: the fullest gives what it has above their mean.

    It yields to a directory that fills, whose own plan needs the same replicas and the same room.
    """
    mine = [] if alert.broker is None else facts.directories_of.get(alert.broker, ())
    if any(directory.status in _FILLING for directory in mine):
        return [investigate(alert, policy, "a directory of the broker is filling: its own alert says what to move")]
    directories = [directory for directory in mine if _counts(directory)]
    total = sum(directory.total_bytes or 0 for directory in directories)
    if not total:
        return []
    mean = sum(directory.used_bytes or 0 for directory in directories) / total
    fullest = max(directories, key=lambda d: ((d.used_bytes or 0) / (d.total_bytes or 1), d.path))
    goal = (fullest.used_bytes or 0) - int(mean * (fullest.total_bytes or 0))
    return move_drafts(fullest, plan_moves(fullest, facts, policy, goal_bytes=goal), facts, policy, now_ms)


def throttle_drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Answer limits that stayed behind; only those that the alert names go, the others are meant to stay."""
    del now_ms
    if alert.broker is None:
        return []
    named = set(alert.evidence.get("throttles") or ())
    topics = topics_throttled_on(alert.broker, facts) if alert.evidence.get(LISTS) else []
    found = limits_on([alert.broker] if named else [], topics, facts)
    draft = clear_draft(found, facts, policy, {"broker": alert.broker, "log_dir": None}, named)
    return [] if draft is None else [draft]


def stalled_drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Answer moves that a limit below what is written to them holds back: the limit must rise, or they never end."""
    del now_ms
    drafts: dict[str, Draft] = {}
    for path, move in sorted((alert.evidence.get("moves") or {}).items()):
        key, limit = move.get("throttle"), move.get("throttle_bytes_per_s")
        if alert.broker is None or key is None or not limit or not move.get("is_throttled_below_writes"):
            continue
        directory = facts.directories.get((alert.broker, path))
        written = 0.0 if directory is None else max(0.0, directory.growth_bytes_per_s or 0.0)
        usual = policy.limits.log_dir_throttle_bytes_per_s
        wanted = int(max(usual, RAISED_BY * limit, RAISED_BY * written))
        drafts.setdefault(key, raise_draft(alert.broker, key, limit, wanted, policy))
    return list(drafts.values())


def directory_of(alert: AlertRecord, facts: Facts) -> Directory | None:
    """Return the directory that an alert is about."""
    if alert.broker is None or alert.log_dir is None:
        return None
    return facts.directories.get((alert.broker, alert.log_dir))


ANSWERS: Mapping[Rule, Answer] = {
    Rule.LOG_DIR_SPACE: space_drafts,
    Rule.FLEET_SPACE: fleet_drafts,
    Rule.UNACCOUNTED_BYTES: unaccounted_drafts,
    Rule.LOG_DIR_IMBALANCE: imbalance_drafts,
    Rule.THROTTLE_LEFT: throttle_drafts,
    Rule.UNCLEANABLE_PARTITIONS: uncleanable_drafts,
}


def _with_growth(drafts: list[Draft], growth: dict[str, Any] | None) -> list[Draft]:
    """Return drafts that carry what makes the directory grow; the first one, which people read, says it."""
    if growth is None:
        return drafts
    carried = [replace(draft, expected={**draft.expected, "growth_by_policy": growth}) for draft in drafts]
    return [replace(draft, reason=draft.reason + told(growth)) for draft in carried[:1]] + carried[1:]


def _counts(directory: Directory) -> bool:
    return (
        directory.is_serving
        and replica_vetoes.destination_closed(directory) is None
        and directory.used_bytes is not None
    )


def _unexplained(alert: AlertRecord, directory: Directory, policy: Policy) -> list[Draft]:
    """Return the search for what fills a directory when it is mostly not replicas, nor its own reserve."""
    unaccounted, used = directory.unaccounted_bytes, directory.used_bytes
    reserve = reserve_of(directory, policy)
    if unaccounted is None or used is None or (unaccounted - (reserve[1] if reserve else 0)) * 2 < used:
        return []
    return [investigate(alert, policy, f"{human_bytes(unaccounted)} there are explained by no replica")]


def _explained(directory: Directory, policy: Policy) -> str | None:
    """Say what part of the bytes the configuration explains."""
    reserve = reserve_of(directory, policy)
    return None if reserve is None else f"{human_bytes(reserve[1])} of them are the reserve file {reserve[0]}"
