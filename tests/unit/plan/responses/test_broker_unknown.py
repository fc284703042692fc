"""A broker that does not tell of itself."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, Rule
from tests.unit.plan.answers import answered
from tests.unit.plan.builders import MIB, alert, broker, directory, replica, topic
from tests.unit.plan.failures import kinds

UNSEEN = {"status": LogDirStatus.UNKNOWN}
GONE = [
    broker(1, BrokerStatus.OFFLINE),
    directory(1, "/d1", 100 * MIB, **UNSEEN),
    directory(1, "/d2", 200 * MIB, **UNSEEN),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (1, 2), (2, 1)),
    *(replica(number, "/d1", "t", part) for number in (1, 2) for part in (0, 1)),
]


class TestBrokerUnknown:
    def unknown(self, reason, *parts):
        about = alert(Rule.BROKER_UNKNOWN, log_dir=None, to="unknown", cause=None, evidence={"reason": reason})
        return answered(about, *(parts or GONE[1:]))

    def test_a_missing_permission_can_be_given(self):
        actions = self.unknown("unauthorized: [Error 31] ClusterAuthorizationFailedError: DescribeLogDirs")
        assert kinds(actions) == ["grant_permission", "investigate"]
        grant, *more = actions[0].commands
        assert "kafka-acls.sh --bootstrap-server kafka:9092 --add" in grant
        assert "--operation Describe --operation DescribeConfigs --cluster" in grant
        assert '"${COLLECTOR_PRINCIPAL:?' in grant
        assert more[0].count("--topic '*'") == 1
        assert all("--remove --force" in command for command in actions[0].undo["commands"])

    @pytest.mark.parametrize("reason", ["timeout", "error: ConnectionError", "silent: no collector reports it", None])
    def test_anything_else_is_for_a_person_to_find_out(self, reason):
        assert kinds(self.unknown(reason)) == ["investigate"]
