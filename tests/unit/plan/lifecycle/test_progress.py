"""How what gives a directory room is seen to be done: by bytes, by configuration, by what is gone."""

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.lifecycle.progress import progress
from tests.unit.plan.builders import MIB, action, broker, directory, facts, replica, topic

WITH_TOPIC = {"broker": 1, "log_dir": "/d1", "topic": "t"}
BASE = (directory(1, "/d1"), topic("t", (1,)))


def seen(an_action, *parts):
    found = progress(an_action, facts(*parts))
    return None if found is None else found.is_done


def made(kind, target=None, configs=None, **expected):
    return action(kind, target=target, configs=configs, expected={"frees_bytes": None, "on": [], **expected})


def test_deleted_records_are_seen_by_half_of_the_bytes():
    asked = made(ActionKind.DELETE_RECORDS, WITH_TOPIC, frees_bytes=100 * MIB, topic_bytes_before=400 * MIB)
    assert seen(asked, *BASE, replica(1, "/d1", "t", size=400 * MIB)) is False
    assert seen(asked, *BASE, replica(1, "/d1", "t", size=350 * MIB)) is True


def test_a_deleted_topic_is_gone():
    asked = made(ActionKind.DELETE_TOPIC_CANDIDATE, WITH_TOPIC)
    assert seen(asked, *BASE) is False
    assert seen(asked, topic("u", (1,))) is True
    assert seen(asked, directory(1, "/d1")) is None, "without any topic nothing is known"


def test_a_new_directory_is_seen():
    asked = made(ActionKind.ADD_LOG_DIR, log_dirs_before=["/d1"])
    assert seen(asked, *BASE) is False
    assert seen(asked, *BASE, directory(1, "/d2")) is True


@pytest.mark.parametrize(("cordoned", "done"), [(True, True), (False, False), (None, None)])
def test_a_cordon_is_seen_where_the_broker_tells_it(cordoned, done):
    asked = made(ActionKind.CORDON_LOG_DIR, is_cordoned=True)
    assert seen(asked, directory(1, "/d1", is_cordoned=cordoned)) is done


@pytest.mark.parametrize(("now", "done"), [(50, False), (15, False), (10, True), (None, None)])
def test_a_released_reserve_is_seen_by_the_bytes_that_nobody_explains(now, done):
    asked = made(ActionKind.RELEASE_RESERVE, frees_bytes=40 * MIB, unaccounted_bytes_before=50 * MIB)
    unaccounted = None if now is None else now * MIB
    assert seen(asked, directory(1, "/d1", unaccounted_bytes=unaccounted)) is done


def test_cancelled_copies_are_counted_one_by_one():
    copies = [{"topic": "t", "partition": n, "broker": 1, "log_dir": "/d2"} for n in (0, 1)]
    asked = made(ActionKind.CANCEL_MOVES, copies=copies)
    parts = [directory(1, "/d1"), directory(1, "/d2"), topic("t", (1,), (1,))]
    running = [replica(1, "/d2", "t", n, is_future=True) for n in (0, 1)]
    assert not progress(asked, facts(*parts, *running)).is_running
    half = progress(asked, facts(*parts, running[0]))
    assert (half.reached, half.of, half.is_done) == (1, 2, False)
    assert seen(asked, *parts) is True


def test_a_restored_limit_is_the_one_of_before():
    limits = {"t": {"retention.bytes": {"from": "10", "to": "-1"}}}
    asked = made(ActionKind.RESTORE_RETENTION, {**WITH_TOPIC, "after": "x"}, limits)
    assert seen(asked, topic("t", (1,), configs={"retention.bytes": "10"})) is False
    assert seen(asked, topic("t", (1,))) is True
    assert seen(asked, topic("u", (1,))) is None


def test_what_clients_are_told_is_not_seen():
    assert seen(made(ActionKind.THROTTLE_PRODUCERS), *BASE) is None
    assert seen(made(ActionKind.CLEAR_THROTTLES, {**WITH_TOPIC, "after": "x"}), broker(1)) is None
