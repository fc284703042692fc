"""The offline directories of an alert, each with its cause and the evidence for it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence, OfflineLogDir
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Cause, FullBy, LogDirStatus
from logdirwatch.parse.broker_log.causes import is_of_quota
from logdirwatch.plan.availability.fault_tolerance import lost_together
from logdirwatch.plan.cluster.layout import LogDirId, Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.text.units import human_ratio
from logdirwatch.text.words import counted, some_of


@dataclass(frozen=True)
class OfflineEvidence:
    """An alert's evidence about one directory: the device, the exhausted resource, the log line."""

    device: str | None = None
    full_by: FullBy | None = None
    said: str | None = None
    used_inodes_ratio: float | None = None
    kernel_error: str | None = None


@dataclass(frozen=True)
class OfflineLogDirs:
    """The offline directories of one broker that share an alert, and the partitions that lost a replica with them."""

    broker: int
    target: Mapping[str, Any]
    directories: tuple[LogDir, ...]
    proofs: Mapping[str, OfflineEvidence]
    snapshot: ClusterSnapshot

    def of_cause(self, *causes: Cause) -> tuple[LogDir, ...]:
        """Return the directories with one of these causes."""
        return tuple(directory for directory in self.directories if directory.cause in causes)

    @property
    def is_several(self) -> bool:
        """Whether the alert covers more than one directory."""
        return len(self.directories) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Their paths."""
        return tuple(directory.path for directory in self.directories)

    def lost(self, directories: Iterable[LogDir]) -> list[Partition]:
        """Return the partitions that lost a replica with some of them."""
        places = [directory.place for directory in directories]
        if set(places) == {directory.place for directory in self.directories}:
            return lost_together(places, self.snapshot)
        return lost_together(places, self.snapshot, with_unseen=False)


def offline_log_dirs_of(alert: AlertRecord, snapshot: ClusterSnapshot) -> OfflineLogDirs | None:
    """Return the offline directories of an alert; None if the snapshot has none of them.

    The alert's causes take precedence over those of the tables, which lag behind.
    """
    if alert.broker is None or alert.log_dir is None:
        return None
    broker, listed = alert.broker, _listed(alert)
    paths = list(listed) if listed else [alert.log_dir]
    known = [snapshot.directories[broker, path] for path in paths if (broker, path) in snapshot.directories]
    if not known:
        return None
    directories = tuple(
        replace(found, cause=cause_at(alert, found.path) or found.cause or Cause.UNKNOWN) for found in known
    )
    if any(found.cause is not snapshot.directories[found.place].cause for found in directories):
        snapshot = snapshot.with_directories(directories)
    proofs = {found.path: evidence_of(listed.get(found.path) or _shown(alert)) for found in known}
    return OfflineLogDirs(broker, {"broker": broker, "log_dir": known[0].path}, directories, proofs, snapshot)


def places_of(alert: AlertRecord) -> list[LogDirId]:
    """Return the places that an alert calls offline."""
    if alert.broker is None or alert.log_dir is None:
        return []
    return [(alert.broker, path) for path in (_listed(alert) or [alert.log_dir])]


def cause_at(alert: AlertRecord, path: str) -> Cause | None:
    """Return the cause that an alert gives for one of its directories.

    Whichever directory is first meets the limit of a process, so that cause applies to all that failed with it.
    """
    told, cause = _listed(alert).get(path), alert.cause
    if told is not None:
        cause = Cause(told.cause) if told.cause in set(Cause) else Cause.UNKNOWN
    return Cause.LIMIT if cause is Cause.UNKNOWN and alert.cause is Cause.LIMIT else cause


def evidence_of(shown: LogDirOfflineEvidence | OfflineLogDir) -> OfflineEvidence:
    """Return the evidence about one directory."""
    full_by, said = shown.full_by, shown.said or shown.event_detail
    alone = shown if isinstance(shown, LogDirOfflineEvidence) else LogDirOfflineEvidence()
    return OfflineEvidence(
        device=shown.device,
        full_by=FullBy(full_by) if full_by in set(FullBy) else FullBy.QUOTA if is_of_quota(said) else None,
        said=said,
        used_inodes_ratio=alone.used_inodes_ratio,
        kernel_error=alone.kernel_error,
    )


def _shown(alert: AlertRecord) -> LogDirOfflineEvidence:
    return read_as(alert.evidence, LogDirOfflineEvidence)


def _listed(alert: AlertRecord) -> Mapping[str, OfflineLogDir]:
    return {path: told for path, told in (_shown(alert).log_dirs or {}).items() if told.cause is not None}


def used_text(directory: LogDir) -> str:
    """Say how much of a directory's space is used, if known."""
    if directory.used_bytes is None or not directory.total_bytes:
        return ""
    return f" while {human_ratio(directory.used_bytes / directory.total_bytes)} of the volume's space is used"


def log_line(proof: OfflineEvidence) -> str:
    """Quote the log line, if there is one."""
    return "" if proof.said is None else f" ({proof.said})"


AT_ONCE_MS = 600_000
"""The maximum time between the last samples before the failures."""
SEVERAL = 3
"""The number of directories from which it is reported if the failure times are unknown."""


def common_cause(places: Collection[LogDirId], snapshot: ClusterSnapshot) -> str | None:
    """Return a text about other directories that are offline at the same time; None if there are none.

    Without ``places`` it covers all offline directories of the cluster.
    """
    own = [snapshot.directories[place] for place in places if place in snapshot.directories]
    others = [d for d in snapshot.directories.values() if d.status is LogDirStatus.OFFLINE and d.place not in places]
    if not own:
        own, others = others[:1], others[1:]
    near = [other for other in others if any(_are_near(other, one) is not False for one in own)]
    is_known = any(_are_near(other, one) for other in near for one in own)
    count = len(own) + len(near)
    if count < 2 or (count < SEVERAL and not is_known and len(places) < 2):
        return None
    brokers = sorted({directory.broker for directory in (*own, *near)})
    shared = "controller, bus, mount, limit" if len(brokers) == 1 else "storage network, controller, power, host, rack"
    whose = f"{'broker' if len(brokers) == 1 else 'brokers'} {some_of(brokers)}"
    return f"{counted(count, 'directory')} of {whose} are offline at once: look for a common cause first ({shared})"


def _are_near(one: LogDir, other: LogDir) -> bool | None:
    """Tell whether two directories were last seen serving at about the same time; None if unknown."""
    if one.sample_at_ms is None or other.sample_at_ms is None:
        return None
    return abs(one.sample_at_ms - other.sample_at_ms) <= AT_ONCE_MS
