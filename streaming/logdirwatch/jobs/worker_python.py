"""The command with which Spark starts Python: the interpreter, but ``driver_worker`` instead of PySpark's own module.

Spark has no setting for that module, only one for the interpreter.
"""

import os
import shlex
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

DRIVER_WORKER = "pyspark.sql.streaming.transform_with_state_driver_worker"
_SHELL = "/bin/sh"
# Spark can use Unix domain sockets instead of ports, where it is left to do so.
_SCRIPT = """\
#!{shell}
if [ "$1 $2" = "-m {module}" ] && [ -n "$PYTHON_WORKER_FACTORY_PORT" ]; then
  exec {python} -m logdirwatch.jobs.driver_worker "$2"
fi
exec {python} "$@"
"""

_folders: list[TemporaryDirectory[str]] = []
"""Each is removed with its object."""


@cache
def command() -> str:
    """Return the command for the sessions of this process; it is gone when the process ends."""
    _folders.append(TemporaryDirectory(prefix="logdirwatch-python-"))
    return written(Path(_folders[-1].name))


def written(folder: Path) -> str:
    """Write the command to a folder; the interpreter itself where no script can be run, as on a disk mounted noexec."""
    script = folder / "python"
    script.write_text(_SCRIPT.format(shell=_SHELL, module=DRIVER_WORKER, python=shlex.quote(sys.executable)))
    script.chmod(0o755)
    return str(script) if all(os.access(needed, os.X_OK) for needed in (_SHELL, script)) else sys.executable
