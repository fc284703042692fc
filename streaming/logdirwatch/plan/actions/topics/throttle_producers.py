"""``throttle_producers``: slow down the producers of a filling directory until something frees space.

Kafka limits producers by user and client id, on every broker alike (KIP-13), and does not report who writes to a topic.
Two inventories show which topics grow, but not which clients write to them.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, FollowUp, Relief, Stage, frees_as_much
from logdirwatch.plan.actions.progress import not_seen, target_after, was_accepted
from logdirwatch.plan.capacity.growth_by_topic import growth_by_topic
from logdirwatch.plan.capacity.timing import REACTION_MS, growth_until_full, place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import client_quota, describe_quotas, end_client_quota
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect, owner_of
from logdirwatch.text.units import human_in, human_ms, human_rate
from logdirwatch.text.words import counted

NAMED_TOPICS = 3
UNKNOWN_NEEDS_MS = 3_600_000
"""The assumed duration of remedies of unknown duration: a larger volume, or a person."""
WORTH = 1.1
"""A quota must make the directory last this many times as long to be worth its harm."""
SLACK = 1.5
"""The time won must be longer than the remedy takes, by this factor."""


def propose_producer_throttle(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, lasts_ms: int
) -> list[ProposedAction]:
    """Return the quota with which the directory lasts ``lasts_ms``, if it is known to grow.

    Empty if it wins no time: a limit above the present write rate slows down no one.
    """
    left = time_to_full_ms(source)
    if left is None:
        return []
    growth = growth_until_full(source)
    writers = growth_by_topic(source, snapshot)[:NAMED_TOPICS]
    here = [r for r in snapshot.replicas_in(source.place) if not writers or r.topic in writers[0].topics]
    names = writers[0].topics if writers else {replica.topic for replica in here}
    if _is_internal(names, snapshot):
        return []
    top = writers[0].bytes_per_s if writers else growth
    # What all others write goes on beside the quota, which therefore gets what is left of the growth that lasts.
    rest = max(0.0, growth - top)
    # Those that lead what fills the directory: a quota holds on each alone (KIP-13).
    leaders = {snapshot.partitions[r.key].leader for r in here if r.key in snapshot.partitions}
    brokers = max(1, len(leaders - {None}))
    # The bytes per second that may still be written so that the room lasts that long.
    quota = max(0, int(left * growth / lasts_ms - rest))
    rate = int(quota / brokers)
    slowed = rest + min(top, rate * brokers)
    lasts, rate = None if slowed <= 0 else int(left * growth / slowed), max(1, rate)
    if lasts is not None and lasts < WORTH * left:
        return []
    who, agrees = (
        "which topics grow there is not known yet; the quota is calculated as if one producer wrote all of it",
        "the owner of the data agrees to be throttled",
    )
    if writers:
        who = "most growth is in " + ", ".join(one.label for one in writers)
        agrees = f"{owner_of(writers[0].topics[0], policy)} agrees to be throttled"
    each = f"; the quota holds on each of the {brokers} brokers that lead it, and is its share" if brokers > 1 else ""
    return [
        ProposedAction(
            kind=ActionKind.THROTTLE_PRODUCERS,
            target=place_target(source),
            reason=f"throttle the producers that write to {source.path} of broker {source.broker}: at "
            f"{human_rate(growth)} it is full {human_in(left)}, with the quota {_won(lasts)}; {who}{each}",
            expected=effect(
                needs_ms=0,
                time_to_full_after_ms=lasts,
                wins_ms=None if lasts is None else lasts - left,
                producer_byte_rate=rate,
                growing=[
                    {"topic": topic, "bytes_per_s": int(one.bytes_per_s)} for one in writers for topic in one.topics
                ],
            ),
            preconditions=(
                Precondition("client_known", "the client id is known, and no quota of its user overrides it", None),
                Precondition("owner_agrees", agrees, None),
                Precondition(
                    "producers_wait", "throttled producers buffer what they cannot send, or may lose it", None
                ),
            ),
            commands=(describe_quotas(policy.tools), client_quota(policy.tools, rate)),
            undo={
                "commands": [end_client_quota(policy.tools, rate)],
                "text": "as soon as the directory has room; a quota that was there before is to be set again",
            },
        )
    ]


def _is_internal(names: Collection[str], snapshot: ClusterSnapshot) -> bool:
    """Tell whether brokers alone write all these topics: producer quotas do not limit them."""
    return bool(names) and all(name in snapshot.topics and snapshot.topics[name].is_internal for name in names)


def _won(lasts_ms: int | None) -> str:
    return "it no longer grows" if lasts_ms is None else f"it lasts {human_ms(lasts_ms)}"


def propose_fleet_throttle(
    sources: Sequence[LogDir], snapshot: ClusterSnapshot, policy: Policy, lasts_ms: int
) -> list[ProposedAction]:
    """Return the one quota with which each of several directories lasts ``lasts_ms``: the smallest that any needs."""
    found = [one for source in sources for one in propose_producer_throttle(source, snapshot, policy, lasts_ms)]
    if not found:
        return []
    # A client's quota is one for all brokers, so the strictest one serves them all.
    least = min(found, key=lambda one: int(one.expected["producer_byte_rate"]))
    first = least.reason.partition(" that ")[2]
    text = f"throttle the producers that fill {counted(len(sources), 'directory')}, first those that {first}"
    return [replace(least, target={"broker": None, "log_dir": None}, reason=text)]


def bridges_ms(reliefs: Sequence[ProposedAction]) -> int:
    """Return how long a directory must last so that the first of the actions that free space takes effect.

    One of unknown duration does not count beside others: it may take longer than any of them.
    """
    found = [d.expected["needs_ms"] for d in reliefs if not d.vetoes and (d.expected["frees_bytes"] or 0) > 0]
    return int(SLACK * min((needs + REACTION_MS for needs in found if needs), default=UNKNOWN_NEEDS_MS))


def _quota_cleared(action: ActionRecord, _snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    """Return the removal of a producer's quota: brokers do not show whether it was set, but its action was accepted."""
    if not was_accepted(action):
        return None
    return ProposedAction(
        kind=ActionKind.CLEAR_THROTTLES,
        target=target_after(action),
        reason="remove the quota of the throttled producers, as the directory has room again; restore the quota that "
        "was set before",
        expected=effect(needs_ms=0),
        commands=(end_client_quota(policy.tools, int(action.expected.get("producer_byte_rate") or 1)),),
        undo={"text": "set the quota again"},
    )


ACTION_TYPE = ActionType(
    kind=ActionKind.THROTTLE_PRODUCERS,
    relief=Relief(if_in_time=5, if_not=7, stage=Stage.SLOWS_WRITES),
    progress=not_seen,
    covers=frees_as_much,
    follow_up=FollowUp(_quota_cleared),
)
