"""``logdir.decisions``: what an operator decided."""

from typing import Annotated

from msgspec import Struct

from logdirwatch.model.scalars import BrokerId, EpochMs, Name, Revision, Version
from logdirwatch.model.vocabulary import Decision, Rule, Severity


class AlertPattern(Struct, frozen=True, kw_only=True):
    """The pattern of a silence that is not about one alert."""

    cluster: Annotated[Name | None, "Kafka cluster, by its name in the configuration; null: all."] = None
    rule: Annotated[Rule | None, "Rule of the alerts; null: all."] = None
    broker: Annotated[BrokerId | None, "Node id of the broker; null: all."] = None
    log_dir: Annotated[Name | None, "Path of the log directory, as a shell pattern; null: all."] = None


class DecisionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.decisions``: a decision about an alert, an action or a broker.

    A decision that ends at its ``at_ms`` ends an earlier one. ``cluster`` and ``broker`` are required for maintenance
    and for the decision that a disk is healthy.
    """

    version: Version
    id: Annotated[
        Name, "alert_id or action_id; cluster/broker for maintenance and for the decision that a disk is healthy."
    ]
    decision: Annotated[Decision, "The decision."]
    by: Annotated[Name, "Who decided."]
    reason: Annotated[str, "Why, in that person's words."]
    at_ms: Annotated[
        EpochMs,
        "When, in milliseconds since the epoch; of the decisions of one kind about one id the last on the topic "
        "counts.",
    ]
    until_ms: Annotated[
        EpochMs | None, "When the decision ends, in milliseconds since the epoch; null: it has no end."
    ] = None
    cluster: Annotated[Name | None, "Kafka cluster, by its name in the configuration; null: the id says enough."] = None
    broker: Annotated[BrokerId | None, "Node id of the broker; null: the id says enough."] = None
    owner: Annotated[Name | None, "Who takes care of it; null: nobody was named."] = None
    severity: Annotated[Severity | None, "Highest severity that an acknowledgement or silence covers; null: all."] = (
        None
    )
    revision: Annotated[Revision | None, "Revision of the alert or action that the person saw; null: unknown."] = None
    matching: Annotated[
        AlertPattern | None, "Pattern of a silence that is not about one alert; null: it is about one."
    ] = None
    log_dir: Annotated[Name | None, "Path of the log directory whose disk is healthy; null: no particular one."] = None
    content_hash: Annotated[
        Name | None,
        "content_hash of the action that was accepted or rejected; null: a decision about an alert or broker, or by "
        "a program that does not name it.",
    ] = None
