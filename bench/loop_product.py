"""logdirwatch acting on a modelled cluster, for bench_closed_loop.py: a person who is advised, and the autopilot."""

import dataclasses
import random
from abc import abstractmethod
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from logdirwatch.autopilot.candidates import candidates
from logdirwatch.autopilot.facts import MARK, Facts, Running
from logdirwatch.autopilot.judge import Refusal, refusal
from logdirwatch.autopilot.settings import AutopilotClusterSettings, AutopilotSettings, KindSettings
from logdirwatch.autopilot.standing import reason_to_stop
from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.execute.need import Shown
from logdirwatch.execute.ports import Halt
from logdirwatch.execute.surroundings import touched
from logdirwatch.executions import unfinished_of
from logdirwatch.model.records import ActionRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, ExecutionState, Severity
from logdirwatch.plan.lifecycle.live_check import reasons_against
from loop_execution import Execution
from loop_orders import Disks, Orders
from loop_policies import Way, delay_ms
from loop_watch import CLUSTER, EPOCH_MS, Watch
from loop_world import LogDirId, World

KINDS = (
    ActionKind.CORDON_LOG_DIR,
    ActionKind.UNCORDON_LOG_DIR,
    ActionKind.MOVE_LOG_DIR,
    ActionKind.REASSIGN,
    ActionKind.CANCEL_MOVES,
    ActionKind.LOWER_RETENTION,
    ActionKind.RESTORE_RETENTION,
)
"""What the model can carry out: the kinds that change where bytes are, or how long."""
SETTINGS = AutopilotSettings(
    clusters={CLUSTER: AutopilotClusterSettings(kinds=dict.fromkeys(KINDS, KindSettings(unattended=True)))}
)
QUIET_MS = 4 * HOUR_MS
"""How often the machine is shown a cluster in which nothing changes."""
CHANGED_RATIO = 0.01


class Logdirwatch(Way):
    """At most ``at_once`` actions are carried out, as ``chosen`` says; people buy disk space where it is advised.

    ``had_choice`` tells whether there was ever one that could be: if not, nobody who follows the advice does anything.
    """

    by = ""
    at_once = 1
    news_ms = HOUR_MS // 2

    def __init__(self, world: World, seed: int, step_ms: int, *, disks: Disks) -> None:
        self._world, self._watch, self._seed = world, Watch(world, step_ms, self.news_ms), seed
        self._orders = None if disks is Disks.FIXED else Orders(world, seed, disks)
        self._step_ms = step_ms
        self._shown_ms = -DAY_MS
        self._shown: dict[LogDirId, float] = {}
        self._running: list[Execution] = []
        self._executions: list[ExecutionRecord] = []
        self._started: set[tuple[str, int]] = set()
        self.had_choice = False

    def act(self, now_ms: int) -> None:
        if not self._is_due(now_ms):
            return
        self._shown_ms, self._shown = now_ms, self._levels()
        actions = self._watch.step(now_ms)
        if self._orders is not None:
            self._buy(self._orders, actions.values(), now_ms)
        at_ms = EPOCH_MS + now_ms
        for running in list(self._running):
            self._go_on(running, at_ms)
        free = self.at_once - len(self._running)
        listed = candidates(actions.values(), CLUSTER) if free else []
        possible = list(self._possible(listed, at_ms))
        self.had_choice = self.had_choice or bool(possible)
        for _ in range(free):
            chosen = self.chosen(self._possible(listed, at_ms), at_ms)
            if (action := next((one for one in chosen if self._holds(one, at_ms)), None)) is None:
                break
            self._start(action, at_ms)
        is_busy = bool(self._running) or self._watch.is_undecided
        wanted = [now_ms + self._step_ms] if is_busy else [self.wanted_ms(possible, now_ms), self._watch.planned_ms]
        self.next_ms = min((at_ms for at_ms in wanted if at_ms is not None and at_ms > now_ms), default=None)

    @abstractmethod
    def chosen(self, actions: Iterable[ActionRecord], at_ms: int) -> Iterator[ActionRecord]:
        """Yield what may be started now, the first wish first."""

    @abstractmethod
    def wanted_ms(self, actions: Iterable[ActionRecord], now_ms: int) -> int | None:
        """Return when something may be started that could not be now."""

    def may_go_on(self, record: ExecutionRecord, at_ms: int) -> Halt | None:
        """Return why an execution must be halted."""
        del record, at_ms
        return None

    def _is_due(self, now_ms: int) -> bool:
        """The machine sees every step near a change, and else one in a while."""
        if now_ms - self._shown_ms >= QUIET_MS or now_ms >= (self.next_ms or DAY_MS * 1000):
            return True
        return any(abs(level - self._shown[place]) > CHANGED_RATIO for place, level in self._levels().items())

    def _buy(self, orders: Orders, actions: Iterable[ActionRecord], now_ms: int) -> None:
        """Order what is advised; what arrives is used."""
        for action in actions:
            is_advised = action.status is ActionStatus.PROPOSED and not action.vetoes
            if action.kind is ActionKind.EXPAND_DISK and is_advised:
                place = int(action.target["broker"]), str(action.target["log_dir"])
                is_page = action.alert["severity"] == Severity.PAGE
                wait_ms = delay_ms(random.Random(f"{self._seed}/{action.action_id}"), now_ms, is_page=is_page)
                orders.order(place, int(action.expected["frees_bytes"]), now_ms + wait_ms)
        orders.deliver(now_ms)

    def _levels(self) -> dict[LogDirId, float]:
        """The used ratio of every directory; -1 for one that is offline."""
        return {place: seen.used_ratio if seen.is_online else -1.0 for place, seen in self._world.log_dirs.items()}

    def _possible(self, actions: Iterable[ActionRecord], at_ms: int) -> Iterator[ActionRecord]:
        for action in actions:
            is_wanted = action.status is ActionStatus.PROPOSED and not action.vetoes and action.operations
            is_started = (action.action_id, action.revision) in self._started
            if is_wanted and not is_started and action.kind in KINDS and action.expires_at_ms > at_ms:
                yield action

    def _holds(self, action: ActionRecord, at_ms: int) -> bool:
        """Ask what ``logdirwatch apply`` asks of the live cluster."""
        return not reasons_against(action, self._watch.snapshot(at_ms), None, self._watch.policy, at_ms)

    def _start(self, action: ActionRecord, at_ms: int) -> None:
        self.accepted(self._watch.accept(action, self.by, at_ms))
        self._started.add((action.action_id, action.revision))
        running = Execution(action, self._world, self.by, at_ms, self.touches(action))
        self._running.append(running)
        self._world.tally.actions += 1
        self._go_on(running, at_ms)

    def touches(self, action: ActionRecord) -> list[str]:
        """Return what an action touches."""
        replicas = self._world.replicas.items()
        return touched(
            action.operations or (), lambda topics: {one for key, at in replicas if key[0] in topics for one, _ in at}
        )

    def accepted(self, decision: DecisionRecord) -> None:
        """Remember an acceptance."""

    def _go_on(self, running: Execution, at_ms: int) -> None:
        halt = self.may_go_on(running.record, at_ms)
        if halt is not None:
            running.halt(halt, at_ms)
        running.go_on(at_ms)
        if running.is_over:
            self._executions.append(running.record)
            self._running.remove(running)
            self._watch.has_news = True


class Advised(Logdirwatch):
    """A person carries the actions out: a page wakes somebody, everything else waits for the day."""

    by = "a person"
    news_ms = 2 * HOUR_MS

    def __init__(self, world: World, seed: int, step_ms: int, *, disks: Disks) -> None:
        super().__init__(world, seed, step_ms, disks=disks)
        self._due_ms: dict[tuple[str, bool], int] = {}

    def chosen(self, actions: Iterable[ActionRecord], at_ms: int) -> Iterator[ActionRecord]:
        return (action for action in actions if self._person_ms(action, at_ms) <= at_ms)

    def wanted_ms(self, actions: Iterable[ActionRecord], now_ms: int) -> int | None:
        due = [self._person_ms(action, EPOCH_MS + now_ms) - EPOCH_MS for action in actions]
        return max(now_ms + self._step_ms, min(due)) if due else None

    def _person_ms(self, action: ActionRecord, at_ms: int) -> int:
        """When somebody has come to an action; a page brings somebody sooner."""
        is_page = action.alert["severity"] == Severity.PAGE
        key = action.action_id, is_page
        if key not in self._due_ms:
            chance = random.Random(f"{self._seed}/{len(self._due_ms)}")
            self._due_ms[key] = at_ms + delay_ms(chance, at_ms, is_page=is_page)
        return min(self._due_ms[key], self._due_ms.get((action.action_id, False), self._due_ms[key]))


class Autopilot(Logdirwatch):
    """The autopilot's own rules decide, with every kind that the model knows allowed unattended, else its defaults."""

    by = f"{MARK}/bench"
    at_once = SETTINGS.clusters[CLUSTER].executions_at_once

    def __init__(self, world: World, seed: int, step_ms: int, *, disks: Disks) -> None:
        super().__init__(world, seed, step_ms, disks=disks)
        self._said: dict[str, DecisionRecord] = {}
        self._released_ms = 0

    def act(self, now_ms: int) -> None:
        self._release(EPOCH_MS + now_ms)
        super().act(now_ms)

    def _release(self, at_ms: int) -> None:
        """A person who is told of a stop (``execution_stopped``) releases the cluster."""
        stuck = [one for one in unfinished_of(self._executions).values() if one.state is ExecutionState.STUCK]
        if not stuck:
            self._released_ms = 0
        elif not self._released_ms:
            chance = random.Random(f"{self._seed}/{len(self._executions)}")
            self._released_ms = at_ms + delay_ms(chance, at_ms, is_page=False)
        elif at_ms >= self._released_ms:
            self._executions += [replace(one, state=ExecutionState.RELEASED, at_ms=at_ms) for one in stuck]

    def chosen(self, actions: Iterable[ActionRecord], at_ms: int) -> Iterator[ActionRecord]:
        return (action for action in actions if self._refusal(action, at_ms) is None)

    def _refusal(self, action: ActionRecord, at_ms: int) -> Refusal | None:
        return refusal(action, dataclasses.replace(self._facts(at_ms), touches=self.touches(action)), at_ms)

    def wanted_ms(self, actions: Iterable[ActionRecord], now_ms: int) -> int | None:
        found = [self._refusal(action, EPOCH_MS + now_ms) for action in actions]
        refused = [one.reason for one in found if one is not None]
        return now_ms + self._step_ms if any(reason.startswith("waits") for reason in refused) else None

    def may_go_on(self, record: ExecutionRecord, at_ms: int) -> Halt | None:
        return reason_to_stop(record, self._watch.actions.get(record.action_id), self._facts(at_ms), at_ms)

    def accepted(self, decision: DecisionRecord) -> None:
        self._said[decision.id] = decision

    def _facts(self, at_ms: int) -> Facts:
        return Facts(
            settings=SETTINGS,
            plan=self._watch.policy.limits,
            longest_ms=7 * DAY_MS,
            said=self._said,
            executions=[*self._executions, *(one.record for one in self._running)],
            running=Running(0, frozenset(one.record.action_id for one in self._running)),
            alerts={name: action.alert_id for name, action in self._watch.actions.items()},
            read_at_ms=at_ms,
            shown=Shown(self._watch.alerts, {CLUSTER: at_ms}),
        )
