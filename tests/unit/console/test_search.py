"""The filter: which brokers, directories and alerts a query finds."""

import pytest
from msgspec.structs import replace

from logdirwatch.console.search import Filter, Term, term, terms
from logdirwatch.report.status.cluster import brokers
from tests.unit.report.builders import alert
from tests.unit.report.rows import broker, log_dir

FLEET = brokers(
    [broker(1, rack="r1"), broker(10, rack="eu west"), broker(2)],
    [log_dir(1, "/data/d1"), log_dir(1, "/data/d2", status="offline"), log_dir(10), log_dir(2)],
)
PLACES = {"orders": {("prod", 2, "/data/d1")}}


def found(query):
    chosen = Filter(terms(query), PLACES)
    return [(one.broker, [log_dir.log_dir for log_dir in one.log_dirs]) for one in chosen.brokers("prod", FLEET)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("broker:1", [(1, ["/data/d1", "/data/d2"])]),
        ("1", [(1, ["/data/d1", "/data/d2"])]),
        ("host:kafka-1", [(1, ["/data/d1", "/data/d2"]), (10, ["/data/d1"])]),
        ("rack:r1", [(1, ["/data/d1", "/data/d2"])]),
        ('rack:"eu west"', [(10, ["/data/d1"])]),
        ("rack:-", [(2, ["/data/d1"])]),
        ("STATUS:Offline", [(1, ["/data/d2"])]),
        ("/data/d2", [(1, ["/data/d2"])]),
        ("dir:d1 rack:r1", [(1, ["/data/d1"])]),
        ("topic:orders", [(2, ["/data/d1"])]),
        ("orders", [(2, ["/data/d1"])]),
        ("orders broker:1", []),
        ("severity:page", []),
    ],
)
def test_every_word_must_match(query, expected):
    assert found(query) == expected


@pytest.mark.parametrize(
    ("query", "is_found"),
    [("severity:critical", True), ("severity:page", False), ("rack:r1", True), ("log_dir_offline", True), ("x", False)],
)
def test_an_alert_has_the_words_of_its_broker(query, is_found):
    one = alert(broker=1)
    by_id = {("prod", known.broker): known for known in FLEET}
    assert Filter(terms(query), {}).alerts([one], by_id) == ([one] if is_found else [])


def test_a_key_that_is_none_is_part_of_the_text():
    assert terms("a:b /x:y") == [Term(None, "a:b"), Term(None, "/x:y")]


@pytest.mark.parametrize("rack", ["r1", "eu west", None])
def test_a_link_asks_for_the_value(rack):
    one = replace(FLEET[0], rack=rack)
    assert list(Filter(terms(term("rack", rack)), {}).brokers("prod", [one])) == [one]
