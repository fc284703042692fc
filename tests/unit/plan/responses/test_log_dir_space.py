"""A log directory that fills: the order of its actions."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus, MetadataMode
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.responses.log_dir_space import why_it_halts
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, offline, policy, replica, space_alert, topic

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


FULL = [directory(1, "/d1", 850 * MIB), *PARTS[1:3], *PARTS[5:]]
SPREAD = topic("t", (1, 2, 3), (1, 2, 3), isr={0: (1, 3), 1: (1, 3)})
SUMMED_UP = "; only `logdirwatch apply` can do it, see its commands"


def moves_within(*parts):
    actions = recommended_for(space_alert(), *FULL, directory(3, used=500 * MIB), *parts)
    return [one for one in actions if one.kind is ActionKind.MOVE_LOG_DIR and not one.vetoes]


class TestABrokerThatIsAway:
    """``AlterReplicaLogDirs`` copies within one broker; only Kafka's tool asks for the others (``verifyBrokerIds``)."""

    @pytest.mark.parametrize(
        "parts",
        [
            [broker(2, BrokerStatus.OFFLINE), SPREAD],
            [broker(2, BrokerStatus.UNKNOWN), directory(2, status=LogDirStatus.UNKNOWN), SPREAD],
            [replace(broker(2), is_fenced=True), SPREAD],
            [topic("t", (1, 9), (1, 9), isr={0: (1,), 1: (1,)})],
            [broker(2, BrokerStatus.OFFLINE), broker(3, BrokerStatus.OFFLINE), SPREAD],
            [broker(2, BrokerStatus.OFFLINE), topic("t", (2, 1), (2, 1), isr={0: (1,), 1: (1,)})],
            [broker(2, BrokerStatus.OFFLINE), topic("t", (2, 1), (2, 1), leaderless=(0, 1))],
        ],
        ids=["down", "unknown", "fenced", "never seen", "two of them", "it led", "a leader needed for nothing"],
    )
    def test_moves_within_another_go_on_by_apply_alone(self, parts):
        (found,) = moves_within(*parts)
        assert found.reason.endswith(SUMMED_UP)
        assert [one["op"] for one in found.operations] == ["reassign"]
        for commands in (found.commands, found.undo["commands"], found.undo["while_running"]):
            (step,) = commands
            assert step.startswith("# Carry it out with `logdirwatch apply`: kafka-reassign-partitions refuses to name")

    @pytest.mark.parametrize(
        "parts",
        [
            [broker(1, BrokerStatus.OFFLINE), SPREAD],
            [broker(1, BrokerStatus.UNKNOWN), SPREAD],
            [broker(2, BrokerStatus.OFFLINE), offline(1, "/d4"), SPREAD],
            [broker(2, BrokerStatus.OFFLINE), directory(1, "/d4", status=LogDirStatus.UNKNOWN), SPREAD],
            [broker(2, BrokerStatus.OFFLINE), topic("t", (1, 2), (1, 2), reassigned=(0, 1))],
        ],
        ids=["it is the broker", "nobody knows", "a directory of its own is offline", "or unknown", "already moved"],
    )
    def test_what_the_move_itself_needs_still_keeps_it_back(self, parts):
        assert moves_within(*parts) == []

    def test_one_without_replicas_of_what_moves_changes_nothing(self):
        (found,) = moves_within(broker(4, BrokerStatus.OFFLINE), directory(2), topic("t", (1, 2), (1, 2)))
        assert SUMMED_UP not in found.reason
        assert any("--execute" in command for command in found.commands)


@pytest.mark.parametrize(
    ("rates", "named"),
    [
        ({"t": 295.0, "u": 5.0}, "; 98 % of the growth of 300 B/s is in t (delete)"),
        ({"t": 5.0, "u": 295.0}, "; 98 % of the growth of 300 B/s is in u (delete)"),
        ({"t": 295.0}, "; 100 % of the growth of 295 B/s is in t (delete)"),
        ({"t": 100.0, "u": 100.0}, "; 100 % of the growth of 200 B/s is in t (delete), u (delete)"),
        ({"t": 0.0, "u": 0.0}, None),
        ({}, None),
    ],
    ids=["a runaway", "another one", "as far as is known", "two alike", "nothing grows", "nobody knows"],
)
def test_the_topic_that_is_most_of_the_growth_is_named_in_the_first_answer(rates, named):
    parts = [*FULL, topic("t", (1, 2), (1, 2)), topic("u", (1, 2)), replica(1, "/d1", "u", 0, 100 * MIB), directory(2)]
    growth = {((1, "/d1"), (name, 0)): rate for name, rate in rates.items()}
    first, *rest = recommend(space_alert(), facts(*parts, growth=growth), policy(), NOW_MS)
    assert ("of the growth" in first.reason) is (named is not None)
    assert named is None or named in first.reason
    assert not any("of the growth" in one.reason for one in rest)


SERVES, OFFLINE = directory(1, "/d2"), directory(1, "/d2", status=LogDirStatus.OFFLINE)
METADATA = directory(1, "/d2", is_metadata_dir=True)


@pytest.mark.parametrize(
    ("source", "beside", "mode", "told"),
    [
        ({}, SERVES, MetadataMode.KRAFT, None),
        ({}, SERVES, MetadataMode.ZOOKEEPER, None),
        ({}, OFFLINE, MetadataMode.KRAFT, "no other log directory"),
        ({"is_metadata_dir": True}, SERVES, MetadataMode.KRAFT, "metadata log"),
        ({"is_metadata_dir": True}, SERVES, MetadataMode.ZOOKEEPER, None),
        ({}, SERVES, MetadataMode.MIGRATING, "migrates from ZooKeeper"),
        ({}, METADATA, MetadataMode.MIGRATING, None),
    ],
)
def test_the_reason_is_told(source, beside, mode, told):
    filling = directory(1, "/d1", **source)
    why = why_it_halts(filling, facts(replace(broker(1), metadata_mode=mode), filling, beside))
    assert (why is None) == (told is None)
    assert told is None or told in why
