"""``make audit``: what it says of requirements, with a database of vulnerabilities on this machine."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import DEADLINE_S
from tests.unit.notify.receivers import receiving

AUDIT = Path(__file__).parents[2] / ".ci" / "audit"
PINNED = f"typer==0.1.0 \\\n    --hash=sha256:{'0' * 64}\n"
KNOWN = {
    "id": "GHSA-0000-0000-0000",
    "summary": "a hole",
    "aliases": [],
    "affected": [
        {
            "package": {"name": "typer", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "0.2.0"}]}],
        }
    ],
}


@pytest.fixture
def audit(tmp_path):
    """Return a function that audits one pinned requirement with a database at a port."""

    def run(port, pinned=PINNED):
        tmp_path.joinpath("requirements-dev.lock").write_text(pinned)
        # pip-audit's own cache would answer for the database.
        options = ["--osv-url", f"http://127.0.0.1:{port}/v1/query", "--cache-dir", str(tmp_path / "cache")]
        command = [AUDIT, Path(sys.executable).parent, *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=DEADLINE_S)

    assert shutil.which("pip-audit", path=Path(sys.executable).parent), "make setup installs pip-audit"
    return run


def test_a_requirement_without_a_known_vulnerability_passes(audit):
    with receiving() as database:
        database.answer = b"{}"
        done = audit(database.port)
    assert [(body["package"]["name"], body["version"]) for body in database.bodies] == [("typer", "0.1.0")]
    assert (done.returncode, done.stderr) == (0, "")
    assert "No known vulnerabilities found" in done.stdout


def test_a_known_vulnerability_fails_and_is_named_with_the_version_that_mends_it(audit):
    with receiving() as database:
        database.answer = json.dumps({"vulns": [KNOWN]}).encode()
        done = audit(database.port)
    assert done.returncode == 1
    assert all(word in done.stdout for word in ("typer", "0.1.0", "GHSA-0000-0000-0000", "0.2.0"))


@pytest.mark.parametrize("status", [None, 503])
def test_a_database_that_cannot_be_reached_is_one_line_and_no_failure(audit, status):
    with receiving() as database:
        database.status = status or 200
        port = database.port
        done = audit(port) if status else None
    done = done or audit(port)
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("audit: the database of vulnerabilities cannot be reached, so nothing was audited: ")


def test_a_lock_that_cannot_be_read_fails(audit):
    with receiving() as database:
        done = audit(database.port, pinned="typer\n")
    assert done.returncode == 1
    assert "cannot be reached" not in done.stdout
