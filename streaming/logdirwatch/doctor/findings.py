"""What a check found: what, where, and what to do about it. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

CHECKS: Mapping[str, str] = {
    "configuration": "the file, the environment and what they name can be meant",
    "telemetry_is_monitored": "the telemetry lies on another cluster than those that are watched",
    "connectivity": "both clusters answer, and every broker by itself",
    "clocks": "this machine's clock agrees with those of the clusters",
    "java": "Spark finds Java 17 or later",
    "task_slots": "Spark has a slot for every partition of logdir.events, and two more",
    "folders": "tables, checkpoints and the home folder can be written and have room",
    "topics": "the telemetry topics exist, with the partitions, retention and compaction that they need",
    "replication": "the telemetry topics outlive a broker, and can be written while one is away",
    "permissions": "the users of both clusters may do what is needed",
    "metadata_version": "metadata.version is 3.7-IV2 or later where a broker has several log directories",
    "offline_replica_count": "no broker's OfflineReplicaCount is always 0",
}
"""Every check by name, with what it says when it finds nothing."""


class Finding(NamedTuple):
    """One thing that is not as it should be."""

    check: str
    where: str
    what: str
    remedy: str


class Report(NamedTuple):
    """What all checks found; ``not_checked`` says of a check why it could not be made, at least in part."""

    findings: tuple[Finding, ...] = ()
    not_checked: Mapping[str, str] = {}

    def without(self, ignored: Iterable[str]) -> "Report":
        """Return the report without what checks found that somebody decided to live with."""
        left_out = set(ignored)
        return self._replace(findings=tuple(found for found in self.findings if found.check not in left_out))

    @property
    def passed(self) -> list[str]:
        """The checks that were made and found nothing."""
        return [check for check in CHECKS if check not in self.failed and check not in self.not_checked]

    @property
    def failed(self) -> list[str]:
        """The checks that found something."""
        troubled = {found.check for found in self.findings}
        return [check for check in CHECKS if check in troubled]

    @property
    def skipped(self) -> list[str]:
        """The checks that found nothing and could not be made, at least in part."""
        return [check for check in CHECKS if check in self.not_checked and check not in self.failed]
