"""A whole cluster that fills: moves only shift the problem, so history, idle topics and room are what is left.

Cuts are planned over all directories above the target ratio together; an alert of one of them plans for that one alone.
"""

from collections import Counter
from collections.abc import Mapping
from functools import partial

from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.cut import Cut
from logdirwatch.plan.cutting import fleet_cut_draft
from logdirwatch.plan.deletion import candidate_drafts_in
from logdirwatch.plan.draft import Draft, Policy, Veto
from logdirwatch.plan.facts import Directory, Facts, Place, Topic
from logdirwatch.plan.moves import needed_bytes
from logdirwatch.plan.retention import all_replicas, cut_topic, cuttable, giving
from logdirwatch.plan.runbook import investigate
from logdirwatch.plan.space import Space, volumes
from logdirwatch.report.units import human_bytes

LOOKED_AT = 200


def fleet_drafts(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return the cuts that give the filling directories of a cluster most, idle topics, and what is still missing."""
    needed = shortage(facts, policy)
    missing = sum(needed.values())
    refusals: Counter[Veto] = Counter()
    cuts = plan_fleet_cuts(needed, facts, policy, refusals)
    drafts = [fleet_cut_draft(cut, _gain(cut, needed), facts, policy, now_ms) for cut in cuts]
    left = missing - sum(_gain(cut, needed) for cut in cuts)
    places = [facts.directories[place] for place in needed]
    if left > 0:
        drafts += candidate_drafts_in(places, {"broker": None, "log_dir": None}, facts, policy, now_ms)
    reasons = [veto.reason for veto, _ in refusals.most_common(3)] if left > 0 else []
    return [*drafts, investigate(alert, policy, _what_is_missing(left, missing, places, facts, policy, reasons))]


def shortage(facts: Facts, policy: Policy) -> dict[Place, int]:
    """Return the bytes that each serving directory above the target ratio has too much; a volume counts once."""
    space, sharing = Space(facts), volumes(facts)
    found: dict[Place, int] = {}
    for place, directory in sorted(facts.directories.items()):
        needed = needed_bytes(directory, space, policy) if directory.is_serving else None
        if needed is not None and needed > 0 and not any(other in found for other in sharing[place]):
            found[place] = needed
    return found


def plan_fleet_cuts(needed: dict[Place, int], facts: Facts, policy: Policy, refusals: Counter[Veto]) -> list[Cut]:
    """Cut the topics that give the directories most, as far as they need it; only the largest are looked at."""
    sizes: Counter[str] = Counter()
    for replica in (replica for place in needed for replica in facts.replicas_in(place)):
        sizes[replica.topic] += replica.size_bytes or 0
    names = sorted(sizes, key=lambda name: (-sizes[name], name))[:LOOKED_AT]
    topics = [topic for name in names if (topic := cuttable(name, facts, policy, refusals)) is not None]
    most = [_cut(topic, needed, facts, policy, None) for topic in topics]
    useful = [cut for cut in most if cut is not None and _gain(cut, needed) > 0]
    ranked = sorted(useful, key=lambda cut: (cut.way.loses_data, -_gain(cut, needed), cut.topic.name))
    cuts: list[Cut] = []
    for candidate in ranked[: policy.limits.retention_topics]:
        left = {place: needed[place] - sum(cut.frees_at(place) for cut in cuts) for place in needed}
        left = {place: size for place, size in left.items() if size > 0}
        wanted = min(_gain(candidate, left), sum(left.values()))
        if wanted > 0:
            cut = _cut(candidate.topic, left, facts, policy, wanted)
            cuts += [cut] if cut is not None else []
    return cuts


def _cut(topic: Topic, needed: Mapping[Place, int], facts: Facts, policy: Policy, wanted: int | None) -> Cut | None:
    replicas = giving(topic, all_replicas(topic, facts), facts)
    return cut_topic(topic, replicas, facts, policy, partial(_useful, needed), wanted)


def _useful(needed: Mapping[Place, int], frees: Counter[Place]) -> int:
    """Count what a directory needs: bytes freed elsewhere, or beyond that, do not help."""
    return sum(min(size, needed.get(place, 0)) for place, size in frees.items())


def _gain(cut: Cut, needed: dict[Place, int]) -> int:
    return _useful(needed, Counter(cut.frees))


def _what_is_missing(
    left: int, missing: int, places: list[Directory], facts: Facts, policy: Policy, reasons: list[str]
) -> str:
    """Say whether the cuts are enough, and what would make up for the rest."""
    if not places:
        return "no directory is above the target ratio now"
    if left <= 0:
        return f"the cuts give the {len(places)} directories all that they need, {human_bytes(missing)}"
    size = sum(directory.total_bytes or 0 for directory in facts.directories.values()) // max(1, len(facts.brokers))
    brokers = -(-int(left / policy.limits.target_ratio) // size) if size else 0
    more = f"{brokers} brokers like the present ones, or {human_bytes(left)} more on volumes and disks"
    why = f"; {'; '.join(reasons)}" if reasons else ""
    return f"{human_bytes(left)} of {human_bytes(missing)} fit nowhere{why}; what would make it possible: {more}"
