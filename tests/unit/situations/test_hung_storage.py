"""A broker that waits for storage that does not answer: its absence names the storage, as long as it hangs."""

from dataclasses import dataclass, field

import pytest

from logdirwatch.parse.kernel_log.lines import kernel_news, placed
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors
from logdirwatch.plan.recommend import recommend
from tests.unit.detect.builders import POLL_MS, Driver, host_dir, host_view, log_dir
from tests.unit.plan import builders as b

BELOW = {"/d1": frozenset({"nas1", "nas1:/a"}), "/d2": frozenset({"nas2", "nas1.backup"})}
SILENT = "nfs: server nas1 not responding, still trying"
BACK = "nfs: server nas1 OK"
BLOCKED = "INFO: task java:4711 blocked for more than 120 seconds."
FENCED = {"is_registered": True, "is_fenced": True}


@dataclass(frozen=True)
class Hang:
    """What the kernel says before and after the broker falls silent, and what the newest alert about it says."""

    name: str
    before: tuple[str, ...] = ()
    during: tuple[str, ...] = ()
    says: tuple[str, ...] = ("its storage does not answer (/d1: nfs: server nas1 not responding",)
    never_says: tuple[str, ...] = ()
    broker: dict = field(default_factory=dict)
    polls: int = 6
    is_back: bool = False


NOTHING = ("storage does not answer",)
ROWS = [
    Hang("the mount hangs before the broker does", (SILENT,)),
    Hang("the kernel tells it later", (), (SILENT,)),
    Hang("a soft mount", (), ("nfs: server nas1 not responding, timed out",)),
    Hang("the lock daemon's server", (), ("lockd: server nas1 not responding, still trying",),
         says=("(/d1: lockd: server nas1",)),
    Hang("a share", (), (r"CIFS: VFS: \\nas1 has not responded in 180 seconds. Reconnecting...",),
         says=("(/d1: CIFS: VFS:",)),
    Hang("the mounts of two directories", (SILENT,), (SILENT.replace("nas1", "nas2"),),
         says=("/d1: nfs: server nas1 not", "/d2: nfs: server nas2 not")),
    Hang("a task that waits, of which disk nobody says", (), (BLOCKED,), says=("does not answer (INFO: task java",)),
    Hang("the controller fences it after a while", (SILENT,), broker=FENCED, polls=80),
    Hang("it answers again before the broker falls silent", (SILENT, BACK), says=(), never_says=NOTHING),
    Hang("it answers again, the broker not yet", (SILENT,), (BACK,), says=("has not answered",), never_says=NOTHING),
    Hang("and so go on the tasks that waited for it", (SILENT, BLOCKED), (BACK,), says=(), never_says=NOTHING),
    Hang("another server answers again", (SILENT,), ("nfs: server nas2 OK",)),
    Hang("a server that no directory is mounted from", (SILENT.replace("nas1", "nas9"),), says=(), never_says=NOTHING),
    Hang("one whose name only begins alike", (SILENT.replace("nas1", "nas1.backup"),), says=("(/d2: nfs",),
         never_says=("/d1: nfs",)),
    Hang("a damaged disk does not hang", ("I/O error, dev nas1, sector 7",), says=(), never_says=NOTHING),
    Hang("no host source", says=("has not answered",), never_says=NOTHING),
    Hang("both are back", (SILENT,), (BACK,), says=("recovered",), never_says=NOTHING, is_back=True),
]  # fmt: skip


def shown(row):
    driver, dirs = Driver(), (log_dir("/d1", 0.4), log_dir("/d2", 0.41))

    def look(lines):
        if not lines:
            return
        by_dir, rest = placed([news for line in lines for news in kernel_news(line)], BELOW)
        seen = with_kernel_errors([host_dir("/d1", volume="a"), host_dir("/d2", volume="b")], by_dir)
        driver.at_ms += 1
        driver.show(host_view(driver.at_ms, *seen, kernel=[one.news for one in rest if one.trouble == "hung"]))

    for _ in range(4):
        driver.poll(*dirs)
    look(row.before)
    for number in range(row.polls):
        driver.poll(status="timeout", controller_at_ms=driver.at_ms + POLL_MS, **row.broker)
        if number == 3:
            look(row.during)
    if row.is_back:
        driver.poll(*dirs)
    return [alert for alert in driver.alerts if alert.rule in {"broker_unknown", "broker_offline"}]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_absence_names_the_storage_that_hangs(row):
    alert = shown(row)[-1]
    assert [text for text in row.says if text not in alert.summary] == []
    assert [text for text in row.never_says if text in alert.summary] == []
    assert (alert.status == "resolved") is row.is_back
    assert bool(alert.evidence.hangs) is (alert.status == "firing" and "storage does not answer" in alert.summary)


def test_it_is_told_once_however_often_the_kernel_repeats_it():
    alerts = shown(Hang("again", (SILENT,), (SILENT,), polls=40))
    assert [alert.revision for alert in alerts] == [1]


@pytest.mark.parametrize(("row", "kinds"), [(ROWS[0], ["investigate"]), (ROWS[7], None)], ids=lambda row: str(row)[:20])
def test_nobody_restarts_it_before_its_storage_answers(row, kinds):
    alert = shown(row)[-1]
    facts = b.facts(b.directory(7, "/d1"), b.directory(8, "/d1"), b.topic("t", (8, 7)), b.replica(7, "/d1", "t"))
    actions = recommend(alert, facts, b.policy(), b.NOW_MS)
    assert "do not restart the broker before it does" in actions[0].reason
    assert "nas1 not responding" in actions[0].reason
    assert kinds is None or [str(action.kind) for action in actions] == kinds
    restarts = [action.reason for action in actions if action.kind == "restart_broker"]
    assert all("only once its storage answers again" in reason for reason in restarts)
