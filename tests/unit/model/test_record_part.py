from typing import Annotated

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType, field

from logdirwatch.model.evidence import evidence_of
from logdirwatch.model.evidence.brokers import MoveStalledEvidence
from logdirwatch.model.evidence.clusters import BrokerSilentEvidence, ClusterSilentEvidence
from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NO, NULL, RecordPart, as_written, converted
from logdirwatch.model.vocabulary import Rule


class Part(RecordPart, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="Always there.")]
    known: int | None = NULL
    holds: bool = NO
    names: list[str] = EMPTY_LIST
    sometimes: str | None = None
    either: int | UnsetType | None = UNSET
    from_: str | None = field(name="from", default=None)


LEAST = {"name": "a", "known": None, "holds": False, "names": []}


def test_what_is_not_known_is_written_and_what_does_not_apply_is_not():
    assert msgspec.json.decode(msgspec.json.encode(Part(name="a"))) == LEAST
    found = msgspec.json.decode(msgspec.json.encode(Part(name="a", sometimes="b", either=None, from_="c")))
    assert found == LEAST | {"sometimes": "b", "either": None, "from": "c"}


def test_it_reads_as_a_mapping_of_what_is_on_the_wire():
    part = Part(name="a", known=3, from_="c")
    assert {**part} == dict(part.items()) == LEAST | {"known": 3, "from": "c"}
    assert (part["known"], part.get("from"), part.get("sometimes"), part.get("either", 7)) == (3, "c", None, 7)
    assert ("known" in part, "sometimes" in part, "from_" in part, len(part)) == (True, False, False, 5)
    with pytest.raises(KeyError):
        part["sometimes"]


def test_it_equals_a_mapping_of_the_same_fields_and_an_equal_part():
    assert Part(name="a") == LEAST
    assert Part(name="a") == Part(name="a") != Part(name="b")
    assert Part(name="a") != LEAST | {"more": 1}


def test_a_field_that_does_not_fit_is_left_out_and_one_that_is_not_known_ignored():
    assert converted({"name": "a", "known": "many", "later": 1}, Part) == LEAST
    with pytest.raises(msgspec.ValidationError):
        converted({"name": 3}, Part)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"known": "many", "from": "c", "names": ["b"], "holds": True}, {"from": "c", "names": ["b"], "holds": True}),
        ({"known": 3, "from": 7}, {"known": 3}),
        ({"known": 3, "names": [1]}, {"known": 3}),
        ({"known": 3, "names": "b", "holds": "no", "from": "c"}, {"known": 3, "from": "c"}),
        ({"known": None, "either": None, "sometimes": 7}, {"either": None}),
    ],
)
def test_what_else_a_record_says_is_kept_where_one_field_does_not_fit(given, kept):
    assert converted({"name": "a", "later": {"x": [1]}} | given, Part) == LEAST | kept


def test_what_is_on_the_wire_is_counted_listed_and_compared():
    part = Part(name="a", either=None)
    assert list(part) == list(part.keys()) == ["name", "known", "holds", "names", "either"]
    assert list(part.values()) == ["a", None, False, [], None]
    assert list(part.items()) == list(zip(part.keys(), part.values(), strict=True))
    assert len(part) == 5
    assert part.get("known", 7) is None, "a field that is written as null is there"
    assert "name" in part
    assert (part == "a", part == ["name"]) == (False, False)


class Whole(RecordPart, frozen=True, kw_only=True):
    part: Part | None = None
    parts: list[Part] = EMPTY_LIST
    by_name: dict[str, Part] = EMPTY_MAP


def test_what_a_producer_gives_is_written_as_it_was_given():
    given = {"name": "a", "sometimes": None, "from": "c"}
    assert as_written(given, Part) == given
    whole = {"part": None, "parts": [given], "by_name": {"x": given}}
    assert as_written(whole, Whole) == whole
    assert as_written({}, Whole) == {}


@pytest.mark.parametrize(
    "given",
    [
        {"names": []},
        {"name": "a", "known": "many"},
        {"name": "a", "nmaes": []},
        {"name": "a", "later": None},
        {"name": "a", "from_": "c"},
    ],
)
def test_a_producer_cannot_give_what_the_part_does_not_have_however_deep(given):
    for kind, one in (
        (Part, given),
        (Whole, {"part": given}),
        (Whole, {"parts": [{"name": "b"}, given]}),
        (Whole, {"by_name": {"x": given}}),
    ):
        with pytest.raises(msgspec.ValidationError):
            as_written(one, kind)


def test_the_error_names_every_key_that_is_not_known():
    with pytest.raises(msgspec.ValidationError, match="Whole has no field `later`, `nmaes`"):
        as_written({"parts": [{"name": "a", "nmaes": []}], "later": 1}, Whole)


def test_the_rule_says_which_evidence_an_alert_has():
    assert evidence_of(Rule.MOVE_STALLED, {"why": ["/d1: too_slow"]}) == MoveStalledEvidence(why=["/d1: too_slow"])


def test_two_queries_of_one_rule_are_told_apart_by_a_field():
    assert type(evidence_of(Rule.BROKER_UNKNOWN, {"silent_brokers": 1})) is BrokerSilentEvidence
    assert type(evidence_of(Rule.BROKER_UNKNOWN, {"silent_brokers": 1, "away_before": []})) is ClusterSilentEvidence
