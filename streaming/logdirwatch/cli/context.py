"""The global options of every command: the configuration and how errors are shown."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from logdirwatch import settings as configuration
from logdirwatch.settings import Settings


@dataclass
class Context:
    """The global options."""

    config_path: Path | None = None
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """The configuration, read at first use."""
        return configuration.load(configuration.find_config(self.config_path))
