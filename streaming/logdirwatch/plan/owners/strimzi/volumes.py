"""The volume of a log directory, from the path that Strimzi gives it."""

import re
from typing import NamedTuple

_PATH = re.compile(r"/var/lib/kafka/data(?:-(?P<volume>\d+))?/kafka-log(?P<broker>\d+)")


class Volume(NamedTuple):
    """A volume of a node pool; ``id`` is None where the pool has only one."""

    id: int | None

    def claim(self, pod: str) -> str:
        """Return the name of its PersistentVolumeClaim for a pod."""
        return f"data-{pod}" if self.id is None else f"data-{self.id}-{pod}"


def volume_of(path: object) -> Volume | None:
    """Return the volume of a log directory; None if its path is not one of Strimzi's."""
    found = _PATH.fullmatch(str(path))
    return None if found is None else Volume(None if found["volume"] is None else int(found["volume"]))
