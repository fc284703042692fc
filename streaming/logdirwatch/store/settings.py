"""Where the tables are, how long they keep what, and how they are maintained."""

import os
from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import Field, SecretStr, model_validator

from logdirwatch.config.section import DAY_MS, Ms, Section
from logdirwatch.config.text_file import read

_VARIABLES = {
    "server_hostname": "DATABRICKS_HOST",
    "client_id": "DATABRICKS_CLIENT_ID",
    "client_secret": "DATABRICKS_CLIENT_SECRET",
}
"""The variables of Databricks' own tools, which a Databricks App has."""
_CREDENTIALS = frozenset({"token", "token_file", "client_id", "client_secret", "client_secret_file"})


class DatabricksSettings(Section):
    """The SQL warehouse, or cluster, that reads the tables of a catalog for status, console, plan and backtest.

    What is left out of host and credential is that of Databricks' own variables.
    """

    server_hostname: str = Field(
        pattern=r"^[^/\s:]+(:\d+)?$", description="Host of the workspace, from the warehouse's connection details."
    )
    http_path: str = Field(min_length=1, description="HTTP path of the warehouse or cluster.")
    token: SecretStr | None = Field(None, description="Access token; better in a file or the environment.")
    token_file: str | None = Field(None, description="File with the access token, read at each start.")
    client_id: str | None = Field(None, description="Service principal (OAuth M2M), in place of a token.")
    client_secret: SecretStr | None = Field(None, description="Secret of the service principal.")
    client_secret_file: str | None = Field(None, description="File with that secret.")
    timeout_ms: int = Field(
        300_000, ge=1_000, description="How long to wait for an answer; a stopped warehouse starts meanwhile."
    )

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        told = {key for key, value in given.items() if value is not None}
        left_out = _VARIABLES.keys() - told - (_CREDENTIALS if told & _CREDENTIALS else set())
        found = {key: os.environ[name] for key, name in _VARIABLES.items() if key in left_out and os.environ.get(name)}
        if "server_hostname" in found:
            found["server_hostname"] = found["server_hostname"].removeprefix("https://").rstrip("/")
        return {**given, **found}

    @model_validator(mode="after")
    def _has_one_credential(self) -> "DatabricksSettings":
        secrets = (self.token, self.token_file, self.client_secret, self.client_secret_file)
        if sum(secret is not None for secret in secrets) != 1:
            msg = "needs one of token, token_file, client_secret and client_secret_file"
            raise ValueError(msg)
        if (self.client_id is None) != (self.client_secret is None and self.client_secret_file is None):
            msg = "client_id and its secret belong together"
            raise ValueError(msg)
        return self

    def secret_token(self) -> str | None:
        """Return the access token; None with a service principal. Raises UserError when its file cannot be read."""
        return _secret(self.token, self.token_file, "token_file")

    def secret_of_client(self) -> str:
        """Return the service principal's secret; raises UserError when its file cannot be read."""
        return _secret(self.client_secret, self.client_secret_file, "client_secret_file") or ""


def _secret(value: SecretStr | None, path: str | None, key: str) -> str | None:
    if value is not None:
        return value.get_secret_value()
    if path is None:
        return None
    return read(path, f"tables.databricks.{key}").strip()


class TableSettings(Section):
    """Where the Delta tables are: a path, or a catalog and schema."""

    path: str | None = Field(
        None, description="Folder or object store URL of the tables; default: tables in the home folder."
    )
    catalog: str | None = Field(None, description="Unity Catalog name; needs table_schema, excludes path.")
    table_schema: str | None = Field(None, description="Schema in the catalog.")
    databricks: DatabricksSettings | None = None


class RetentionSettings(Section):
    """How long each history table keeps a row; 0: forever."""

    log_dir_samples_ms: Ms = Field(30 * DAY_MS, description="Polls, directories and events.")
    transitions_ms: Ms = Field(730 * DAY_MS, description="Changes of status.")
    alerts_ms: Ms = Field(730 * DAY_MS, description="Alerts, counted from their end; firing ones are kept.")
    actions_ms: Ms = Field(730 * DAY_MS, description="Actions, counted from their end; open ones are kept.")
    executions_ms: Ms = Field(
        730 * DAY_MS, description="Executions of actions, counted from their end; unfinished ones are kept."
    )
    decisions_ms: Ms = Field(730 * DAY_MS, description="Decisions.")
    rejected_records_ms: Ms = Field(30 * DAY_MS, description="Rejected records.")
    quality_results_ms: Ms = Field(365 * DAY_MS, description="Results of data quality runs.")


class MaintainSettings(Section):
    """Maintenance of the tables (``logdirwatch tables optimize``)."""

    retention: RetentionSettings = RetentionSettings()
    deleted_files_ms: int = Field(
        DAY_MS,
        ge=60_000,
        description="How long unused data files are kept; must exceed the duration of the longest query.",
    )
    table_log_ms: int = Field(
        DAY_MS,
        ge=60_000,
        description="How long the tables' own logs, and so their earlier versions, are kept; each batch lists them.",
    )

    @model_validator(mode="after")
    def _log_outlives_files(self) -> "MaintainSettings":
        if self.table_log_ms < self.deleted_files_ms:
            raise ValueError("table_log_ms must not be less than deleted_files_ms: Delta refuses it")
        return self


class StoreSettings(Protocol):
    """The sections that say where the tables are and how they are kept."""

    @property
    def tables(self) -> TableSettings:
        """The catalog and schema, if configured."""

    @property
    def tables_path(self) -> str:
        """The folder or object store URL of the tables otherwise."""

    @property
    def maintain(self) -> MaintainSettings:
        """Their retention and maintenance."""
