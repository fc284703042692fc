"""A shard's memories as one stored value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.detect.spark.shard import VERSION, Memories, packed, unpacked
from logdirwatch.errors import UserError

BROKER = st.integers(-2, 2**31 - 1)


@given(
    st.dictionaries(BROKER, st.tuples(st.integers(0, 9), st.text())),
    st.dictionaries(st.integers(0, 2**60), st.lists(BROKER)),
)
def test_what_was_stored_is_read(values, due):
    assert unpacked(*packed(Memories(values, due))) == Memories(values, due)


def test_memories_that_resemble_each_other_take_little():
    body = '{"cluster":"prod","broker":7,"status":"online"}' * 300
    _, length_bytes, stored = packed(Memories(dict.fromkeys(range(60), (1, body))))
    assert length_bytes > 60 * len(body) > 100 * len(stored)


def test_another_release_s_form_is_refused_in_one_line():
    _, length_bytes, body = packed(Memories())
    with pytest.raises(UserError, match=r"^detect: the checkpoint holds state of version 9, this release"):
        unpacked(9, length_bytes, body)


@pytest.mark.parametrize(
    ("change_bytes", "body"),
    [(0, b"damaged"), (1, packed(Memories())[2]), (0, packed(Memories({7: (1, "x" * 100)}))[2][:-4]), (0, b"")],
)
def test_what_is_damaged_is_said_to_be(change_bytes, body):
    with pytest.raises(UserError, match=r"^detect: the checkpoint's state cannot be read"):
        unpacked(VERSION, packed(Memories())[1] + change_bytes, body)
