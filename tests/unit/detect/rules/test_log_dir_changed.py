"""log_dir_changed: another volume, and a directory that came back empty. Size and reserve: test_log_dir_space."""

from dataclasses import dataclass, field

import pytest

from logdirwatch.model.records import PartitionHealth
from logdirwatch.plan.recommend import recommend
from tests.unit.detect.builders import GIB, POLL_MS, TOTAL, Driver, host_dir, log_dir
from tests.unit.plan import builders as b

RULE = "log_dir_changed"


def looked(driver, number, usable_bytes, total_bytes=TOTAL):
    return driver.host(
        host_dir(volume=f"dev 259:{number}", is_root_volume=False, total_bytes=total_bytes, usable_bytes=usable_bytes)
    )


@pytest.mark.parametrize(
    ("usable_bytes", "total_bytes", "said"),
    [
        pytest.param(int(TOTAL * 0.7), TOTAL, [], id="renumbered by a boot"),
        pytest.param(int(TOTAL * 0.705), TOTAL, [], id="renumbered, and a little was deleted meanwhile"),
        pytest.param(TOTAL, TOTAL, [(RULE, "firing", "warning")], id="an empty disk of the same size"),
        pytest.param(int(TOTAL * 0.7), TOTAL + GIB, [(RULE, "firing", "warning")], id="a disk of nearly the same size"),
        pytest.param(None, TOTAL, [(RULE, "firing", "warning")], id="its use is not known"),
    ],
)
def test_another_device_number_is_another_volume_unless_size_and_use_are_the_same(usable_bytes, total_bytes, said):
    driver = looked(Driver().polls(0.3), 1, int(TOTAL * 0.7))
    assert looked(driver, 3, usable_bytes, total_bytes).said(RULE) == said


def test_what_was_renumbered_is_known_by_its_new_number():
    driver = looked(looked(Driver().polls(0.3), 1, int(TOTAL * 0.7)), 3, int(TOTAL * 0.7))
    assert driver.memory.log_dirs["/d1"].volume == "dev 259:3"


OTHER = "another volume answers at its path"
ROOT = {"volume": "dev 8:1", "is_root_volume": True, "total_bytes": TOTAL // 20, "usable_bytes": TOTAL // 25}
NEW = {"volume": "dev 8:99", "is_root_volume": False, "total_bytes": TOTAL, "usable_bytes": TOTAL // 2}


@pytest.mark.parametrize(
    ("case", "used_ratio", "total_bytes", "host", "ended"),
    [
        ("a smaller volume has room", 0.2, TOTAL // 20, None, OTHER),
        ("nearly as large", 0.2, TOTAL - 2 * TOTAL // 100, None, OTHER),
        ("the root volume has room", 0.2, TOTAL // 20, ROOT, OTHER),
        ("a root volume that is larger has room", 0.2, 2 * TOTAL, ROOT, OTHER),
        ("a new volume of the same size has room", 0.2, TOTAL, NEW, OTHER),
        ("the volume was enlarged", 0.45, 2 * TOTAL, None, "recovered"),
        ("its replicas were moved to a larger one", 0.45, 2 * TOTAL, NEW | {"total_bytes": 2 * TOTAL}, "recovered"),
        ("replicas were moved off it", 0.2, TOTAL, None, "recovered"),
        ("its size wavers by a thousandth, as on zfs", 0.2, TOTAL - TOTAL // 1000, None, "recovered"),
        ("the smaller volume is full as well", 0.97, TOTAL // 20, None, None),
    ],
)
def test_room_on_another_volume_is_no_recovery_of_the_one_that_was_full(case, used_ratio, total_bytes, host, ended):
    driver = Driver().polls(*[0.97] * 5)
    driver.host(host_dir(volume="dev 8:17", is_root_volume=False, total_bytes=TOTAL, usable_bytes=TOTAL // 30))
    for _ in range(8):
        if host is not None:
            driver.host(host_dir(**host))
        driver.poll(log_dir("/d1", used_ratio, total_bytes=total_bytes))
    resolved = [one for one in driver.alerts if one.rule == "log_dir_space" and one.status == "resolved"]
    assert [one.reason for one in resolved] == ([] if ended is None else [ended]), case
    changed = [one.alert_id for one in driver.open_alerts() if one.rule == RULE]
    assert [one.merged_into for one in resolved if one.reason == OTHER] == (changed if ended == OTHER else [])


def test_the_full_volume_is_told_again_when_it_is_back():
    driver = Driver().polls(*[0.97] * 5)
    for _ in range(5):
        driver.poll(log_dir("/d1", 0.2, total_bytes=TOTAL // 20))
    driver.polls(*[0.97] * 5)
    assert [alert.rule for alert in driver.open_alerts()] == ["log_dir_space"]
    assert driver.said(RULE)[-1] == (RULE, "resolved", "recovered")


HOUR_MS = 3_600_000
FULL, COUNT = 500 * GIB, 80


def held(size_bytes=FULL, count=COUNT, behind=0, path="/d1", total_bytes=TOTAL):
    """An answer about a directory that holds nothing but its replicas."""
    share = size_bytes / total_bytes
    counts = {"replica_count": count, "replica_bytes": size_bytes, "out_of_sync_count": behind}
    return log_dir(path, share, total_bytes=total_bytes, **counts)


BESIDE = held(path="/d2", size_bytes=FULL + GIB)
EMPTY = held(2 * GIB, behind=COUNT)
NONE, TAKEN = held(0, 0), held(FULL + GIB, 2 * COUNT, COUNT, "/d2")
FENCED = {"is_registered": True, "is_fenced": True}


def away(driver, for_ms=300_000, every_ms=POLL_MS):
    for _ in range(for_ms // every_ms):
        driver.at_ms += every_ms - POLL_MS
        driver.poll(status="timeout", error="connection refused", controller_at_ms=driver.at_ms + POLL_MS, **FENCED)


def offline_first(cause, text):
    def drive(driver):
        driver.event(log_dir="/d1", cause=cause, detail=text)
        for _ in range(3):
            driver.poll(log_dir("/d1", error_code=56), BESIDE)
        away(driver)

    return drive


def maintained(driver):
    driver.plan(24 * HOUR_MS)
    away(driver)


def host(volume, **fields):
    return lambda driver: driver.host(host_dir(volume=volume, total_bytes=TOTAL, usable_bytes=TOTAL // 2, **fields))


def renewed(driver):
    host("dev 8:17", is_root_volume=False)(driver)
    away(driver)


def replaced_at_night(driver):
    host("dev 8:17", is_root_volume=False)(driver)
    away(driver, 8 * HOUR_MS, 600_000)
    driver.host(host_dir(volume="dev 8:99", is_root_volume=False, total_bytes=TOTAL, usable_bytes=TOTAL - GIB))


@dataclass(frozen=True)
class Emptied:
    """What happens before the directory answers again, how it answers then, and what fires at the end."""

    name: str
    meanwhile: object
    then: tuple = (EMPTY,) * 6
    severity: str | None = "critical"
    says: tuple[str, ...] = ("/d1 came back empty: its replicas hold 2 GiB, 500 GiB before; check its mount",)
    before: tuple = (held(),) * 4
    others: tuple = (BESIDE,)
    others_then: tuple | None = None
    never: tuple[str, ...] = field(default=("is suspect", "slow"))
    nowhere: int | None = None


def nothing(driver):
    """Nothing is noticed between two polls."""


HELD = (held(),) * 4


def silent(name, meanwhile, then, before=HELD, **more):
    return Emptied(name, meanwhile, then, None, (), before, **more)


ROWS = [
    Emptied("a restart on an empty disk", away),
    Emptied("a restart that no poll has seen", nothing),
    Emptied("half of it was copied again before the next scan", away, (held(FULL // 2, behind=40),) * 3,
            says=("hold 250 GiB, 500 GiB before",)),
    Emptied("its replicas are made again one by one", away,
            (held(0, 8, 8), held(GIB, 50, 50), held(2 * GIB, 79, 79)) + (EMPTY,) * 3),
    Emptied("the first answers repeat the last scan", away, (held(),) * 3 + (EMPTY,) * 3),
    Emptied("its replicas leave the in-sync sets after half a minute", nothing, (held(2 * GIB),) * 4 + (EMPTY,) * 2),
    Emptied("its only directory", away, others=()),
    Emptied("it was offline for a lost mount", offline_first("remount", "Stale file handle")),
    Emptied("it was offline, and nobody knows why", offline_first("unknown", "it failed")),
    Emptied("no other broker has its replicas, so that they are in sync at once", away, (held(0),) * 4,
            says=("hold 0 B, 500 GiB before",)),
    Emptied("another disk, which the host sees as well", renewed),
    Emptied("half of its replicas are in sync again", away, (EMPTY, held(90 * GIB, behind=40))),
    Emptied("they are in sync again, with less than before", away, (EMPTY, held(90 * GIB))),
    Emptied("in maintenance it is a note", maintained, severity="info", says=("because the broker is in maintenance",)),
    Emptied("its replicas are made again in the other directory", away, (NONE,) * 4, others_then=(TAKEN,),
            says=("hold 0 B, 500 GiB before",)),
    Emptied("made again there, and in sync, since no other broker has them", away, (NONE,) * 4,
            others_then=(held(FULL + GIB, 2 * COUNT, path="/d2"),), says=("hold 0 B, 500 GiB before",)),
    Emptied("made again there, and some are copied already", away, (NONE,) * 4,
            others_then=(held(FULL + 200 * GIB, 2 * COUNT, COUNT // 2, "/d2"),), says=("hold 0 B, 500 GiB before",)),
    Emptied("made again there, the volume is another", renewed, (NONE,) * 4, others_then=(TAKEN,),
            says=("hold 0 B, 500 GiB before",)),
    Emptied("made again there, on a smaller volume", away, (held(0, 0, total_bytes=TOTAL // 20),) * 4,
            others_then=(TAKEN,), says=("came back empty",)),
    silent("drained while nobody looked: the bytes are beside it", away, (NONE,) * 4,
           others_then=(held(2 * FULL + GIB, 2 * COUNT, path="/d2"),)),
    silent("drained, and the rest lags after the restart", away, (NONE,) * 4,
           others_then=(held(2 * FULL + GIB, 2 * COUNT, COUNT, "/d2"),)),
    Emptied("they are in none of its directories, and the cluster still counts them here", away, (NONE,) * 4,
            others_then=(BESIDE,), nowhere=COUNT, says=("hold 0 B, 500 GiB before",)),
    silent("fewer are nowhere than left: topics were deleted", away, (NONE,) * 4, others_then=(BESIDE,), nowhere=20),
    silent("how many lag beside it is not known", away, (NONE,) * 4, others_then=(log_dir("/d2", 0.5),), nowhere=COUNT),
    silent("its replicas went to other brokers", away, (NONE,) * 4, others_then=(BESIDE,)),
    silent("they went to other brokers, and the rest lags", away, (NONE,) * 4,
           others_then=(held(FULL + GIB, COUNT, COUNT, "/d2"),)),
    silent("moved there while the broker answers", nothing, (NONE,) * 4,
           others_then=(held(2 * FULL + GIB, 2 * COUNT, path="/d2"),)),
    silent("how many there are beside it is not known", away, (NONE,) * 4, others_then=(log_dir("/d2", 0.5),)),
    silent("it holds again what it held", away, (EMPTY, held(300 * GIB, behind=9), held(480 * GIB))),
    silent("its volume is mounted again", away, (EMPTY, EMPTY, held(behind=70), held())),
    silent("retention deleted half of it", nothing, (held(FULL // 4),) * 6),
    silent("retention deleted nearly all of it", nothing, (held(0),) * 6),
    silent("a restart, and nothing is lost", away, (held(behind=COUNT),) * 3 + (held(),) * 3),
    silent("a restart, and retention deleted a third", away, (held(340 * GIB, behind=COUNT),) * 6),
    silent("topics were deleted, and the rest lags", nothing, (held(GIB, 20, 18),) * 2),
    silent("its replicas were moved elsewhere", nothing, (held(GIB, 2),) * 6),
    silent("away for two days: retention passed meanwhile",
           lambda driver: away(driver, 48 * HOUR_MS, 600_000), (EMPTY,) * 6),
    silent("away for a night", lambda driver: away(driver, 8 * HOUR_MS, 600_000), (EMPTY,) * 6),
    Emptied("away for a night, and the host sees another disk", replaced_at_night),
    silent("a failed disk was replaced", offline_first("failed", "Input/output error"), (EMPTY,) * 6),
    silent("a full one was emptied by hand", offline_first("full", "No space left on device"), (EMPTY,) * 6),
    silent("how many replicas it held is not known", away, (EMPTY,) * 6, before=(log_dir("/d1", 0.5),) * 4),
    silent("it never held anything", away, (held(GIB, behind=COUNT),) * 6, before=(held(0),) * 4),
    silent("half of one of its two replicas", nothing, (held(GIB // 4, 2, 1),) * 3, before=(held(GIB, 2),) * 4),
]  # fmt: skip


def shown(row):
    driver = Driver()
    for answer in row.before:
        driver.poll(answer, *row.others)
    row.meanwhile(driver)
    health = {} if row.nowhere is None else {"partitions": PartitionHealth(out_of_sync=row.nowhere)}
    for answer in row.then:
        driver.poll(answer, *(row.others if row.others_then is None else row.others_then), **health)
    return driver


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_directory_that_came_back_empty_is_told(row):
    driver = shown(row)
    found = [alert for alert in driver.open_alerts() if alert.log_dir == "/d1"]
    assert [(str(alert.rule), str(alert.severity)) for alert in found if alert.rule == "log_dir_changed"] == (
        [] if row.severity is None else [("log_dir_changed", row.severity)]
    )
    summaries = "\n".join(alert.summary for alert in found)
    assert [text for text in row.says if text not in summaries] == []
    assert [text for text in row.never if text in summaries] == []


def test_it_is_told_once_and_ends_after_a_day_in_sync():
    driver = shown(Emptied("", away, (EMPTY,) * 50))
    assert driver.said("log_dir_changed") == [("log_dir_changed", "firing", "critical")]
    for _ in range(25):
        driver.at_ms += HOUR_MS
        driver.poll(EMPTY, BESIDE)
    assert [alert.rule for alert in driver.open_alerts()] == ["log_dir_changed"]
    driver.poll(held(90 * GIB), BESIDE)
    assert driver.said("log_dir_changed")[-1] == ("log_dir_changed", "resolved", "it stayed so")


def test_room_in_it_is_no_recovery_of_a_full_directory():
    full = held(960 * GIB)
    driver = shown(Emptied("", away, before=(full,) * 4))
    ended = next(alert for alert in driver.alerts if alert.rule == "log_dir_space" and alert.status == "resolved")
    assert ended.reason == "another volume answers at its path"
    assert ended.merged_into is not None


def test_the_mount_is_looked_at_first_and_nothing_is_formatted():
    driver = shown(ROWS[0])
    (alert,) = [alert for alert in driver.open_alerts() if alert.rule == "log_dir_changed"]
    assert (alert.evidence.why, alert.evidence.replica_bytes_before) == ("emptied", FULL)
    facts = b.facts(b.directory(7, "/d1"), b.directory(8, "/d1"), b.topic("t", (8, 7)), b.replica(7, "/d1", "t"))
    (action,) = recommend(alert, facts, b.policy(), b.NOW_MS)
    assert "which volume is mounted there" in action.reason
    assert "findmnt --target /d1" in action.commands[0]
    assert "make no file system on it" in action.reason
