"""log_dir_suspect of a cluster: brokers whose disks are slow compared with those of all others.

``detect`` compares a broker with its own past. A broker that was always slow, or became slow before it was watched, is
found only by comparison with its peers. Kafka reports flush times by broker, not by log directory.
"""

import statistics
from typing import NamedTuple

from logdirwatch.detect.alerts.context import EvidenceTime
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet import rules, wording
from logdirwatch.fleet.alerts import Claim, Details
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.memory import BrokerDigest, FleetMemory
from logdirwatch.model.evidence.clusters import SlowBroker, SlowBrokersEvidence
from logdirwatch.model.vocabulary import Rule, Severity

RULE = Rule.LOG_DIR_SUSPECT
SLOW = "slow"


class Slow(NamedTuple):
    """A slow broker: how long it takes to flush a log (99th percentile), and the median of all others."""

    broker: int
    flush_ms: float
    others_ms: float


def judge(context: ClusterContext, moment: EvidenceTime) -> None:
    """Update the alert with the brokers that stand out; usually none is slow enough to be compared."""
    settings = context.settings
    slow = slow_brokers(context.memory, settings.peers_min, context.detect) if context.tally.sums.slow_flushes else []
    verdict = context.alerts.lasting(
        RULE, moment.at_ms, is_wrong=bool(slow), after_ms=settings.peers_after_ms, hold_ms=settings.peers_hold_ms
    )
    if verdict is False:
        context.alerts.resolve(RULE, None, "recovered", moment.at_ms)
    elif verdict:
        claim = Claim(Severity.WARNING, SLOW, tuple(sorted(each.broker for each in slow)))
        context.alerts.fire(RULE, None, claim, lambda: _details(context, slow), *moment)


def slow_brokers(memory: FleetMemory, peers_min: int, detect: DetectSettings) -> list[Slow]:
    """Return the brokers whose flushes take long, and many times as long as the median of all others, slowest first."""
    times = {broker: digest.flush_ms for broker, digest in memory.brokers.items() if digest.flush_ms is not None}
    if len(times) <= peers_min:
        return []
    found = []
    for broker, flush_ms in times.items():
        if flush_ms >= detect.slow_min_ms:
            others_ms = statistics.median(other for name, other in times.items() if name != broker)
            if flush_ms > detect.slow_factor * others_ms:
                found.append(Slow(broker, flush_ms, others_ms))
    return sorted(found, key=lambda slow: (-slow.flush_ms, slow.broker))


def _details(context: ClusterContext, slow: list[Slow]) -> Details:
    evidence = SlowBrokersEvidence(
        why=[SLOW],
        compared_brokers=sum(1 for digest in context.memory.brokers.values() if digest.flush_ms is not None),
        slow_brokers=[_named(each, context.memory.brokers[each.broker]) for each in slow[: rules.EXAMPLES]],
    )
    affected = {"brokers": len(slow), "examples": [str(each.broker) for each in slow[: rules.EXAMPLES]]}
    return Details(evidence, affected, wording.slow_brokers(context.memory.cluster, *slow[0], len(slow) - 1))


def _named(slow: Slow, digest: BrokerDigest) -> SlowBroker:
    return SlowBroker(**slow._asdict(), log_dirs=[log_dir.path for log_dir in digest.log_dirs])
