"""What other producers write is read: any codec of Kafka, any name of a header."""

import crc32c
import pytest
from kafka.record import util
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from logdirwatch.kafka import clients  # noqa: F401 - it reads them

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
NAMES = {
    "text": b"trace-id",
    "Latin-1": b"\xe9\xe9\xe9\xe9",
    "half of a surrogate pair": b"\xed\xa0\x80",
    "cut": b"abc\xc3",
    "zeros": bytes(4),
    "none": b"",
    "the value's": b"v\xffv\xff",
}
RECORDS = [
    (0, 1_000, b"k", b"v\xffv\xff"),
    (1, 2_000, None, b"tombless"),
    (7, 1_500, b"k\xff", None),
    (8, 9_000, b"", b""),
]


def built(records, compression=0, names=()):
    """A batch in which the headers of every second record have these names."""
    about = {"is_transactional": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    builder = DefaultRecordBatchBuilder(magic=2, compression_type=compression, batch_size=1 << 20, **about)
    marks = [f"<{number}>{'x' * len(name)}"[: len(name)] for number, name in enumerate(names)]
    for number, record in enumerate(records):
        builder.append(*record, [(mark, b"h") for mark in marks] if number % 2 == 0 else [])
    data = bytes(builder.build())
    for mark, name in zip(marks, names, strict=True):
        data = data.replace(mark.encode(), name) if mark else data
    return data


def read(data):
    return [(each.offset, each.timestamp, each.key, each.value) for each in MemoryRecords(data).next_batch()]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_record_is_read_whatever_its_headers_are_called(name):
    assert read(built(RECORDS, names=[name])) == RECORDS
    assert read(built(RECORDS, names=[b"before", name, b"behind"])) == RECORDS


@pytest.mark.parametrize("number", CODECS.values(), ids=CODECS)
def test_a_record_of_every_codec_is_read(number):
    record = (0, 1, b"k", b"v" * 10_000)
    assert read(built([record], number)) == [record]


def test_checksums_are_computed_by_a_library():
    assert util.calc_crc32c.__defaults__ == (crc32c.crc32c,)
