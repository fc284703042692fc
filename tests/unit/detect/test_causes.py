"""How evidence on an offline directory is weighed: in any order of arrival the same is believed."""

from functools import reduce
from itertools import permutations

import pytest

from logdirwatch.detect import causes
from logdirwatch.detect.state.broker_state import Verdict
from logdirwatch.model.vocabulary import Cause, FullBy

IO_ERROR = Verdict(cause=Cause.FAILED, decided_by="broker_log", said="Input/output error")
LIMIT = Verdict(cause=Cause.LIMIT, decided_by="broker_log")
DEVICE = Verdict(cause=Cause.FAILED, decided_by="kernel_log", device="sdd")
SHUT_DOWN = Verdict(cause=Cause.FILE_SYSTEM, decided_by="kernel_log", device="sdd1")
READ_ONLY = Verdict(cause=Cause.READ_ONLY, decided_by="host_read_only")
LOST = Verdict(cause=Cause.REMOUNT, decided_by="host_path_lost")
INODES = Verdict(cause=Cause.FULL, decided_by="host_inodes", full_by=FullBy.INODES)
NO_SPACE = Verdict(cause=Cause.FULL, decided_by="broker_log")
SEVERAL = Verdict(cause=Cause.UNKNOWN, decided_by="several_at_once")
EMPTY = Verdict(cause=Cause.FULL, decided_by="usable_under_reserve", full_by=FullBy.SPACE)
NOTHING = Verdict(cause=Cause.UNKNOWN, decided_by="space_was_left")
ALONE = Verdict(cause=Cause.UNKNOWN, decided_by="event")


@pytest.mark.parametrize(
    ("evidence", "cause"),
    [
        ((ALONE, NOTHING), Cause.UNKNOWN),
        ((NOTHING, SEVERAL), Cause.UNKNOWN),
        ((SEVERAL, EMPTY), Cause.FULL),
        ((EMPTY, READ_ONLY), Cause.READ_ONLY),
        ((EMPTY, IO_ERROR), Cause.FAILED),
        ((READ_ONLY, LIMIT, EMPTY), Cause.LIMIT),
        ((DEVICE, LIMIT), Cause.LIMIT),
        ((DEVICE, READ_ONLY), Cause.FAILED),
        ((DEVICE, SHUT_DOWN), Cause.FAILED),
        ((IO_ERROR, READ_ONLY), Cause.READ_ONLY),
        ((IO_ERROR, LOST), Cause.REMOUNT),
        ((IO_ERROR, SHUT_DOWN), Cause.FILE_SYSTEM),
        ((IO_ERROR, READ_ONLY, DEVICE), Cause.FAILED),
        ((IO_ERROR, SHUT_DOWN, DEVICE), Cause.FAILED),
        ((IO_ERROR, INODES), Cause.FAILED),
        ((IO_ERROR, EMPTY, SEVERAL), Cause.FAILED),
        ((NO_SPACE, INODES, NOTHING), Cause.FULL),
    ],
    ids=lambda value: " ".join(v.decided_by for v in value) if isinstance(value, tuple) else str(value),
)
def test_what_is_believed_does_not_depend_on_the_order_in_which_it_comes(evidence, cause):
    for order in permutations(evidence):
        assert reduce(causes.stronger, order, None).cause is cause, order


def test_the_stronger_step_is_named_and_takes_the_device_and_what_ran_out_from_the_other():
    for order in permutations((IO_ERROR, DEVICE)):
        found = reduce(causes.stronger, order, None)
        assert (found.decided_by, found.device, found.said) == ("broker_log", "sdd", "Input/output error")
    for order in permutations((NO_SPACE, INODES)):
        assert reduce(causes.stronger, order, None).full_by is FullBy.INODES


def test_of_two_that_know_no_cause_the_pattern_is_named():
    for order in permutations((NOTHING, SEVERAL, ALONE)):
        assert reduce(causes.stronger, order, None).decided_by == "several_at_once"


def test_of_one_step_the_first_word_holds():
    permission = Verdict(cause=Cause.PERMISSION, decided_by="broker_log")
    assert causes.stronger(LIMIT, permission) is LIMIT
    assert causes.stronger(permission, LIMIT) is permission


@pytest.mark.parametrize(
    ("verdicts", "cause"),
    [
        ((NOTHING,), Cause.UNKNOWN),
        ((LIMIT, LIMIT), Cause.LIMIT),
        ((LIMIT, SEVERAL, SEVERAL), Cause.LIMIT),
        ((DEVICE, SEVERAL), Cause.UNKNOWN),
        ((EMPTY, NO_SPACE), Cause.FULL),
        ((LIMIT, READ_ONLY), Cause.UNKNOWN),
        ((LIMIT, READ_ONLY, SEVERAL), Cause.UNKNOWN),
    ],
)
def test_several_have_a_cause_when_all_have_it_or_one_met_the_limit_of_their_process(verdicts, cause):
    assert causes.common(list(verdicts)) is cause
