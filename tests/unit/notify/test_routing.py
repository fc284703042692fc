"""Which alerts go to whom."""

import pytest
from pydantic import ValidationError

from logdirwatch.model.vocabulary import NO_CLUSTER, Rule, Severity
from logdirwatch.notify.routing import GroupKey
from logdirwatch.notify.settings import NotifySettings
from tests.unit.notify.world import router_of, settings
from tests.unit.report.builders import alert


def reached(notify, **fields):
    return [(key.receiver, key.route) for key in router_of(notify).groups(alert(**fields))]


ROUTES = [
    {"name": "noise", "rule": "log_dir_imbalance", "severity": "info"},
    {"name": "pages", "severity": "page", "receivers": ["pager"], "goes_on": True},
    {"name": "prod", "cluster": "prod*", "receivers": ["prod"]},
    {"name": "rest", "receivers": ["ops", "ops"]},
]
RECEIVERS = ("pager", "prod", "ops")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"severity": Severity.INFO}, []),
        ({"severity": Severity.WARNING}, [("prod", "prod")]),
        ({"severity": Severity.PAGE, "cluster": "prod-eu"}, [("pager", "pages"), ("prod", "prod")]),
        ({"severity": Severity.PAGE, "cluster": "dev"}, [("pager", "pages"), ("ops", "rest")]),
        ({"rule": Rule.LOG_DIR_IMBALANCE, "severity": Severity.PAGE}, []),
    ],
)
def test_the_first_route_that_fits_holds_unless_it_goes_on(fields, expected):
    assert reached(settings(RECEIVERS, routes=ROUTES), **fields) == expected


def test_what_is_about_logdirwatch_itself_reaches_everybody_who_is_told_of_any_cluster():
    found = reached(settings(RECEIVERS, routes=ROUTES), cluster=NO_CLUSTER, severity=Severity.CRITICAL)
    assert found == [("prod", "prod"), ("ops", "rest")]


def test_without_routes_everything_from_warning_on_goes_to_all():
    assert reached(settings(("a", "b")), severity=Severity.WARNING) == [("a", "all"), ("b", "all")]
    assert reached(settings(("a", "b")), severity=Severity.INFO) == []


def test_a_group_is_what_the_route_says():
    notify = settings(routes=[{"receivers": ["ops"], "group_by": ["cluster", "broker", "log_dir"]}])
    (key,) = router_of(notify).groups(alert(broker=None))
    assert key == GroupKey("ops", "0", (("cluster", "prod"), ("broker", "*"), ("log_dir", "/data/d1")))
    (same,) = router_of(notify).groups(alert("b" * 32, broker=None))
    assert key.fixed_id == same.fixed_id


def test_brokers_of_one_host_are_a_group_and_one_whose_host_nobody_knows_is_its_own():
    notify = settings(group_by=["cluster", "host"])

    def group(broker, evidence, **fields):
        (key,) = router_of(notify).groups(alert(broker=broker, evidence=evidence, **fields))
        return dict(key.values)["host"]

    assert [group(7, {"host": "h1"}), group(8, {"host": "h1"}), group(9, {"host": "h2"})] == ["h1", "h1", "h2"]
    assert group(7, {}) == "broker 7"
    assert group(7, {"host": 5}) == "broker 7", "alerts of others may hold anything"
    assert group(None, {}, log_dir=None) == "*"


def test_a_routes_times_come_before_the_general_ones():
    notify = settings(routes=[{"receivers": ["ops"], "group_wait_ms": 0}], group_interval_ms=7)
    timing = router_of(notify).timing(GroupKey("ops", "0"))
    assert (timing.wait_ms, timing.interval_ms) == (0, 7)


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ([{"receivers": ["nobody"]}], "routes name receivers that do not exist: nobody"),
        ([{"name": "a"}, {"name": "a"}], "two routes have the same name"),
        (
            [{"name": "b/c", "receivers": ["ops"]}, {"name": "c", "receivers": ["ops/b"]}],
            "are both ops/b/c: rename one",
        ),
    ],
)
def test_routes_that_cannot_be_meant_are_refused(routes, words):
    url = {"urls": ["json://127.0.0.1"]}
    with pytest.raises(ValidationError, match=words):
        NotifySettings(receivers={"ops": url, "ops/b": url}, routes=routes)
