"""A plan for all open alerts of a cluster, for display and export."""

from dataclasses import dataclass

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot


@dataclass(frozen=True)
class Remedy:
    """The answer to one alert: what is running already, and what to do, in order.

    ``against`` are the vetoes of the alternatives. ``missing_bytes`` is what its directory still lacks after everything
    that is in time; 0: enough, None: the alert is not about space. ``full_in_ms`` is the time until the directory is
    full if nothing is done; None if unknown.
    """

    alert: AlertRecord
    under_way: tuple[ActionRecord, ...]
    actions: tuple[ActionRecord, ...]
    against: tuple[str, ...]
    missing_bytes: int | None
    full_in_ms: int | None = None


@dataclass(frozen=True)
class Fix:
    """The remedies for all open alerts of a cluster, the most urgent first."""

    snapshot: ClusterSnapshot
    remedies: tuple[Remedy, ...]

    @property
    def actions(self) -> list[ActionRecord]:
        """All actions to carry out, in order."""
        return [action for remedy in self.remedies for action in remedy.actions]
