"""Directories that are offline at the same time: disks seldom fail together, what they share does."""

from collections.abc import Collection

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.text.words import counted, some_of

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
