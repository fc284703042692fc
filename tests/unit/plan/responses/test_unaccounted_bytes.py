"""Bytes that no replica explains."""

from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import (
    MIB,
    alert,
    directory,
    replica,
    space_alert,
    topic,
)

UNEXPLAINED = alert(Rule.UNACCOUNTED_BYTES, to="online", cause=None)
PARTS = [
    directory(1, "/d1", 600 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(1, "/d3", 200 * MIB),
    directory(2),
    topic("t", (1, 2), (1, 2)),
    replica(1, "/d1", "t", 0, 180 * MIB),
    replica(1, "/d1", "t", 1, 130 * MIB),
]


class TestUnaccounted:
    def test_it_is_looked_for_on_the_host(self):
        (action,) = recommended_for(UNEXPLAINED, *PARTS)
        assert action.kind is ActionKind.INVESTIGATE
        assert any("du -x --max-depth=1 -- /d1" in command for command in action.commands)
        assert all(command.startswith(("kafka-", "# ")) for command in action.commands)

    def test_the_reserve_explains_a_part(self):
        limits = {"log_dirs": (LogDirRule(reserve_file="r", reserve_bytes=40 * MIB),)}
        (action,) = recommended_for(UNEXPLAINED, *PARTS, **limits)
        assert "40 MiB of them are the reserve file /d1/r" in action.reason

    def test_a_reserve_alone_is_no_riddle_for_a_directory_that_fills(self):
        limits = {"log_dirs": (LogDirRule(reserve_file="r", reserve_bytes=500 * MIB),)}
        source = directory(1, "/d1", 850 * MIB, unaccounted_bytes=500 * MIB)
        kinds = [action.kind for action in recommended_for(space_alert(), source, **limits)]
        assert ActionKind.INVESTIGATE not in kinds
