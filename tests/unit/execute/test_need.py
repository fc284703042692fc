"""History is deleted only while an alert fires, by samples that pass now."""

import pytest
from msgspec.structs import replace

from logdirwatch.detect.pipeline.heartbeats import HeartbeatMemory, answer
from logdirwatch.execute.need import FACTS_MAX_AGE_MS, Shown, deletes_history, is_cut, passed_ms
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.model.records import HeartbeatRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.plan.commands import operations
from tests.unit.execute.test_run import CUT, MOVE, World
from tests.unit.plan.builders import NOW_MS, space_alert

FIRES = space_alert()
OVER = replace(FIRES, status=AlertStatus.RESOLVED, reason="there is room")
MERGED = replace(OVER, merged_into="other")


@pytest.mark.parametrize(
    ("alerts", "passed", "why"),
    [
        ([FIRES], NOW_MS, None),
        ([FIRES], NOW_MS - FACTS_MAX_AGE_MS, None),
        ([FIRES], NOW_MS + FACTS_MAX_AGE_MS, None),
        ([MERGED, replace(FIRES, alert_id="other")], NOW_MS, None),
        ([], NOW_MS, f"alert {FIRES.alert_id} is not on the topic"),
        ([OVER], NOW_MS, "its alert is over (there is room)"),
        ([replace(OVER, reason=None)], NOW_MS, "its alert is over (no reason)"),
        ([MERGED, replace(OVER, alert_id="other")], NOW_MS, "its alert is over (there is room)"),
        ([MERGED], NOW_MS, f"alert {FIRES.alert_id} is not on the topic"),
        ([replace(FIRES, stale_since_ms=NOW_MS)], NOW_MS, "what its alert is about is not monitored now"),
        ([FIRES], None, "no heartbeat tells that samples of c pass the stream"),
        ([FIRES], NOW_MS - FACTS_MAX_AGE_MS - 1, "the last sample of c passed the stream 5 min ago"),
        ([FIRES], NOW_MS + 3_600_000, "the last sample of c passed the stream 1 h ahead: clocks differ"),
    ],
)
def test_a_need_is_shown_by_an_alert_that_fires_and_samples_that_pass(alerts, passed, why):
    shown = Shown({one.alert_id: one for one in alerts}, {} if passed is None else {"c": passed})
    found = shown.reason_against(FIRES.alert_id, "c", NOW_MS)
    assert found == (None if why is None else f"nothing shows that room is needed: {why}")


@pytest.mark.parametrize(
    ("overdue_ms", "kafka_ms", "passed"),
    [
        (0, NOW_MS, NOW_MS),
        (60_000, NOW_MS, NOW_MS - 60_000),
        (0, NOW_MS + 3_600_000, NOW_MS),
        (0, NOW_MS - 3_600_000, NOW_MS - 3_600_000),
        (None, NOW_MS, None),
    ],
    ids=["samples pass", "a sample is overdue", "the stream lags", "the stream's clock is behind", "an older release"],
)
def test_a_heartbeat_alone_does_not_show_that_samples_pass(overdue_ms, kafka_ms, passed):
    beat = HeartbeatRecord(
        version=1,
        cluster="c",
        collector="a",
        timestamp_ms=NOW_MS,
        interval_ms=10_000,
        samples_overdue_ms=overdue_ms,
    )
    (sign,) = answer(HeartbeatMemory(), [beat])
    assert passed_ms(sign, kafka_ms) == passed
    assert passed_ms(FIRES, kafka_ms) is None


def limit(value, *before, key="retention.ms", entity="topics"):
    return SetConfig(entity, "t", key, value, before)


@pytest.mark.parametrize(
    ("step", "cuts"),
    [
        (limit("5", "9"), True),
        (limit("5", "9", None), True),
        (limit("5", None), True),
        (limit("5", "-1"), True),
        (limit("+5", "9"), True),
        (limit("0", "9"), True),
        (limit("5", "no number"), True),
        (limit("compact", "delete", key="cleanup.policy"), True),
        (limit("9", "5"), False),
        (limit("9", "9"), False),
        (limit("-1", "5"), False),
        (limit(None, "5"), False),
        (limit("5", "9", key="local.retention.ms"), False),
        (limit("0:1", None, key="leader.replication.throttled.replicas"), False),
        (limit("/a", None, key="cordoned.log.dirs", entity="brokers"), False),
    ],
)
def test_a_cut_is_what_may_keep_less_than_any_of_the_values_it_replaces(step, cuts):
    assert is_cut(step) is cuts


def test_only_the_steps_that_are_left_count():
    record = World(CUT, MOVE).record
    assert deletes_history(record)
    assert not deletes_history(replace(record, step=1))
    restores = operations.topic_config("t", "retention.ms", "9", now="5", old="5")
    back = replace(World(restores).record, back=True, changed={"topics t retention.ms": ""})
    assert [deletes_history(one) for one in (replace(back, back=False), back)] == [False, True]
