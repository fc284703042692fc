"""The quota that slows producers down: when it is advised, and what it wins."""

import os
import subprocess

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.commands.kafka_tools import end_client_quota
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.answers import holds, kinds, recommended, the
from tests.unit.plan.builders import MIB, directory, policy, replica, topic

SATURATED = directory(1, "/d1", 960 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.SATURATED)


def _runs(folder, command, told):
    """Tell whether a command deletes a quota, where Kafka's tool describes it like this."""
    tool = folder / "kafka-configs.sh"
    tool.write_text(f'#!/bin/sh\ncase "$*" in *--delete-config*) touch {folder}/deleted;; *) echo "{told}";; esac\n')
    tool.chmod(0o755)
    (folder / "deleted").unlink(missing_ok=True)
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "CLIENT_ID": "x"}
    subprocess.run(["sh", "-c", command], env=path, check=False, capture_output=True)
    return (folder / "deleted").exists()


class TestBrake:
    PARTS = (SATURATED, topic("t", (1,)), topic("u", (1,)), replica(1, "/d1", "t"), replica(1, "/d1", "u"))

    def test_when_nothing_is_in_time_producers_are_slowed(self):
        action = the(ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS))
        assert "which topics grow there is not known yet" in action.reason
        # 40 MiB free, a cut takes 6 min, a person 10: half as much again is to be won.
        assert action.expected["producer_byte_rate"] == 40 * MIB * 1000 // 1_440_000
        assert action.expected["wins_ms"] == pytest.approx(1_440_000 - 40_000, abs=20)
        assert holds(action, "client_known") is None
        assert action.requires_approval

    def test_the_topics_that_grow_fastest_are_named_when_they_are_known(self):
        growth = {((1, "/d1"), ("t", 0)): 0.25 * MIB, ((1, "/d1"), ("u", 0)): 0.75 * MIB}
        owner = TopicRule(topic="u", owner="ann")
        action = the(
            ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS, growth=growth, limits={"topics": (owner,)})
        )
        assert [one["topic"] for one in action.expected["growing"]] == ["u", "t"]
        assert any("ann, the owner of u," in p["text"] for p in action.preconditions)
        # The other topic alone fills 40 MiB in 160 s, whatever the quota of the first is.
        assert action.expected["producer_byte_rate"] == 1
        assert action.expected["time_to_full_after_ms"] == pytest.approx(160_000, abs=10)

    @pytest.mark.parametrize(("growth_mib_per_s", "is_first"), [(0.05, True), (0.02, False)])
    def test_in_the_last_hour_whoever_writes_is_slowed_before_the_history_of_others_is_cut(
        self, growth_mib_per_s, is_first
    ):
        source = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=growth_mib_per_s * MIB, status=LogDirStatus.CRITICAL)
        held = [replica(1, "/d1", "t", size=600 * MIB), replica(1, "/d1", "v", size=200 * MIB)]
        growth = {((1, "/d1"), (name, 0)): growth_mib_per_s * share * MIB for name, share in (("t", 0.9), ("v", 0.1))}
        found = recommended(source, topic("t", (1,)), topic("v", (1,)), *held, growth=growth)
        assert "lower_retention" in kinds(found)
        assert (kinds(found)[0] == "throttle_producers") is is_first
        assert ("throttle_producers" in kinds(found)) is is_first

    def test_a_quota_holds_on_each_broker_that_leads_the_topic(self):
        parts = [topic("t", (1, 2), (2, 1), (3, 1)), *(replica(1, "/d1", "t", number) for number in range(3))]
        action = the(ActionKind.THROTTLE_PRODUCERS, recommended(SATURATED, *parts))
        assert action.expected["producer_byte_rate"] == 40 * MIB * 1000 // 1_440_000 // 3
        assert "on each of the 3 brokers that lead it" in action.reason

    def test_without_a_client_id_the_quota_runs_nothing(self):
        (_, quota) = the(ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS)).commands
        done = subprocess.run(
            ["sh", "-c", quota], capture_output=True, env={"PATH": os.environ["PATH"]}, check=False, text=True
        )
        assert done.returncode != 0
        assert "set it to the client.id of the producer" in done.stderr

    @pytest.mark.parametrize(
        ("told", "is_ended"),
        [("producer_byte_rate={}.0", True), ("producer_byte_rate={}1.0", False), ("consumer_byte_rate={}.0", False)],
    )
    def test_only_the_quota_that_it_set_is_taken_away(self, tmp_path, told, is_ended):
        action = the(ActionKind.THROTTLE_PRODUCERS, recommended(*self.PARTS))
        told = f"Quota configs for client-id 'x' are {told.format(action.expected['producer_byte_rate'])}"
        assert _runs(tmp_path, action.undo["commands"][0], told) is is_ended

    def test_a_quota_is_read_as_java_prints_a_large_number(self, tmp_path):
        told = "Quota configs for client-id 'x' are consumer_byte_rate=1.0, producer_byte_rate=2.24451666E8"
        assert _runs(tmp_path, end_client_quota(policy().tools, 224451666), told)
        assert not _runs(tmp_path, end_client_quota(policy().tools, 224451667), told)

    def test_as_long_as_something_is_in_time_nobody_is_slowed(self):
        room = [directory(1, "/d2", 50 * MIB), topic("v", (1,)), replica(1, "/d1", "v", size=300 * MIB)]
        quick = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=0.05 * MIB, status=LogDirStatus.CRITICAL)
        assert "throttle_producers" not in kinds(recommended(*self.PARTS, quick, *room))

    def test_a_directory_that_is_only_filling_slows_nobody(self):
        calm = directory(1, "/d1", 960 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.FILLING)
        assert "throttle_producers" not in kinds(recommended(*self.PARTS, calm))

    def test_without_known_growth_nothing_is_reckoned(self):
        still = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
        assert "throttle_producers" not in kinds(recommended(*self.PARTS, still))
