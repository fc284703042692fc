"""The dead man's switch: it cries when heartbeats stop, once for all when all do, and says when they are back."""

import msgspec
import pytest

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Lane, Rule, Severity
from logdirwatch.notify.heartbeats import DAY_MS, GATHER_MS, Switch, alert_id
from logdirwatch.notify.settings import SwitchSettings
from tests.unit.report.builders import NOW_MS, alert

TIMEOUT_MS = 120_000
BEAT_MS = 10_000
HOUR_MS = 3_600_000


def heartbeat(cluster, at_ms, collector="c1", **proof):
    evidence = {"collector": collector, "interval_ms": BEAT_MS, **proof}
    return alert("h", at_ms // 1000, rule=Rule.HEARTBEAT, cluster=cluster, at_ms=at_ms, evidence=evidence)


def canary(cluster, at_ms, lane=Lane.FAST):
    evidence = {"collector": "c1", "origin": f"logdir.events/0/{at_ms}"}
    return alert(f"canary{at_ms}", 0, rule=Rule.HEARTBEAT, cluster=cluster, at_ms=at_ms, evidence=evidence, lane=lane)


def switch(*clusters, **settings):
    return Switch(SwitchSettings(**{"timeout_ms": TIMEOUT_MS, **settings}), clusters, HOUR_MS, NOW_MS)


def beats(made, clusters, from_ms, to_ms):
    for at_ms in range(from_ms, to_ms, BEAT_MS):
        for cluster in clusters:
            made.hear(heartbeat(cluster, at_ms), at_ms)


def firing(made, now_ms):
    return {found.cluster for found in made.alerts(now_ms) if found.status is AlertStatus.FIRING}


def silent_canaries(made, clusters, from_ms, to_ms):
    """Let heartbeats go on; return what cries at the end."""
    for at_ms in range(from_ms, to_ms, TIMEOUT_MS // 2):
        for cluster in clusters:
            made.hear(heartbeat(cluster, at_ms), at_ms)
        cries = firing(made, at_ms)
    return cries


def test_a_heartbeat_that_comes_keeps_it_quiet():
    made = switch("prod")
    beats(made, ["prod"], NOW_MS, NOW_MS + 10 * TIMEOUT_MS)
    assert made.alerts(NOW_MS + 10 * TIMEOUT_MS) == []
    assert made.all_is_well(NOW_MS + 10 * TIMEOUT_MS)


def test_one_that_stops_is_told_and_so_is_its_return():
    made = switch("prod")
    beats(made, ["prod"], NOW_MS, NOW_MS + 60_000)
    last_ms = NOW_MS + 50_000
    assert firing(made, last_ms + TIMEOUT_MS) == set()
    (cry,) = made.alerts(last_ms + TIMEOUT_MS + 1)
    assert (cry.alert_id, cry.rule, cry.severity, cry.cluster) == (
        alert_id("prod"),
        Rule.HEARTBEAT,
        Severity.PAGE,
        "prod",
    )
    assert "No heartbeat of cluster prod arrives, the last one is of 2023-11-14 22:14:10Z" in cry.summary
    assert msgspec.json.decode(msgspec.json.encode(cry), type=AlertRecord) == cry
    made.hear(heartbeat("prod", last_ms + TIMEOUT_MS + 30_000), last_ms + TIMEOUT_MS + 30_001)
    (back,) = made.alerts(last_ms + TIMEOUT_MS + 30_001)
    assert (back.alert_id, back.status) == (cry.alert_id, AlertStatus.RESOLVED)
    assert "arrive again, after 30 s" in back.summary


def test_a_configured_cluster_that_was_never_heard_is_told():
    made = switch("prod")
    (cry,) = made.alerts(NOW_MS + TIMEOUT_MS + 1)
    assert "none ever arrived" in cry.summary


def test_all_silent_clusters_are_one_alert_and_one_silent_cluster_is_its_own():
    made = switch()
    clusters = ["a", "b", "c"]
    beats(made, clusters, NOW_MS, NOW_MS + 60_000)
    stopped_ms = NOW_MS + 60_000
    for at_ms in range(stopped_ms, stopped_ms + 3 * TIMEOUT_MS, 500):
        assert firing(made, at_ms) <= {"*"}
    assert firing(made, stopped_ms + 3 * TIMEOUT_MS) == {"*"}
    back_ms = stopped_ms + 3 * TIMEOUT_MS
    beats(made, ["a", "b"], back_ms, back_ms + GATHER_MS + BEAT_MS)
    assert firing(made, back_ms + GATHER_MS + BEAT_MS) == {"c"}
    (end,) = (found for found in made.alerts(back_ms + GATHER_MS + BEAT_MS) if found.cluster == "*")
    assert "Heartbeats of clusters a, b arrive again, after 4 min 34 s, those of cluster c do not" in end.summary


def test_history_and_repeats_prove_nothing():
    made = switch()
    made.history(heartbeat("prod", NOW_MS - 5_000))
    made.history(heartbeat("gone", NOW_MS - 2 * DAY_MS))
    made.hear(heartbeat("prod", NOW_MS - 5_000), NOW_MS + 60_000)
    assert firing(made, NOW_MS + TIMEOUT_MS + 1) == {"prod"}


def test_after_a_restart_it_goes_on_crying_until_a_heartbeat_comes():
    made = switch("prod", "dev")
    made.remember({alert_id("prod")})
    assert firing(made, NOW_MS) == {"prod"}
    made.hear(heartbeat("prod", NOW_MS + 1), NOW_MS + 1)
    (back,) = made.alerts(NOW_MS + 1)
    assert back.status is AlertStatus.RESOLVED


@pytest.mark.parametrize("after_ms", [1, 10 * TIMEOUT_MS])
def test_without_a_timeout_nobody_listens(after_ms):
    made = switch("prod", timeout_ms=0)
    made.hear(canary("prod", NOW_MS), NOW_MS)
    assert made.alerts(NOW_MS + after_ms) == []
    assert made.alerts(NOW_MS + DAY_MS) == []
    assert made.all_is_well(NOW_MS + after_ms), "the outside URL says that notify runs"


@pytest.mark.parametrize("lane", [Lane.FAST, Lane.FAST_MICRO_BATCH])
def test_a_canary_is_no_heartbeat(lane):
    made = switch("prod")
    made.history(canary("other", NOW_MS - 1, lane))
    for at_ms in range(NOW_MS, NOW_MS + 2 * TIMEOUT_MS, BEAT_MS):
        made.hear(canary("prod", at_ms, lane), at_ms)
    assert firing(made, NOW_MS + 2 * TIMEOUT_MS) == {"prod"}
    assert not made.all_is_well(NOW_MS + 2 * TIMEOUT_MS)


@pytest.mark.parametrize("lane", [Lane.FAST, Lane.FAST_MICRO_BATCH])
def test_a_fast_lane_that_stops_is_told_and_so_is_its_return(lane):
    made = switch("prod")
    made.hear(canary("prod", NOW_MS, lane), NOW_MS)
    over_ms = NOW_MS + 3 * HOUR_MS
    assert silent_canaries(made, ["prod"], NOW_MS, over_ms) == set()
    made.hear(heartbeat("prod", over_ms), over_ms)
    assert made.all_is_well(over_ms)
    (cry,) = made.alerts(over_ms + 1)
    assert (cry.cluster, cry.severity, cry.rule) == ("prod", Severity.CRITICAL, Rule.HEARTBEAT)
    assert cry.alert_id not in (alert_id("prod"), alert_id("*"))
    assert "No canary of cluster prod arrives through the fast lane, the last one is of 2023-11-14" in cry.summary
    assert not made.all_is_well(over_ms + 1)
    made.hear(canary("prod", over_ms + 2, lane), over_ms + 2)
    (back,) = made.alerts(over_ms + 2)
    assert (back.alert_id, back.status) == (cry.alert_id, AlertStatus.RESOLVED)
    assert "Canaries of cluster prod arrive through the fast lane again" in back.summary


def test_canaries_of_a_clock_that_was_set_back_count():
    made = switch("prod")
    made.hear(canary("prod", NOW_MS + DAY_MS), NOW_MS)
    for number in range(1, 6):
        at_ms = NOW_MS + number * HOUR_MS
        assert silent_canaries(made, ["prod"], at_ms - HOUR_MS, at_ms) == set()
        made.hear(canary("prod", at_ms), at_ms)


def test_a_fast_lane_that_nobody_ever_proved_is_not_missed():
    made = switch("prod")
    assert silent_canaries(made, ["prod"], NOW_MS, NOW_MS + DAY_MS) == set()


def test_a_dead_fast_lane_is_one_alert_for_all_clusters():
    made, clusters = switch("a", "b", "c"), ["a", "b", "c"]
    for number, cluster in enumerate(clusters):
        made.history(canary(cluster, NOW_MS - HOUR_MS))
        made.hear(canary(cluster, NOW_MS), NOW_MS + number * HOUR_MS // 4)
    assert silent_canaries(made, clusters, NOW_MS, NOW_MS + 6 * HOUR_MS) == {"*"}


def test_a_collector_that_is_away_has_no_fast_lane_to_miss():
    made = switch("prod")
    made.hear(heartbeat("prod", NOW_MS), NOW_MS)
    made.hear(canary("prod", NOW_MS), NOW_MS)
    for at_ms in range(NOW_MS + TIMEOUT_MS + 1, NOW_MS + 6 * HOUR_MS, TIMEOUT_MS):
        (cry,) = made.alerts(at_ms)
        assert cry.alert_id == alert_id("prod")
    back_ms = NOW_MS + 6 * HOUR_MS
    assert silent_canaries(made, ["prod"], back_ms, back_ms + HOUR_MS) == set()


def test_after_a_restart_it_goes_on_crying_until_a_canary_comes():
    made, known = switch("prod"), alert_id("prod", Lane.FAST)
    made.history(canary("prod", NOW_MS - 5 * HOUR_MS))
    made.remember({known})
    made.hear(heartbeat("prod", NOW_MS + 1), NOW_MS + 1)
    (cry,) = made.alerts(NOW_MS + 1)
    assert (cry.alert_id, cry.status) == (known, AlertStatus.FIRING)
    made.hear(canary("prod", NOW_MS + 2), NOW_MS + 2)
    assert firing(made, NOW_MS + 2) == set()


def blind_beats(made, from_ms, to_ms, collector="c1"):
    """Heartbeats that arrive while no sample does."""
    for at_ms in range(from_ms, to_ms, BEAT_MS):
        made.hear(heartbeat("prod", at_ms, collector, samples_overdue_ms=at_ms - from_ms), at_ms)


def test_heartbeats_without_samples_are_no_signs_of_life():
    made = switch("prod")
    beats(made, ["prod"], NOW_MS, NOW_MS + 60_000)
    blind_ms = NOW_MS + 60_000
    blind_beats(made, blind_ms, blind_ms + TIMEOUT_MS)
    assert firing(made, blind_ms + TIMEOUT_MS) == set()
    assert made.all_is_well(blind_ms + TIMEOUT_MS)
    blind_beats(made, blind_ms, blind_ms + TIMEOUT_MS + 2 * BEAT_MS)
    now_ms = blind_ms + TIMEOUT_MS + BEAT_MS + 1
    (cry,) = made.alerts(now_ms)
    assert (cry.alert_id, cry.severity) == (alert_id("prod"), Severity.PAGE)
    assert "No sample of cluster prod arrives, though heartbeats do; a sample has been overdue for 2 min" in cry.summary
    assert not made.all_is_well(now_ms)


def test_it_ends_with_the_first_heartbeat_whose_samples_pass():
    made = switch("prod")
    blind_beats(made, NOW_MS, NOW_MS + 3 * TIMEOUT_MS)
    back_ms = NOW_MS + 3 * TIMEOUT_MS
    assert firing(made, back_ms) == {"prod"}
    made.hear(heartbeat("prod", back_ms, samples_overdue_ms=0), back_ms)
    assert firing(made, back_ms) == set()
    assert made.all_is_well(back_ms)


def test_a_collector_that_sees_covers_one_that_does_not():
    made = switch("prod")
    for at_ms in range(NOW_MS, NOW_MS + 4 * TIMEOUT_MS, BEAT_MS):
        made.hear(heartbeat("prod", at_ms, "c1", samples_overdue_ms=at_ms - NOW_MS), at_ms)
        made.hear(heartbeat("prod", at_ms, "c2", samples_overdue_ms=0), at_ms)
        assert firing(made, at_ms) == set()


def test_a_collector_of_an_older_release_does_not_say_and_is_believed():
    made = switch("prod")
    for at_ms in range(NOW_MS, NOW_MS + 4 * TIMEOUT_MS, BEAT_MS):
        made.hear(heartbeat("prod", at_ms, samples_overdue_ms=None), at_ms)
    assert made.all_is_well(NOW_MS + 4 * TIMEOUT_MS)


def test_once_heartbeats_stop_as_well_that_is_what_a_new_alert_says():
    made = switch("prod")
    blind_beats(made, NOW_MS, NOW_MS + BEAT_MS)
    (cry,) = made.alerts(NOW_MS + TIMEOUT_MS + 1)
    assert "No heartbeat of cluster prod arrives" in cry.summary
