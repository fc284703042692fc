"""Situations beside the known ones, each of which once got a wrong answer."""

import pytest

from logdirwatch.model.vocabulary import Rule
from tests.unit.plan.builders import MIB, alert, directory, facts, replica, space_alert, topic
from tests.unit.situations.table import Advice, check_advice

RF_1 = {"min.insync.replicas": "1"}


def _only_copies(*others):
    """Broker 1 fills up with replicas that nobody else holds; the growth leaves an hour."""
    source = directory(1, used=900 * MIB, growth_bytes_per_s=100 * MIB / 3600)
    mine = [replica(1, "/d1", "one", number, 440 * MIB) for number in (0, 1)]
    made = topic("one", (1,), (1,), configs=RF_1, unread={0: 0.0, 1: 0.0})
    return lambda: (space_alert("critical"), facts(source, made, *mine, *others))


def _only_copy_on_a_dying_disk():
    made = topic("one", (1,), configs=RF_1)
    found = facts(directory(1, is_suspect=True), directory(2, used=300 * MIB), made, replica(1, "/d1", "one"))
    why = {"medium_error": "the kernel says of sdb: critical medium error"}
    evidence = {"why": why, "device": "sdb"}
    return alert(Rule.LOG_DIR_SUSPECT, to="online", cause=None, evidence=evidence), found


ADVICE = [
    Advice("what only a dying disk holds is copied from it while it can be read", _only_copy_on_a_dying_disk,
           first="reassign", lossless=True),
    Advice("a topic with one replica leaves a directory that serves, and nothing is deleted",
           _only_copies(directory(2, used=300 * MIB)), first="reassign", never=("lower_retention",), lossless=True),
    Advice("so it does where only the third broker has the room",
           _only_copies(directory(2, used=800 * MIB), directory(3, used=200 * MIB)), first="reassign",
           never=("lower_retention",), lossless=True),
]  # fmt: skip


@pytest.mark.parametrize("row", ADVICE, ids=lambda row: row.name)
def test_advice(row):
    check_advice(row)
