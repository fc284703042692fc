"""A single observation of the host source, which sends and stores nothing."""

import socket
from collections.abc import Iterator

from logdirwatch.collect.host import records as host_records
from logdirwatch.collect.host.logs import BrokerLogs
from logdirwatch.collect.host.news import NewsDesk
from logdirwatch.collect.host.settings import HostSettings
from logdirwatch.collect.host.sources import HostEyes
from logdirwatch.collect.host.tail import LOOKS_BEFORE_TOLD
from logdirwatch.collect.rounds.records import Origin
from logdirwatch.model.records import EventRecord, HostRecord
from logdirwatch.parse.broker_log.findings import Finding

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
    events = [host_records.event_record(origin, settings.broker, one, at_ms) for one in news]
    host, read = socket.gethostname(), eyes.log_read
    record = host_records.host_record(origin, settings.broker, host, log_dirs, unplaced, at_ms, read)
    return record, events


def _findings(broker_log: BrokerLogs) -> Iterator[Finding]:
    for _ in range(LOOKS_BEFORE_TOLD):  # so that an unreadable log is reported
        yield from broker_log.findings()
    yield from broker_log.rest()
