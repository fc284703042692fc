"""What the texts say of an alert: how full, how long, what halts, and whether it can wait until morning."""

import pytest

from logdirwatch.detect.alerts import absence_messages, messages, offline_messages
from logdirwatch.detect.alerts.offline_messages import UNNAMED
from logdirwatch.detect.state.broker_state import (
    BrokerLogFinding,
    BrokerMemory,
    Change,
    LogDirMemory,
    Maintenance,
    Verdict,
)
from logdirwatch.model.capabilities import HIDES_LOG_DIRS, CapacitySource
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import NOT_OF_A_DISK, Cause, KernelTrouble, LogDirStatus, Rule, Severity
from tests.unit.detect.builders import GIB, T0

HOUR_MS = 3_600_000
HEALTHY, UNDER = PartitionHealth(), PartitionHealth(under_min_isr=1)
PLANNED = Maintenance(at_ms=T0, until_ms=T0 + HOUR_MS, by="ada", reason="new disk")
MAINTENANCE = "maintenance until 2023-11-14 23:13:20Z by ada (new disk)"


def broker(log_dir=None, **fields):
    dirs = {} if log_dir is None else {"/d1": log_dir}
    return BrokerMemory(cluster="prod", broker=7, **{"log_dirs": dirs, "newest_ms": T0, **fields})


def waits(text):
    return text.partition("can wait until morning: ")[2].partition(",")[0]


def filling(used=0.8, **fields):
    given = {"status": LogDirStatus.FILLING, "total_bytes": 1_000 * GIB, "sample_at_ms": T0}
    return LogDirMemory(**(given | {"usable_bytes": round((1 - used) * 1_000) * GIB} | fields))


def space(log_dir, decided_by="used_ratio", halts=None, severity=Severity.WARNING, **fields):
    return messages.space(broker(log_dir, **fields), "/d1", log_dir, decided_by, halts, severity=severity)


@pytest.mark.parametrize(
    ("log_dir", "decided_by", "said"),
    [
        (filling(), "used_ratio", "Broker 7 /d1 is filling: 80.0 % of 1000 GiB used;"),
        (filling(status=LogDirStatus.CRITICAL), "used_ratio", "Broker 7 /d1 is critical: 80.0 % of 1000 GiB used;"),
        (filling(total_bytes=None), "used_ratio", "is filling: an unknown share of an unknown size used;"),
        (
            filling(capacity_source=CapacitySource.CONFIGURATION),
            "used_ratio",
            "used (estimated from the configured capacity and its replicas);",
        ),
        (filling(), "forecast", "used, by its forecast;"),
        (filling(), "moves_do_not_fit", "used, running moves add more than fits;"),
        (filling(), "inodes", "used, its inodes run out;"),
        (filling(used_inodes_ratio=0.97), "inodes", "used, its inodes run out (97.0 % of them used);"),
        (filling(used_inodes_ratio=0.97), "used_ratio", "1000 GiB used;"),
        (filling(full_at_ms=T0 + 2 * HOUR_MS), "used_ratio", "used, full in about 2 h;"),
    ],
)
def test_a_filling_directory_says_how_full_it_is_and_what_decided(log_dir, decided_by, said):
    assert said in space(log_dir, decided_by)


@pytest.mark.parametrize(
    ("halts", "said"),
    [
        (None, None),
        ("metadata_dir", "the whole broker halts with it: it is the directory of its metadata log"),
        ("last_dir", "the whole broker halts with it: it is its last directory"),
        ("migration", "the whole broker halts with it: it migrates from ZooKeeper to KRaft"),
    ],
)
def test_a_directory_whose_loss_halts_the_broker_says_so(halts, said):
    text = space(filling(), halts=halts)
    assert ("halts" in text) is (said is not None)
    assert said is None or said in text


@pytest.mark.parametrize(
    ("log_dir", "severity", "answer"),
    [
        (filling(), Severity.WARNING, "yes"),
        (filling(status=LogDirStatus.SATURATED), Severity.CRITICAL, "no"),
        (filling(full_at_ms=T0 + HOUR_MS), Severity.CRITICAL, "no"),
        (filling(full_at_ms=T0 + 13 * HOUR_MS), Severity.CRITICAL, "yes"),
    ],
)
def test_whether_a_filling_directory_can_wait(log_dir, severity, answer):
    assert waits(space(log_dir, severity=severity)) == answer


def lost(decided_by="broker_log", **fields):
    verdict = Verdict(cause=Cause.FAILED, decided_by="broker_log")
    return LogDirMemory(status=LogDirStatus.OFFLINE, verdict=verdict, decided_by=decided_by, replica_count=3, **fields)


@pytest.mark.parametrize(
    ("partitions", "severity", "decided_by", "answer"),
    [
        (HEALTHY, Severity.CRITICAL, "broker_log", "yes"),
        (HEALTHY, Severity.PAGE, "broker_log", "no"),
        (HEALTHY, Severity.CRITICAL, None, "no"),  # the next poll must show what was lost
        (UNDER, Severity.CRITICAL, "broker_log", "no"),
        (PartitionHealth(leaderless=1), Severity.CRITICAL, "broker_log", "no"),
        (PartitionHealth(sole_replica=1), Severity.CRITICAL, "broker_log", "yes"),
        (None, Severity.CRITICAL, "broker_log", "no"),
    ],
)
def test_an_offline_directory_can_wait_while_every_partition_is_served(partitions, severity, decided_by, answer):
    text = messages.offline(broker(lost(decided_by), partitions=partitions), ["/d1"], severity)
    assert text.startswith(f"Broker 7 /d1 is offline: {UNNAMED}; 3 replicas unavailable there")
    assert waits(text) == answer


def test_of_several_directories_all_must_be_confirmed_before_it_can_wait():
    memory = broker(partitions=HEALTHY, log_dirs={"/d1": lost(), "/d2": lost(None)})
    assert waits(messages.offline(memory, ["/d1", "/d2"])) == "no"
    assert waits(messages.offline(memory, ["/d1"])) == "yes"


WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL
HEALS = next(trouble for trouble in KernelTrouble if trouble.heals and trouble is not KernelTrouble.NO_SPACE)


@pytest.mark.parametrize(
    ("kinds", "severity", "answer"),
    [
        (["slow_probe"], WARNING, "yes, because Kafka has not taken it offline; but a disk that behaves"),
        ([KernelTrouble.POOL_FULL], CRITICAL, "no, because writes wait or fail until the pool has space"),
        ([KernelTrouble.POOL_FULL, "slow_probe"], CRITICAL, "no, because a disk that behaves like this may be failing"),
        ([KernelTrouble.NO_SPACE], WARNING, "no, because writes fail until there is space"),
        ([KernelTrouble.NO_SPACE, KernelTrouble.MEDIUM_ERROR], CRITICAL, "no, because a disk that behaves like this"),
        (
            ["no_directory"],
            CRITICAL,
            "no, because Kafka can create no file there, and the next one that it tries takes",
        ),
        (["no_directory", "probe"], CRITICAL, "no, because Kafka can create no file there"),
        (["read_only"], CRITICAL, "no, because the next write takes the directory offline"),
        ([KernelTrouble.REMOUNTED_READ_ONLY], CRITICAL, "no, because the next write takes the directory offline"),
        (
            ["read_only", KernelTrouble.DEVICE_ERROR],
            CRITICAL,
            "no, because a disk that behaves like this may be failing",
        ),
        (["read_only", KernelTrouble.NO_SPACE], CRITICAL, "no, because writes fail until there is space"),
        ([sorted(NOT_OF_A_DISK)[0]], WARNING, "yes, while its directories have space, because no disk is suspect"),
        ([sorted(NOT_OF_A_DISK)[0], "slow_probe"], WARNING, "yes, because Kafka has not taken it offline; but a disk"),
        ([HEALS], WARNING, "yes, because Kafka has not taken it offline and no disk is suspect; check the path"),
        ([HEALS, "slow_probe"], WARNING, "yes, because Kafka has not taken it offline; but a disk"),
    ],
)
def test_whether_a_suspect_disk_can_wait(kinds, severity, answer):
    text = messages.suspect(broker(), "/d1", {str(kind): f"text of {kind}" for kind in kinds}, severity)
    assert text.startswith("Broker 7 /d1 is suspect: text of")
    assert f"can wait until morning: {answer}" in text


def test_another_size_is_told_before_and_now():
    change = Change(why="capacity", at_ms=T0, total_bytes=2 * GIB, volume=None)
    assert "has another size: 2 GiB before, 1 GiB now" in messages.changed(
        broker(), "/d1", change, LogDirMemory(total_bytes=GIB), Severity.CRITICAL
    )


def test_bytes_of_no_replica_are_told_with_their_share():
    text = messages.unaccounted(broker(), "/d1", 250 * GIB, 1_000 * GIB)
    assert text.startswith("Broker 7 /d1: 250 GiB (25.0 % of the volume) belong to no replica")
    assert waits(text) == "yes"


@pytest.mark.parametrize(
    ("failed", "fields", "said", "answer"),
    [
        (["a-0"], {}, "failed partitions, not a failed directory: a-0;", "yes"),
        (["a-0"], {"failed_in": {"a-0": "/d1"}}, "directory: a-0 in /d1;", "yes"),
        (["a-0", "b-0", "c-0", "d-0"], {}, "directory: a-0, b-0, c-0 and 1 more;", "yes"),
    ],
)
def test_failed_partitions_are_named_with_their_directory(failed, fields, said, answer):
    text = messages.partitions_failed(broker(**fields), failed)
    assert said in text
    assert waits(text).startswith(answer)


@pytest.mark.parametrize(
    ("reason", "seen_ms", "said"),
    [
        ("timeout: no answer", T0 - 60_000, "Broker 7 has not answered for 1 min; its disks"),
        ("timeout: no answer", None, "Broker 7 does not answer; its disks"),
        ("error: refused", T0 - 60_000, "Broker 7 has not answered for 1 min (error: refused); its disks"),
        ("unauthorized: no ACL", T0, "Broker 7 refuses to report its disks (no ACL); its disks"),
        (None, None, "Broker 7 does not answer; its disks"),
        (f"error: {HIDES_LOG_DIRS}", T0, f"Broker 7 answers, but {HIDES_LOG_DIRS}; its disks"),
    ],
)
def test_an_unknown_broker_says_since_when_and_why(reason, seen_ms, said):
    text = absence_messages.broker_unknown(broker(reason=reason, seen_ms=seen_ms))
    assert text.startswith(said)
    assert text.endswith("are not monitored. Act now.")


WORD = BrokerLogFinding(at_ms=T0, reason="crashed", text="it was killed")


@pytest.mark.parametrize(
    ("made", "unplanned"),
    [
        (absence_messages.broker_unknown, ". Act now."),
        (
            lambda memory: absence_messages.broker_unseen(memory, "timeout"),
            "; can wait until morning: no, because its disks",
        ),
        (absence_messages.broker_offline, "; can wait until morning: no, because the state of its partitions"),
    ],
)
def test_an_absence_that_is_planned_can_wait_and_the_brokers_log_is_quoted(made, unplanned):
    assert unplanned in made(broker(reason="fenced"))
    planned = made(broker(reason="fenced", maintenance=PLANNED, word=WORD))
    assert f"can wait until morning: yes, because it is planned: {MAINTENANCE}" in planned
    assert unplanned not in planned
    assert "; its log says: it was killed" in planned
    over = Maintenance(at_ms=T0, until_ms=T0 + 1, by="ada", reason="x", is_over=True)
    assert unplanned in made(broker(reason="fenced", maintenance=over))


def test_a_broker_that_nobody_reports_says_what_it_did_before():
    assert "it did not answer (timeout), and now" in absence_messages.broker_unseen(broker(), "timeout")
    assert "it did not answer, and now" in absence_messages.broker_unseen(broker(), None)


def was(status, **fields):
    return LogDirMemory(last_status=None if status is None else LogDirStatus(status), **fields)


def why(cause):
    return {"cause": cause, "verdict": Verdict(cause=cause, decided_by="broker_log")}


@pytest.mark.parametrize(
    ("dirs", "said"),
    [
        ({}, None),
        ({"/d1": was(None)}, None),
        ({"/d1": was("online")}, None),
        ({"/d1": was("filling", total_bytes=1_000, usable_bytes=200)}, "directory /d1 filling at 80.0 %"),
        ({"/d1": was("filling")}, "directory /d1 filling"),
        ({"/d1": was("filling"), "/d2": was("critical")}, "directory /d2 critical"),
        ({"/d1": was("critical"), "/d2": was("offline")}, "directory /d2 offline"),
        (
            {"/d1": was("offline"), "/d2": was("offline", **why(Cause.FAILED))},
            f"directory /d2 offline, {UNNAMED}",
        ),
        (
            {"/d1": was("offline", **why(Cause.UNKNOWN), total_bytes=1_000, usable_bytes=200)},
            "directory /d1 offline at 80.0 %",
        ),
        ({"/d1": was("filling", is_metadata_dir=True)}, "metadata directory /d1 filling"),
    ],
)
def test_an_offline_broker_names_its_worst_directory_as_last_seen(dirs, said):
    text = absence_messages.broker_offline(broker(reason="fenced", log_dirs=dirs, partitions=HEALTHY))
    assert text.startswith("Broker 7 is offline (fenced)")
    assert text.partition("last seen: ")[2].partition("; ")[0] == (said or "")
    assert waits(text) == "yes"


@pytest.mark.parametrize(
    ("path", "rule", "said"),
    [
        (None, Rule.BROKER_OFFLINE, "Broker 7 answers again since"),
        (None, Rule.BROKER_UNKNOWN, "Broker 7 answers again since"),
        ("/d1", Rule.LOG_DIR_SPACE, "Broker 7 /d1 has had no log_dir_space since"),
    ],
)
def test_an_alert_that_is_held_open_says_since_when_and_until_when(path, rule, said):
    text = messages.held(broker(), path, rule, 4, (T0, T0 + HOUR_MS))
    assert text.startswith(f"{said} 2023-11-14 22:13:20Z; flapping: ended 4 times within an hour")
    assert text.endswith("until 2023-11-14 23:13:20Z")


def test_an_unknown_directory_and_stuck_reports_can_wait():
    assert waits(offline_messages.unknown(broker(LogDirMemory(reason="timeout")), "/d1")) == "yes"
    text = messages.placement_reports_stuck(broker(), 12)
    assert "the directories of 12 replicas" in text
    assert waits(text) == "yes"
