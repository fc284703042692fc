"""The result of a quality check of the tables, for people."""

from collections.abc import Iterable, Iterator

from msgspec import Struct


class Checked(Struct, frozen=True, kw_only=True):
    """One expectation of one suite; ``error`` says why it could not be checked, which is not a success."""

    suite: str
    expectation: str
    success: bool
    observed: str | None = None
    unexpected: int | None = None
    error: str | None = None


def failed(found: Iterable[Checked]) -> dict[str, list[str]]:
    """Return the expectations that were not met, by suite."""
    wrong: dict[str, list[str]] = {}
    for one in found:
        if not one.success:
            wrong.setdefault(one.suite, []).append(one.expectation)
    return wrong


def lines(found: Iterable[Checked]) -> Iterator[str]:
    """Yield one line for each table that meets all expectations, and one for each unmet expectation."""
    by_suite: dict[str, list[Checked]] = {}
    for one in found:
        by_suite.setdefault(one.suite, []).append(one)
    for suite, checked in by_suite.items():
        wrong = [one for one in checked if not one.success]
        if not wrong:
            yield f"{suite}: {len(checked)} expectations met"
        yield from (f"{suite}: NOT MET: {one.expectation}{_why(one)}" for one in wrong)


def _why(one: Checked) -> str:
    if one.error is not None:
        return f" (could not be checked: {one.error})"
    return "" if one.unexpected is None else f" ({one.unexpected} rows)"
