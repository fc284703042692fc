"""The input of a decision: the configuration, and the telemetry topics at one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logdirwatch.autopilot.settings import AutopilotClusterSettings, AutopilotSettings, KindSettings
from logdirwatch.decisions import holds
from logdirwatch.execute.need import Shown
from logdirwatch.executions import is_running
from logdirwatch.model.records import ActionRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ActionKind, Decision
from logdirwatch.parse.reading import Unreadable
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.settings import PlanSettings

MARK = "autopilot"
"""The prefix of ``by`` in its executions and decisions."""


@dataclass(frozen=True)
class Running:
    """What this process carries out: on how many other clusters, and the ids of the actions on this one."""

    elsewhere: int = 0
    here: frozenset[str] = frozenset()


ALONE = Running()


@dataclass(frozen=True)
class Facts:
    """The facts about one cluster.

    ``said`` is the last acceptance or rejection of each action, ``pause`` the active pause, ``maintenance`` that of
    brokers, ``alerts`` the alert of each action, ``shown`` what alerts show of needs, ``unknown_execution`` a record
    that may be an execution of another release.
    ``read_at_ms`` is when the topics were last read to their end, None: never. ``touches`` is what the live cluster
    shows that an action touches, None: it has not been looked at.
    """

    settings: AutopilotSettings
    plan: PlanSettings
    longest_ms: int
    said: Mapping[str, DecisionRecord] = field(default_factory=dict)
    pause: DecisionRecord | None = None
    maintenance: Sequence[DecisionRecord] = ()
    executions: Sequence[ExecutionRecord] = ()
    unknown_execution: Unreadable | None = None
    alerts: Mapping[str, str] = field(default_factory=dict)
    shown: Shown = field(default_factory=Shown)
    read_at_ms: int | None = None
    running: Running = ALONE
    touches: Sequence[str] | None = None

    def cluster(self, name: str) -> AutopilotClusterSettings | None:
        """Return what is allowed on a cluster; None: nothing."""
        return self.settings.clusters.get(name)

    def kind(self, cluster: str, kind: ActionKind) -> KindSettings | None:
        """Return the conditions for actions of a kind on a cluster; None: not allowed."""
        allowed = self.cluster(cluster)
        return None if allowed is None else allowed.kinds.get(kind)

    def acceptance(self, action: ActionRecord, now_ms: int) -> DecisionRecord | None:
        """Return the valid acceptance of exactly what an action does now, if there is one."""
        said = self.said.get(action.action_id)
        if said is None or said.decision is not Decision.ACCEPT or said.content_hash != content_hash(action):
            return None
        return said if holds(said, self.longest_ms, now_ms) else None

    def is_unattended(self, action: ActionRecord) -> bool:
        """Tell whether the configuration allows an action's kind without an acceptance."""
        allowed = self.kind(action.cluster, action.kind)
        return allowed is not None and allowed.unattended

    def executions_on(self, cluster: str) -> list[ExecutionRecord]:
        """Return the last record of each execution on a cluster, in the order of the topic."""
        return [one for one in self.executions if one.cluster == cluster]

    def beside(self, cluster: str) -> list[ExecutionRecord]:
        """Return the executions that this process carries out on a cluster, and nobody has taken over."""
        ours = [one for one in self.executions_on(cluster) if one.action_id in self.running.here]
        return [one for one in ours if is_running(one) and one.by.startswith(MARK)]

    def others_on(self, cluster: str) -> list[ExecutionRecord]:
        """Return all others: what is unfinished of them holds the cluster."""
        beside = self.beside(cluster)
        return [one for one in self.executions_on(cluster) if one not in beside]

    def last_of(self, action_id: str) -> ExecutionRecord | None:
        """Return the last execution of an action."""
        found = [one for one in self.executions if one.action_id == action_id]
        return max(found, key=lambda one: one.started_at_ms, default=None)
