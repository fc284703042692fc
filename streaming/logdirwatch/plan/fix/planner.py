"""One plan for all open alerts of a cluster, the most severe first, without actions that conflict.

It uses the planner of ``recommend``, which proposes several alternatives for an alert, the least invasive first; as
many are chosen as the directory needs. Each step is planned as if the chosen ones before it were accepted: their copies
take room, their partitions are reassigned, their topics are cut, and what they free in the alert's directory before it
is full need not be freed again. Nothing counts as room for a copy before it is free.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import TAKEN_UP, ActionKind, ActionStatus, Rule
from logdirwatch.plan.action_records import record
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import FixRole
from logdirwatch.plan.capacity.projected_use import Space, needed_bytes, volumes
from logdirwatch.plan.capacity.timing import REACTION_MS, time_to_full_ms
from logdirwatch.plan.cluster.assignment import Assignment, from_json, keys_in
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.fix.plan import Fix, Remedy
from logdirwatch.plan.lifecycle.overlay import as_seen, with_actions
from logdirwatch.plan.lifecycle.transitions import reconcile
from logdirwatch.plan.operator_decisions import decisions_on
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.relief.freed_bytes import Step, bytes_to_delete, in_time_bytes, promised_bytes
from logdirwatch.plan.relief.order import more_room, with_reasons
from logdirwatch.plan.relief.planner import SpaceNeed, space_need_of
from logdirwatch.plan.responses.response import directory_of
from logdirwatch.plan.rule_responses import investigate
from logdirwatch.plan.vetoes.reassignment import violations

_IN_TURN = frozenset({FixRole.MAKES_ROOM, FixRole.MAKES_ROOM_WITH_LOSS})
"""The roles that make room: one action after the other until there is enough. The rest is independent."""


def fix(
    alerts: Iterable[AlertRecord], known: Sequence[ActionRecord], snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> Fix:
    """Return the plan for a cluster's open alerts.

    ``known`` are the latest revisions of its actions: accepted and running ones stay, rejected ones are not proposed
    again, and those only proposed are planned again.
    """
    firing = sorted(alerts, key=lambda alert: alert.order)
    seen = as_seen(snapshot, firing, known, policy.limits)
    planner = _Planner(known, seen, policy, now_ms)
    return Fix(seen, tuple(planner.remedy(alert) for alert in firing))


class _Planner:
    """Keeps the actions chosen so far."""

    def __init__(self, known: Sequence[ActionRecord], seen: ClusterSnapshot, policy: Policy, now_ms: int) -> None:
        self._known = [action for action in known if action.status is not ActionStatus.PROPOSED]
        self._agreed = [action for action in self._known if _is_taken_up(action)]
        self._seen, self._policy, self._now_ms = seen, policy, now_ms
        self._volumes = volumes(seen)
        self._judged = with_actions(seen, self._agreed)
        self._assignments: list[Assignment] = []
        self._refused: list[str] = []

    def remedy(self, alert: AlertRecord) -> Remedy:
        planned = self._planned(alert)
        self._refused = [str(veto["reason"]) for action in planned for veto in action.vetoes]
        directory = directory_of(alert, self._seen)
        if alert.rule is not Rule.LOG_DIR_SPACE or directory is None:
            return self._remedy(alert, self._choose(_independent(planned, ())), self._against, None)
        # Cancel what would overflow it first, whatever else is done.
        ended = self._choose(_first(planned))
        reliefs = [*ended, *self._reliefs(alert, directory)]
        missing = self._missing_bytes(alert, directory, reliefs)
        # Another order of preference undoes a move of the same partition, so it is planned after the moves; beside them
        # other copies may have to be cancelled than without.
        after = self._planned(alert)
        known = {action.action_id for action in ended}
        late = self._choose(a for a in _first(after) if a.action_id not in known)
        orders = [action for action in after if action.reassignment is not None]
        beside = [*(action for action in planned if action.reassignment is None), *orders]
        chosen = [*reliefs, *late, *self._choose(_independent(beside, {*_IN_TURN, FixRole.FIRST}))]
        return self._remedy(alert, _as_planned(chosen, planned), self._against if missing else (), missing)

    def _remedy(
        self, alert: AlertRecord, chosen: Sequence[ActionRecord], against: tuple[str, ...], missing: int | None
    ) -> Remedy:
        """Return the chosen actions; the runbook step if all were refused."""
        under_way = tuple(action for action in self._own(alert) if _is_taken_up(action))
        if not chosen and not under_way and missing != 0:
            step = investigate(alert, self._policy, has_zookeeper=self._seen.has_zookeeper)
            chosen = self._choose(self._new([step], alert))
        directory = directory_of(alert, self._seen)
        stand = None if missing is None or directory is None else space_need_of(directory, self._seen, self._policy)
        left_ms = None if stand is None else time_to_full_ms(stand.source)
        return Remedy(alert, under_way, tuple(chosen), against, missing, left_ms)

    @property
    def _against(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._refused))

    def _reliefs(self, alert: AlertRecord, directory: LogDir) -> list[ActionRecord]:
        """Choose one alternative after the other until the directory has what it needs."""
        chosen: list[ActionRecord] = []
        tried: set[str] = set()
        while self._missing(alert, directory):
            helping = (action for action in self._planned(alert) if _role(action) in _IN_TURN and not action.vetoes)
            freeing = (action for action in helping if promised_bytes(action) > 0)
            alternatives = [action for action in freeing if action.action_id not in tried]
            if not alternatives:
                break
            tried.add(alternatives[0].action_id)
            chosen += self._choose(alternatives[:1])
        if len(chosen) < len(tried) and self._missing(alert, directory):
            chosen += self._choose(self._room(alert, directory, tried))
        return chosen

    def _room(self, alert: AlertRecord, directory: LogDir, tried: Collection[str]) -> list[ActionRecord]:
        """Return more room: the proposal relied on alternatives that conflict with earlier actions."""
        snapshot = self._snapshot_for(alert)
        missing, instead = self._missing(alert, directory), [Veto("refused", reason) for reason in self._against]
        room = more_room(snapshot.directories[directory.place], snapshot, self._policy, missing)
        return [one for one in self._new(with_reasons(room, instead), alert) if one.action_id not in tried]

    def _new(self, proposals: Iterable[ProposedAction], alert: AlertRecord) -> list[ActionRecord]:
        """Return proposals without vetoes as actions, except those that are accepted, running or rejected."""
        snapshot, known = self._snapshot_for(alert), {action.action_id for action in self._known}
        found = (record(one, alert, snapshot, self._policy, self._now_ms) for one in proposals if not one.vetoes)
        return [action for action in found if action.action_id not in known]

    def _own(self, alert: AlertRecord) -> list[ActionRecord]:
        return [action for action in self._known if action.alert_id == alert.alert_id]

    def _choose(self, actions: Iterable[ActionRecord]) -> list[ActionRecord]:
        """Choose actions, except those whose moves have vetoes beside the moves chosen before."""
        found: list[ActionRecord] = []
        for action in actions:
            moves = [] if action.reassignment is None else [*self._assignments, *from_json(action.reassignment)]
            vetoes = violations(moves, self._judged, self._policy)
            self._refused += [f"beside the actions before it: {veto.reason}" for veto in vetoes]
            if not vetoes:
                self._assignments = moves or self._assignments
                self._agreed.append(changed(action, status=ActionStatus.ACCEPTED))
                found.append(action)
        return found

    def _planned(self, alert: AlertRecord) -> list[ActionRecord]:
        """Return the present proposals for an alert, without those accepted, running or rejected."""
        snapshot = self._with_decisions(alert)
        planned = recommend(alert, snapshot, self._policy, self._now_ms)
        revised = reconcile(self._own(alert), planned, snapshot, self._policy, self._now_ms)
        proposed = {action.action_id: action for action in revised if action.status is ActionStatus.PROPOSED}
        return [proposed[plan.action_id] for plan in planned if plan.action_id in proposed]

    def _with_decisions(self, alert: AlertRecord) -> ClusterSnapshot:
        """Return the snapshot for an alert, with the decisions on its actions."""
        return replace(self._snapshot_for(alert), decisions=decisions_on(self._own(alert), alert.severity))

    def _snapshot_for(self, alert: AlertRecord) -> ClusterSnapshot:
        """Return the snapshot with all chosen actions.

        What they free in an alert's directory counts for that alert only. The answer for a whole cluster moves nothing,
        so for it everything that is freed counts.
        """
        if alert.rule is Rule.FLEET_SPACE:
            return self._with_freed_bytes(self._seen.directories)
        directory = directory_of(alert, self._seen)
        if alert.rule is not Rule.LOG_DIR_SPACE or directory is None:
            others = [action for action in self._agreed if action.alert_id != alert.alert_id]
            return self._with_actions(others)
        snapshot = self._with_actions(self._agreed)
        as_it_is = space_need_of(directory, self._seen, self._policy).source
        freed = freed_in_time(alert, as_it_is, self._volumes[directory.place], self._agreed, self._seen)
        helped = (snapshot.directories[place] for place in self._volumes[directory.place])
        return snapshot.with_directories(replace(one, relief_bytes=freed) for one in helped)

    def _with_actions(self, actions: Iterable[ActionRecord]) -> ClusterSnapshot:
        """Return the snapshot with some actions.

        The steps of a plan stop brokers one after the other, so only actions that were accepted before keep a step from
        stopping another broker.
        """
        return replace(with_actions(self._seen, actions), stopping=self._judged.stopping)

    def _with_freed_bytes(self, places: Iterable[LogDirId]) -> ClusterSnapshot:
        """Return the snapshot with the chosen actions and without the bytes that they free in some directories.

        Directories of one volume stay alike: bytes that leave one leave all.
        """
        snapshot, freed_at = self._with_actions(self._agreed), given(self._agreed)
        changed = []
        for place in places:
            directory, freed = snapshot.directories[place], sum(freed_at.get(one, 0) for one in self._volumes[place])
            if freed and directory.usable_bytes is not None:
                usable_bytes = min(directory.usable_bytes + freed, directory.total_bytes or 0)
                changed.append(replace(directory, usable_bytes=usable_bytes))
        return snapshot.with_directories(changed)

    def _stand(self, alert: AlertRecord, directory: LogDir) -> SpaceNeed:
        snapshot = self._with_decisions(alert)
        return space_need_of(snapshot.directories[directory.place], snapshot, self._policy)

    def _missing(self, alert: AlertRecord, directory: LogDir) -> int:
        return self._stand(alert, directory).asked_bytes

    def _missing_bytes(self, alert: AlertRecord, directory: LogDir, chosen: Sequence[ActionRecord]) -> int:
        """Return the bytes that a directory still lacks; if something is deleted, those it needs for now.

        Strays stay until a person has checked them: nothing is planned instead, and none of their bytes count as free.
        """
        stand = self._stand(alert, directory)
        missing = max(0, needed_bytes(stand.source, Space(stand.snapshot), self._policy) or 0)
        if not any(_role(action) is FixRole.MAKES_ROOM_WITH_LOSS for action in chosen):
            return missing
        return bytes_to_delete(stand.source, (), missing, self._policy)


def _as_planned(chosen: Sequence[ActionRecord], planned: Sequence[ActionRecord]) -> list[ActionRecord]:
    """Return actions in the order of their proposals: a producer quota before late actions, a cordon before moves.

    An action that was proposed only beside earlier ones stays behind them, and a check stays where it is.
    """
    places, place = {action.action_id: number for number, action in enumerate(planned)}, 0
    ranked = []
    for action in chosen:
        place = places.get(action.action_id, place)
        ranked += [] if action.kind is ActionKind.INVESTIGATE else [(place, action)]
    ordered = iter(sorted(ranked, key=lambda one: one[0]))
    return [action if action.kind is ActionKind.INVESTIGATE else next(ordered)[1] for action in chosen]


def _role(action: ActionRecord) -> FixRole:
    return ACTION_TYPES[action.kind].fix_role


def _is_taken_up(action: ActionRecord) -> bool:
    return action.status in TAKEN_UP


def _first(planned: Iterable[ActionRecord]) -> Iterator[ActionRecord]:
    return (action for action in planned if _role(action) is FixRole.FIRST and not action.vetoes)


def _independent(planned: Iterable[ActionRecord], roles: Collection[FixRole]) -> Iterator[ActionRecord]:
    """Yield proposals that have no veto and none of the ``roles``."""
    return (action for action in planned if not action.vetoes and _role(action) not in roles)


def freed_in_time(
    alert: AlertRecord,
    directory: LogDir,
    volume: Sequence[LogDirId],
    agreed: Iterable[ActionRecord],
    snapshot: ClusterSnapshot,
) -> int:
    """Return the bytes that actions free on a directory's volume before it is full.

    The moves of an alert run one after the other; each one that is in time postpones the moment for the next. What
    nobody has accepted yet begins later. For a running move the snapshot says what it frees.
    """
    found = list[Step]()
    for action in agreed:
        is_seen_running = not snapshot.layout.moving.isdisjoint(keys_in(action.reassignment))
        if _role(action) is FixRole.FIRST or is_seen_running:
            continue
        freed_at = given([action])
        freed = sum(freed_at.get(place, 0) for place in volume)
        is_own_move = action.alert_id == alert.alert_id and action.reassignment is not None
        found.append(
            Step(action.expected.get("needs_ms"), freed, is_own_move, 0 if _is_taken_up(action) else REACTION_MS)
        )
    return in_time_bytes(directory, found)


def given(agreed: Iterable[ActionRecord]) -> dict[LogDirId, int]:
    """Return the bytes that directories lose by the chosen actions; cancelled copies no longer arrive."""
    given: Counter[LogDirId] = Counter()
    for action in agreed:
        for entry in action.expected.get("on") or ():
            given[entry["broker"], entry["log_dir"]] += max(0, entry["bytes"])
        if "spares_bytes" in action.expected:
            given[action.target["broker"], action.target["log_dir"]] += action.expected["spares_bytes"]
    return given
