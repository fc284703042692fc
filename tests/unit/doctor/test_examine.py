"""Planted faults, each found, and its message names the remedy."""

from dataclasses import replace

import pytest
from kafka.errors import IncompatibleBrokerVersion

from logdirwatch.autopilot.settings import AutopilotClusterSettings
from logdirwatch.collect.kafka.answers import Configs, LogDirAnswer, LogDirsAnswer, Node, Topic
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.kafka.responses import failure
from logdirwatch.doctor import examine as module
from logdirwatch.doctor import here, look
from logdirwatch.doctor.autopilot import judge_owner
from logdirwatch.doctor.examine import Examination
from logdirwatch.doctor.findings import CHECKS, Report, document, lines, principal, unreachable
from logdirwatch.doctor.here import Folder, folder, judge_folder
from logdirwatch.doctor.look import Monitored
from logdirwatch.doctor.monitored import Clock, ClusterFacts
from logdirwatch.doctor.telemetry import TelemetryFacts
from logdirwatch.errors import UserError
from logdirwatch.kafka.telemetry_topics import Existing, wanted
from logdirwatch.model.records import PartitionInfo, Placement
from logdirwatch.model.vocabulary import ClusterOwner, MetadataMode, PollStatus
from logdirwatch.settings import Settings
from tests.unit.report.builders import NOW_MS

ALLOWED = ["DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"]
SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "watcher",
    "sasl.password": "secret",
}


def topic(name, *brokers):
    partition = PartitionInfo(partition=0, leader=brokers[0], replicas=list(brokers), isr=list(brokers))
    return Topic(name, False, (partition,))


def log_dirs(*paths, topics=("orders",)):
    placed = tuple(Placement(topic=name, partition=0, size_bytes=1) for name in topics)
    answers = (LogDirAnswer(path, 0, 1 << 40, 1 << 39, False, placed) for path in paths)
    return LogDirsAnswer(PollStatus.OK, None, tuple(answers))


def healthy():
    """Two brokers with two directories each."""
    return LiveCluster(
        at_ms=NOW_MS,
        nodes={number: Node(number, f"kafka-{number}", 9092, None, False) for number in (1, 2)},
        lists_fenced=True,
        log_dirs={number: log_dirs("/d1", "/d2") for number in (1, 2)},
        broker_configs={1: {}, 2: {}},
        topics=(topic("orders", 1, 2),),
        topic_configs=Configs(values={"orders": {}}),
        reassignments={},
        quorum=None,
    )


class World:
    """What the clusters would answer, and this machine; healthy until a test plants a fault."""

    def __init__(self, tmp_path):
        self.home = str(tmp_path)
        self.values = {
            "home": self.home,
            "checkpoints": {"path": str(tmp_path / "checkpoints")},
            "telemetry": {"bootstrap_servers": "telemetry:9092"},
            "topics": {"replication_factor": 3},
            "clusters": {"prod": {"bootstrap_servers": "kafka-1:9092", "client": dict(SASL)}},
        }
        self.java_error = None
        self.telemetry_error = self.cluster_error = None
        topics = wanted(Settings(**self.values).topics)
        configs = {found.name: {**found.configs, "min.insync.replicas": "2"} for found in topics}
        self.telemetry = TelemetryFacts(
            brokers=3,
            existing={found.name: Existing(found.partitions, 3, configs[found.name]) for found in topics},
            operations={found.name: ALLOWED for found in topics},
        )
        self.telemetry_id, self.cluster_id = "T", "P"
        self.live = healthy()
        self.kafka_versions = {1: "4.3", 2: "4.3"}
        self.metadata_version = "4.3-IV0"
        self.metadata_mode = None
        self.not_reported = frozenset()
        self.ahead_ms = 0
        self.may = frozenset({"ALTER", "ALTER_CONFIGS"})

    def plant(self, name, **configs):
        existing = self.telemetry.existing[name]
        changed = replace(existing, configs={**existing.configs, **configs})
        self.telemetry = replace(self.telemetry, existing={**self.telemetry.existing, name: changed})

    def examined(self, monkeypatch, remarks=()):
        def told(error, answer):
            if error is not None:
                raise UserError(error)
            return answer

        def clock(where):
            return Clock(where, NOW_MS, NOW_MS + 5, NOW_MS + self.ahead_ms)

        modes = self.metadata_version, self.metadata_mode, self.not_reported
        facts = ClusterFacts("prod", self.live, self.kafka_versions, *modes)
        stands_in = {
            (module, "find_java"): lambda: told(self.java_error, None),
            (module, "cluster_id"): lambda cluster: self.cluster_id,
            (look, "telemetry_facts"): lambda _: told(self.telemetry_error, (self.telemetry_id, self.telemetry)),
            (look, "telemetry_clock"): lambda settings, now: clock("telemetry"),
            (look, "cluster_operations"): lambda *_: self.may,
            (look, "monitored"): lambda *_: told(self.cluster_error, Monitored(facts, clock("cluster prod"))),
        }
        for (place, name), fake in stands_in.items():
            monkeypatch.setattr(place, name, fake)
        return Examination(Settings(**self.values), remarks, lambda: NOW_MS).run()


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def found(world, monkeypatch):
    """Return what is found after a fault was planted: exactly one thing."""

    def found():
        (finding,) = world.examined(monkeypatch).findings
        assert finding.check in CHECKS
        return finding

    return found


def test_a_healthy_world_has_nothing_to_fix(world, monkeypatch):
    report = world.examined(monkeypatch)
    assert report.findings == ()
    assert report.passed == list(CHECKS)
    assert list(lines(report)) == [f"{len(CHECKS)} of {len(CHECKS)} checks passed, nothing to fix"]


def test_java_that_is_missing(world, found):
    world.java_error = "no Java found (java is not on PATH); install Java 17"
    assert found().check == "java"
    assert "openjdk-17" in found().remedy


def test_too_few_task_slots(world, found):
    world.values["stream"] = {"master": "local[4]"}
    finding = found()
    assert (finding.check, finding.where) == ("task_slots", "stream.master local[4]")
    assert "4 task slots are too few" in finding.what
    assert "local[8,4]" in finding.remedy


def test_the_partitions_that_events_has_count_for_the_slots(world, monkeypatch):
    name = "logdir.events"
    existing = {**world.telemetry.existing, name: replace(world.telemetry.existing[name], partitions=12)}
    world.telemetry = replace(world.telemetry, existing=existing)
    checks = {finding.check: finding for finding in world.examined(monkeypatch).findings}
    assert set(checks) == {"topics", "task_slots"}
    assert "local[14,4]" in checks["task_slots"].remedy


def test_a_folder_that_cannot_be_written(world, found, tmp_path):
    tmp_path.joinpath("file").write_text("")
    world.values["checkpoints"] = {"path": str(tmp_path / "file" / "below")}
    finding = found()
    assert finding.check == "folders"
    assert "cannot be written: Not a directory" in finding.what
    assert "checkpoints.path" in finding.remedy


def test_a_folder_below_one_that_is_closed_to_this_user(monkeypatch, tmp_path):
    def exists(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(here.Path, "exists", exists)
    looked = folder("tables", f"{tmp_path}/closed/tables", "tables.path")
    (finding,) = judge_folder(looked)
    assert finding.what == "cannot be written: Permission denied"


def test_a_disk_without_room():
    (finding,) = judge_folder(Folder("tables", "/t", "tables.path", None, 10 << 20, 1 << 40))
    assert finding.what == "only 10 MiB of 1 TiB are free"
    assert "tables.path" in finding.remedy


def test_a_folder_that_is_not_there_yet_is_judged_by_where_it_will_be(tmp_path):
    looked = folder("tables", f"file://{tmp_path}/a/b", "tables.path")
    assert (looked.error, looked.path) == (None, f"{tmp_path}/a/b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["s3a://bucket/tables", "abfss://c@a/t", "dbfs:/t"])
def test_an_object_store_is_not_looked_at(world, monkeypatch, path):
    assert not here.is_local(path)
    world.values["tables"] = {"path": path}
    assert "object store" in world.examined(monkeypatch).not_checked["folders"]


def test_a_telemetry_cluster_that_does_not_answer(world, monkeypatch):
    world.telemetry_error = "Kafka at telemetry:9092 cannot be reached: KafkaTimeoutError"
    report = world.examined(monkeypatch)
    (finding,) = report.findings
    assert (finding.check, finding.where) == ("connectivity", "telemetry")
    assert "telemetry.bootstrap_servers" in finding.remedy
    assert {"topics", "replication"} <= set(report.not_checked)
    assert "topics" not in report.passed


def test_a_monitored_cluster_that_does_not_answer(world, found):
    world.cluster_error = "Kafka at kafka-1:9092 cannot be reached: SaslAuthenticationFailedError"
    assert (found().check, found().where) == ("connectivity", "cluster prod")
    assert "clusters.prod.client" in found().remedy


def test_a_broker_whose_advertised_address_cannot_be_reached(world, found):
    answers = {**world.live.log_dirs, 2: LogDirsAnswer(PollStatus.TIMEOUT, "no answer within 4000 ms")}
    world.live = replace(world.live, log_dirs=answers)
    assert found().where == "cluster prod, broker 2"
    assert "kafka-2:9092" in found().what
    assert "advertised.listeners" in found().remedy


@pytest.mark.parametrize(
    ("hiding", "where"), [((1, 2), "cluster prod, brokers 1, 2"), ((2,), "cluster prod, broker 2")]
)
def test_a_service_that_hides_its_disks_is_one_finding_and_not_called_unreachable(world, monkeypatch, hiding, where):
    hidden = failure(IncompatibleBrokerVersion("DescribeLogDirs"))
    world.live = replace(world.live, log_dirs={**world.live.log_dirs, **dict.fromkeys(hiding, hidden)})
    world.not_reported = frozenset({"log_dirs", "capacity", "cordons"})
    report = world.examined(monkeypatch)
    (finding,) = report.findings
    assert (finding.check, finding.where) == ("kafka_release", where)
    assert "does not report log directories" in finding.what
    assert report.notices == ()
    assert not any(word in " ".join(lines(report)) for word in ("firewall", "does not answer", "ZooKeeper"))


def test_one_that_does_not_answer_beside_those_that_hide_their_disks_is_still_told(world, monkeypatch):
    answers = {
        1: failure(IncompatibleBrokerVersion("DescribeLogDirs")),
        2: LogDirsAnswer(PollStatus.TIMEOUT, "no answer within 4000 ms"),
    }
    world.live = replace(world.live, log_dirs=answers)
    checks = [finding.check for finding in world.examined(monkeypatch).findings]
    assert checks == ["connectivity", "kafka_release"]


def test_clocks_that_are_apart(world, monkeypatch):
    world.ahead_ms = 90_000
    findings = world.examined(monkeypatch).findings
    assert [finding.where for finding in findings] == ["telemetry", "cluster prod"]
    assert "1 min 30 s ahead of" in findings[0].what
    assert "chrony" in findings[0].remedy


def test_telemetry_on_the_cluster_that_is_watched(world, found):
    world.cluster_id = world.telemetry_id
    assert found().check == "telemetry_is_monitored"
    assert "telemetry.bootstrap_servers" in found().remedy


def test_what_decides_where_topics_are_made_comes_before_the_advice_to_make_them(world, monkeypatch):
    world.cluster_id = world.telemetry_id
    world.telemetry = replace(world.telemetry, existing={})
    said = list(lines(world.examined(monkeypatch)))
    assert said[0].startswith("telemetry_is_monitored: cluster prod")
    assert next(n for n, line in enumerate(said) if "create what is missing" in line) > 1


def test_what_all_topics_have_in_common_is_one_thing_to_fix(world, found):
    existing = {name: replace(topic, replication_factor=1) for name, topic in world.telemetry.existing.items()}
    without = {name: {**topic.configs, "min.insync.replicas": "1"} for name, topic in existing.items()}
    existing = {name: replace(topic, configs=without[name]) for name, topic in existing.items()}
    world.telemetry = replace(world.telemetry, brokers=1, existing=existing)
    finding = found()
    assert finding.where == ", ".join(world.telemetry.existing)
    assert finding.what == "replication factor 1, wanted 3; the telemetry cluster has 1 broker"
    assert finding.remedy == "set topics.replication_factor to 1, or add brokers"


def test_topics_that_cannot_be_written_for_one_reason_are_mended_by_one_command(world, found):
    for name in world.telemetry.existing:
        world.plant(name, **{"min.insync.replicas": "4"})
    finding = found()
    assert finding.where == ", ".join(world.telemetry.existing)
    assert finding.remedy.startswith(f"for topic in {' '.join(world.telemetry.existing)}; do kafka-configs.sh ")
    assert finding.remedy.endswith('--entity-name "$topic" --add-config min.insync.replicas=2; done')


class TestTheLastLine:
    """Passed, failed and not checked are all checks together."""

    def last(self, world, monkeypatch):
        return list(lines(world.examined(monkeypatch)))[-1]

    def test_what_was_not_checked_is_counted_and_named(self, world, monkeypatch):
        world.telemetry_error = "Kafka at telemetry:9092 cannot be reached: KafkaTimeoutError"
        world.java_error = "no Java found"
        assert self.last(world, monkeypatch) == (
            "7 of 13 checks passed, 2 failed (connectivity, java: 2 things to fix), 4 not checked, at least in part "
            "(telemetry_is_monitored, topics, replication, permissions: see above)"
        )

    def test_one_finding(self, world, monkeypatch):
        world.java_error = "no Java found"
        assert self.last(world, monkeypatch) == "12 of 13 checks passed, 1 failed (java: 1 thing to fix)"

    def test_nothing_found_but_something_left_out(self, world, monkeypatch):
        world.values["tables"] = {"path": "s3a://bucket/tables"}
        assert self.last(world, monkeypatch) == (
            "12 of 13 checks passed, 1 not checked, at least in part (folders: see above), nothing to fix"
        )


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("unknown host: DNS does not know the name", "add it to DNS or /etc/hosts"),
        ("unknown host: x cannot be looked up: [Errno -2] Name or service not known (DNS)", "DNS"),
        ("connection refused: the broker process is probably down", "nothing listens on that port"),
        (
            "[Error 34] IllegalSaslStateError; that port does not accept SASL: is it a PLAINTEXT or SSL listener?",
            "prod.client security.protocol PLAINTEXT",
        ),
        ("[Error 33] UnsupportedSaslMechanismError: Enabled mechanisms: ['PLAIN']", "sasl.mechanism must be one"),
        ("SaslAuthenticationFailedError", "the name and the password"),
        ("KafkaConnectionError: certificate verify failed", "ssl.truststore.location (PEM)"),
        ("KafkaTimeoutError: no answer", "start it, correct prod.bootstrap_servers"),
    ],
)
def test_why_a_cluster_does_not_answer_decides_what_to_do(error, remedy):
    said = unreachable("cluster prod", "prod", f"Kafka at x:1 cannot be reached: {error}").remedy
    assert remedy in said
    assert ("password" in said) == (remedy in ("the name and the password", "start it, correct prod.bootstrap_servers"))


def test_no_command_leaves_something_out(world, monkeypatch):
    """Of every finding that can be planted at once."""
    existing = {
        name: replace(topic, replication_factor=2, partitions=topic.partitions + 1, configs={})
        for name, topic in world.telemetry.existing.items()
    }
    world.telemetry = replace(world.telemetry, existing=existing, operations={key: ["READ"] for key in existing})
    world.metadata_version, world.cluster_id, world.java_error = "3.7-IV1", world.telemetry_id, "no Java"
    world.kafka_versions, world.ahead_ms = {1: "4.2"}, 90_000
    refused = LogDirsAnswer(PollStatus.UNAUTHORIZED, "ClusterAuthorizationFailedError")
    world.live = replace(world.live, log_dirs={1: log_dirs("/d1", "/d2"), 2: refused}, broker_configs={})
    findings = world.examined(monkeypatch).findings
    assert len({finding.check for finding in findings}) > 6
    assert [finding for finding in findings if "..." in finding.remedy] == []


def test_a_topic_that_is_missing(world, found):
    existing = {name: topic for name, topic in world.telemetry.existing.items() if name != "logdir.alerts"}
    world.telemetry = replace(world.telemetry, existing=existing)
    assert (found().check, found().where) == ("topics", "logdir.alerts")
    assert "logdirwatch topics create" in found().remedy


@pytest.mark.parametrize(
    ("name", "configs"),
    [("logdir.alerts", {"cleanup.policy": "delete"}), ("logdir.metrics", {"retention.ms": "3600000"})],
)
def test_a_topic_with_other_retention_or_compaction(world, found, name, configs):
    world.plant(name, **configs)
    assert (found().check, found().where) == ("topics", name)
    assert f"kafka-configs.sh --bootstrap-server telemetry:9092 --alter --entity-type topics --entity-name {name}" in (
        found().remedy
    )


@pytest.mark.parametrize(("min_isr", "what"), [("4", "no writes are possible"), ("3", "while one broker is down")])
def test_a_minimum_of_replicas_that_blocks_writes(world, found, min_isr, what):
    world.plant("logdir.events", **{"min.insync.replicas": min_isr})
    assert found().check == "replication"
    assert what in found().what
    assert found().remedy.endswith("--add-config min.insync.replicas=2")


def test_one_replica_on_several_brokers(world, monkeypatch):
    world.values["topics"] = {"replication_factor": 1}
    existing = {name: replace(found, replication_factor=1) for name, found in world.telemetry.existing.items()}
    world.telemetry = replace(world.telemetry, existing=existing)
    findings = world.examined(monkeypatch).findings
    assert {finding.check for finding in findings} == {"replication"}
    assert "topics.replication_factor to 3" in findings[0].remedy


@pytest.mark.parametrize(
    ("change", "words", "operations"),
    [
        (
            {"operations": {"logdir.metrics": ["DESCRIBE", "READ"]}},
            "lacks the ACL Write on topic logdir.metrics",
            "Write",
        ),
        (
            {"operations": {"logdir.metrics": ALLOWED}, "no_configs": ["logdir.metrics"]},
            "lacks the ACL DescribeConfigs on topic",
            "DescribeConfigs",
        ),
        (
            {"operations": {}, "hidden": ["logdir.metrics"]},
            "lacks the ACL Describe, Read, Write",
            "Describe --operation Read",
        ),
    ],
)
def test_a_telemetry_topic_that_may_not_be_used(world, found, change, words, operations):
    kept = {name: topic for name, topic in world.telemetry.existing.items() if name != "logdir.metrics"}
    is_described = "no_configs" not in change and "hidden" not in change
    world.telemetry = replace(world.telemetry, **change, existing=world.telemetry.existing if is_described else kept)
    finding = found()
    assert finding.check == "permissions"
    assert words in finding.what
    assert f"--operation {operations}" in finding.remedy
    assert "--topic logdir.metrics --allow-principal User:ANONYMOUS" in finding.remedy


class TestAutopilot:
    @pytest.fixture(autouse=True)
    def allowed(self, world):
        world.values["autopilot"] = {"clusters": {"prod": {"kinds": {"move_log_dir": {}}}}}

    def test_a_user_that_may_do_what_is_allowed(self, world, monkeypatch):
        assert world.examined(monkeypatch).findings == ()

    def test_a_user_that_may_not(self, world, found):
        world.may = frozenset({"DESCRIBE"})
        finding = found()
        assert finding.check == "permissions"
        assert finding.what.startswith("User:watcher lacks the ACL Alter, AlterConfigs on the cluster")
        assert "--operation Alter --operation AlterConfigs --cluster" in finding.remedy

    def test_a_cordon_needs_less(self, world, monkeypatch):
        world.values["autopilot"] = {"clusters": {"prod": {"kinds": {"cordon_log_dir": {}}}}}
        world.may = frozenset({"ALTER_CONFIGS"})
        assert world.examined(monkeypatch).findings == ()

    def test_what_is_not_told_is_not_checked(self, world, monkeypatch):
        world.may = None
        report = world.examined(monkeypatch)
        assert report.not_checked == {"permissions": "cluster prod does not tell what the autopilot's user may do"}

    def test_unattended_cuts_that_can_never_start(self, world, found):
        kinds = {"lower_retention": {"unattended": True}}
        world.values["autopilot"] = {"clusters": {"prod": {"kinds": kinds}}}
        assert "no topic has a floor" in found().what
        world.values["plan"] = {"topics": [{"topic": "t", "min_retention_ms": 1}]}
        with pytest.raises(ValueError, match="not enough values"):
            found()


def test_a_user_that_may_not_describe_the_cluster(world, found):
    refused = LogDirsAnswer(PollStatus.UNAUTHORIZED, "ClusterAuthorizationFailedError")
    world.live = replace(world.live, log_dirs={1: refused, 2: refused})
    assert found().what == (
        "User:watcher lacks the ACL Describe on the cluster: brokers 1, 2 do not return their log directories"
    )
    assert found().remedy == (
        "kafka-acls.sh --bootstrap-server kafka-1:9092 --add --operation Describe --cluster "
        "--allow-principal User:watcher"
    )


def test_a_user_that_may_not_describe_configs(world, found):
    world.live = replace(world.live, broker_configs={})
    assert "lacks the ACL DescribeConfigs on the cluster" in found().what
    assert "--operation DescribeConfigs --cluster" in found().remedy


def test_a_user_that_may_not_describe_groups(world, found):
    world.live = replace(world.live, unknown={"consumer groups": "GroupAuthorizationFailedError: offsets of group g"})
    assert "lacks the ACL Describe on consumer groups" in found().what
    assert "--operation Describe --group '*' --allow-principal User:watcher" in found().remedy


def test_a_topic_that_lies_on_the_disks_and_is_not_shown(world, found):
    world.live = replace(world.live, topics=(), hidden_topics=("orders",))
    assert "lacks the ACL Describe on 1 topic on the disks, such as orders" in found().what
    assert "--topic '*'" in found().remedy


def test_a_user_that_may_not_describe_configs_of_a_topic(world, found):
    failed = {"orders": "[Error 29] TopicAuthorizationFailedError", "gone": "UnknownTopicOrPartitionError"}
    world.live = replace(world.live, topic_configs=Configs(failed=failed))
    assert "lacks the ACL DescribeConfigs on 1 topic, such as orders" in found().what


def test_a_topic_that_is_deleted_meanwhile_is_no_missing_right(world, monkeypatch):
    placed = log_dirs("/d1", "/d2", topics=("orders", "gone"))
    configs = Configs(values={"orders": {}}, failed={"gone": "[Error 3] UnknownTopicOrPartitionError"})
    world.live = replace(world.live, log_dirs={1: placed, 2: placed}, topic_configs=configs)
    report = world.examined(monkeypatch)
    assert (report.findings, report.not_checked) == ((), {})


def test_what_cannot_be_asked_is_not_checked(world, monkeypatch):
    no_answer = "TimeoutError: no answer within 4000 ms"
    what = ("configs of broker 1", "topics", "reassignments", "quorum")
    unknown = {**dict.fromkeys(what, no_answer), "consumer groups": "ValueError: __consumer_offsets-1 has no leader"}
    world.live = replace(world.live, topics=None, broker_configs={2: {}}, unknown=unknown)
    report = world.examined(monkeypatch)
    assert report.findings == ()
    assert report.not_checked["permissions"] == (
        f"cluster prod does not return {', '.join(what)}: {no_answer}; "
        "cluster prod does not return consumer groups: ValueError: __consumer_offsets-1 has no leader"
    )
    assert "permissions" not in report.passed


def test_topics_whose_configs_cannot_be_asked_are_not_checked(world, monkeypatch):
    world.live = replace(world.live, topic_configs=Configs(failed={"orders": "UnknownServerError"}))
    report = world.examined(monkeypatch)
    assert report.findings == ()
    assert report.not_checked == {
        "permissions": "cluster prod does not return configs of topic orders: UnknownServerError"
    }


def test_what_a_finding_says_is_not_said_again_as_not_checked(world, monkeypatch):
    refused = LogDirsAnswer(PollStatus.UNAUTHORIZED, "ClusterAuthorizationFailedError")
    silent = LogDirsAnswer(PollStatus.TIMEOUT, "no answer within 4000 ms")
    world.live = replace(
        world.live,
        log_dirs={1: refused, 2: silent},
        broker_configs={1: {}},
        unknown={
            "configs of broker 2": "TimeoutError: no answer within 4000 ms",
            "quorum": "ClusterAuthorizationFailedError",
            "reassignments": "ClusterAuthorizationFailedError",
            "consumer groups": "GroupAuthorizationFailedError: offsets of group g",
        },
    )
    report = world.examined(monkeypatch)
    assert [finding.check for finding in report.findings] == ["connectivity", "permissions", "permissions"]
    assert report.not_checked == {}


def test_a_refusal_that_no_finding_says_names_the_acl(world, monkeypatch):
    world.live = replace(world.live, unknown={"quorum": "ClusterAuthorizationFailedError"})
    assert world.examined(monkeypatch).not_checked["permissions"].endswith("lacks the ACL Describe on the cluster")


def test_every_cluster_says_what_was_not_checked(world, monkeypatch):
    world.values["clusters"]["other"] = {"bootstrap_servers": "kafka-3:9092"}
    world.cluster_error = "cannot be reached"
    assert world.examined(monkeypatch).not_checked["permissions"] == (
        "cluster prod does not answer; cluster other does not answer"
    )


def test_several_directories_below_the_metadata_version_that_can_do_with_them(world, found):
    world.metadata_version = "3.7-IV1"
    assert found().check == "metadata_version"
    assert "KAFKA-16606" in found().what
    assert "kafka-features.sh" in found().remedy


def test_a_zookeeper_cluster_has_no_metadata_version_and_no_quorum_that_tells_its_time(world, monkeypatch):
    world.metadata_version, world.metadata_mode = None, MetadataMode.ZOOKEEPER
    report = world.examined(monkeypatch)
    assert report.findings == ()
    why = "cluster prod keeps its metadata in ZooKeeper and cannot tell it"
    assert report.not_checked == {"metadata_version": why, "clocks": why}


def test_what_a_release_cannot_report_is_a_notice_and_no_fault(world, monkeypatch):
    world.kafka_versions, world.not_reported = {1: "3.6", 2: "3.6"}, frozenset({"cordons"})
    report = world.examined(monkeypatch)
    assert report.findings == ()
    assert list(lines(report))[:2] == [
        "notice: cluster prod: Kafka 3.6 does not report cordons of log directories (reported from 4.3 on)",
        "  to change that: upgrade to 4.3 or later",
    ]
    assert [told["where"] for told in document(report)["notices"]] == ["cluster prod"]


def test_a_release_that_reports_everything_has_no_notice(world, monkeypatch):
    assert "notices" not in document(world.examined(monkeypatch))


def test_one_directory_is_fine_below_that_version(world, monkeypatch):
    world.metadata_version = "3.7-IV1"
    world.live = replace(world.live, log_dirs={number: log_dirs("/d1") for number in (1, 2)})
    assert world.examined(monkeypatch).findings == ()


@pytest.mark.parametrize(
    ("version", "is_broken"), [("3.6", False), ("3.7", True), ("4.2", True), ("4.3", False), (None, False)]
)
def test_a_gauge_that_cannot_count(world, monkeypatch, version, is_broken):
    world.kafka_versions = {1: version, 2: "4.3"}
    report = world.examined(monkeypatch)
    assert [finding.check for finding in report.findings] == ["offline_replica_count"] * is_broken
    if is_broken:
        assert "of broker 1 is always 0" in report.findings[0].what
        assert "4.3" in report.findings[0].remedy
    assert report.without(["offline_replica_count"]).findings == ()


@pytest.mark.parametrize(
    ("version", "is_old"), [("2.7", True), ("0.11", True), ("2.8", False), ("3.6", False), (None, False)]
)
def test_a_release_that_is_too_old(world, monkeypatch, version, is_old):
    world.kafka_versions = {1: version, 2: "4.3"}
    report = world.examined(monkeypatch)
    assert [finding.check for finding in report.findings] == ["kafka_release"] * is_old
    if is_old:
        assert report.findings[0].what.startswith(f"Kafka {version} of broker 1 is too old")
        assert "2.8" in report.findings[0].remedy


def test_remarks_and_receivers_are_part_of_the_configuration(world, monkeypatch):
    world.values["notify"] = {"receivers": {"ops": {"urls": ["nonsense://hunter2secret"]}}}
    findings = world.examined(monkeypatch, ["no cluster to watch: add one under clusters"]).findings
    assert [finding.check for finding in findings] == ["configuration"] * 2
    assert (findings[0].what, findings[0].remedy) == ("no cluster to watch", "add one under clusters")
    assert "does not know URL 1" in findings[1].what
    assert "hunter2secret" not in repr(findings)


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security_protocol": "SSL"}, "User:ANONYMOUS"),
        ({"security_protocol": "SSL", "ssl_certfile": "c"}, None),
        ({"security_protocol": "SASL_SSL", "sasl_plain_username": "ada"}, "User:ada"),
        ({"security_protocol": "SASL_SSL"}, None),
    ],
)
def test_the_principal_is_named_as_far_as_it_is_known(client, expected):
    assert principal(client) == expected


@pytest.mark.parametrize(
    ("error", "remedy"),
    [("SSL: CERTIFICATE_VERIFY_FAILED", "ssl.truststore.location"), ("are the credentials right?", "sasl.mechanism")],
)
def test_the_remedy_fits_the_error(error, remedy):
    assert remedy in unreachable("telemetry", "telemetry", error).remedy


def test_programs_get_every_part():
    report = Report((), {"clocks": "does not tell"})
    assert document(report)["not_checked"] == {"clocks": "does not tell"}
    assert "clocks" not in document(report)["passed"]


@pytest.mark.parametrize(
    ("owner", "kinds", "refused"),
    [
        (ClusterOwner.STRIMZI, ("lower_retention", "reassign", "cordon_log_dir"), "cordon_log_dir, lower_retention"),
        (ClusterOwner.STRIMZI, ("reassign",), None),
        (ClusterOwner.GITOPS, ("lower_retention",), None),
        (None, ("lower_retention",), None),
    ],
)
def test_kinds_that_strimzi_reverts_are_named(owner, kinds, refused):
    allowed = AutopilotClusterSettings(kinds={kind: {} for kind in kinds})
    found = [one.what for one in judge_owner("prod", allowed, owner)]
    assert found == ([] if refused is None else [f"Strimzi reverts {refused}, so the autopilot never starts them"])
