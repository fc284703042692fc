"""DescribeShareGroupOffsets (KIP-932, Kafka 4.1), which kafka-python 3.0.12 does not have; the schemas are Kafka's."""

from kafka.protocol.api_message import ApiMessage


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg]
    """Asks a coordinator where share groups stand; without topics, for all of each."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg]
    """For each partition of a group its start offset: what lies before it is done."""
