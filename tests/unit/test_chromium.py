"""The browser of the tests: found by name or by variable, never skipped, and what to do is one line."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.browser import chromium

SCRIPT = Path(__file__).parents[2] / ".ci" / "program"


def a_program(folder, name, text="exit 0"):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH of one folder, and no browser named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(chromium.NAMED, raising=False)
    return tmp_path


def run():
    return subprocess.run(
        ["/bin/sh", SCRIPT, "Chromium", chromium.NAMED, *chromium.NAMES],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", chromium.NAMES)
def test_a_browser_on_the_path_is_found(path, name):
    there = a_program(path, name)
    assert chromium.program() == there
    assert run().returncode == 0


def test_the_named_one_comes_first(path, monkeypatch):
    a_program(path, "chromium")
    monkeypatch.setenv(chromium.NAMED, a_program(path, "mine"))
    assert chromium.program() == str(path / "mine")


def test_a_wrong_name_is_one_line(path, monkeypatch):
    monkeypatch.setenv(chromium.NAMED, str(path / "none"))
    with pytest.raises(FileNotFoundError, match=r"^TEST_CHROMIUM=.*/none is no program: name .*$"):
        chromium.program()


def test_without_one_it_is_said_what_to_do(path):
    with pytest.raises(FileNotFoundError, match=r"^no browser: run make test-browser, or name a Chromium in [A-Z_]+$"):
        chromium.program()


def test_only_root_installs_one(path):
    a_program(path, "id", "echo 1000")
    a_program(path, "apt-get", f"echo called > {path}/installed")
    ended = run()
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "found no Chromium: install one" in ended.stderr
    assert not (path / "installed").exists()


def test_one_that_cannot_be_installed_is_one_line(path):
    a_program(path, "id", "echo 0")
    a_program(path, "tail", '/usr/bin/tail "$@"')
    a_program(path, "apt-get", "echo E: no network; exit 100")
    ended = run()
    assert (ended.returncode, ended.stderr) == (1, "logdirwatch: Chromium cannot be installed: E: no network\n")
