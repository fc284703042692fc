"""``console`` as a process: it answers, it ends when asked, and says in one line what it cannot do."""

import os
import socket
import subprocess

import pytest

from tests.support.console import command, reached, serving
from tests.support.delta import Written
from tests.unit.report.rows import broker, log_dir


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "LOGDIRWATCH_TABLES__PATH": str(tmp_path / "tables"), "LOGDIRWATCH_CONFIG": ""}


def test_it_shows_the_tables_until_it_is_asked_to_end(tmp_path):
    tables = Written(tmp_path / "tables")
    tables.write("broker_state", broker())
    tables.write("log_dir_state", log_dir())
    with serving(tables.root) as address:
        page = reached(f"http://{address}/")
        assert (page.status_code, "broker 7" in page.text) == (200, True)
    assert reached(f"http://{address}/") is None


@pytest.mark.parametrize(("listen", "said"), [("0.0.0.0:8787", "set console.password"), ("8787", "expected host:port")])
def test_an_address_that_will_not_do_is_one_line(tmp_path, environment, listen, said):
    ended = subprocess.run(
        command("--listen", listen), env=environment, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_line(tmp_path, environment):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = subprocess.run(
            command("--listen", listen), env=environment, capture_output=True, text=True, cwd=tmp_path, check=False
        )
    assert ended.returncode == 1
    assert "Address already in use; name another --listen" in ended.stderr.splitlines()[-1]
