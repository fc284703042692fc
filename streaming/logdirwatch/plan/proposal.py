"""A proposed action: what a planner returns, without id, alert and status."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.actions.parts import Precondition, Veto
from logdirwatch.model.vocabulary import ActionKind, ClusterOwner
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.settings import PlanSettings, StrimziSettings

__all__ = (
    "EXAMPLES",
    "NAMED",
    "Owner",
    "Policy",
    "Precondition",
    "ProposedAction",
    "Veto",
    "effect",
    "owner_of",
    "vetoes_of",
    "with_vetoes",
)


EXAMPLES, NAMED = 20, 3
"""How many of many a record lists, and how many a text names."""


@dataclass(frozen=True)
class Owner:
    """What declares a cluster's configuration; ``name`` is the name of its resource for Strimzi."""

    kind: ClusterOwner
    name: str
    strimzi: StrimziSettings = field(default_factory=StrimziSettings)


@dataclass(frozen=True)
class Policy:
    """What a plan may do in one cluster, and how its commands are written."""

    limits: PlanSettings
    tools: Tools
    inventory_interval_ms: int
    owner: Owner | None = None

    @property
    def is_strimzis(self) -> bool:
        """Whether Strimzi manages the cluster."""
        return self.owner is not None and self.owner.kind is ClusterOwner.STRIMZI

    @property
    def facts_max_age_ms(self) -> int:
        """The maximum age of the inventory that a plan is based on."""
        return self.limits.inventory_max_age_scans * self.inventory_interval_ms + self.limits.inventory_delay_ms

    @property
    def settling_ms(self) -> int:
        """How long until the snapshot shows what was done: one inventory, and its way to the tables."""
        return self.inventory_interval_ms + self.limits.inventory_delay_ms


@dataclass(frozen=True)
class ProposedAction:
    """One action as planned.

    ``target`` says what it acts on and is part of its identity. ``valid_ms`` is how long it stays valid, None: as
    configured.
    """

    kind: ActionKind
    target: Mapping[str, Any]
    reason: str
    expected: Mapping[str, Any]
    preconditions: tuple[Precondition, ...] = ()
    vetoes: tuple[Veto, ...] = ()
    commands: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    reassignment: Mapping[str, Any] | None = None
    configs: Mapping[str, Any] | None = None
    undo: Mapping[str, Any] = field(default_factory=dict)
    data_loss: bool = False
    valid_ms: int | None = None

    def because(self, why: str) -> "ProposedAction":
        """Return it with ``why`` added to the reason."""
        return replace(self, reason=f"{self.reason}; {why}")


def effect(
    *,
    frees_bytes: int | None = None,
    needs_ms: int | None = None,
    on: list[dict[str, Any]] | None = None,
    time_to_full_after_ms: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return ``expected`` of an action.

    ``frees_bytes`` is what the alert's own directory gains; ``on`` lists every directory that changes, negative if it
    loses room. ``needs_ms`` is the time from its start until the bytes are free; a record has that moment too,
    ``frees_by_ms``. None: unknown.
    """
    return {
        "frees_bytes": frees_bytes,
        "frees_by_ms": None,
        "needs_ms": needs_ms,
        "on": on or [],
        "time_to_full_after_ms": time_to_full_after_ms,
        **more,
    }


def owner_of(topic: str, policy: Policy) -> str:
    """Return the owner of a topic, as a text."""
    owner = policy.limits.topic_rule(topic).owner
    return f"the owner of {topic}" if owner is None else f"{owner}, the owner of {topic},"


def vetoes_of(*found: Veto | None) -> tuple[Veto, ...]:
    """Return those that are vetoes."""
    return tuple(veto for veto in found if veto is not None)


def with_vetoes(proposal: ProposedAction, *vetoes: Veto) -> ProposedAction:
    """Return a proposal with more vetoes."""
    return replace(proposal, vetoes=tuple(dict.fromkeys([*proposal.vetoes, *vetoes])))
