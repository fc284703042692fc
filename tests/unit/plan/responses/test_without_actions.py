"""The commands of the execution are the next step, also where nothing else is known."""

from logdirwatch.model.evidence.brokers import BrokerCrashLoopEvidence
from logdirwatch.model.evidence.clusters import ExecutionStoppedEvidence
from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.rule_responses import investigate
from tests.unit.plan import builders
from tests.unit.plan.builders import alert, policy

COMMANDS = ["logdirwatch apply --resume a", "logdirwatch apply --undo a"]


def test_the_next_step_has_the_commands():
    evidence = ExecutionStoppedEvidence(action_id="a", commands=COMMANDS)
    found = investigate(alert(Rule.EXECUTION_STOPPED, log_dir=None, cause=None, evidence=evidence), policy())
    assert found.kind is ActionKind.INVESTIGATE
    assert found.reason.endswith("or release it as it is: logdirwatch apply --resume a; logdirwatch apply --undo a")
    assert list(found.commands[-2:]) == [f"# Where logdirwatch runs: {one}" for one in COMMANDS]


def test_without_a_reason_it_is_looked_for():
    alert = builders.alert(rule="broker_crash_loop", log_dir=None, evidence=BrokerCrashLoopEvidence(restarts=3))
    (found,) = recommend(alert, builders.facts(builders.directory(1, "/d1")), builders.policy(), builders.NOW_MS)
    assert (found.kind, "restart no other broker" in found.reason) == ("investigate", True)
