"""A person's word that a disk, or what a broker's log called bad, is good: evidence where nothing can measure it.

It ends what only words hold open: the kernel's errors that do not heal, partitions that the cleaner gave up on or that
the log calls bad, a dead cleaner and copies to remote storage whose failures nobody counts. What is measured goes on
until it is well.
"""

from logdirwatch.decisions import dated
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.observations import Decided
from logdirwatch.detect.rules import (
    broker_gauges,
    kernel_errors,
    partition_failed,
    remote_copies,
    uncleanable_partitions,
)
from logdirwatch.model.vocabulary import Decision


def take_word(context: BrokerContext, decided: Decided) -> None:
    """Take the word: what was said before of its directory, or of the broker, is held against it no longer."""
    if decided.record.decision is not Decision.HEALTHY:
        return
    record = dated(decided.record, decided.origin.kafka_timestamp_ms, context.settings.clock_skew_ms)
    path = record.log_dir
    if path is not None and path not in context.memory.log_dirs:
        return
    moment = EvidenceTime(max(context.memory.newest_ms, record.at_ms), str(decided.origin))
    reason = f"{record.by} declared it healthy: {record.reason}"
    for module in (kernel_errors, broker_gauges, uncleanable_partitions, partition_failed, remote_copies):
        module.forget(context, path, record.at_ms, moment, reason)
