"""Findings of checks: what, where, and what to do about it; those about clusters that do not answer. Pure.

They are rendered for people and for programs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

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


_REMEDIES = (
    (
        r"DNS|looked up",
        (
            "correct the host in {}.bootstrap_servers, or add it to DNS or /etc/hosts; "
            "getent hosts NAME shows whether it resolves"
        ),
    ),
    (
        r"connection refused",
        "start the broker, or correct host and port in {}.bootstrap_servers: nothing listens on that port",
    ),
    (
        r"IllegalSaslState|takes no SASL",
        (
            "use the port of a SASL listener in {0}.bootstrap_servers, or disable SASL: {0}.client "
            "security.protocol PLAINTEXT, or SSL if that port uses TLS"
        ),
    ),
    (r"SaslMechanism", "correct {}.client: sasl.mechanism must be one that the broker offers"),
    (r"authenticat|credential|sasl", "correct {}.client: security.protocol, sasl.mechanism, the name and the password"),
    (r"ssl|certificate|tls", "correct {}.client: security.protocol and ssl.truststore.location (PEM)"),
)
"""Remedies by error text, the first match applies; ``{}`` is the cluster's key in the configuration."""
_OTHERWISE = (
    "start it, correct {0}.bootstrap_servers, open the network path from this machine, or, if the listener requires "
    "TLS or a password, set {0}.client"
)


def unreachable(where: str, setting: str, error: str) -> Finding:
    """Return the finding for a cluster that does not answer; ``setting`` is its key in the configuration."""
    return Finding("connectivity", where, error, _remedy(setting, error))


def _remedy(setting: str, error: str) -> str:
    found = (remedy for pattern, remedy in _REMEDIES if re.search(pattern, error, re.IGNORECASE))
    return next(found, _OTHERWISE).format(setting)


def principal(arguments: Mapping[str, Any]) -> str | None:
    """Return the principal of a client with these arguments, as far as they show it."""
    protocol = arguments.get("security_protocol", "PLAINTEXT")
    if protocol.startswith("SASL"):
        name = arguments.get("sasl_plain_username")
        return None if name is None else f"User:{name}"
    return None if {"ssl_certfile", "ssl_context"} & arguments.keys() else "User:ANONYMOUS"


def lines(report: Report) -> Iterator[str]:
    """Return the findings and notices, each with what to do, then what was not checked and how many checks passed."""
    for found in report.findings:
        yield f"{found.check}: {found.where}: {found.what}"
        yield f"  do: {found.remedy}"
    for told in report.notices:
        yield f"{told.check}: {told.where}: {told.what}"
        yield f"  to change that: {told.remedy}"
    for check, why in report.not_checked.items():
        yield f"not checked: {check}: {why}"
    yield ", ".join(_summary(report))


def _summary(report: Report) -> Iterator[str]:
    """Yield how many checks passed, failed and were skipped, which add up to all."""
    yield f"{len(report.passed)} of {len(CHECKS)} checks passed"
    count = len(report.findings)
    if count:
        to_fix = f"{count} thing{'s' if count > 1 else ''} to fix"
        yield f"{len(report.failed)} failed ({', '.join(report.failed)}: {to_fix})"
    if report.skipped:
        yield f"{len(report.skipped)} not checked, at least in part ({', '.join(report.skipped)}: see above)"
    if not count:
        yield "nothing to fix"


def document(report: Report) -> dict[str, Any]:
    """Return the report for programs."""
    return {
        "findings": [found._asdict() for found in report.findings],
        "not_checked": dict(report.not_checked),
        "passed": report.passed,
        **({"notices": [told._asdict() for told in report.notices]} if report.notices else {}),
    }
