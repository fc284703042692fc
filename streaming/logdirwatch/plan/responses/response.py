"""The response to the alerts of a rule: its input, and what it declares."""

from collections.abc import Callable
from dataclasses import dataclass

from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.actions.brokers.investigate import Runbook
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction


@dataclass(frozen=True)
class Situation:
    """An open alert with everything that a response may use; ``look`` is its runbook step."""

    alert: AlertRecord
    snapshot: ClusterSnapshot
    policy: Policy
    now_ms: int
    look: ProposedAction

    @property
    def may_come_back(self) -> bool:
        """Whether it is too early to take what is away for lost."""
        return self.now_ms - self.alert.opened_at_ms < self.policy.limits.rebuild_after_ms

    @property
    def directory(self) -> LogDir | None:
        """The directory that the alert is about."""
        return directory_of(self.alert, self.snapshot)

    def look_because(self, why: str | None) -> ProposedAction:
        """Return the runbook step; ``why`` says why there is no better action."""
        return self.look if why is None else self.look.because(why)


Propose = Callable[[Situation], list[ProposedAction]]


@dataclass(frozen=True, kw_only=True)
class Response:
    """The response to the alerts of one rule: actions or, if it has ``nothing_to_propose``, its runbook step alone.

    ``runbook`` is used when nothing better can be proposed, and before anything is; ``runbook_for``
    chooses another one by the evidence. ``on_old_inventory`` returns the actions possible while the places of replicas
    are unknown; None: those kinds that need no inventory. ``ends_when`` describes what resolves an alert, as it follows
    "it ends when".
    """

    runbook: Runbook
    ends_when: str
    runbook_for: Callable[[AlertRecord], Runbook | None] = lambda _: None
    propose: Propose | None = None
    nothing_to_propose: str | None = None
    on_old_inventory: Propose | None = None

    def __post_init__(self) -> None:
        if (self.propose is None) == (self.nothing_to_propose is None):
            msg = "a response proposes actions, or says why there are none"
            raise ValueError(msg)

    def proposed(self, situation: Situation) -> list[ProposedAction]:
        """Return the actions on a complete snapshot."""
        return [] if self.propose is None else self.propose(situation)


def directory_of(alert: AlertRecord, snapshot: ClusterSnapshot) -> LogDir | None:
    """Return the directory that an alert is about."""
    if alert.broker is None or alert.log_dir is None:
        return None
    return snapshot.directories.get((alert.broker, alert.log_dir))
