"""A step that other writers keep from its commit is tried again, ever later, and given up with a line that says why."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.store import tables
from logdirwatch.store.direct.table import ConflictError
from logdirwatch.store.tables import retried


@pytest.mark.parametrize("conflicts", range(8))
def test_a_step_is_tried_six_times_with_pauses_that_double(monkeypatch, conflicts):
    pauses, tries = [], []
    monkeypatch.setattr(tables.time, "sleep", pauses.append)

    def step():
        tries.append(1)
        if len(tries) <= conflicts:
            raise ConflictError
        return "done"

    if conflicts < 6:
        assert retried("merge", step) == "done"
    else:
        with pytest.raises(UserError, match=r"^merge: 6 conflicts with other writers"):
            retried("merge", step)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0][:conflicts]
    assert len(tries) == min(conflicts + 1, 6)


def test_any_other_error_is_raised_at_once(monkeypatch):
    monkeypatch.setattr(tables.time, "sleep", lambda _: pytest.fail("it waits"))
    with pytest.raises(ZeroDivisionError):
        retried("merge", lambda: 1 / 0)
