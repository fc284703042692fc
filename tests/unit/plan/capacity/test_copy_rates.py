"""How fast a plan may copy: the usual rate, more when time is short and bandwidth is spare, never below the writes."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.copy_rates import (
    UNKNOWN_BANDWIDTH,
    as_seen,
    spare_disk,
    spare_network,
    throttle,
    throttle_free,
)
from logdirwatch.plan.reassignment.within_broker import plan_moves
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import MIB, NOW_MS, broker, directory, facts, policy, replica, space_alert, topic

LIMIT = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.mark.parametrize(
    ("spare", "copied", "left_ms", "rate"),
    [
        (None, 10_000, None, 100),  # when it is full is not known: the usual rate
        (None, 311_000, 2_500_000, 251),  # what is spare is not known: what is in time
        (None, 10**15, 2_500_000, UNKNOWN_BANDWIDTH),  # but not any rate
        (1_000, 100, None, 100),  # when it is full is not known: the usual rate
        (50, 100, None, 50),  # never more than what is spare
        (1_000, 100, 2_500_000, 100),  # time enough
        (1_000, 311_000, 2_500_000, 251),  # 311,000 bytes in half of 2,500 s, less 10 s for the deletion
        (1_000, 10_000_000, 2_500_000, 1_000),  # as much as is spare, though it does not do
        (1_000, 100, 610_000, 1_000),  # a person and the deletion take all of it: as fast as may be
    ],
)
def test_the_rate_follows_from_the_time_left_and_the_spare_bandwidth(spare, copied, left_ms, rate):
    assert throttle(100, spare, copied, left_ms, 10_000) == rate


def test_what_producers_write_is_not_spare():
    written = [directory(1, "/d1", growth_bytes_per_s=30.0), directory(1, "/d2", growth_bytes_per_s=20.0), directory(1)]
    assert spare_disk(100, written) == 70
    assert spare_network(100, written) == 50
    assert spare_disk(None, written) is None


def test_a_directory_that_is_nearly_full_is_copied_faster():
    """150 MiB last 20 minutes at 128 KiB/s: half of that, or what a person leaves of it, less a minute to delete."""
    source = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=MIB / 8)
    parts = [source, directory(1, "/d2"), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t", size=200 * MIB)]

    def rate(**limits):
        return plan_moves(source, facts(*parts), policy(log_dir_throttle_bytes_per_s=MIB // 8 + 1, **limits)).rate

    assert rate() == 200 * MIB * 1000 // 540_000 + 1, "what disks can do is not known"
    assert rate(disk_bandwidth_bytes_per_s=3 * MIB // 8) == 2 * MIB // 8
    assert rate(disk_bandwidth_bytes_per_s=MIB) == 200 * MIB * 1000 // 540_000 + 1


class TestWrites:
    SOURCE = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=20.0 * MIB)
    PARTS = (
        SOURCE,
        directory(1, "/d2", 50 * MIB, total=10_000_000 * MIB),
        directory(2),
        topic("t", (1, 2), (1, 2)),
        replica(1, "/d1", "t", 0, 200 * MIB),
        replica(1, "/d1", "t", 1, 180 * MIB),
    )

    def moves(self, *rates):
        growth = {((1, "/d1"), ("t", n)): float(rate) for n, rate in enumerate(rates)}
        found = facts(*self.PARTS, growth=growth)
        return plan_moves(self.SOURCE, found, policy(disk_bandwidth_bytes_per_s=30 * MIB))

    def test_what_is_written_faster_than_it_is_copied_is_left_where_it_is(self):
        assert [a.label for a in self.moves(19 * MIB, MIB).assignments] == ["t-1"]

    def test_moves_share_the_limit_so_their_writes_add_up(self):
        source = directory(1, "/d1", 990 * MIB)
        growth = {((1, "/d1"), ("t", n)): 6.0 * MIB for n in (0, 1)}
        found = facts(source, *self.PARTS[1:], growth=growth)
        moves = plan_moves(source, found, policy(disk_bandwidth_bytes_per_s=10 * MIB))
        assert [a.label for a in moves.assignments] == ["t-0"]

    def test_when_all_are_written_faster_nothing_is_moved(self):
        moves = self.moves(19 * MIB, 15 * MIB)
        assert moves.assignments == ()
        assert [veto.name for veto in moves.vetoes] == ["slower_than_writes"]

    def test_of_equally_large_ones_the_colder_is_moved(self):
        source = directory(1, "/d1", 850 * MIB)
        parts = [replica(1, "/d1", "t", n, 200 * MIB) for n in (0, 1)]
        growth = {((1, "/d1"), ("t", 0)): 5.0, ((1, "/d1"), ("t", 1)): 1.0}
        found = facts(source, *self.PARTS[1:4], *parts, growth=growth)
        assert [a.label for a in plan_moves(source, found, policy()).assignments] == ["t-1"]


class TestOthers:
    """A broker's moves share one limit: another's copy takes its share, and another's limit is seen."""

    SOURCE = directory(1, "/d1", 850 * MIB)
    PARTS = (
        SOURCE,
        directory(1, "/d2", 50 * MIB),
        directory(2),
        topic("t", (1, 2)),
        topic("u", (1, 2)),
        replica(1, "/d1", "t", size=200 * MIB),
    )

    def action(self, *parts):
        actions = recommend(space_alert(), facts(*self.PARTS, *parts), policy(), NOW_MS)
        return next(action for action in actions if action.kind is ActionKind.MOVE_LOG_DIR)

    def test_what_others_have_still_to_copy_makes_it_take_longer(self):
        alone = self.action().expected["needs_ms"]
        copy = [replica(1, "/d2", "u", size=50 * MIB), replica(1, "/d1", "u", size=10 * MIB, is_future=True)]
        assert self.action(*copy).expected["needs_ms"] == alone + 40 * MIB * 1000 // 50_000_000

    @pytest.mark.parametrize(
        ("configs", "holds"), [({"log.dirs": "/d1"}, True), ({LIMIT: "1000"}, False), ({LIMIT: str(2**63 - 1)}, True)]
    )
    def test_a_limit_that_is_set_already_is_told(self, configs, holds):
        assert throttle_free({1: [LIMIT]}, facts(broker(1, **configs), self.SOURCE)).holds is holds

    def test_where_nobody_read_the_configuration_that_is_not_known(self):
        assert throttle_free({1: [LIMIT]}, facts(self.SOURCE)).holds is None


def test_a_move_that_is_too_slow_as_a_whole_goes_in_waves():
    """150 MiB at 10 KiB/s are full in 4 h 16 min. Both replicas at 15 kB/s take 5 h, the first one alone half."""
    source = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=10240.0)
    parts = [
        directory(1, "/d2", 10 * MIB),
        directory(2),
        topic("t", (1, 2), (1, 2)),
        *(replica(1, "/d1", "t", n, 80 * MIB) for n in (0, 1)),
    ]
    slow = policy(disk_bandwidth_bytes_per_s=10_240 + 15_000, log_dir_throttle_bytes_per_s=15_000)
    actions = recommend(space_alert(), facts(source, *parts), slow, NOW_MS)
    assert actions[0].expected["waves"] == 2
    assert "in 2 waves" in actions[0].reason
    in_time = next(p for p in actions[0].preconditions if p["name"] == "in_time")
    assert (in_time["holds"], actions[0].expected["in_time_bytes"]) == (True, 160 * MIB)
    written = [command.splitlines()[0] for command in actions[0].commands if command.startswith("cat > ")]
    assert [line.split()[2].split("-logdir")[0] for line in written[1:]] == ["wave-1", "wave-2"]
    assert len(actions[0].reassignment["partitions"]) == 2
    quick = recommend(space_alert(), facts(replace(source), *parts), policy(), NOW_MS)
    assert quick[0].expected["waves"] == 1


@pytest.mark.parametrize(
    ("rate", "seen", "gets_on_at"),
    [(100, None, 100), (100, 16.0, 16), (100, 85.0, 100), (400, 16.0, 16), (400, 95.0, 400), (10, 16.0, 10)],
)
def test_copies_get_on_as_slowly_as_they_were_seen_unless_the_usual_limit_held_them(rate, seen, gets_on_at):
    assert as_seen(rate, 100, seen) == gets_on_at


def test_a_move_to_a_directory_that_was_seen_to_be_slow_is_late():
    here = facts(
        directory(1, "/d1", used=900 * MIB, growth_bytes_per_s=MIB / 60),
        directory(1, "/d2", used=10 * MIB),
        topic("t", [1]),
        replica(1, "/d1", "t", size=400 * MIB),
        copied_bytes_per_s={(1, "/d2"): MIB / 60},
    )
    limits = {"log_dir_throttle_bytes_per_s": MIB}
    (move,) = [a for a in recommend(space_alert(), here, policy(**limits), NOW_MS) if a.kind is ActionKind.MOVE_LOG_DIR]
    said = {found["name"]: found["holds"] for found in move.preconditions}
    assert said["in_time"] is False
    assert said["rate_sustained"] is False
