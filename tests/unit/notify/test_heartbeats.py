"""The dead man's switch: it cries when heartbeats stop, once for all when all do, and says when they are back."""

import pytest

from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity
from logdirwatch.notify.heartbeats import DAY_MS, GATHER_MS, Switch, alert_id
from logdirwatch.notify.settings import SwitchSettings
from tests.unit.report.builders import NOW_MS, alert

TIMEOUT_MS = 120_000
BEAT_MS = 10_000


def heartbeat(cluster, at_ms, collector="c1"):
    evidence = {"collector": collector, "interval_ms": BEAT_MS}
    return alert("h", at_ms // 1000, rule=Rule.HEARTBEAT, cluster=cluster, at_ms=at_ms, evidence=evidence)


def switch(*clusters, **settings):
    return Switch(SwitchSettings(timeout_ms=TIMEOUT_MS, **settings), clusters, NOW_MS)


def beats(made, clusters, from_ms, to_ms):
    for at_ms in range(from_ms, to_ms, BEAT_MS):
        for cluster in clusters:
            made.hear(heartbeat(cluster, at_ms), at_ms)


def firing(made, now_ms):
    return {found.cluster for found in made.alerts(now_ms) if found.status is AlertStatus.FIRING}


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
    assert "No heartbeat of cluster prod comes through, the last one is of 2023-11-14 22:14:10Z" in cry.summary
    made.hear(heartbeat("prod", last_ms + TIMEOUT_MS + 30_000), last_ms + TIMEOUT_MS + 30_001)
    (back,) = made.alerts(last_ms + TIMEOUT_MS + 30_001)
    assert (back.alert_id, back.status) == (cry.alert_id, AlertStatus.RESOLVED)
    assert "come through again, after 30 s" in back.summary


def test_a_configured_cluster_that_was_never_heard_is_told():
    made = switch("prod")
    (cry,) = made.alerts(NOW_MS + TIMEOUT_MS + 1)
    assert "none ever came" in cry.summary


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


def test_history_and_repeats_prove_nothing():
    made = switch()
    made.history(heartbeat("prod", NOW_MS - 5_000))
    made.history(heartbeat("gone", NOW_MS - 2 * DAY_MS))
    made.hear(heartbeat("prod", NOW_MS - 5_000), NOW_MS + 60_000)
    assert firing(made, NOW_MS + TIMEOUT_MS + 1) == {"prod"}


def test_progress_counts_whatever_the_collectors_clock_says():
    made = switch("prod")
    for number in range(30):
        made.hear(heartbeat("prod", number * BEAT_MS), NOW_MS + number * BEAT_MS)
    assert firing(made, NOW_MS + 30 * BEAT_MS) == set()


def test_one_of_two_collectors_is_enough():
    made = switch("prod")
    for at_ms in range(NOW_MS, NOW_MS + 3 * TIMEOUT_MS, BEAT_MS):
        made.hear(heartbeat("prod", at_ms, "second"), at_ms)
    assert firing(made, NOW_MS + 3 * TIMEOUT_MS) == set()


def test_after_a_restart_it_goes_on_crying_until_a_heartbeat_comes():
    made = switch("prod", "dev")
    made.remember({alert_id("prod")})
    assert firing(made, NOW_MS) == {"prod"}
    made.hear(heartbeat("prod", NOW_MS + 1), NOW_MS + 1)
    (back,) = made.alerts(NOW_MS + 1)
    assert back.status is AlertStatus.RESOLVED


@pytest.mark.parametrize("after_ms", [1, 10 * TIMEOUT_MS])
def test_without_a_timeout_nobody_listens(after_ms):
    made = Switch(SwitchSettings(timeout_ms=0), ["prod"], NOW_MS)
    assert made.alerts(NOW_MS + after_ms) == []
