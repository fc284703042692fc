"""Which replicas a plan may move."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.plan.vetoes import replica_vetoes


def internal(model: ClusterModel, limits: PlanSettings) -> Flags:
    """Return by replica whether its topic is internal."""
    patterns = limits.internal_topics
    return _by_replica(model, [any(fnmatchcase(topic, pattern) for pattern in patterns) for topic in model.topics])


def evacuable(model: ClusterModel, limits: PlanSettings) -> Flags:
    """Return by replica whether an evacuation may move it.

    It is not held where it is, the configuration does not exclude its topic, and Kafka can move a name of that length.
    """
    highest = np.zeros(len(model.topics), dtype=np.int64)
    np.maximum.at(highest, model.partition_topic, model.partition_numbers)
    too_long = [
        replica_vetoes.name_too_long(*named) is not None for named in zip(model.topics, highest.tolist(), strict=True)
    ]
    excluded = [replica_vetoes.never_touch(topic, limits) is not None for topic in model.topics]
    return model.is_free & ~(_by_replica(model, excluded) | _by_replica(model, too_long))


def balanceable(model: ClusterModel, limits: PlanSettings) -> Flags:
    """Return by replica whether balance may move it.

    As for an evacuation; also its topic is not internal, it is not empty, and its directory takes part.
    """
    takes_part = model.is_open[model.replica_directory]
    return evacuable(model, limits) & ~internal(model, limits) & (model.replica_bytes > 0) & takes_part


def _by_replica(model: ClusterModel, topics: Sequence[bool]) -> Flags:
    found: Flags = np.array(topics, dtype=np.bool_)[model.partition_topic][model.replica_partition]
    return found
