"""A broker's host: its log, its directories, and what the source on it published."""

import asyncio

import msgspec
import pytest

from logdirwatch.collect.host.sources import HostEyes
from logdirwatch.collect.host.tail import StateFile
from logdirwatch.collect.host.watch import HostWatch
from logdirwatch.collect.settings import HostSettings
from logdirwatch.model import topics
from logdirwatch.model.records import EventRecord, HostRecord
from tests.support.waiting import DEADLINE_S
from tests.unit.collect.builders import Clock
from tests.unit.parse.broker_log.logs import failure

TYPES = {topics.METRICS: HostRecord, topics.EVENTS: EventRecord}


def reserve_of(path, total_bytes):
    return 0


class Host:
    """A host with a broker's log and two directories; :meth:`start` begins another run of the source."""

    def __init__(self, folder):
        self.log = folder / "server.log"
        self.kernel = folder / "kern.log"
        self.dirs = (str(folder / "d0"), str(folder / "d1"))
        for path in self.dirs:
            (folder / path).mkdir()
        self.log.write_text(failure(f"Error in dir {self.dirs[0]}"))
        self.kernel.write_text("")
        self.settings = HostSettings(
            cluster="prod",
            broker=7,
            name="host-b7",
            log_dirs=self.dirs,
            server_log=str(self.log),
            kernel_log=str(self.kernel),
        )
        self.state_folder = folder / "state"
        self.sent = []
        self.is_delivered = True
        self.look_at = None
        self.clock = Clock()
        self.watch = self.eyes = None

    def start(self):
        if self.eyes is not None:
            self.eyes.close()
        state_file = StateFile(self.state_folder, "prod", 7)
        state = state_file.load()
        self.eyes = HostEyes(self.settings, self.dirs, reserve_of, state, look_at=self.look_at)
        self.watch = HostWatch(
            self.settings,
            self.eyes,
            state_file,
            state,
            self.sent.extend,
            lambda: self.is_delivered,
            self.clock,
            self.clock,
        )
        self.watch.read_logs()

    def write(self, *lines):
        with self.log.open("a") as file:
            file.writelines(lines)

    def write_kernel(self, line):
        with self.kernel.open("a") as file:
            file.write(line)

    def read(self, times=1):
        for _ in range(times):
            self.watch.read_logs()

    def look(self):
        return asyncio.run(asyncio.wait_for(self.watch.look(), DEADLINE_S))

    @property
    def records(self):
        return [msgspec.json.decode(record.value, type=TYPES[record.topic]) for record in self.sent]

    @property
    def failed_dirs(self):
        return [event.log_dir for event in self.records if isinstance(event, EventRecord)]


@pytest.fixture
def machine(tmp_path):
    made = Host(tmp_path)
    yield made
    if made.eyes is not None:
        made.eyes.close()
