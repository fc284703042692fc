"""Kafka's JVMs: which Java, which jars, and the archive of loaded classes."""

import hashlib
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from logdirwatch import jars
from logdirwatch.errors import UserError
from logdirwatch.text.units import human_s

TOOL_HEAP_MIB = 256
TOOL_DEADLINE_S = 300.0
FORMAT_TOOL = "kafka.tools.StorageTool"
BROKER = "kafka.Kafka"
ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


@dataclass(frozen=True)
class Jvm:
    """How to start a Java program of Kafka."""

    java: str
    class_path: str
    java_options: tuple[str, ...] = ()
    has_log4j_2: bool = True

    def command(self, heap_mib: int, *, broker: bool = False) -> list[str]:
        """Return the command without main class: small, quick to start; a broker logs at INFO to standard output.

        Up to Kafka 3.9 it logs with log4j 1.
        """
        whose = "broker" if broker else "tool"
        if self.has_log4j_2:
            logging = f"-Dlog4j2.configurationFile={_beside(f'log4j2-{whose}.properties')}"
        else:
            logging = f"-Dlog4j.configuration={_beside(f'log4j-{whose}.properties').as_uri()}"
        return [
            self.java,
            f"-Xmx{heap_mib}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *self.java_options,
            logging,
            "-cp",
            self.class_path,
        ]


def _beside(name: str) -> Path:
    return Path(__file__).resolve().with_name(name)


def plain_jvm(jars_home: Path, kafka_version: str = jars.KAFKA_VERSION, *, is_tiered: bool = False) -> tuple[Jvm, Path]:
    """Return how to start Kafka without a class archive, and the path of the archive for this Java.

    Downloads Kafka's jars at first use. Raises UserError when they or Java are missing.
    """
    java, version = jars.find_java()
    found = jars.kafka_jars(jars_home, kafka_version, is_tiered=is_tiered)
    archive = found[0].parent / f"classes-{hashlib.sha256(version.encode()).hexdigest()[:12]}.jsa"
    has_log4j_2 = jars.kafka_release(kafka_version) >= jars.LOG4J_2_SINCE
    return Jvm(java, ":".join(map(str, found)), has_log4j_2=has_log4j_2), archive


def first_class(jvm: Jvm, candidates: Sequence[str]) -> str | None:
    """Return the first of several main classes that Kafka's jars contain: releases moved their tools."""
    kafka = [path for path in jvm.class_path.split(":") if Path(path).name.startswith("kafka")]
    held: set[str] = set()
    for path in kafka:
        with zipfile.ZipFile(path) as jar:
            held.update(jar.namelist())
    return next((name for name in candidates if f"{name.replace('.', '/')}.class" in held), None)


def run_tool(command: list[str]) -> str:
    """Run one of Kafka's tools to its end and return what it printed.

    Raises UserError with the last line of its error.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TOOL_DEADLINE_S)
    except subprocess.TimeoutExpired:
        raise UserError(f"{_name(command)} did not end within {human_s(TOOL_DEADLINE_S)}") from None
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
    """Return the last line that is not part of a stack trace: usage and causes come before it."""
    lines = [line.strip() for line in output.splitlines() if not line.startswith("\t")]
    return next((line for line in reversed(lines) if line), "")
