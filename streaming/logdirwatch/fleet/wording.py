"""The texts of a cluster's alerts: what happened, how bad it is, and whether it can wait until morning."""

from typing import Any

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.alerts.messages import ended
from logdirwatch.model.evidence.clusters import (
    BrokerSilentEvidence,
    ClusterSilentEvidence,
    ExecutionStoppedEvidence,
    FleetSpaceEvidence,
    IfLost,
    RollingRestartEvidence,
)
from logdirwatch.model.records import ADVANCES_NOT, SILENT
from logdirwatch.model.vocabulary import Severity
from logdirwatch.text.units import human_bytes, human_in, human_ms, human_ratio
from logdirwatch.text.words import CAN_WAIT, counted, short_id, some_of, until_morning, utc

_NAMED = 3
_LISTED = 8
_REASON = 160
"""How many characters of the reason of a stop a summary has: messages cut it off after the commands."""
_NOT_KNOWN = "whether a lost broker could be rebuilt is not known"
_RISK_WAITS = {
    "leaderless": "no, because partitions without a leader cannot be read or written",
    "under_min_isr": "no, because writes with acks=all are refused",
    "sole_replica": "yes, because every partition can still be read and written; but the next failure loses data",
}


def partitions_at_risk(cluster: str, kind: str, affected: dict[str, Any]) -> str:
    """Say how many partitions are at risk and how, the worst first."""
    told = [text for text in (_leaderless(affected), _under_min_isr(affected), _sole(affected)) if text]
    names = affected["examples"][:_NAMED]
    example = f", among them {', '.join(names)}" if names else ""
    hurt = hints.hurt(affected["hurt_topics"], affected["hurt_groups"])
    return f"Cluster {cluster}: {', '.join(told)}{example}{hurt}; {CAN_WAIT}: {_RISK_WAITS[kind]}"


def fleet_space(cluster: str, evidence: FleetSpaceEvidence, urgent: int, at_ms: int, *, can_wait: bool) -> str:
    """Say that many disks fill together, by how much, and whether a lost disk or broker could be rebuilt."""
    waits = _waits_for_space(evidence, urgent, at_ms, can_wait=can_wait)
    return (
        f"Cluster {cluster}: {evidence.filling_brokers} of {evidence.brokers} brokers have disks that are "
        f"filling or soon will be, {human_bytes(evidence.above_bytes)} too much, and the others can take "
        f"{human_bytes(evidence.room_bytes)} of that: moving data only moves the problem; "
        f"{_could_be_rebuilt(evidence.if_lost)}; {CAN_WAIT}: {waits}"
    )


NOT_REPORTED = "no collector reports it"


def broker_silent(broker: int, evidence: BrokerSilentEvidence, *, is_planned: bool) -> str:
    """Say that no collector reports one broker while others are reported."""
    fullest = evidence.fullest
    seen = "" if fullest is None else f"; last seen: {fullest.log_dir} at {human_ratio(fullest.used_ratio)}"
    others = (evidence.brokers or 0) - (evidence.silent_brokers or 0)
    return (
        f"Broker {broker} is unknown: {_why_silent(evidence)}, while {others} of the cluster's {evidence.brokers} "
        f"are reported{seen}; {_waits_for_sight(is_planned=is_planned)}"
    )


def _why_silent(evidence: BrokerSilentEvidence | ClusterSilentEvidence) -> str:
    """Return why nothing is known, as ``detect`` says it: nothing arrives, or nothing newer."""
    told = (evidence.reason or "").removeprefix(SILENT)
    return told if ADVANCES_NOT in told else NOT_REPORTED


def broker_not_answering(broker: int, evidence: BrokerSilentEvidence, *, is_planned: bool) -> str:
    """Say that a broker is reported again after a silence, and does not answer."""
    return (
        f"Broker {broker} is reported again, but does not answer ({evidence.reason}); "
        f"{_waits_for_sight(is_planned=is_planned)}"
    )


def cluster_silent(cluster: str, evidence: ClusterSilentEvidence, *, is_planned: bool) -> str:
    """Say that no collector reports any broker of a cluster, and which brokers were away before."""
    brokers = evidence.brokers
    who = "its only broker" if brokers == 1 else f"any of its {brokers} brokers"
    away = evidence.away_before
    before = f"; {_brokers(away)} did not answer before that" if away else ""
    why = _why_silent(evidence)
    if why == NOT_REPORTED:
        why = (
            f"no collector reports {who} any more{before}; check the collector and its connection to the telemetry "
            "cluster first"
        )
    return f"Cluster {cluster} is unknown: {why}; {_waits_for_sight(is_planned=is_planned)}"


def _brokers(ids: list[int]) -> str:
    return f"broker{'' if len(ids) == 1 else 's'} {some_of(ids, _LISTED)}"


def _waits_for_sight(*, is_planned: bool) -> str:
    why = "it is planned: maintenance is under way" if is_planned else "its disks are not monitored"
    return until_morning((is_planned, why))


def rolling_restart(cluster: str, evidence: RollingRestartEvidence, in_turn: list[int]) -> str:
    """Say which brokers were away and came back in time."""
    names = ", ".join(map(str, in_turn[:_LISTED])) + (", ..." if len(in_turn) > _LISTED else "")
    more = evidence.away_brokers
    away = f", {more} more {'is' if more == 1 else 'are'} away now" if more else ""
    at_once = evidence.at_once_brokers or 0
    what = f"{at_once} brokers were lost at the same time" if at_once > 1 else "rolling restart"
    return (
        f"Cluster {cluster}: {what}: {evidence.restarted_brokers} of {evidence.brokers} brokers were "
        f"away for at most {human_ms(evidence.longest_away_ms)} and are back ({names}){away}; "
        f"{CAN_WAIT}: yes, because a broker that stays away longer than {human_ms(evidence.grace_ms)} has an alert of "
        "its own"
    )


def slow_brokers(cluster: str, broker: int, flush_ms: float, others_ms: float, more_brokers: int) -> str:
    """Say which broker's disks are slow compared with all others, and how many more brokers are slow."""
    more = f", and {more_brokers} more stand{'s' if more_brokers == 1 else ''} out" if more_brokers else ""
    return (
        f"Cluster {cluster}: broker {broker} takes {human_ms(flush_ms)} to flush a log (p99), the others "
        f"{human_ms(others_ms)}{more}: one of its disks is slow or failing; "
        f"{CAN_WAIT}: yes, because all brokers serve; but clients of this broker wait longer"
    )


def execution_stopped(cluster: str, evidence: ExecutionStoppedEvidence, status: str, severity: Severity) -> str:
    """Say which execution stopped and why, what that keeps from beginning, and how a person ends it."""
    name = short_id(str(evidence.action_id))
    what = f"{'undo' if evidence.is_undo else 'execution'} of {evidence.kind} {name} by {evidence.by}"
    if status == "resumed":
        return (
            f"Cluster {cluster}: the {what} had stopped and is {evidence.state} again; "
            f"{CAN_WAIT}: yes, because it is being carried out"
        )
    why = "no process carries it out any more" if status == "abandoned" else (evidence.reason or "no reason")[:_REASON]
    options = " or ".join(command.split()[2] for command in evidence.commands)
    waits = "no, because copies of it may run without being monitored"
    if severity is Severity.WARNING:
        waits = "yes, because nothing of it runs; what it was to repair has alerts of its own"
    return (
        f"Cluster {cluster}: the {what} is {status}, and nothing else begins there: {why}; "
        f"go on with it or end it: logdirwatch apply {options} {name}; {CAN_WAIT}: {waits}"
    )


def held(cluster: str, rule: str, times: int, since_ms: int, until_ms: int) -> str:
    """Say that a flapping alert is held open although nothing is wrong now, since when, and until when."""
    return (
        f"Cluster {cluster}: no {rule} since {utc(since_ms)}; flapping: ended {times} times within an hour, "
        f"held open until {utc(until_ms)}"
    )


def resolved(cluster: str, subject: int | str | None, reason: str) -> str:
    """Say that an alert ended and why; it was about the cluster, a broker or an action."""
    if isinstance(subject, str):
        return f"Cluster {cluster}: the execution of action {short_id(subject)}: {ended(reason)}"
    return f"{f'Cluster {cluster}' if subject is None else f'Broker {subject}'}: {ended(reason)}"


def _leaderless(affected: dict[str, Any]) -> str:
    count, internal = affected["leaderless"], affected["internal_leaderless"]
    of_internal = f" ({internal} of internal topics)" if internal else ""
    return f"{counted(count, 'partition')} without a leader{of_internal}" if count else ""


def _under_min_isr(affected: dict[str, Any]) -> str:
    count, at_most = affected["under_min_isr"], affected["under_min_isr_at_most"]
    if not at_most:
        return ""
    return f"{'' if count == at_most else 'at least '}{counted(count, 'partition')} with too few in-sync replicas"


def _sole(affected: dict[str, Any]) -> str:
    count = affected["sole_replica"]
    return f"{counted(count, 'partition')} with a single replica left" if count else ""


def _could_be_rebuilt(if_lost: IfLost | None) -> str:
    """Name the broker that could not be rebuilt, or the directory if not even that could be."""
    if if_lost is None:
        return _NOT_KNOWN
    for answer, place in ((if_lost.log_dir, "{log_dir} of broker {broker}"), (if_lost.broker, "broker {broker}")):
        if answer.can_be_rebuilt is False and answer.worst is not None:
            lost = place.format(log_dir=answer.worst.log_dir, broker=answer.worst.broker)
            return f"if {lost} were lost, {human_bytes(answer.missing_bytes)} would not fit on the others"
    return "any one broker could be rebuilt on the others" if if_lost.broker.can_be_rebuilt else _NOT_KNOWN


def _waits_for_space(evidence: FleetSpaceEvidence, urgent: int, at_ms: int, *, can_wait: bool) -> str:
    first_ms = evidence.first_full_at_ms
    if urgent:
        return f"no, because {'1 disk is' if urgent == 1 else f'{urgent} disks are'} critical or worse already"
    if first_ms is not None and not can_wait:
        return f"no, because the first is full {human_in(first_ms - at_ms)}"
    return "yes, because none of them is critical yet; but getting more space takes days"
