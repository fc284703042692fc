"""One kind of sign of life: how long it may be missing, which clusters share an alert, what ends it."""

from dataclasses import replace

import msgspec
import pytest

from logdirwatch.model.vocabulary import NO_CLUSTER, AlertStatus, Lane, Rule, Severity
from logdirwatch.notify.heartbeats import Kind, Watch, alert_id
from tests.unit.report.builders import NOW_MS, heartbeat

TIMEOUT_MS, GATHER_MS = 120_000, 15_000
KIND = Kind(
    lane=Lane.STATEFUL,
    timeout_ms=TIMEOUT_MS,
    gather_ms=GATHER_MS,
    severity=Severity.PAGE,
    one="heartbeat",
    many="Heartbeats",
    way="",
    meaning="look",
)
ALONE_MS = TIMEOUT_MS + GATHER_MS
"""After how long one silent cluster of several has its own alert."""


def watch(*clusters):
    return Watch(KIND, clusters, NOW_MS)


def sign(cluster, number=1, collector="c1", at_ms=NOW_MS):
    return heartbeat(NOW_MS - at_ms, collector, cluster=cluster, evidence={"collector": collector, "number": number})


def newer(cluster, at_ms):
    return sign(cluster, at_ms=at_ms)


def statuses(watched, after_ms):
    return {found.cluster: str(found.status) for found in watched.alerts(NOW_MS + after_ms)}


@pytest.mark.parametrize(
    ("clusters", "after_ms", "fires"),
    [
        (["prod"], TIMEOUT_MS, []),
        (["prod"], TIMEOUT_MS + 1, ["prod"]),  # a single cluster waits for no other
        (["prod", "dev"], TIMEOUT_MS, []),
        (["prod", "dev"], TIMEOUT_MS + 1, [NO_CLUSTER]),
        ([], TIMEOUT_MS + 1, []),
    ],
)
def test_silence_counts_when_it_is_longer_than_the_timeout(clusters, after_ms, fires):
    assert list(statuses(watch(*clusters), after_ms)) == fires


@pytest.mark.parametrize(("after_ms", "fires"), [(ALONE_MS, []), (ALONE_MS + 1, ["dev"])])
def test_one_silent_cluster_of_several_waits_to_see_whether_all_are(after_ms, fires):
    watched = watch("prod", "dev")
    watched.hear(sign("prod"), NOW_MS + TIMEOUT_MS)
    assert list(statuses(watched, after_ms)) == fires


@pytest.mark.parametrize(("patience_ms", "silent"), [(0, ["prod"]), (1, [])])
def test_the_silent_clusters_are_those_beyond_timeout_and_patience(patience_ms, silent):
    assert watch("prod").silent(NOW_MS + TIMEOUT_MS + 1, patience_ms) == silent


def test_the_alert_has_what_receivers_route_and_sort_by():
    (found,) = watch("prod").alerts(NOW_MS + TIMEOUT_MS + 1)
    at_ms = NOW_MS + TIMEOUT_MS + 1
    assert (found.alert_id, found.rule, found.status) == (alert_id("prod"), Rule.HEARTBEAT, AlertStatus.FIRING)
    assert (found.severity, found.lane, found.cluster) == (Severity.PAGE, Lane.STATEFUL, "prod")
    assert (found.version, found.revision, found.opened_at_ms, found.at_ms) == (1, at_ms, at_ms, at_ms)
    assert (found.broker, found.log_dir, found.from_status, found.to_status, found.cause) == (None,) * 5
    assert (found.reason, found.affected, found.evidence["clusters"]) == (None, {}, ["prod"])


def test_an_alert_keeps_its_time_of_opening_and_ends_with_a_revision_of_its_own():
    watched = watch("prod")
    (first,) = watched.alerts(NOW_MS + TIMEOUT_MS + 1)
    assert watched.alerts(NOW_MS + 2 * TIMEOUT_MS) == [first], "the same revision, which is sent once"
    watched.hear(sign("prod"), NOW_MS + 2 * TIMEOUT_MS)
    (over,) = watched.alerts(NOW_MS + 2 * TIMEOUT_MS)
    assert (over.status, over.opened_at_ms, over.reason) == (AlertStatus.RESOLVED, first.opened_at_ms, "reported")
    assert (over.at_ms, over.revision) == (NOW_MS + 2 * TIMEOUT_MS,) * 2


def test_a_cluster_that_falls_silent_again_has_an_alert_again():
    watched = watch("prod")
    assert statuses(watched, TIMEOUT_MS + 1) == {"prod": "firing"}
    watched.hear(sign("prod"), NOW_MS + TIMEOUT_MS + 2)
    assert statuses(watched, TIMEOUT_MS + 2) == {"prod": "resolved"}
    assert statuses(watched, 2 * TIMEOUT_MS + 2) == {"prod": "resolved"}
    assert statuses(watched, 2 * TIMEOUT_MS + 3) == {"prod": "firing"}


def test_the_alert_for_all_names_them_and_the_last_sign_of_any():
    watched = watch("b", "a")
    watched.is_news(newer("a", NOW_MS - 10_000))
    watched.is_news(newer("b", NOW_MS - 60_000))
    (found,) = watched.alerts(NOW_MS + TIMEOUT_MS + 1)
    assert (found.cluster, found.evidence["clusters"]) == (NO_CLUSTER, ["a", "b"])
    assert "No heartbeat of all clusters arrives, the last one is of 2023-11-14 22:13:10Z: look" in found.summary


def test_the_alert_for_one_names_its_own_last_sign_of_any_collector():
    watched = watch("a", "b")
    for collector, at_ms in (("c1", NOW_MS - 60_000), ("c2", NOW_MS - 90_000)):
        watched.is_news(sign("a", 1, collector, at_ms))
    watched.hear(newer("b", NOW_MS), NOW_MS + TIMEOUT_MS)
    (found,) = watched.alerts(NOW_MS + ALONE_MS + 1)
    assert "No heartbeat of cluster a arrives, the last one is of 2023-11-14 22:12:20Z" in found.summary
    assert found.evidence["clusters"] == ["a"]
    watched.hear(newer("a", NOW_MS), NOW_MS + ALONE_MS + 2)
    (over,) = watched.alerts(NOW_MS + ALONE_MS + 2)
    assert over.summary.startswith("Heartbeats of cluster a arrive again")
    assert "do not" not in over.summary, "the others were never missed"


@pytest.mark.parametrize(
    ("again", "counts"),
    [
        ({"at_ms": NOW_MS}, False),
        ({"at_ms": NOW_MS - 1}, False),
        ({"at_ms": NOW_MS + 1}, True),
        ({"at_ms": NOW_MS, "collector": "c2"}, True),
    ],
)
def test_only_a_newer_sign_or_one_of_another_collector_counts(again, counts):
    watched = watch("prod")
    assert watched.is_news(sign("prod"))
    assert watched.is_news(sign("prod", **again)) is counts


def test_a_sign_of_another_identity_counts_whatever_its_clock_says():
    watched = watch("prod")
    watched.is_news(sign("prod"))
    other = msgspec.structs.replace(newer("prod", NOW_MS - 60_000), alert_id="another")
    assert watched.is_news(other)
    assert not watched.is_news(other)


def test_a_cluster_that_is_first_heard_of_later_counts_from_the_start():
    watched = watch("prod")
    assert watched.is_about_any
    assert not watch().is_about_any
    watched.is_news(sign("dev"))
    assert watched.silent(NOW_MS + TIMEOUT_MS) == []
    assert watched.silent(NOW_MS + TIMEOUT_MS + 1) == ["prod", "dev"]


def test_a_repeated_sign_ends_nothing():
    watched = watch("prod")
    watched.is_news(sign("prod"))
    watched.alerts(NOW_MS + TIMEOUT_MS + 1)
    watched.hear(sign("prod"), NOW_MS + TIMEOUT_MS + 2)
    assert statuses(watched, TIMEOUT_MS + 2) == {"prod": "firing"}


def test_an_excuse_restarts_the_count_of_known_clusters_and_makes_no_new_one():
    watched = watch("prod", "dev")
    watched.excuse(["prod", "unheard"], NOW_MS + TIMEOUT_MS)
    assert watched.silent(NOW_MS + TIMEOUT_MS + 1) == ["dev"]
    assert watched.silent(NOW_MS + 2 * TIMEOUT_MS) == ["dev"]
    assert watched.silent(NOW_MS + 2 * TIMEOUT_MS + 1) == ["prod", "dev"]


@pytest.mark.parametrize(
    ("told", "fires"),
    [
        ({alert_id("prod")}, ["prod"]),
        ({alert_id(NO_CLUSTER)}, [NO_CLUSTER]),
        ({alert_id("prod", Lane.FAST), alert_id("gone"), "other"}, []),
    ],
)
def test_after_a_restart_only_what_receivers_know_still_fires(told, fires):
    watched = watch("prod", "dev")
    watched.remember(told)
    found = watched.alerts(NOW_MS)
    assert [alert.cluster for alert in found] == fires
    assert {alert.opened_at_ms for alert in found} <= {NOW_MS}


def test_of_another_lane_its_own_alert_is_remembered():
    watched = Watch(replace(KIND, lane=Lane.FAST), ["prod"], NOW_MS)
    watched.remember({alert_id("prod")})
    assert watched.alerts(NOW_MS) == []
    watched.remember({alert_id("prod", Lane.FAST)})
    assert [(found.cluster, found.lane) for found in watched.alerts(NOW_MS)] == [("prod", Lane.FAST)]


@pytest.mark.parametrize(
    ("back_at", "after_ms", "status", "still"),
    [
        ({"a": 0}, GATHER_MS - 1, "firing", ""),
        ({"a": 0}, GATHER_MS, "resolved", ", those of clusters b, c do not"),
        ({"a": 0, "b": 10_000}, GATHER_MS - 1, "firing", ""),
        ({"a": 0, "b": 10_000}, GATHER_MS, "resolved", ", those of cluster c do not"),
        ({"b": 10_000, "a": 0, "c": 11_000}, 11_000, "resolved", ""),
    ],
)
def test_the_alert_for_all_ends_when_all_are_back_or_the_first_waited_long_enough(back_at, after_ms, status, still):
    watched, begun_ms = watch("a", "b", "c"), 3 * TIMEOUT_MS
    assert statuses(watched, begun_ms) == {NO_CLUSTER: "firing"}
    for cluster, back_ms in back_at.items():
        watched.hear(sign(cluster), NOW_MS + begun_ms + back_ms)
    (found,) = [alert for alert in watched.alerts(NOW_MS + begun_ms + after_ms) if alert.cluster == NO_CLUSTER]
    assert found.status == status
    if status == "resolved":
        assert found.summary.endswith(f"arrive again, after {after_ms // 1_000} s{still}")
        assert found.evidence["clusters"] == ["a", "b", "c"]
        assert ("all clusters" in found.summary) == (not still)


def test_the_time_of_coming_back_counts_from_a_clusters_first_sign():
    watched, begun_ms = watch("a", "b"), 3 * TIMEOUT_MS
    watched.alerts(NOW_MS + begun_ms)
    for later_ms in range(0, GATHER_MS, 5_000):
        watched.hear(newer("a", NOW_MS + later_ms), NOW_MS + begun_ms + later_ms)
    assert statuses(watched, begun_ms + GATHER_MS)[NO_CLUSTER] == "resolved"


def test_a_second_silence_of_all_starts_the_count_of_those_back_anew():
    watched, second_ms = watch("a", "b"), 10 * TIMEOUT_MS
    watched.alerts(NOW_MS + 3 * TIMEOUT_MS)
    for cluster in ("a", "b"):
        watched.hear(sign(cluster), NOW_MS + 3 * TIMEOUT_MS)
    assert statuses(watched, 3 * TIMEOUT_MS) == {NO_CLUSTER: "resolved"}
    assert statuses(watched, second_ms) == {NO_CLUSTER: "firing"}
    watched.hear(newer("a", NOW_MS + 1), NOW_MS + second_ms)
    assert statuses(watched, second_ms) == {NO_CLUSTER: "firing"}


def test_while_all_are_silent_no_cluster_has_an_alert_of_its_own():
    watched = watch("a", "b")
    watched.alerts(NOW_MS + 3 * TIMEOUT_MS)
    watched.hear(sign("a"), NOW_MS + 3 * TIMEOUT_MS)
    assert statuses(watched, 3 * TIMEOUT_MS + 1) == {NO_CLUSTER: "firing"}


def test_the_ids_of_the_lanes_differ_and_no_two_clusters_share_one():
    ids = {alert_id(cluster, lane) for cluster in ("prod", "dev", NO_CLUSTER) for lane in (Lane.STATEFUL, Lane.FAST)}
    assert len(ids) == 6
    assert alert_id("prod") == alert_id("prod", Lane.STATEFUL)
