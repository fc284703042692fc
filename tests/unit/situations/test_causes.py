"""Why a directory is offline, from the evidence there is: what must be concluded, and what must not."""

import pytest

from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import Driver, host_dir, log_dir
from tests.unit.situations.table import Conclusion, check_conclusion

D1, D2 = "/d1", "/d2"
PATHS = tuple(f"/d{number}" for number in range(1, 13))
WELL = {"volume": "dev 8:16", "is_root_volume": False, "is_read_only": False, "total_inodes": 1_000, "free_inodes": 600}


def _serves(driver: Driver, used: float = 0.4, looks: bool = True, **fields: object) -> Driver:
    """Two directories that serve, seen by the broker and by its host."""
    for _ in range(4):
        driver.poll(log_dir(D1, used, **fields), log_dir(D2, 0.31))
        if looks:
            driver.host(host_dir(D1, probe_ms=2.0, **WELL))
    return driver


def _offline(driver: Driver, *gone: str, polls: int = 2) -> Driver:
    gone = gone or (D1,)
    for _ in range(polls):
        driver.poll(*(log_dir(path, error_code=56) if path in gone else log_dir(path, 0.31) for path in (D1, D2)))
    return driver


def _looks(driver: Driver, **seen: object) -> Driver:
    return driver.host(host_dir(D1, **(WELL | seen)))


def _log_says(cause: str, detail: str = "append failed", **fields: object):
    def given(driver: Driver) -> None:
        _serves(driver).event(log_dir=D1, cause=cause, detail=detail, **fields)
        _offline(driver)

    return given


def _and(given, driver: Driver) -> Driver:
    given(driver)
    return driver


def _log_says_late(cause: str, detail: str = "append failed", **fields: object):
    def given(driver: Driver) -> None:
        _offline(_serves(driver)).event(log_dir=D1, cause=cause, detail=detail, **fields)
        _offline(driver)

    return given


def _host_sees(before: bool = False, **seen: object):
    def given(driver: Driver) -> None:
        _serves(driver)
        if before:
            _looks(driver, **seen)
        _offline(driver)
        _looks(driver, **seen)
        _offline(driver)

    return given


def _kernel_says(cause: str, text: str, device: str = "sdd", before: bool = True):
    def given(driver: Driver) -> None:
        _serves(driver)
        word = {"kernel_error": text, "kernel_cause": cause, "device": device}
        if before:
            _looks(driver, probe_ms=2.0, **word)
        _offline(driver)
        if not before:
            _looks(driver, probe_ms=2.0, **word)

    return given


def _nothing_known(driver: Driver) -> None:
    _offline(_serves(driver, looks=False))


def _full(driver: Driver) -> None:
    _offline(_serves(driver, 0.99999))


def _io_error_then_mount_read_only(driver: Driver) -> None:
    """strimzi#13152: the path to a volume drops and returns, the file system stays read-only."""
    _log_says("failed", "checkpoint failed: Input/output error")(driver)
    for _ in range(3):
        _looks(
            driver,
            is_read_only=True,
            probe_error="probe: Read-only file system; kernel: EXT4-fs (sdb): Remounting filesystem read-only",
        )
        _offline(driver)


def _read_only_then_io_error(driver: Driver) -> None:
    _host_sees(is_read_only=True)(driver)
    driver.event(log_dir=D1, cause="failed", detail="append failed: Input/output error")


def _io_error_and_the_kernel_names_the_device(driver: Driver) -> None:
    _log_says("failed", "append failed: Input/output error")(driver)
    word = {"kernel_error": "critical medium error, dev sdd, sector 4711", "kernel_cause": "failed", "device": "sdd"}
    _looks(driver, is_read_only=True, **word)


def _limit_though_the_mount_is_read_only(driver: Driver) -> None:
    _log_says("limit", "Too many open files")(driver)
    _looks(driver, is_read_only=True)


def _host_then_kernel(driver: Driver) -> None:
    _host_sees(is_read_only=True)(driver)
    _looks(driver, is_read_only=True, kernel_error="I/O error, dev sdd", kernel_cause="failed", device="sdd")


def _old_kernel_error(driver: Driver) -> None:
    _serves(driver)
    _looks(driver, probe_ms=1.0, kernel_error="I/O error, dev sdd", kernel_cause="failed", device="sdd")
    driver.at_ms += 3 * 3_600_000
    _offline(_serves(driver))


def _never_seen_by_the_host(driver: Driver) -> None:
    for _ in range(3):
        driver.poll(log_dir(D1, 0.4), log_dir(D2, 0.31))
    _offline(driver)
    driver.host(host_dir(D1, probe_error="look: No such file or directory"))


def _mount_lost_to_the_root_volume(driver: Driver) -> None:
    _offline(_serves(driver))
    _looks(driver, is_root_volume=True, volume="dev 253:0")


def _all_at_once(*gone: str, used: float = 0.5, event: dict[str, str] | None = None, limit: int = 0):
    def given(driver: Driver) -> None:
        for _ in range(4):
            driver.poll(*(log_dir(path, used + 0.001 * number) for number, path in enumerate(PATHS)))
        if event is not None:
            driver.event(**event)
        lost = gone or PATHS[: limit or len(PATHS)]
        for _ in range(2):
            driver.poll(*(log_dir(path, 0.5, error_code=56 if path in lost else 0) for path in PATHS))

    return given


def _told_by_events_one_after_the_other(driver: Driver) -> None:
    for _ in range(4):
        driver.poll(*(log_dir(path, 0.5) for path in PATHS))
    for path in PATHS[:5]:
        driver.event(log_dir=path, after_ms=200)


def _first_seen_like_this(driver: Driver) -> None:
    driver.poll(*(log_dir(path, error_code=56) for path in PATHS[:3]), log_dir("/d4"))


def _half_an_hour_apart(driver: Driver) -> None:
    _offline(_serves(driver), polls=360)
    _offline(driver, D1, D2)


def _idle_on_one_volume(*shares, alike=True):
    def given(driver: Driver) -> None:
        for _ in range(12 * 60):
            driver.poll(
                *(
                    log_dir(path, 0.6 if alike else 0.6 + 0.01 * number, replica_bytes=round(share * (1_000 << 30)))
                    for number, (path, share) in enumerate(zip(PATHS, shares, strict=False))
                )
            )

    return given


def _halts_at_a_limit(driver: Driver) -> None:
    """A limit takes one directory, the next poll finds both gone, and the broker halts."""
    _log_says("limit", "Too many open files")(driver)
    _offline(driver, D1, D2)
    for _ in range(80):
        fenced = {"controller_at_ms": driver.at_ms + 5_000, "is_registered": True, "is_fenced": True}
        driver.poll(status="timeout", error="connection refused", **fenced)


OFFLINE = "log_dir_offline"
COMMON = "look for a common cause (controller, bus, mount, limit)"
CONCLUSIONS = [
    Conclusion("space was left and nobody says why", _nothing_known, {OFFLINE: "unknown"}, says=("cause unknown",)),
    Conclusion("no byte was left", _full, {OFFLINE: "full"}, says=("no space left (99.9 % of the volume used)",)),
    Conclusion(
        "the log names files that vanished",
        _log_says("unknown", "delete failed: java.nio.file.NoSuchFileException: /d1/t-0/1.log"),
        {OFFLINE: "unknown"},
        says=("the broker's log says: delete failed: java.nio.file.NoSuchFileException",),
        never_says=("disk failure",),
    ),
    Conclusion("the log names a limit", _log_says("limit", "Too many open files"), {OFFLINE: "limit"}),
    Conclusion("the log names a limit afterwards", _log_says_late("limit", "Map failed"), {OFFLINE: "limit"}),
    Conclusion("the log names a lost mount", _log_says("remount", "Stale file handle"), {OFFLINE: "remount"}),
    Conclusion("the log names a corrupt file system", _log_says("file_system"), {OFFLINE: "file_system"}),
    Conclusion("the log names a permission", _log_says("permission"), {OFFLINE: "permission"}),
    Conclusion("the log names a read-only mount afterwards", _log_says_late("read_only"), {OFFLINE: "read_only"}),
    Conclusion(
        "the log names an I/O error",
        _log_says("failed", "append failed: Input/output error"),
        {OFFLINE: "failed"},
        says=("I/O error, device not named",),
        never_says=("disk failure",),
    ),
    Conclusion("the log names an I/O error afterwards", _log_says_late("failed"), {OFFLINE: "failed"}),
    Conclusion(
        "the log names a quota at 40 % use",
        _log_says("full", "checkpoint failed: Disk quota exceeded"),
        {OFFLINE: "full"},
        says=("disk quota reached (40.0 % of the volume used)",),
        never_says=("the disk is full", "no space left"),
    ),
    Conclusion(
        "the event itself says quota", _log_says("full", "EDQUOT", full_by="quota"), {OFFLINE: "full"}, says=("quota",)
    ),
    Conclusion(
        "no space left at 40 % use, and nobody knows of what",
        _log_says("full", "append failed: No space left on device", full_by="space"),
        {OFFLINE: "full"},
        says=(": a quota, a thin pool below or, on btrfs, the chunks for metadata may have run out",),
        never_says=("inodes",),
    ),
    Conclusion(
        "no space left at 40 % use, and the host sees a few inodes that a failed replica gave back",
        lambda driver: _looks(_and(_log_says("full", "No space left on device"), driver), free_inodes=20),
        {OFFLINE: "full"},
        says=("no inodes left (98.0 % of the inodes used, 40.0 % of the space)",),
    ),
    Conclusion(
        "no inode is left at 40 % use",
        _host_sees(before=True, free_inodes=0, probe_error="probe: No space left on device"),
        {OFFLINE: "full"},
        says=("no inodes left (100.0 % of the inodes used, 40.0 % of the space)",),
    ),
    Conclusion(
        "the host meets the quota",
        _host_sees(probe_error="probe: Disk quota exceeded"),
        {OFFLINE: "full"},
        says=("disk quota reached",),
    ),
    Conclusion("the host sees the mount read-only", _host_sees(is_read_only=True), {OFFLINE: "read_only"}),
    Conclusion(
        "the host cannot find the path any more",
        _host_sees(volume=None, is_root_volume=None, is_read_only=None, probe_error="look: No such file or directory"),
        {OFFLINE: "remount"},
    ),
    Conclusion(
        "the host's handle is stale",
        _host_sees(volume=None, is_root_volume=None, is_read_only=None, probe_error="look: Stale file handle"),
        {OFFLINE: "remount"},
    ),
    Conclusion(
        "a FUSE mount lost its server",
        _host_sees(volume=None, is_read_only=None, probe_error="look: Transport endpoint is not connected"),
        {OFFLINE: "remount"},
    ),
    Conclusion("the path is on the root volume now", _mount_lost_to_the_root_volume, {OFFLINE: "remount"}),
    Conclusion("a path that the host never saw proves nothing", _never_seen_by_the_host, {OFFLINE: "unknown"}),
    Conclusion(
        "the host's own probe meets EIO", _host_sees(probe_error="probe: Input/output error"), {OFFLINE: "failed"}
    ),
    Conclusion(
        "the host's own probe meets EIO, in the words of Alpine Linux",
        _host_sees(probe_error="probe: I/O error"),
        {OFFLINE: "failed"},
    ),
    Conclusion(
        "the host meets the quota, in the words of Alpine Linux",
        _host_sees(probe_error="probe: Quota exceeded"),
        {OFFLINE: "full"},
        says=("disk quota reached",),
    ),
    Conclusion(
        "a limit that the host source itself reached explains nothing",
        _host_sees(probe_error="probe: Too many open files"),
        {OFFLINE: "unknown"},
    ),
    Conclusion(
        "an immutable directory refuses the host's probe",
        _host_sees(probe_error="probe: Operation not permitted"),
        {OFFLINE: "permission"},
    ),
    Conclusion("the host finds the disk well", _host_sees(probe_ms=2.0), {OFFLINE: "unknown"}),
    Conclusion(
        "the kernel names a device before",
        _kernel_says("failed", "critical medium error, dev sdd, sector 31231"),
        {OFFLINE: "failed"},
        says=("disk failure, not full (device sdd)",),
    ),
    Conclusion(
        "the kernel names a device afterwards",
        _kernel_says("failed", "I/O error, dev nvme3n1, sector 1", "nvme3n1", before=False),
        {OFFLINE: "failed"},
        says=("device nvme3n1",),
    ),
    Conclusion(
        "the kernel tells of a shut-down file system",
        _kernel_says("file_system", "XFS (sdd1): Corruption of in-memory data detected. Shutting down filesystem"),
        {OFFLINE: "file_system"},
    ),
    Conclusion(
        "the kernel lost the device", _kernel_says("remount", "rejecting I/O to offline device"), {OFFLINE: "remount"}
    ),
    Conclusion("an error of the kernel three hours old decides nothing", _old_kernel_error, {OFFLINE: "unknown"}),
    Conclusion(
        "an I/O error whose mount turns out read-only",
        _io_error_then_mount_read_only,
        {OFFLINE: "read_only"},
        says=("the file system is mounted read-only",),
    ),
    Conclusion("a read-only mount, and then the log's I/O error", _read_only_then_io_error, {OFFLINE: "read_only"}),
    Conclusion(
        "an I/O error whose device the kernel names",
        _io_error_and_the_kernel_names_the_device,
        {OFFLINE: "failed"},
        says=("device sdd",),
    ),
    Conclusion(
        "a limit of the log stays, whatever the host sees", _limit_though_the_mount_is_read_only, {OFFLINE: "limit"}
    ),
    Conclusion("the kernel overrules the host", _host_then_kernel, {OFFLINE: "failed"}, says=("device sdd",)),
    Conclusion(
        "twelve directories in one poll with space left",
        _all_at_once(),
        {OFFLINE: "unknown"},
        says=("12 log directories went offline together", COMMON),
        never_says=("disk failure",),
    ),
    Conclusion(
        "two directories of twelve in one poll",
        _all_at_once("/d3", "/d7"),
        {OFFLINE: "unknown"},
        says=("2 log directories went offline together (/d3, /d7)", COMMON),
    ),
    Conclusion(
        "twelve directories, and the log of one names a limit",
        _all_at_once(event={"log_dir": "/d5", "cause": "limit", "detail": "Too many open files"}),
        {OFFLINE: "limit"},
        says=("12 log directories went offline together", "a limit of the operating system was reached"),
    ),
    Conclusion(
        "five events one after the other",
        _told_by_events_one_after_the_other,
        {OFFLINE: "unknown"},
        says=("5 log directories went offline together", COMMON),
    ),
    Conclusion(
        "three directories of a full volume",
        _all_at_once(used=0.99999, limit=3),
        {OFFLINE: "full"},
        says=("no space left",),
    ),
    Conclusion("two idle directories of one volume", _idle_on_one_volume(0.4, 0.19), {}),
    Conclusion("three idle directories of one volume", _idle_on_one_volume(0.2, 0.2, 0.2), {}),
    Conclusion("one directory with bytes that nobody explains", _idle_on_one_volume(0.4), {"unaccounted_bytes": None}),
    Conclusion(
        "two directories alike, with bytes that neither explains",
        _idle_on_one_volume(0.1, 0.1),
        {"unaccounted_bytes": None},
    ),
    Conclusion(
        "two directories of different use explain nothing of each other",
        _idle_on_one_volume(0.6, 0.2, alike=False),
        {"unaccounted_bytes": None},
        says=("Broker 7 /d2",),
        never_says=("Broker 7 /d1",),
    ),
    Conclusion(
        "the broker halts with its last directory: why the first one failed is told",
        _halts_at_a_limit,
        {OFFLINE: "unknown", "broker_offline": None},
        says=("last seen: directory /d1 offline, a limit of the operating system was reached",),
    ),
    Conclusion(
        "offline at first sight: nobody knows whether they went together",
        _first_seen_like_this,
        {OFFLINE: "unknown"},
        says=("3 log directories went offline together",),
    ),
]


@pytest.mark.parametrize("row", CONCLUSIONS, ids=lambda row: row.name)
def test_what_is_concluded_of_an_offline_directory(row):
    check_conclusion(row)


def test_directories_that_fail_half_an_hour_apart_have_an_alert_each():
    driver = Driver()
    _half_an_hour_apart(driver)
    assert [(alert.rule, alert.log_dir) for alert in driver.open_alerts()] == [(OFFLINE, D1), (OFFLINE, D2)]


def test_leaders_lost_with_several_directories_page_once():
    driver = Driver()
    driver.poll(log_dir(D1), log_dir(D2))
    driver.poll(*(log_dir(p, error_code=56) for p in (D1, D2)), partitions=PartitionHealth(leaderless=3))
    assert driver.said() == [(OFFLINE, "firing", "page")]
