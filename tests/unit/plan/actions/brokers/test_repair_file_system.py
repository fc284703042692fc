"""The repair of a file system stops a broker that still runs, so it asks what a restart asks."""

from logdirwatch.model.vocabulary import ActionKind, Cause
from tests.unit.plan.answers import answered
from tests.unit.plan.builders import alert, broker, directory, offline, topic
from tests.unit.plan.failures import of_kind

PARTS = (
    *(broker(number) for number in (1, 2, 3)),
    offline(1, cause=Cause.FILE_SYSTEM),
    directory(1, "/d2"),
    directory(2),
    directory(3),
    topic("t", (1, 2, 3), configs={"min.insync.replicas": "2"}),
)


def asked(*parts):
    action = of_kind(answered(alert(cause=Cause.FILE_SYSTEM), *parts), ActionKind.RESTART_BROKER)
    return {one["name"]: one["text"] for one in action.preconditions}


def test_a_broker_that_runs_is_stopped_only_while_writes_go_on():
    assert asked(*PARTS)["writes_go_on"] == "every partition of broker 1 takes writes while it is away"
