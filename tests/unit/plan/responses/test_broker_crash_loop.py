"""A broker that crashes again and again is not restarted once more."""

from logdirwatch.model.evidence.brokers import BrokerCrashLoopEvidence
from logdirwatch.plan.recommend import recommend
from tests.unit.plan import builders


def test_without_a_reason_it_is_looked_for():
    alert = builders.alert(rule="broker_crash_loop", log_dir=None, evidence=BrokerCrashLoopEvidence(restarts=3))
    (found,) = recommend(alert, builders.facts(builders.directory(1, "/d1")), builders.policy(), builders.NOW_MS)
    assert (found.kind, "restart no other broker" in found.reason) == ("investigate", True)
