"""The jars of Spark's connectors and of Kafka's brokers, resolved from Maven coordinates into the home folder."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from logdirwatch import spark_version
from logdirwatch.errors import UserError

log = structlog.get_logger(__name__)

KAFKA_VERSION = "4.3.1"
OLDEST_JAVA = 17
MARKER = "coordinates.txt"
PINS = Path(__file__).parent / "conf" / "jars.sha256"
"""The hashes of the jars, as sha256sum writes them; ``.ci/jars`` adds those of another release."""
# jgo has no exception class: unreadable POMs, failed requests and missing files raise any of these.
DOWNLOAD_ERRORS = (OSError, ValueError, RuntimeError, AssertionError, KeyError, SyntaxError, zipfile.BadZipFile)


@dataclass(frozen=True)
class JarSet:
    """Direct dependencies, exclusions from their transitive ones, and artifact ids provided elsewhere."""

    name: str
    coordinates: tuple[str, ...]
    exclusions: tuple[str, ...] = ()
    provided: frozenset[str] = frozenset()
    provided_by: str = ""
    is_pinned: bool = False
    """Whether every jar has to be in the list of hashes; of others only those that are there are compared."""

    @property
    def marker(self) -> str:
        """A marker of the content: a set with another marker is resolved, and compared with the hashes, again."""
        without = (f"without {name}" for name in self.exclusions)
        return "\n".join((*self.coordinates, *without, self.provided_by, *(["pinned"] if self.is_pinned else []), ""))


KAFKA_TOOLS_SINCE = (3, 0)
"""Older releases have all of their tools in ``kafka_2.13``."""
LOG4J_2_SINCE = (4, 0)
CONNECT = "org.apache.kafka:connect-runtime"
"""Kafka Connect, with its web server, serves none of the tools we run."""
LOG4J_1_BINDING = "org.slf4j:slf4j-log4j12"
"""ZooKeeper of Kafka 3.1 to 3.8 needs it: since 1.7.34 it only redirects to slf4j-reload4j, which jgo does not do."""
OLDEST_KAFKA = (2, 8)


def spark_jars(home: Path) -> list[Path]:
    """Return the connector jars that PySpark does not ship, below ``home/jars/spark-4.2`` or that of another release.

    Downloads them at first use. Raises UserError when they cannot be downloaded, or there is no PySpark.
    """
    version = spark_version.installed()
    release = spark_version.release(version)
    import pyspark  # noqa: PLC0415 - slow to import, so only where Spark is used

    shipped = Path(pyspark.__file__).parent / "jars"
    provided = frozenset(artifact_id(path.name) for path in shipped.glob("*.jar"))
    return _materialised(
        JarSet(f"spark-{release.minor}", release.connectors, (), provided, f"pyspark {version}", is_pinned=True), home
    )


def kafka_jars(home: Path, version: str = KAFKA_VERSION, *, is_tiered: bool = False) -> list[Path]:
    """Return the jars of a Kafka broker and Kafka's tools, below ``home/jars``; downloads them at first use.

    Up to 3.9 ZooKeeper is among them. Raises UserError when they cannot be downloaded.
    """
    return _materialised(kafka_set(version, is_tiered=is_tiered), home)


def kafka_set(version: str, *, is_tiered: bool = False) -> JarSet:
    """Return the jars of a release of Kafka, with LocalTieredStorage if ``is_tiered``.

    Raises UserError for what is no release, or too old. kafka-clients by itself: Maven's nearest-wins rule would take
    an older one that a transitive dependency names.
    """
    number = kafka_release(version)
    logging, excluded = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4", [CONNECT]
    if number < LOG4J_2_SINCE:
        logging, excluded = "org.slf4j:slf4j-reload4j:1.7.36", [CONNECT, LOG4J_1_BINDING]
    tools = [f"org.apache.kafka:kafka-tools:{version}"] if number >= KAFKA_TOOLS_SINCE else []
    tiered = [f"org.apache.kafka:kafka-storage:{version}:test"] if is_tiered else []
    name = "kafka" if version == KAFKA_VERSION else f"kafka-{version}"
    return JarSet(
        f"{name}-tiered" if is_tiered else name,
        (
            f"org.apache.kafka:kafka_2.13:{version}",
            *tools,
            f"org.apache.kafka:kafka-clients:{version}",
            *tiered,
            logging,
        ),
        exclusions=tuple(excluded),
        is_pinned=(f"kafka-storage-{version}-test.jar" if is_tiered else f"kafka_2.13-{version}.jar") in pinned(),
    )


def pinned() -> dict[str, str]:
    """Return the hashes of the jars by file name."""
    lines = PINS.read_text(encoding="utf-8").splitlines() if PINS.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def kafka_release(version: str) -> tuple[int, int]:
    """Return the major and minor number of a release of Kafka; UserError for what is none, or too old.

    >>> kafka_release("3.9.1")
    (3, 9)
    """
    numbers = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)
    if numbers is None:
        raise UserError(f"{version} is no release of Kafka; write it like {KAFKA_VERSION}", exit_code=2)
    release = int(numbers[1]), int(numbers[2])
    if release < OLDEST_KAFKA:
        raise UserError(f"Kafka {version} is too old; the oldest is {OLDEST_KAFKA[0]}.{OLDEST_KAFKA[1]}", exit_code=2)
    return release


def java_program() -> str | None:
    """Return the java program that runs them, from JAVA_HOME or else PATH; None where neither names one."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def find_java() -> tuple[str, str]:
    """Return the java program, from JAVA_HOME or else PATH, and its version text.

    Raises UserError when there is none or it is older than Java 17.
    """
    java = java_program()
    try:
        answer = subprocess.run([java or "java", "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UserError(f"no Java found ({java or 'java is not on PATH'}); install Java {OLDEST_JAVA}") from None
    version = re.search(r'version "(\d+)', answer.stderr)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise UserError(f"{java} is {answer.stderr.splitlines()[0]}; Java {OLDEST_JAVA} or later is needed")
    return str(java), answer.stderr


def artifact_id(file_name: str) -> str:
    """Return the artifact id of a jar's file name: everything before the version.

    >>> artifact_id("scala-parallel-collections_2.13-1.2.0.jar")
    'scala-parallel-collections_2.13'
    """
    return re.split(r"-(?=\d+(?:\.|$))", file_name.removesuffix(".jar"), maxsplit=1)[0]


def _materialised(jar_set: JarSet, home: Path) -> list[Path]:
    folder = (home / "jars").resolve() / jar_set.name
    if not _is_complete(folder, jar_set):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.parent / f"{jar_set.name}.lock"):
            if not _is_complete(folder, jar_set):
                _build(jar_set, folder)
    return sorted(folder.glob("*.jar"))


def _is_complete(folder: Path, jar_set: JarSet) -> bool:
    marker = folder / MARKER
    return marker.is_file() and marker.read_text(encoding="utf-8") == jar_set.marker


def _build(jar_set: JarSet, folder: Path) -> None:
    """Collect the jars in a temporary folder and rename it into place, so that a crash leaves nothing incomplete."""
    log.info("jars.resolving", set=jar_set.name, folder=str(folder))
    for left_over in folder.parent.glob(f".{jar_set.name}-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{jar_set.name}-") as temporary:
        built = Path(temporary) / "jars"
        built.mkdir()
        found = _download(jar_set, Path(temporary) / "repository")
        needed = [jar for jar in found if artifact_id(jar.name) not in jar_set.provided]
        _compare(jar_set, needed, pinned())
        for jar in needed:
            _link_or_copy(jar, built / jar.name)
        (built / MARKER).write_text(jar_set.marker, encoding="utf-8")
        if folder.exists():
            folder.rename(Path(temporary) / "replaced")
        built.rename(folder)


def _compare(jar_set: JarSet, found: Iterable[Path], pins: Mapping[str, str]) -> None:
    """Raise UserError for a jar that is not the one that was tested."""
    for jar in found:
        pin = pins.get(jar.name)
        if pin is None and jar_set.is_pinned:
            raise UserError(f"{jar.name} is not in the list of the jars of {jar_set.name}: it is not used")
        if pin is not None and hashlib.sha256(jar.read_bytes()).hexdigest() != pin:
            raise UserError(
                f"{jar} is not the jar that was tested (its SHA-256 differs): delete it, and find out who changed it"
                " or where it came from"
            )
    if not jar_set.is_pinned:
        log.warning(
            "jars.not_pinned", set=jar_set.name, meaning="this release is not among those whose hashes are known"
        )


def resolved(jar_set: JarSet) -> list[Path]:
    """Return all jars of a set, also those that are provided elsewhere, as Maven keeps them; raises what jgo raises."""
    return _resolve(jar_set, None)


def _download(jar_set: JarSet, private: Path) -> list[Path]:
    """Resolve through the user's Maven repository or, if that has incomplete or unreadable files, a private one."""
    try:
        return _resolve(jar_set, None)
    except DOWNLOAD_ERRORS as error:
        log.debug("jars.shared_repository_failed", set=jar_set.name, error=_first_line(error))
    try:
        return _resolve(jar_set, private)
    except DOWNLOAD_ERRORS as error:
        raise UserError(
            f"cannot download the {jar_set.name} jars ({_first_line(error)}); "
            "check that this machine reaches Maven Central, then run the command again"
        ) from None


def _resolve(jar_set: JarSet, repository: Path | None) -> list[Path]:
    # Where the jars are there already nothing resolves them, and it takes a moment to import.
    from jgo.maven import MavenContext  # noqa: PLC0415

    context = MavenContext(repo_cache=repository)
    exclusions = [context.project(*name.split(":")) for name in jar_set.exclusions]
    direct = [context.create_dependency(_compile_scope(name), exclusions) for name in jar_set.coordinates]
    inputs, transitive = context.resolver.resolve(direct)
    needed: list[Any] = [*inputs, *(found for found in transitive if found.scope in ("compile", "runtime"))]
    return [_checked(found.artifact.resolve()) for found in needed]


def _compile_scope(coordinate: str) -> str:
    """Add packaging and scope: jgo resolves no transitive dependencies of a coordinate without a scope.

    >>> _compile_scope("org.apache.kafka:kafka-clients:4.3.1")
    'org.apache.kafka:kafka-clients:jar:4.3.1:compile'
    >>> _compile_scope("org.apache.kafka:kafka-storage:4.3.1:test")
    'org.apache.kafka:kafka-storage:jar:test:4.3.1:compile'
    """
    group, artifact, version, *classifier = coordinate.split(":")
    return ":".join((group, artifact, "jar", *classifier, version, "compile"))


def _checked(jar: Path) -> Path:
    """Return ``jar`` if it is complete: a truncated download has no central directory at its end."""
    with zipfile.ZipFile(jar):
        return jar


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _first_line(error: Exception) -> str:
    import requests  # noqa: PLC0415 - jgo has it imported by now

    if isinstance(error, requests.ConnectionError):
        return "no connection to the repository"
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return first_line.partition(" in remote repositories")[0]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
