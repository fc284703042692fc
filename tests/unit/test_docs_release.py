"""make docs-release publishes the documentation of the version that is checked out, and of no other."""

import subprocess
import sys
from pathlib import Path

import pytest

from logdirwatch import __version__

ROOT = Path(__file__).parents[2]


def docs_release(version):
    command = [ROOT / ".ci" / "docs-release", Path(sys.executable).parent, version]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("", f"name the version: make docs-release VERSION={__version__}"),
        ("0.0.1", f"this checkout is version {__version__}, not 0.0.1: check out its tag first"),
    ],
)
def test_another_version_than_the_checkout_is_refused_in_one_line(version, reason):
    ended = docs_release(version)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"docs-release: {reason}\n"
