"""Keeping new replicas out of a log directory: when it is advised, what it says, and when it must not be."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus
from logdirwatch.plan.actions.replicas.cordon_log_dir import propose_cordon
from logdirwatch.plan.cluster.cordons import CORDON, at_least
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import holds, kinds, recommended, the, vetoed
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, offline, policy, replica, space_alert, topic


class TestCordon:
    PARTS = (
        broker(1, **{"log.dirs": "/d1,/d2", "cordoned.log.dirs": ""}),
        directory(1, "/d1", 850 * MIB, is_cordoned=False),
        directory(1, "/d2", 100 * MIB, is_cordoned=False),
        directory(2),
        topic("t", (1, 2)),
        replica(1, "/d1", "t", size=200 * MIB),
    )

    def cordon(self, *parts, version=CORDON):
        actions = recommended(*self.PARTS, *parts, metadata_version=version)
        return the(ActionKind.CORDON_LOG_DIR, actions)

    def test_where_the_version_allows_it_comes_before_what_is_moved_away(self):
        actions = recommended(*self.PARTS, metadata_version=CORDON)
        assert kinds(actions) == ["cordon_log_dir", "move_log_dir"]
        action = actions[0]
        (command,) = action.commands
        assert command == (
            "kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type brokers --entity-name=1 "
            "--add-config 'cordoned.log.dirs=[/d1]'"
        )
        assert action.undo["commands"][0].endswith("--delete-config cordoned.log.dirs")
        assert holds(action, "path_listed") is True

    @pytest.mark.parametrize("version", ["4.2-IV1", None, "level 12", "whatever"])
    def test_where_it_is_not_known_to_be_allowed_it_is_not_advised(self, version):
        assert "cordon_log_dir" not in kinds(recommended(*self.PARTS, metadata_version=version))

    def test_what_is_cordoned_already_stays_so(self):
        other = broker(1, **{"log.dirs": "/d1,/d2", "cordoned.log.dirs": "/d2"})
        action = self.cordon(other, directory(1, "/d2", 100 * MIB, is_cordoned=True), directory(3))
        assert "'cordoned.log.dirs=[/d2,/d1]'" in action.commands[0]
        assert "'cordoned.log.dirs=[/d2]'" in action.undo["commands"][0]

    def test_a_cordoned_directory_is_not_cordoned_again(self):
        actions = recommended(*self.PARTS, directory(1, "/d1", 850 * MIB, is_cordoned=True), metadata_version=CORDON)
        assert "cordon_log_dir" not in kinds(actions)

    def test_a_path_that_log_dirs_spells_otherwise_would_not_be_enforced(self):
        action = self.cordon(broker(1, **{"log.dirs": "d1,/d2"}))
        assert vetoed(action) == ["cordon_not_enforced"]
        assert action.commands == []

    def test_where_log_dirs_was_not_read_that_is_left_to_be_checked(self):
        action = self.cordon(broker(1))
        assert vetoed(action) == []
        assert holds(action, "path_listed") is None

    def test_a_path_that_the_tool_cannot_carry_is_refused(self):
        parts = [
            directory(1, "/d[1]", 850 * MIB, is_cordoned=False),
            *self.PARTS[2:5],
            replica(1, "/d[1]", "t", size=200 * MIB),
        ]
        an_alert = space_alert(log_dir="/d[1]")
        actions = recommend(an_alert, facts(*parts, metadata_version=CORDON), policy(), NOW_MS)
        assert vetoed(the(ActionKind.CORDON_LOG_DIR, actions)) == ["path_not_expressible"]

    def test_the_last_open_directory_that_a_topic_needs_is_not_cordoned(self):
        action = self.cordon(directory(1, "/d2", 100 * MIB, is_cordoned=True))
        assert vetoed(action) == ["nowhere_else"]
        assert (
            "1 brokers would be left to take new partitions, topics here have 2 replicas" in action.vetoes[0]["reason"]
        )

    @pytest.mark.parametrize(
        ("version", "is_enough"),
        [("4.3-IV0", True), ("4.4-IV0", True), ("10.0-IV2", True), ("4.2-IV9", False), ("level 31", True)],
    )
    def test_versions_are_ordered_by_their_numbers(self, version, is_enough):
        assert at_least(version, CORDON) is is_enough

    @pytest.mark.parametrize("version", [None, "level 30", "latest"])
    def test_a_version_that_says_nothing_allows_nothing(self, version):
        assert at_least(version, CORDON) is None


class TestAgainst:
    """Why a cordon would not hold, or would do harm."""

    def against(self, directory_, *parts, listed=()):
        settings = broker(1, **{"log.dirs": ",".join(listed) or None})
        seen = facts(settings, directory_, *parts, metadata_version=CORDON)
        (found,) = propose_cordon(seen.directories[directory_.place], seen, policy(), "", "it has room")
        return {veto.name: veto.reason for veto in found.vetoes if veto.name != "nowhere_else" or parts}

    @pytest.mark.parametrize(
        ("listed", "found"),
        [((), []), (("/d1", "/d2"), []), (("/d2",), ["cordon_not_enforced"]), (("/d1/",), ["cordon_not_enforced"])],
    )
    def test_kafka_compares_the_path_as_log_dirs_spells_it(self, listed, found):
        assert list(self.against(directory(1, is_cordoned=False), listed=listed)) == found

    @pytest.mark.parametrize("path", ["/a,b", "/a[b", "/a]b", " /a", "/a "])
    def test_what_kafka_configs_would_cut_is_not_sent(self, path):
        assert path in self.against(directory(1, path, is_cordoned=False))["path_not_expressible"]

    @pytest.mark.parametrize("path", ["/a", "/a b", "/a-b_c.d"])
    def test_any_other_path_is(self, path):
        assert self.against(directory(1, path, is_cordoned=False)) == {}

    @pytest.mark.parametrize(
        ("more", "found"),
        [
            ([directory(2), directory(3)], None),
            ([directory(2), directory(1, "/d2")], None),
            ([directory(2), directory(2, "/d2")], "1 brokers"),
            ([directory(2), directory(3, is_cordoned=True)], "1 brokers"),
            ([directory(2), directory(3, is_cordoned=False)], None),
            ([directory(2), offline(3)], "1 brokers"),
            ([directory(2), directory(3), broker(3, BrokerStatus.OFFLINE)], "1 brokers"),
            ([], "0 brokers"),
        ],
    )
    def test_as_many_brokers_stay_open_as_a_topic_has_replicas(self, more, found):
        topics = topic("small", (2,)), topic("t", (1, 2))
        told = self.against(directory(1, is_cordoned=False), *more, *topics)
        said = f"{found} would be left to take new partitions, topics here have 2 replicas"
        assert told == ({} if found is None else {"nowhere_else": said})
