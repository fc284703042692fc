"""The command with which Spark starts Python: the interpreter, but ``driver_worker`` instead of PySpark's own module.

Spark has no setting for that module, only one for the interpreter. It also puts archives with PySpark in front of
``PYTHONPATH``: a module in an archive is compiled again by every process that imports it. Where PySpark is installed
for the interpreter, the command leaves the archives out.
"""

import hashlib
import os
import shlex
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

DRIVER_WORKER = "pyspark.sql.streaming.transform_with_state_driver_worker"
_SHELL = "/bin/sh"
# Spark can use Unix domain sockets instead of ports, where it is left to do so.
_SCRIPT = """\
#!{shell}
{without_archives}if [ "$1 $2" = "-m {module}" ] && [ -n "$PYTHON_WORKER_FACTORY_PORT" ]; then
  exec {python} -m logdirwatch.jobs.driver_worker "$2"
fi
exec {python} "$@"
"""
_WITHOUT_ARCHIVES = """\
set -f
IFS=:
kept=
for entry in $PYTHONPATH; do
  case "$entry" in
    */pyspark.zip | */py4j-*.zip | */spark-core*.jar) ;;
    *) kept="$kept${kept:+:}$entry" ;;
  esac
done
unset IFS
export PYTHONPATH="$kept"
"""


def command(home: Path) -> str:
    """Return the command for sessions with this home folder.

    It stays there, beside the jars with which Spark starts: a stream that runs for months starts Python again, and what
    lies in a temporary folder is deleted sooner or later, or left behind by a process that was killed.
    """
    return written(home / "jars" / "python")


def written(folder: Path) -> str:
    """Write the command to a folder, unless it is there; the interpreter itself where no script can be written or run.

    A disk may be mounted noexec.
    """
    archives = _WITHOUT_ARCHIVES if _is_installed() else ""
    python = shlex.quote(sys.executable)
    script = _SCRIPT.format(shell=_SHELL, module=DRIVER_WORKER, python=python, without_archives=archives)
    # Installations that share a home folder have an interpreter each.
    path = folder / f"python-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    try:
        if not path.exists():
            _write(path, script)
    except OSError:
        return sys.executable
    return str(path) if all(os.access(needed, os.X_OK) for needed in (_SHELL, path)) else sys.executable


def _is_installed() -> bool:
    """Tell whether the interpreter finds PySpark by itself, not by a path that only this process has."""
    return Path(pyspark.__file__).is_relative_to(sysconfig.get_path("purelib"))


def _write(path: Path, script: str) -> None:
    """Write a script in one step, since another process may be about to run it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as folder:
        fresh = Path(folder) / path.name
        fresh.write_text(script)
        fresh.chmod(0o755)
        fresh.replace(path)
