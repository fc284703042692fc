"""Whether a broker's process runs on this host, from the table of processes (proc(5))."""

from collections.abc import Iterator
from pathlib import Path

from logdirwatch.collect.host import server_properties
from logdirwatch.errors import UserError

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
