"""What the doctor found, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from logdirwatch.doctor.findings import CHECKS, Report


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
