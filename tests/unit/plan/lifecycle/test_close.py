"""The end of an alert ends its open actions: done where that shows, else withdrawn, or awaited."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus
from logdirwatch.plan.lifecycle.transitions import close, progress
from tests.unit.plan.builders import MIB, NOW_MS, action, alert, broker, directory, facts, policy, replica, topic

POLICY = policy(inventory_delay_ms=30_000)
SETTLING_MS = 90_000
CORDON = {"is_cordoned": True}


def ended(to="online", *, log_dir="/d1", **fields):
    return alert(status=AlertStatus.RESOLVED, to=to, log_dir=log_dir, **fields)


def closed(one, about, *parts, now_ms=NOW_MS, inventory_at_ms=NOW_MS + 1, seen=True):
    snapshot = facts(*(parts or [directory(1)]), inventory_at_ms=inventory_at_ms) if seen else None
    return [(str(a.status), a.status_reason) for a in close([one], about, snapshot, POLICY, now_ms)]


def cordon(status=ActionStatus.ACCEPTED, **fields):
    return action(ActionKind.CORDON_LOG_DIR, status=status, expected=CORDON, **fields)


@pytest.mark.parametrize("status", list(ActionStatus))
def test_only_what_is_open_is_closed(status):
    is_open = status in {ActionStatus.PROPOSED, ActionStatus.ACCEPTED, ActionStatus.RUNNING}
    assert bool(closed(action(status=status), None)) is is_open


def test_what_is_seen_done_is_done_even_where_the_alert_is_gone():
    done = directory(1, is_cordoned=True)
    assert closed(cordon(), ended(), done) == [("done", "all of its target is seen")]
    assert closed(cordon(), None, done) == [("done", "all of its target is seen")]


def test_how_long_it_took_is_told():
    (one,) = close(
        [cordon(observed={"started_at_ms": NOW_MS - 5})], None, facts(directory(1, is_cordoned=True)), POLICY, NOW_MS
    )
    assert (one.observed["took_ms"], one.at_ms, one.revision) == (5, NOW_MS, 2)


def test_without_its_alert_it_is_withdrawn():
    assert closed(action(), None, seen=False) == [("withdrawn", "its alert is gone")]
    assert closed(cordon(), None) == [("withdrawn", "its alert is gone")]


class TestTheAlertSaysThatItIsBack:
    @pytest.mark.parametrize(
        ("to", "log_dir", "found"),
        [
            ("online", "/d1", ("done", "the directory serves again")),
            ("filling", "/d1", ("done", "the directory serves again")),
            ("degraded", None, ("done", "the broker answers again")),
            ("unknown", "/d1", ("withdrawn", "its alert is resolved: no reason given")),
            (None, "/d1", ("withdrawn", "its alert is resolved: no reason given")),
        ],
    )
    def test_a_restart_is_proved_by_that(self, to, log_dir, found):
        restart = action(ActionKind.RESTART_BROKER, target={"broker": 1, "log_dir": None})
        about = ended(to, log_dir=log_dir)
        assert closed(restart, about, seen=False) == [found]
        (one,) = close([restart], about, None, POLICY, NOW_MS)
        assert one.observed == ({"status": to, "at_ms": about.at_ms} if found[0] == "done" else None)

    def test_another_kind_is_not(self):
        assert closed(action(ActionKind.INVESTIGATE), ended(reason="mended")) == [
            ("withdrawn", "its alert is resolved: mended")
        ]


class TestWhatTheNextInventoryMayShow:
    @pytest.mark.parametrize(
        ("inventory_at_ms", "waited_ms", "is_closed"),
        [
            (NOW_MS, 0, False),
            (NOW_MS, SETTLING_MS - 1, False),
            (NOW_MS, SETTLING_MS, True),
            (None, 0, False),
            (NOW_MS + 1, 0, True),
        ],
    )
    def test_it_is_waited_for_one_that_is_later_than_the_end(self, inventory_at_ms, waited_ms, is_closed):
        place = directory(1, is_cordoned=False)
        found = closed(cordon(), ended(), place, now_ms=NOW_MS + waited_ms, inventory_at_ms=inventory_at_ms)
        assert found == ([("withdrawn", "its alert is resolved: no reason given")] if is_closed else [])

    def test_what_no_inventory_shows_is_not_waited_for(self):
        assert closed(action(ActionKind.INVESTIGATE), ended(), inventory_at_ms=NOW_MS)[0][0] == "withdrawn"
        assert closed(cordon(), ended(), seen=False)[0][0] == "withdrawn"


class TestWhatIsBeingCarriedOut:
    """Its own first copies may have ended the alert."""

    def running(self, **expected):
        target = {"is_cordoned": True, **expected}
        return action(
            ActionKind.CORDON_LOG_DIR, status=ActionStatus.RUNNING, expected=target, observed={"started_at_ms": NOW_MS}
        )

    @pytest.mark.parametrize("seen", [True, False], ids=["seen", "not seen"])
    def test_it_goes_on_as_long_as_it_said(self, seen):
        about, place = ended(), directory(1, is_cordoned=False)
        ends_ms = NOW_MS + 600_000 + SETTLING_MS
        one = self.running(needs_ms=600_000)
        assert closed(one, about, place, now_ms=ends_ms, seen=seen) == []
        assert len(closed(one, about, place, now_ms=ends_ms + 1, seen=seen)) == 1

    def test_too_long_is_failed_with_what_was_observed(self):
        (one,) = close([self.running()], ended(), facts(directory(1, is_cordoned=False)), POLICY, NOW_MS + 10**9)
        assert (str(one.status), one.status_reason) == ("failed", "not all of its target is seen in time")
        assert one.observed["started_at_ms"] == NOW_MS

    def test_without_facts_it_is_withdrawn_at_its_end(self):
        assert closed(self.running(), ended(), now_ms=NOW_MS + 10**9, seen=False)[0][0] == "withdrawn"

    def test_a_restart_is_proved_by_its_alert_at_once(self):
        restart = action(
            ActionKind.RESTART_BROKER,
            status=ActionStatus.RUNNING,
            target={"broker": 1, "log_dir": None},
            observed={"started_at_ms": NOW_MS},
        )
        assert closed(restart, ended(to="degraded", log_dir=None), seen=False)[0][0] == "done"


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


def test_a_new_directory_is_seen():
    asked = made(ActionKind.ADD_LOG_DIR, log_dirs_before=["/d1"])
    assert seen(asked, *BASE) is False
    assert seen(asked, *BASE, directory(1, "/d2")) is True


@pytest.mark.parametrize(("cordoned", "done"), [(True, True), (False, False), (None, None)])
def test_a_cordon_is_seen_where_the_broker_tells_it(cordoned, done):
    asked = made(ActionKind.CORDON_LOG_DIR, is_cordoned=True)
    assert seen(asked, directory(1, "/d1", is_cordoned=cordoned)) is done


def test_what_clients_are_told_is_not_seen():
    assert seen(made(ActionKind.THROTTLE_PRODUCERS), *BASE) is None
    assert seen(made(ActionKind.CLEAR_THROTTLES, {**WITH_TOPIC, "after": "x"}), broker(1)) is None
