"""Which releases there are, with ZooKeeper and in KRaft mode, and which are too old."""

import pytest

from logdirwatch.model.capabilities import is_possible, is_too_old
from logdirwatch.model.vocabulary import MetadataMode


@pytest.mark.parametrize(
    ("release", "mode", "expected"),
    [
        ("2.8", MetadataMode.ZOOKEEPER, True),
        ("3.9", MetadataMode.ZOOKEEPER, True),
        ("4.0", MetadataMode.ZOOKEEPER, False),
        ("3.6", MetadataMode.KRAFT, False),
        ("3.7", MetadataMode.KRAFT, True),
        ("4.4", MetadataMode.KRAFT, True),
    ],
)
def test_zookeeper_ends_with_3_9_and_several_directories_in_kraft_mode_begin_with_3_7(release, mode, expected):
    assert is_possible(release, mode) is expected


@pytest.mark.parametrize(
    ("release", "expected"), [("2.7", True), ("0.11", True), ("2.8", False), ("4.4", False), (None, False)]
)
def test_a_release_is_too_old_below_2_8_where_it_is_known(release, expected):
    assert is_too_old(release) is expected
