"""Which cause, number and device an operator reads of offline directories."""

import pytest

from logdirwatch.detect.alerts import offline_messages
from logdirwatch.detect.causes import KERNEL_NEAR_MS, SPACE_WAS_LEFT
from logdirwatch.detect.state.broker_state import (
    BrokerMemory,
    KernelFinding,
    LogDirMemory,
    OpenAlert,
    Trouble,
    Verdict,
)
from logdirwatch.model.vocabulary import POLLED_FAILURE, Cause, FullBy, KernelTrouble, Rule, Severity
from tests.unit.detect.builders import T0

COMMON = "look for a common cause"


def log_dir(cause=Cause.FAILED, decided_by="broker_log", *, full_by=None, device=None, said=None, **fields):
    verdict = Verdict(cause=cause, decided_by=decided_by, full_by=full_by, device=device, said=said)
    return LogDirMemory(verdict=verdict, cause=cause, offline_ms=T0, **fields)


def broker(*dirs):
    return BrokerMemory(cluster="prod", broker=7, log_dirs={f"/d{n}": one for n, one in enumerate(dirs, 1)})


def why(one):
    text = offline_messages.place_and_cause(broker(one), ["/d1"])
    assert text.startswith("Broker 7 /d1 is offline: ")
    return text.removeprefix("Broker 7 /d1 is offline: ")


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (log_dir(), "I/O error, device not named: a disk, the path to it, or its mount"),
        (log_dir(decided_by="host_io_error"), "I/O error, device not named"),
        (log_dir(decided_by="kernel_log"), "disk failure, not full"),
        (log_dir(device="sdb"), "disk failure, not full (device sdb)"),
        (log_dir(Cause.LIMIT), "a limit of the operating system was reached"),
        (log_dir(Cause.READ_ONLY), "the file system is mounted read-only"),
        (log_dir(Cause.PERMISSION), "the broker may not write there"),
        (log_dir(Cause.REMOUNT), "the mount or the path to the storage is lost"),
        (log_dir(Cause.FILE_SYSTEM, device="dm-0"), "the file system is corrupt or shut itself down"),
    ],
)
def test_each_cause_has_its_words_and_names_the_device(one, said):
    assert why(one).startswith(said)
    assert (f" (device {one.verdict.device})" in why(one)) is (one.verdict.device is not None)


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("roll failed: Too many open files", ": open files of the broker's process (LimitNOFILE, ulimit -n)"),
        ("roll failed: Too many open files in system", ": the kernel's open files (sysctl fs.file-max)"),
        ("roll failed: Map failed", ": memory maps (sysctl vm.max_map_count)"),
        ("roll failed: Cannot allocate memory", ": memory maps (sysctl vm.max_map_count)"),
        ("roll failed: File too large", ": the size of a file (LimitFSIZE, ulimit -f)"),
        ("create failed: /d1/t-0: Too many links", ": folders in one folder (the file system's own limit)"),
        ("create failed: /d1/t-0: 过多的连接", ": folders in one folder (the file system's own limit)"),
        ("unable to create native thread", ": threads and processes (LimitNPROC, TasksMax, sysctl"),
        ("a line that names no error", "; the disk is fine"),
        (None, "; the disk is fine"),
    ],
)
def test_the_limit_that_was_reached_is_named_and_no_other(said, limit):
    assert why(log_dir(Cause.LIMIT, said=said)).startswith(f"a limit of the operating system was reached{limit}")
    others = {"LimitNOFILE", "file-max", "max_map_count", "LimitFSIZE", "folders", "TasksMax"}
    assert len([name for name in others if name in why(log_dir(Cause.LIMIT, said=said))]) <= 1


OTHERS = "a quota, a thin pool below or, on btrfs, the chunks for metadata may have run out"
USED = {"total_bytes": 1_000, "usable_bytes": 100}


@pytest.mark.parametrize(
    ("full_by", "fields", "said"),
    [
        (FullBy.QUOTA, {}, "disk quota reached"),
        (FullBy.QUOTA, USED, "disk quota reached (90.0 % of the volume used)"),
        (FullBy.INODES, {}, "no inodes left"),
        (FullBy.INODES, USED, "no inodes left"),
        (FullBy.INODES, {"used_inodes_ratio": 0.999}, "no inodes left (99.9 % of the inodes used)"),
        (
            FullBy.INODES,
            {"used_inodes_ratio": 0.999, **USED},
            "no inodes left (99.9 % of the inodes used, 90.0 % of the space)",
        ),
        (FullBy.SPACE, USED, "no space left (90.0 % of the volume used)"),
        (None, {}, f"no space left for the broker: inodes, {OTHERS}"),
        (None, USED, f"no space left for the broker (90.0 % of the volume used): inodes, {OTHERS}"),
        (None, {"used_inodes_ratio": 0.4}, f"no space left for the broker: {OTHERS}"),
        (None, {"used_inodes_ratio": 0.0}, f"no space left for the broker: {OTHERS}"),
    ],
)
def test_a_full_directory_says_what_ran_out_and_the_number_seen(full_by, fields, said):
    assert why(log_dir(Cause.FULL, full_by=full_by, **fields)) == said


@pytest.mark.parametrize(
    ("cause", "kind", "device", "said"),
    [
        (Cause.FULL, KernelTrouble.POOL_FULL, "dm-3", "the pool below the volume (device dm-3) has no space left"),
        (Cause.FULL, KernelTrouble.POOL_FULL, None, "the pool below the volume (device unknown) has no space left"),
        (Cause.FULL, KernelTrouble.NO_SPACE, "dm-3", "no space left for the broker:"),
        (Cause.FAILED, KernelTrouble.POOL_FULL, "dm-3", "no space left for the broker:"),
    ],
)
def test_a_pool_below_the_volume_is_named_where_the_kernel_says_so(cause, kind, device, said):
    kernel = KernelFinding(at_ms=T0, cause=cause, text="pool", device=device)
    troubles = {"x": Trouble(kind=kind, text="pool", at_ms=T0)}
    assert why(log_dir(Cause.FULL, kernel=kernel, troubles=troubles)).startswith(said)


@pytest.mark.parametrize(
    ("fields", "decided_by", "said"),
    [
        ({}, "event", "cause unknown"),
        ({}, SPACE_WAS_LEFT, "cause unknown, space was left"),
        (
            {"event_detail": f"{'x' * 200}: File name too long"},
            SPACE_WAS_LEFT,
            f"cause unknown; the broker's log says: {'x' * 51} ... {'x' * 84}: File name too long",
        ),
        ({"event_detail": POLLED_FAILURE}, "event", "cause unknown"),
        (
            {"kernel": KernelFinding(at_ms=T0 - KERNEL_NEAR_MS, cause=Cause.UNKNOWN, text="y" * 200)},
            "event",
            f"cause unknown; the kernel's log says: {'y' * 51} ... {'y' * 104}",
        ),
        (
            {"kernel": KernelFinding(at_ms=T0 - KERNEL_NEAR_MS - 1, cause=Cause.UNKNOWN, text="y")},
            "event",
            "cause unknown",
        ),
        (
            {"event_detail": "line", "kernel": KernelFinding(at_ms=T0, cause=Cause.UNKNOWN, text="y")},
            "event",
            "cause unknown; the broker's log says: line",
        ),
    ],
)
def test_an_unknown_cause_quotes_the_log_that_says_something(fields, decided_by, said):
    assert why(log_dir(Cause.UNKNOWN, decided_by, **fields)) == said


@pytest.mark.parametrize(
    ("dirs", "said"),
    [
        ([log_dir(), log_dir()], f"{offline_messages.UNNAMED}; look for a common cause"),
        ([log_dir(Cause.READ_ONLY), log_dir(Cause.READ_ONLY)], "the file system is mounted read-only"),
        ([log_dir(Cause.UNKNOWN), log_dir(Cause.LIMIT)], "a limit of the operating system was reached"),
        ([log_dir(Cause.UNKNOWN), log_dir(Cause.UNKNOWN)], COMMON),
        ([log_dir(Cause.FULL), log_dir()], f"/d1: full; /d2: failed; {COMMON}"),
        ([log_dir(Cause.UNKNOWN), log_dir()], f"/d2: failed; {COMMON}"),
    ],
)
def test_directories_that_failed_together_have_a_common_cause_or_one_to_look_for(dirs, said):
    away = [f"/d{n}" for n, _ in enumerate(dirs, 1)]
    text = offline_messages.place_and_cause(broker(*dirs), away)
    front = f"Broker 7: {len(dirs)} log directories went offline together ({', '.join(away)}): "
    assert text.startswith(front + said)
    assert (COMMON in text) is (COMMON in said)


def test_of_many_directories_three_are_named_with_the_causes_of_three():
    causes = [Cause.FULL, Cause.FAILED, Cause.READ_ONLY, Cause.PERMISSION]
    text = offline_messages.place_and_cause(broker(*map(log_dir, causes)), ["/d1", "/d2", "/d3", "/d4"])
    assert "(/d1, /d2, /d3 and 1 more): /d1: full; /d2: failed; /d3: read_only; look for" in text


def test_why_a_directory_was_offline_is_none_where_nobody_knows():
    assert offline_messages.why_offline(log_dir(device="sdb")) == "disk failure, not full (device sdb)"
    assert offline_messages.why_offline(log_dir(Cause.UNKNOWN)) is None
    assert offline_messages.why_offline(LogDirMemory()) is None


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([1], "1 replica unavailable there"),
        ([1, 2], "3 replicas unavailable there"),
        ([0], "0 replicas unavailable there"),
        ([1, None], "an unknown number of replicas unavailable there"),
    ],
)
def test_replicas_are_counted_unless_one_directory_does_not_tell(counts, said):
    dirs = [log_dir(replica_count=count) for count in counts]
    assert offline_messages.replicas_there(broker(*dirs), [f"/d{n}" for n, _ in enumerate(dirs, 1)]) == said


def alert(name):
    times = {"opened_at_ms": T0, "from_status": None, "to_status": None}
    return {Rule.LOG_DIR_OFFLINE: OpenAlert(alert_id=name * 32, revision=1, severity=Severity.CRITICAL, **times)}


@pytest.mark.parametrize(
    ("first", "second", "rule", "said"),
    [
        ({}, {}, Rule.LOG_DIR_SUSPECT, "alert closed: the directory is now offline"),
        ({}, {}, Rule.LOG_DIR_SPACE, "space alert closed: the directory is now offline"),
        (
            {"alerts": alert("a")},
            {},
            Rule.LOG_DIR_SPACE,
            "space alert closed: the directory is now offline (see aaaaaaaa)",
        ),
        (
            {"carrier": "/d2"},
            {"alerts": alert("b")},
            Rule.LOG_DIR_SPACE,
            "space alert closed: the directory is now offline (see bbbbbbbb)",
        ),
        (
            {"carrier": "/gone", "alerts": alert("a")},
            {"alerts": alert("b")},
            Rule.LOG_DIR_SPACE,
            "space alert closed: the directory is now offline (see aaaaaaaa)",
        ),
    ],
)
def test_an_alert_that_the_failure_replaces_names_the_one_to_see(first, second, rule, said):
    assert offline_messages.closed(broker(log_dir(**first), log_dir(**second)), "/d1", rule) == said
