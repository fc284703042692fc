"""The thin Spark adapter of the judge of a shard."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from logdirwatch.detect.spark.judge import ShardJudge
from logdirwatch.detect.spark.shard import NEIGHBOURS, SHARDS
from logdirwatch.state.schema import SHARD_SCHEMA, kafka_row


class ShardProcessor(ShardJudge, StatefulProcessor):
    """See :class:`ShardJudge`."""

    schema = SHARD_SCHEMA
    made = staticmethod(kafka_row)


def shard_of(broker: Column) -> Column:
    """Return the shard of a broker."""
    return F.pmod(F.floor(broker / NEIGHBOURS), F.lit(SHARDS))
