"""``logdirwatch notify``: the product's whole loop as a process, and the receivers of its messages."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.notify.groups import Message
from logdirwatch.notify.heartbeats import Switch
from logdirwatch.notify.reader import Reader
from logdirwatch.notify.senders import SendError
from logdirwatch.notify.service import Notifier
from logdirwatch.notify.settings import NotifySettings
from logdirwatch.settings import DecisionSettings
from tests.simulation.brokers import CLUSTER
from tests.simulation.clock import Host, Process, Stop
from tests.simulation.stream import DETECT
from tests.simulation.topics import Consumer, Telemetry

SETTINGS = NotifySettings.model_validate({"receivers": {"ops": {"urls": ["json://localhost:1"]}}})
TELEMETRY = KafkaSettings(bootstrap_servers="telemetry:9092")
CANARY_MS = 3_600_000


@dataclass
class Receiver:
    """Who is told; it takes ``answers_after_ms`` to answer."""

    tells_resolved: bool = True
    keeps_alive: bool = False
    is_up: bool = True
    answers_after_ms: int = 200
    heard: Callable[[Message, int], None] = lambda _, __: None
    messages: int = 0
    took_ms: int = 0

    def send(self, message: Message) -> None:
        """Take a message, whose sending took ``took_ms``, or refuse it."""
        if not self.is_up:
            raise SendError("connection refused")
        self.messages += 1
        self.heard(message, self.took_ms)


class Pool:
    """``ThreadPoolExecutor`` in virtual time: a call is carried out when the receiver has answered."""

    def __init__(self, host: Host, receiver: Receiver) -> None:
        self._host, self._receiver = host, receiver

    def submit(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Carry out a call later."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        took_ms = self._receiver.answers_after_ms
        self._host.after(took_ms, lambda: self._run(future, call, arguments, took_ms))
        return future

    def shutdown(self, **_: Any) -> None:
        """Do nothing: no thread is there."""

    def _run(self, future: "Future[Any]", call: Callable[..., Any], arguments: tuple[Any, ...], took_ms: int) -> None:
        # What was sent arrives, whether the sender still lives or not.
        self._receiver.took_ms = took_ms
        try:
            result = call(*arguments)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)


class Notify:
    """One run of the command."""

    def __init__(
        self, host: Host, telemetry: Telemetry, receiver: Receiver, died: Callable[[str, Exception], None]
    ) -> None:
        self.host, self._telemetry, self._receiver = host, telemetry, receiver
        self.notifier: Notifier | None = None
        self.process = Process(host, self._main, lambda error: died("notify", error))

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process.is_alive

    @property
    def is_following(self) -> bool:
        """Whether it has read the topics to their end, and follows them."""
        return self.is_alive and self.notifier is not None and self.notifier.health.is_unready() is None

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()

    def _main(self) -> None:
        now_ms, ahead_ms = self.host.wall_ms, self.host.wall_ms() - self.host.monotonic_ms()

        def steady_ms() -> int:  # logdirwatch.clock.steady_ms of this process
            return self.host.monotonic_ms() + ahead_ms

        switch = Switch(SETTINGS.heartbeat, [CLUSTER], CANARY_MS, steady_ms())
        reader = Reader(switch, DecisionSettings().longest_ms, DETECT.clock_skew_ms)
        ways = {"ops": {"ops": self._receiver}}
        self.notifier = Notifier(SETTINGS, TELEMETRY, switch, reader, ways, self, now_ms, steady_ms)  # type: ignore[arg-type]
        pool = Pool(self.host, self._receiver)
        for channel in self.notifier.sending._delivery._channels.values():
            channel.thread = pool  # type: ignore[assignment]
        self.notifier.run(Stop())  # type: ignore[arg-type]

    def put(self, those: list[Outgoing]) -> None:
        """Publish what was sent, as the product's ``Publisher``."""
        self.host.after(5, lambda: [self._write(one) for one in those] and None)

    def flush(self, timeout_s: float) -> None:
        """Do nothing: what was put is written before a receiver gets its message."""

    def _write(self, record: Outgoing) -> None:
        if not self.is_alive:
            return
        if not self._telemetry.reaches(self.host):
            self.host.after(1_000, lambda: self._write(record))
            return
        self._telemetry.append(record.topic, record.key, record.value, self.host.wall_ms())


def consumers(telemetry: Telemetry, host: Host) -> AbstractContextManager[object]:
    """Let the product code on a host read the simulated telemetry cluster until the end of the block."""

    def consumer(_settings: object, **_arguments: object) -> AbstractContextManager[Consumer]:
        return telemetry.consumer(host, Process.current())

    return patch.object(clients, "consumer", consumer)
