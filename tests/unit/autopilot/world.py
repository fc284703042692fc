"""One action of each kind that can start, and facts that have nothing against it."""

from msgspec.structs import replace

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.settings import AutopilotSettings
from logdirwatch.clock import wall_ms
from logdirwatch.execute.begin import begun
from logdirwatch.execute.need import Shown
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, THROTTLED_FOLLOWERS, ActionKind, Decision
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.cluster.cordons import KEY
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limits, within_brokers
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.settings import PlanSettings
from tests.unit.plan.builders import NOW_MS, action, decision, space_alert

HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
MIB = 1 << 20


def of(kind, *found, **fields):
    made = action(kind, **{"operations": operations.as_data(found), **fields})
    return replace(made, content_hash=content_hash(made))


def moving(there, here, limits=None, kind=ActionKind.MOVE_LOG_DIR, **fields):
    limits = within_brokers([1], 5) if limits is None else limits
    one = operations.reassign(to_json([there]), to_json([here]), "f", limits=limits, back=Limits())
    return of(kind, one, **{"expected": {"frees_bytes": MIB, "on": [], "needs_ms": 1}, **fields})


def move(**fields):
    return moving(Assignment("t", 0, (1, 2), ("/b", "any")), Assignment("t", 0, (1, 2), ("/a", "any")), **fields)


def between(there=(3, 2), here=(1, 2), **fields):
    made = (Assignment("t", 0, found, ("any",) * len(found)) for found in (there, here))
    return moving(*made, kind=ActionKind.REASSIGN, **fields)


def cut(value="7200000", key="retention.ms", topic="t", **fields):
    one = operations.topic_config(topic, key, value, now="9000000", old=None)
    return of(
        ActionKind.LOWER_RETENTION, one, **{"target": {"broker": None, "log_dir": None, "topic": topic}, **fields}
    )


def order(there=(2, 1), here=(1, 2)):
    plans = (to_json([Assignment("t", 0, found, ("any",) * len(found))]) for found in (there, here))
    return of(ActionKind.DEMOTE_LEADERS, operations.prefer_leaders(*plans, "f"))


def election():
    found = operations.elect_leaders({"partitions": [{"topic": "t", "partition": 0}]}, "f")
    return of(ActionKind.ELECT_LEADERS, found)


def cancel():
    there, here = (to_json([Assignment("t", 0, found, ("any", "any"))]) for found in ((3, 2), (1, 2)))
    return of(ActionKind.CANCEL_MOVES, operations.cancel_moves(there, there, here, "f", again=within_brokers([1], 5)))


def clear(key=LOG_DIR_THROTTLE, kind=ActionKind.CLEAR_THROTTLES):
    return of(kind, operations.clear_throttles(Limits({1: {key: 5}}, {"t": {THROTTLED_FOLLOWERS: "*"}})))


def cordon(path="/d1", key=KEY, broker=1):
    one = operations.broker_list(broker, key, ["/d0", path], old=["/d0"])
    return of(ActionKind.CORDON_LOG_DIR, one)


def accepted(made, said=Decision.ACCEPT, **fields):
    return decision(said, **{"identity": made.action_id, "content_hash": content_hash(made), "at_ms": NOW_MS, **fields})


def firing(made, at_ms=None):
    """The alert of an action fires, and samples pass."""
    alert = replace(space_alert(), alert_id=made.alert_id)
    return Shown({made.alert_id: alert}, {made.cluster: wall_ms() if at_ms is None else at_ms})


def facts(made, *, unattended=False, plan=None, general=None, said=True, **fields):
    """Facts that let an action start; keywords of a cluster's section replace what allows it."""
    allowed = {"kinds": {made.kind: {"unattended": unattended}}, **fields.pop("allowed", {})}
    settings = AutopilotSettings(clusters={"c": allowed}, **(general or {}))
    decisions = {made.action_id: accepted(made)} if said is True else said or {}
    values = {
        "said": decisions,
        "read_at_ms": NOW_MS,
        "alerts": {made.action_id: made.alert_id},
        "shown": firing(made, NOW_MS),
    }
    return Facts(settings, plan or PlanSettings(), WEEK_MS, **(values | fields))


def execution(made, by="autopilot a", **fields):
    return replace(begun(made, by, NOW_MS), **fields)
