"""The observations of the host source, for people."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.records import EventRecord, HostLogDir, HostRecord
from logdirwatch.report.layout import listing
from logdirwatch.text.units import bar, human_bytes, human_count, human_ms, human_ratio
from logdirwatch.text.words import counted

HEADERS = ("log directory", "used", "usable", "free inodes", "volume", "probe")


def view(record: HostRecord, events: Sequence[EventRecord], width: int) -> RenderableType:
    """Return one observation: the directories, events from the broker's log since its start, and kernel errors."""
    rows = [_row(log_dir) for log_dir in record.log_dirs]
    return Group(
        Text(f"cluster {record.cluster} broker {record.broker} on {record.host}", style="bold"),
        listing(HEADERS, rows, width),
        *_events(events, record),
        *(Text(f"kernel: {error}", style="yellow") for error in record.errors),
    )


def _row(log_dir: HostLogDir) -> list[Text]:
    ratio = _used_ratio(log_dir)
    return [
        Text(log_dir.path),
        Text(f"{bar(ratio)} {human_ratio(ratio)}"),
        Text(human_bytes(log_dir.usable_bytes)),
        Text("-" if log_dir.free_inodes is None else human_count(log_dir.free_inodes)),
        _volume(log_dir),
        _probe(log_dir),
    ]


def _used_ratio(log_dir: HostLogDir) -> float | None:
    if not log_dir.total_bytes or log_dir.usable_bytes is None:
        return None
    return 1 - log_dir.usable_bytes / log_dir.total_bytes


def _volume(log_dir: HostLogDir) -> Text:
    marks = [
        word for word, holds in (("root volume", log_dir.is_root_volume), ("READ-ONLY", log_dir.is_read_only)) if holds
    ]
    marks += ["NO RESERVE FILE"] if log_dir.is_reserve_there is False else []
    is_bad = log_dir.is_read_only or log_dir.is_reserve_there is False
    return Text(", ".join([log_dir.volume or "-", *marks]), style="bold red" if is_bad else "")


def _probe(log_dir: HostLogDir) -> Text:
    bad = [log_dir.config_error, log_dir.probe_error, log_dir.kernel_error and f"kernel: {log_dir.kernel_error}"]
    if any(bad):
        return Text("; ".join(text for text in bad if text), style="bold red")
    if log_dir.probe_ms is None:
        return Text("not probed", style="yellow")
    return Text(f"passed in {human_ms(max(1.0, log_dir.probe_ms))}", style="green")


def _events(events: Sequence[EventRecord], record: HostRecord) -> Iterator[Text]:
    """Yield the events of the log; a log that was not read or not understood proves nothing."""
    if lost := record.log_lines_not_understood:
        yield Text(f"{counted(lost, 'line')} of the broker's log not understood.", style="yellow")
    if not events:
        yield Text(_no_failure(record))
    for event in events:
        cause = f" ({event.cause})" if event.cause else ""
        where = event.log_dir or (f"{event.topic}-{event.partition}" if event.topic else f"broker {event.broker}")
        yield Text(f"{event.event}{cause} {where}: {event.detail}", style="bold red")


def _no_failure(record: HostRecord) -> str:
    if record.log_entries is None:
        return "The broker's log is not read (host.server_log)."
    if not record.log_entries:
        return "Nothing of the broker's log could be read: it proves neither a failure nor health."
    which = (
        "the part of the broker's log that was understood" if record.log_lines_not_understood else "the broker's log"
    )
    return f"No failure in {which} since its last start."
