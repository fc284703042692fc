"""The source on a broker's own host: publishes findings from its logs and the state of its directories.

Or observes them once, and sends and stores nothing.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue

import structlog

from logdirwatch.clock import monotonic_ms
from logdirwatch.collect.host.logs import BrokerLogs, KernelLog
from logdirwatch.collect.host.news import NewsDesk
from logdirwatch.collect.host.prober import in_thread
from logdirwatch.collect.host.records import event_record, host_record
from logdirwatch.collect.host.sources import HostEyes
from logdirwatch.collect.host.tail import LOOKS_BEFORE_TOLD, StateFile, TailState
from logdirwatch.collect.loop import every
from logdirwatch.collect.rounds.poll import Publish, event_outgoing, outgoing
from logdirwatch.collect.rounds.records import Origin
from logdirwatch.collect.rounds.rising_clock import Clock, RisingClock
from logdirwatch.collect.settings import HostSettings
from logdirwatch.model import topics
from logdirwatch.model.records import EventRecord, HostLogDir, HostRecord
from logdirwatch.observe.progress import Beat
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.findings import (
    Finding,
)
from logdirwatch.parse.kernel_log.lines import KernelError

log = structlog.get_logger(__name__)

READ_MS = 250
READS_PER_SAVE = 4
LOCK_S = 1.0
# Errors between two observations; a record holds only the latest of them.
KERNEL_NEWS_KEPT = 1_000


class HostWatch:
    """Runs the host source of one broker.

    After an event the state file is updated only when ``is_delivered`` says that everything published has arrived: a
    crash repeats an event, and loses none.
    """

    def __init__(
        self,
        settings: HostSettings,
        eyes: HostEyes,
        state_file: StateFile,
        state: TailState,
        publish: Publish,
        is_delivered: Callable[[], bool],
        clock: Clock,
        waiting_ms: Callable[[], int] = monotonic_ms,
    ) -> None:
        self._interval_ms = settings.interval_ms
        self._is_probing = settings.probe
        self._broker = settings.broker
        self._origin = Origin(settings.cluster, settings.name, settings.interval_ms)
        self._eyes = eyes
        self._state_file = state_file
        self._desk = NewsDesk(state.told_dirs, state.told_tasks)
        self._publish = publish
        self._is_delivered = is_delivered
        self._waiting_ms = waiting_ms
        self._record_clock = RisingClock(clock)
        self._event_clock = RisingClock(clock)
        self._kernel_news: SimpleQueue[KernelError] = SimpleQueue()
        self._reads = 0
        self._is_event_out = False
        self._reading = threading.Lock()
        self._told_unproven: set[str] = set()
        self._is_layout_told = False
        self._started_ms: int | None = None
        # A log on a dead disk hangs in a new process too, and the directories are observed meanwhile.
        self._read = Beat("logs", ends_process=False)
        self._looked = Beat("log_dirs", more_s=settings.interval_ms / 1000)
        self.beats = (self._read, self._looked)

    async def run(self) -> None:
        """Read the logs several times a second and observe the directories every interval, until cancelled."""
        await asyncio.gather(
            every(READ_MS, self._read_logs, ended=self._read.beat),
            every(self._interval_ms, self.look, ended=self._looked.beat),
        )

    def close(self) -> None:
        """Do nothing: the logs stay open until :meth:`end`, after the last records are sent."""

    def end(self) -> None:
        """Finish the observations, save the positions in the logs, and close them; what hangs is left behind."""
        self._eyes.prober.finish(LOCK_S)
        if self._reading.acquire(timeout=LOCK_S):
            self._save()
            self._eyes.close()

    async def look(self) -> HostRecord:
        """Observe every directory once, publish the record and return it."""
        seen = await self._eyes.prober.round()
        log_dirs, unplaced = self._eyes.placed(seen, self._taken_news())
        record = host_record(
            self._origin,
            self._broker,
            socket.gethostname(),
            log_dirs,
            unplaced,
            self._record_clock(),
            self._eyes.log_read,
            self._started_ms,
        )
        self._publish(outgoing(topics.METRICS, [(f"{record.cluster}/{record.broker}", record)]))
        self._tell_unproven(log_dirs)
        self._tell_not_understood(record.log_lines_not_understood or 0)
        return record

    async def _read_logs(self) -> None:
        await in_thread(self.read_logs)

    def read_logs(self) -> None:
        """Publish the findings since the last call, and from time to time save the positions."""
        with self._reading:
            self._read_broker_log()
            if self._eyes.kernel_log is not None:
                self._read_kernel_log(self._eyes.kernel_log)
            self._reads += 1
            if self._reads % READS_PER_SAVE == 1:
                self._save()

    def _read_broker_log(self) -> None:
        self._tell(self._eyes.broker_log.findings() if self._eyes.broker_log is not None else ())

    def _read_kernel_log(self, kernel_log: KernelLog) -> None:
        for found in kernel_log.findings():
            if isinstance(found, BrokerFailed):
                self._tell([found])
            else:
                self._kernel_news.put(found)

    def _tell(self, findings: Iterable[Finding]) -> None:
        starts, found = self._desk.starts, self._desk.of_present_run(findings, self._waiting_ms())
        if self._desk.starts != starts:
            self._started_ms = self._event_clock()  # earlier than the events of the new run
        for news in found:
            self._is_event_out = True
            event = event_record(self._origin, self._broker, news, self._event_clock())
            self._publish([event_outgoing(event)])

    def _save(self) -> None:
        if self._is_event_out and not self._is_delivered():
            return
        self._is_event_out = False
        self._state_file.save(TailState(self._eyes.positions(), self._desk.told_dirs, self._desk.told_tasks))

    def _taken_news(self) -> list[KernelError]:
        taken = [self._kernel_news.get() for _ in range(self._kernel_news.qsize())]
        return taken[-KERNEL_NEWS_KEPT:]

    def _tell_not_understood(self, lines: int) -> None:
        """Log once that the log has lines in which a failure would not be recognised."""
        if lines and not self._is_layout_told:
            log.warning("host.log.not_understood", lines=lines, meaning="failures in these lines are not detected")
            self._is_layout_told = True

    def _tell_unproven(self, log_dirs: Sequence[HostLogDir]) -> None:
        """Log once per directory that it cannot be observed, or is not probed although it should be."""
        for log_dir in log_dirs:
            is_unproven = log_dir.config_error is not None or (
                self._is_probing and log_dir.probe_ms is None and log_dir.probe_error is None
            )
            if is_unproven and log_dir.path not in self._told_unproven:
                why = "less space is free than the reserve, or this user may not write"
                if log_dir.config_error is not None:
                    why = f"wrong configuration: log directory {log_dir.path} {log_dir.config_error}"
                log.warning("host.log_dir.not_probed", path=log_dir.path, why=why)
            (self._told_unproven.add if is_unproven else self._told_unproven.discard)(log_dir.path)


# How far back a single observation reads the logs.
BACK_BYTES = 8 << 20
# A probe of its own: the running source may be in the middle of one.
ONCE_PROBE_FILE = ".logdirwatch-probe-once"


async def look_once(settings: HostSettings, eyes: HostEyes, at_ms: int) -> tuple[HostRecord, list[EventRecord]]:
    """Return the state of the directories, and the log's findings about the broker's present run."""
    origin = Origin(settings.cluster, settings.name, settings.interval_ms)
    news = NewsDesk().of_present_run(_findings(eyes.broker_log) if eyes.broker_log else (), at_ms)
    kernel = list(eyes.kernel_log.news()) if eyes.kernel_log else []
    log_dirs, unplaced = eyes.placed(await eyes.prober.round(), kernel)
    events = [event_record(origin, settings.broker, one, at_ms) for one in news]
    host, read = socket.gethostname(), eyes.log_read
    record = host_record(origin, settings.broker, host, log_dirs, unplaced, at_ms, read)
    return record, events


def _findings(broker_log: BrokerLogs) -> Iterator[Finding]:
    for _ in range(LOOKS_BEFORE_TOLD):  # so that an unreadable log is reported
        yield from broker_log.findings()
    yield from broker_log.rest()
