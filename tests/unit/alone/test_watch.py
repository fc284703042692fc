"""One process that polls, judges and sends: what is told of a directory, while plans cannot be made too."""

import asyncio
import time

import pytest
from prometheus_client import CollectorRegistry

from logdirwatch.alone.watch import Watching
from logdirwatch.clock import wall_ms
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import AlertStatus, Rule
from logdirwatch.notify.health import Health
from logdirwatch.notify.senders import senders
from logdirwatch.notify.sending import Sending
from logdirwatch.settings import Settings
from tests.support.waiting import DEADLINE_S
from tests.unit.collect.builders import Brokers, log_dir, node, ok, poller
from tests.unit.notify.receivers import receiving

BROKEN, WELL = log_dir("/d1", error_code=56), log_dir("/d1")


class Now:
    """The time as it is."""

    waited_s = staticmethod(time.monotonic)
    __call__ = staticmethod(wall_ms)


class Told:
    """What people would read."""

    def __init__(self):
        self.lines = []

    def seen(self, snapshot):
        self.lines.append(snapshot.cluster)

    def changed(self, alert):
        self.lines.append((alert.rule, alert.status))

    def planned(self, alert, step):
        self.lines.append((alert.rule, step.kind))


def nobody_answers(_):
    raise UserError("Kafka cannot be reached")


async def until(condition):
    ends_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < ends_s
        await asyncio.sleep(0.02)


@pytest.fixture
def receiver():
    with receiving() as running:
        yield running


def test_an_alert_is_told_and_sent_when_it_opens_and_when_it_ends_also_while_no_plan_can_be_made(receiver):
    notify = {
        "receivers": {"ops": {"urls": [f"json://127.0.0.1:{receiver.port}?rate=0"]}},
        "group_wait_ms": 0,
        "group_interval_ms": 0,
    }
    settings = Settings(notify=notify, clusters={"prod": {"bootstrap_servers": "127.0.0.1:1"}})
    told, sent = Told(), []
    sending = Sending(settings.notify, senders(settings.notify), lambda *_: None, Health())
    service = Watching(settings.clusters, settings, nobody_answers, told, sending)
    registry = CollectorRegistry()
    registry.register(service)
    labels = {"cluster": "prod", "rule": "log_dir_offline", "severity": "critical"}

    async def night():
        brokers = Brokers({1: ok(BROKEN)}, {1: node(1)})
        polling = poller(brokers, sent, Now())
        running = asyncio.create_task(service.run())
        for answer, status in ((ok(BROKEN), AlertStatus.FIRING), (ok(WELL), AlertStatus.RESOLVED)):
            brokers.says[1] = answer
            while (Rule.LOG_DIR_OFFLINE, status) not in told.lines:
                await polling.poll()
                service.put(sent[:])
                sent.clear()
                await asyncio.sleep(0.1)
            count = registry.get_sample_value("logdirwatch_alerts_firing", labels)
            assert count == (1 if status is AlertStatus.FIRING else None)
            await until(lambda: len(receiver.posted) == len(told.lines))
        running.cancel()

    asyncio.run(asyncio.wait_for(night(), DEADLINE_S))
    service.close()
    assert told.lines == [(Rule.LOG_DIR_OFFLINE, AlertStatus.FIRING), (Rule.LOG_DIR_OFFLINE, AlertStatus.RESOLVED)]
    assert [body["title"].partition("]")[0] for body in receiver.bodies] == ["[critical", "[resolved"]
