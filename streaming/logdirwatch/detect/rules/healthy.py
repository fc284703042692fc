"""A person's declaration that a disk, or what a broker's log reported, is healthy: evidence where nothing is measured.

It ends what only log lines hold open: kernel errors that do not clear by themselves, a failed directory that Kafka did
not take offline, partitions that the cleaner gave up or the log reports as failed, a dead cleaner, and failed copies to
remote storage that are not counted. It also ends the search for replicas of a directory that left ``log.dirs``.
Measured faults continue until the measurement is good.
"""

from logdirwatch.decisions import dated
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.observations import Decided
from logdirwatch.detect.rules import (
    broker_gauges,
    broker_tasks,
    departed_log_dirs,
    kernel_errors,
    log_dir_offline,
    partition_failed,
    remote_copies,
    uncleanable_partitions,
)
from logdirwatch.model.vocabulary import Decision

_FORGETTING = (
    kernel_errors,
    broker_gauges,
    uncleanable_partitions,
    partition_failed,
    remote_copies,
    broker_tasks,
    log_dir_offline,
    departed_log_dirs,
)


def take_word(context: BrokerContext, decided: Decided) -> None:
    """Apply the declaration: earlier lines about its directory, or the broker, no longer count."""
    if decided.record.decision is not Decision.HEALTHY:
        return
    record = dated(decided.record, decided.origin.kafka_timestamp_ms, context.settings.clock_skew_ms)
    path = record.log_dir
    if path is not None and path not in context.memory.log_dirs:
        return
    # Revisions of an alert do not go back in time, even if the declaration is older than the newest sample.
    moment = EvidenceTime(max(context.memory.newest_ms, record.at_ms), str(decided.origin))
    reason = f"{record.by} declared it healthy: {record.reason}"
    for module in _FORGETTING:
        module.forget(context, path, record.at_ms, moment, reason)
