"""A standalone Spark cluster of processes, as PySpark ships it, and a spark-submit to it."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pyspark

from logdirwatch.jars import spark_jars
from logdirwatch.observe.children import dying_with_parent
from logdirwatch_lab.ports import free_ports
from logdirwatch_lab.state import HOST
from tests.kafka.conftest import JARS_HOME
from tests.support.waiting import DEADLINE_S, wait_until

SPARK_HOME = Path(pyspark.__file__).parent
CONF = Path(__file__).parents[2] / "conf"
LOG_OF_ERRORS = f"-Dlog4j2.configurationFile={CONF / 'log4j2.properties'}"
SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
CORES = 8
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
MEMORY = "1g"


class Program:
    """A process of its own group, its output in a file; it ends with its test."""

    def __init__(self, command, log_file, **environment):
        self.log_file = log_file
        with log_file.open("wb") as output:
            self._process = subprocess.Popen(
                [*dying_with_parent(), *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable, **environment},
            )

    def said(self):
        return self.log_file.read_text(errors="replace")

    def ended(self):
        """Return its exit code, None while it runs."""
        return self._process.poll()

    def check(self):
        assert self._process.poll() is None, f"{self.log_file} ended: {self.said()[-3_000:]}"

    def waits_to_say(self, text, deadline_s=DEADLINE_S):
        def is_said():
            self.check()
            return text in self.said()

        wait_until(is_said, deadline_s, f"{text!r} in {self.log_file}")

    def left(self):
        """Return the processes of its group that still run."""
        running = psutil.process_iter(["name", "status"])
        return [p.info["name"] for p in running if p.info["status"] != psutil.STATUS_ZOMBIE and self._is_ours(p.pid)]

    def _is_ours(self, pid):
        try:
            return os.getpgid(pid) == self._process.pid
        except ProcessLookupError:
            return False

    def kill(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self):
        """Ask it to end, insist after a while; return its exit code."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.returncode


def conf(options):
    """Return the arguments of spark-submit that set these."""
    return [word for name, value in options.items() for word in ("--conf", f"{name}={value}")]


class ConnectServer:
    """A server of Spark Connect with a local master, as PySpark ships it; ``with`` starts it and ends it."""

    def __init__(self, folder):
        self._folder = folder

    def __enter__(self):
        (port,) = free_ports(1)
        self.url = f"sc://{HOST}:{port}"
        options = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": port,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.driver.extraJavaOptions": f"{SMALL_JVM} -Djava.io.tmpdir={self._folder} {LOG_OF_ERRORS}",
            "spark.ui.enabled": "false",
            "spark.sql.warehouse.dir": self._folder / "warehouse",
        }
        command = [
            *(SPARK_HOME / "bin" / "spark-submit", "--master", f"local[{CORES}]", *conf(options)),
            *("--jars", ",".join(map(str, spark_jars(JARS_HOME))), "--class", CONNECT, "spark-internal"),
        ]
        self.program = Program(command, self._folder / "connect.log", SPARK_LOCAL_DIRS=str(self._folder))
        try:
            wait_until(lambda: self._answers(port), DEADLINE_S, f"a server of Spark Connect; {self.program.log_file}")
        except AssertionError:
            self.program.stop()
            raise
        return self

    def _answers(self, port):
        self.program.check()
        with socket.socket() as probe:
            return probe.connect_ex((HOST, port)) == 0

    def __exit__(self, *_):
        self.program.stop()

    def run(self, config, log_file, *arguments):
        """Run ``logdirwatch`` with ``SPARK_REMOTE``, as the documentation says."""
        command = [sys.executable, "-m", "logdirwatch", "--config", config, *arguments]
        return Program(command, log_file, SPARK_REMOTE=self.url)


class Standalone:
    """A master and two workers; ``with`` starts them and ends them."""

    def __init__(self, folder):
        self._folder = folder
        # A worker that is killed leaves the files of its executors where they are.
        self._tmpdir = f"-Djava.io.tmpdir={folder}"
        self._environment = {"SPARK_LOCAL_DIRS": str(folder), "SPARK_DAEMON_JAVA_OPTS": self._tmpdir}
        self._stack = ExitStack()

    def __enter__(self):
        (port,) = free_ports(1)
        self.url = f"spark://{HOST}:{port}"
        self.master = self._daemon("master", "Master", "--port", port)
        self.master.waits_to_say("I have been elected leader")
        self.workers = [self._worker(f"worker-{number}") for number in (1, 2)]
        for worker in self.workers:
            worker.waits_to_say("Successfully registered with master")
        return self

    def __exit__(self, *_):
        self._stack.close()

    def submit(self, config, log_file, *arguments):
        """Run ``logdirwatch`` by spark-submit, as the documentation says."""
        options = {
            "spark.executor.memory": MEMORY,
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": self._folder / "warehouse",
            "spark.driver.extraJavaOptions": f"{SMALL_JVM} {self._tmpdir} {LOG_OF_ERRORS}",
            "spark.executor.extraJavaOptions": f"{SMALL_JVM} {self._tmpdir}",
            "spark.ui.enabled": "false",
        }
        command = [
            *(SPARK_HOME / "bin" / "spark-submit", "--master", self.url, *conf(options)),
            *("--jars", ",".join(map(str, spark_jars(JARS_HOME)))),
            *(CONF / "spark" / "run.py", "--config", config, *arguments),
        ]
        program = Program(command, log_file, **self._environment)
        self._stack.callback(program.stop)
        return program

    def _worker(self, name):
        return self._daemon(
            *(name, "Worker", "--port", 0, "--cores", CORES, "--memory", "2g"),
            *("--work-dir", self._folder / name, self.url),
        )

    def _daemon(self, name, kind, *arguments):
        command = [
            *(SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{kind.lower()}.{kind}"),
            *("--host", HOST, "--webui-port", 0, *arguments),
        ]
        environment = {**self._environment, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HOST}
        program = Program(command, self._folder / f"{name}.log", **environment)
        self._stack.callback(program.stop)
        return program
