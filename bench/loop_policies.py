"""What somebody does about disks that fill, for bench_closed_loop.py: five ways, on the same clusters."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OPEN, TAKEN_UP, ActionKind, ActionStatus, Severity
from loop_watch import EPOCH_MS, Watch
from loop_world import LogDirId, PartitionId, World

COPY_BYTES_PER_S = 50_000_000
EXECUTABLE = frozenset(
    {
        ActionKind.CORDON_LOG_DIR,
        ActionKind.UNCORDON_LOG_DIR,
        ActionKind.MOVE_LOG_DIR,
        ActionKind.REASSIGN,
        ActionKind.CANCEL_MOVES,
        ActionKind.LOWER_RETENTION,
        ActionKind.RESTORE_RETENTION,
    }
)
"""What the model can carry out: the kinds that change where bytes are, or how long."""


class Way(ABC):
    """Acts on a world after each step."""

    @abstractmethod
    def act(self, now_ms: int) -> None: ...


class Nothing(Way):
    """Nobody acts before a directory is offline."""

    def __init__(self, world: World, seed: int, step_ms: int) -> None:
        del world, seed, step_ms

    def act(self, now_ms: int) -> None:
        del now_ms


class DeleteOldest(Way):
    """The oldest segments of a directory are deleted from 85 % of its size until it is below 80 %."""

    FROM, TO = 0.85, 0.80

    def __init__(self, world: World, seed: int, step_ms: int) -> None:
        del seed, step_ms
        self._world = world

    def act(self, now_ms: int) -> None:
        del now_ms
        for place, seen in self._world.log_dirs.items():
            if seen.is_online and seen.used_ratio >= self.FROM:
                over_bytes = seen.used_bytes - int(self.TO * seen.total_bytes)
                self._world.cut_oldest(self._world.held(place), over_bytes)
                self._world.tally.actions += 1


class Rebalance(Way):
    """Above 80 % replicas are moved to the emptiest directories, until both are below; nobody looks at growth."""

    LIMIT = 0.80

    def __init__(self, world: World, seed: int, step_ms: int) -> None:
        del seed, step_ms
        self._world = world

    def act(self, now_ms: int) -> None:
        del now_ms
        world = self._world
        if world.copies:
            return
        coming = dict.fromkeys(world.log_dirs, 0)
        for place, seen in world.log_dirs.items():
            over_bytes = seen.used_bytes - self.LIMIT * seen.total_bytes
            if not seen.is_online or over_bytes <= 0:
                continue
            for key in sorted(world.held(place), key=lambda key: world.logs[key].size_bytes, reverse=True):
                if over_bytes <= 0:
                    break
                destination = self._destination(key, place, coming)
                if destination and world.copy(key, place, destination, COPY_BYTES_PER_S):
                    coming[destination] += world.logs[key].size_bytes
                    over_bytes -= world.logs[key].size_bytes
                    world.tally.actions += 1

    def _destination(self, key: PartitionId, source: LogDirId, coming: dict[LogDirId, int]) -> LogDirId | None:
        world, size = self._world, self._world.logs[key].size_bytes
        others = {place[0] for place in world.replicas[key] if place != source}
        found = {
            place: (seen.used_bytes + coming[place] + size) / seen.total_bytes
            for place, seen in world.log_dirs.items()
            if seen.is_online and place != source and place[0] not in others
        }
        best = min(found, key=lambda place: (found[place], place), default=None)
        return best if best is not None and found[best] < self.LIMIT else None


class Logdirwatch(Way):
    """The product's actions are carried out, one at a time: the first without a veto, the most severe alert first."""

    def __init__(self, world: World, seed: int, step_ms: int) -> None:
        self._world, self._watch = world, Watch(world, step_ms)
        self._seed = seed
        self._due_ms: dict[str, int] = {}

    def act(self, now_ms: int) -> None:
        actions = [action for action in self._watch.step(now_ms) if action.status in OPEN]
        if self._world.copies and any(action.status in TAKEN_UP for action in actions):
            return
        for action in sorted(self._possible(actions), key=self._order):
            if action.action_id not in self._due_ms:
                self._due_ms[action.action_id] = now_ms + self.delay_ms(action, now_ms)
            if now_ms >= self._due_ms[action.action_id] and self._carry_out(action):
                self._watch.accept(action, now_ms)
                self._world.tally.actions += 1
                return

    def delay_ms(self, action: ActionRecord, now_ms: int) -> int:
        """How long after an action was first seen it is carried out."""
        del action, now_ms
        return 0

    def _possible(self, actions: Iterable[ActionRecord]) -> Iterator[ActionRecord]:
        for action in actions:
            is_wanted = action.status is ActionStatus.PROPOSED and not action.vetoes and action.kind in EXECUTABLE
            if is_wanted and action.expires_at_ms > EPOCH_MS + self._world.now_ms:
                yield action

    def _order(self, action: ActionRecord) -> tuple[int, int, int]:
        return -Severity(action.alert["severity"]).rank, int(action.alert["opened_at_ms"] or 0), action.position or 0

    def _carry_out(self, action: ActionRecord) -> bool:
        if action.kind in {ActionKind.CORDON_LOG_DIR, ActionKind.UNCORDON_LOG_DIR}:
            place = action.target["broker"], action.target["log_dir"]
            self._world.log_dirs[place].is_cordoned = action.kind is ActionKind.CORDON_LOG_DIR
            return True
        if action.kind is ActionKind.CANCEL_MOVES:
            return self._cancel(action)
        if action.configs:
            return self._set_limits(action)
        return self._move(action)

    def _set_limits(self, action: ActionRecord) -> bool:
        for name, limits in (action.configs or {}).items():
            for key, change in limits.items():
                self._world.topics[name].limits[key] = _limit(self._world, name, key, change["to"])
        return True

    def _cancel(self, action: ActionRecord) -> bool:
        named = {(p["topic"], p["partition"]) for p in (action.reassignment or {}).get("partitions", ())}
        gone = [found for found in self._world.copies if found[0] in named]
        for found in gone:
            del self._world.copies[found]
        return bool(gone)

    def _move(self, action: ActionRecord) -> bool:
        rate = float(action.expected.get("throttle_bytes_per_s") or COPY_BYTES_PER_S)
        wanted = (action.reassignment or {}).get("partitions", ())
        begun = [self._move_partition(one, rate) for one in wanted]
        return any(begun)

    def _move_partition(self, wanted: dict[str, object], rate: float) -> bool:
        """Carry out one line of a reassignment: the replica that is not where it should be is copied there."""
        key = str(wanted["topic"]), int(str(wanted["partition"]))
        places = list(self._world.replicas[key])
        brokers: list[int] = wanted["replicas"]  # type: ignore[assignment]
        paths: list[str] = wanted.get("log_dirs") or ["any"] * len(brokers)  # type: ignore[assignment]
        leaving = [place for place in places if place[0] not in brokers]
        for broker, path in zip(brokers, paths, strict=True):
            here = next((place for place in places if place[0] == broker), None)
            if path == "any" and here is not None:
                continue
            destination = self._world.fewest_logs(broker) if path == "any" else (broker, path)
            source = here or (leaving.pop() if leaving else None)
            if destination is not None and source is not None and destination != source:
                return self._world.copy(key, source, destination, rate)
        return False


def _limit(world: World, name: str, key: str, value: str | None) -> int:
    """A retention setting in force; one that is deleted from the topic is the default again."""
    if value is not None:
        return int(value)
    return world.topics[name].retention_ms if key == "retention.ms" else -1


class Advised(Logdirwatch):
    """A person carries the actions out: a page wakes somebody, everything else waits for the morning."""

    def __init__(self, world: World, seed: int, step_ms: int) -> None:
        super().__init__(world, seed, step_ms)
        self._people = random.Random(seed + 2)

    def delay_ms(self, action: ActionRecord, now_ms: int) -> int:
        severity, hour = Severity(action.alert["severity"]), now_ms % DAY_MS // HOUR_MS
        if severity is Severity.PAGE:
            return int(self._people.uniform(0.2, 1.0) * HOUR_MS)
        usual_ms = int(self._people.uniform(0.5, 6.0) * HOUR_MS)
        until_morning_ms = (8 - hour) % 24 * HOUR_MS if not 8 <= hour < 18 else 0
        return until_morning_ms + usual_ms


class AtOnce(Logdirwatch):
    """Every action is carried out as soon as it is proposed, as a machine could that needs nobody's word."""


WAYS: dict[str, type[Way]] = {
    "nothing": Nothing,
    "delete oldest at 85 %": DeleteOldest,
    "rebalance at 80 %": Rebalance,
    "logdirwatch, a person acts": Advised,
    "logdirwatch, at once": AtOnce,
}
