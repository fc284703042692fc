"""``make audit``: what it says of requirements, with a database of vulnerabilities on this machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lying_server import lying
from tests.support.waiting import DEADLINE_S
from tests.unit.notify.receivers import receiving

SURROUNDINGS = {name: value for name, value in os.environ.items() if not name.startswith("AUDIT_")}
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

    def run(port, pinned=PINNED, **environ):
        tmp_path.joinpath("requirements-dev.lock").write_text(pinned)
        # pip-audit's own cache would answer for the database.
        options = ["--osv-url", f"http://127.0.0.1:{port}/v1/query", "--cache-dir", str(tmp_path / "cache")]
        command = [AUDIT, Path(sys.executable).parent, *options]
        return subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
            env={**SURROUNDINGS, **environ},
        )

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


NOT_AUDITED = "audit: NOT AUDITED: the database of vulnerabilities cannot be reached: "


def away(answer, audit, **environ):
    """The one line that is said when the database answers so, and the exit code."""
    with lying(answer) as database:
        done = audit(database.port, **environ)
    (line,) = done.stdout.splitlines()
    assert done.stderr == ""
    return line, done.returncode


AWAY = {
    "closes": lambda client: None,
    "fails": lambda client: client.send(b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n"),
    "refuses": lambda client: client.send(b"HTTP/1.1 429 Slower\r\nContent-Length: 0\r\n\r\n"),
    "is a login page": lambda client: client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlogin"),
    "is no HTTP": lambda client: client.send(b"noise\r\n\r\n"),
    "says nothing": lambda client: client.silence(),
}


@pytest.mark.parametrize("answer", AWAY.values(), ids=AWAY)
def test_a_database_that_cannot_be_asked_fails_in_one_line(audit, answer):
    line, code = away(answer, audit, **({"AUDIT_TIMEOUT_S": "3"} if answer is AWAY["says nothing"] else {}))
    assert (line.startswith(NOT_AUDITED), code) == (True, 3)


def test_a_database_that_is_not_there_fails_in_one_line(audit):
    with receiving() as database:
        port = database.port
    done = audit(port)
    assert (done.stdout.startswith(NOT_AUDITED), done.returncode) == (True, 3)


def test_where_it_may_be_away_the_line_is_said_and_nothing_fails(audit):
    line, code = away(AWAY["fails"], audit, AUDIT_MAY_BE_AWAY="1")
    assert (line.startswith(NOT_AUDITED), code) == (True, 0)


def test_a_lock_that_cannot_be_read_fails(audit):
    with receiving() as database:
        done = audit(database.port, pinned="typer\n")
    assert done.returncode == 1
    assert "NOT AUDITED" not in done.stdout
