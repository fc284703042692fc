"""The host source as a whole: what it publishes, and what it remembers."""

import asyncio
import threading

import pytest
import structlog

from logdirwatch.collect.host import watch as host
from logdirwatch.collect.host.logs import QUIET_LOOKS
from logdirwatch.collect.host.prober import MISSING
from logdirwatch.collect.host.sources import HostEyes, other_logs_of
from logdirwatch.collect.host.tail import TailState
from logdirwatch.collect.host.watch import look_once
from logdirwatch.collect.settings import HostSettings
from logdirwatch.model.records import EventRecord, HostLogDir, HostRecord
from logdirwatch.parse import records as parse
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.collect.builders import T0
from tests.unit.collect.host.conftest import reserve_of
from tests.unit.parse.broker_log.logs import NOISE, START, failure, marked


def test_a_failure_in_the_log_becomes_an_event_with_its_cause(machine):
    machine.start()
    machine.write(failure(f"Error while rolling log segment for t-0 in dir {machine.dirs[1]}"), NOISE)
    machine.read()
    (sent,) = machine.sent
    assert (sent.topic, sent.key) == ("logdir.events", b"prod/7")
    (event,) = machine.records
    assert (event.event, event.cause, event.log_dir) == ("LogDirFailure", "full", machine.dirs[1])
    assert (event.timestamp_ms, event.collector, event.topic) == (T0, "host-b7", None)
    assert "roll failed" in event.detail


def test_a_bad_partition_becomes_an_event_that_condemns_no_directory(machine):
    machine.start()
    machine.write(marked("orders-12"), NOISE)
    machine.read()
    (event,) = machine.records
    assert (event.event, event.topic, event.partition) == ("PartitionFailed", "orders", 12)
    assert (event.cause, event.log_dir) == (None, None)


def test_the_last_entry_is_judged_though_nothing_follows_it(machine):
    machine.start()
    machine.write(failure(f"Error in dir {machine.dirs[0]}"))
    machine.read(QUIET_LOOKS)
    assert machine.failed_dirs == []
    machine.read()
    assert machine.failed_dirs == [machine.dirs[0]]


def test_a_directory_that_fails_in_the_next_run_of_the_broker_is_told_again(machine):
    machine.start()
    again = failure(f"Error in dir {machine.dirs[0]}")
    machine.write(again, again, NOISE)
    machine.read()
    machine.write(START, again, NOISE)
    machine.read()
    assert machine.failed_dirs == [machine.dirs[0]] * 2


def test_what_failed_before_the_broker_started_again_is_history(machine):
    machine.start()
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), marked(), START, NOISE)
    machine.read()
    assert machine.sent == []


def test_a_log_that_is_read_anew_tells_of_the_present_run_only(machine):
    machine.start()
    machine.watch.end()
    machine.log.unlink()
    machine.write(*(failure(f"Error in dir {path}") for path in machine.dirs))
    machine.write(START, failure(f"Error in dir {machine.dirs[1]}"), NOISE)
    machine.start()
    assert machine.failed_dirs == [machine.dirs[1]]


def test_a_restart_of_ours_repeats_nothing_and_misses_nothing(machine):
    machine.start()
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), NOISE)
    machine.read(host.READS_PER_SAVE)
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), failure(f"Error in dir {machine.dirs[1]}"), NOISE)
    machine.start()
    assert machine.failed_dirs == list(machine.dirs)


def test_a_restart_of_ours_in_the_middle_of_an_entry_reads_it_whole(machine):
    machine.start()
    first, rest = failure(f"Error in dir {machine.dirs[0]}").split("\n", 1)
    machine.write(first, "\n")
    machine.read(host.READS_PER_SAVE)
    machine.write(rest, NOISE)
    machine.start()
    (event,) = machine.records
    assert (event.log_dir, event.cause) == (machine.dirs[0], "full")


def test_a_crash_before_an_event_arrived_repeats_it(machine):
    machine.start()
    machine.is_delivered = False
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), NOISE)
    machine.read(host.READS_PER_SAVE)
    machine.start()
    assert machine.failed_dirs == [machine.dirs[0]] * 2


def test_once_an_event_arrived_it_is_not_repeated(machine):
    machine.start()
    machine.is_delivered = False
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), NOISE)
    machine.read(host.READS_PER_SAVE)
    machine.is_delivered = True
    machine.watch.end()
    machine.start()
    assert machine.failed_dirs == [machine.dirs[0]]


def test_before_the_first_event_a_telemetry_cluster_that_is_away_does_not_hold_up_the_position(machine):
    machine.is_delivered = False
    machine.start()
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), NOISE)
    machine.start()
    assert machine.failed_dirs == [machine.dirs[0]]


def test_a_look_becomes_a_record_of_its_kind(machine):
    machine.start()
    record = machine.look()
    (sent,) = machine.sent
    assert (sent.topic, sent.key) == ("logdir.metrics", b"prod/7")
    assert machine.records == [record]
    assert (record.collector, record.interval_ms, record.timestamp_ms) == ("host-b7", 10_000, T0)
    assert [log_dir.path for log_dir in record.log_dirs] == list(machine.dirs)
    assert all(log_dir.probe_error is None and log_dir.probe_ms is not None for log_dir in record.log_dirs)


def test_a_clock_that_is_set_back_makes_no_record_older_than_one_before(machine):
    machine.start()
    machine.look()
    machine.write(marked("t-0"), marked("t-1"), NOISE)
    machine.read()
    machine.clock.at_ms -= 30_000
    machine.look()
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), NOISE)
    machine.read()
    for kind, times in ((HostRecord, [T0, T0 + 1]), (EventRecord, [T0, T0 + 1, T0 + 2])):
        assert [record.timestamp_ms for record in machine.records if isinstance(record, kind)] == times


def test_the_stream_reads_the_record(machine):
    machine.start()
    machine.look()
    (sent,) = machine.sent
    assert parse._metrics(sent.value, None) == machine.records[0]


def test_an_error_of_the_kernel_is_told_with_its_directory_or_without_one_and_once(machine, monkeypatch):
    monkeypatch.setattr(
        "logdirwatch.collect.host.block_devices.devices_below",
        lambda numbers: dict.fromkeys(numbers, frozenset({"sdb"})),
    )
    machine.start()
    machine.kernel.write_text("blk_update_request: I/O error, dev sdb, sector 1\nI/O error, dev sdq, sector 2\n")
    machine.read()
    record = machine.look()
    assert [(log_dir.kernel_error, log_dir.kernel_cause, log_dir.device) for log_dir in record.log_dirs] == [
        ("blk_update_request: I/O error, dev sdb, sector 1", "failed", "sdb")
    ] * 2
    assert [log_dir.probe_error for log_dir in record.log_dirs] == [None] * 2
    assert record.errors == ["I/O error, dev sdq, sector 2"]
    assert machine.look().errors == []


def test_a_kill_that_the_kernel_tells_becomes_the_event_of_a_broker_that_ended(machine):
    machine.start()
    machine.kernel.write_text("Out of memory: Killed process 812 (java) total-vm:1kB\nI/O error, dev sdq, sector 2\n")
    machine.read()
    (event,) = machine.records
    assert (event.event, event.reason, event.log_dir) == ("BrokerFailure", "oom_killed", None)
    assert "Killed process 812 (java)" in event.detail
    assert machine.look().errors == ["I/O error, dev sdq, sector 2"]


def test_an_error_of_the_kernel_stands_beside_that_of_the_probe(machine, monkeypatch):
    numbers = []
    monkeypatch.setattr(
        "logdirwatch.collect.host.block_devices.devices_below",
        lambda asked: numbers.append(dict(asked)) or dict.fromkeys(asked, frozenset({"sdb"})),
    )
    machine.look_at = lambda path: HostLogDir(path=path, volume="dev 8:17", probe_error="probe: x")
    machine.start()
    machine.kernel.write_text("I/O error, dev sdb, sector 1\n")
    machine.read()
    assert {(log_dir.probe_error, log_dir.kernel_error) for log_dir in machine.look().log_dirs} == {
        ("probe: x", "I/O error, dev sdb, sector 1")
    }
    assert set(numbers[0].values()) == {"8:17"}


def test_a_directory_that_is_not_probed_is_said_once(machine):
    machine.look_at = lambda path: HostLogDir(path=path)
    machine.start()
    with structlog.testing.capture_logs() as logged:
        machine.look()
        machine.look()
    assert [entry["path"] for entry in logged] == list(machine.dirs)


@pytest.mark.parametrize("is_probing", [True, False])
def test_a_path_of_another_mount_namespace_is_said_once_as_a_fault_of_the_configuration(machine, is_probing):
    machine.settings = machine.settings.model_copy(update={"probe": is_probing})
    machine.look_at = lambda path: HostLogDir(path=path, config_error=MISSING)
    machine.start()
    with structlog.testing.capture_logs() as logged:
        machine.look()
        machine.look()
    assert [entry["why"].split(":")[0] for entry in logged] == ["wrong configuration"] * 2
    assert f"log directory {machine.dirs[0]} does not exist on this host: is watch-host" in logged[0]["why"]


def test_no_error_of_a_disk_is_laid_upon_a_path_of_another_mount_namespace(machine, monkeypatch):
    monkeypatch.setattr(
        "logdirwatch.collect.host.block_devices.devices_below", lambda asked: dict.fromkeys(asked, frozenset({"sda"}))
    )
    fields = {"config_error": MISSING}
    machine.look_at = lambda path: HostLogDir(path=path, **fields)
    machine.start()
    machine.kernel.write_text("I/O error, dev sda, sector 1\n")
    machine.read()
    record = machine.look()
    assert [log_dir.kernel_error for log_dir in record.log_dirs] == [None, None]
    assert record.errors == ["I/O error, dev sda, sector 1"]
    fields = {"volume": "dev 8:1"}
    machine.look()
    fields = {"config_error": MISSING}
    machine.write_kernel("I/O error, dev sda, sector 2\n")
    machine.read()
    assert [bool(log_dir.kernel_error) for log_dir in machine.look().log_dirs] == [True, True], "it was seen before"


def test_it_runs_until_it_is_stopped_though_a_directory_hangs(machine, monkeypatch):
    monkeypatch.setattr(host, "READ_MS", 1)
    gate = threading.Event()
    machine.look_at = lambda path: gate.wait(DEADLINE_S) and HostLogDir(path=path)
    machine.settings = machine.settings.model_copy(update={"interval_ms": 1, "probe_timeout_ms": 10})
    machine.start()

    async def run():
        running = asyncio.create_task(machine.watch.run())
        await asyncio.to_thread(wait_until, lambda: len(machine.sent) > 1, DEADLINE_S, "records", 0.005)
        machine.write(failure(f"Error in dir {machine.dirs[1]}"), NOISE)
        await asyncio.to_thread(wait_until, lambda: machine.failed_dirs, DEADLINE_S, "the event", 0.005)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    try:
        asyncio.run(asyncio.wait_for(run(), DEADLINE_S))
        machine.watch.end()
    finally:
        gate.set()
    record = next(record for record in machine.records if isinstance(record, HostRecord))
    assert all(log_dir.probe_error.startswith("no answer for") for log_dir in record.log_dirs)
    assert machine.failed_dirs == [machine.dirs[1]]


def test_other_logs_may_be_named_instead(tmp_path):
    for name in ("server.log", "log-cleaner.log", "controller.log"):
        (tmp_path / name).write_text("")
    main = str(tmp_path / "server.log")
    assert other_logs_of(main, None) == [str(tmp_path / "log-cleaner.log"), str(tmp_path / "controller.log")]
    assert other_logs_of(main, ("/x/kafkaServer.out", main)) == ["/x/kafkaServer.out"]
    assert other_logs_of(main, ()) == []


def test_without_logs_the_directories_are_looked_at_all_the_same(tmp_path):
    settings = HostSettings(cluster="c", broker=0, log_dirs=(str(tmp_path),))
    eyes = HostEyes(settings, settings.log_dirs, reserve_of, TailState())
    record, events = asyncio.run(look_once(settings, eyes, T0))
    assert (record.log_entries, record.log_lines_not_understood) == (None, None)
    assert (record.log_dirs[0].probe_error, events, eyes.positions()) == (None, [], {})


def test_a_start_in_the_log_is_reported_from_then_on_and_is_older_than_the_failures_behind_it(machine):
    machine.start()
    asyncio.run(machine.watch.look())
    machine.write(START, failure(f"Error in dir {machine.dirs[0]}"), NOISE)
    machine.read()
    asyncio.run(machine.watch.look())
    before, event, after = machine.records
    assert (before.broker_started_ms, event.event) == (None, "LogDirFailure")
    assert before.timestamp_ms <= after.broker_started_ms < event.timestamp_ms


def test_one_look_tells_what_the_log_says_of_the_present_run_only(machine):
    machine.log.write_text("")
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), START, failure(f"Error in dir {machine.dirs[1]}"))
    machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState(), back_bytes=1 << 20)
    record, events = asyncio.run(look_once(machine.settings, machine.eyes, T0))
    assert [event.log_dir for event in events] == [machine.dirs[1]]
    assert len(record.log_dirs) == 2
    assert not machine.state_folder.exists()


@pytest.mark.parametrize(
    ("text", "back_bytes", "read"),
    [
        (START + NOISE, 1 << 20, (2, 0)),
        ("one word\n" * 3, 1 << 20, (0, 3)),
        (START + failure() + NOISE, len(failure() + NOISE) - 150, (1, 0)),
        ("a word\n" * 100, 300, (0, 43)),
    ],
    ids=["understood", "not understood", "begun in the middle of an entry", "begun in the middle of what nobody knows"],
)
def test_a_look_says_how_much_of_the_log_was_understood(machine, text, back_bytes, read):
    machine.log.write_text(text)
    machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState(), back_bytes=back_bytes)
    record, _ = asyncio.run(look_once(machine.settings, machine.eyes, T0))
    assert (record.log_entries, record.log_lines_not_understood) == read


def test_one_look_says_that_the_log_is_missing(machine):
    machine.log.unlink()
    machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState())
    with structlog.testing.capture_logs() as logged:
        asyncio.run(look_once(machine.settings, machine.eyes, T0))
    assert [entry["error"] for entry in logged] == ["No such file or directory"]
