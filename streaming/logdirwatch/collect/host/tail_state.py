"""What the host source stores across its own restart: the position in each log, and the reported directories."""

import os
from pathlib import Path
from urllib.parse import quote

import msgspec
import structlog
from msgspec import Struct, field

from logdirwatch.collect.host.tail import Position
from logdirwatch.errors import UserError
from logdirwatch.parse.decoding import Decoder, NotReadableError

log = structlog.get_logger(__name__)


class TailState(Struct, frozen=True):
    """Positions by the path of the log, and the directories and failing tasks reported in this run of the broker."""

    positions: dict[str, Position] = field(default_factory=dict)
    told_dirs: dict[str, str] = field(default_factory=dict)
    told_tasks: list[str] = field(default_factory=list)


_DECODER = Decoder(TailState)


class StateFile:
    """A small JSON file; if it is lost or broken, only lines written meanwhile are missed.

    Raises UserError when the folder cannot be created.
    """

    def __init__(self, folder: Path, cluster: str, broker: int) -> None:
        self._path = folder / f"{quote(cluster, safe='')}-{broker}.json"
        self._written: TailState | None = None
        self._is_told = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"host.state_dir {folder}: {error.strerror}") from None

    def load(self) -> TailState:
        """Return what was saved last, the empty state if there is nothing to read."""
        try:
            return _DECODER.decode(self._path.read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, NotReadableError) as error:
            log.warning(
                "host.state.unreadable",
                path=str(self._path),
                error=str(error),
                meaning="logs are followed from their end",
            )
        return TailState()

    def save(self, state: TailState) -> None:
        """Write ``state`` if it changed; a failure, as on a full disk, is only logged."""
        if state == self._written:
            return
        fresh = self._path.with_suffix(".new")
        try:
            fresh.write_bytes(msgspec.json.encode(state))
            os.replace(fresh, self._path)  # noqa: PTH105 - one step, or the old state stays
        except OSError as error:
            if not self._is_told:
                log.warning("host.state.not_written", path=str(self._path), error=error.strerror)
            self._is_told = True
        else:
            self._written, self._is_told = state, False
