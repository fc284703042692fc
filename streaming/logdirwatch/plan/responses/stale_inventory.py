"""What can be advised on an old inventory: all that does not depend on where replicas lie.

The state of directories is seldom old when the inventory is: it comes with every poll, and with the alert itself.
"""

from collections.abc import Callable
from dataclasses import replace

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Rule
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.brokers.expand_disk import expand_disk
from logdirwatch.plan.actions.brokers.release_reserve import release_drafts
from logdirwatch.plan.actions.topics.throttle_producers import brake_drafts
from logdirwatch.plan.availability.broker_halt import saying_that_it_halts
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.cluster.snapshot import Directory, Facts
from logdirwatch.plan.operator_decisions import heeded
from logdirwatch.plan.proposal import Draft, Policy
from logdirwatch.plan.reassignment.within_broker import needed_bytes
from logdirwatch.plan.relief.freed_bytes import URGENT
from logdirwatch.plan.relief.order import in_sequence

Answer = Callable[[], list[Draft]]

WAITS = "moves and cuts wait for a new inventory"


def uninformed_drafts(
    alert: AlertRecord, directory: Directory | None, facts: Facts, policy: Policy, now_ms: int, full: Answer
) -> list[Draft]:
    """Return the actions for an alert that need no inventory; empty where there are none, or the state is old, too.

    ``full`` gives the answer as if the inventory were new.
    """
    if facts.state_at_ms is None or now_ms - facts.state_at_ms > policy.facts_max_age_ms:
        return []
    if alert.rule is not Rule.LOG_DIR_SPACE:
        return heeded((d for d in full() if not ACTION_TYPES[d.kind].needs_inventory and not d.vetoes), facts.said)
    if directory is None or not directory.is_serving:
        return []
    # Nothing is known of what lies there by now, only what the directory says of itself.
    alone = replace(facts, layout=replace(facts.layout, replicas=()), growth={})
    needed = needed_bytes(directory, Space(alone), policy) or 0
    drafts = [expand_disk(directory, policy, needed)] if needed > 0 else []
    if directory.status in URGENT:
        drafts += [*release_drafts(directory, policy), *brake_drafts(directory, alone, policy, drafts)]
    return saying_that_it_halts(heeded(in_sequence(drafts), facts.said), directory, facts)
