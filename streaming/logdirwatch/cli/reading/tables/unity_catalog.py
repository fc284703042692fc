"""Tables of Unity Catalog, read by a SQL warehouse or a cluster through Databricks' SQL connector.

The connector is an extra of the package. Tests run it against a stand-in that speaks its protocol, Thrift over HTTPS;
it has not been run against a real workspace.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

from kafka.errors import KafkaError

from logdirwatch.cli.reading.tables.reader import AT_ONCE, Row, TableReader, query_of
from logdirwatch.errors import UserError
from logdirwatch.kafka.logins import ClientCredentials
from logdirwatch.kafka.oauth import Tokens
from logdirwatch.report.status.absent_tables import Place
from logdirwatch.store.settings import DatabricksSettings

INSTALL = "pip install 'logdirwatch[databricks]'"
_RETRY_S, _ATTEMPTS = 5, 60
"""The shortest pause between attempts, and the most attempts, that the connector accepts."""
_SOURCE = re.compile(r"\bFROM t\b")
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
# Conditions of Databricks' errors; a schema or catalog that is missing has no tables either.
_NOT_FOUND = ("[TABLE_OR_VIEW_NOT_FOUND", "[SCHEMA_NOT_FOUND", "[NO_SUCH_CATALOG", "[CATALOG_NOT_FOUND")


class UnityCatalog(TableReader):
    """Reads the tables of a schema; every query has its own connection, since a session may end unnoticed."""

    def __init__(self, catalog: str, schema: str, settings: DatabricksSettings) -> None:
        name = f"{catalog}.{schema}"
        super().__init__(
            Place(
                f"in {name}",
                f"the schema {name}",
                "tables.catalog and tables.table_schema",
                "; Unity Catalog shows only what its user may see",
            )
        )
        self._schema = f"{_identifier(catalog)}.{_identifier(schema)}"
        self._settings = settings

    def select(self, table: str, query: str) -> Iterator[Row] | None:
        """Return the rows of a query, page by page."""
        return self._answer(f"table {table}", lambda cursor: self._ask(cursor, table, query))

    def stream(self, table: str, query: str) -> Iterator[Row] | None:
        """Return the rows of a query, page by page."""
        return self.select(table, query)

    def chosen(self, table: str, columns: Iterable[str], where: str) -> Iterator[Row] | None:
        """Return columns of the rows that match; one that the table lacks is null."""

        def ask(cursor: Any) -> None:
            self._ask(cursor, table, "SELECT * FROM t LIMIT 0")
            there = [column[0] for column in cursor.description]
            self._ask(cursor, table, query_of(columns, there, where))

        return self._answer(f"table {table}", ask)

    def names(self) -> list[str] | None:
        """Return the tables of the schema that its user may see; None if there is no such schema."""
        try:
            found = self._answer("the list of tables", lambda cursor: cursor.execute(f"SHOW TABLES IN {self._schema}"))
            return None if found is None else sorted(str(row["tableName"]) for row in found)
        except UserError:
            # Only explains why a table is missing, which is said in any case.
            return []

    def _ask(self, cursor: Any, table: str, query: str) -> None:
        statement, parameters = with_parameters(query)
        cursor.execute(_SOURCE.sub(lambda _: f"FROM {self._schema}.{_identifier(table)} AS t", statement), parameters)

    def _answer(self, what: str, ask: Callable[[Any], None]) -> Iterator[Row] | None:
        with self._readable(what), ExitStack() as stack:
            cursor = stack.enter_context(stack.enter_context(self._connected()).cursor())
            try:
                ask(cursor)
            except Exception as error:
                if str(error).startswith(_NOT_FOUND):
                    return None
                raise
            return self._pages(what, cursor, stack.pop_all())

    def _pages(self, what: str, cursor: Any, stack: ExitStack) -> Iterator[Row]:
        with self._readable(what), stack:
            while page := cursor.fetchmany_arrow(AT_ONCE):
                yield from page.to_pylist()

    def _connected(self) -> Any:
        settings = self._settings
        host, _, port = settings.server_hostname.partition(":")
        wait_s = settings.timeout_ms / 1000
        return _connector().connect(
            server_hostname=host,
            http_path=settings.http_path,
            _port=int(port or 443),
            _socket_timeout=wait_s,
            _retry_stop_after_attempts_duration=wait_s,
            _retry_stop_after_attempts_count=_ATTEMPTS,
            # The connector waits that long, never less, before it asks again.
            _retry_delay_max=_RETRY_S,
            # Results come from the workspace itself, not from its cloud's object store, which may be out of reach.
            use_cloud_fetch=False,
            enable_telemetry=False,
            user_agent_entry="logdirwatch",
            **self._credentials,
        )

    @cached_property
    def _credentials(self) -> dict[str, Any]:
        settings = self._settings
        token = settings.secret_token()
        if token is not None:
            return {"access_token": token}
        tokens = Tokens(
            ClientCredentials(
                f"https://{settings.server_hostname}/oidc/v1/token",
                settings.client_id or "",
                settings.secret_of_client(),
                "all-apis",
            )
        )
        return {"credentials_provider": lambda: lambda: {"Authorization": f"Bearer {tokens.token()}"}}

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            # Beside its own errors the connector lets those of its HTTP client through.
            told = str(error.args[0]) if isinstance(error, KafkaError) and error.args else str(error)
            reason = next(iter(told.splitlines()), type(error).__name__)
            raise UserError(
                f"{what} {self.place.at} cannot be read by {self._settings.server_hostname}: {reason}; check "
                "tables.databricks and what its user may read: docs/databricks.md"
            ) from None


def with_parameters(query: str) -> tuple[str, dict[str, str]]:
    r"""Return a query with its literals as named parameters: in a literal Databricks takes a backslash for an escape.

    >>> with_parameters(r"SELECT a FROM t WHERE b = 'c:\d' AND e = 'it''s'")
    ('SELECT a FROM t WHERE b = :p0 AND e = :p1', {'p0': 'c:\\d', 'p1': "it's"})
    """
    values: dict[str, str] = {}

    def named(literal: re.Match[str]) -> str:
        name = f"p{len(values)}"
        values[name] = literal[1].replace("''", "'")
        return f":{name}"

    return _LITERAL.sub(named, query), values


def _identifier(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _connector() -> Any:
    try:
        from databricks import sql  # noqa: PLC0415 - an extra of the package
    except ImportError:
        raise UserError(
            f"tables of Unity Catalog need Databricks' SQL connector; install it with: {INSTALL}", exit_code=2
        ) from None
    # It logs what it raises as well, and at level DEBUG whole requests.
    for name in ("databricks.sql", "databricks.sql.unsafe"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return sql
