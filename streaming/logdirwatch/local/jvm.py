"""Kafka's JVMs: which Java, which jars, and the archive of loaded classes that halves every start."""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from logdirwatch import jars
from logdirwatch.errors import UserError

OLDEST_JAVA = 17
TOOL_HEAP_MIB = 256
TOOL_DEADLINE_S = 300.0
FORMAT_TOOL = "kafka.tools.StorageTool"
BROKER = "kafka.Kafka"


@dataclass(frozen=True)
class Jvm:
    """How a Java program of Kafka's is started."""

    java: str
    class_path: str
    java_options: tuple[str, ...] = ()

    def command(self, heap_mib: int, *, broker: bool = False) -> list[str]:
        """Return the command without main class: small, quick to start; a broker logs at INFO to standard output."""
        logging = Path(__file__).with_name("log4j2-broker.properties" if broker else "log4j2-tool.properties")
        return [
            self.java,
            f"-Xmx{heap_mib}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *self.java_options,
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            self.class_path,
        ]


def find_java() -> tuple[str, str]:
    """Return the java program, of JAVA_HOME before PATH, and what it says of its version.

    Raises UserError when there is none or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    try:
        answer = subprocess.run([java or "java", "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UserError(f"no Java found ({java or 'java is not on PATH'}); install Java {OLDEST_JAVA}") from None
    version = re.search(r'version "(\d+)', answer.stderr)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise UserError(f"{java} is {answer.stderr.splitlines()[0]}; Java {OLDEST_JAVA} or later is needed")
    return str(java), answer.stderr


def plain_jvm(jars_home: Path) -> tuple[Jvm, Path]:
    """Return how to start Kafka without an archive of classes, and where the archive for this Java belongs.

    Downloads Kafka's jars at first use. Raises UserError when they or Java are missing.
    """
    java, version = find_java()
    found = jars.kafka_jars(jars_home)
    archive = found[0].parent / f"classes-{hashlib.sha256(version.encode()).hexdigest()[:12]}.jsa"
    return Jvm(java, ":".join(map(str, found))), archive


def run_tool(command: list[str]) -> str:
    """Run one of Kafka's tools to its end and return what it printed.

    Raises UserError with the last line of its complaint.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TOOL_DEADLINE_S)
    except subprocess.TimeoutExpired:
        raise UserError(f"{_name(command)} did not end within {TOOL_DEADLINE_S:g} s") from None
    if done.returncode != 0:
        raise UserError(
            f"{_name(command)}: {_complaint(done.stderr) or _complaint(done.stdout) or f'exit code {done.returncode}'}"
        )
    return done.stdout


def format_command(jvm: Jvm, cluster_id: str, properties: Path) -> list[str]:
    """Return the command that formats the directories of a broker that are not formatted yet."""
    arguments = ["format", "--ignore-formatted", "--cluster-id", cluster_id, "--config", str(properties)]
    return [*jvm.command(TOOL_HEAP_MIB), FORMAT_TOOL, *arguments]


def _name(command: list[str]) -> str:
    return next((part.rpartition(".")[2] for part in command if part.startswith(("kafka.", "org.apache."))), command[0])


def _complaint(output: str) -> str:
    """Return the last line that is no place in a stack trace: usage and causes come before it."""
    lines = [line.strip() for line in output.splitlines() if not line.startswith("\t")]
    return next((line for line in reversed(lines) if line), "")
