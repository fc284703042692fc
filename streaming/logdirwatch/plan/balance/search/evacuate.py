"""Empty one directory into the others of its broker: no other broker is involved, and racks and leaders stay."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes


def directory_named(model: ClusterModel, broker: int, log_dir: str) -> int:
    """Return a directory; raises UserError if the model has none with that name."""
    own = np.flatnonzero(model.broker_ids[model.directory_broker] == broker).tolist()
    if not own:
        raise _refused(broker, log_dir, f"the model has no broker {broker}", exit_code=2)
    paths = [model.directory_paths[directory] for directory in own]
    if log_dir not in paths:
        raise _refused(broker, log_dir, f"broker {broker} has only {', '.join(paths)}", exit_code=2)
    return int(own[paths.index(log_dir)])


def _refused(broker: int, log_dir: str, why: str, exit_code: int = 1) -> UserError:
    return UserError(f"plan: evacuate:{broker}:{log_dir}: {why}", exit_code=exit_code)


def evacuate(board: Board, source: int, movable: Flags, comes_first: Flags) -> None:
    """Plan the moves off a directory; both masks are by replica.

    Replicas that are the only ones in sync go first, then those that ``comes_first``.

    The largest replica is placed first, each where the directory ends up emptiest (worst fit); if not all fit that way,
    where the least room is left (best fit). Raises UserError with the missing bytes if that fails too.
    """
    replicas = sorted(np.flatnonzero(board.model.replica_directory == source).tolist(), key=lambda r: -board.sizes[r])
    _refuse_immovable(board, source, replicas, movable)
    targets = targets_of(board.model, source)
    places, homeless = _placed(board, replicas, targets, is_even=True)
    if homeless:
        places, homeless = _placed(board, replicas, targets, is_even=False)
    if homeless:
        raise _impossible(board, source, replicas, targets, homeless)
    for replica in sorted(places, key=lambda replica: (not board.model.is_last[replica], not comes_first[replica])):
        board.move(replica, places[replica])


def best_ratio(model: ClusterModel, source: int) -> float:
    """Return the lowest possible fill ratio of the broker's fullest directory once ``source`` is empty."""
    targets = targets_of(model, source)
    if not targets:
        return 0.0
    used, capacity = model.used_bytes[targets], model.capacity_bytes[targets]
    leaving = model.replica_bytes[model.replica_directory == source]
    largest = int(leaving.max(initial=0))
    return float(
        max((used / capacity).max(), (used.sum() + leaving.sum()) / capacity.sum(), ((used + largest) / capacity).min())
    )


def targets_of(model: ClusterModel, source: int) -> list[int]:
    """Return the other directories of a directory's broker that take part."""
    own = np.flatnonzero((model.directory_broker == model.directory_broker[source]) & model.is_open)
    return [directory for directory in own.tolist() if directory != source]


def _placed(
    board: Board, replicas: Sequence[int], targets: Sequence[int], *, is_even: bool
) -> tuple[dict[int, int], list[int]]:
    """Return the new directories of the replicas, and the replicas without room."""
    room = {target: board.room(target) for target in targets}
    places: dict[int, int] = {}
    homeless: list[int] = []
    for replica in replicas:
        size = board.sizes[replica]
        fitting = [target for target in targets if room[target] >= size]
        if not fitting:
            homeless.append(replica)
            continue
        if is_even:
            target = min(fitting, key=lambda t: (board.limits[t] - room[t] + size) / board.capacity[t])
        else:
            target = min(fitting, key=lambda t: room[t])
        room[target] -= size
        places[replica] = target
    return places, homeless


def _refuse_immovable(board: Board, source: int, replicas: Sequence[int], movable: Flags) -> None:
    model = board.model
    for replica in replicas:
        if not movable[replica]:
            topic, number = model.partition_name(model.replica_partition[replica])
            raise _refused(
                *model.directory_name(source),
                f"{topic}-{number} must not be moved: the configuration excludes its topic (plan.never_touch), or its "
                "name is too long for Kafka to move it",
            )


def _impossible(
    board: Board, source: int, replicas: Sequence[int], targets: Sequence[int], homeless: Sequence[int]
) -> UserError:
    leaving = sum(board.sizes[replica] for replica in replicas)
    room = sum(board.room(target) for target in targets)
    missing = leaving - room if leaving > room else sum(board.sizes[replica] for replica in homeless)
    of = "the replica that fits" if len(homeless) == 1 else f"each of the {len(homeless)} replicas that fit"
    pieces = "" if leaving > room else f", in one piece for {of} nowhere"
    if board.model.growing_bytes[list(targets)].any():
        pieces += "; what they grow by meanwhile stays free"
    text = f"{human_bytes(leaving)} must leave, the broker's other directories have room for {human_bytes(room)}"
    lacking = f"{missing} bytes ({human_bytes(missing)}) are missing{pieces}"
    return _refused(*board.model.directory_name(source), f"{text}: {lacking}")


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
