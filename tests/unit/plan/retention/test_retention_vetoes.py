"""Why a topic keeps what it has: every veto, with what it refuses and what it lets through."""

import pytest

from logdirwatch.plan.retention import retention_vetoes as vetoes
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.answers import named
from tests.unit.plan.builders import MIB, broker, directory, facts, policy, replica, slowly, topic

HERE = [replica(1, "/d1", "t", size=100 * MIB), replica(1, "/d1", "t", 1, size=None)]
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}
ON_TOPIC = frozenset({"retention.ms"})
TIERED = {"remote.storage.enable": "true"}
YEARS_100 = 100 * 365 * 86_400_000


def owned(**rule):
    return policy(topics=(TopicRule(topic="t", **rule),))


def first(found, *names):
    """Return the first veto of one of these names."""
    return next((veto for veto in found if veto.name in names), None)


class TestKeptForEver:
    def veto(self, configs, overridden=ON_TOPIC, **rule):
        made = topic("t", (1,), (1,), configs=configs, overridden=overridden)
        return vetoes.kept_for_ever(made, HERE, owned(**rule))

    @pytest.mark.parametrize(
        "configs",
        [
            FOR_EVER,
            FOR_EVER | {"retention.ms": str(2**63 - 1), "retention.bytes": str(2**63 - 1)},
            FOR_EVER | {"retention.ms": str(YEARS_100)},
            FOR_EVER | {"retention.bytes": str(1 << 60)},
            FOR_EVER | {"cleanup.policy": "compact,delete"},
            FOR_EVER | {"cleanup.policy": None},
        ],
    )
    def test_a_limit_that_nothing_reaches_is_none(self, configs):
        assert named(self.veto(configs)) == "kept_for_ever"

    @pytest.mark.parametrize(
        "configs",
        [
            FOR_EVER | {"retention.ms": str(YEARS_100 - 1)},
            FOR_EVER | {"retention.ms": "0"},
            FOR_EVER | {"retention.bytes": str((1 << 60) - 1)},
            FOR_EVER | {"retention.bytes": None},
            FOR_EVER | {"retention.ms": None},
            FOR_EVER | {"cleanup.policy": "compact"},
        ],
    )
    def test_what_a_limit_ends_or_only_the_cleaner_keeps_may_be_cut(self, configs):
        assert self.veto(configs) is None

    @pytest.mark.parametrize(
        ("overridden", "purpose"),
        [(ON_TOPIC, " for ever on purpose "), (None, " for ever perhaps on purpose ")],
    )
    def test_the_owner_is_asked_how_sure_the_purpose_is(self, overridden, purpose):
        reason = self.veto(FOR_EVER, overridden, owner="ann").reason
        assert purpose in reason
        assert "t keeps 100 MiB" in reason
        assert reason.endswith("(retention.ms=-1): ask ann")
        assert self.veto(FOR_EVER, overridden).reason.endswith(": ask its owner")


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({}, None),
        ({"owner": "ann"}, None),
        ({"min_retention_bytes": MIB}, "owner_minimum"),
        ({"min_retention_ms": 1000}, "owner_minimum"),
    ],
)
def test_the_owners_minimum_may_keep_all(rule, found):
    given = vetoes.nothing_to_give(topic("t", (1,)), HERE[:1], facts(*HERE[:1]), owned(**rule))
    assert named(first(given, "owner_minimum")) == found


class TestTheHistoryThatStays:
    """Segments have 10 MiB, so a replica of 20 MiB has none to give."""

    def veto(self, *, size=100 * MIB, growth=None, configs=None, limits=None):
        made, place = topic("t", (1,), configs=configs), replica(1, "/d1", "t", size=size)
        rates = {} if growth is None else slowly(place, rate=growth)
        found = facts(directory(1), made, place, growth=rates)
        limited = policy(**({"min_retention_ms": 10_000} | (limits or {})))
        return first(vetoes.nothing_to_give(made, [place], found, limited), "min_retention")

    @pytest.mark.parametrize(
        ("case", "found"),
        [
            ({}, "min_retention"),
            ({"size": 20 * MIB}, None),
            ({"size": 20 * MIB + 1}, "min_retention"),
            ({"growth": 1.0 * MIB}, None),
            ({"growth": 1.0 * MIB + 1}, "min_retention"),
            ({"growth": 1.0}, None),
            ({"configs": TIERED}, None),
        ],
    )
    def test_it_is_more_than_the_segment_that_stays_anyway(self, case, found):
        assert named(self.veto(**case)) == found

    def test_how_fast_it_is_written_is_said(self):
        assert self.veto(growth=2.0 * MIB).reason == (
            "the last 10 s of t stay, which may be all of it: 2 MiB/s are written to a partition"
        )
        assert self.veto().reason.endswith("how fast it is written is not known")

    @pytest.mark.parametrize(("key", "found"), [("retention.ms", None), ("local.retention.ms", "min_retention")])
    def test_of_a_tiered_topic_the_age_of_the_local_copy_counts(self, key, found):
        configs = TIERED | {"local.retention.ms": "-1", "retention.ms": "-1"} | {key: "10000"}
        assert named(self.veto(growth=1.0, configs=configs)) == found

    def test_what_lies_there_was_written_within_the_age_limit_that_holds(self):
        local = TIERED | {"local.retention.ms": "10000", "retention.ms": "-1"}
        for configs in (local, {"retention.ms": "10000", "local.retention.ms": "1"}):
            assert "10 MiB/s are written" in self.veto(growth=1.0, configs=configs).reason

    def test_of_another_topic_the_local_limit_means_nothing(self):
        assert self.veto(growth=1.0, configs={"local.retention.ms": "10000"}) is None


class TestConsumers:
    def seen(self, unread, *, sizes=(100, 100, 100), configs=None):
        made = topic("t", *[(1,)] * len(sizes), unread=unread, configs=configs)
        places = [replica(1, "/d1", "t", number, size * MIB) for number, size in enumerate(sizes)]
        return made, facts(directory(1), made, *places)

    @pytest.mark.parametrize(
        ("unread", "sizes", "slowest"),
        [
            (None, (100, 100), None),
            ({}, (100, 100), None),
            ({0: 0.05}, (100, 100), None),
            ({0: 0.06}, (100, 100), 0),
            ({0: 0.2, 1: 0.4}, (100, 100), 1),
            ({0: 0.2, 1: 0.4}, (100, 10), 0),
            ({1: 0.4, 2: 0.4}, (100, 100, 100), 1),
        ],
    )
    def test_the_group_with_most_bytes_to_read_is_the_slowest(self, unread, sizes, slowest):
        partition = vetoes.slowest_reader(*self.seen(unread, sizes=sizes))
        assert (partition and partition.partition) == slowest

    @pytest.mark.parametrize(
        ("case", "limits", "found"),
        [
            ({"unread": {1: 0.5}}, {}, "consumers_unread"),
            ({"unread": {1: 0.01}}, {}, None),
            ({"unread": {1: 0.5}}, {"spare_unread": False}, None),
            ({"unread": {1: 0.5}, "configs": TIERED}, {}, None),
        ],
    )
    def test_what_is_spared_may_be_all_that_there_is(self, case, limits, found):
        assert named(vetoes.consumers_unread(*self.seen(**case), policy(**limits))) == found

    @pytest.mark.parametrize(
        ("unread", "is_spared", "found"),
        [({1: 0.5}, False, "consumers_unread"), ({1: 0.5}, True, None), ({1: 0.01}, False, None)],
    )
    def test_what_goes_on_into_it_is_a_persons_to_decide(self, unread, is_spared, found):
        assert named(vetoes.unread_goes(*self.seen(unread), is_spared=is_spared)) == found

    def test_the_group_its_partition_and_its_bytes_are_named(self):
        said = "consumer group readers has still to read about 50 MiB of t-1"
        assert vetoes.consumers_unread(*self.seen({1: 0.5}), policy()).reason.startswith(
            f"{said}, and no cut takes that"
        )
        assert vetoes.unread_goes(*self.seen({1: 0.5}), is_spared=False).reason == said


class TestTiered:
    def against(self, made, *parts):
        found = vetoes.against_loss(made, [], facts(*parts), policy())
        return first(found, "tiered_storage_off", "remote_copies_off", "leaderless_archives_nothing")

    @pytest.mark.parametrize(
        ("enabled", "found"),
        [
            ({}, None),
            ({1: "true", 2: "true"}, None),
            ({2: "false"}, "broker 2"),
            ({1: "false", 2: "false"}, "broker 1"),
            ({3: "false"}, None),
        ],
    )
    def test_every_host_keeps_remote_storage(self, enabled, found):
        brokers = [broker(n, **{"remote.log.storage.system.enable": enabled.get(n)}) for n in (1, 2, 3)]
        veto = self.against(topic("t", (2, 1, 9), configs=TIERED), *brokers)
        assert named(veto) == (found and "tiered_storage_off")
        assert veto is None or f"{found} has remote storage switched off" in veto.reason

    @pytest.mark.parametrize(("value", "found"), [(None, None), ("false", None), ("true", "remote_copies_off")])
    def test_copies_go_on(self, value, found):
        made = topic("t", (1,), configs=TIERED | {"remote.log.copy.disable": value})
        assert named(self.against(made)) == found

    @pytest.mark.parametrize(
        ("lag", "configs", "found"),
        [
            (None, TIERED, None),
            (0, TIERED, None),
            (MIB, TIERED, "1 MiB of t are not in remote storage yet: local"),
            (MIB, {}, None),
            (
                MIB,
                TIERED | {"remote.copy.lag.ms": "1"},
                "1 MiB of t are not in remote storage yet (their copies are delayed by remote.copy.lag.*): local",
            ),
        ],
    )
    def test_what_waits_for_its_copy_stays(self, lag, configs, found):
        made = topic("t", (1,), configs=configs, remote_copy_lag_bytes=lag)
        veto = first(vetoes.nothing_to_give(made, HERE, facts(*HERE), policy()), "remote_copy_lags")
        assert named(veto) == (found and "remote_copy_lags")
        assert veto is None or veto.reason.startswith(found)

    @pytest.mark.parametrize(
        ("leaderless", "found"), [((), None), ((1,), "t-1 has"), ((0, 1, 2, 3), "t-0, t-1, t-2 and 1 more has")]
    )
    def test_only_a_leader_archives(self, leaderless, found):
        veto = self.against(topic("t", (1,), (1,), (1,), (1,), leaderless=leaderless, configs=TIERED))
        assert named(veto) == (found and "leaderless_archives_nothing")
        assert veto is None or veto.reason.startswith(found)
