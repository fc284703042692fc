"""A plan for all open alerts of a cluster, as it is shown and exported."""

from dataclasses import dataclass

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot


@dataclass(frozen=True)
class Remedy:
    """What one alert needs: what is under way already, and what to do, in order.

    ``against`` is what stands against the other ways. ``missing_bytes`` is what its directory lacks beyond all of it
    that is in time; 0 where that is enough, None where the alert is not about space. ``full_in_ms`` is how long the
    directory lasts as things are; None where nobody knows.
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
        """All that is to do, in order."""
        return [action for remedy in self.remedies for action in remedy.actions]
