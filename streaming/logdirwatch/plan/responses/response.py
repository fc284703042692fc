"""How the alerts of a rule are answered: what a response is given, and what it states."""

from collections.abc import Callable
from dataclasses import dataclass

from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.actions.brokers.investigate import Runbook
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction


@dataclass(frozen=True)
class Situation:
    """An open alert with all that its response may know; ``look`` is the step of its runbook."""

    alert: AlertRecord
    snapshot: ClusterSnapshot
    policy: Policy
    now_ms: int
    look: ProposedAction

    @property
    def directory(self) -> LogDir | None:
        """The directory that the alert is about."""
        return directory_of(self.alert, self.snapshot)

    def look_because(self, why: str | None) -> ProposedAction:
        """Return the step of the runbook; ``why`` says what keeps a better action back."""
        return self.look if why is None else self.look.because(why)


Propose = Callable[[Situation], list[ProposedAction]]


@dataclass(frozen=True, kw_only=True)
class Response:
    """How the alerts of one rule are answered: by actions, or, as ``nothing_to_propose`` says, by its runbook alone.

    ``runbook`` is what to look at where nothing better can be proposed, None for an alert that nobody has to answer;
    ``runbook_for`` chooses another one by what the alert says. ``on_old_inventory`` is what can be advised while nobody
    knows where replicas lie now; None: the kinds of actions that need no inventory. ``ends_when`` is the evidence that
    ends an alert, as it follows "it ends when".
    """

    runbook: Runbook | None
    ends_when: str
    runbook_for: Callable[[AlertRecord], Runbook | None] = lambda _: None
    propose: Propose | None = None
    nothing_to_propose: str | None = None
    on_old_inventory: Propose | None = None

    def __post_init__(self) -> None:
        if (self.propose is None) == (self.nothing_to_propose is None):
            msg = "a response proposes actions, or says why there are none"
            raise ValueError(msg)


def directory_of(alert: AlertRecord, snapshot: ClusterSnapshot) -> LogDir | None:
    """Return the directory that an alert is about."""
    if alert.broker is None or alert.log_dir is None:
        return None
    return snapshot.directories.get((alert.broker, alert.log_dir))
