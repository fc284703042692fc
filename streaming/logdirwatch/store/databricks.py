"""Settings with which commands outside Databricks read tables of Unity Catalog."""

from pathlib import Path

from pydantic import Field, SecretStr, model_validator

from logdirwatch.config.section import Section
from logdirwatch.errors import UserError


class DatabricksSettings(Section):
    """The SQL warehouse, or cluster, that reads the tables of a catalog for status, console, plan and backtest."""

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
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise UserError(f"tables.databricks.{key} {path}: {reason}", exit_code=2) from None
