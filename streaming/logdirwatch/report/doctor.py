"""What the doctor found, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from logdirwatch.doctor.findings import CHECKS, Report


def lines(report: Report) -> Iterator[str]:
    """Return the findings, each with what to do, then what was not checked and how many checks passed."""
    for found in report.findings:
        yield f"{found.check}: {found.where}: {found.what}"
        yield f"  do: {found.remedy}"
    for check, why in report.not_checked.items():
        yield f"not checked: {check}: {why}"
    count = len(report.findings)
    found_text = "nothing to mend" if not count else f"{count} thing{'s' if count > 1 else ''} to mend"
    yield f"{len(report.passed)} of {len(CHECKS)} checks passed, {found_text}"


def document(report: Report) -> dict[str, Any]:
    """Return the report for programs."""
    return {
        "findings": [found._asdict() for found in report.findings],
        "not_checked": dict(report.not_checked),
        "passed": report.passed,
    }
