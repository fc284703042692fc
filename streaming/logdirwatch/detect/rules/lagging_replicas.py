"""A slow disk: a directory's replicas fall out of sync while those in the broker's other directories keep up.

All directories of a broker share its network, its processors and its fetchers, so lag in one of them alone comes from
its disk. Kafka does not detect it (KIP-112 leaves slow disks undetected). A directory that has not been in sync once
since its broker came back is still catching up, after a restart or on a new disk, and is not judged.
"""

from typing import NamedTuple

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import log_dir_suspect
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import SPACE_STATUSES


class Sync(NamedTuple):
    """The number of replicas, and how many of them are out of sync."""

    replicas: int
    behind: int

    @property
    def ratio(self) -> float:
        """The share of those out of sync; 0 without replicas."""
        return self.behind / self.replicas if self.replicas else 0.0


def judge_scan(context: BrokerContext, record: MetricsRecord, _: int, moment: EvidenceTime) -> None:
    """Compare the writable directories of one answer, which has the counts of a new scan."""
    known = context.memory.log_dirs
    counts = {
        sample.path: Sync(sample.replica_count, sample.out_of_sync_count)
        for sample in record.log_dirs
        if sample.replica_count is not None
        and sample.out_of_sync_count is not None
        and known[sample.path].status in SPACE_STATUSES
    }
    whole = Sync(sum(count.replicas for count in counts.values()), sum(count.behind for count in counts.values()))
    for path, count in counts.items():
        others = Sync(whole.replicas - count.replicas, whole.behind - count.behind)
        _judge(context, path, known[path], count, others, moment)


def _judge(
    context: BrokerContext, path: str, log_dir: LogDirMemory, count: Sync, others: Sync, moment: EvidenceTime
) -> None:
    log_dir.kept_up = log_dir.kept_up or not is_behind(count, context.settings)
    _judge_refused(context, path, count, others, moment)
    if is_behind(count, context.settings) and not others.replicas:
        return  # without others to compare with, it neither stands out nor keeps up
    if not stands_out(count, others, context.settings):
        log_dir.lagging_scans = 0
        if log_dir_suspect.LAGGING in log_dir.suspicions:
            log_dir_suspect.clear(context, path, log_dir_suspect.LAGGING, moment)
    elif log_dir.kept_up:
        log_dir.lagging_scans += 1
        is_told = log_dir_suspect.is_told(context, path, log_dir_suspect.LAGGING)
        if log_dir.lagging_scans >= context.settings.slow_samples and not is_told:
            log_dir_suspect.suspect(context, path, log_dir_suspect.LAGGING, _text(count, others), moment)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether it waits for nothing: the columns watch how many replicas lag."""
    return not any(log_dir.refused_partitions for log_dir in memory.log_dirs.values())


def _judge_refused(context: BrokerContext, path: str, count: Sync, others: Sync, moment: EvidenceTime) -> None:
    """Note the partitions that are under their minimum because of this directory: only its replicas are behind.

    Writes to them are refused, so a suspicion about its disk cannot wait. The number stays while it comes and goes.
    """
    log_dir, partitions, settings = context.memory.log_dirs[path], context.memory.partitions, context.settings
    is_alone = is_behind(count, settings) if not others.replicas else stands_out(count, others, settings)
    # under_min_isr counts the whole broker's partitions: at most as many as lag here can be here.
    refused = 0 if partitions is None else min(partitions.under_min_isr, count.behind)
    if refused and is_alone and log_dir.kept_up:
        is_news, log_dir.refused_ms = not log_dir.refused_partitions, moment.at_ms
        log_dir.refused_partitions = refused
    elif is_news := _has_passed(log_dir, moment.at_ms - settings.flapping_hold_ms):
        log_dir.refused_partitions = log_dir.refused_ms = 0
    if is_news and log_dir.suspicions:
        log_dir_suspect.hold(context, path, {}, moment)


def _has_passed(log_dir: LogDirMemory, before_ms: int) -> bool:
    return log_dir.refused_partitions > 0 and (not log_dir.suspicions or log_dir.refused_ms <= before_ms)


def lose_sight(memory: BrokerMemory) -> None:
    """Start over: when the broker is back all its replicas have to catch up."""
    for log_dir in memory.log_dirs.values():
        log_dir.kept_up, log_dir.lagging_scans = False, 0


def is_behind(count: Sync, settings: DetectSettings) -> bool:
    """Tell whether too many of a directory's replicas are out of sync."""
    return count.behind >= settings.lagging_replicas_min and count.ratio >= settings.lagging_ratio


def stands_out(count: Sync, others: Sync, settings: DetectSettings) -> bool:
    """Tell whether many more of a directory's replicas are out of sync than of the broker's other directories."""
    return is_behind(count, settings) and others.replicas > 0 and count.ratio > settings.slow_factor * others.ratio


def _text(count: Sync, others: Sync) -> str:
    return (
        f"{count.behind} of its {count.replicas} replicas are out of sync, of those in the broker's other directories "
        f"{others.behind} of {others.replicas}"
    )
