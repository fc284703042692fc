"""The watched cluster of the scenarios: what happens to it, what is said of it, and how it is made whole again."""

import copy
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

from logdirwatch import settings as configuration
from logdirwatch.kafka import clients as kafka_clients
from logdirwatch.kafka import telemetry_topics
from logdirwatch.model import topics
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import CLUSTER
from logdirwatch_lab.demo import tables
from logdirwatch_lab.demo.services import Service
from tests.kafka import collecting
from tests.scenarios.clients import Pair
from tests.scenarios.hands import Hands
from tests.scenarios.reading import Alerts, Place, Record, Swap, Tail, line, place_of, taken
from tests.support.waiting import DEADLINE_S, wait_until

BROKERS = (0, 1, 2, 3)
SWAPPED_GRACE_S = 15.0
START_DEADLINE_S = 420.0
PAUSE_S = 0.5
TABLE_PAUSE_S = 1.0
RECENT = 25
FLOWING = 100

# Waits of minutes are waits of seconds here. No forecast: a suite that crosses two full hours would have one.
QUICK: dict[str, Any] = {
    "collect": {
        "collector": "first",
        "metrics_interval_ms": 1_000,
        "partitions_interval_ms": 1_000,
        "inventory_interval_ms": 5_000,
        # Three polls of a hanging broker fail before the controller gives it up, which takes five seconds.
        "request_timeout_ms": 1_500,
        "backoff_max_ms": 2_000,
    },
    "detect": {
        "broker_offline_grace_ms": 5_000,
        "failure_polls": 3,
        "silence_min_ms": 15_000,
        "event_wait_ms": 10_000,
        "state_refresh_ms": 5_000,
        # A dozen scenarios hurt the same brokers within an hour, which is no flapping.
        "flapping_times": 1_000,
        "changed_hold_ms": 5_000,
        "thresholds": {"filling_within_ms": 0, "critical_within_ms": 0, "page_within_ms": 0},
        # A machine busy with restarts lets queries lag, which is none of the scenarios' business.
        "pipeline": {"lag_ms": 600_000},
    },
    "fleet": {"silence_gather_ms": 5_000, "risk_after_ms": 5_000, "risk_hold_ms": 5_000, "restart_window_ms": 30_000},
    # Every scenario waits for tables and for fleet's word several times; detect's own haste is measured elsewhere.
    "stream": {
        "detect_trigger": "1 second",
        # No scenario waits for actions, and their making takes the time of the others.
        "recommend_trigger": "20 seconds",
        "fleet_trigger": "4 seconds",
        "store_trigger": "4 seconds",
        "store_inventory_trigger": "4 seconds",
    },
    "quality": {"settle_ms": 60_000},
}

T = TypeVar("T")


def of_dir(broker: int, path: str) -> set[Place]:
    """The alert of a directory that is lost."""
    return {("log_dir_offline", broker, path)}


def of_broker(broker: int) -> set[Place]:
    """The alerts of a broker that is away: unknown while only its polls fail, offline when the controller says so.

    Soon after another one's restart its own is part of a rolling restart, which is a note about the cluster.
    """
    return {("broker_unknown", broker, None), ("broker_offline", broker, None), ("broker_offline", None, None)}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def write_config(cluster: LocalCluster, path: Path, **sections: dict[str, Any]) -> Path:
    """Write the local cluster's own configuration, quickened; ``sections`` go over what it says then."""
    content = yaml.safe_load(cluster.config_path.read_text())
    # It runs for an hour: the second compiler is worth its time.
    options = content["stream"]["driver_java_options"].split()
    content["stream"]["driver_java_options"] = " ".join(one for one in options if "TieredStopAtLevel" not in one)
    for section, values in [*copy.deepcopy(QUICK).items(), *sections.items()]:
        content.setdefault(section, {}).update(values)
    path.write_text(yaml.safe_dump(content))
    return path


class World(Hands):
    """Cluster, collector and stream, shared by all scenarios; ``begin`` is set again for each of them.

    ``sections`` go over what the local cluster's configuration says.
    """

    def __init__(self, cluster: LocalCluster, logs: Path, **sections: dict[str, Any]) -> None:
        self.logs = logs
        self.brokers = tuple(node.id for node in cluster.state().brokers)
        self.config = write_config(cluster, logs / "logdirwatch.yaml", **sections)
        self.settings = configuration.load(self.config)
        super().__init__(cluster, self.settings.clusters[CLUSTER])
        self.collector = self._service("collect", self.config, "collect.log")
        self.stream = self._service("stream", self.config, "stream.log")
        self.begin: frozenset[str] = frozenset()
        self.begin_ms = 0
        self.expected: set[Place] = set()
        self.is_whole = False
        self._swap: Swap = Swap()
        self._states: dict[int, Record] = {}
        self._tables: dict[str, tuple[str, list[Record]]] = {}

    @contextmanager
    def running(self) -> Iterator["World"]:
        """Everything started, and every broker judged and stored once."""
        telemetry_topics.create_missing(self.settings)
        with ExitStack() as stack:
            self._alerts = Alerts(self.settings.telemetry)
            self._tails = {
                name: Tail(self.settings.telemetry, name) for name in (topics.METRICS, topics.EVENTS, topics.STATE)
            }
            for tail in (self._alerts, *self._tails.values()):
                stack.callback(tail.close)
            for service in (self.collector, self.stream):
                stack.callback(service.stop)
                service.start()
            self.settle(START_DEADLINE_S)
            self.is_whole = True
            self.wait_rows("broker_state", lambda rows: len(rows) == len(self.brokers), "every broker stored")
            self.wait_rows(
                "log_dir_inventory",
                lambda rows: {row["broker"] for row in rows} == {None, *self.brokers},
                "a first inventory stored",
            )
            yield self

    # -- waiting

    def wait(
        self, condition: Callable[[], T], message: str, deadline_s: float | None = None, pause_s: float = PAUSE_S
    ) -> T:
        """Return the first true value of ``condition``; fail with what was said lately and where the logs are."""

        true_since_s = None

        def seen() -> T:
            nonlocal true_since_s
            self.collector.check()
            self.stream.check()
            if (found := condition()) or not self._is_true(condition):
                return found
            true_since_s = true_since_s or time.monotonic()
            assert time.monotonic() - true_since_s < SWAPPED_GRACE_S, f"{message}: there, but not as it is read here"
            return found

        try:
            return wait_until(seen, deadline_s or DEADLINE_S, message, pause_s=pause_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told()}") from None

    def _is_true(self, condition: Callable[[], Any]) -> bool:
        """Whether ``condition`` holds for what happened, while a scenario reads something else."""
        if self._swap == Swap():
            return False
        with self.swapped(Swap()):
            return bool(condition())

    def told(self) -> str:
        """The last revisions on the alert topic, and where the logs are."""
        recent = self._revisions()[-RECENT:]
        alerts = "\n".join(f"  {line(record)}" for record in recent) or "  none"
        brokers = "\n".join(
            f"  broker {number}: {state['status']} ({state['reason']}), "
            + ", ".join(f"{view['path'][-7:]} {view['status']}" for view in state["log_dirs"])
            for number, state in sorted(self.states().items())
        )
        return (
            f"the last alerts (this scenario began at {self.begin_ms}):\n{alerts}\nthe brokers:\n{brokers}\n"
            f"collector: {self.collector.tail()}\nstream: {self.stream.tail()}"
        )

    # -- alerts

    def mark(self) -> frozenset[str]:
        """The alerts known by now."""
        return frozenset(self._alerts.latest())

    def alerts(self) -> list[Record]:
        """The latest revision of every alert of this scenario, in the order in which they came up."""
        return self.since(self.begin)

    def since(self, mark: frozenset[str]) -> list[Record]:
        """The latest revision of every alert that came up after ``mark``."""
        known = self._alerts.latest().items()
        return [self._swap.alert(record) for alert_id, record in known if alert_id not in mark]

    def _revisions(self) -> list[Record]:
        return [self._swap.alert(record) for record in self._alerts.revisions()]

    @contextmanager
    def swapped(self, swap: Swap) -> Iterator[None]:
        """Let a scenario read what did not happen; it gives up soon after that what it waits for did."""
        before, self._swap = self._swap, swap
        try:
            yield
        finally:
            self._swap = before

    def life(self, alert_id: str) -> list[Record]:
        """Every revision of one alert."""
        mine = {record["revision"]: record for record in self._revisions() if record["alert_id"] == alert_id}
        return [mine[revision] for revision in sorted(mine)]

    def wait_alert(self, **wanted: Any) -> Record:
        """Wait for a revision of an alert of this scenario whose fields are as ``wanted``."""

        def found() -> Record | None:
            mine = (record for record in self._revisions() if record["alert_id"] not in self.begin)
            return next((r for r in mine if all(r[name] == value for name, value in wanted.items())), None)

        said = ", ".join(f"{name} {value}" for name, value in wanted.items())
        return self.wait(found, f"an alert with {said}")

    def came_up(self) -> list[Place]:
        """What alerts of this scenario are about, in the order in which they came up."""
        return [place_of(self.life(record["alert_id"])) for record in self.alerts()]

    def expects(self, *places: set[Place]) -> None:
        """Name what may come up in this scenario; anything else fails it, at the latest when all is whole again."""
        self.expected = self.expected.union(*places)

    def nothing_else(self) -> None:
        """Nothing but what is expected came up, also after all that was written until now was judged."""
        self.judged()
        lives = [self.life(record["alert_id"]) for record in self.since(self.begin)]
        wrong = [line(life[0]) for life in lives if place_of(life) not in self.expected]
        assert not wrong, "something else came up:\n" + "\n".join(wrong) + f"\n{self.told()}"

    def judged(self) -> None:
        """Wait until detect, and then fleet, have ended a batch with everything written before this call."""
        for query, names in (("detect", (topics.METRICS, topics.EVENTS)), ("fleet", (topics.STATE,))):
            ends = {name: self._tails[name].ends() for name in names}

            def is_past(query: str = query, ends: dict[str, dict[str, int]] = ends) -> bool:
                done = taken(self.settings.checkpoints.path, query)
                return all(
                    done.get(name, {}).get(number, 0) >= end
                    for name, partitions in ends.items()
                    for number, end in partitions.items()
                )

            self.wait(is_past, f"{query} to come up to {ends}")

    def has_metrics_since(self, at_ms: int) -> bool:
        """Whether the collector wrote a record of that time or later."""
        return self._tails[topics.METRICS].has_since(at_ms)

    def reported(self) -> set[tuple[str | None, int | None]]:
        """Which collector wrote of which broker since the last call."""
        read = (json.loads(message.value) for message in self._tails[topics.METRICS].read())
        return {(record.get("collector"), record.get("broker")) for record in read}

    def newest_metrics(self, broker: int) -> Record:
        """The next record that the collector writes of a broker."""
        self._tails[topics.METRICS].read()

        def found() -> Record | None:
            read = [json.loads(message.value) for message in self._tails[topics.METRICS].read()]
            return next((record for record in reversed(read) if record.get("broker") == broker), None)

        return self.wait(found, f"a record of broker {broker}")

    # -- states and tables

    def states(self) -> dict[int, Record]:
        """The last state record of every broker."""
        for message in self._tails[topics.STATE].read():
            if message.value is not None:
                record = json.loads(message.value)
                self._states[record["broker"]] = record
        return self._states

    def rows(self, table: str, **wanted: Any) -> list[Record]:
        """A table's rows whose columns are as ``wanted``."""
        found = [self._swap.row(row) for row in self._read(table)]
        return [row for row in found if all(row[name] == value for name, value in wanted.items())]

    def _read(self, table: str) -> list[Record]:
        """A table's rows, read again only when somebody has written: the machine is shared with those who do."""
        log = Path(self.settings.tables_path, table, "_delta_log")
        newest = max((commit.name for commit in log.glob("*.json")), default="")
        known, rows = self._tables.get(table, ("", []))
        if newest != known:
            rows = tables.rows(self.settings.tables_path, table)
            self._tables[table] = newest, rows
        return rows

    def wait_rows(self, table: str, holds: Callable[[list[Record]], Any], message: str, **wanted: Any) -> list[Record]:
        """Wait until the rows of a table whose columns are as ``wanted`` are such that ``holds``; return them."""
        last: list[Record] = []

        def found() -> tuple[list[Record]] | None:
            last[:] = self.rows(table, **wanted)
            return (last,) if holds(last) else None

        try:
            self.wait(found, f"{table}: {message}", pause_s=TABLE_PAUSE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\nits rows at last: {_short(last)}") from None
        return last

    def transitions(self, broker: int, log_dir: str | None = None) -> list[Record]:
        """The changes of status of this scenario of one broker, or of one directory, oldest first."""
        mine = self.rows("transitions", broker=broker, log_dir=log_dir)
        return sorted((row for row in mine if row["at_ms"] >= self.begin_ms), key=lambda row: row["at_ms"])

    def steps(self, broker: int, log_dir: str | None = None) -> list[str]:
        """The statuses that a broker or directory went through, those left out that a single missed poll brings."""
        steps = ["online"]
        for row in self.transitions(broker, log_dir):
            if row["to_status"] not in {"unknown", steps[-1]}:
                steps.append(row["to_status"])
        return steps[1:]

    def status(self) -> Record:
        """What ``logdirwatch status --json`` says of the cluster."""
        done = collecting.run(self.config, "status", "--json")
        assert done.returncode == 0, done.stderr
        (cluster,) = json.loads(done.stdout)["clusters"]
        return cluster

    def listed(self) -> list[Record]:
        """What ``logdirwatch alerts --json`` shows, in its order."""
        done = collecting.run(self.config, "alerts", "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(shown) for shown in done.stdout.splitlines()]

    # -- what is done, and what is waited for then

    def topic(self, name: str, *assignments: list[int], at: tuple[int, int] | None = None, min_isr: int = 2) -> None:
        self._forgotten(name)
        super().topic(name, *assignments, at=at, min_isr=min_isr)

    def topic_in(self, name: str, index: int, *assignments: list[int], min_isr: int = 2) -> None:
        self._forgotten(name)
        super().topic_in(name, index, *assignments, min_isr=min_isr)

    def _forgotten(self, name: str) -> None:
        """An earlier scenario's topic of that name left the tables; this one's must not be mistaken for it."""
        for table in ("replica_state", "topic_state"):
            self.wait_rows(table, lambda rows: not rows, "nothing left of an earlier topic of that name", topic=name)

    def known_topic(self, name: str, *assignments: list[int], at: tuple[int, int] | None = None) -> None:
        """Make a topic and wait until the tables have all its replicas: an offline directory lists none any more."""
        self.topic(name, *assignments, at=at)
        self.known(name, sum(len(brokers) for brokers in assignments), at)

    def known(self, name: str, replicas: int, at: tuple[int, int] | None = None, status: str = "online") -> None:
        """Wait until the tables have all replicas of a topic; ``at``: in that directory of that broker."""
        path = None if at is None else self.log_dir(*at)
        self.wait_rows(
            "replica_state",
            lambda rows: (
                len(rows) == replicas
                and {row["status"] for row in rows} == {status}
                and (at is None or {row["log_dir"] for row in rows if row["broker"] == at[0]} == {path})
            ),
            f"the {replicas} replicas {status} and listed",
            topic=name,
        )

    def send_event(self, **fields: Any) -> None:
        """Write an event as somebody else's program does, and wait for its acknowledgement."""
        self._send(topics.EVENTS, None, fields)

    def send_metrics(self, record: Record) -> None:
        """Write a poll's answer as another collector does, and wait for its acknowledgement."""
        self._send(topics.METRICS, f"{record['cluster']}/{record['broker']}".encode(), record)

    def _send(self, topic: str, key: bytes | None, record: Record) -> None:
        client = kafka_clients.producer(self.settings.telemetry, acks="all")
        try:
            client.send(topic, json.dumps(record).encode(), key=key).get(timeout=DEADLINE_S)
        finally:
            kafka_clients.discard(client, 5)

    def flows(self, pair: Pair) -> None:
        """Wait until the consumer has read more: both are served."""
        before = pair.received
        self.wait(lambda: pair.received >= before + FLOWING, f"records of {pair.topic} to flow")

    def restore(self, broker: int, index: int) -> None:
        """Mend a directory; the restart of its broker may be noticed."""
        self.expects(of_broker(broker))
        self.cluster.restore(broker, index)

    @contextmanager
    def streaming_with(self, **sections: dict[str, Any]) -> Iterator[None]:
        """Let the stream run with other settings for a while."""
        usual = self.stream
        config = write_config(self.cluster, self.logs / "other.yaml", **sections)
        assert usual.stop() == 0
        self.stream = self._service("stream", config, "other.log")
        try:
            self.stream.start()
            yield
            assert self.stream.stop() == 0
        finally:
            self.stream.stop()
            self.stream = usual
            usual.start()

    def decide(self, *arguments: str) -> None:
        """Say with a command of logdirwatch what a person decides."""
        done = collecting.run(self.config, *arguments, "--by", "ada", "--reason", "a scenario")
        assert done.returncode == 0, done.stderr

    def second_collector(self) -> Service:
        """Another collector of the same cluster, not started."""
        config = write_config(self.cluster, self.logs / "second.yaml", collect={"collector": "second"})
        return self._service("collect", config, "second.log")

    # -- the end of a scenario

    def heal(self) -> None:
        """Mend every directory, let every broker run, and let collector and stream run."""
        for broker in self.brokers:
            if self.mend(broker):
                # What has its only replica there has no leader meanwhile.
                self.expects(of_broker(broker), {("partitions_at_risk", None, None)})
        for service in (self.collector, self.stream):
            if service._process is None or service._process.poll() is not None:
                service.stop()
                service.start()
        if left := self.topic_names():
            self.delete_topics(*left)

    def settle(self, deadline_s: float | None = None) -> None:
        """Wait until all is online by a judgement younger than this call, and no alert of this scenario fires."""
        since_ms = now_ms()
        missing: list[str] = []

        def is_settled() -> bool:
            missing[:] = self._missing(since_ms)
            return not missing

        try:
            self.wait(is_settled, "everything online and no alert firing", deadline_s, TABLE_PAUSE_S)
        except AssertionError as error:
            raise AssertionError(f"not settled: {'; '.join(missing)}\n{error}") from None

    def _missing(self, since_ms: int) -> list[str]:
        states = self.states()
        stale = [f"broker {n} not judged" for n in self.brokers if n not in states or states[n]["at_ms"] < since_ms]
        if stale:
            return stale
        brokers = [f"broker {n} {state['status']}" for n, state in states.items() if state["status"] != "online"]
        log_dirs = [
            f"{view['path']} {view['status']}"
            for state in states.values()
            for view in state["log_dirs"]
            if view["status"] != "online"
        ]
        firing = [line(record) for record in self.alerts() if record["status"] == "firing"]
        return brokers or log_dirs or firing or self.out_of_sync()

    def _service(self, command: str, config: Path, log: str) -> Service:
        return Service(command, ["--config", str(config), command], self.logs / log)


def _short(rows: list[Record]) -> str:
    told = [
        {name: value for name, value in row.items() if value is not None and name not in {"record", "configs"}}
        for row in rows[:RECENT]
    ]
    return "\n".join(map(str, told)) or "none"
