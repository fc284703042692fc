"""What the builders leave out: partitions on the move, and with eligible leader replicas."""

from dataclasses import replace


def partition_of(made, number=0, **fields):
    """Return the topic with other fields of one of its partitions."""
    changed = [replace(p, **fields) if p.partition == number else p for p in made.partitions]
    return replace(made, partitions=tuple(changed))


def moving(made, number=0, *, adding=(), removing=()):
    """Return the topic with a reassignment of one partition under way: what is added is among the replicas."""
    return partition_of(made, number, adding=tuple(adding), removing=tuple(removing), is_reassigned=True)


def kinds(found):
    return [str(one.kind) for one in found]


def of_kind(found, kind):
    return next(one for one in found if one.kind == kind)


def veto_names(one):
    return [veto.name if hasattr(veto, "name") else veto["name"] for veto in one.vetoes]


def holds(one, name):
    """Return whether a precondition of a record or draft holds."""
    for item in one.preconditions:
        told = item if isinstance(item, dict) else item._asdict()
        if told["name"] == name:
            return told["holds"]
    raise AssertionError(f"no precondition {name}")
