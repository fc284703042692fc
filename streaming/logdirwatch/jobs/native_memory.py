"""Returns freed native memory to the system: the C library keeps most of it for the process.

Java's compilers, RocksDB, Arrow and delta-rs allocate memory beside the heaps that Java and Python manage.
"""

import ctypes
import subprocess
from functools import cache

from logdirwatch.jars import java_program

INTERVAL_MS = 60_000
_OPTIONS = ("-XX:+UnlockExperimentalVMOptions", f"-XX:TrimNativeHeapInterval={INTERVAL_MS}")


@cache
def java_options() -> str:
    """Return the options with which Java returns it every minute; none if this Java does not know them.

    Not every build of a release has them, and Java refuses to start with an option that it does not know.
    """
    try:
        asked = subprocess.run([java_program() or "java", *_OPTIONS, "-version"], capture_output=True, check=False)
    except OSError:
        return ""
    return " ".join(_OPTIONS) if asked.returncode == 0 else ""


def give_back() -> None:
    """Return what this process freed; does nothing where the C library has no function for it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
