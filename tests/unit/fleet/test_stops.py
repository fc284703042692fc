"""An execution that stopped is an alert until it has ended; that nothing is written any more is what opens one."""

import pytest
from msgspec.structs import replace

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.executions import ABANDONED_MS, BEAT_MS
from logdirwatch.fleet import machine, stops
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.memory import FleetMemory, decode, encode, restored
from logdirwatch.fleet.stops import Written
from logdirwatch.model.identity import Origin
from logdirwatch.model.records.executions import OwnLimit
from logdirwatch.model.vocabulary import ExecutionState, Rule, Severity
from tests.unit.autopilot.world import execution, move
from tests.unit.fleet.builders import IMPATIENT, T0

LIMIT = OwnLimit("brokers", "1", "k", "5")
COPIES = execution(move(), state=ExecutionState.COPYING, execution_id="1", limits=[LIMIT], at_ms=T0)
CLEAN = replace(COPIES, state=ExecutionState.STUCK, reason="t-0 was moved", limits=[])
STUCK = replace(CLEAN, limits=[LIMIT])
DONE = replace(COPIES, state=ExecutionState.DONE, limits=[])
UNDO = replace(COPIES, back=True, execution_id="2")
UNDONE = replace(UNDO, state=ExecutionState.DONE, limits=[])
RELEASED = replace(STUCK, state=ExecutionState.RELEASED, reason="released by ann: done by hand")


class Driver:
    """One cluster's executions, batch by batch; its memory goes through its codec each time."""

    def __init__(self):
        self.memory, self.now_ms, self.offset, self.alerts = FleetMemory(cluster="c"), T0, -1, []

    def reads(self, *records, after_ms=0):
        self.now_ms += after_ms
        batch = [Written(record, self._origin()) for record in records]
        return self._with(lambda context: stops.take(context, batch, self.now_ms))

    def waits(self, ms):
        self.now_ms += ms
        deadline_ms = machine.next_deadline_ms(self.memory, IMPATIENT)
        is_due = deadline_ms is not None and deadline_ms <= self.now_ms
        return self._with(lambda context: machine.tick(context, self.now_ms)) if is_due else []

    def _origin(self):
        self.offset += 1
        return Origin("logdir.executions", 0, self.offset, T0)

    def _with(self, step):
        context = ClusterContext(decode(1, encode(self.memory)), IMPATIENT, DetectSettings())
        step(context)
        self.memory = context.memory
        self.alerts += context.alerts.records
        return [(str(one.status), one.to_status, one.reason) for one in context.alerts.records]


FIRES = ("firing", "stuck", None)


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ([[COPIES], [DONE]], [[], []]),
        ([[COPIES, STUCK], [replace(COPIES, by="ann")], [DONE]],
         [[FIRES], [("firing", "resumed", None)], [("resolved", "done", "carried out")]]),
        ([[STUCK], [UNDO], [UNDONE]], [[FIRES], [("firing", "resumed", None)], [("resolved", "done", "undone")]]),
        ([[STUCK], [UNDO, UNDONE]], [[FIRES], [("resolved", "done", "undone")]]),
        ([[STUCK], [RELEASED]], [[FIRES], [("resolved", "released", "released by ann: done by hand")]]),
        ([[STUCK, RELEASED]], [[]]),
        ([[STUCK], [STUCK]], [[FIRES], []]),
        ([[STUCK], [replace(DONE, action_id="other", execution_id="3")]], [[FIRES], []]),
    ],
    ids=["done", "resumed", "undone", "undone at once", "released", "in one batch", "again", "another one"],
)  # fmt: skip
def test_a_stop_is_an_alert_until_it_has_ended(batches, said):
    driver = Driver()
    assert [driver.reads(*batch) for batch in batches] == said
    assert len({alert.alert_id for alert in driver.alerts}) <= 1
    assert [alert.revision for alert in driver.alerts] == list(range(1, len(driver.alerts) + 1))


def test_silence_opens_an_alert_and_never_ends_one():
    driver = Driver()
    driver.reads(COPIES)
    assert driver.waits(ABANDONED_MS - 1) == []
    assert driver.waits(1) == [("firing", "abandoned", None)]
    assert driver.waits(100 * ABANDONED_MS) == []
    assert driver.reads(COPIES) == [("firing", "resumed", None)]
    assert driver.waits(ABANDONED_MS) == [("firing", "abandoned", None)]
    assert driver.reads(STUCK) == [FIRES]
    assert driver.waits(100 * ABANDONED_MS) == []


def test_a_process_that_writes_now_and_then_is_not_taken_for_dead():
    driver = Driver()
    said = [driver.reads(COPIES, after_ms=BEAT_MS) + driver.waits(BEAT_MS) for _ in range(9)]
    assert said == [[]] * 9
    driver.now_ms -= 100 * ABANDONED_MS
    driver.reads(replace(COPIES, action_id="other", execution_id="3"))
    assert driver.waits(ABANDONED_MS) == [("firing", "abandoned", None)] * 2, "the clock was set back"


@pytest.mark.parametrize(
    ("record", "severity", "waits"),
    [
        (STUCK, Severity.CRITICAL, "no, because copies of it may run without being monitored"),
        (CLEAN, Severity.WARNING, "yes, because nothing of it runs"),
    ],
)
def test_the_summary_says_why_and_how_to_go_on(record, severity, waits):
    driver = Driver()
    driver.reads(record)
    (alert,) = driver.alerts
    name = record.action_id[:8]
    assert (alert.rule, alert.severity, alert.broker) == (Rule.EXECUTION_STOPPED, severity, None)
    assert "is stuck, and nothing else begins there: t-0 was moved; go on with it or end it: " in alert.summary
    assert f"logdirwatch apply --resume or --undo or --release {name}" in alert.summary
    assert f"can wait until morning: {waits}" in alert.summary
    assert alert.evidence.commands[0] == f"logdirwatch apply --resume {record.action_id}"
    assert alert.evidence.throttles == (["brokers 1: k=5"] if record.limits else [])


def test_without_its_checkpoint_it_continues_with_what_fires():
    driver = Driver()
    driver.reads(STUCK)
    (driver.memory,) = restored(driver.alerts)
    assert driver.memory.judged_until_ms == 0
    assert driver.reads(COPIES, STUCK) == [FIRES], "its figures are known only now"
    assert [(one.alert_id, one.revision) for one in driver.alerts] == [(driver.alerts[0].alert_id, n) for n in (1, 2)]
    assert driver.reads(UNDONE) == [("resolved", "done", "undone")]
