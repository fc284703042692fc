"""Directories that the configuration keeps plans out of: a person's mark, where Kafka itself has none (KIP-112)."""

from dataclasses import replace

from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.settings import PlanSettings


def with_excluded_log_dirs(snapshot: ClusterSnapshot, limits: PlanSettings) -> ClusterSnapshot:
    """Return the snapshot with the directories marked of which ``plan.log_dirs`` says that they are no destination."""
    marked = {
        place: replace(directory, is_marked=True)
        for place, directory in snapshot.directories.items()
        if not limits.log_dir_rule(*place).destination
    }
    return replace(snapshot, directories={**snapshot.directories, **marked}) if marked else snapshot
