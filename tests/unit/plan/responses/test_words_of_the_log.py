"""What to do about a failure is chosen by what the broker's log names: a file, a share, a limit."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, Rule
from logdirwatch.plan.recommend import recommend
from tests.unit.plan import builders as pb

DIRECTORIES = [
    (
        Cause.DAMAGED_FILE,
        "Malformed line in checkpoint file (/d1/t-0/leader-epoch-checkpoint): 'x'",
        ("investigate", "/d1/t-0/leader-epoch-checkpoint aside", "alone", "move the folder"),
    ),
    (
        Cause.DAMAGED_FILE,
        "Invalid format of partition metadata file (/d1/t-0/partition.metadata)",
        ("investigate", "with its folder", "alone"),
    ),
    (
        Cause.DAMAGED_FILE,
        "Error while reading checkpoint file /d1/recovery-point-offset-checkpoint: java.io.EOFException",
        ("investigate", "/d1/recovery-point-offset-checkpoint aside", "recovers every log"),
    ),
    (
        Cause.RENAME_REFUSED,
        "java.nio.file.AccessDeniedException: /d1/t-0 -> /d1/t-0.0-delete",
        ("investigate", "block storage", "SMB", "findmnt"),
    ),
    (Cause.LIMIT, "java.io.IOException: Too many open files in system", ("raise_limit", "fs.file-max")),
    (Cause.LIMIT, "java.io.IOException: 打开的文件过多", ("raise_limit", "LimitNOFILE")),
    (Cause.LIMIT, "java.io.IOException: Map failed", ("raise_limit", "max_map_count", "free -m")),
    (Cause.LIMIT, "java.lang.OutOfMemoryError: unable to create native thread", ("raise_limit", "TasksMax")),
    (Cause.LIMIT, "Too many open files", ("raise_limit", "/limits", "kafka.service.d", "LimitNOFILE=1000000")),
    (Cause.LIMIT, "java.io.IOException: File too large", ("raise_limit", "/limits", "LimitFSIZE=infinity")),
    (Cause.LIMIT, "no line that names it", ("raise_limit", "LimitNOFILE=1000000", "sysctl -w vm.max_map_count")),
    (Cause.LIMIT, "/d1/t-0: Too many links", ("investigate", "fewer partitions", "dir_nlink")),
    (Cause.LIMIT, "/d1/t-0: 过多的连接", ("investigate", "fewer partitions")),
    (Cause.UNKNOWN, "locking directory /d1: java.io.IOException: No locks available", ("investigate", "lockd", "NFS")),
    (Cause.UNKNOWN, "locking directory /d1: java.io.IOException: 没有可用的锁", ("investigate", "lockd")),
    (Cause.UNKNOWN, "/d1/.lock: Invalid argument", ("investigate", "shares and FUSE", "findmnt")),
    (Cause.UNKNOWN, "java.io.IOException: Operation not supported", ("investigate", "memory map", "ext4 or XFS")),
    (Cause.UNKNOWN, "/d1/t-0 -> /d1/t-0.0-delete: File name too long", ("investigate", "shorter names", "eCryptfs")),
    (Cause.UNKNOWN, "java.nio.file.NoSuchFileException: /d1/t-0/1.log", ("investigate", "nothing proves", "tmpfiles")),
    (
        Cause.UNKNOWN,
        "/d1/t-0/1.index (没有那个文件或目录)",
        ("investigate", "nothing proves", "mounted", "KAFKA-15391"),
    ),
    *(
        (Cause.UNKNOWN, f"java.nio.file.NoSuchFileException: {name}", ("investigate", "restart is the repair"))
        for name in (
            f"/d1/t-0.{32 * 'a'}-future",
            f"/d1/t-0.{32 * '0'}-delete/1.log",
            "/d1/t-0/1.log.deleted",
            "/d1/t-0/1.log.cleaned",
            "/d1/t-0/1.log.swap",
        )
    ),
    *(
        (Cause.UNKNOWN, f"java.nio.file.NoSuchFileException: {name}", ("investigate", "somebody removed"))
        for name in ("/d1/a-delete-0", "/d1/a.swap-0/1.log", "/d1/t-0/1.log -> /d1/t-0/1.log.deleted")
    ),
    (Cause.RENAME_REFUSED, "/d1/t-0/0.log -> /d1/t-0/0.log.deleted: Operation not permitted", ("lsattr", "immutable")),
]
BROKERS = [
    (
        "limit",
        "INFO: os::commit_memory(0x7f, 12288, 0) failed; error='Cannot allocate memory' (errno=12)",
        ("max_map_count", "free -m"),
    ),
    ("limit", "java.io.IOException: Zu viele offene Dateien", ("LimitNOFILE",)),
    ("out_of_memory", "os::commit_memory(0x7f, 1073741824, 0) failed (errno=12)", ("free -m", "max_map_count")),
    (
        "damaged_file",
        "Malformed line in checkpoint file (/d1/t-0/leader-epoch-checkpoint): 'x'",
        ("/d1/t-0/leader-epoch-checkpoint aside", "alone"),
    ),
    ("rename_refused", "java.nio.file.AccessDeniedException: /d1/a.tmp -> /d1/a", ("block storage",)),
    ("disk_failed", "mkdir: /d1: Input/output error", ("kernel's log",)),
    ("no_usable_directory", "none can be used (/d1: lock failed: No locks available)", ("lockd",)),
    ("no_usable_directory", "none can be used (/d1: /d1/.lock: Invalid argument)", ("shares and FUSE",)),
    ("no_usable_directory", "none can be used (/d1: create failed)", ("the lines before it say why",)),
    ("all_directories_failed", "all failed (/d1: rename failed: File name too long)", ("shorter names",)),
    ("limit", "/d1/t-0: Too many links", ("fewer partitions",)),
    ("limit", "java.io.IOException: File too large", ("LimitFSIZE=infinity",)),
    ("cannot_bind", "java.net.BindException: Invalid argument", ("ss -ltnp", "listeners")),
    ("configuration", "ConfigException: Operation not supported", ("correct the setting",)),
]


def first(alert, *parts):
    return recommend(alert, pb.facts(*parts), pb.policy(), pb.NOW_MS)[0]


@pytest.mark.parametrize(("cause", "said", "told"), DIRECTORIES)
def test_the_first_action_for_a_directory_names_what_its_log_names(cause, said, told):
    alert = pb.alert(log_dir="/d1", cause=cause, evidence={"said": said})
    action = first(alert, pb.offline(1, "/d1", cause=cause), pb.topic("t", (1, 2)), pb.replica(1, "/d1", "t"))
    text = " ".join((str(action.kind), action.reason, *action.commands))
    assert [words for words in told if words not in text] == []


@pytest.mark.parametrize(("reason", "said", "told"), BROKERS)
def test_so_does_that_for_a_broker(reason, said, told):
    evidence = {"log_says": said, "log_reason": reason, "log_says_ms": pb.NOW_MS}
    alert = pb.alert(Rule.BROKER_OFFLINE, log_dir=None, to="offline", cause=None, evidence=evidence)
    action = first(alert, pb.broker(1, BrokerStatus.OFFLINE), pb.directory(1, "/d1", status=LogDirStatus.UNKNOWN))
    assert [words for words in told if words not in f"{action.reason} {' '.join(action.commands)}"] == []


@pytest.mark.parametrize(
    ("cause", "said", "is_asked"),
    [
        (Cause.UNKNOWN, "No locks available", True),
        (Cause.UNKNOWN, "Invalid argument", True),
        (Cause.LIMIT, "Too many links", True),
        (Cause.LIMIT, "Too many open files", False),
        (Cause.UNKNOWN, "NoSuchFileException: /d1/t-0/1.log", False),
        (Cause.UNKNOWN, None, False),
    ],
)
def test_a_restart_asks_whether_an_error_is_repaired_that_it_would_meet_again(cause, said, is_asked):
    alert = pb.alert(log_dir="/d1", cause=cause, evidence={"said": said})
    facts = pb.facts(pb.offline(1, "/d1", cause=cause), pb.topic("t", (1, 2)), pb.replica(1, "/d1", "t"))
    actions = recommend(alert, facts, pb.policy(), pb.NOW_MS)
    restart = next(action for action in actions if action.kind == "restart_broker")
    assert ("error_is_repaired" in {asked["name"] for asked in restart.preconditions}) is is_asked
