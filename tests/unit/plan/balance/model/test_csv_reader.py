"""The neutral CSV: what it means, and what is refused, each with the line where it stands."""

import gzip

import pytest

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.files import write_model
from logdirwatch.plan.balance.model.csv_reader import read_model
from tests.support.hostile import NAMES
from tests.unit.plan.balance.builders import at, cluster, layout, used

HEADER = "broker,rack,disk,capacity_bytes,topic,partition,size_bytes,is_leader\n"
GOOD = """\
2,r2,/b,1000,t,0,300,0
1,r1,/a,1000,t,0,300,1
1,r1,/b,2000,,,,
1,r1,/a,1000,u,7,5,1
"""


@pytest.fixture
def model_of(tmp_path):
    def read(lines, header=HEADER):
        path = tmp_path / "model.csv"
        path.write_bytes((header + lines).encode() if isinstance(lines, str) else header.encode() + lines)
        return read_model(path)

    return read


def test_a_line_is_a_replica_and_a_directory_without_one_has_a_line_as_well(model_of):
    model = model_of(GOOD)
    assert used(model) == {(1, "/a"): 305, (1, "/b"): 0, (2, "/b"): 300}
    assert layout(model) == {("t", 0): [(2, "/b", 300), (1, "/a", 300)], ("u", 7): [(1, "/a", 5)]}
    assert [model.racks[rack] for rack in model.broker_rack] == ["r1", "r2"]
    assert model.is_leader.tolist() == [False, True, True]


def test_empty_lines_windows_line_ends_and_a_byte_order_mark_do_no_harm(model_of):
    expected = layout(model_of(GOOD))
    assert layout(model_of("\n" + GOOD + "\n\n")) == expected
    assert layout(model_of(GOOD.replace("\n", "\r\n"), "\ufeff" + HEADER)) == expected


def test_a_cluster_without_replicas_or_racks_is_a_cluster(model_of):
    model = model_of("1,,/a,1000,,,,\n")
    assert used(model) == {(1, "/a"): 0}
    assert model.racks == ("",)


def test_what_is_written_is_read_back_the_same(tmp_path):
    model = cluster(at(1, "/a", t0=3, t1=4), at(1, "/b,c", capacity=7), at(2, "/a", t1=4, t0=3))
    write_model(model, tmp_path / "a.csv")
    again = read_model(tmp_path / "a.csv")
    assert (layout(again), used(again)) == (layout(model), used(model))
    write_model(again, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_comes_back_as_it_was_or_is_refused(tmp_path, name):
    model = cluster(at(1, name, t0=3), at(2, name, t0=3))
    write_model(model, tmp_path / "a.csv")
    if any(not char.isprintable() and ord(char) < 128 for char in name):
        with pytest.raises(UserError, match=r"holds a control character|unbalanced quotes|fields belong") as error:
            read_model(tmp_path / "a.csv")
        assert str(error.value).isprintable()
    else:
        assert layout(read_model(tmp_path / "a.csv")) == layout(model)


REFUSED = {
    "a negative size": ("1,r,/a,1000,t,0,-5,1", 2, "size_bytes is '-5'"),
    "a broken size": ("1,r,/a,1000,t,0,5e3,1", 2, "size_bytes is '5e3'"),
    "no size": ("1,r,/a,1000,t,0,,1", 2, "size_bytes is ''"),
    "a size beyond all disks": ("1,r,/a,1000,t,0,99999999999999999999,1", 2, "size_bytes is '9999"),
    "a broken broker": ("1\nx,r,/a,1000,t,0,5,1", 2, "1 fields; 8 fields belong there"),
    "a name for a broker": ("1,r,/a,1000,t,0,5,1\nx,r,/a,1000,t,0,5,0", 3, "broker is 'x'"),
    "a negative broker": ("-1,r,/a,1000,t,0,5,1", 2, "broker is '-1'"),
    "a broken partition": ("1,r,/a,1000,t,0.5,5,1", 2, "partition is '0.5'"),
    "a negative capacity": ("1,r,/a,-1000,t,0,5,1", 2, "capacity_bytes is '-1000'"),
    "no capacity": ("1,r,/a,0,,,,", 2, "capacity_bytes is '0'"),
    "an unknown disk": ("1,r,/a,1000,t,0,5,1\n1,r,,1000,t,1,5,1", 3, "disk is empty"),
    "a leader that is neither": ("1,r,/a,1000,t,0,5,yes", 2, "is_leader is 'yes'"),
    "half a replica": ("1,r,/a,1000,,0,5,1", 2, "partition without a topic"),
    "a size without a topic": ("1,r,/a,1000,,,5,", 2, "size_bytes without a topic"),
    "a replica twice in a directory": (
        "1,r,/a,1000,t,0,5,1\n1,r,/a,1000,u,0,5,1\n1,r,/a,1000,t,0,5,0",
        4,
        "t-0 is on broker 1 twice: also in line 2",
    ),
    "a replica twice on a broker": (
        "1,r,/a,1000,t,0,5,1\n1,r,/b,1000,t,0,5,0",
        3,
        "t-0 is on broker 1 twice: also in line 2",
    ),
    "two leaders": ("1,r,/a,1000,t,0,5,1\n\n2,r,/a,1000,t,0,5,1", 4, "t-0 has two leaders: also in line 2"),
    "a directory with two capacities": (
        "1,r,/a,1000,t,0,5,1\n2,r,/a,2000,t,0,5,0\n1,r,/a,1001,u,0,5,1",
        4,
        "/a of broker 1 has 1001 bytes here and 1000 in line 2",
    ),
    "a broker in two racks": ("1,r,/a,1000,,,,\n1,s,/b,1000,,,,", 3, "in rack 's' here and in rack 'r' in line 2"),
    "more used than fits": (
        "1,r,/a,10,t,0,6,1\n2,r,/a,10,t,1,6,1\n1,r,/a,10,t,2,4,1\n1,r,/a,10,t,3,1,1\n1,r,/a,10,t,4,1,1",
        5,
        "/a of broker 1 holds more than its 10 bytes",
    ),
    "a field too many": ("1,r,/a,1000,t,0,5,1,9", 2, "9 fields; 8 fields belong there"),
    "quotes that never end": ('1,"r,/a,1000,t,0,5,1\n2,r,/a,1000,t,0,5,1', 2, "unbalanced quotes"),
    "a line break in a name": ('1,"r\nr",/a,1000,,,,', 2, "rack 'r\\nr' holds a control character"),
}


@pytest.mark.parametrize(("lines", "line", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_bad_model_is_refused_with_the_line(model_of, lines, line, reason):
    with pytest.raises(UserError) as refused:
        model_of(lines + "\n")
    assert f"model.csv line {line}: " in str(refused.value)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("header", "lines", "reason"),
    [
        ("", "", "Empty CSV file"),
        (HEADER, "", "no line behind the header"),
        (HEADER, "\n\n", "no line behind the header"),
        ("broker,disk\n", "1,/a\n", "line 1: the header must be broker,rack,disk,"),
        ("", GOOD, "line 1: the header must be broker,rack,disk,"),
        (HEADER, b"1,r,/a,1000,t,0,5,\xff\n", "line 2: byte 0xff is not UTF-8"),
    ],
    ids=["an empty file", "a header alone", "empty lines alone", "another header", "no header", "another encoding"],
)
def test_what_is_no_model_at_all_is_refused(model_of, header, lines, reason):
    with pytest.raises(UserError, match=reason):
        model_of(lines, header)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (lambda text: text.encode("utf-16"), "is not UTF-8"),
        (lambda text: text.encode("utf-32"), "is not UTF-8"),
        (lambda text: text.encode("utf-16-le"), "not UTF-8"),
        (lambda text: text.encode("latin-1"), "line 2: byte 0xfc is not UTF-8"),
        (lambda text: text.encode("cp500"), "is not UTF-8"),
        (lambda text: gzip.compress(text.encode()), "line 1: byte 0x8b is not UTF-8"),
        (lambda text: bytes(range(256)) * 50, "is not UTF-8"),
    ],
    ids=["UTF-16", "UTF-32", "UTF-16 without a mark", "Latin-1", "EBCDIC", "gzip", "every byte"],
)
def test_a_model_in_any_other_encoding_is_refused_in_one_line(tmp_path, written, reason):
    path = tmp_path / "model.csv"
    path.write_bytes(written(HEADER + "1,r,/data/d\u00fc,1000,t,0,5,1\n"))
    with pytest.raises(UserError, match=reason) as refused:
        read_model(path)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(UserError) as refused:
            read_model(path)
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)
