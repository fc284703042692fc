"""What the kernel said of a disk stands until there is evidence that it has healed."""

import pytest

from logdirwatch.detect.rules.kernel_errors import TROUBLES_KEPT
from logdirwatch.model.records import DecisionRecord, HostRecord, KernelNews
from logdirwatch.model.vocabulary import Decision
from logdirwatch.parse.kernel_log.lines import kernel_news, placed
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors
from tests.unit.detect.builders import GIB, POLL_MS, Driver, host_dir, host_view, log_dir

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
NAMES = frozenset({"sdd", "sde", "dm-4", "253:4", "8:16", "8:32", "nas1", "nvme3n1", "ata7", "session1"})
MEDIUM = "blk_update_request: critical medium error, dev sdd, sector 31231 op 0x0:(READ) flags 0x80700"
PATH = "device-mapper: multipath: 253:2: Failing path 8:16."
PATH_BACK = "device-mapper: multipath: 253:2: Reinstating path 8:16."
SERVER = "nfs: server nas1 not responding, still trying"


def good(path="/d1", **fields):
    return host_dir(
        path, **{"volume": "dev 8:49", "is_root_volume": False, "is_read_only": False, "probe_ms": 1.0} | fields
    )


def said(*lines, path="/d1", **fields):
    """A look, and what the kernel said since the one before; the probe passed."""
    by_dir, _ = placed([one for line in lines for one in kernel_news(line)], {path: NAMES})
    return with_kernel_errors([good(path, **fields)], by_dir)


def watched(*lines, **fields):
    return Driver().polls(0.4, 0.4).host(good()).host(*said(*lines, **fields))


def quiet(driver, ms, *, every_ms=10 * MINUTE_MS, **fields):
    """Time with polls and looks at which nothing more is said."""
    for _ in range(max(1, ms // every_ms)):
        driver.at_ms += every_ms - POLL_MS - 1
        driver.polls(0.4).host(good(**fields))
    return driver


def why(driver):
    return [kind for a in driver.open_alerts() if a.rule == "log_dir_suspect" for kind in a.evidence["why"]]


def healthy(driver, path="/d1", **fields):
    driver.at_ms += 1
    record = DecisionRecord(
        version=1,
        id=f"prod/7/{path}",
        decision=Decision.HEALTHY,
        by="ada",
        reason="new disk",
        at_ms=driver.at_ms,
        cluster="prod",
        broker=7,
        log_dir=path,
    )
    return driver.show(record, **fields)


@pytest.mark.parametrize(
    ("line", "kind", "severity", "device"),
    [
        (MEDIUM, "medium_error", "warning", "sdd"),
        ("I/O error, dev sdd, sector 7", "device_error", "critical", "sdd"),
        ("XFS (dm-4): I/O Error Detected. Shutting down filesystem", "file_system_error", "critical", "dm-4"),
        ("EXT4-fs (dm-4): Remounting filesystem read-only", "remounted_read_only", "critical", "dm-4"),
        (
            "device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode",
            "pool_full",
            "critical",
            "253:4",
        ),
        ("nvme nvme3: I/O 331 QID 9 timeout, aborting", "timed_out", "warning", "nvme3"),
        (PATH, "path_lost", "warning", "8:16"),
        (SERVER, "server_not_responding", "warning", "nas1"),
    ],
)
def test_a_line_makes_its_directory_suspect_with_its_device(line, kind, severity, device):
    driver = watched(line)
    (alert,) = driver.open_alerts()
    assert (alert.rule, alert.log_dir, str(alert.severity)) == ("log_dir_suspect", "/d1", severity)
    assert (alert.evidence["why"], alert.evidence["device"]) == ([kind], device)
    assert alert.evidence[kind] == f"the kernel reports for {device}: {line}"
    assert line in alert.summary


def test_a_person_says_that_the_disk_is_good():
    driver = healthy(watched(MEDIUM))
    assert driver.open_alerts() == []
    assert driver.alerts[-1].reason == "ada declared it healthy: new disk"
    driver.host(good())
    assert driver.open_alerts() == []
    driver.host(*said(MEDIUM))
    assert why(driver) == ["medium_error"], "what comes later is held against it again"


def test_the_word_of_a_person_covers_what_was_said_before_it_only():
    driver = watched(MEDIUM)
    driver.host(*said("I/O error, dev sde, sector 7"))
    record_at_ms = driver.at_ms - 1
    driver.at_ms = record_at_ms - 1
    healthy(driver)
    assert why(driver) == ["device_error"], "the alert goes on, and names what still holds"
    assert set(driver.memory.log_dirs["/d1"].suspicions) == {"device_error"}


def test_the_word_of_a_person_about_another_directory_or_of_another_kind_changes_nothing():
    driver = healthy(watched(MEDIUM), path="/elsewhere")
    driver.plan(HOUR_MS)
    assert why(driver) == ["medium_error"]


def test_one_path_that_is_back_says_nothing_of_another_one():
    driver = watched(PATH, PATH.replace("8:16", "8:32"))
    assert driver.open_alerts()[0].evidence["device"] == "8:16, 8:32"
    driver.host(*said(PATH_BACK))
    assert why(driver) == ["path_lost"]
    assert driver.open_alerts()[0].evidence["device"] == "8:32"


def test_silence_without_a_probe_proves_nothing():
    driver = Driver().polls(0.4, 0.4).host(good(probe_ms=None)).host(*said(PATH, probe_ms=None))
    quiet(driver, DAY_MS, every_ms=HOUR_MS, probe_ms=None)
    assert why(driver) == ["path_lost"]
    quiet(driver, HOUR_MS, probe_error="probe: Input/output error", probe_ms=None)
    assert why(driver) == ["path_lost", "probe"]


def test_a_source_that_no_longer_looks_ends_nothing():
    driver = watched(PATH)
    for _ in range(60):
        driver.at_ms += HOUR_MS
        driver.polls(0.4)
    assert "path_lost" in driver.memory.log_dirs["/d1"].troubles["path_lost 8:16"].kind


def test_a_remount_ends_when_the_mount_is_seen_to_be_writable_later():
    line = "EXT4-fs (dm-4): Remounting filesystem read-only"
    driver = watched(line, is_read_only=True)
    driver.host(good(is_read_only=True))
    assert why(driver) == ["read_only", "remounted_read_only"]
    driver.host(good(is_read_only=False))
    assert why(driver) == []
    at_once = watched(line, is_read_only=False)
    assert why(at_once) == ["remounted_read_only"], "the look may have been before the line"


def test_another_trouble_or_another_device_is_news_and_the_same_again_is_none():
    driver = watched(PATH)
    driver.host(*said(PATH)).host(*said(MEDIUM)).host(*said(MEDIUM)).host(*said(MEDIUM.replace("sdd", "sde")))
    told = [(a.evidence["why"], a.evidence["device"]) for a in driver.alerts if a.rule == "log_dir_suspect"]
    assert told == [
        (["path_lost"], "8:16"),
        (["medium_error", "path_lost"], "8:16, sdd"),
        (["medium_error", "path_lost"], "8:16, sdd, sde"),
    ]


def test_a_directory_that_comes_back_after_a_failure_is_suspect_as_before():
    driver = watched(MEDIUM)
    driver.poll(log_dir(error_code=56)).host(*said("I/O error, dev sde, sector 9"))
    assert [str(a.rule) for a in driver.open_alerts()] == ["log_dir_offline"]
    assert set(driver.memory.log_dirs["/d1"].troubles) == {"medium_error sdd", "device_error sde"}
    driver.polls(0.4).host(good())
    assert why(driver) == ["device_error", "medium_error"]


def test_older_sources_wrote_the_line_behind_the_probes_error():
    driver = Driver().polls(0.4).host(good(probe_error=f"kernel: {MEDIUM}"))
    assert why(driver) == ["medium_error"]
    quiet(driver, DAY_MS, every_ms=HOUR_MS)
    assert why(driver) == ["medium_error"]
    driver.host(good(probe_error=f"probe: Input/output error; kernel: {PATH}"))
    assert why(driver) == ["medium_error", "path_lost", "probe"]
    assert "the probe failed: probe: Input/output error" in driver.open_alerts()[0].summary
    benign = Driver().polls(0.4).host(good(probe_error="kernel: nvme nvme3: I/O 978 QID 3 timeout, completion polled"))
    assert benign.open_alerts() == []
    assert benign.memory.log_dirs["/d1"].proof_ms == benign.at_ms, "the probe itself passed"


def test_what_a_newer_source_calls_otherwise_is_left_out():
    driver = Driver().polls(0.4).host(good(kernel=[KernelNews(trouble="haunted", text="boo", device="sdd")]))
    assert driver.open_alerts() == []


def test_a_storm_of_devices_is_kept_bounded():
    news = [KernelNews(trouble="path_lost", text=str(n), device=f"8:{n}") for n in range(50)]
    driver = Driver().polls(0.4).host(good(kernel=news))
    assert list(driver.memory.log_dirs["/d1"].troubles) == [f"path_lost 8:{n}" for n in range(50 - TROUBLES_KEPT, 50)]


def hung(driver, *lines):
    news = [one.news for line in lines for one in kernel_news(line)]
    driver.at_ms += 1
    seen = host_view(driver.at_ms, good("/d1"), good("/d2"))
    return driver.show(HostRecord(**{name: getattr(seen, name) for name in seen.__struct_fields__} | {"kernel": news}))


def test_a_task_that_hangs_makes_the_broker_suspect_until_all_its_disks_were_written_for_hours():
    driver = Driver().poll(log_dir("/d1"), log_dir("/d2"))
    hung(driver, "INFO: task kafka-scheduler:8123 blocked for more than 120 seconds.")
    (alert,) = driver.open_alerts()
    assert (alert.rule, alert.log_dir, alert.evidence["why"], alert.evidence["device"]) == (
        "log_dir_suspect",
        None,
        ["hung"],
        None,
    )
    assert "the kernel reports: INFO: task kafka-scheduler:8123" in alert.summary
    assert "no disk is suspect; check the path to it first" in alert.summary
    driver.at_ms += HOUR_MS
    hung(driver)
    assert driver.open_alerts()
    driver.at_ms += HOUR_MS + 1
    hung(driver)
    assert driver.open_alerts() == []


def test_a_task_that_hangs_is_not_over_while_one_disk_was_not_written():
    driver = Driver().poll(log_dir("/d1"), log_dir("/d2"))
    hung(driver, "INFO: task java:7 blocked for more than 120 seconds.")
    driver.at_ms += 3 * HOUR_MS
    driver.show(host_view(driver.at_ms, good("/d1")))
    assert driver.memory.troubles, "nothing is known of /d2"
    healthy(driver, path=None)
    assert driver.open_alerts() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"config_error": "does not exist on this host"},
        {"probe_error": "look: No such file or directory"},
        {"probe_error": "look: Permission denied"},
    ],
)
def test_a_path_that_the_source_cannot_look_at_makes_no_directory_suspect(fields):
    driver = Driver().polls(0.4)
    for _ in range(5):
        driver.host(host_dir("/d1", **fields)).polls(0.4)
    assert driver.open_alerts() == []
    assert driver.memory.log_dirs["/d1"].proof_ms is None


def test_nor_does_it_end_what_was_seen_before():
    driver = Driver().polls(0.4).host(good(probe_ms=None, probe_error="probe: Input/output error"))
    driver.host(host_dir("/d1", config_error="does not exist on this host"))
    assert why(driver) == ["probe"]


@pytest.mark.parametrize(
    ("lines", "cause", "device"),
    [
        ([" connection1:0: detected conn error (1022)", "I/O error, dev sdd, sector 7"], "remount", "session1"),
        (["I/O error, dev sdd, sector 7", PATH], "remount", "8:16"),
        ([SERVER, "XFS (dm-4): I/O Error Detected. Shutting down filesystem"], "remount", "nas1"),
        ([PATH, MEDIUM], "failed", "sdd"),
        ([PATH, PATH_BACK, "I/O error, dev sdd, sector 7"], "failed", "sdd"),
        (["XFS (dm-4): Corruption detected. Unmount and run xfs_repair"], "file_system", "dm-4"),
        (
            ["nvme nvme3: I/O 331 QID 9 timeout, aborting", "nvme nvme3: Device not ready; aborting reset"],
            "failed",
            "nvme3",
        ),
        (["EXT4-fs (dm-4): Remounting filesystem read-only"], "read_only", "dm-4"),
        (["device-mapper: thin: 253:4: no free data space available."], "full", "253:4"),
    ],
)
def test_a_failure_is_explained_by_what_lies_behind_it(lines, cause, device):
    for looks in ([lines], [[line] for line in lines]):
        driver = Driver().polls(0.4, 0.4).host(good())
        for told in looks:
            driver.host(*said(*told))
        driver.poll(log_dir(error_code=56))
        (alert,) = driver.open_alerts()
        assert (alert.rule, alert.cause, alert.evidence["decided_by"]) == ("log_dir_offline", cause, "kernel_log")
        assert (alert.evidence["device"], alert.evidence["kernel_error"]) == (device, alert.evidence["said"])


def test_a_path_that_was_lost_hours_ago_explains_no_error_of_now():
    driver = quiet(watched(PATH), 70 * MINUTE_MS)
    driver.host(*said("I/O error, dev sdd, sector 7")).poll(log_dir(error_code=56))
    assert driver.open_alerts()[0].cause == "failed"


@pytest.mark.parametrize(
    ("line", "ms", "is_over"),
    [
        (MEDIUM, 21 * DAY_MS - 1, False),
        (MEDIUM, 21 * DAY_MS, True),
        (PATH, 2 * HOUR_MS - 1, False),
        (PATH, 2 * HOUR_MS, True),
    ],
)
def test_an_end_comes_when_it_is_due_and_not_before(line, ms, is_over):
    driver = watched(line)
    driver.host(good()).host(good(), after_ms=ms - 1)
    assert (why(driver) == []) is is_over


def test_a_mount_that_was_never_seen_to_be_read_only_is_writable_only_later():
    driver = watched("EXT4-fs (dm-4): Remounting filesystem read-only", is_read_only=None)
    driver.host(good(is_read_only=None))
    assert why(driver) == ["remounted_read_only"], "nobody can tell"
    driver.host(good(is_read_only=False))
    assert why(driver) == []


def fails(driver):
    return driver.poll(log_dir(error_code=56))


def test_what_it_said_before_a_person_called_the_disk_good_explains_nothing():
    assert fails(healthy(watched(MEDIUM))).cause() == "unknown"


def test_what_heals_and_is_never_proven_ends_after_the_weeks_of_what_does_not_heal():
    driver = Driver().polls(0.4, 0.4).host(good(probe_ms=None)).host(*said(PATH, probe_ms=None))
    quiet(driver, 20 * DAY_MS, every_ms=12 * HOUR_MS, probe_ms=None)
    assert why(driver) == ["path_lost"]
    quiet(driver, 2 * DAY_MS, every_ms=12 * HOUR_MS, probe_ms=None)
    assert why(driver) == []


def test_what_the_kernel_said_hours_before_a_failure_is_not_quoted_with_it():
    driver = quiet(watched(MEDIUM), 5 * HOUR_MS, every_ms=HOUR_MS)
    (alert,) = driver.poll(log_dir(error_code=56)).open_alerts()
    assert (alert.rule, alert.cause, alert.evidence["kernel_error"]) == ("log_dir_offline", "unknown", None)
    assert "the kernel's log says" not in alert.summary


def test_a_probe_that_passes_again_leaves_the_alert_to_what_the_kernel_said():
    driver = watched(MEDIUM, probe_ms=None, probe_error="probe: Input/output error")
    assert why(driver) == ["medium_error", "probe"]
    driver.host(good())
    assert why(driver) == ["medium_error"]
    assert "the probe failed" not in driver.open_alerts()[0].summary


READ_FAILED = "java.io.IOException: Input/output error"


@pytest.mark.parametrize(
    ("case", "cause", "detail", "back", "suspects"),
    [
        ("a start heals an I/O error", "failed", READ_FAILED, log_dir("/d1", 0.5), [READ_FAILED]),
        ("a new disk of the same size", "failed", READ_FAILED, log_dir("/d1", 0.01), []),
        ("a new disk of another size", "failed", READ_FAILED, log_dir("/d1", 0.5, total_bytes=GIB), []),
        ("it was full", "full", "No space left on device", log_dir("/d1", 0.5), []),
        ("too many files", "limit", "Too many open files", log_dir("/d1", 0.5), []),
        ("nobody knows why", "unknown", "it failed", log_dir("/d1", 0.5), []),
    ],
)
def test_a_disk_that_failed_is_suspect_after_the_start_that_it_outlives(case, cause, detail, back, suspects):
    driver = Driver().polls(0.5, 0.5)
    driver.event(log_dir="/d1", cause=cause, detail=detail)
    driver.poll(log_dir("/d1", error_code=56))
    driver.poll(status="timeout", error="connection refused")
    driver.poll(back)
    found = [alert for alert in driver.open_alerts() if alert.rule == "log_dir_suspect"]
    assert [alert.evidence["medium_error"].rpartition(": ")[2] for alert in found] == [
        text.rpartition(": ")[2] for text in suspects
    ], case
    assert all(str(alert.severity) == "warning" and "I/O error" in alert.summary for alert in found)
    assert "log_dir_offline" not in {alert.rule for alert in driver.open_alerts()}


def test_it_ends_when_a_person_declares_the_disk_healthy():
    driver = Driver().polls(0.5, 0.5)
    driver.event(log_dir="/d1", cause="failed", detail=READ_FAILED)
    driver.poll(log_dir("/d1", error_code=56))
    driver.poll(status="timeout", error="connection refused")
    driver.polls(0.5, 0.5)
    healthy(driver)
    assert driver.open_alerts() == []
