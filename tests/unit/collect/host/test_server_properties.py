"""A broker's ``server.properties`` is read as Java's ``Properties`` and Kafka's ``ConfigDef`` read it."""

import pytest
import structlog

from logdirwatch.collect.host.server_properties import doubts, parsed
from logdirwatch.collect.host.server_properties import log_dirs_of as dirs_in
from logdirwatch.collect.host.sources import log_dirs_of
from logdirwatch.collect.settings import HostSettings
from logdirwatch.errors import UserError

PROPERTIES = """\
# log.dirs=/not/this
node.id = 7
log.dirs=/data/d0/,\\
    /data//d1 , /data/d0
! another comment
listeners=PLAINTEXT://:9092
"""


def test_directories_are_read_from_the_brokers_properties_as_it_reports_them():
    assert dirs_in(parsed(PROPERTIES)) == ("/data/d0", "/data/d1")
    assert dirs_in({"log.dir": "/one"}) == ("/one",)
    assert dirs_in({}) == ("/tmp/kafka-logs",)
    assert parsed("a:b\nc d\n")["c"] == "d"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# old: /x \\\nlog.dirs=/d1", {"log.dirs": "/d1"}),
        (" ! old: /x \\\nlog.dirs=/d1", {"log.dirs": "/d1"}),
        ("log.dirs=/d1,\\\n  #d2\nnode.id=7", {"log.dirs": "/d1,#d2", "node.id": "7"}),
        ("log.dirs=/d1\\\n\nnode.id=7", {"log.dirs": "/d1", "node.id": "7"}),
        ("log.dirs=/d1\\\\\nnode.id=7", {"log.dirs": "/d1\\", "node.id": "7"}),
        ("log.dirs=/d1,\\\n/d2,\\\n\t/d3\\", {"log.dirs": "/d1,/d2,/d3"}),
    ],
)
def test_lines_are_joined_and_comments_left_out_as_java_does(text, expected):
    assert parsed(text) == expected


def test_a_relative_directory_is_refused():
    with pytest.raises(UserError, match="data/d0 is relative") as refused:
        dirs_in({"log.dirs": "data/d0"})
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("broker", "content", "message"),
    [(7, None, "No such file"), (8, PROPERTIES, r"host\.broker is 8, .* node 7")],
)
def test_a_properties_file_that_is_missing_or_another_brokers_is_refused(tmp_path, broker, content, message):
    file = tmp_path / "server.properties"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UserError, match=message):
        log_dirs_of(HostSettings(cluster="c", broker=broker, properties_file=str(file)))


def test_the_properties_file_of_the_right_broker_gives_its_directories(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text(PROPERTIES)
    settings = HostSettings(cluster="c", broker=7, properties_file=str(file))
    assert log_dirs_of(settings) == ("/data/d0", "/data/d1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log.dirs=/mnt/disk\\ 1/kafka", "/mnt/disk 1/kafka"),
        ("log.dirs=/mnt/a\\:b/kafka", "/mnt/a:b/kafka"),
        ("log.dirs=/mnt/a\\=b", "/mnt/a=b"),
        ("log.dirs=/mnt/a=b:c d", "/mnt/a=b:c d"),
        ("log.dirs=/mnt/d\\u00e4ta", "/mnt/d\u00e4ta"),
        ("log.dirs=/mnt/\\u4E2D\\u6587", "/mnt/\u4e2d\u6587"),
        ("log.dirs=/a\\b\\c", "/abc"),
        ("log.dirs=/a\\\\b", "/a\\b"),
        ("log.dirs=/a\\tb", "/a\tb"),
        ("log\\.dirs=/a", "/a"),
        ("log.dirs /a", "/a"),
        ("log.dirs\t:\t/a", "/a"),
        ("log.dirs = = /a", "= /a"),
        ("\f log.dirs=/a", "/a"),
        ("log.dirs=/a\rnode.id=7", "/a"),
        ("log.dirs=/a\r\nnode.id=7\r\n", "/a"),
        ("log.dirs=/a,\\\r\n   /b\r\n", "/a,/b"),
        ("log.dirs=/a\nlog.dirs=/b", "/b"),
        ("log.dirs", ""),
        ("log.dirs=", ""),
        ("log.dirs=/a\\", "/a"),
        ("log.dirs=/a # kept", "/a # kept"),
        ("  # log.dirs=/x\n! log.dirs=/y\nlog.dirs=/a", "/a"),
        ("log.dirs=/a#b,/c!d", "/a#b,/c!d"),
    ],
)
def test_a_value_is_read_as_java_reads_it(text, expected):
    assert parsed(text)["log.dirs"] == expected


def test_escapes_belong_to_keys_too():
    assert parsed("a\\=b=c\na\\ b : d\n\\u0061x=e") == {"a=b": "c", "a b": "d", "ax": "e"}


@pytest.mark.parametrize("value", ["/a\\u12", "/a\\uzzzz", "/a\\u"])
def test_an_escape_that_java_refuses_is_refused(value):
    with pytest.raises(UserError, match="four hexadecimal digits") as refused:
        parsed(f"log.dirs={value}")
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log.dirs= /data/1/kafka-logs , /data/2/kafka-logs,,/data/3/kafka-logs/ \t", (1, 2, 3)),
        ("log.dirs=/data/1/kafka-logs\\ \nlog.dir=/x", (1,)),
        ("log.dirs=\nlog.dir=/data/1/kafka-logs", (1,)),
        ("log.dirs=  \nlog.dir= /data/1/kafka-logs ", (1,)),
        ("log.dir=/data/2/kafka-logs", (2,)),
        ("log.dirs=/data/1//kafka-logs,/data/1/kafka-logs/", (1,)),
        ("metadata.log.dir=/m\nlog.dirs=/data/3/kafka-logs", (3,)),
    ],
)
def test_paths_are_taken_without_the_blanks_around_them(text, expected):
    assert dirs_in(parsed(text)) == tuple(f"/data/{number}/kafka-logs" for number in expected)


def test_dots_in_a_path_stay_as_kafka_leaves_them():
    assert dirs_in(parsed("log.dirs=/data/./kafka,/data/a/../b")) == ("/data/./kafka", "/data/a/../b")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("data/kafka", "is relative"),
        ("~/kafka", "is relative"),
        ('"/data/kafka"', "begins with a quote"),
        ("'/data/kafka'", "begins with a quote"),
        ("${env:KAFKA_DATA}/logs", "only the broker resolves"),
        ("/data/${env:POD_NAME}/logs", "only the broker resolves"),
        ("/data/${file:/etc/kafka/x.properties:dir}", "only the broker resolves"),
        ("${KAFKA_DATA}/logs", "only the broker resolves"),
        ("$KAFKA_DATA/logs", "only the broker resolves"),
        ("/a,data/kafka", "is relative"),
        ("C\\:\\\\kafka", "is relative"),
    ],
)
def test_a_path_that_only_the_broker_can_know_is_refused_and_why(value, why):
    with pytest.raises(UserError, match=why) as refused:
        dirs_in(parsed(f"log.dirs={value}"))
    assert refused.value.exit_code == 2
    assert "name it absolutely in host.log_dirs" in str(refused.value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/b   # disks", "the comment in '/b   # disks' is a part of the path"),
        ("/b ! disks", "the comment in"),
        ('/a/"b"', "the quotes in"),
        ("/data/${HOSTNAME}", "a variable that Kafka does not replace"),
    ],
)
def test_what_is_probably_not_meant_is_said(path, said):
    (doubt,) = doubts([path, "/well"])
    assert said in doubt


@pytest.mark.parametrize("path", ["/a#b", "/a b", "/a!b", "/data/$x", "/wow! really"])
def test_odd_paths_that_may_be_meant_are_taken_without_a_word(path):
    assert list(doubts([path])) == []


def test_a_comment_behind_the_paths_stays_in_them_and_is_told(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/a,/b   # disks\n")
    with structlog.testing.capture_logs() as logged:
        found = log_dirs_of(HostSettings(cluster="c", broker=7, properties_file=str(file)))
    assert found == ("/a", "/b   # disks")
    assert [(entry["log_level"], entry["file"]) for entry in logged] == [("warning", str(file))]


def test_bytes_are_characters_as_java_takes_them(tmp_path):
    file = tmp_path / "server.properties"
    file.write_bytes("log.dirs=/d\u00e4ta\n".encode())
    settings = HostSettings(cluster="c", broker=7, properties_file=str(file))
    assert log_dirs_of(settings) == ("/d\u00c3\u00a4ta",)


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("node.id=8", True),
        ("node.id= 7 ", False),
        ("broker.id=8", True),
        ("node.id=7\nbroker.id=8", False),
        ("", False),
    ],
)
def test_another_brokers_file_is_refused_by_its_number(tmp_path, text, is_refused):
    file = tmp_path / "server.properties"
    file.write_text(text)
    settings = HostSettings(cluster="c", broker=7, properties_file=str(file))
    if is_refused:
        with pytest.raises(UserError, match="node 8"):
            log_dirs_of(settings)
    else:
        assert log_dirs_of(settings) == ("/tmp/kafka-logs",)
