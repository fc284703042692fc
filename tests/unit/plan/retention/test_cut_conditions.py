"""What must hold before a cut, and which cuts its own numbers forbid."""

import pytest

from logdirwatch.plan.retention.cut_conditions import consumers_done, cut_preconditions, cut_vetoes
from logdirwatch.plan.retention.limits import RetentionCut, RetentionLimit
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import MIB, directory, facts, policy, replica, topic

DAY_MS = 86_400_000
TIERED = {"remote.storage.enable": "true"}
BYTES, AGE, LOCAL = "retention.bytes", "retention.ms", "local.retention.bytes"


def cut(key=BYTES, *, keeps_ms=2 * DAY_MS, rate=1.0, unread=0, new_value=100, **fields):
    made = topic("t", (1, 2), (1, 2), **fields)
    return RetentionCut(RetentionLimit(made, key, 1, 200, bytes_per_s=rate, unread=unread), new_value, {}, keeps_ms)


def seen(one):
    places = [replica(1, "/d1", "t", number, 100 * MIB) for number in (0, 1)]
    return facts(directory(1), directory(2), one.topic, *places)


def conditions(one, *, is_moving=False, **limits):
    found = cut_preconditions(one, seen(one), policy(**({"min_retention_ms": DAY_MS} | limits)), is_moving=is_moving)
    return {item.name: item.holds for item in found}


def text(one, name):
    found = cut_preconditions(one, seen(one), policy(min_retention_ms=DAY_MS), is_moving=False)
    return next(item.text for item in found if item.name == name)


class TestWhatMustHold:
    def test_of_a_cut_that_loses_data_consumers_and_owner_come_first(self):
        assert list(conditions(cut())) == ["consumers_done", "owner_agrees", "min_retention", "no_move"]
        assert conditions(cut())["owner_agrees"] is None

    def test_of_a_local_copy_what_counts_is_remote_storage(self):
        assert list(conditions(cut(LOCAL, configs=TIERED))) == ["remote_copied", "min_retention", "no_move"]

    @pytest.mark.parametrize(("is_moving", "holds"), [(True, None), (False, True)])
    def test_nothing_of_it_moves_meanwhile(self, is_moving, holds):
        assert conditions(cut(), is_moving=is_moving)["no_move"] is holds

    def test_what_waits_for_its_copy_is_said(self):
        one = cut(LOCAL, configs=TIERED, remote_copy_lag_bytes=MIB)
        assert ": 1 MiB wait for their copy and stay" in text(one, "remote_copied")


class TestHistory:
    @pytest.mark.parametrize(
        ("case", "holds", "vetoes"),
        [
            ({"keeps_ms": DAY_MS}, True, []),
            ({"keeps_ms": DAY_MS - 1}, False, ["min_retention"]),
            ({"keeps_ms": None}, True, []),
            ({"keeps_ms": 0}, False, ["min_retention"]),
            ({"keeps_ms": 0, "rate": None}, None, []),
            ({"keeps_ms": 0, "rate": None, "key": AGE}, False, ["min_retention"]),
        ],
    )
    def test_as_much_stays_as_is_wanted_where_it_is_known(self, case, holds, vetoes):
        one = cut(**case)
        assert conditions(one)["min_retention"] is holds
        found = cut_vetoes(one, seen(one), policy(min_retention_ms=DAY_MS))
        assert [veto.name for veto in found] == vetoes

    def test_the_owners_word_holds(self):
        one = cut(keeps_ms=1000)
        limits = policy(min_retention_ms=DAY_MS, topics=(TopicRule(topic="t", min_retention_ms=1000),))
        assert cut_vetoes(one, seen(one), limits) == ()


class TestConsumers:
    @pytest.mark.parametrize(
        ("unread", "spared", "holds", "said"),
        [
            (None, True, None, "the progress of its groups is not known"),
            ({0: None}, False, None, "the progress of its groups is not known"),
            ({}, False, None, "who reads without committing them is not seen"),
            ({0: 0.0}, False, True, "every group has read it"),
            ({0: 0.05, 1: 0.0}, False, True, "every group has read it"),
            ({0: 0.5}, True, True, "every group has read it"),
            ({0: 0.5, 1: 0.0}, False, False, "consumer group readers has still to read about 50 MiB of t-0"),
        ],
    )
    def test_none_loses_what_it_has_to_read(self, unread, spared, holds, said):
        made = topic("t", (1, 2), (1, 2), unread=unread)
        one = cut(unread=0)
        found = consumers_done(made, facts(made, replica(1, "/d1", "t", 0, 100 * MIB)), spared=spared)
        assert (found.name, found.holds) == ("consumers_done", holds)
        assert found.text.endswith(said)
        assert one.spares_unread

    @pytest.mark.parametrize(
        ("unread", "sizes", "spared", "holds", "said"),
        [
            ({0: 0.0}, (100, 100), True, None, "commits offsets for t-1; who reads without"),
            ({0: 0.0}, (100, 100), False, None, "commits offsets for t-1; who reads without"),
            ({0: 0.5}, (100, 100), True, None, "commits offsets for t-1; who reads without"),
            ({0: 0.5}, (100, 100), False, False, "has still to read about 50 MiB of t-0"),
            ({0: 0.0}, (100, 0), True, True, "every group has read it"),
            ({0: 0.0}, (100, None), True, True, "every group has read it"),
            ({0: 0.0, 1: 0.0}, (100, 100), True, True, "every group has read it"),
            ({}, (100, 100), True, None, "commits offsets for it; who reads without"),
            ({}, (0, 0), True, None, "commits offsets for it; who reads without"),
            ({1: 0.0}, (100, 100), True, None, "commits offsets for t-0; who reads without"),
            ({1: None}, (100, 100), True, None, "the progress of its groups is not known"),
        ],
    )
    def test_a_partition_with_data_and_without_a_group_may_be_read_all_the_same(
        self, unread, sizes, spared, holds, said
    ):
        made = topic("t", (1,), (1,), unread=unread)
        placed = [replica(1, "/d1", "t", n, size and size * MIB) for n, size in enumerate(sizes)]
        found = consumers_done(made, facts(made, *placed), spared=spared)
        assert (found.holds, said in found.text) == (holds, True)

    @pytest.mark.parametrize(("limit", "holds", "vetoes"), [(100, True, []), (99, False, ["consumers_unread"])])
    def test_a_limit_at_what_is_unread_spares_it(self, limit, holds, vetoes):
        made = topic("t", (1, 2), (1, 2), unread={0: 0.5, 1: 0.0})
        one = RetentionCut(RetentionLimit(made, BYTES, 1, 200, bytes_per_s=1.0, unread=100), limit, {}, 2 * DAY_MS)
        assert conditions(one)["consumers_done"] is holds
        assert [veto.name for veto in cut_vetoes(one, seen(one), policy(min_retention_ms=DAY_MS))] == vetoes


class TestWhatHoldsSegmentsBack:
    @pytest.mark.parametrize(
        ("fields", "is_said"),
        [
            ({}, False),
            ({"leaderless": [1]}, True),
            ({"isr": {1: (2,)}}, False),
            ({"isr": {1: (2,)}, "configs": {"min.insync.replicas": "2"}}, True),
            ({"configs": {"min.insync.replicas": "2"}}, False),
        ],
    )
    def test_a_high_watermark_that_may_stand(self, fields, is_said):
        assert ("high_watermark_moves" in conditions(cut(**fields))) is is_said
        if is_said:
            assert conditions(cut(**fields))["high_watermark_moves"] is None
            assert "of t-1 moves on" in text(cut(**fields), "high_watermark_moves")

    @pytest.mark.parametrize(
        ("key", "configs", "found"),
        [
            (BYTES, {}, "not said"),
            (AGE, {}, None),
            (AGE, {"message.timestamp.type": "CreateTime"}, None),
            (AGE, {"message.timestamp.type": "LogAppendTime"}, True),
        ],
    )
    def test_a_timestamp_in_the_future_under_a_limit_of_age(self, key, configs, found):
        assert conditions(cut(key, configs=configs)).get("timestamps", "not said") is found
