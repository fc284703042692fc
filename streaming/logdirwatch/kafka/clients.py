"""Kafka clients from the configuration, and reading a topic to its end or forever."""

import logging
import queue
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import (
    AuthorizationError,
    BrokerResponseError,
    ClusterAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MetadataEmptyBrokerList,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka.producer.future import FutureRecordMetadata

from logdirwatch.errors import UnconfirmedError, UserError
from logdirwatch.kafka import client_library, deadline, properties
from logdirwatch.kafka.client_library import AdminClient
from logdirwatch.kafka.network import NO_ANSWER, TIMEOUTS, Network, is_final, plain, with_stores
from logdirwatch.kafka.oauth import with_tokens
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.kafka.unread import STALLED_S, Unread
from logdirwatch.spark_version import on_databricks

CONNECT_TIMEOUT_MS = 10_000
READ_CONNECT_TIMEOUT_MS = 4_000
FIRST_TRY_MS = 1_500
POLL_TIMEOUT_MS = 500
FENCED_PAUSE_S = 0.2
SEND_TIMEOUT_S = 20
# A consumer sends several requests at once; a topic that returns nothing for this long is not readable.
STALLED_AFTER_POLLS = 60
# Some errors of Kafka include the whole request.
ERROR_CHARACTERS = 300

client_library.accept()


def quiet_client_logs() -> None:
    """Disable kafka-python's own log: it writes several lines per attempt, where one per incident is enough."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)


def python_arguments(settings: KafkaSettings) -> dict[str, Any]:
    """Return kafka-python's arguments for a cluster; raises UserError for a wrong property or file."""
    return with_tokens(with_stores(properties.python_arguments(settings.bootstrap_servers, settings.client)))


def spark_options(settings: KafkaSettings) -> dict[str, str]:
    """Return the options of Spark's Kafka source and sink; raises UserError like :func:`python_arguments`."""
    return properties.spark_options(settings.bootstrap_servers, settings.client, on_databricks=on_databricks())


@contextmanager
def admin(settings: KafkaSettings, timeout_ms: int = CONNECT_TIMEOUT_MS) -> Iterator[KafkaAdminClient]:
    """Yield an admin client.

    Raises UserError when the cluster does not answer within ``timeout_ms`` or refuses the credentials.
    """
    arguments = python_arguments(settings)
    try:
        client = _connected_in_time(AdminClient, arguments, timeout_ms)
    except (KafkaError, OSError, ValueError) as error:
        raise unreachable(settings, error) from None
    try:
        yield client
    finally:
        if not _is_too_late():
            client.close()


@contextmanager
def consumer(settings: KafkaSettings, **arguments: Any) -> Iterator[KafkaConsumer]:
    """Yield a consumer without a group, which commits nothing; ``arguments`` are kafka-python's.

    Raises UserError when the cluster does not answer or refuses the credentials.
    """
    arguments = {**python_arguments(settings), **arguments}
    timeout_ms = arguments.pop("bootstrap_timeout_ms", READ_CONNECT_TIMEOUT_MS)
    try:
        fixed = {"enable_auto_commit": False, "allow_auto_create_topics": False}
        client = _connected_in_time(KafkaConsumer, {**arguments, **fixed}, timeout_ms)
    except (KafkaError, OSError, ValueError) as error:
        raise unreachable(settings, error) from None
    try:
        yield client
    finally:
        if not _is_too_late():
            client.close(autocommit=False, timeout_ms=1_000)


def _is_too_late() -> bool:
    """Whether the interpreter is exiting: the client's thread has ended, and closing would wait for it."""
    return sys.is_finalizing()


def producer(settings: KafkaSettings, **arguments: Any) -> KafkaProducer:
    """Return a producer that never creates a topic; its caller closes it with a timeout.

    Raises KafkaError when the cluster does not answer within ``bootstrap_timeout_ms``, UserError for a property.
    """
    fixed = {"allow_auto_create_topics": False}
    arguments = {**python_arguments(settings), **fixed, **arguments}
    client: KafkaProducer = _connected(KafkaProducer, arguments, [arguments.pop("bootstrap_timeout_ms", None)])
    # It would be closed at interpreter exit, and wait there for partitions that may never come back.
    client._unregister_cleanup()  # noqa: SLF001
    return client


def discard(client: KafkaProducer, timeout_s: float) -> None:
    """Close a producer within about ``timeout_s``; unsent records are dropped."""
    try:
        client.close(timeout=timeout_s)
    except KafkaError:
        client._sender.force_close()  # noqa: SLF001
        client._closed = True  # noqa: SLF001


def read_all(settings: KafkaSettings, topic: str, **arguments: Any) -> Iterator[ConsumerRecord]:
    """Yield every record of ``topic`` from its beginning to its end as of this call, ordered within a partition.

    ``arguments`` are kafka-python's.

    Raises UserError when the cluster does not answer or the topic does not exist.
    """
    with consumer(settings, auto_offset_reset="earliest", **arguments) as client:
        partitions = _partitions(settings, client, topic)
        try:
            ends = client.end_offsets(partitions, timeout_ms=_offsets_ms())
            begins = client.beginning_offsets(partitions, timeout_ms=_offsets_ms())
            yield from _until(client, {part: end for part, end in ends.items() if end > begins[part]})
        except KafkaError as error:
            raise unreachable(settings, error) from None


def follow(settings: KafkaSettings, topic: str) -> Iterator[ConsumerRecord]:
    """Yield the records of ``topic`` from its beginning, and forever; again when it gets more partitions.

    Raises UserError when the cluster does not answer or the topic does not exist, at the start or later: silence alone
    would look like nothing to tell.
    """
    with consumer(settings, auto_offset_reset="earliest") as client:
        partitions: list[TopicPartition] = []
        unread = Unread()
        try:
            while unread.unanswered_s <= STALLED_S:
                if partitions != (present := _partitions(settings, client, topic)):
                    partitions = present
                    _start_at(client, client.beginning_offsets(partitions))
                for records in client.poll(timeout_ms=POLL_TIMEOUT_MS).values():
                    yield from records
                unread.check(client, partitions)
        except KafkaError as error:
            raise unreachable(settings, error) from None
        raise unreachable(settings, KafkaConnectionError(NO_ANSWER))


def partitions_of(client: KafkaConsumer, topic: str) -> list[TopicPartition]:
    """Return the partitions of a topic; raises UserError if none is visible, KafkaError without an answer."""
    numbers = _with_brokers(lambda: client.partitions_for_topic(topic))
    if not numbers:
        servers = ",".join(client.config["bootstrap_servers"])
        raise UserError(
            f"topic {topic} does not exist on {servers} or is hidden from this user; create it with: logdirwatch "
            "topics create, or grant Read (docs/security.md)"
        )
    return [TopicPartition(topic, number) for number in sorted(numbers)]


def exists(client: KafkaConsumer, topic: str) -> bool:
    """Tell whether a topic is visible to this user now; raises KafkaError if the cluster does not answer."""
    return topic in _with_brokers(client.topics)


def _with_brokers(ask: Callable[[], set[Any]]) -> set[Any]:
    """Return what a cluster's metadata say, asked again while they list no broker.

    A broker whose heartbeats failed to arrive, say after a suspend, is fenced for some seconds: the only one of a
    cluster then answers that there is none. Raises KafkaError if that lasts.
    """
    until_s = time.monotonic() + deadline.at_most_ms(CONNECT_TIMEOUT_MS) / 1000
    while time.monotonic() < until_s:
        with suppress(MetadataEmptyBrokerList):
            return ask()
        time.sleep(FENCED_PAUSE_S)
    return ask()


def write(settings: KafkaSettings, topic: str, records: Iterable[tuple[str, bytes]]) -> None:
    """Write records (key, value) and wait for their acknowledgement, until the deadline if there is one.

    Raises UserError if one is not accepted, UnconfirmedError if that is unknown.
    """
    limits: dict[str, Any] = {"bootstrap_timeout_ms": deadline.at_most_ms(CONNECT_TIMEOUT_MS)}
    if deadline.is_set():
        limits["max_block_ms"] = deadline.at_most_ms(SEND_TIMEOUT_S * 1000)
    try:
        client = producer(settings, **limits)
        try:
            for key, value in records:
                _wait_for(settings, topic, client.send(topic, key=key.encode(), value=value))
        finally:
            discard(client, 1)
    except KafkaError as error:
        raise unreachable(settings, unwritten(topic, error)) from None


def _wait_for(settings: KafkaSettings, topic: str, sent: FutureRecordMetadata) -> None:
    """Wait until Kafka has a record; raises KafkaError if it refuses it, UnconfirmedError if that stays unknown."""
    try:
        sent.get(timeout=deadline.at_most_ms(SEND_TIMEOUT_S * 1000) / 1000)
    except KafkaError as error:
        if _is_refusal(unwritten(topic, error)):
            raise
        raise UnconfirmedError(
            f"Kafka at {settings.bootstrap_servers} did not confirm it ({one_line(error)}): it may be recorded or not"
        ) from None


def _is_refusal(error: Exception) -> bool:
    """Tell whether a broker refused a record; else a broker that does not answer may have written it."""
    return isinstance(error, UnknownTopicOrPartitionError) or (
        isinstance(error, BrokerResponseError) and not error.retriable
    )


def unwritten(topic: str, error: Exception) -> Exception:
    """Return why a topic could not be written; for a missing ACL, which one.

    A user that may not write any topic is refused a producer id, which Kafka reports as a missing cluster permission.
    """
    if isinstance(error, AuthorizationError) or ClusterAuthorizationFailedError.__name__ in str(error):
        error = TopicAuthorizationFailedError(f"the user lacks the ACL Write on {topic}")
    return error


def unreachable(settings: KafkaSettings, error: BaseException) -> UserError:
    """Return the error, in one line, that a cluster is unreachable or refuses to answer."""
    if isinstance(error, AuthorizationError):
        return UserError(
            f"Kafka at {settings.bootstrap_servers} refuses: {one_line(error)}; an ACL is missing, see docs/security.md"
        )
    return UserError(f"Kafka at {settings.bootstrap_servers} cannot be reached: {one_line(error)}")


def one_line(error: BaseException) -> str:
    """Return an error as ``Type: text`` on one line for people; kafka-python's error codes are kept.

    The cause of a failed connection is explained.
    """
    if (words := plain(error)) is not None:
        return words
    text = " ".join(str(error).split())
    name = type(error).__name__
    line = (text if text.startswith(name) or f"] {name}" in text else f"{name}: {text}").rstrip(": ")
    return line if len(line) <= ERROR_CHARACTERS else f"{line[:ERROR_CHARACTERS]}..."


def _tries_ms(timeout_ms: int) -> list[int]:
    """Return the time limits of the attempts to connect: a short first one shows whether trying is pointless."""
    rest_ms = timeout_ms - FIRST_TRY_MS
    return [FIRST_TRY_MS, rest_ms] if rest_ms > 0 else [timeout_ms]


def _offsets_ms() -> int | None:
    """Return how long requests for a topic's first and last offsets may take; None: kafka-python's default."""
    return deadline.at_most_ms(READ_CONNECT_TIMEOUT_MS) if deadline.is_set() else None


def _connected_in_time(make: Callable[..., Any], arguments: dict[str, Any], timeout_ms: int) -> Any:
    """Create a client, within a command's deadline if there is one.

    It ends at once when nothing listens.
    """
    if not deadline.is_set():
        return _connected(make, arguments, _tries_ms(timeout_ms))
    limit_ms = deadline.at_most_ms(timeout_ms)
    attempt = _Attempt(make, arguments, limit_ms)
    Thread(target=attempt.run, name="connects-to-kafka", daemon=True).start()
    return attempt.outcome(limit_ms)


class _Attempt:
    """The creation of a client in a thread, which is abandoned when its time is over."""

    def __init__(self, make: Callable[..., Any], arguments: dict[str, Any], limit_ms: int) -> None:
        self._make, self._limit_ms = make, limit_ms
        self._arguments = {**arguments, "bootstrap_timeout_ms": limit_ms, "kafka_client": self._network}
        self._networks: list[Network] = []
        self._outcomes: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._is_left = False

    def run(self) -> None:
        """Create the client."""
        try:
            client = self._make(**self._arguments)
        except BaseException as error:
            self._outcomes.put((None, error))
            for network in self._networks:
                network.close()
            return
        self._outcomes.put((client, None))
        if self._is_left:
            client.close()

    def outcome(self, limit_ms: int) -> Any:
        """Return the client, or raise the most informative failure of its connections."""
        try:
            client, error = self._outcomes.get(timeout=limit_ms / 1000)
        except queue.Empty:
            client, error = None, KafkaTimeoutError()
        if error is None:
            return client
        self._is_left = True
        failure = _failure_of(self._networks)  # closing its connections would become the last failure
        for network in self._networks:
            network.abandon()
        if not isinstance(error, TIMEOUTS):
            raise error
        raise failure or KafkaConnectionError(NO_ANSWER) from error

    def _network(self, **configs: Any) -> Network:
        self._networks.append(Network(lambda failure: self._outcomes.put((None, failure)), **configs))
        return self._networks[-1]


def _failure_of(networks: Iterable[Network]) -> Exception | None:
    """Return the most informative failure of the attempts to connect, if any failed."""
    failed = max((each for each in networks if each.failure is not None), key=lambda each: each.worth, default=None)
    return None if failed is None else failed.failure


def _connected(make: Callable[..., Any], arguments: dict[str, Any], tries_ms: Sequence[int | None]) -> Any:
    """Create a client, or raise the most informative failure of its connections.

    kafka-python retries until its time is over, even if nothing listens, and leaks the thread and the connections of a
    client that cannot connect.
    """
    made: list[Network] = []

    def network(**configs: Any) -> Network:
        made.append(Network(**configs))
        return made[-1]

    for number, timeout_ms in enumerate(tries_ms, 1):
        timed = {} if timeout_ms is None else {"bootstrap_timeout_ms": timeout_ms}
        try:
            return make(**arguments, **timed, kafka_client=network)
        except BaseException as error:
            for client in made:
                client.close()
            failure = _failure_of(made)
            if not isinstance(error, TIMEOUTS):
                raise
            if failure is not None and (number == len(tries_ms) or is_final(failure)):
                raise failure from error
            if number == len(tries_ms):
                raise KafkaConnectionError(NO_ANSWER) from error
    raise AssertionError("there is a last attempt")


def _partitions(settings: KafkaSettings, client: KafkaConsumer, topic: str) -> list[TopicPartition]:
    try:
        return partitions_of(client, topic)
    except KafkaError as error:
        raise unreachable(settings, error) from None


def _start_at(client: KafkaConsumer, offsets: dict[TopicPartition, int]) -> None:
    client.assign(list(offsets))
    for partition, offset in offsets.items():
        client.seek(partition, offset)


def _until(client: KafkaConsumer, ends: dict[TopicPartition, int]) -> Iterator[ConsumerRecord]:
    if not ends:
        return
    client.assign(list(ends))
    client.seek_to_beginning()
    pending, empty_polls = dict(ends), 0
    patience_polls = deadline.at_most_ms(STALLED_AFTER_POLLS * POLL_TIMEOUT_MS) // POLL_TIMEOUT_MS
    while pending:
        batches = client.poll(timeout_ms=POLL_TIMEOUT_MS)
        for partition, records in batches.items():
            yield from (record for record in records if record.offset < ends[partition])
        if batches:  # once records arrive, the topic is read to its end, however long that takes
            empty_polls, patience_polls = 0, STALLED_AFTER_POLLS
        else:
            empty_polls += 1
        if empty_polls > patience_polls:
            raise UserError(
                f"topic {next(iter(ends)).topic}: no answer for partitions {[p.partition for p in pending]}"
            )
        pending = {part: end for part, end in pending.items() if client.position(part) < end}
