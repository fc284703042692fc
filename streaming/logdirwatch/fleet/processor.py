"""The thin Spark adapter of the judge of a cluster."""

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from logdirwatch.fleet.judge import ClusterJudge
from logdirwatch.state.schema import STATE_SCHEMA, kafka_row


class ClusterProcessor(ClusterJudge, StatefulProcessor):
    """See :class:`ClusterJudge`."""

    schema = STATE_SCHEMA
    made = staticmethod(kafka_row)
