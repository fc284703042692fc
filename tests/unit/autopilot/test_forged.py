"""Who may write actions may do no more with one than its kind allows, whichever of its values is forged."""

import pytest
from msgspec.structs import replace

from logdirwatch.execute.steps import Move, Order, SetConfig, Throttle, steps_of
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS
from logdirwatch.plan.actions.topics.restore_retention import RETENTION_KEYS
from logdirwatch.plan.cluster.cordons import KEY
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.content_hash import content_hash
from tests.unit.autopilot.test_rules import against
from tests.unit.autopilot.world import between, clear, cordon, cut, move, order

THROTTLES = {LOG_DIR_THROTTLE, *REPLICATION_THROTTLES, *THROTTLED_REPLICAS}
LIMITS = Limits({1: {LOG_DIR_THROTTLE: 5}}, {"t": {next(iter(THROTTLED_REPLICAS)): "0:1"}})
GENUINE = [cut(), cordon(), clear(), move(limits=LIMITS), between(limits=LIMITS), order()]


def values(found, path=()):
    """Yield the paths of all values and names of a mapping."""
    if isinstance(found, dict | list | tuple):
        for name, value in found.items() if isinstance(found, dict) else enumerate(found):
            yield from values(value, (*path, name))
            if isinstance(found, dict):
                yield (*path, name, None)
    elif found is not None:
        yield path


def forged(found, path):
    """Return a copy in which one value is another, or one name, where the path ends in None."""
    name, *rest = path
    if rest == [None]:
        return {("forged" if key == name else key): value for key, value in found.items()}
    after = forged(found[name], rest) if rest else "forged" if isinstance(found[name], str) else 77
    if isinstance(found, dict):
        return {**found, name: after}
    return [after if at == name else value for at, value in enumerate(found)]


def is_within(made, genuine, back):
    """Tell whether the steps of an action, or of its undo, change only what those of the genuine one may."""
    for step in steps_of(made.operations, back=back):
        limits = step.limits if isinstance(step, Throttle) else [step] if isinstance(step, SetConfig) else ()
        for limit in limits:
            if genuine in GENUINE[2:]:
                assert limit.key in THROTTLES
            elif genuine is GENUINE[1]:
                assert (limit.entity, limit.name, limit.key) == ("brokers", "1", KEY)
            else:
                assert (limit.entity, limit.name) == ("topics", "t")
                assert limit.key in RETENTION_KEYS
        if isinstance(step, Move):
            for one in step.there:
                here = step.here[one.key]
                assert one.replicas == here.replicas or genuine is GENUINE[4]
                assert back or len(set(one.replicas)) >= len(here.replicas)
        if isinstance(step, Order):
            assert {key: sorted(found) for key, found in step.there.items()} == {
                key: sorted(found) for key, found in step.here.items()
            }


@pytest.mark.parametrize("genuine", GENUINE, ids=lambda made: str(made.kind))
@pytest.mark.parametrize("side", [("args",), ("inverse", "args")], ids=["forward", "back"])
def test_a_forged_value_is_refused_or_changes_nothing_that_the_kind_may_not(genuine, side):
    refused = 0
    found = genuine.operations[0]
    for name in side:
        found = found[name]
    for path in values(found):
        made = replace(genuine, operations=[forged(genuine.operations[0], (*side, *path))])
        made = replace(made, content_hash=content_hash(made))
        if against(made) is not None:
            refused += 1
            continue
        for back in (False, True):
            is_within(made, genuine, back)
    assert refused
