"""The track record: what ended how, and what was promised against what was seen. Nothing observed is said as that."""

import io

from rich.console import Console

from logdirwatch.model.vocabulary import ActionKind, ActionStatus
from logdirwatch.report.actions.accuracy import accuracy, as_data, view
from tests.unit.report.builders import action

GIB = 1 << 30


def done(identity, *, expected=4 * GIB, observed=3 * GIB, took_ms=None, revision=3, kind=ActionKind.MOVE_LOG_DIR):
    seen = {"frees_bytes": observed} | ({} if took_ms is None else {"took_ms": took_ms})
    return action(
        identity,
        revision,
        kind=kind,
        status=ActionStatus.DONE,
        expected={"frees_bytes": expected, "needs_ms": 60_000},
        observed=seen,
    )


def of(records, kind=ActionKind.MOVE_LOG_DIR):
    return next(record for record in records if record.kind == kind)


def test_ends_are_counted_by_kind():
    found = of(
        accuracy(
            [
                done("a"),
                action("b", status=ActionStatus.FAILED),
                action("c"),
                action("d", status=ActionStatus.REJECTED),
                action("e", status=ActionStatus.WITHDRAWN),
                action("f", status=ActionStatus.RUNNING),
            ]
        )
    )
    assert (found.proposed, found.done, found.failed, found.rejected, found.other, found.open) == (6, 1, 1, 1, 1, 2)


def test_bytes_and_times_are_compared_where_both_are_known():
    found = of(accuracy([done("a", took_ms=90_000), done("b", expected=2 * GIB, observed=2 * GIB, took_ms=30_000)]))
    assert found.size._asdict() == {"actions": 2, "expected": 6 * GIB, "observed": 5 * GIB}
    assert found.time._asdict() == {"actions": 2, "expected": 120_000, "observed": 120_000}
    assert found.size.ratio == 5 / 6


def test_nothing_observed_is_not_taken_for_right():
    found = of(accuracy([done("a", observed=None), done("b", expected=None)]))
    assert (found.done, found.size, found.time) == (2, None, None)


def test_nothing_promised_is_no_promise_kept():
    assert of(accuracy([done("a", expected=0, observed=0)])).size is None


def test_only_what_was_done_is_compared():
    failed = action(
        "b", status=ActionStatus.FAILED, expected={"frees_bytes": GIB, "needs_ms": 1}, observed={"frees_bytes": 0}
    )
    assert of(accuracy([failed])).size is None


def test_a_copy_is_compared_by_what_it_copied():
    rebuilt = action(
        "r",
        kind=ActionKind.REASSIGN,
        status=ActionStatus.DONE,
        expected={"frees_bytes": 0, "copies_bytes": 10, "needs_ms": None},
        observed={"copies_bytes": 9},
    )
    assert of(accuracy([rebuilt]), ActionKind.REASSIGN).size.observed == 9


def test_every_revision_counts_once_however_often_it_is_read():
    revisions = [action("a", 1), done("a", revision=2), done("a", revision=2), action("a", 3), done("a", revision=4)]
    found = of(accuracy([*revisions, *revisions]))
    assert (found.proposed, found.done) == (1, 2)


def test_kinds_are_listed_in_order_and_as_json():
    found = as_data(accuracy([done("z", kind=ActionKind.REASSIGN), done("a", kind=ActionKind.EXPAND_DISK)]))
    assert [record["kind"] for record in found] == ["expand_disk", "reassign"]
    assert found[0]["size"] == {"actions": 1, "expected": 4 * GIB, "observed": 3 * GIB, "ratio": 0.75}
    assert found[0]["time"] is None


def test_people_read_shares_and_honest_gaps():
    console = Console(width=120, file=io.StringIO())
    console.print(view(accuracy([done("a"), action("i", kind=ActionKind.INVESTIGATE)]), 120))
    text = console.file.getvalue()
    assert "3 GiB of 4 GiB expected, 75 %" in text
    assert "nothing observed" in text
    assert "1 done, 0 failed" in text
