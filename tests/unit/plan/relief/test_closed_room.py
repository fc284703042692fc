"""Room behind a cordon, and on a broker that is away: offered where it would help, and only where it is sound."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.capacity.projected_use import is_same_volume
from logdirwatch.plan.relief.planner import propose_relief
from logdirwatch.plan.relief.without_loss import propose_return_of_broker, propose_uncordons
from tests.unit.plan.builders import MIB, broker, directory, facts, policy, replica, topic

FULL = directory(1, "/d1", 850 * MIB)
PARTS = [
    FULL,
    directory(2, "/d1", 840 * MIB),
    topic("t", (1, 2)),
    replica(1, "/d1", "t", size=200 * MIB),
    replica(2, "/d1", "t", size=200 * MIB),
]
CLOSED = directory(1, "/d2", 100 * MIB, is_cordoned=True)


def uncordoned(*parts, missing=100 * MIB, **fields):
    found = propose_uncordons(FULL, facts(*PARTS, *parts, **fields), policy(), missing)
    return [(one.target["broker"], one.target["log_dir"], one.expected["then_kind"]) for one in found]


def returned(*parts, missing=100 * MIB):
    return propose_return_of_broker(FULL, facts(*PARTS, *parts), policy(), missing)


class TestCordons:
    @pytest.mark.parametrize(
        ("parts", "found"),
        [
            ([CLOSED], [(1, "/d2", "move_log_dir")]),
            ([directory(3, "/d1", 100 * MIB, is_cordoned=True)], [(3, "/d1", "reassign")]),
            ([CLOSED, directory(3, "/d1", 1 * MIB, is_cordoned=True)], [(1, "/d2", "move_log_dir")]),
            ([CLOSED, directory(1, "/d3", 50 * MIB, is_cordoned=True)], [(1, "/d3", "move_log_dir")]),
            ([], []),
        ],
        ids=["its own", "another broker's", "its own first", "the emptiest first", "none"],
    )
    def test_the_one_that_gives_room_is_opened(self, parts, found):
        assert uncordoned(*parts) == found

    @pytest.mark.parametrize(
        "fields",
        [
            {"is_cordoned": False},
            {"is_cordoned": None},
            {"is_suspect": True},
            {"is_marked": True},
            {"status": LogDirStatus.FILLING},
            {"status": LogDirStatus.OFFLINE},
            {"used": 851 * MIB},
            {"used": None},
            {"used": 800 * MIB},
        ],
        ids=["open", "not known", "suspect", "marked", "filling", "offline", "full", "of unknown space", "no room"],
    )
    def test_one_that_is_not_well_or_has_no_room_stays_closed(self, fields):
        values = {"used": 100 * MIB, "is_cordoned": True} | fields
        assert uncordoned(directory(3, "/d1", values.pop("used"), **values)) == []

    @pytest.mark.parametrize(
        "state",
        [broker(3, BrokerStatus.OFFLINE), replace(broker(3), is_suspect=True), replace(broker(3), is_fenced=True)],
        ids=["away", "suspect", "fenced"],
    )
    def test_nor_one_whose_broker_is_not_well(self, state):
        assert uncordoned(directory(3, "/d1", 100 * MIB, is_cordoned=True), state) == []

    @pytest.mark.parametrize(("wanted", "opened"), [(True, 0), (False, 1)])
    def test_what_another_action_cordons_stays_closed(self, wanted, opened):
        assert len(uncordoned(CLOSED, cordoning={(1, "/d2"): wanted})) == opened

    def test_a_directory_of_the_same_volume_gives_nothing(self):
        here, beside = replace(FULL, volume="v"), replace(CLOSED, volume="v")
        seen = facts(*PARTS[1:], here, beside)
        assert propose_uncordons(here, seen, policy(), 100 * MIB) == []
        assert is_same_volume(here, beside)
        assert not is_same_volume(here, replace(beside, broker=2))
        assert not is_same_volume(here, replace(beside, volume="w"))


class TestRoomThatAnUrgentOneNeeds:
    URGENT = replace(FULL, status=LogDirStatus.CRITICAL)
    ROOMY = directory(3, "/d1", 500 * MIB, status=LogDirStatus.FILLING, is_cordoned=True)

    def opened(self, source, roomy):
        seen = facts(*PARTS[1:], source, roomy)
        return [one.target["broker"] for one in propose_uncordons(source, seen, policy(), 100 * MIB)]

    def test_one_that_is_filling_is_opened_for_one_that_is_urgent(self):
        assert self.opened(self.URGENT, self.ROOMY) == [3]

    @pytest.mark.parametrize(
        ("source", "roomy"),
        [
            (replace(FULL, status=LogDirStatus.FILLING), ROOMY),
            (URGENT, replace(ROOMY, status=LogDirStatus.CRITICAL)),
            (URGENT, replace(ROOMY, status=LogDirStatus.UNKNOWN)),
            (URGENT, replace(ROOMY, usable_bytes=155 * MIB)),
        ],
        ids=["for one that is filling", "urgent itself", "not known", "as full as most"],
    )
    def test_any_other_stays_closed(self, source, roomy):
        assert self.opened(source, roomy) == []

    def cordoned(self, roomy, *others):
        parts = [replace(roomy, is_cordoned=False), *others, *(directory(number, used=700 * MIB) for number in (2, 4))]
        seen = facts(*parts, topic("t", (3,)), replica(3, "/d1", "t"), metadata_version="4.3-IV0")
        found = propose_relief(parts[0], seen, policy(target_ratio=0.4))
        return any(one.kind is ActionKind.CORDON_LOG_DIR for one in found)

    def test_nor_is_it_closed_while_one_is_urgent(self):
        assert not self.cordoned(self.ROOMY, self.URGENT)
        assert self.cordoned(self.ROOMY)

    def test_one_that_is_fuller_than_most_is_closed(self):
        assert self.cordoned(replace(self.ROOMY, usable_bytes=205 * MIB), self.URGENT)


class TestBrokersThatAreAway:
    AWAY = (broker(3, BrokerStatus.OFFLINE), directory(3, "/d1", 100 * MIB, status=LogDirStatus.UNKNOWN))

    def test_the_advice_says_what_its_return_makes_possible(self):
        (found,) = returned(*self.AWAY)
        assert found.kind is ActionKind.INVESTIGATE
        assert found.target == {"broker": 1, "log_dir": "/d1", "step": "bring_back 3"}
        assert found.reason.startswith(
            "bring broker 3 back, it is offline: its directories had 900 MiB free when last seen"
        )
        assert found.expected["frees_bytes"] is None
        assert found.expected["back_bytes"] == 200 * MIB
        assert found.expected["then_needs_ms"] > 0
        assert found.commands == ("kafka-metadata-quorum.sh --bootstrap-server kafka:9092 describe --replication",)

    def test_one_with_zookeeper_has_no_quorum_to_ask(self):
        old = replace(broker(3, BrokerStatus.OFFLINE, **{"process.roles": ""}), is_fenced=True)
        (found,) = returned(old, self.AWAY[1])
        assert found.commands == ()
        assert "it is offline" in found.reason

    def test_the_one_with_most_free_bytes_comes_first(self):
        more = [broker(4, BrokerStatus.OFFLINE), directory(4, "/d1", 50 * MIB, status=LogDirStatus.UNKNOWN)]
        assert [one.target["step"] for one in returned(*self.AWAY, *more)] == ["bring_back 4"]

    @pytest.mark.parametrize(
        "parts",
        [
            [],
            [broker(3), directory(3, "/d1", 840 * MIB)],
            [broker(3, BrokerStatus.OFFLINE)],
            [broker(3, BrokerStatus.OFFLINE), directory(3, "/d1", 800 * MIB, status=LogDirStatus.UNKNOWN)],
            [
                broker(3, BrokerStatus.OFFLINE),
                directory(3, "/d1", 100 * MIB, status=LogDirStatus.UNKNOWN, is_suspect=True),
            ],
            [broker(3, BrokerStatus.OFFLINE), directory(3, "/d1", 100 * MIB, status=LogDirStatus.OFFLINE)],
            [broker(1, BrokerStatus.OFFLINE)],
        ],
        ids=["nobody away", "alive", "no directory", "no room", "suspect", "disk offline", "itself"],
    )
    def test_one_that_would_bring_nothing_is_not_asked_for(self, parts):
        assert returned(*parts) == []
