"""Spark's types of records: records as JSON fit them, and what may hold anything is text."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812 - the field's name for it

from logdirwatch.model.records import AlertRecord, EventRecord
from logdirwatch.parse.records import RECORDS
from logdirwatch.store.schema.json_types import flattened, spark_type, text_fields
from tests.support.generated import documents
from tests.support.properties import examples
from tests.unit.report.builders import alert

FORMS = {T.LongType: int, T.DoubleType: (int, float), T.BooleanType: bool, T.StringType: str}


def fits(value, kind):
    """Tell whether Spark's ``from_json`` reads a JSON value as this type, and leaves nothing out."""
    if value is None:
        return True
    if isinstance(kind, T.StructType):
        return value.keys() <= set(kind.names) and all(fits(value[name], kind[name].dataType) for name in value)
    if isinstance(kind, T.ArrayType):
        return isinstance(value, list) and all(fits(each, kind.elementType) for each in value)
    if isinstance(kind, T.MapType):
        return isinstance(value, dict) and all(fits(each, kind.valueType) for each in value.values())
    return isinstance(value, FORMS[type(kind)]) and isinstance(value, bool) == isinstance(kind, T.BooleanType)


@pytest.mark.parametrize("kind", sorted({kind for kinds in RECORDS.values() for kind in kinds}, key=str))
@given(data=st.data())
@examples(20)
def test_a_record_as_json_fits_its_type_and_a_field_of_any_type_is_its_text(kind, data):
    record = msgspec.convert(data.draw(documents(kind)), kind)
    sent, written = json.loads(msgspec.json.encode(record)), json.loads(flattened(record))
    tag = kind.__struct_config__.tag_field
    # Kafka's form names an event by its number, which Spark reads as text.
    typed = written | ({"event": str(written["event"])} if kind is EventRecord else {})
    assert fits({name: value for name, value in typed.items() if name != tag}, spark_type(kind))
    texts = {name: json.loads(written[name]) for name in text_fields(kind) if written[name] is not None}
    assert {**written, **texts} == sent


def test_a_text_that_is_kept_as_it_was_sent_is_not_written_anew():
    assert "affected" in text_fields(AlertRecord)
    assert json.loads(flattened(alert("a"), evidence='{ "a":1}'))["evidence"] == '{ "a":1}'
