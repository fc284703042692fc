"""The console's address and access control."""

import ipaddress

from pydantic import Field, SecretStr, model_validator

from logdirwatch.config.section import HOUR_MS, Section
from logdirwatch.config.servers import Listen, address

FEWEST_PASSWORD_CHARACTERS = 12
LISTEN = "127.0.0.1:8787"


class LoginSettings(Section):
    """Who may acknowledge, silence, accept and reject in the console."""

    users_file: str = Field(
        min_length=1,
        description="File with the users and hashes of their passwords, written by logdirwatch console add-user.",
    )
    session_ms: int = Field(8 * HOUR_MS, ge=60_000, description="How long a login lasts.")
    behind_tls_proxy: bool = Field(
        False,
        description="Whether a proxy in front of the console speaks TLS and sets X-Forwarded-Proto and "
        "X-Forwarded-For; then nobody else may reach console.listen.",
    )


class ConsoleSettings(Section):
    """How ``logdirwatch console`` is served."""

    listen: Listen = Field(LISTEN, description="host:port of the page; other than this machine needs a password.")
    user: str = Field("logdirwatch", min_length=1, description="User name, if a password is set.")
    password: SecretStr | None = Field(
        None,
        description=f"Password of that user, at least {FEWEST_PASSWORD_CHARACTERS} characters; "
        "null: none, only on this machine.",
    )
    refresh_s: int = Field(30, ge=5, description="Interval at which an open page reloads.")

    login: LoginSettings | None = Field(
        None, description="The login by which people decide in the console; null: it is read-only."
    )
    databricks_app: bool = Field(
        False,
        description="Whether the console is a Databricks App: it listens at the App's port, and all who may open the "
        "App may decide, under the names that the workspace knows.",
    )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        host, _ = address(self.listen)
        if self.databricks_app:
            return False
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @model_validator(mode="after")
    def _guarded(self) -> "ConsoleSettings":
        if self.databricks_app:
            if self.password is not None or self.login is not None or self.listen != LISTEN:
                raise ValueError("an App has its own address and login: leave out listen, password and login")
            return self
        if not self.is_local and self.password is None:
            raise ValueError("listens beyond this machine: set console.password, or listen at 127.0.0.1")
        # On this machine too: a proxy may forward to it.
        if self.password is not None and len(self.password.get_secret_value()) < FEWEST_PASSWORD_CHARACTERS:
            raise ValueError(f"the password needs at least {FEWEST_PASSWORD_CHARACTERS} characters")
        return self
