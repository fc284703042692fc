"""Planned absence of a broker: while it runs, its alert is a note."""

from logdirwatch.config.section import DAY_MS
from logdirwatch.detect import machine, state_view
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, decode, encode
from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import POLL_MS, T0, Driver, away_for, fenced, log_dir, maintenance, timeout

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
IMPATIENT = DetectSettings(broker_offline_grace_ms=0)
LEADERLESS = PartitionHealth(leaderless=3)


class TestMaintenance:
    def test_a_broker_that_is_away_as_planned_is_a_note(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5).plan(HOUR_MS), MINUTE_MS, partitions=LEADERLESS)
        assert driver.said() == [("broker_offline", "firing", "info")]
        (note,) = driver.alerts
        assert "can wait until morning: yes, because it is planned: maintenance until 2023-11-14" in note.summary
        assert "by ada (new disk)" in note.summary
        assert note.evidence["maintenance"] == {
            "until_ms": T0 + POLL_MS + 1 + HOUR_MS,
            "by": "ada",
            "reason": "new disk",
        }

    def test_the_state_goes_on_telling_the_truth(self):
        driver = away_for(Driver().polls(0.5).plan(HOUR_MS), MINUTE_MS)
        record = state_view.state_record(driver.memory, [])
        assert (record.status, driver.status()) == ("offline", "unknown")
        assert record.reason.startswith("fenced by the controller; maintenance until 2023-11-14 23:13:25Z by ada")
        assert record.maintenance_until_ms == driver.memory.maintenance.until_ms
        assert (record.maintenance_by, record.maintenance_reason) == ("ada", "new disk")

    def test_one_that_is_unknown_is_a_note_too(self):
        driver = Driver().polls(0.5).plan(HOUR_MS)
        for _ in range(5):
            timeout(driver)
        assert driver.said() == [("broker_unknown", "firing", "info")]

    def test_one_that_is_still_away_when_the_time_is_over_is_an_alert_then(self):
        driver = away_for(Driver().polls(0.5).plan(10 * MINUTE_MS), 11 * MINUTE_MS, partitions=LEADERLESS)
        assert driver.said() == [("broker_offline", "firing", "info"), ("broker_offline", "firing", "page")]
        assert driver.alerts[1].at_ms - driver.memory.maintenance.until_ms < POLL_MS
        assert "maintenance" not in driver.alerts[1].evidence
        assert {alert.alert_id for alert in driver.alerts} == {driver.alerts[0].alert_id}

    def test_one_that_left_shortly_before_the_end_still_has_its_grace(self):
        driver = Driver().polls(0.5).plan(10 * MINUTE_MS)
        driver.at_ms += 9 * MINUTE_MS
        away_for(driver.polls(0.5), 4 * MINUTE_MS)
        assert driver.alerts == []
        away_for(driver, 2 * MINUTE_MS)
        assert driver.said() == [("broker_offline", "firing", "critical")]

    def test_one_that_is_back_resolves_the_note(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5).plan(HOUR_MS), MINUTE_MS).polls(0.5)
        assert driver.said()[-1] == ("broker_offline", "resolved", "recovered")
        driver.at_ms += 2 * HOUR_MS
        assert driver.polls(0.5).open_alerts() == []

    def test_an_alert_that_fires_already_gets_quiet_and_is_not_resolved(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5), MINUTE_MS).plan(HOUR_MS)
        assert driver.said() == [("broker_offline", "firing", "critical"), ("broker_offline", "firing", "info")]

    def test_its_end_before_the_time_makes_the_alert_loud_at_once(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5).plan(HOUR_MS), MINUTE_MS).plan(0)
        assert driver.said() == [("broker_offline", "firing", "info"), ("broker_offline", "firing", "critical")]
        assert state_view.state_record(driver.memory, []).maintenance_until_ms is None

    def test_a_longer_one_is_news_of_the_note(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5).plan(HOUR_MS), MINUTE_MS).plan(2 * HOUR_MS)
        assert [alert.evidence["maintenance"]["until_ms"] for alert in driver.alerts] == [
            T0 + POLL_MS + 1 + HOUR_MS,
            driver.at_ms + 2 * HOUR_MS,
        ]

    def test_a_disk_that_fails_meanwhile_is_told_as_ever(self):
        driver = Driver().poll(log_dir("/d1"), log_dir("/d2")).plan(HOUR_MS)
        driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56), partitions=LEADERLESS)
        assert driver.said() == [("log_dir_offline", "firing", "page")]
        assert driver.cause("/d2") == "unknown"

    def test_a_directory_that_does_not_come_back_with_its_broker_is_told(self):
        driver = away_for(Driver().poll(log_dir("/d1"), log_dir("/d2")).plan(HOUR_MS), MINUTE_MS)
        driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56))
        assert driver.said() == [("log_dir_offline", "firing", "critical")]

    def test_an_event_of_a_failure_is_told_as_ever(self):
        driver = Driver().polls(0.5).plan(HOUR_MS)
        driver.event(log_dir="/d1", cause="failed", detail="I/O error")
        assert driver.said() == [("log_dir_offline", "firing", "critical")]

    def test_an_alert_that_is_only_held_open_for_flapping_is_not_told_again(self):
        driver = Driver(settings=IMPATIENT).polls(0.5)
        for _ in range(3):
            fenced(driver).polls(0.5)
        assert "broker_offline" in [alert.rule for alert in driver.open_alerts()]
        before = len(driver.alerts)
        driver.plan(HOUR_MS).plan(0)
        assert len(driver.alerts) == before
        assert driver.memory.alerts["broker_offline"].calm_since_ms is not None

    def test_one_that_was_held_open_is_a_note_when_the_broker_leaves_as_planned(self):
        driver = Driver().polls(0.5)
        for _ in range(3):
            timeout(timeout(timeout(driver))).polls(0.5)
        driver.plan(HOUR_MS)
        fenced(driver)
        (held,) = driver.open_alerts()
        assert (held.rule, held.severity) == ("broker_unknown", "info")

    def test_it_says_nothing_of_the_brokers_health_and_is_no_sign_of_life(self):
        driver = Driver().polls(0.5)
        heard_ms = driver.memory.heard_ms
        driver.plan(HOUR_MS, after_ms=20_000)
        assert driver.memory.heard_ms == heard_ms
        assert (driver.memory.newest_ms, driver.memory.status) == (T0 + POLL_MS, "online")


class TestItsTime:
    def test_it_is_bounded(self):
        driver = Driver().polls(0.5).plan(30 * DAY_MS)
        assert driver.memory.maintenance.until_ms == driver.at_ms + 7 * DAY_MS

    def test_one_without_an_end_ends_with_the_bound(self):
        driver = Driver().polls(0.5)
        record = maintenance(driver.at_ms, 0)
        driver.show(type(record)(**{**{f: getattr(record, f) for f in record.__struct_fields__}, "until_ms": None}))
        assert driver.memory.maintenance.until_ms == driver.at_ms + 7 * DAY_MS

    def test_a_clock_far_ahead_shifts_it_and_keeps_its_length(self):
        driver = Driver().polls(0.5)
        driver.show(maintenance(driver.at_ms + HOUR_MS, MINUTE_MS), kafka_ms=driver.at_ms)
        assert driver.memory.maintenance.until_ms == driver.at_ms + MINUTE_MS
        assert driver.memory.corrected_clocks == 1

    def test_one_that_kafka_has_no_time_of_holds_as_it_was_said(self):
        driver = Driver().polls(0.5)
        driver.show(maintenance(driver.at_ms, MINUTE_MS), kafka_ms=-1)
        assert driver.memory.maintenance.until_ms == driver.at_ms + MINUTE_MS
        assert not driver.memory.maintenance.is_over

    def test_a_timer_ends_it_when_no_evidence_comes(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5).plan(MINUTE_MS), MINUTE_MS // 2)
        until_ms = driver.memory.maintenance.until_ms
        driver.memory.heard_ms = until_ms
        assert machine.next_deadline_ms(driver.memory, driver.settings) == until_ms
        driver.wait(until_ms - driver.at_ms)
        assert driver.said()[-1] == ("broker_offline", "firing", "critical")
        assert driver.alerts[-1].at_ms == until_ms
        assert machine.next_deadline_ms(driver.memory, driver.settings) != until_ms

    def test_a_timer_far_too_late_leaves_it_to_the_evidence(self):
        """The query was away: the broker may be back in its input."""
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5).plan(MINUTE_MS), MINUTE_MS // 2)
        driver.wait(HOUR_MS)
        assert driver.said() == [("broker_offline", "firing", "info")]
        assert driver.memory.maintenance.is_over
        fenced(driver)
        assert driver.said()[-1] == ("broker_offline", "firing", "critical")

    def test_its_end_is_news_and_so_is_its_beginning(self):
        driver = Driver().polls(0.5)
        state_view.state_record(driver.memory, [])
        driver.plan(MINUTE_MS)
        assert state_view.has_news(driver.memory, DAY_MS)
        state_view.state_record(driver.memory, [])
        assert not state_view.has_news(driver.memory, DAY_MS)
        driver.at_ms += MINUTE_MS
        assert state_view.has_news(driver.polls(0.5).memory, DAY_MS)
        assert state_view.state_record(driver.memory, []).reason == "answers"

    def test_a_broker_that_nobody_has_seen_gets_no_state_by_it(self):
        driver = Driver().plan(HOUR_MS)
        assert driver.alerts == driver.transitions == []
        assert not state_view.has_news(driver.memory, DAY_MS)
        assert state_view.has_news(driver.polls(0.5).memory, DAY_MS)

    def test_one_that_was_over_before_it_was_read_changes_nothing(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5), MINUTE_MS)
        driver.show(maintenance(T0, MINUTE_MS // 2), kafka_ms=driver.at_ms)
        assert driver.said() == [("broker_offline", "firing", "critical")]

    def test_an_older_decision_and_a_repeated_one_change_nothing(self):
        driver = Driver().polls(0.5).plan(HOUR_MS, after_ms=100)
        before = encode(driver.memory)
        driver.show(maintenance(driver.at_ms, MINUTE_MS), offset=0)
        driver.show(maintenance(driver.at_ms - 50, 0), offset=0)
        assert encode(driver.memory) == before

    def test_a_memory_of_the_first_release_is_read(self):
        driver = away_for(Driver(settings=IMPATIENT).polls(0.5), MINUTE_MS)
        body = encode(driver.memory)
        for name in ("maintenance", "emitted_maintenance_ms", "recovery"):
            assert f'"{name}"' not in body
        assert decode(1, body) == driver.memory
        assert BrokerMemory(cluster="prod", broker=7).maintenance is None
