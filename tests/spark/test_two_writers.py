"""Two processes with a JVM each write one table and are killed: each commit that one was told of is in the table once.

The long form is ``python -m tests.two_writers``.
"""

import pytest

from tests.two_writers.run import in_folder, in_s3

COMMITS, KILLS = 20, 1


@pytest.mark.parametrize("place", [in_folder, pytest.param(in_s3, marks=pytest.mark.long)])
def test_two_processes_lose_no_commit_of_a_table(tmp_path, place):
    outcome = place(tmp_path, COMMITS, KILLS)
    assert len(outcome.told) == 2 * COMMITS
    assert (outcome.lost, outcome.twice) == (set(), set()), outcome
