"""The need for what deletes history: an alert that fires now, by samples that pass the stream now. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from logdirwatch.execute import changes
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.steps import Step
from logdirwatch.kafka.config_values import number_of
from logdirwatch.model.evidence.stream import HeartbeatEvidence
from logdirwatch.model.records import AlertRecord, ExecutionRecord
from logdirwatch.model.vocabulary import THROTTLED_REPLICAS, AlertStatus
from logdirwatch.text.units import human_ms

FACTS_MAX_AGE_MS = 300_000
"""How long ago the last sample may have passed the stream whose alert is believed."""


@dataclass(frozen=True)
class Shown:
    """The alerts, by id, and by cluster when a sample is last known to have passed the stream."""

    alerts: Mapping[str, AlertRecord] = field(default_factory=dict)
    passed_ms: Mapping[str, int] = field(default_factory=dict)

    def reason_against(self, alert_id: str, cluster: str, now_ms: int) -> str | None:
        """Return why the need for an action of an alert is not shown now; None if it is."""
        alert = self._covering(alert_id)
        if alert is None:
            return f"nothing shows that room is needed: alert {alert_id} is not on the topic"
        if alert.status is not AlertStatus.FIRING:
            return f"nothing shows that room is needed: its alert is over ({alert.reason or 'no reason'})"
        if alert.stale_since_ms is not None:
            return "nothing shows that room is needed: what its alert is about is not monitored now"
        passed_ms = self.passed_ms.get(cluster)
        if passed_ms is None:
            return f"nothing shows that room is needed: no heartbeat tells that samples of {cluster} pass the stream"
        if abs(age_ms := now_ms - passed_ms) > FACTS_MAX_AGE_MS:
            when = f"{human_ms(abs(age_ms))} {'ago' if age_ms > 0 else 'ahead: clocks differ'}"
            return f"nothing shows that room is needed: the last sample of {cluster} passed the stream {when}"
        return None

    def _covering(self, alert_id: str) -> AlertRecord | None:
        """Return an alert, or the one that it was merged into."""
        alert = self.alerts.get(alert_id)
        return alert if alert is None or alert.merged_into is None else self.alerts.get(alert.merged_into)


def passed_ms(sign: AlertRecord, kafka_timestamp_ms: int) -> int | None:
    """Return when samples last passed by a heartbeat; None if it does not tell.

    Both clocks count: a stream that lags writes old heartbeats now.
    """
    evidence = sign.evidence
    if not isinstance(evidence, HeartbeatEvidence) or evidence.samples_overdue_ms is None:
        return None
    return min(sign.at_ms, kafka_timestamp_ms) - evidence.samples_overdue_ms


def deletes_history(record: ExecutionRecord) -> bool:
    """Tell whether a step that is left lowers how much history a topic keeps."""
    return any(map(is_cut, changes.steps(record)[record.step :]))


def is_cut(step: Step) -> bool:
    """Tell whether a step lowers a limit of a topic, whatever of its present values it has now.

    Remote storage keeps what a local limit deletes. To delete an override gives the default back.
    """
    if not isinstance(step, SetConfig) or step.entity != "topics" or step.key in THROTTLED_REPLICAS:
        return False
    if step.value is None or step.key.startswith("local."):
        return False
    value = number_of(step.value)
    return value is None or (value >= 0 and not is_raise(step.before, value))


def is_raise(before: Iterable[str | None], value: int) -> bool:
    """Tell whether a limit keeps no less than before, whichever of the values it has now."""
    numbers = [None if one is None else number_of(one) for one in before]
    return all(one is not None and 0 <= one <= value for one in numbers)
