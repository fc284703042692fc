"""Where the tables are, how long they keep what, and how they are maintained."""

from typing import Protocol

from pydantic import Field, model_validator

from logdirwatch.config.section import DAY_MS, Ms, Section
from logdirwatch.store.databricks import DatabricksSettings


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
