"""The fast lane reads events with another parser than ``detect``: it must know every field that ``detect`` judges."""

from msgspec.structs import fields

from logdirwatch.jobs.queries.fast_lane import _NULLABLE_STRINGS
from logdirwatch.model.records import EventRecord

NUMBERS = {"version", "broker", "timestamp_ms", "partition", "logs_loaded", "logs_total"}


def test_every_field_of_an_event_is_checked_for_its_type_or_it_would_speak_where_detect_rejects():
    assert {*_NULLABLE_STRINGS, "topic", "event"} | NUMBERS == {field.name for field in fields(EventRecord)}
