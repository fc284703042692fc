"""An environment with what is pinned, and in it the package as an artefact brings it; programs know nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from logdirwatch.jobs.session import DELTA_CONF
from tests.cluster.standalone import Program
from tests.kafka.conftest import JARS_HOME

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "docker" / "Dockerfile"

# A cluster's own session is there before the job, as on Databricks, where the wheel's entry point runs in its driver.
IN_A_SESSION = f"""
import sys
from importlib.metadata import entry_points
from pathlib import Path
from pyspark.sql import SparkSession
from logdirwatch.jars import spark_jars
from logdirwatch.store import log_store
builder = SparkSession.builder.master("local[8,4]").config("spark.ui.enabled", "false")
builder = builder.config("spark.jars", ",".join(map(str, spark_jars(Path({str(JARS_HOME)!r})))))
builder = builder.config("spark.driver.extraClassPath", str(log_store.JAR))
for key, value in {{**{DELTA_CONF!r}, **log_store.CONF}}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
(entry,) = entry_points(group="console_scripts", name=sys.argv[1])
del sys.argv[0]
entry.load()()
"""


class Installed:
    """A virtual environment outside the repository, and a folder to run in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.python = folder, folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self._pip("install", "--use-pep517", "--require-hashes", "-r", str(ROOT / "requirements.lock"))

    def _pip(self, *words: str, cwd: Path = ROOT) -> None:
        command = [str(self.python), "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def wheel(self) -> None:
        """Install the wheel that is built from the source distribution."""
        dist = self.folder / "dist"
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        (path,) = dist.glob("*.whl")
        self._pip("install", "--force-reinstall", "--no-deps", "--no-index", str(path))

    def image(self) -> None:
        """Install from the files that the Dockerfile copies into the image, with its own last command."""
        inside = self.folder / "image"
        shutil.rmtree(inside, ignore_errors=True)
        for sources, target in re.findall(r"^COPY (.+) (\S+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE):
            for source in sources.split():
                there = inside / target / Path(source).name if target.endswith("/") else inside / target
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copyfile
                there.parent.mkdir(parents=True, exist_ok=True)
                copy(ROOT / source, there)
        self._pip("install", "--force-reinstall", "--no-build-isolation", "--no-deps", ".", cwd=inside)

    def environment(self) -> dict[str, str]:
        """An empty home; of this machine only the path, its certificates, and the jars that are there already."""
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "JAVA_HOME"} or "CERT" in name}
        return {**kept, "HOME": str(self.folder), "LOGDIRWATCH_HOME": str(JARS_HOME), "PYTHONUNBUFFERED": "1"}

    def begin(self, name: str, words: list[str], extra: dict[str, str], *, in_a_session: bool = False) -> Program:
        """Start a command of the artefact in the background."""
        # As on Databricks, the executors run the Python of the driver.
        python = {"PYSPARK_PYTHON": str(self.python)} if in_a_session else {}
        environment = [f"{key}={value}" for key, value in {**self.environment(), **python, **extra}.items()]
        program = ["-c", IN_A_SESSION, "logdirwatch"] if in_a_session else ["-m", "logdirwatch"]
        command = ["env", "-i", f"--chdir={self.folder}", *environment, str(self.python), *program, *words]
        return Program(command, self.folder / f"{name}.log")

    def run(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the artefact to its end."""
        return subprocess.run(
            [str(self.python), "-m", "logdirwatch", *words],
            cwd=self.folder,
            env={**self.environment(), **extra},
            capture_output=True,
            text=True,
            check=False,
        )
