"""Digests of groups of rows: of the same rows the same, whatever they are a part of."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.store.rows.content import NO_ROWS, group_digests

TYPES = {
    "text": (pa.string(), st.none() | st.text(max_size=3)),
    "number": (pa.int64(), st.none() | st.integers(-2, 2)),
    "share": (pa.float64(), st.none() | st.sampled_from([0.0, 0.05, 1.0])),
    "flag": (pa.bool_(), st.none() | st.booleans()),
    "numbers": (pa.list_(pa.int32()), st.none() | st.lists(st.none() | st.integers(0, 2), max_size=3)),
    "names": (pa.list_(pa.string()), st.none() | st.lists(st.sampled_from(["", "a", "b"]), max_size=2)),
    "map": (
        pa.map_(pa.string(), pa.string()),
        st.none() | st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.sampled_from("xy")), max_size=2),
    ),
}
ROWS = st.lists(st.tuples(*(values for _, values in TYPES.values())), max_size=4)


def table(rows):
    columns = zip(*rows, strict=True) if rows else [()] * len(TYPES)
    return pa.table(
        [pa.array(list(each), kind) for each, (kind, _) in zip(columns, TYPES.values(), strict=True)], list(TYPES)
    )


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_two_groups_have_the_same_digest_if_they_have_the_same_rows(groups):
    bounds = [0]
    for group in groups:
        bounds.append(bounds[-1] + len(group))
    digests = group_digests(table([row for group in groups for row in group]), bounds)
    assert digests == [group_digests(table(group), (0, len(group)))[0] for group in groups]
    for group, digest in zip(groups, digests, strict=True):
        assert [each == digest for each in digests] == [repr(other) == repr(group) for other in groups]
        assert (digest == NO_ROWS) is (not group) or group


@pytest.mark.parametrize("parts", [(0, 1), (1, 2), (0, 2)])
def test_a_slice_and_texts_as_a_dictionary_have_the_digest_of_their_rows(parts):
    rows = pa.table(
        {
            "name": ["ab", None],
            "number": [1, 2],
            "list": [[1], []],
            "map": table([(None,) * 6 + ([("a", "x")],)] * 2)["map"],
        }
    )
    part = rows.slice(parts[0], parts[1] - parts[0])
    expected = group_digests(pa.Table.from_pylist(part.to_pylist(), schema=rows.schema), (0, len(part)))
    assert group_digests(part, (0, len(part))) == expected
    encoded = part.set_column(0, "name", part["name"].dictionary_encode())
    assert group_digests(encoded, (0, len(part))) == expected
