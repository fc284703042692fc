"""What is recommended for an alert, and how tests read it."""

from logdirwatch.plan.lifecycle.overlay import with_alerts
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import NOW_MS, facts, policy, space_alert


def recommended(*parts, limits=None, tools=None, evidence=None, **fields):
    """Return the actions for a directory that fills."""
    full = space_alert(evidence=evidence or {})
    return recommend(full, facts(*parts, **fields), policy(tools=tools, **(limits or {})), NOW_MS)


def recommended_for(an_alert, *parts, **limits):
    """Return the actions for an alert."""
    return recommend(an_alert, facts(*parts), policy(**limits), NOW_MS)


def answered(an_alert, *parts, **limits):
    """Return the actions for an alert whose own evidence is laid over the snapshot."""
    return recommend(an_alert, with_alerts(facts(*parts), [an_alert]), policy(**limits), NOW_MS)


def kinds(actions):
    return [str(action.kind) for action in actions]


def the(kind, actions):
    (found,) = [action for action in actions if action.kind is kind]
    return found


def of_kind(actions, kind):
    return next(action for action in actions if action.kind == kind)


def vetoed(one):
    return [veto.name if hasattr(veto, "name") else veto["name"] for veto in one.vetoes]


def holds(one, name):
    """Return whether a precondition of a record or proposal holds."""
    told = (item if isinstance(item, dict) else item._asdict() for item in one.preconditions)
    return next(item["holds"] for item in told if item["name"] == name)


def conditions(proposal):
    """Return the preconditions of a proposal by name; each says in words what must hold."""
    assert all(str(item.text).count(" ") for item in proposal.preconditions)
    return {item.name: item.holds for item in proposal.preconditions}


def reasons(proposal):
    """Return the vetoes of a proposal by name; each says in words what it found."""
    assert all(str(veto.reason).count(" ") for veto in proposal.vetoes)
    return {veto.name: veto.reason for veto in proposal.vetoes}


def named(veto):
    """Return the name of a veto, which says why in words that name its subject."""
    assert veto is None or " None" not in f" {veto.reason}"
    return veto and veto.name


def assert_leaders_stay(actions):
    """Nothing that may be done is predicted to take the leader of a partition away that has one."""
    for action in actions:
        if action.vetoes:
            continue
        for example in (action.expected.get("leadership") or {}).get("examples", ()):
            steps = [told for name, told in example.items() if name != "partition"]
            assert steps[0]["leader"] is None or all(step["leader"] is not None for step in steps), (action, example)
