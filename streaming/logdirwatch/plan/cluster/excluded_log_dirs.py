"""Directories that the configuration excludes as destinations, for which Kafka has no setting (KIP-112)."""

from dataclasses import replace

from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.settings import PlanSettings


def with_excluded_log_dirs(snapshot: ClusterSnapshot, limits: PlanSettings) -> ClusterSnapshot:
    """Return the snapshot with the directories marked that ``plan.log_dirs`` excludes as destinations."""
    marked = {
        place: replace(directory, is_marked=True)
        for place, directory in snapshot.directories.items()
        if not limits.log_dir_rule(*place).destination
    }
    return replace(snapshot, directories={**snapshot.directories, **marked}) if marked else snapshot
