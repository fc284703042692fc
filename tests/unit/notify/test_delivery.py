"""Who may be sent to, what became of it, and when it is tried again."""

import threading

import pytest
from structlog.testing import capture_logs

from logdirwatch.notify.groups import Member, Message, Reason
from logdirwatch.notify.health import Health
from logdirwatch.notify.routing import GroupKey
from logdirwatch.notify.senders import SendError
from logdirwatch.notify.sending import Delivery, Sending
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.world import settings
from tests.unit.report.builders import NOW_MS, alert

MAX_MS = 4_000


class Sender:
    """Fails with the next error, if there is one; waits while it is held."""

    tells_resolved, keeps_alive = True, False

    def __init__(self, *errors):
        self.errors, self.sent = list(errors), []
        self.may_go = threading.Event()
        self.may_go.set()

    def send(self, message):
        self.may_go.wait(DEADLINE_S)
        self.sent.append(message)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error


def message(receiver="ops", number=0):
    return Message(GroupKey(receiver, "all"), Reason.FIRST, NOW_MS + number, (), (), {})


def delivery(**senders):
    return Delivery(senders, MAX_MS)


def ended(made, now_ms=NOW_MS):
    return wait_until(lambda: list(made.finished(now_ms)), DEADLINE_S, "the message to be sent or to fail")


def test_a_receiver_is_busy_while_a_message_is_in_flight_and_others_are_not():
    slow, quick = Sender(), Sender()
    slow.may_go.clear()
    made = delivery(ops=slow, chat=quick)
    assert made.busy(NOW_MS) == set()
    made.start(message("ops"))
    made.start(message("chat"))
    assert ended(made) == [(message("chat"), True)]
    assert made.busy(NOW_MS) == {"ops"}
    assert list(made.finished(NOW_MS)) == []
    slow.may_go.set()
    assert ended(made) == [(message("ops"), True)]
    assert made.busy(NOW_MS) == set()
    assert list(made.finished(NOW_MS)) == [], "each is told once"
    made.stop(DEADLINE_S)


def test_what_failed_is_tried_again_after_pauses_that_double_up_to_the_maximum():
    made = delivery(ops=Sender(*[SendError("HTTP 500")] * 5))
    at_ms = NOW_MS
    for pause_ms in (500, 1_000, 2_000, MAX_MS, MAX_MS):
        made.start(message())
        assert ended(made, at_ms) == [(message(), False)]
        assert [made.busy(at_ms + after_ms) for after_ms in (0, pause_ms - 1, pause_ms)] == [{"ops"}, {"ops"}, set()]
        at_ms += pause_ms
    made.start(message())
    assert ended(made, at_ms) == [(message(), True)]
    assert made.busy(at_ms) == set()
    made.stop(DEADLINE_S)


def test_after_a_delivery_the_first_pause_is_short_again():
    made = delivery(ops=Sender(SendError("a"), SendError("b"), None, SendError("c")))
    for _ in range(4):
        made.start(message())
        ended(made, NOW_MS)
    assert [made.busy(NOW_MS + after_ms) for after_ms in (499, 500)] == [{"ops"}, set()]
    made.stop(DEADLINE_S)


@pytest.mark.parametrize(
    ("error", "said"), [(SendError("HTTP 503"), "HTTP 503"), (ValueError("a secret"), "ValueError")]
)
def test_one_line_says_that_a_receiver_is_away_and_one_that_it_is_back(error, said):
    made = delivery(ops=Sender(error, error, None))
    with capture_logs() as lines:
        for _ in range(3):
            made.start(message())
            ended(made)
    made.stop(DEADLINE_S)
    told = [{key: line.get(key) for key in ("event", "log_level", "receiver", "error", "attempts")} for line in lines]
    assert told == [
        {"event": "notify.receiver.failed", "log_level": "warning", "receiver": "ops", "error": said, "attempts": None},
        {"event": "notify.receiver.recovered", "log_level": "warning", "receiver": "ops", "error": None, "attempts": 3},
    ]


def test_a_stop_waits_for_what_is_in_flight():
    sender = Sender()
    sender.may_go.clear()
    made = delivery(ops=sender, idle=Sender())
    made.start(message())
    threading.Timer(0.05, sender.may_go.set).start()
    made.stop(DEADLINE_S)
    assert list(made.finished(NOW_MS)) == [(message(), True)]


def test_a_stop_does_not_wait_for_a_receiver_that_hangs():
    sender = Sender()
    sender.may_go.clear()
    made = delivery(ops=sender)
    made.start(message())
    made.stop(0.01)
    assert list(made.finished(NOW_MS)) == []
    sender.may_go.set()


def test_what_is_sent_while_it_stops_is_kept():
    sender, kept = Sender(), []
    sender.may_go.clear()
    made = Sending(settings(group_wait_ms=0), {"ops": {"ops": sender}}, lambda _, record: kept.append(record), Health())
    made.tick(lambda _: [alert()], Member, NOW_MS, lambda _: True)
    begun = len(kept)
    sender.may_go.set()
    made.stop(NOW_MS)
    assert [len(sender.sent), len(kept) - begun] == [1, 1]
