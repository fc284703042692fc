"""Carries an action of the product out on a modelled cluster, for bench_closed_loop.py: its own steps, one by one.

The steps are those of ``logdirwatch.execute``, and so are the reasons to halt them midway; the calls are the model's.
"""

from msgspec.structs import replace

from logdirwatch.execute.begin import begun
from logdirwatch.execute.ports import Halt
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Settle, steps_of
from logdirwatch.execute.surroundings import Surroundings, around, reason_to_stop
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.cordons import KEY as CORDONED
from loop_policies import COPY_BYTES_PER_S
from loop_world import LogDirId, PartitionId, World


class Execution:
    """One action that is being carried out; ``record`` is where it is."""

    def __init__(self, action: ActionRecord, world: World, by: str, at_ms: int, touches: list[str]) -> None:
        self.record: ExecutionRecord = replace(begun(action, by, at_ms), state=ExecutionState.CHECKED, touches=touches)
        self._world, self._rate = world, float(COPY_BYTES_PER_S)
        self._steps = steps_of(self.record.operations, back=False)
        self._wanted: dict[tuple[PartitionId, LogDirId], LogDirId] = {}
        self._waits_until_ms = at_ms
        self._around = around(self.record)
        self._first = self._surroundings()

    @property
    def is_over(self) -> bool:
        return self.record.state in {ExecutionState.DONE, ExecutionState.STUCK, ExecutionState.ROLLED_BACK}

    def go_on(self, at_ms: int) -> None:
        """Begin every step whose turn it is; halt what must not go on."""
        reason = reason_to_stop(self._first, self._surroundings(), self._around)
        if reason is not None and not self.is_over:
            self.halt(Halt(reason), at_ms)
        while not self.is_over and self._is_reached(at_ms):
            if self.record.step == len(self._steps):
                self._note(ExecutionState.DONE, at_ms)
                return
            self._begin(at_ms)

    def halt(self, halt: Halt, at_ms: int) -> None:
        """End the copies that run; what has moved stays."""
        for found in self._running():
            del self._world.copies[found]
        self._note(ExecutionState.ROLLED_BACK if halt.need_is_over else ExecutionState.STUCK, at_ms, halt.reason)

    def _is_reached(self, at_ms: int) -> bool:
        """Tell whether the last step has its effect; a copy that Kafka gave up leaves the execution stuck."""
        if self._running() or at_ms < self._waits_until_ms:
            return False
        lost = [key for (key, _), place in self._wanted.items() if place not in self._world.replicas[key]]
        self._wanted.clear()
        if lost:
            self._note(ExecutionState.STUCK, at_ms, f"{lost[0][0]}-{lost[0][1]} could not be copied")
        return not lost

    def _running(self) -> list[tuple[PartitionId, LogDirId]]:
        return [found for found in self._wanted if found in self._world.copies]

    def _begin(self, at_ms: int) -> None:
        step = self._steps[self.record.step]
        self.record = replace(self.record, step=self.record.step + 1, state=ExecutionState.STARTED, at_ms=at_ms)
        if isinstance(step, SetConfig):
            self._set(step, at_ms)
        elif isinstance(step, Throttle):
            self._rate = min((float(one.value) for one in step.limits if one.entity == "brokers"), default=self._rate)
        elif isinstance(step, Settle):
            self._waits_until_ms = at_ms + step.delay_ms
        elif isinstance(step, Move):
            for one in step.there:
                self._move(one)
        elif isinstance(step, Cancel):
            for found in [found for found in self._world.copies if found[0] in step.keys]:
                del self._world.copies[found]

    def _set(self, step: SetConfig, at_ms: int) -> None:
        if step.entity == "brokers" and step.key == CORDONED:
            named = (step.value or "").split(",")
            for (broker, path), seen in self._world.log_dirs.items():
                if str(broker) == step.name:
                    seen.is_cordoned = path in named
            return
        topic = self._world.topics[step.name]
        if str(topic.limits[step.key]) not in {step.value, *step.before}:
            self._note(ExecutionState.STUCK, at_ms, f"{step.key} of {step.name} was changed meanwhile")
            return
        default = topic.retention_ms if step.key == "retention.ms" else -1
        topic.limits[step.key] = default if step.value is None else int(step.value)

    def _move(self, there: Assignment) -> None:
        """Begin the copy of every replica that is not where it is to be."""
        key, world = there.key, self._world
        places = dict(world.replicas[key])
        leaving = [(broker, path) for broker, path in places.items() if broker not in there.replicas]
        for broker, path in zip(there.replicas, there.log_dirs, strict=True):
            is_new = broker not in places
            if not is_new and path in {ANY, places[broker]}:
                continue
            target = world.fewest_logs(broker) if path == ANY else (broker, path)
            source = (leaving.pop() if leaving else None) if is_new else (broker, places[broker])
            if target is not None and source is not None:
                self._wanted[key, source] = target
                world.copy(key, source, target, self._rate)

    def _surroundings(self) -> Surroundings:
        world = self._world
        missing = {key for key in world.replicas if len(world.in_sync(key)) < world.topics[key[0]].min_isr}
        ratios = {place: world.log_dirs[place].used_ratio for place in self._around.destinations}
        return Surroundings(under_min_isr=frozenset(missing), used_ratios=ratios)

    def _note(self, state: ExecutionState, at_ms: int, reason: str | None = None) -> None:
        self.record = replace(self.record, state=state, reason=reason, at_ms=at_ms)
