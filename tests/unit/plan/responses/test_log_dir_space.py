"""A log directory that fills: the order of its actions."""

from logdirwatch.model.vocabulary import ActionKind
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import (
    MIB,
    directory,
    replica,
    space_alert,
    topic,
)

PARTS = [
    directory(1, "/d1", 600 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(1, "/d3", 200 * MIB),
    directory(2),
    topic("t", (1, 2), (1, 2)),
    replica(1, "/d1", "t", 0, 180 * MIB),
    replica(1, "/d1", "t", 1, 130 * MIB),
]


def test_the_actions_of_an_alert_have_an_order():
    actions = recommended_for(space_alert(), directory(1, "/d1", 850 * MIB), *PARTS[1:])
    assert [action.position for action in actions] == list(range(len(actions)))
    assert actions[0].kind is ActionKind.MOVE_LOG_DIR
