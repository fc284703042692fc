"""The logs that the host source reads."""

import asyncio

import pytest
import structlog

from logdirwatch.collect.host import logs as log_sources
from logdirwatch.collect.host.logs import KernelRing
from logdirwatch.collect.host.sources import HostEyes, kernel_source
from logdirwatch.collect.host.tail import TailState
from logdirwatch.collect.host.watch import look_once
from logdirwatch.errors import UserError
from tests.unit.collect.builders import T0
from tests.unit.collect.host.conftest import reserve_of
from tests.unit.parse.broker_log.logs import NOISE, START

CLEANER = (
    "[{}] WARN Unexpected exception thrown when cleaning log Log(dir={}/t-0, topic=t). Marking its partition (t-0) as "
    "uncleanable (org.apache.kafka.storage.internals.log.LogCleaner)\n"
)


def test_the_cleaners_own_log_beside_the_main_one_is_read_too(machine):
    beside = machine.log.with_name("log-cleaner.log")
    beside.write_text("")
    machine.start()
    beside.write_text(START + CLEANER.format("2026-03-01 16:22:09,000", machine.dirs[0]) + NOISE)
    machine.read()
    assert [(e.event, e.topic, e.log_dir) for e in machine.records] == [("PartitionUncleanable", "t", machine.dirs[0])]
    machine.watch.end()
    machine.start()
    machine.read()
    assert len(machine.records) == 1, "a restart of ours repeats nothing"
    assert {str(machine.log), str(beside)} <= set(machine.eyes.positions())


def test_what_another_log_told_of_an_earlier_run_is_history(machine):
    machine.log.write_text(START)
    beside = machine.log.with_name("log-cleaner.log")
    before, after = ("2026-02-01 10:00:00,000", "2026-03-01 17:00:00,000")
    for at, told in ((before, []), (after, ["PartitionUncleanable"])):
        beside.write_text(CLEANER.format(at, machine.dirs[0]))
        machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState(), back_bytes=1 << 20)
        record, events = asyncio.run(look_once(machine.settings, machine.eyes, T0))
        assert [event.event for event in events] == told
        assert record.log_entries == 2
        machine.eyes.close()


def test_lines_that_are_not_understood_are_said_once(machine):
    machine.start()
    machine.write("<failure dir=/d1/>\n", "<failure dir=/d1/>\n")
    machine.read()
    with structlog.testing.capture_logs() as logged:
        records = [machine.look(), machine.look()]
    assert [record.log_lines_not_understood for record in records] == [2, 2]
    assert [entry["lines"] for entry in logged if entry["event"] == "host.log.not_understood"] == [2]


class Ring:
    """Stands where the kernel's buffer is."""

    def __init__(self, *reads):
        self.reads = list(reads)

    def __call__(self, descriptor, size):
        if not self.reads:
            raise BlockingIOError
        if isinstance(self.reads[0], OSError):
            raise self.reads.pop(0)
        return self.reads.pop(0)


def test_the_kernels_own_buffer_is_read_record_by_record_past_what_was_overwritten(tmp_path, monkeypatch):
    (tmp_path / "kmsg").write_text("")
    ring = KernelRing(str(tmp_path / "kmsg"))
    monkeypatch.setattr(log_sources.os, "read", Ring(b"6,1,2,-;a\n", BrokenPipeError(), b"6,3,4,-;b\n"))
    assert list(ring.read()) == [b"6,1,2,-;a\n", b"6,3,4,-;b\n"]
    assert list(ring.read()) == []
    ring.close()


def test_a_kernel_log_may_still_come_but_a_device_must_open(tmp_path, monkeypatch):
    assert list(kernel_source(str(tmp_path / "kern.log"), None).read()) == []
    device = kernel_source("/dev/null", None)
    assert list(device.read()) == []
    device.close()

    def refused(*args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(log_sources.os, "open", refused)
    with pytest.raises(UserError, match=r"host\.kernel_log /dev/null: Operation not permitted"):
        kernel_source("/dev/null", None)
