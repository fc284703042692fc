"""The inputs of the host source, from its settings: directories, the broker's log, the kernel's."""

import stat
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import structlog

from logdirwatch.collect.host import block_devices, server_properties
from logdirwatch.collect.host.logs import BrokerLog, BrokerLogs, KernelLog, KernelRing, LogRead, Source
from logdirwatch.collect.host.prober import PROBE_FILE, Look, Prober, ProbeRules, ReserveFileOf, look, no_reserve_file
from logdirwatch.collect.host.tail import Position, Tail, TailState
from logdirwatch.collect.rounds.changes import ReserveOf
from logdirwatch.collect.settings import HostSettings
from logdirwatch.errors import UserError
from logdirwatch.model.records import HostLogDir
from logdirwatch.parse.kernel_log.lines import KernelError, placed
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors

PROC = Path("/proc")
MAINS = frozenset({b"kafka.Kafka", b"io.confluent.support.metrics.SupportedKafka"})
"""The classes whose ``main`` is a broker; the properties file is the argument behind it."""


def is_running(broker: int, proc: Path = PROC) -> bool:
    """Tell whether a process runs whose properties file is this broker's; False if that cannot be seen."""
    return any(_node_of(process, arguments) == broker for process, arguments in _brokers(proc))


def _brokers(proc: Path) -> Iterator[tuple[Path, list[bytes]]]:
    """Yield the processes of brokers with the arguments after the main class; no other command line is read."""
    for process in proc.glob("[0-9]*"):
        try:
            if (process / "comm").read_bytes().strip() != b"java":
                continue
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        at = next((index for index, word in enumerate(words) if word in MAINS), None)
        if at is not None:
            yield process, words[at + 1 :]


def _node_of(process: Path, arguments: list[bytes]) -> int | None:
    """Return the broker id of a process: overrides on its command line come before its file, as for Kafka."""
    overrides = [word.decode(errors="replace") for word in arguments[1:] if b"=" in word]
    given = dict(word.removeprefix("--override=").split("=", 1) for word in overrides)
    named = {**_properties(process, arguments[0].decode(errors="replace") if arguments else ""), **given}
    node = next((named[key].strip() for key in server_properties.NODE_ID_KEYS if key in named), "")
    return int(node) if node.isdecimal() else None


def _properties(process: Path, name: str) -> dict[str, str]:
    """Read the properties file as the process sees it or, if that is forbidden, as this process does."""
    seen = [process / "root" / name.lstrip("/"), Path(name)] if name.startswith("/") else [process / "cwd" / name]
    return next((found for path in seen if (found := _read(path))), {})


def _read(path: Path) -> dict[str, str]:
    try:
        return server_properties.parsed(path.read_text(server_properties.ENCODING))
    except (OSError, UserError):
        return {}


log = structlog.get_logger(__name__)


BESIDE = ("log-cleaner.log", "controller.log")
"""What Kafka's own log4j configuration writes elsewhere: what the cleaner gives up, and the controller's faults."""


def log_dirs_of(settings: HostSettings) -> tuple[str, ...]:
    """Return the directories to watch, and log what is probably unintended about them.

    Raises UserError when ``properties_file`` cannot be read or belongs to another broker.
    """
    if settings.properties_file is None:
        return server_properties.absolute(settings.log_dirs)
    try:
        text = Path(settings.properties_file).read_text(server_properties.ENCODING)
    except OSError as error:
        raise UserError(f"host.properties_file {settings.properties_file}: {error.strerror}", exit_code=2) from None
    properties = server_properties.parsed(text)
    server_properties.check_broker(properties, settings.broker)
    log_dirs = server_properties.log_dirs_of(properties)
    for doubt in server_properties.doubts(log_dirs):
        log.warning("host.log_dirs.doubtful", file=settings.properties_file, why=doubt)
    return log_dirs


def kernel_source(path: str, position: Position | None, back_bytes: int = 0) -> Source:
    """Return the kernel's log, a file or its own buffer; raises UserError when the latter cannot be opened."""
    try:
        if stat.S_ISCHR(Path(path).stat().st_mode):
            return KernelRing(path, from_start=back_bytes > 0)
    except FileNotFoundError:
        pass  # a file that may appear later
    except OSError as error:
        raise UserError(f"host.kernel_log {path}: {error.strerror}") from None
    return Tail(Path(path), position, back_bytes)


def other_logs_of(server_log: str, named: Sequence[str] | None) -> list[str]:
    """Return the other logs of a broker: those configured, else those that Kafka's own layout puts beside it."""
    beside = [str(Path(server_log).with_name(name)) for name in BESIDE]
    found = [path for path in beside if Path(path).is_file()] if named is None else named
    return [path for path in found if path != server_log]


class HostEyes:
    """Observes and reads for one broker; it publishes nothing and stores nothing beyond the process."""

    def __init__(
        self,
        settings: HostSettings,
        log_dirs: Sequence[str],
        reserve_of: ReserveOf,
        state: TailState,
        back_bytes: int = 0,
        probe_file: str = PROBE_FILE,
        look_at: Look | None = None,
        reserve_file_of: ReserveFileOf = no_reserve_file,
    ) -> None:
        rules = ProbeRules(settings.probe, reserve_of, probe_file, reserve_file_of)
        self.prober = Prober(log_dirs, look_at or partial(look, rules=rules), settings.probe_timeout_ms)
        self.broker_log: BrokerLogs | None = None
        self.kernel_log: KernelLog | None = None
        if settings.server_log is not None:
            paths = (settings.server_log, *other_logs_of(settings.server_log, settings.other_logs))
            tails = {path: Tail(Path(path), state.positions.get(path), back_bytes) for path in paths}
            logs = {path: BrokerLog(tail, log_dirs) for path, tail in tails.items()}
            self.broker_log = BrokerLogs(logs.pop(settings.server_log), logs)
        if settings.kernel_log is not None:
            position = state.positions.get(settings.kernel_log)
            source = kernel_source(settings.kernel_log, position, back_bytes)
            self.kernel_log = KernelLog(source, partial(is_running, settings.broker))
        self._settings = settings
        self._numbers: dict[str, str | None] = dict.fromkeys(log_dirs)

    def positions(self) -> dict[str, Position]:
        """Return the position in each log."""
        main, kernel = self._settings.server_log, self._settings.kernel_log
        found = {} if self.broker_log is None or main is None else self.broker_log.positions(main)
        position = None if self.kernel_log is None else self.kernel_log.position()
        return found if position is None or kernel is None else {**found, kernel: position}

    @property
    def log_read(self) -> LogRead | None:
        """How much was read of the broker's log, None if none is read."""
        return None if self.broker_log is None else self.broker_log.read

    def placed(
        self, log_dirs: Sequence[HostLogDir], news: Sequence[KernelError]
    ) -> tuple[list[HostLogDir], list[KernelError]]:
        """Return the directories with the kernel's messages about their disks, and troubles of other devices."""
        for log_dir in log_dirs:
            if log_dir.volume is not None:
                self._numbers[log_dir.path] = log_dir.volume.removeprefix("dev ")
        if not news:
            return list(log_dirs), []
        # What was never seen lies on no mount of this namespace: the table would name the disk of the root directory.
        elsewhere = {log_dir.path for log_dir in log_dirs if log_dir.config_error is not None}
        numbers = {path: number for path, number in self._numbers.items() if number or path not in elsewhere}
        try:
            devices = block_devices.devices_below(numbers)
        except OSError:
            devices = {}
        by_dir, unplaced = placed(news, devices)
        return with_kernel_errors(log_dirs, by_dir), unplaced

    def close(self) -> None:
        """Close the logs."""
        for source in (self.broker_log, self.kernel_log):
            if source is not None:
                source.close()
