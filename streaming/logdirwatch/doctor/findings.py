"""Findings of checks: what, where, and what to do about it. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

CHECKS: Mapping[str, str] = {
    "configuration": "the configuration file and the environment variables are valid",
    "telemetry_is_monitored": "the telemetry topics are not on a monitored cluster",
    "connectivity": "both clusters answer, and so does every broker",
    "kafka_release": "every broker runs Kafka 2.8 or later, and reports its log directories",
    "clocks": "this machine's clock agrees with those of the clusters",
    "java": "Spark finds Java 17 or later",
    "task_slots": "Spark has a slot for every partition of logdir.events, and two more",
    "folders": "tables, checkpoints and the home folder are writable and have free space",
    "topics": "the telemetry topics exist, with the required partitions, retention and compaction",
    "replication": "the telemetry topics survive the loss of a broker, and are writable meanwhile",
    "permissions": "the users have the required permissions on both clusters",
    "metadata_version": "metadata.version is 3.7-IV2 or later where a broker has several log directories",
    "offline_replica_count": "no broker's OfflineReplicaCount is always 0",
}
"""Every check by name, with its text when it finds nothing."""


class Finding(NamedTuple):
    """One problem."""

    check: str
    where: str
    what: str
    remedy: str


class Report(NamedTuple):
    """The findings of all checks; ``not_checked`` says why a check could not be run, at least in part.

    ``notices`` are what clusters cannot report: facts of their releases, and no faults.
    """

    findings: tuple[Finding, ...] = ()
    not_checked: Mapping[str, str] = {}
    notices: tuple[Finding, ...] = ()

    def without(self, ignored: Iterable[str]) -> "Report":
        """Return the report without the findings of ignored checks."""
        left_out = set(ignored)
        return self._replace(findings=tuple(found for found in self.findings if found.check not in left_out))

    @property
    def passed(self) -> list[str]:
        """The checks that ran and found nothing."""
        return [check for check in CHECKS if check not in self.failed and check not in self.not_checked]

    @property
    def failed(self) -> list[str]:
        """The checks that found something."""
        troubled = {found.check for found in self.findings}
        return [check for check in CHECKS if check in troubled]

    @property
    def skipped(self) -> list[str]:
        """The checks that found nothing and could not be run, at least in part."""
        return [check for check in CHECKS if check in self.not_checked and check not in self.failed]
