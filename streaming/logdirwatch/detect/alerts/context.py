"""The context of every judgement."""

from typing import NamedTuple

from logdirwatch.detect.alerts.lifecycle import BrokerAlerts
from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.detect.state.turns import seed_of
from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord, Transition
from logdirwatch.model.vocabulary import BrokerStatus, Departure, LogDirStatus


class Outcome(NamedTuple):
    """The results of an observation or of the passing of time, in order."""

    transitions: list[Transition]
    alerts: list[AlertRecord]


class EvidenceTime(NamedTuple):
    """The time of the evidence, and the record it comes from."""

    at_ms: int
    origin: str


class BrokerContext:
    """One broker's memory, the settings, and the records written during one step."""

    def __init__(self, memory: BrokerMemory, settings: DetectSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.seed = seed_of(memory.cluster, memory.broker)
        self.alerts = BrokerAlerts(memory, settings)
        self.transitions: list[Transition] = []

    def outcome(self) -> Outcome:
        """Return the written records."""
        return Outcome(self.transitions, self.alerts.records)

    def thresholds(self, path: str) -> Thresholds:
        """Return the thresholds of one of the broker's directories."""
        return self.settings.thresholds_for(self.memory.cluster, path)

    def set_log_dir(self, path: str, status: LogDirStatus, reason: str, moment: EvidenceTime) -> str | None:
        """Set the status of a directory; return its previous one, None for a new directory."""
        log_dir = self.memory.log_dirs[path]
        before = None if log_dir.reason is None else log_dir.status
        if before is not status:
            log_dir.status, log_dir.since_ms = status, moment.at_ms
            self._record(path, before, status, reason, moment, log_dir)
        log_dir.reason = reason
        return before

    def remove_log_dir(self, path: str, reason: str, moment: EvidenceTime) -> None:
        """Forget a directory and close its alerts."""
        self.alerts.resolve_all(path, reason, moment.at_ms)
        log_dir = self.memory.log_dirs.pop(path)
        self._record(path, log_dir.status, Departure.REMOVED, reason, moment, log_dir)

    def set_broker(self, status: BrokerStatus, reason: str, moment: EvidenceTime) -> None:
        """Set the status of the broker."""
        memory = self.memory
        before = memory.status if memory.is_judged else None
        memory.is_judged, memory.reason = True, reason
        if before is not status:
            memory.status, memory.since_ms = status, moment.at_ms
            self._record(None, before, status, reason, moment, None)

    def remove_broker(self, reason: str, moment: EvidenceTime) -> None:
        """Write the removal of a broker, if it was ever judged."""
        memory = self.memory
        if memory.is_judged:
            self._record(None, memory.status, Departure.REMOVED, reason, moment, None)
        memory.status, memory.is_judged, memory.reason = BrokerStatus.UNKNOWN, False, reason

    def _record(
        self,
        path: str | None,
        before: str | None,
        after: str,
        reason: str,
        moment: EvidenceTime,
        log_dir: LogDirMemory | None,
    ) -> None:
        memory = self.memory
        key = identity(
            memory.cluster, str(memory.broker), path or "*", before or "", after, str(moment.at_ms), moment.origin
        )
        cause = log_dir.cause if log_dir is not None and after == LogDirStatus.OFFLINE else None
        self.transitions.append(
            Transition(
                transition_id=key,
                cluster=memory.cluster,
                broker=memory.broker,
                log_dir=path,
                from_status=before,
                to_status=after,
                cause=cause,
                reason=reason,
                at_ms=moment.at_ms,
                origin=moment.origin,
            )
        )
