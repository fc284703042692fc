"""A disk that hangs holds up itself and no other."""

import asyncio
import threading

from logdirwatch.collect.host.prober import Prober
from logdirwatch.model.records import HostLogDir
from tests.support.waiting import DEADLINE_S


class Disks:
    """Directories that hang until they are told to go on."""

    def __init__(self, *hanging):
        self.hanging = {path: threading.Event() for path in hanging}
        self.begun = []
        self.now_s = 0.0

    def look(self, path):
        self.begun.append(path)
        if path in self.hanging:
            self.hanging[path].wait(DEADLINE_S)
        return HostLogDir(path=path, probe_ms=1.0)


def rounds(disks, work, timeout_ms=20, paths=("/a", "/b")):
    prober = Prober(paths, disks.look, timeout_ms, lambda: disks.now_s)
    try:
        asyncio.run(asyncio.wait_for(work(prober), DEADLINE_S))
    finally:
        for event in disks.hanging.values():
            event.set()


def test_a_disk_that_hangs_is_reported_beside_those_that_answer_and_not_asked_again():
    disks = Disks("/b")

    async def work(prober):
        first, second = await prober.round()
        assert (first.probe_error, first.probe_ms) == (None, 1.0)
        assert second == HostLogDir(path="/b", probe_error="no answer for 0 s")
        disks.now_s = 34.4
        _, second = await prober.round()
        assert second.probe_error == "no answer for 34.4 s"
        assert sorted(disks.begun) == ["/a", "/a", "/b"]

    rounds(disks, work)


def test_at_the_end_a_look_that_runs_is_let_finish_and_one_that_hangs_is_left_behind():
    written, may_end = threading.Event(), threading.Event()
    removed, hanging = [], threading.Event()

    def look(path):
        if path == "/hangs":
            hanging.wait(DEADLINE_S)
        written.set()
        may_end.wait(DEADLINE_S)
        removed.append(path)
        return HostLogDir(path=path)

    prober = Prober(("/a", "/hangs"), look, timeout_ms=10_000)

    async def cut_short():
        round_ = asyncio.ensure_future(prober.round())
        await asyncio.get_running_loop().run_in_executor(None, written.wait, DEADLINE_S)
        round_.cancel()

    asyncio.run(cut_short())
    threading.Timer(0.05, may_end.set).start()
    prober.finish(0.5)
    assert removed == ["/a"]
    hanging.set()


def test_a_disk_that_hangs_holds_up_only_the_round_in_which_it_began_to():
    disks = Disks("/b")

    async def work(prober):
        await prober.round()
        prober._timeout_ms = 1_000 * 1_000  # a round that waits for it does not end before the test's deadline
        first, _ = await prober.round()
        assert first.probe_ms == 1.0

    rounds(disks, work)


def test_a_disk_that_answers_again_is_asked_anew_and_its_late_answer_dropped():
    disks = Disks("/b")

    async def work(prober):
        await prober.round()
        late, _ = prober._busy["/b"]
        disks.hanging.pop("/b").set()
        await late
        seen = (await prober.round())[1]
        assert seen == HostLogDir(path="/b", probe_ms=1.0)
        assert disks.begun.count("/b") == 2

    rounds(disks, work)


def test_an_unforeseen_error_of_one_look_is_said_of_its_directory():
    disks = Disks()
    disks.look, look_at = (lambda path: 1 / 0 if path == "/a" else look_at(path)), disks.look

    async def work(prober):
        first, second = await prober.round()
        assert first.probe_error == "look: division by zero"
        assert second.probe_error is None

    rounds(disks, work, timeout_ms=DEADLINE_S * 1_000)
