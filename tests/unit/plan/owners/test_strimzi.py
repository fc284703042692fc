"""Actions of a cluster of Strimzi's: through its resources, as its published schemas have them."""

import json
from dataclasses import replace

import pytest

from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.vocabulary import ActionKind, ClusterOwner, Rule
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.brokers.grant_permission import for_strimzi, grant_collector
from logdirwatch.plan.actions.strimzi_resources import Volume, quantity, topic_configs, volume_of
from logdirwatch.plan.commands.operations import broker_list, elect_leaders, from_record, topic_config
from logdirwatch.plan.owners.owner import for_owner
from logdirwatch.plan.proposal import Owner, ProposedAction, Veto
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import LogDirRule, StrimziSettings, ToolSettings
from tests.support import strimzi
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    directory,
    facts,
    offline,
    policy,
    replica,
    slowly,
    space_alert,
    topic,
)

D0, D1 = (f"/var/lib/kafka/data-{volume}/kafka-log3" for volume in (0, 1))
ONLY = "/var/lib/kafka/data/kafka-log3"
TOOLS = ToolSettings(prefix=": ")
POOL = {
    "apiVersion": "kafka.strimzi.io/v1",
    "kind": "KafkaNodePool",
    "metadata": {"name": "broker", "labels": {"strimzi.io/cluster": "prod"}},
    "spec": {
        "replicas": 3,
        "roles": ["broker"],
        "storage": {
            "type": "jbod",
            "volumes": [{"id": number, "type": "persistent-claim", "size": "1Gi"} for number in (0, 1)],
        },
    },
}
TOPIC = {
    "apiVersion": "kafka.strimzi.io/v1",
    "kind": "KafkaTopic",
    "metadata": {"name": "orders", "labels": {"strimzi.io/cluster": "prod"}},
    "spec": {"partitions": 1, "replicas": 2, "config": {"retention.bytes": 1 << 40, "cleanup.policy": "delete"}},
}


def restart(target):
    return ProposedAction(ActionKind.RESTART_BROKER, target, "why", {}, commands=("do it",))


def owned(kind=ClusterOwner.STRIMZI, **limits):
    owner = Owner(kind, "prod", StrimziSettings(namespace="kafka"))
    return replace(policy(tools=TOOLS, **limits), owner=owner)


def recommended(an_alert, *parts, limits=None, **fields):
    return recommend(an_alert, facts(*parts, **fields), owned(**(limits or {})), NOW_MS)


def the(kind, actions):
    (found,) = (action for action in actions if action.kind is kind)
    return found


FILLING = (
    directory(3, D1, 850 * MIB, growth_bytes_per_s=1.0 * MIB),
    topic("orders", (3, 4), overridden=frozenset({"retention.bytes"}), configs={"retention.bytes": str(1 << 40)}),
    directory(4, "/d4", 900 * MIB),
    replica(3, D1, "orders", size=400 * MIB),
    replica(4, "/d4", "orders", size=400 * MIB),
)


def filling(**limits):
    return recommended(space_alert(number=3, log_dir=D1), *FILLING, growth=slowly(*FILLING), limits=limits)


class TestRetention:
    def cut(self):
        return the(ActionKind.LOWER_RETENTION, filling())

    def test_a_cut_is_a_patch_of_the_topics_resource(self, tmp_path):
        action = self.cut()
        (look, change), said = strimzi.calls(tmp_path, action.commands)
        assert said == ""
        assert look[:3] == ["--namespace", "kafka", "get"]
        assert 'jsonpath={.items[?(@.status.topicName=="orders")].metadata.name}' in look
        assert change[2:7] == ["patch", "kafkatopic", "orders", "--type", "merge"]
        wanted = {key: int(value["to"]) for key, value in action.configs["orders"].items()}
        after = strimzi.merged(TOPIC, strimzi.patch_of(change))
        assert after["spec"]["config"] == {**TOPIC["spec"]["config"], **wanted}
        assert strimzi.errors(after) == []

    def test_undoing_sets_the_value_of_before(self, tmp_path):
        action = self.cut()
        change = strimzi.calls(tmp_path, action.undo["commands"])[0][-1]
        ((key, old),) = action.undo["configs"]["orders"].items()
        assert strimzi.patch_of(change) == topic_configs({key: old})

    def test_a_topic_without_a_resource_is_not_patched_and_told_how_to_change(self, tmp_path):
        action = self.cut()
        asked, said = strimzi.calls(tmp_path, action.commands, topic="")
        assert "patch" not in asked[-1]
        assert "no KafkaTopic declares the topic" in said
        assert any(
            line.startswith("# Only where no KafkaTopic") and "kafka-configs" in line for line in action.commands
        )

    def test_it_has_no_operations_so_that_nothing_changes_the_topic_itself(self):
        action = self.cut()
        assert (action.operations, action.owner) == (None, ClusterOwner.STRIMZI)

    def test_a_value_that_is_taken_away_is_null(self):
        assert topic_configs({"retention.ms": None, "retention.bytes": "-1", "cleanup.policy": "delete"}) == {
            "spec": {"config": {"retention.ms": None, "retention.bytes": -1, "cleanup.policy": "delete"}}
        }


def of_kind(kind, *operations, **fields):
    made = {"commands": ("do it",), "operations": operations, "undo": {"commands": ["undo it"]}}
    return ProposedAction(kind, {"topic": "orders", "broker": 3, "log_dir": D1}, "why", {}, **made, **fields)


CUT = topic_config("orders", "retention.ms", "5", now="9", old="9")
OTHER = topic_config("clicks", "segment.ms", None, now="7", old="7")
CORDON = broker_list(3, "cordoned.log.dirs", [D1], old=[])
UNCORDON = broker_list(3, "cordoned.log.dirs", [], old=[D1])
ELECTION = elect_leaders({"partitions": [{"topic": "orders", "partition": 0}]}, "election.json")


class TestAnyKind:
    """What an operator reverts is known by the operations, so that a new kind is not forgotten."""

    @pytest.mark.parametrize("kind", [ActionKind.CLEAR_THROTTLES, ActionKind.INVESTIGATE, ActionKind.LOWER_RETENTION])
    @pytest.mark.parametrize(
        ("operations", "patched", "direct"),
        [((CUT,), ["orders"], 1), ((CUT, OTHER), ["orders", "clicks"], 2), ((ELECTION, CUT), ["orders"], 1)],
    )
    def test_a_topics_configuration_is_a_patch_of_its_resource(self, kind, operations, patched, direct):
        found = for_owner(of_kind(kind, *operations), owned())
        asked = [topic for topic in ("orders", "clicks") for one in found.commands if f'topicName=="{topic}"' in one]
        assert asked == patched
        assert sum(one.startswith("# Only where no KafkaTopic") for one in found.commands) == direct
        assert found.operations == ()
        assert any("election.json" in one for one in found.commands) is (ELECTION in operations)
        assert sum("patch" in one for one in found.undo["commands"]) == len(patched)

    @pytest.mark.parametrize(
        ("operations", "vetoes"),
        [((CORDON,), ["owner_reverts"]), ((UNCORDON,), []), ((ELECTION,), []), ((), []), ((CUT,), [])],
    )
    def test_what_is_added_to_a_brokers_own_list_is_vetoed(self, operations, vetoes):
        found = for_owner(of_kind(ActionKind.CLEAR_THROTTLES, *operations), owned())
        assert [veto.name for veto in found.vetoes] == vetoes

    def test_a_veto_that_names_what_to_do_instead_is_not_said_twice(self):
        known = Veto("owner_reverts", "set destination: false")
        found = for_owner(of_kind(ActionKind.CORDON_LOG_DIR, CORDON, vetoes=(known,)), owned())
        assert found.vetoes == (known,)

    @pytest.mark.parametrize("kind", [ActionKind.CLEAR_THROTTLES, ActionKind.ELECT_LEADERS])
    def test_other_operations_stay(self, kind):
        assert for_owner(of_kind(kind, ELECTION), owned()) == of_kind(kind, ELECTION)


class TestRoom:
    def test_a_larger_volume_is_a_larger_size_of_the_pool(self, tmp_path):
        action = the(ActionKind.EXPAND_DISK, filling())
        asked, said = strimzi.calls(tmp_path, action.commands)
        assert (said, asked[-1][2:5]) == ("", ["patch", "kafkanodepool", "broker"])
        after = strimzi.patched(POOL, strimzi.patch_of(asked[-1]))
        assert strimzi.errors(after) == []
        assert [volume["size"] for volume in after["spec"]["storage"]["volumes"]] == ["1Gi", "2Gi"]
        assert "every broker of its node pool gets the same" in action.reason
        assert "storage_class_expands" in {one["name"] for one in action.preconditions}

    def test_a_pool_whose_volumes_stand_in_another_order_is_not_changed(self, tmp_path):
        action = the(ActionKind.EXPAND_DISK, filling())
        change = strimzi.patch_of(strimzi.calls(tmp_path, action.commands)[0][-1])
        volumes = list(reversed(POOL["spec"]["storage"]["volumes"]))
        other = {**POOL, "spec": {**POOL["spec"], "storage": {"type": "jbod", "volumes": volumes}}}
        with pytest.raises(AssertionError):
            strimzi.patched(other, change)

    def test_the_only_volume_of_a_pool(self, tmp_path):
        parts = [directory(3, ONLY, 850 * MIB, growth_bytes_per_s=1.0 * MIB), directory(4)]
        action = the(ActionKind.EXPAND_DISK, recommended(space_alert(number=3, log_dir=ONLY), *parts))
        change = strimzi.patch_of(strimzi.calls(tmp_path, action.commands)[0][-1])
        storage = {"type": "persistent-claim", "size": "1Gi"}
        after = strimzi.patched({**POOL, "spec": {**POOL["spec"], "storage": storage}}, change)
        assert (after["spec"]["storage"]["size"], strimzi.errors(after)) == ("2Gi", [])

    def test_one_more_directory_is_one_more_volume_and_cruise_control_empties_it(self, tmp_path):
        rule = LogDirRule(max_bytes=1000 * MIB)
        parts = [directory(3, D1, 850 * MIB), directory(3, D0, 840 * MIB)]
        action = the(
            ActionKind.ADD_LOG_DIR,
            recommended(space_alert(number=3, log_dir=D1), *parts, limits={"log_dirs": (rule,)}),
        )
        after = strimzi.patched(POOL, strimzi.patch_of(strimzi.calls(tmp_path, action.commands)[0][-1]))
        assert strimzi.errors(after) == []
        assert [volume["id"] for volume in after["spec"]["storage"]["volumes"]] == [0, 1, 2]
        asked, said = strimzi.calls(tmp_path, action.undo["commands"])
        assert (said, [call[2] for call in asked]) == ("", ["create", "wait", "annotate"])
        made = json.loads((tmp_path / "empty-volume-2-of-3.json").read_text())
        assert strimzi.errors(made) == []
        assert made["spec"]["moveReplicasOffVolumes"] == [{"brokerId": 3, "volumeIds": [2]}]

    def test_a_path_that_is_none_of_strimzis_is_told_in_words(self):
        parts = [directory(3, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB), directory(4)]
        action = the(ActionKind.EXPAND_DISK, recommended(space_alert(number=3), *parts))
        assert action.commands == ["# Set the size of the volume in its KafkaNodePool."]

    def test_a_cordon_that_would_be_deleted_is_not_recommended(self):
        found = recommended(
            space_alert(number=3, log_dir=D1),
            replace(FILLING[0], is_cordoned=False),
            directory(3, D0, 100 * MIB),
            topic("t", (3,)),
            replica(3, D1, "t", size=200 * MIB),
            metadata_version="4.3-IV0",
        )
        cordon = the(ActionKind.CORDON_LOG_DIR, found)
        assert "owner_reverts" in {veto["name"] for veto in cordon.vetoes}
        assert cordon.commands == []


class TestBrokers:
    LOST = (topic("t", (3, 4)), replica(4, "/d4", "t"), directory(4, "/d4", 10 * MIB), directory(5, "/d5", 10 * MIB))

    def test_a_restart_is_an_annotation_of_the_pod(self, tmp_path):
        parts = [offline(3, D1, None), directory(3, D0), *self.LOST]
        actions = recommended(alert(number=3, log_dir=D1, cause=None), *parts)
        action = the(ActionKind.RESTART_BROKER, actions)
        asked, said = strimzi.calls(tmp_path, action.commands)
        assert said == ""
        assert asked[-1][2:] == ["annotate", "pod/prod-broker-3", "strimzi.io/manual-rolling-update=true"]
        assert not any("Stop broker" in command or "Start broker" in command for command in action.commands)

    def test_a_new_disk_is_a_new_claim_and_the_good_ones_stay(self, tmp_path):
        parts = [offline(3, D1), directory(3, D0), *self.LOST]
        action = the(ActionKind.REPLACE_DISK, recommended(alert(number=3, log_dir=D1), *parts))
        asked, said = strimzi.calls(tmp_path, action.commands)
        assert said == ""
        assert [call[2:] for call in asked[-2:]] == [
            ["delete", "pvc", "data-1-prod-broker-3", "--wait=false"],
            ["delete", "pod/prod-broker-3"],
        ]
        assert not any("kafka-storage" in command for command in action.commands)

    def test_the_only_disk_of_a_broker_goes_with_its_pod(self, tmp_path):
        parts = [offline(3, ONLY), *self.LOST]
        action = the(ActionKind.REPLACE_DISK, recommended(alert(number=3, log_dir=ONLY), *parts))
        asked, _ = strimzi.calls(tmp_path, action.commands)
        assert asked[-1][2:] == ["annotate", "pod/prod-broker-3", "strimzi.io/delete-pod-and-pvc=true"]

    def test_no_directory_is_left_out_of_one_broker(self):
        target = {"broker": 3, "log_dir": D1, "step": "leave_log_dirs"}
        found = ACTION_TYPES[ActionKind.RESTART_BROKER].for_strimzi(restart(target), owned())
        assert [veto.name for veto in found.vetoes] == ["owner_reverts"]

    def test_what_is_done_on_the_host_while_the_broker_is_stopped_stays(self):
        repair = restart({"broker": 3, "log_dir": D1, "step": "repair_file_system"})
        assert ACTION_TYPES[ActionKind.RESTART_BROKER].for_strimzi(repair, owned()) == repair


class TestMoves:
    def test_a_reassignment_is_kafkas_own_call_and_says_what_its_throttles_need(self):
        parts = [offline(3, D1), replica(3, D1, "t"), directory(6, used=20 * MIB), *TestBrokers.LOST]
        action = the(ActionKind.REASSIGN, recommended(alert(number=3, log_dir=D1), *parts))
        operations = from_record(action.operations)
        assert all(isinstance(one, Operation) for one in operations)
        assert any(one.args.limits is not None and one.args.limits.topics for one in operations)
        assert "throttles_last" in {one["name"] for one in action.preconditions}

    def test_a_move_within_a_broker_has_no_lists_of_throttled_replicas(self):
        parts = [FILLING[0], directory(3, D0, 100 * MIB), topic("t", (3,)), replica(3, D1, "t", size=200 * MIB)]
        action = the(ActionKind.MOVE_LOG_DIR, recommended(space_alert(number=3, log_dir=D1), *parts))
        assert action.operations
        assert "throttles_last" not in {one["name"] for one in action.preconditions}


class TestPermissions:
    def test_the_collectors_are_those_of_its_user(self):
        found = for_strimzi(grant_collector(alert(Rule.BROKER_UNKNOWN, number=3, log_dir=None), owned()), owned())
        assert found.commands[0].startswith("# Give the KafkaUser of the collector the acls")
        assert any("kafka-acls" in command for command in found.commands)

    def test_those_of_a_directory_on_disk_stay(self):
        on_disk = replace(restart({"broker": 3, "log_dir": D1}), kind=ActionKind.GRANT_PERMISSION)
        assert for_strimzi(on_disk, owned()) == on_disk


@pytest.mark.parametrize(
    ("path", "volume"),
    [(D1, Volume(1)), (ONLY, Volume(None)), ("/data/d1", None), (f"{D1}/x", None), (None, None)],
)
def test_a_path_tells_its_volume(path, volume):
    assert volume_of(path) == volume


def test_claims_are_named_as_strimzi_names_them():
    assert Volume(1).claim("prod-broker-3") == "data-1-prod-broker-3"
    assert Volume(None).claim("prod-broker-3") == "data-prod-broker-3"


def test_a_volume_is_larger_than_its_file_system():
    assert [quantity(size << 30) for size in (1, 100)] == ["2Gi", "105Gi"]


def test_without_a_namespace_the_commands_ask_for_it(tmp_path):
    unknown = replace(policy(tools=TOOLS), owner=Owner(ClusterOwner.STRIMZI, "prod"))
    found = recommend(space_alert(number=3, log_dir=D1), facts(*FILLING, growth=slowly(*FILLING)), unknown, NOW_MS)
    asked, said = strimzi.calls(tmp_path, the(ActionKind.LOWER_RETENTION, found).commands)
    assert "set it to the namespace of the Kafka resource" in said
    assert asked == []
