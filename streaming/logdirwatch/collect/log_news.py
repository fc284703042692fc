"""Which findings in a broker's log are news. Pure; the clock is an argument.

A directory that failed stays offline until the broker restarts, so a second line about it is no news, unless it is the
first to tell the cause. A partition may be mended and fail again within one run: it is news again after a while.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from logdirwatch.collect.log_findings import DirFailed, Finding, MarkExplained, PartitionBad, Started
from logdirwatch.model.vocabulary import Cause

PARTITION_QUIET_MS = 600_000
# A fetcher marks a partition right after it has said why; more than these never wait for that.
MARKS_AWAITED = 10_000

News = DirFailed | PartitionBad
Partition = tuple[str, int]


class NewsDesk:
    """Remembers what was told in this run of the broker."""

    def __init__(self, told_dirs: Mapping[str, str] | None = None) -> None:
        self._told_dirs = dict(told_dirs or {})
        self._told_partitions: dict[Partition, int] = {}
        self._explained: dict[Partition, str | None] = {}

    @property
    def told_dirs(self) -> dict[str, str]:
        """The directories that were told, with their causes; enough to go on after a restart of ours."""
        return dict(self._told_dirs)

    def of_present_run(self, findings: Iterable[Finding], now_ms: int) -> list[News]:
        """Return the news among ``findings``; a broker that starts makes history of what came before."""
        told: list[News] = []
        for finding in findings:
            news = self.news(finding, now_ms)
            if isinstance(finding, Started):
                told.clear()
            elif news is not None:
                told.append(news)
        return told

    def news(self, finding: Finding, now_ms: int) -> News | None:
        """Return what is to be told of ``finding``, None when it was told before or tells nothing."""
        match finding:
            case Started():
                self._told_dirs, self._told_partitions, self._explained = {}, {}, {}
                return None
            case MarkExplained():
                self._note(finding)
                return None
            case DirFailed():
                return self._dir_news(finding)
            case PartitionBad():
                return self._partition_news(finding, now_ms)

    def _note(self, finding: MarkExplained) -> None:
        self._explained[finding.topic, finding.partition] = finding.detail
        if len(self._explained) > MARKS_AWAITED:
            del self._explained[next(iter(self._explained))]

    def _dir_news(self, failed: DirFailed) -> News | None:
        key = failed.log_dir or ""
        told = self._told_dirs.get(key)
        if told is not None and (told != Cause.UNKNOWN or failed.cause == Cause.UNKNOWN):
            return None
        self._told_dirs[key] = failed.cause.value
        return failed

    def _partition_news(self, bad: PartitionBad, now_ms: int) -> News | None:
        partition = (bad.topic, bad.partition)
        if bad.is_mark and partition in self._explained:
            detail = self._explained.pop(partition)
            if detail is None:
                return None
            bad = replace(bad, detail=f"{bad.detail}: {detail}")
        if now_ms - self._told_partitions.get(partition, -PARTITION_QUIET_MS) < PARTITION_QUIET_MS:
            return None
        self._told_partitions = {
            known: at_ms for known, at_ms in self._told_partitions.items() if now_ms - at_ms < PARTITION_QUIET_MS
        }
        self._told_partitions[partition] = now_ms
        return bad
