"""A cluster of any release under watch: what is recommended, and its commands pasted into that release's tools."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResourceType

from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import OPEN, ActionKind
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import CLUSTER
from logdirwatch_lab.demo.services import Service
from logdirwatch_lab.state import Node
from logdirwatch_lab.volumes import volumes_of
from tests.kafka import collecting
from tests.kafka.applying import throttles_of
from tests.scenarios.reading import Place, Record, Tail
from tests.scenarios.world import World, of_broker, of_dir
from tests.support.pasting import paste
from tests.support.waiting import DEADLINE_S

PATIENT_SCANS = 60
HOST_INTERVAL_MS = 1_000


class Watched(World):
    """Cluster, collector and stream; actions come as fast as alerts do.

    With ``has_hosts``, ``watch-host`` runs for every broker too.
    """

    def __init__(
        self, cluster: LocalCluster, logs: Path, *, has_hosts: bool = False, **sections: dict[str, Any]
    ) -> None:
        stream = yaml.safe_load(cluster.config_path.read_text())["stream"]
        # A story is over before the second compiler has paid for its time.
        options = {"driver_java_options": stream["driver_java_options"], "recommend_trigger": "2 seconds"}
        # The tables of a busy machine lag by minutes; the layout changes only where a story says so.
        super().__init__(cluster, logs, stream=options, plan={"inventory_max_age_scans": PATIENT_SCANS}, **sections)
        self._actions: dict[str, Record] = {}
        self._hosts = [self._host(node) for node in cluster.state().brokers] if has_hosts else []

    @contextmanager
    def running(self) -> Iterator["Watched"]:
        """Everything started, and every broker judged and stored once."""
        with super().running(), ExitStack() as stack:
            self._proposals = Tail(self.settings.telemetry, topics.ACTIONS)
            stack.callback(self._proposals.close)
            for host in self._hosts:
                stack.callback(host.stop)
                host.start()
            if self._hosts:
                self.wait(self._are_sizes_known, "the size of every directory")
            yield self

    def _host(self, node: Node) -> Service:
        """What runs on a broker's host, where its directories are mounted."""
        config = yaml.safe_load(self.config.read_text())
        config["host"] = {
            "cluster": CLUSTER,
            "broker": node.id,
            "name": f"host-{node.id}",
            "properties_file": str(node.properties_file),
            "server_log": str(node.log_file),
            "interval_ms": HOST_INTERVAL_MS,
            "state_dir": str(self.logs / "host"),
        }
        path = self.logs / f"host-{node.id}.yaml"
        path.write_text(yaml.safe_dump(config))
        inside = volumes_of(self.cluster.state()).inside([])
        return Service("watch-host", ["--config", str(path), "watch-host"], path.with_suffix(".log"), inside)

    def _are_sizes_known(self) -> bool:
        views = [view for state in self.states().values() for view in state["log_dirs"]]
        return bool(views) and all(view["total_bytes"] for view in views)

    def suspects(self, *places: tuple[int, str]) -> set[Place]:
        """The alerts of directories in which the host's probe fails, where one runs: it may be ahead of Kafka."""
        return {("log_dir_suspect", broker, path) for broker, path in places if self._hosts}

    # -- actions

    def proposed(self) -> list[Record]:
        """The latest revision of every action that was ever proposed."""
        for message in self._proposals.read():
            if message.value is not None:
                record = json.loads(message.value)
                known = self._actions.get(record["action_id"])
                if known is None or record["revision"] >= known["revision"]:
                    self._actions[record["action_id"]] = record
        return list(self._actions.values())

    def actions(self) -> list[Record]:
        """Those that are still open."""
        return [record for record in self.proposed() if record["status"] in OPEN]

    def wait_action(self, kind: ActionKind, **target: Any) -> Record:
        """Wait for an action with commands that nothing speaks against, whose target is as given."""

        def found() -> Record | None:
            for action in self.actions():
                is_meant = all(action["target"].get(name) == value for name, value in target.items())
                if action["kind"] == kind and is_meant and action["commands"] and not action["vetoes"]:
                    return action
            return None

        try:
            return self.wait(found, f"an action {kind} for {target}")
        except AssertionError as error:
            told = [f"{a['kind']} {a['target']} {a['status']} {a['vetoes']} {a['reason']}" for a in self.actions()]
            raise AssertionError("\n".join([str(error), "the open actions:", *told])) from None

    def paste(self, action: Record) -> str:
        """Paste the commands of an action into a shell in an empty folder; all of them must succeed."""
        folder = self.logs / f"pasted-{action['action_id'][:12]}-{action['revision']}"
        folder.mkdir()
        return paste(action["commands"], folder, 2 * DEADLINE_S)

    def apply(self, action: Record) -> str:
        """Accept an action and carry it out with ``apply``; return what that printed.

        One that changes in between is accepted again, as ``apply`` asks for.
        """
        while True:
            self._run("actions", "accept", action["action_id"], "--by", "operator", "--reason", "there is room")
            done = collecting.run(self.config, "apply", action["action_id"], "--yes", deadline_s=2 * DEADLINE_S)
            if "it has changed since operator accepted it" not in done.stderr:
                return self._of(done)

    def done_until_ended(self, alert: Record, kind: ActionKind, carry_out: Callable[[Record], str]) -> Record:
        """Carry out each ready action of a kind for an alert until it has ended; return its last revision.

        The first may be of a moment when less was to move: what is left becomes another one.
        """
        done: set[str] = set()

        def ready() -> Record | None:
            mine = (one for one in self.actions() if (one["kind"], one["alert_id"]) == (kind, alert["alert_id"]))
            return next((one for one in mine if not one["vetoes"] and one["content_hash"] not in done), None)

        def ended() -> Record | None:
            return next((one for one in self.life(alert["alert_id"]) if one["status"] == "resolved"), None)

        while (over := self.wait(lambda: ended() or ready(), f"the end of {alert['alert_id']} or {kind}")) != ended():
            done.add(over["content_hash"])
            carry_out(over)
        return over

    def _run(self, *arguments: str) -> str:
        return self._of(collecting.run(self.config, *arguments, deadline_s=2 * DEADLINE_S))

    def _of(self, done: subprocess.CompletedProcess[str]) -> str:
        assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}\n{self.told()}"
        return done.stdout

    def throttles(self) -> dict[int, list[str]]:
        """The keys of the throttles that are set on any broker."""
        with clients.admin(self.monitored) as admin:
            found = {b: throttles_of(admin, ConfigResourceType.BROKER, str(b)) for b in self.brokers}
        return {broker: list(own) for broker, own in found.items() if own}

    # -- what is done

    def restart(self, broker: int) -> None:
        """Stop a broker and start it as its configuration is now; return when all replicas are in sync again."""
        self.expects(of_broker(broker))
        self.cluster.stop(broker)
        self.cluster.start(broker)
        self.wait(lambda: not self.out_of_sync(), f"all replicas in sync after a restart of broker {broker}")

    def lose_and_restore(self, broker: int, index: int) -> None:
        """Lose a directory, which must be told of, and mend it, which must be too; nothing else comes up."""
        path = self.log_dir(broker, index)
        self.expects(of_dir(broker, path))
        mark = self.mark()
        self.cluster.break_log_dir(broker, index)

        def told() -> Record | None:
            mine = (record for record in self.since(mark) if record["rule"] == "log_dir_offline")
            return next((one for one in mine if one["log_dir"] == path and one["lane"] == "stateful"), None)

        alert = self.wait(told, f"the loss of {path} to be told of")
        self.restore(broker, index)
        ended = self.wait_alert(alert_id=alert["alert_id"], status="resolved")
        assert (ended["reason"], ended["to"]) == ("recovered", "online"), ended
        self.settle()
        self.nothing_else()

    def read_by(self, group: str, topic: str, partitions: int) -> None:
        """Let a consumer group commit that it read a topic's first record."""
        parts = [TopicPartition(topic, number) for number in range(partitions)]
        with clients.consumer(self.monitored, group_id=group) as reader:
            reader.assign(parts)
            reader.commit({part: OffsetAndMetadata(0, "", -1) for part in parts})
