"""Every failure to decode JSON is one error with one printable line, whatever the bytes are."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model import topics
from logdirwatch.parse.decoding import LONGEST_REASON, Decoder, NotReadableError, one_line
from logdirwatch.parse.records import DEEPEST, Accepted, Rejected, parse
from tests.support.generated import json_values
from tests.unit.report.builders import action, alert, execution


class Pair(msgspec.Struct):
    a: int
    b: str = "x"


DECODER = Decoder(Pair)


@pytest.mark.parametrize("value", [b'{"a":1,"b":"\xc3\xbc","c":[]}', '{"a":1,"b":"ü"}'])
def test_bytes_and_text_are_decoded(value):
    assert DECODER.decode(value) == Pair(1, "ü")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "empty value: expected a JSON object"),
        (" \n", "empty value: expected a JSON object"),
        (b"{", "Input data was truncated"),
        (b'{"a":"1"}', "Expected `int`, got `str` - at `$.a`"),
        (b'{"a":' + b"9" * 5_000 + b"}", "Integer value out of range - at `$.a`"),
        (b'{"a":1,"b":"\xfc"}', "not UTF-8: invalid start byte at byte "),
        (b'{"a":1,"c":' + b"[" * 100_000, "nested too deeply"),
        (b'{"a":1,"b":"\\ud800"}', "half of a surrogate pair at byte 12"),
        (b'{"a":1,"b":"\\ud800\\udc00","c":"\\udbff\\u0041"', "half of a surrogate pair at byte "),
        (b'{"a":1,"b":7,"c":"\\ud800"}', "Expected `str`, got `int` - at `$.b`"),
        ('{"a":1,"b":"\ud800"}', ""),
    ],
)
def test_what_is_wrong_is_one_line(value, reason):
    with pytest.raises(NotReadableError) as error:
        DECODER.decode(value)
    assert str(error.value).startswith(reason)
    assert str(error.value).isprintable()
    assert error.value.__suppress_context__


@pytest.mark.parametrize("decoder", [DECODER, Decoder(dict[str, int]), Decoder(list[Pair])])
@given(value=st.binary(max_size=60) | st.text(max_size=60) | json_values.map(msgspec.json.encode))
def test_nothing_else_is_raised(decoder, value):
    try:
        decoder.decode(value)
    except NotReadableError as error:
        assert 0 < len(str(error)) <= LONGEST_REASON  # noqa: PT017 - anything else is raised


def test_a_long_text_is_cut_to_one_line():
    assert one_line("a\n b\t\x1b[2J") == "a b \\x1b[2J"
    assert one_line("x" * LONGEST_REASON) == "x" * LONGEST_REASON
    assert one_line("x" * (LONGEST_REASON + 1)) == "x" * (LONGEST_REASON - 3) + "..."


def nested(depth):
    return {"a": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize(
    ("topic", "record", "field"),
    [
        (topics.ALERTS, alert(), "affected"),
        (topics.ACTIONS, action(), "target"),
        (topics.ACTIONS, action(), "expected"),
        (topics.EXECUTIONS, execution(), "operations"),
    ],
)
class TestPartsWithoutAType:
    def read(self, topic, record, field, value):
        as_sent = {
            **msgspec.json.decode(msgspec.json.encode(record)),
            field: [value] if field == "operations" else value,
        }
        return parse(topic, b"k", msgspec.json.encode(as_sent), 5, "home")

    def test_integers_have_64_bits(self, topic, record, field):
        for number in (-(2**63), 2**63 - 1, 0):
            assert isinstance(self.read(topic, record, field, {"x": [{"y": number}]}), Accepted)
        for number in (-(2**63) - 1, 2**63, 10**400):
            value = msgspec.json.encode({"x": [{"y": 0}]}).replace(b"0", str(number).encode())
            found = self.read(topic, record, field, msgspec.Raw(value))
            assert found == Rejected("an integer of more than 64 bits", "prod", 1)

    def test_their_depth_has_a_bound(self, topic, record, field):
        assert isinstance(self.read(topic, record, field, nested(DEEPEST - 4)), Accepted)
        assert self.read(topic, record, field, nested(DEEPEST)) == Rejected("nested too deeply", "prod", 1)
