"""What an alert says of its offline directories: which, why, and what proves it; its word holds over the tables'."""

import pytest

from logdirwatch.model.vocabulary import Cause, FullBy
from logdirwatch.plan.availability.offline_log_dirs import (
    OfflineEvidence,
    cause_at,
    log_line,
    offline_log_dirs_of,
    places_of,
    used_text,
)
from tests.unit.plan.builders import MIB, alert, directory, facts, offline, replica, topic

SEVERAL = {
    "/d1": {"cause": "failed", "said": "I/O error", "device": "sdb"},
    "/d2": {"cause": "full", "full_by": "inodes"},
    "/d3": {},
}


def about(evidence=None, cause=Cause.FAILED, **fields):
    return alert(cause=cause, evidence=evidence or {}, **fields)


def several(shown=None, **fields):
    return about({"log_dirs": SEVERAL if shown is None else shown}, **fields)


PARTS = [offline(1, "/d1", None), offline(1, "/d2", Cause.FAILED), offline(1, "/d3"), directory(2)]


class TestWhichDirectories:
    @pytest.mark.parametrize(
        ("told", "places"),
        [
            (about(), [(1, "/d1")]),
            (several(), [(1, "/d1"), (1, "/d2")]),
            (several({"/d3": {}}), [(1, "/d1")]),
            (about(number=None), []),
            (about(log_dir=None), []),
        ],
        ids=["its own", "those with a cause", "none with a cause", "no broker", "no directory"],
    )
    def test_those_that_it_lists_with_a_cause_else_its_own(self, told, places):
        assert places_of(told) == places
        found = offline_log_dirs_of(told, facts(*PARTS))
        assert [one.place for one in found.directories if found] == places if places else found is None

    def test_what_is_not_known_is_left_out(self):
        found = offline_log_dirs_of(several(), facts(*PARTS[1:]))
        assert found.names == ("/d2",)
        assert found.target == {"broker": 1, "log_dir": "/d2"}
        assert not found.is_several
        assert offline_log_dirs_of(several(), facts(directory(2))) is None

    def test_several_are_several(self):
        found = offline_log_dirs_of(several(), facts(*PARTS))
        assert (found.broker, found.is_several, found.names) == (1, True, ("/d1", "/d2"))
        assert found.target == {"broker": 1, "log_dir": "/d1"}


class TestCauses:
    @pytest.mark.parametrize(
        ("told", "of_alert", "found"),
        [
            ({"cause": "full"}, Cause.FAILED, Cause.FULL),
            ({"cause": "unknown"}, Cause.LIMIT, Cause.LIMIT),
            ({"cause": "unknown"}, Cause.FAILED, Cause.UNKNOWN),
            ({"cause": "failed"}, Cause.LIMIT, Cause.FAILED),
            ({"cause": "of a later release"}, Cause.FAILED, Cause.UNKNOWN),
        ],
    )
    def test_each_has_its_own_and_a_limit_is_the_cause_of_all(self, told, of_alert, found):
        assert cause_at(several({"/d1": told}, cause=of_alert), "/d1") is found

    @pytest.mark.parametrize(
        ("of_alert", "of_table", "found"),
        [(Cause.FULL, Cause.FAILED, Cause.FULL), (None, Cause.FAILED, Cause.FAILED), (None, None, Cause.UNKNOWN)],
    )
    def test_the_alerts_word_holds_over_the_tables_and_is_laid_over_them(self, of_alert, of_table, found):
        seen = facts(offline(1, "/d1", of_table), directory(2))
        away = offline_log_dirs_of(about(cause=of_alert), seen)
        assert away.directories[0].cause is found
        assert away.snapshot.directories[1, "/d1"].cause is found
        assert (2, "/d1") in away.snapshot.directories
        assert (away.snapshot is seen) is (found is of_table)

    def test_they_are_told_apart_by_cause(self):
        away = offline_log_dirs_of(several(), facts(*PARTS))
        assert [one.path for one in away.of_cause(Cause.FULL)] == ["/d2"]
        assert [one.path for one in away.of_cause(Cause.FULL, Cause.FAILED)] == ["/d1", "/d2"]
        assert away.of_cause(Cause.LIMIT) == ()


class TestProofs:
    def proof(self, **evidence):
        return offline_log_dirs_of(about(evidence), facts(*PARTS)).proofs["/d1"]

    def test_of_one_directory_all_that_the_evidence_says(self):
        found = self.proof(
            device="sdb", full_by="inodes", said="No space", used_inodes_ratio=1.0, kernel_error="ext4: no inodes"
        )
        assert found == OfflineEvidence("sdb", FullBy.INODES, "No space", 1.0, "ext4: no inodes")
        assert self.proof() == OfflineEvidence()

    def test_of_several_each_its_own(self):
        proofs = offline_log_dirs_of(several(), facts(*PARTS)).proofs
        assert proofs == {
            "/d1": OfflineEvidence(device="sdb", said="I/O error"),
            "/d2": OfflineEvidence(full_by=FullBy.INODES),
        }

    @pytest.mark.parametrize(
        ("evidence", "full_by"),
        [
            ({"said": "java.io.IOException: Disk quota exceeded"}, FullBy.QUOTA),
            ({"event_detail": "QUOTA exceeded"}, FullBy.QUOTA),
            ({"said": "Disk quota exceeded", "full_by": "inodes"}, FullBy.INODES),
            ({"said": "Disk quota exceeded", "full_by": "of a later release"}, FullBy.QUOTA),
            ({"said": "No space left on device"}, None),
        ],
    )
    def test_a_quota_is_read_in_the_line_where_nothing_names_it(self, evidence, full_by):
        assert self.proof(**evidence).full_by is full_by

    def test_the_line_is_what_was_said_else_what_was_seen(self):
        assert self.proof(said="said", event_detail="seen").said == "said"
        assert self.proof(event_detail="seen").said == "seen"


class TestWhatWasLost:
    PARTS = (
        *PARTS,
        topic("a", (1, 2)),
        topic("b", (1, 2)),
        topic("c", (1, 2)),
        replica(1, "/d1", "a"),
        replica(1, "/d2", "b"),
        replica(1, "/d3", "c"),
    )

    def test_with_some_of_them_what_lies_there(self):
        away = offline_log_dirs_of(several(), facts(*self.PARTS))
        assert [one.label for one in away.lost(away.directories[:1])] == ["a-0"]
        assert [one.label for one in away.lost(away.directories)] == ["a-0", "b-0"]
        assert away.lost([]) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (directory(1, used=250 * MIB), " while 25.0 % of the volume's space is used"),
        (directory(1, used=None), ""),
        (directory(1, used=0, total=0), ""),
    ],
)
def test_the_space_is_told_where_it_is_known(place, text):
    assert used_text(place) == text


def test_the_line_is_told_where_there_is_one():
    assert log_line(OfflineEvidence(said="I/O error")) == " (I/O error)"
    assert log_line(OfflineEvidence()) == ""
