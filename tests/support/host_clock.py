"""The wall clock of one host: it can be set while processes run, of Python and Java alike.

Kafka, and what waits by the monotonic clock, notice nothing; neither do the times of files, which the kernel gives.
"""

import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("host_clock.c")


class HostClock:
    """A clock for the processes that are started ``under`` it, right until it is set."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._library, self._offset = folder / "host_clock.so", folder / "clock_offset"
        self.set_ahead(0)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self._library, SOURCE], check=True)

    @property
    def under(self) -> tuple[str, ...]:
        """The command under which a process, and all that it starts, has this clock."""
        return "env", f"LD_PRELOAD={self._library}", f"CLOCK_OFFSET_FILE={self._offset}"

    def set_ahead(self, seconds: int) -> None:
        """Set it so many seconds ahead of the true time, or behind it when negative, for all its processes at once."""
        # Written in place, since processes have the file mapped.
        with self._offset.open("r+b" if self._offset.exists() else "wb") as file:
            file.write(struct.pack("@l", seconds))
