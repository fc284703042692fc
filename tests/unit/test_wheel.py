"""What is published: the package's files and its configuration, nothing else, and it runs where it is installed."""

import email
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from logdirwatch import __version__

ROOT = Path(__file__).parents[2]
META = f"logdirwatch-{__version__}.dist-info"
ASIDE = {"conf/reference.yaml": "logdirwatch/conf/reference.yaml"}
"""What the package gets from elsewhere in the repository, and under which name."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Return the folder with the source distribution, and the wheel that is built from it, as make dist does."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    """Return the built wheel, opened."""
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """Return the programs' folder of a fresh environment in which the wheel is installed.

    What it depends on is that of the tests, which are installed from the same pins; the package is not.
    """
    folder = tmp_path_factory.mktemp("installed")
    (path,) = dist.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(path)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin"


def said(installed, *words, cwd):
    """Return what a program of the environment prints, which knows nothing of this repository."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH" and "LOGDIRWATCH" not in name
    }
    command = [str(installed / words[0]), *words[1:]]
    return subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout


def test_both_distributions_are_fit_to_be_published(dist):
    paths = sorted(str(path) for path in dist.iterdir())
    assert len(paths) == 2
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_source_distribution_has_what_a_build_needs_and_no_tests(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    assert {"pyproject.toml", "README.md", "LICENSE", "conf/reference.yaml"} <= names
    assert {name.split("/")[0] for name in names if "/" in name} == {"streaming", "conf"}


def test_an_installed_wheel_runs_from_its_own_files(installed, tmp_path):
    where = said(installed, "python", "-c", "import logdirwatch; print(logdirwatch.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert said(installed, "logdirwatch", "--version", cwd=tmp_path).split()[-1] == __version__


def test_an_installed_wheel_makes_and_checks_a_configuration(installed, tmp_path):
    answers = ("--cluster", "prod", "--brokers", "kafka-1:9092", "--security", "PLAINTEXT")
    answers += ("--telemetry", "telemetry-1:9092", "--replication-factor", "1", "--notify-url", "")
    assert "wrote logdirwatch.yaml" in said(installed, "logdirwatch", "init", *answers, cwd=tmp_path)
    assert "valid" in said(installed, "logdirwatch", "config", "check", cwd=tmp_path)
    assert "filling_ratio" in said(installed, "logdirwatch", "config", "reference", cwd=tmp_path)


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
