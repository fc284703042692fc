"""How to reach a Kafka cluster, and the settings of the telemetry topics."""

from typing import Protocol

from pydantic import Field, field_validator

from logdirwatch.config.section import Section
from logdirwatch.config.servers import Servers
from logdirwatch.errors import UserError
from logdirwatch.kafka.properties import check


class KafkaSettings(Section):
    """How to reach one Kafka cluster."""

    bootstrap_servers: Servers = Field("localhost:9092", description="host:port, comma-separated.")
    client: dict[str, str] = Field(
        {},
        repr=False,
        description="Client properties with Kafka's own names, such as security.protocol or sasl.mechanism.",
    )

    @field_validator("client")
    @classmethod
    def _can_be_used(cls, client: dict[str, str]) -> dict[str, str]:
        try:
            check(client)
        except UserError as error:
            raise ValueError(str(error)) from None
        return client


class TopicSettings(Section):
    """Settings of the telemetry topics."""

    replication_factor: int = Field(
        1, ge=1, le=32_767, description="Replication factor of the telemetry topics; 3 in production."
    )
    events_partitions: int = Field(
        3, ge=1, description="Partitions of logdir.events; each permanently occupies a task slot of fast_lane."
    )
    metrics_partitions: int = Field(6, ge=1, description="Partitions of logdir.metrics.")
    inventory_partitions: int = Field(6, ge=1, description="Partitions of logdir.inventory.")


class TelemetrySettings(Protocol):
    """The sections about the telemetry topics."""

    @property
    def telemetry(self) -> KafkaSettings:
        """The cluster of the topics."""

    @property
    def topics(self) -> TopicSettings:
        """The settings of the topics."""
