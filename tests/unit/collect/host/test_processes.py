"""Whether a broker runs on this host, by the table of processes."""

import pytest

from logdirwatch.collect.host.logs import LOOKS_TO_END, KernelLog
from logdirwatch.collect.host.sources import is_running

KILLED = "[ 12.5] Out of memory: Killed process 811 (java) total-vm:1kB\n"


def process(proc, number, *arguments, comm="java", node="node.id=7", main="kafka.Kafka"):
    folder = proc / str(number)
    (folder / "root/etc").mkdir(parents=True)
    (folder / "root/etc/server.properties").write_text(node)
    (folder / "comm").write_text(f"{comm}\n")
    words = ["java", "-Xmx1g", main, *(arguments or ["/etc/server.properties"])]
    (folder / "cmdline").write_bytes("\0".join(words).encode() + b"\0")


@pytest.mark.parametrize(
    ("made", "is_seen"),
    [
        ({}, True),
        ({"node": "broker.id=7"}, True),
        ({"main": "io.confluent.support.metrics.SupportedKafka"}, True),
        ({"node": "node.id=8"}, False),
        ({"node": ""}, False),
        ({"main": "org.apache.kafka.connect.cli.ConnectDistributed"}, False),
        ({"comm": "bash"}, False),
    ],
)
def test_a_broker_is_known_by_its_class_and_its_properties_file(tmp_path, made, is_seen):
    process(tmp_path, 811, **made)
    assert is_running(7, tmp_path) is is_seen


def test_what_overrides_the_file_decides(tmp_path):
    process(tmp_path, 811, "/etc/server.properties", "--override", "node.id=9")
    assert is_running(9, tmp_path)
    assert not is_running(7, tmp_path)


def test_a_file_that_cannot_be_read_names_nobody(tmp_path):
    process(tmp_path, 811, "etc/none.properties")
    (tmp_path / "812").mkdir()
    (tmp_path / "self").mkdir()
    assert not is_running(7, tmp_path)


class Source:
    """A log in which one kill was told, and nothing since."""

    def __init__(self):
        self.pieces = [KILLED.encode()]

    def read(self):
        pieces, self.pieces = self.pieces, []
        return iter(pieces)


@pytest.mark.parametrize(
    ("looks_alive", "told_at"),
    [
        (0, [0]),
        (3, [3]),
        (LOOKS_TO_END * 3, []),
    ],
    ids=["it is gone", "it ends a moment later", "it runs on: another Java process was killed"],
)
def test_a_kill_is_the_brokers_only_if_it_is_gone(looks_alive, told_at):
    looks = 0
    log = KernelLog(Source(), lambda: looks < looks_alive)
    told = []
    for looks in range(LOOKS_TO_END * 4):
        told += [looks for _ in log.findings()]
    assert told == told_at
