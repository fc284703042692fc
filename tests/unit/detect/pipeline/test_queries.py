"""How the stream's own queries are judged: behind, unable to read, robbed of what they had not read."""

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.detect.alerts.lifecycle import RENEWED_AFTER_MS
from logdirwatch.detect.observations import in_order
from logdirwatch.detect.pipeline import queries as pipeline
from logdirwatch.detect.pipeline.queries import CODEC, PipelineMemory, QueryProgress, restored
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import AlertRecord, LostRange, PipelineRecord, RejectedRows

T0 = 1_700_000_000_000
STEP_MS = 10_000
MINUTE_MS = 60_000


def rejected(rows, topic="logdir.events", reason="not JSON"):
    return RejectedRows(topic=topic, reason=reason, rows=rows, example=f"{topic}/0/5")


def lost(rows, topic="logdir.metrics"):
    return LostRange(topic=topic, partition=1, from_offset=100, to_offset=100 + rows)


def fares(at_ms, query="store", **fields):
    given_fields = {"lag_ms": 0, "behind": {"logdir.metrics": 0}, "trigger_ms": 30_000} | fields
    return PipelineRecord(version=1, query=query, timestamp_ms=at_ms, **given_fields)


@dataclass
class Driver:
    """Shows the judgement what a stream says of itself, a record each ten seconds; memory goes through its codec."""

    settings: DetectSettings = field(default_factory=DetectSettings)
    memory: PipelineMemory = field(default_factory=PipelineMemory)
    at_ms: int = T0
    offset: int = -1
    alerts: list[AlertRecord] = field(default_factory=list)

    def tell(self, after_ms=STEP_MS, **fields):
        self.at_ms += after_ms
        return self.show(fares(self.at_ms, **fields))

    def show(self, record):
        self.offset += 1
        self.memory = CODEC.decode(1, CODEC.encode(self.memory))
        seen = QueryProgress(record, Origin("logdir.metrics", 0, self.offset, record.timestamp_ms))
        self.alerts += pipeline.take(self.memory, seen, self.settings)
        return self

    def said(self):
        return [
            (str(a.rule), str(a.status), str(a.severity) if a.status == "firing" else a.reason) for a in self.alerts
        ]


def test_a_query_that_is_behind_is_told_once_and_ends_when_it_was_caught_up_for_a_minute():
    driver = Driver().tell().tell(lag_ms=149_999).tell(lag_ms=160_000, behind={"logdir.metrics": 7, "logdir.state": 5})
    assert driver.said() == [("pipeline_lagging", "firing", "warning")]
    (alert,) = driver.alerts
    assert (alert.cluster, alert.broker, alert.log_dir) == ("*", None, None)
    assert (alert.evidence["query"], alert.evidence["lag_ms"], alert.evidence["behind_rows"]) == ("store", 130_000, 12)
    assert "query store is 2 min 10 s behind: 12 records wait; the tables are out of date" in alert.summary
    for _ in range(3):
        driver.tell(lag_ms=170_000)
    assert len(driver.alerts) == 1, "much the same is no news"
    driver.tell(lag_ms=400_000)
    assert len(driver.alerts) == 2
    for _ in range(6):
        driver.tell(lag_ms=1_000)
    assert len(driver.alerts) == 2
    driver.tell(lag_ms=1_000)
    assert driver.said()[-1] == ("pipeline_lagging", "resolved", "recovered")
    assert len({alert.alert_id for alert in driver.alerts}) == 1


def test_half_caught_up_is_not_caught_up():
    driver = Driver().tell(lag_ms=200_000)
    for _ in range(20):
        driver.tell(lag_ms=100_000)
    assert driver.said() == [("pipeline_lagging", "firing", "warning")]


@pytest.mark.parametrize(
    ("query", "severity"), [("detect", "critical"), ("fleet", "critical"), ("recommend", "warning")]
)
def test_it_is_loud_where_alerts_wait_for_it(query, severity):
    driver = Driver().tell(query=query, lag_ms=300_000)
    assert driver.said() == [("pipeline_lagging", "firing", severity)]
    assert ("can wait until morning: no" in driver.alerts[0].summary) is (severity == "critical")


def test_a_lag_that_nobody_knows_neither_opens_nor_ends_it():
    driver = Driver().tell(lag_ms=None, away_ms=999_999).tell(lag_ms=300_000)
    for _ in range(20):
        driver.tell(lag_ms=None)
    assert driver.said() == [("pipeline_lagging", "firing", "warning")]


def test_a_query_that_was_away_is_told_though_it_has_caught_up():
    driver = Driver().tell(query="detect", away_ms=10 * MINUTE_MS, read_rows=5_000)
    assert driver.said() == [("pipeline_lagging", "firing", "critical")]
    assert "was down, like the whole stream, for 10 min: 0 records are left" in driver.alerts[0].summary
    for _ in range(7):
        driver.tell(query="detect")
    assert driver.said()[-1] == ("pipeline_lagging", "resolved", "recovered")


def test_a_query_that_does_not_run_is_said_so():
    driver = Driver().tell(lag_ms=300_000, is_active=False, behind=None)
    assert "does not run, and has not for 4 min 30 s; the tables are out of date" in driver.alerts[0].summary


def test_each_query_has_alerts_of_its_own():
    driver = Driver().tell(query="store", lag_ms=300_000).tell(query="recommend", lag_ms=300_000).tell(query="store")
    assert len({alert.alert_id for alert in driver.alerts}) == 2
    for _ in range(10):
        driver.tell(query="store")
    assert [alert.evidence["query"] for alert in driver.alerts if alert.status == "resolved"] == ["store"]


def test_records_that_cannot_be_read_are_told_by_their_rate_with_reasons_and_places():
    driver = Driver().tell(rejected=[rejected(4)]).tell(rejected=[rejected(5)])
    assert driver.said() == []
    driver.tell(rejected=[rejected(1, reason="version 9"), rejected(2, topic="logdir.metrics")])
    assert driver.said() == [("pipeline_rejects", "firing", "warning")]
    evidence = driver.alerts[0].evidence
    assert evidence["rows"] == 12
    assert [(one["topic"], one["rows"], one["example"]) for one in evidence["reasons"]] == [
        ("logdir.metrics", 2, "logdir.metrics/0/5"),
        ("logdir.events", 1, "logdir.events/0/5"),
    ]
    assert "could not read 12 records within 5 min, most of logdir.metrics: not JSON" in driver.alerts[0].summary
    driver.tell(rejected=[rejected(3)])
    assert len(driver.alerts) == 1
    driver.tell(rejected=[rejected(30)])
    assert driver.alerts[-1].evidence["rows"] == 45
    driver.tell(after_ms=5 * MINUTE_MS)
    assert driver.said()[-1] == ("pipeline_rejects", "resolved", "recovered")


def test_a_trickle_below_the_limit_is_quiet():
    driver = Driver()
    for _ in range(60):
        driver.tell(after_ms=MINUTE_MS, rejected=[rejected(1)])
    assert driver.said() == []


def test_what_was_deleted_unread_adds_up_and_ends_when_nothing_more_is_lost_for_an_hour():
    driver = Driver().tell(query="detect", lost=[lost(50), lost(5, "logdir.events")])
    assert driver.said() == [("pipeline_data_loss", "firing", "critical")]
    assert driver.alerts[0].evidence["rows"] == 55
    assert driver.alerts[0].evidence["ranges"][0] == {
        "topic": "logdir.metrics",
        "partition": 1,
        "from_offset": 100,
        "to_offset": 150,
    }
    assert "lost up to 55 records of logdir.events, logdir.metrics" in driver.alerts[0].summary
    driver.tell(query="detect", lost=[lost(1)]).tell(query="detect", after_ms=60 * MINUTE_MS)
    assert driver.said()[-1][1] == "firing"
    driver.tell(query="detect", after_ms=MINUTE_MS)
    assert driver.said()[-1] == ("pipeline_data_loss", "resolved", "nothing more was lost")
    driver.tell(query="detect", lost=[lost(1)])
    assert driver.alerts[-1].evidence["rows"] == 1


@pytest.mark.parametrize(
    ("rows", "rows_told"),
    [
        ([55, 0, 0, 0, 0, 0, 0], [55]),
        ([55, 1, 0, 0, 0, 0, 0], [55, 56]),
        ([55, 55, 55, 0, 0, 0, 0], [55, 165]),
        ([55, 0, 0, 0, 0, 0, 1, 1], [55, 56]),
        ([1] * 13, [1, 7, 13]),
    ],
)
def test_each_loss_is_told_within_a_minute_with_its_ranges_and_at_most_once_a_minute(rows, rows_told):
    driver = Driver()
    for number, lost_rows in enumerate(rows):
        driver.tell(query="store", lost=[lost(lost_rows, f"topic-{number}")] if lost_rows else [])
    assert [alert.evidence["rows"] for alert in driver.alerts] == rows_told
    named = [one["topic"] for alert in driver.alerts for one in alert.evidence["ranges"]]
    lost_then = [f"topic-{number}" for number, lost_rows in enumerate(rows) if lost_rows]
    assert named == lost_then[: len(named)]
    assert len(lost_then) - len(named) == (rows[-1] if rows_told[-1] < sum(rows) else 0)


def test_a_record_that_is_not_newer_changes_nothing():
    driver = Driver().tell(lag_ms=300_000, rejected=[rejected(9)])
    before = CODEC.encode(driver.memory)
    driver.show(fares(driver.at_ms, rejected=[rejected(9)])).show(fares(driver.at_ms - 1, lost=[lost(1)]))
    assert CODEC.encode(driver.memory) == before
    assert len(driver.alerts) == 1


loads = st.fixed_dictionaries(
    {
        "query": st.sampled_from(["store", "detect"]),
        "lag_ms": st.sampled_from([None, 0, 80_000, 200_000, 900_000]),
        "away_ms": st.sampled_from([None, None, None, 500_000]),
        "rejected": st.sampled_from([[], [], [rejected(3)], [rejected(30)]]),
        "lost": st.sampled_from([[], [], [lost(7)]]),
        "after_ms": st.sampled_from([STEP_MS, STEP_MS, 2 * MINUTE_MS, 61 * MINUTE_MS]),
    }
)
histories = st.lists(loads, max_size=30)


def observations(history):
    shown, at_ms, offsets = [], T0, {}
    for what in history:
        at_ms += what["after_ms"]
        partition = 0 if what["query"] == "store" else 1
        offsets[partition] = offset = offsets.get(partition, -1) + 1
        record = fares(at_ms, **{name: value for name, value in what.items() if name != "after_ms"})
        shown.append(QueryProgress(record, Origin("logdir.metrics", partition, offset, at_ms)))
    return shown


def play(batches):
    memory, alerts = PipelineMemory(), []
    for batch in batches:
        memory = CODEC.decode(1, CODEC.encode(memory))
        for seen in in_order(batch):
            alerts += pipeline.take(memory, seen, DetectSettings())
    return memory, alerts


@given(histories)
def test_every_alert_is_resolved_once_or_open_and_remembered(history):
    memory, alerts = play([[seen] for seen in observations(history)])
    latest = {}
    for alert in alerts:
        before = latest.get(alert.alert_id)
        assert before is None or before.status == "firing"
        assert alert.revision == (1 if before is None else before.revision + 1)
        latest[alert.alert_id] = alert
    firing = [alert for alert in latest.values() if alert.status == "firing"]
    places = [(alert.rule, alert.evidence["query"]) for alert in firing]
    assert len(places) == len(set(places)), "one alert a query and rule"
    remembered = {alert.alert_id for query in memory.queries.values() for alert in query.alerts.values()}
    assert {alert.alert_id for alert in firing} == remembered


@given(histories, st.lists(st.integers(0, 30)), st.randoms(use_true_random=False))
def test_neither_cutting_into_batches_nor_repeats_change_anything(history, cuts, random):
    shown = observations(history)
    memory, alerts = play([[seen] for seen in shown])
    edges = sorted({0, len(shown), *(cut for cut in cuts if cut < len(shown))})
    cut_memory, cut_alerts = play([shown[start:end] for start, end in itertools.pairwise(edges)])
    assert (CODEC.encode(cut_memory), cut_alerts) == (CODEC.encode(memory), alerts)
    for seen in in_order(random.sample(shown, k=random.randint(0, len(shown)))):
        assert pipeline.take(memory, seen, DetectSettings()) == []
    assert CODEC.encode(memory) == CODEC.encode(cut_memory)


@given(histories)
def test_a_memory_made_good_from_the_alerts_goes_on_with_what_is_open_and_fires_nothing_twice(history):
    shown = observations(history)
    memory, alerts = play([[seen] for seen in shown])
    latest = {alert.alert_id: alert for alert in alerts}
    again = restored(latest.values())
    open_ids = {alert.alert_id for query in memory.queries.values() for alert in query.alerts.values()}
    assert {alert.alert_id for query in again.queries.values() for alert in query.alerts.values()} == open_ids
    told = {(alert.alert_id, alert.revision) for alert in alerts}
    for seen in shown:
        for alert in pipeline.take(again, seen, DetectSettings()):
            assert (alert.alert_id, alert.revision) not in told


def test_tables_that_are_wrong_are_told_until_they_are_right():
    driver = Driver().tell(query="validate", lag_ms=None, behind=None, quality={})
    assert driver.said() == []
    wrong = {"alerts": ["every open alert has an action"], "actions": ["one", "two"]}
    driver.tell(query="validate", quality=wrong).tell(query="validate", quality=wrong)
    assert driver.said() == [("data_quality", "firing", "warning")]
    assert driver.alerts[0].evidence == {"query": "validate", "failed": wrong}
    assert "3 expectations are not met in actions, alerts, such as of actions: one" in driver.alerts[0].summary
    driver.tell(query="validate", quality={"alerts": ["another"]}).tell(query="validate")
    assert len(driver.alerts) == 2, "others are news, and a record that tells of nothing is none"
    driver.tell(query="validate", quality={})
    assert driver.said()[-1] == ("data_quality", "resolved", "recovered")
    assert len({alert.alert_id for alert in driver.alerts}) == 1


def test_an_alert_that_fires_on_unchanged_is_written_anew_each_week():
    driver = Driver().tell(quality={"alerts": ["no gaps"]})
    driver.tell(RENEWED_AFTER_MS - 1)
    assert len(driver.alerts) == 1
    driver.tell(1)
    assert [(a.revision, a.status, a.at_ms) for a in driver.alerts[1:]] == [(2, "firing", driver.at_ms)]
    assert restored(driver.alerts[-1:]).queries["store"].alerts["data_quality"].said_ms == driver.at_ms
