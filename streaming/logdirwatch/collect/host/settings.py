"""What the host source reads, how often, and where it stores its positions."""

import socket

from pydantic import Field, model_validator

from logdirwatch.config.section import Name, Section


class HostSettings(Section):
    """The source on a broker's own host (``logdirwatch watch-host``); null on every other machine."""

    cluster: Name = Field(description="Name of the broker's cluster, as under clusters of the collector.")
    broker: int = Field(ge=0, description="Id of the broker on this host (node.id).")
    name: Name = Field(
        default_factory=lambda: f"host-{socket.gethostname()}",
        description="Name of this source in its records, default host- and the host's name; never a collector's.",
    )
    properties_file: str | None = Field(
        None, description="The broker's server.properties, whose log.dirs are watched; or name log_dirs."
    )
    log_dirs: tuple[str, ...] = Field((), description="The log directories, absolute, instead of properties_file.")
    server_log: str | None = Field(None, description="The broker's server.log; null: no log is read.")
    other_logs: tuple[str, ...] | None = Field(
        None,
        description="Other logs of the broker; null: log-cleaner.log and controller.log beside server_log, if there.",
    )
    kernel_log: str | None = Field(
        None, description="The kernel's log: a file such as /var/log/kern.log, or /dev/kmsg; null: none is read."
    )
    interval_ms: int = Field(10_000, ge=100, description="Time between two looks at the log directories.")
    probe: bool = Field(True, description="Whether each look writes, syncs, reads and removes a file of 4 KiB.")
    probe_timeout_ms: int = Field(
        5_000, ge=10, description="How long a directory may take before it counts as not answering."
    )
    state_dir: str | None = Field(
        None, description="Folder that remembers how far the logs were read; default: host in the home folder."
    )

    @model_validator(mode="after")
    def _names_directories(self) -> "HostSettings":
        if bool(self.log_dirs) == bool(self.properties_file):
            msg = "name either properties_file or log_dirs"
            raise ValueError(msg)
        return self
