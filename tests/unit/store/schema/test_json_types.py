"""Records as JSON: what may hold anything is text."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.records import AlertRecord
from logdirwatch.parse.records import RECORDS
from logdirwatch.store.writing.intake import flattened, text_fields
from tests.support.generated import documents
from tests.support.properties import examples
from tests.unit.report.builders import alert


@pytest.mark.parametrize("kind", sorted({kind for kinds in RECORDS.values() for kind in kinds}, key=str))
@given(data=st.data())
@examples(20)
def test_a_field_of_any_type_is_its_text(kind, data):
    record = msgspec.convert(data.draw(documents(kind)), kind)
    sent, written = json.loads(msgspec.json.encode(record)), json.loads(flattened(record))
    texts = {name: json.loads(written[name]) for name in text_fields(kind) if written[name] is not None}
    assert {**written, **texts} == sent


def test_a_text_that_is_kept_as_it_was_sent_is_not_written_anew():
    assert "affected" in text_fields(AlertRecord)
    assert json.loads(flattened(alert("a"), evidence='{ "a":1}'))["evidence"] == '{ "a":1}'
