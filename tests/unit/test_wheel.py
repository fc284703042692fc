"""The wheel: it holds the package's files and its configuration, and nothing else."""

import email
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from logdirwatch import __version__

ROOT = Path(__file__).parents[2]
META = f"logdirwatch-{__version__}.dist-info"
ASIDE = {"conf/reference.yaml": "logdirwatch/conf/reference.yaml"}
"""What the package gets from elsewhere in the repository, and under which name."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the built wheel, opened."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    with zipfile.ZipFile(path) as opened:
        yield opened


def test_it_holds_the_files_of_the_package_and_nothing_else(wheel):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "logdirwatch"]
    listed = subprocess.run(command, cwd=ROOT / "streaming", capture_output=True, check=True, text=True).stdout
    package = {name for name in listed.split("\0") if name and (ROOT / "streaming" / name).is_file()}
    held = {name for name in wheel.namelist() if not name.startswith(f"{META}/")}
    assert held == package | set(ASIDE.values())


@pytest.mark.parametrize(
    "name",
    [
        "logdirwatch/py.typed",
        "logdirwatch/conf/reference.yaml",
        "logdirwatch/conf/log4j2.properties",
        "logdirwatch/console/templates/base.html",
        "logdirwatch/console/static/console.css",
        f"{META}/licenses/LICENSE",
    ],
)
def test_what_is_read_at_run_time_is_in_it(wheel, name):
    assert wheel.read(name) or name.endswith("py.typed")


@pytest.mark.parametrize("source", ASIDE)
def test_what_comes_from_elsewhere_is_the_same(wheel, source):
    assert wheel.read(ASIDE[source]) == (ROOT / source).read_bytes()


def test_its_metadata_name_licence_python_and_command(wheel):
    metadata = email.message_from_bytes(wheel.read(f"{META}/METADATA"))
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.10"
    assert set(metadata.get_all("Provides-Extra")) == {"build", "databricks", "dev", "quality", "spark"}
    always = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    assert not [name for name in always if name.startswith(("pyspark", "delta-spark"))], (
        "a platform brings its own Spark"
    )
    assert wheel.read(f"{META}/entry_points.txt").decode().split() == [
        "[console_scripts]",
        "logdirwatch",
        "=",
        "logdirwatch.cli.main:main",
    ]
