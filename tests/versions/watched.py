"""A cluster of any release under watch: what is recommended, and its commands pasted into that release's tools."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from kafka import OffsetAndMetadata, TopicPartition

from logdirwatch.kafka import clients
from logdirwatch.local.cluster import LocalCluster
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import OPEN, ActionKind
from tests.scenarios.reading import Record, Tail
from tests.scenarios.world import World
from tests.support.waiting import DEADLINE_S

PATIENT_SCANS = 60


class Watched(World):
    """Cluster, collector and stream; actions come as fast as alerts do."""

    def __init__(self, cluster: LocalCluster, logs: Path) -> None:
        stream = yaml.safe_load(cluster.config_path.read_text())["stream"]
        # A story is over before the second compiler has paid for its time.
        options = {"driver_java_options": stream["driver_java_options"], "recommend_trigger": "2 seconds"}
        # The tables of a busy machine lag by minutes; the layout changes only where a story says so.
        super().__init__(cluster, logs, stream=options, plan={"inventory_max_age_scans": PATIENT_SCANS})
        self._actions: dict[str, Record] = {}

    @contextmanager
    def running(self) -> Iterator["Watched"]:
        """Everything started, and every broker judged and stored once."""
        with super().running(), ExitStack() as stack:
            self._proposals = Tail(self.settings.telemetry, topics.ACTIONS)
            stack.callback(self._proposals.close)
            yield self

    # -- actions

    def actions(self) -> list[Record]:
        """The latest revision of every action that is still open."""
        for message in self._proposals.read():
            if message.value is not None:
                record = json.loads(message.value)
                known = self._actions.get(record["action_id"])
                if known is None or record["revision"] >= known["revision"]:
                    self._actions[record["action_id"]] = record
        return [record for record in self._actions.values() if record["status"] in OPEN]

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
        script = "\n".join(["set -e", *action["commands"]])
        done = subprocess.run(
            ["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=2 * DEADLINE_S, check=False
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    # -- what is done

    def read_by(self, group: str, topic: str, partitions: int) -> None:
        """Let a consumer group commit that it read a topic's first record."""
        parts = [TopicPartition(topic, number) for number in range(partitions)]
        with clients.consumer(self.monitored, group_id=group) as reader:
            reader.assign(parts)
            reader.commit({part: OffsetAndMetadata(0, "", -1) for part in parts})
