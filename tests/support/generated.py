"""Records drawn from their types, their limits included: what a parser must accept, and how to spoil it."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Struct, inspect

from logdirwatch.model.records import EventRecord
from logdirwatch.model.vocabulary import EventName
from tests.support.hostile import NAMES

LONGEST = 3
LONG = st.integers(-(2**63), 2**63 - 1)

json_values = st.recursive(
    st.none() | st.booleans() | LONG | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=LONGEST) | st.dictionaries(st.text(), inner, max_size=LONGEST),
    max_leaves=8,
)
names = st.sampled_from(NAMES) | st.text(max_size=20)
WRONG = [None, True, -1, 2**31, 2**63, 2**64, 10**400, 7.0, 0.5, 1e308, "", "x", "NaN", [], [[]], {}, {"a": 1}]


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return what a field of a type may hold, as JSON's own values; ``kind`` is a type as msgspec tells of it."""
    return _DRAWN[type(kind)](kind)


def _integers(kind: inspect.IntType) -> st.SearchStrategy[int]:
    least = kind.gt + 1 if kind.gt is not None else -(2**63) if kind.ge is None else kind.ge
    most = 2**63 - 1 if kind.le is None else kind.le
    return st.sampled_from([least, most]) | st.integers(least, most)


_DRAWN: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    inspect.Metadata: lambda kind: values(kind.type),
    inspect.StructType: lambda kind: _members(kind.cls),
    inspect.UnionType: lambda kind: st.one_of(*map(values, kind.types)),
    inspect.ListType: lambda kind: st.lists(values(kind.item_type), max_size=LONGEST),
    inspect.DictType: lambda kind: st.dictionaries(names, values(kind.value_type), max_size=LONGEST),
    inspect.EnumType: lambda kind: st.sampled_from([member.value for member in kind.cls]),
    inspect.LiteralType: lambda kind: st.sampled_from(list(kind.values)),
    inspect.IntType: _integers,
    inspect.FloatType: lambda kind: st.floats(kind.ge, kind.le, allow_nan=False, allow_infinity=False),
    inspect.StrType: lambda kind: names.filter(lambda text: len(text) >= (kind.min_length or 0)),
    inspect.BoolType: lambda _: st.booleans(),
    inspect.NoneType: lambda _: st.none(),
    inspect.AnyType: lambda _: json_values,
}


def _members(kind: type[Struct]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    drawn = {name: values(inspect.type_info(field.type)) for name, field in fields.items()}
    needed = {name: drawn[name] for name, field in fields.items() if field.required}
    return st.fixed_dictionaries(needed, optional={name: one for name, one in drawn.items() if name not in needed})


def documents(kind: type[Struct]) -> st.SearchStrategy[dict[str, Any]]:
    """Return records of a type as objects, at the limits of their fields too."""
    config = kind.__struct_config__
    tag = {} if config.tag_field is None else {config.tag_field: config.tag}
    drawn = _members(kind).map(lambda members: {**members, **tag})
    if kind is EventRecord:
        known = st.sampled_from([*(name.value for name in EventName), 1, "1"])
        return st.builds(lambda record, event: {**record, "event": event}, drawn, known)
    return drawn


@st.composite
def spoilt(draw: st.DrawFn, kind: type[Struct]) -> bytes:
    """Return a record of a type after something went wrong with it: a field, a value, the bytes."""
    record = draw(documents(kind))
    place: Any = record
    for _ in range(draw(st.integers(0, 2))):
        inner = [value for value in place.values() if isinstance(value, dict) and value] if place else []
        name = draw(st.sampled_from(sorted(place))) if place else "x"
        what = draw(st.sampled_from(["wrong", "gone", "nested", "more"]))
        if what == "wrong":
            place[name] = draw(st.sampled_from(WRONG) | json_values)
        elif what == "gone":
            place.pop(name, None)
        elif what == "nested":
            place[name] = [place.get(name)]
        else:
            place[draw(names)] = draw(json_values)
        place = draw(st.sampled_from(inner)) if inner and draw(st.booleans()) else place
    text = json.dumps(record, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return draw(_harmed(text)) if draw(st.integers(0, 2)) == 0 else text


def _harmed(text: bytes) -> st.SearchStrategy[bytes]:
    """Return bytes cut, with others in between, or twice."""
    cut = st.integers(0, len(text)).map(lambda at: text[:at])
    pushed = st.builds(
        lambda at, more: text[:at] + more + text[at:],
        st.integers(0, len(text)),
        st.sampled_from(
            [b"\xff", b"\x00", b"\\ud800", b"NaN", b"Infinity", b"-", b"1e999", b"\xed\xa0\x80", b"[" * 2_000]
        )
        | st.binary(max_size=4),
    )
    return cut | pushed | st.just(text + text)
