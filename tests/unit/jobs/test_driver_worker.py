"""The process that Spark asks for a query's state connects before it imports anything of PySpark."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pyspark
import pytest

from logdirwatch.jobs import driver_worker, worker_python

SECRET = "a secret with ümlaut"


class Jvm:
    """Waits for a worker as ``PythonWorkerFactory`` does."""

    def __init__(self, reply=b"ok"):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port, self.reply, self.told = self.listening.getsockname()[1], reply, b""
        self.thread = threading.Thread(target=self._accept)
        self.thread.start()

    def _accept(self):
        connection, _ = self.listening.accept()
        with connection, self.listening, connection.makefile("rwb") as stream:
            self.told = stream.read(4 + len(SECRET.encode()))
            stream.write(len(self.reply).to_bytes(4, "big") + self.reply)
            stream.flush()
            self.told += stream.read(4)
            stream.write(b"go on")


@pytest.fixture
def environment():
    return {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": SECRET}


def test_the_worker_authenticates_tells_its_process_id_and_then_waits_for_as_long_as_spark_does(monkeypatch):
    jvm, made, connect = Jvm(), [], socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda *to: made.append(connect(*to)) or made[-1])
    with driver_worker.connected(jvm.port, SECRET) as stream:
        assert stream.read(5) == b"go on"
        assert made[0].gettimeout() is None
    jvm.thread.join()
    secret = SECRET.encode()
    assert jvm.told == len(secret).to_bytes(4, "big") + secret + os.getpid().to_bytes(4, "big")


@pytest.mark.parametrize("reply", [b"err", b""])
def test_a_worker_that_is_refused_ends(reply):
    jvm = Jvm(reply)
    with pytest.raises(ConnectionError):
        driver_worker.connected(jvm.port, SECRET)
    jvm.thread.join()


def test_the_module_of_pyspark_is_imported_after_the_connection_and_gets_it(tmp_path, environment):
    (tmp_path / "slow.py").write_text(
        "import sys\n"
        "def main(infile, outfile):\n"
        "    print(infile.read(5), infile is outfile, [name for name in sys.modules if 'pyspark' in name])\n"
    )
    jvm = Jvm()
    done = subprocess.run(
        [sys.executable, "-m", "logdirwatch.jobs.driver_worker", "slow"],
        env={
            **environment,
            "PYTHON_WORKER_FACTORY_PORT": str(jvm.port),
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    jvm.thread.join()
    assert (done.stdout.strip(), done.stderr) == ("b'go on' True []", "")


def run(python, *arguments, environment):
    done = subprocess.run([python, *arguments], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip()


def test_spark_starts_python_with_whatever_it_asks_for(tmp_path, environment):
    python = worker_python.written(tmp_path)
    assert run(python, "-c", "import sys; print(sys.argv[1:], sys.prefix)", "a b", environment=environment) == (
        0,
        f"['a b'] {sys.prefix}",
    )


def test_python_takes_no_module_from_the_archives_of_an_installed_pyspark(tmp_path, environment):
    archives = [tmp_path / name for name in ("pyspark.zip", "py4j-0.10.9-src.zip", "spark-core_2.13-4.2.0.jar")]
    kept = [tmp_path / "own modules", tmp_path / "mine.zip"]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [*archives, *kept]))
    asked = "import os, pyspark; print(os.environ['PYTHONPATH'], pyspark.__file__)"
    code, said = run(worker_python.written(tmp_path), "-c", asked, environment=environment)
    assert (code, said) == (0, f"{os.pathsep.join(map(str, kept))} {pyspark.__file__}")


def test_pyspark_from_elsewhere_stays_on_the_path(tmp_path, environment, monkeypatch):
    monkeypatch.setattr(worker_python.pyspark, "__file__", str(tmp_path / "pyspark" / "__init__.py"))
    environment["PYTHONPATH"] = str(tmp_path / "pyspark.zip")
    asked = "import os; print(os.environ['PYTHONPATH'])"
    code, said = run(worker_python.written(tmp_path), "-c", asked, environment=environment)
    assert (code, said) == (0, str(tmp_path / "pyspark.zip"))


def test_spark_starts_the_worker_that_connects_first(tmp_path, environment):
    jvm = Jvm(b"err")
    environment["PYTHON_WORKER_FACTORY_PORT"] = str(jvm.port)
    code, _ = run(worker_python.written(tmp_path), "-m", worker_python.DRIVER_WORKER, environment=environment)
    jvm.thread.join()
    assert code == 1
    assert jvm.told.startswith(len(SECRET.encode()).to_bytes(4, "big"))


def test_where_no_script_can_be_run_spark_starts_the_interpreter(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_python.os, "access", lambda path, mode: str(path) == "/bin/sh")
    assert worker_python.written(tmp_path) == sys.executable


def test_the_command_stays_in_the_home_folder_and_nothing_else_does(tmp_path):
    first = worker_python.command(tmp_path)
    assert Path(first).parent == tmp_path / "jars" / "python"
    written_at = Path(first).stat().st_mtime_ns
    assert worker_python.command(tmp_path) == first
    assert Path(first).stat().st_mtime_ns == written_at
    assert [str(path) for path in (tmp_path / "jars" / "python").iterdir()] == [first]


def test_another_interpreter_has_a_command_of_its_own(tmp_path, monkeypatch):
    first = worker_python.command(tmp_path)
    monkeypatch.setattr(worker_python.sys, "executable", "/other/python")
    assert worker_python.command(tmp_path) != first


def test_where_no_script_can_be_written_spark_starts_the_interpreter(tmp_path):
    (tmp_path / "jars").write_text("a file where the folder should be")
    assert worker_python.command(tmp_path) == sys.executable
