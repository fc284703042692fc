"""The old limits come back when there is room, to the value before the first cut, and never against a later cut."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, LogDirStatus
from logdirwatch.plan.actions.topics.restore_retention import (
    ACTION_TYPE,
    carry_over_limits,
    is_cut,
    propose_restore,
    was,
    with_returning,
)
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import MIB, action, directory, facts, policy, replica, topic

KEY, AGE = "retention.bytes", "retention.ms"
TARGET = {"broker": 1, "log_dir": "/d1", "topic": "t"}
ALTER = "kafka-configs.sh --bootstrap-server kafka:9092 --alter --entity-type topics --entity-name=t "


def on(*bytes_of):
    return [{"broker": number, "log_dir": path, "bytes": size} for number, path, size in bytes_of]


def cut(changes=None, *, status=ActionStatus.DONE, freed=None, old=None, **fields):
    """A cut of topic t from no limit to 100 bytes, unless said otherwise; ``old``: what the topic itself had."""
    changes = changes or {KEY: {"from": "-1", "to": "100"}}
    undo = {"configs": {"t": old or dict.fromkeys(changes)}, "commands": [f"undo {key}" for key in changes]}
    expected = {"on": on((1, "/d1", 300 * MIB)) if freed is None else freed, **fields.pop("expected", {})}
    values = {"target": TARGET, "configs": {"t": changes}, "undo": undo, "status": status, "expected": expected}
    return action(ActionKind.LOWER_RETENTION, **(values | fields))


def seen(now="100", *parts, key=KEY, **fields):
    return facts(directory(1), topic("t", (1,), configs={key: now}), *parts, **fields)


def restored(one=None, snapshot=None, **limits):
    return propose_restore(one or cut(), snapshot or seen(), policy(**limits))


class TestWhetherACutStands:
    @pytest.mark.parametrize(
        ("now", "stands"),
        [("100", True), ("99", True), ("101", False), ("-1", False), (None, False)],
    )
    def test_a_limit_at_or_below_what_it_set(self, now, stands):
        assert is_cut(cut(), seen(now)) is stands

    @pytest.mark.parametrize(
        ("before", "stands"), [("-1", True), (None, True), ("-2", True), ("101", True), ("100", False), ("50", False)]
    )
    def test_and_below_what_was_before(self, before, stands):
        assert is_cut(cut({KEY: {"from": before, "to": "100"}}), seen("100")) is stands

    def test_one_of_two_limits_is_enough(self):
        both = {KEY: {"from": "-1", "to": "100"}, AGE: {"from": "-1", "to": "5"}}
        one = cut(both)
        assert is_cut(one, facts(directory(1), topic("t", (1,), configs={KEY: "-1", AGE: "5"})))
        assert list(
            restored(one, facts(directory(1), topic("t", (1,), configs={KEY: "-1", AGE: "5"}))).configs["t"]
        ) == [AGE]

    def test_of_a_topic_that_is_gone_nothing_stands(self):
        assert not is_cut(cut(), facts(directory(1)))
        assert restored(snapshot=facts(directory(1))) is None
        assert not is_cut(cut(configs=None), seen())

    def test_what_stands_until_a_deeper_one_is_made_counts(self):
        deeper = cut({KEY: {"from": "100", "to": "50", "was": "-1", "stands": "100"}})
        assert is_cut(deeper, seen("100"))
        assert not is_cut(deeper, seen("101"))


class TestTheRestoredLimit:
    @pytest.mark.parametrize(
        ("before", "own", "command"),
        [
            ("-1", None, f"--delete-config {KEY}"),
            ("5000", "5000", f"--add-config {KEY}=5000"),
        ],
    )
    def test_the_topic_gets_its_own_value_back_or_none(self, before, own, command):
        found = restored(cut({KEY: {"from": before, "to": "100"}}, old={KEY: own}))
        assert found.commands == (ALTER + command,)
        assert found.configs == {"t": {KEY: {"from": "100", "to": before}}}
        assert found.undo == {"commands": [f"{ALTER}--add-config {KEY}=100"]}

    @pytest.mark.parametrize(("before", "said"), [("-1", "unlimited"), ("500", "500"), (None, "an unknown value")])
    def test_the_old_limit_is_said(self, before, said):
        found = restored(cut({KEY: {"from": before, "to": "100"}}))
        assert f"give t its old retention back, {KEY} {said} as before" in found.reason

    def test_it_is_the_one_before_the_first_cut(self):
        deeper = cut({KEY: {"from": "100", "to": "50", "was": "5000"}}, old={KEY: "5000"})
        assert restored(deeper, seen("50")).configs["t"][KEY]["to"] == "5000"
        assert was({"from": "1"}) == "1"
        assert was({"from": "1", "was": None}) is None

    def test_it_names_its_cut_and_says_what_comes_back_to_whom(self):
        found = restored(topics=(TopicRule(topic="t", owner="ann"),))
        assert found.kind is ActionKind.RESTORE_RETENTION
        assert found.target == {**TARGET, "after": cut().action_id}
        assert found.expected["owner"] == "ann"
        assert found.expected["needs_ms"] == 0
        assert "retention.bytes unlimited as before" in found.reason
        assert "the 300 MiB that come back; tell ann, the owner of t," in found.reason
        assert not found.data_loss

    def test_the_owner_may_want_another_limit_by_now(self):
        assert [(one.name, one.holds) for one in restored().preconditions] == [
            ("danger_over", True),
            ("room", True),
            ("limit_known", None),
        ]


class TestRoom:
    @pytest.mark.parametrize(
        ("place", "vetoes", "room"),
        [
            (directory(1, used=400 * MIB), [], True),
            (directory(1, used=400 * MIB + 1), ["no_room_for_old_retention"], True),
            (directory(1, used=0, status=LogDirStatus.FILLING), ["not_over"], True),
            (directory(1, used=900 * MIB, status=LogDirStatus.OFFLINE), ["not_over"], True),
            (directory(1, used=None), [], None),
            (directory(1, used=0, total=0), [], None),
        ],
    )
    def test_what_was_freed_fits_below_the_target_ratio(self, place, vetoes, room):
        found = restored(snapshot=seen("100", place), target_ratio=0.7)
        assert [veto.name for veto in found.vetoes] == vetoes
        assert next(one.holds for one in found.preconditions if one.name == "room") is room
        accepted = action(ActionKind.RESTORE_RETENTION, target=TARGET, expected=found.expected)
        assert bool(ACTION_TYPE.live_check(accepted, seen("100", place), None)) is ("not_over" in vetoes)

    def test_every_directory_that_it_freed_is_looked_at_and_taken_from(self):
        freed = on((2, "/d1", 10 * MIB), (1, "/d1", 300 * MIB), (3, "/d1", 0), (9, "/gone", MIB))
        full = directory(2, used=900 * MIB, status=LogDirStatus.CRITICAL)
        found = restored(cut(freed=freed), seen("100", full, directory(3, status=LogDirStatus.OFFLINE)))
        assert [veto.reason for veto in found.vetoes] == ["/d1 of broker 2 is critical"]
        assert found.expected["on"] == on((1, "/d1", -300 * MIB), (2, "/d1", -10 * MIB), (9, "/gone", -MIB))

    def test_three_vetoes_are_enough_to_read(self):
        freed = on(*((number, "/d1", MIB) for number in range(1, 6)))
        off = [directory(number, status=LogDirStatus.FILLING) for number in range(1, 6)]
        assert len(restored(cut(freed=freed), seen("100", *off)).vetoes) == 3

    def test_what_is_reserved_there_counts(self):
        found = restored(snapshot=seen("100", directory(1, used=400 * MIB), reserved={(1, "/d1"): 1}), target_ratio=0.7)
        assert [veto.name for veto in found.vetoes] == ["no_room_for_old_retention"]
        assert found.vetoes[0].reason.startswith("1 B are missing in /d1 of broker 1 below 70 %")


@pytest.mark.parametrize(("now", "vetoes"), [("100", []), ("99", ["cut_again"])])
def test_a_later_and_lower_cut_is_taken_back_first(now, vetoes):
    assert [veto.name for veto in restored(snapshot=seen(now)).vetoes] == vetoes


MADE = {"observed": {"is_set": True}, "old": {KEY: "5000"}}


class TestADeeperCut:
    def carried(self, changes, first=None):
        old = cut({KEY: {"from": "5000", "to": "100"}}, **(MADE | (first or {})))
        new = cut(changes, freed=on((1, "/d1", 20), (2, "/d1", 5)), status=ActionStatus.PROPOSED)
        return carry_over_limits(old, new), new

    def test_it_keeps_what_was_before_the_first(self):
        found, _ = self.carried({KEY: {"from": "100", "to": "50"}})
        assert found.configs == {"t": {KEY: {"from": "100", "to": "50", "was": "5000", "stands": "100"}}}
        assert found.undo["configs"] == {"t": {KEY: "5000"}}
        assert found.undo["commands"] == [f"undo {KEY}"]
        assert found.expected["freed_before"] == on((1, "/d1", 300 * MIB))
        assert found.observed == {"is_set": True}

    def test_another_limit_is_undone_beside_the_first(self):
        found, _ = self.carried({AGE: {"from": "-1", "to": "7"}})
        assert found.configs["t"] == {KEY: {"from": "5000", "to": "100"}, AGE: {"from": "-1", "to": "7"}}
        assert found.undo["configs"] == {"t": {AGE: None, KEY: "5000"}}
        assert found.undo["commands"] == [f"undo {KEY}", f"undo {AGE}"]

    def test_a_third_one_adds_up_what_both_freed(self):
        found, _ = self.carried(
            {KEY: {"from": "100", "to": "50"}},
            {"expected": {"freed_before": on((1, "/d1", 7), (2, "/d1", 1))}, "freed": on((1, "/d1", 3))},
        )
        assert found.expected["freed_before"] == on((1, "/d1", 10), (2, "/d1", 1))

    @pytest.mark.parametrize(
        ("status", "counts"),
        [
            (ActionStatus.DONE, True),
            (ActionStatus.WITHDRAWN, True),
            (ActionStatus.PROPOSED, False),
            (ActionStatus.SUPERSEDED, False),
            (ActionStatus.EXPIRED, False),
        ],
    )
    def test_of_one_that_was_only_proposed_nothing_is_added(self, status, counts):
        first = {"expected": {"freed_before": on((1, "/d1", 7))}, "freed": on((1, "/d1", 3)), "status": status}
        found, _ = self.carried({KEY: {"from": "100", "to": "50"}}, first)
        assert found.expected["freed_before"] == on((1, "/d1", 10 if counts else 7))

    def test_the_topic_is_cut_up_to_what_the_first_one_set(self):
        old = cut({KEY: {"from": "50", "to": "20", "was": "5000", "stands": "100"}}, **MADE)
        third = carry_over_limits(old, cut({KEY: {"from": "20", "to": "10"}}, status=ActionStatus.PROPOSED))
        assert third.configs["t"][KEY] == {"from": "20", "to": "10", "was": "5000", "stands": "100"}
        assert restored(third, seen("70")).configs["t"][KEY] == {"from": "70", "to": "5000"}
        assert not is_cut(third, seen("101"))

    @pytest.mark.parametrize("observed", [None, {}, {"is_set": False}])
    def test_one_whose_first_was_never_made_stands_for_itself(self, observed):
        found, new = self.carried({KEY: {"from": "100", "to": "50"}}, {"observed": observed})
        assert found is new

    def test_so_does_a_first_one_and_any_other_kind(self):
        one, other = cut(), action(ActionKind.INVESTIGATE)
        assert carry_over_limits(None, one) is one
        assert carry_over_limits(cut(**MADE), other) is other

    @pytest.mark.parametrize(("now", "comes_back"), [("50", 310), ("100", 300)])
    def test_what_comes_back_is_what_was_freed_by_then(self, now, comes_back):
        deeper = cut(
            {KEY: {"from": "100", "to": "50", "was": "-1", "stands": "100"}},
            freed=on((1, "/d1", 10)),
            expected={"freed_before": on((1, "/d1", 300))},
        )
        assert restored(deeper, seen(now)).expected["on"] == on((1, "/d1", -comes_back))


class TestWhatStillReturns:
    def reserved(self, one, size=100, **fields):
        place = replica(1, "/d1", "t", size=size)
        return with_returning([one], seen("-1", place, **fields)).reserved

    @pytest.mark.parametrize(
        ("before", "size", "comes"),
        [(400, 100, 250), (300, 100, 200), (100, 100, 0), (50, 100, 0), (None, 100, None)],
    )
    def test_it_is_what_the_directory_lacks_and_at_most_what_was_freed(self, before, size, comes):
        one = cut(freed=on((1, "/d1", 250), (2, "/d1", 99)), expected={"topic_bytes_before": before})
        assert self.reserved(one, size) == ({} if comes is None else {(1, "/d1"): comes})

    @pytest.mark.parametrize(
        ("fields", "counts"),
        [
            ({"status": ActionStatus.DONE}, True),
            ({"status": ActionStatus.WITHDRAWN, "observed": {"is_set": True}}, True),
            ({"status": ActionStatus.WITHDRAWN}, False),
            ({"status": ActionStatus.ACCEPTED, "observed": {"is_set": False}}, False),
            ({"kind": ActionKind.DELETE_RECORDS}, False),
        ],
    )
    def test_only_of_cuts_that_were_made(self, fields, counts):
        kind = fields.pop("kind", ActionKind.LOWER_RETENTION)
        one = cut(freed=on((1, "/d1", 250)), expected={"topic_bytes_before": 400}, **fields)
        one = action(
            kind, target=TARGET, status=one.status, configs=one.configs, expected=one.expected, observed=one.observed
        )
        assert bool(self.reserved(one)) is counts

    def test_not_of_one_that_stands(self):
        one = cut(expected={"topic_bytes_before": 400})
        assert with_returning([one], seen("100")).reserved == {}

    def test_it_is_added_to_what_is_reserved_already(self):
        one = cut(freed=on((1, "/d1", 250)), expected={"topic_bytes_before": 400})
        assert self.reserved(one, reserved={(1, "/d1"): 5, (2, "/d1"): 7}) == {(1, "/d1"): 255, (2, "/d1"): 7}


@pytest.mark.parametrize(("now", "done"), [("-1", True), ("100", False), (None, False)])
def test_it_is_done_when_every_limit_is_as_asked(now, done):
    found = restored()
    asked = action(found.kind, target=TARGET, status=ActionStatus.ACCEPTED, configs=found.configs)
    assert progress(asked, seen(now)).is_done is done
    assert progress(asked, facts(directory(1))) is None
