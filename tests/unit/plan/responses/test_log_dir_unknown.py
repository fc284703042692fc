"""A log directory that nobody reports."""

from dataclasses import replace

from logdirwatch.model.vocabulary import LogDirStatus, Rule
from tests.unit.plan.answers import answered
from tests.unit.plan.builders import MIB, alert, broker, directory, replica, topic

SUSPECT = [
    directory(1, "/d1", 100 * MIB),
    directory(1, "/d2", 300 * MIB),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (2, 1)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]


class TestUnreported:
    def unreported(self, *parts, **configs):
        about = alert(Rule.LOG_DIR_UNKNOWN, to="unknown", cause=None)
        unseen = replace(SUSPECT[0], status=LogDirStatus.UNKNOWN, is_metadata_dir=False)
        (look,) = answered(about, broker(1, **configs), *SUSPECT, unseen, *parts)
        return look

    def test_still_in_log_dirs(self):
        look = self.unreported(**{"log.dirs": "/d1, /d2"})
        assert look.expected["in_log_dirs"] is True
        assert "it is in log.dirs still" in look.reason

    def test_it_left_log_dirs_and_the_others_can_hold_its_replicas(self):
        look = self.unreported(**{"log.dirs": "/d2"})
        assert look.expected["leave_log_dirs"]["fits"] is True
        assert "its 1 replica is made again in the broker's other directories; keep its volume until" in look.reason

    def test_it_left_log_dirs_and_they_cannot(self):
        look = self.unreported(directory(1, "/d2", 840 * MIB), **{"log.dirs": "/d2"})
        assert "the broker's other directories lack 90 MiB for its 1 replica" in look.reason

    def test_without_the_configuration_nothing_is_claimed(self):
        look = self.unreported()
        assert look.expected["in_log_dirs"] is None
        assert "log.dirs" not in look.reason.replace("is it still in log.dirs", "")
