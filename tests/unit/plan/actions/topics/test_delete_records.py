"""Records that are deleted once: where no retention reaches, how many, and never what is still needed."""

import subprocess

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.settings import ToolSettings, TopicRule
from tests.unit.plan.answers import holds, kinds, recommended, the, vetoed
from tests.unit.plan.builders import MIB, broker, directory, replica, slowly, topic

CRITICAL = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.CRITICAL)
COMPACT_DELETE = {"cleanup.policy": "compact,delete"}
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}


def limited(name="a.b", cleanup="delete", partitions=14, **fields):
    """A topic at its limit: no lower one frees more, but each partition holds segments beyond it."""
    configs = {"cleanup.policy": cleanup, "retention.bytes": str(10 * MIB)}
    held = [replica(1, "/d1", name, number, 30 * MIB) for number in range(partitions)]
    return [topic(name, *[(1,)] * partitions, configs=configs, **fields), *held]


class TestDeleteRecords:
    PARTS = (CRITICAL, *limited(), topic("u", (1,)), replica(1, "/d1", "u", size=120 * MIB))

    def test_where_no_retention_reaches_records_are_deleted_once(self):
        found = recommended(*self.PARTS, growth=slowly(*self.PARTS), limits={"cut_ratio": 0.7})
        action = the(ActionKind.DELETE_RECORDS, found)
        assert action.target["topic"] == "a.b"
        # 200 MiB are needed, the cut of u gives 100; 58 % of each of 14 times 30 MiB are 17.4, less one segment of 10.
        assert "the oldest 58 % of the records of a.b" in action.reason
        assert 100 * MIB < action.expected["frees_bytes"] < 105 * MIB
        assert action.expected["is_estimate"]
        assert action.data_loss
        assert action.configs is None

    def test_of_a_compacted_topic_the_last_values_of_keys_go_which_a_person_must_decide(self):
        """Kafka 4.3.1 takes the request where the policy names delete, whatever else it names."""
        parts = [CRITICAL, *limited(cleanup="compact,delete")]
        action = the(ActionKind.DELETE_RECORDS, recommended(*parts, growth=slowly(*parts)))
        assert holds(action, "last_values_go") is None
        text = next(p["text"] for p in action.preconditions if p["name"] == "last_values_go")
        assert "its cleanup policy is compact,delete" in text

    def test_a_topic_that_is_not_compacted_is_taken_first(self):
        parts = [CRITICAL, *limited(cleanup="compact,delete"), *limited("plain", partitions=2)]
        action = the(ActionKind.DELETE_RECORDS, recommended(*parts, growth=slowly(*parts)))
        assert action.target["topic"] == "plain"
        assert "last_values_go" not in {p["name"] for p in action.preconditions}

    def test_what_a_group_has_still_to_read_stays(self):
        parts = [CRITICAL, *limited(unread={0: 0.6})]
        action = the(ActionKind.DELETE_RECORDS, recommended(*parts, growth=slowly(*parts)))
        assert "the oldest 40 % of the records of a.b" in action.reason

    def test_it_is_never_advised_for_a_saturated_directory(self):
        full = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
        action = the(ActionKind.DELETE_RECORDS, recommended(*self.PARTS, full))
        assert vetoed(action) == ["delete_records_frees_nothing"]
        assert action.commands == []

    def test_without_a_leader_nobody_takes_the_request(self):
        parts = [
            CRITICAL,
            *limited("c", leaderless=(0,)),
        ]
        assert vetoed(the(ActionKind.DELETE_RECORDS, recommended(*parts, growth=slowly(*parts)))) == ["leaders_missing"]

    @pytest.mark.parametrize(
        ("kind", "rule"),
        [
            (topic("c", (1,), configs={"cleanup.policy": "compact"}), TopicRule()),
            (topic("c", (1,), configs={"cleanup.policy": None}), TopicRule()),
            (topic("__c", (1,), configs=COMPACT_DELETE), TopicRule()),
            (topic("c", (1,), configs=COMPACT_DELETE | {"remote.storage.enable": "true"}), TopicRule()),
            (topic("c", (1,), configs=COMPACT_DELETE), TopicRule(never_touch=True)),
            (topic("c", (1,), configs=COMPACT_DELETE), TopicRule(min_retention_ms=1)),
            (topic("c", (1,), configs=COMPACT_DELETE, reassigned=(0,)), TopicRule()),
            (topic("c", (1,), configs=COMPACT_DELETE | FOR_EVER, overridden=frozenset({"retention.ms"})), TopicRule()),
        ],
    )
    def test_some_topics_lose_no_records(self, kind, rule):
        parts = [CRITICAL, kind, replica(1, "/d1", kind.name, size=420 * MIB)]
        assert "delete_records" not in kinds(recommended(*parts, limits={"topics": (rule,)}))

    def test_the_offsets_are_asked_for_and_reckoned_for_this_topic_alone(self, tmp_path):
        """A real shell and awk between tools that stand in for Kafka's."""
        tools = tmp_path / "bin"
        tools.mkdir()
        (tools / "kafka-get-offsets.sh").write_text(
            '#!/bin/sh\ncase "$*" in *"--time -2"*) printf "a.b:0:100\\na.b:1:0\\n";; '
            '*) printf "a.b:0:1100\\na.b:1:9000000000\\n";; esac\n'
        )
        (tools / "kafka-delete-records.sh").write_text(
            '#!/bin/sh\ncase "$*" in *"--offset-json-file /dev/stdin") cat;; *) exit 2;; esac\n'
        )
        for tool in tools.iterdir():
            tool.chmod(0o755)
        found = recommended(*self.PARTS, growth=slowly(*self.PARTS), tools=ToolSettings(prefix=f"{tools}/"))
        (command,) = the(ActionKind.DELETE_RECORDS, found).commands
        assert "--topic=a\\.b" in command
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        assert done.stdout == (
            '{"version":1,"partitions":[{"topic":"a.b","partition":0,"offset":680},'
            '{"topic":"a.b","partition":1,"offset":5220000000}]}\n'
        )


DAY_MS = 86_400_000
A_DAY = {"retention.ms": str(DAY_MS), "retention.bytes": "-1"}
RETAINED = {"lower_retention"}


@pytest.mark.parametrize(
    ("case", "configs", "days", "keeps_growing", "frees"),
    [
        ("past its limit: the cleaner does not delete", COMPACT_DELETE | A_DAY, 5, (), set()),
        ("its cleaner died", COMPACT_DELETE | A_DAY, 1, ("dead_cleaner",), set()),
        ("its cleaner died, whatever it holds", COMPACT_DELETE | A_DAY, None, ("dead_cleaner",), set()),
        ("its cleaner gave up on partitions here", COMPACT_DELETE | A_DAY, 1, ("uncleanable",), set()),
        ("the task that fails is not the cleaner", COMPACT_DELETE | A_DAY, 1, ("kafka-log-retention",), RETAINED),
        ("remote copies fail, which it has none of", COMPACT_DELETE | A_DAY, 1, ("remote_copies",), RETAINED),
        ("as much as its limit allows", COMPACT_DELETE | A_DAY, 1, (), RETAINED),
        ("a little more, as before a check", COMPACT_DELETE | A_DAY, 1.2, (), RETAINED),
        ("how it is written is not known", COMPACT_DELETE | A_DAY, None, (), RETAINED),
        ("limited by nothing", COMPACT_DELETE | FOR_EVER, 5, (), RETAINED),
        ("retention fails, which cuts would need", A_DAY, 1, ("kafka-log-retention",), set()),
        ("retention fails, and it is past its limit", A_DAY, 5, ("kafka-log-retention",), set()),
        ("the cleaner, which does not delete from it", A_DAY, 1, ("dead_cleaner", "uncleanable"), RETAINED),
        ("timestamps in the future: by bytes retention deletes", A_DAY, 5, (), RETAINED),
    ],
)
def test_nothing_is_promised_of_a_deletion_that_stands_still(case, configs, days, keeps_growing, frees):
    size = 420 * MIB
    growth = {} if days is None else {((1, "/d1"), ("t", 0)): size / (days * DAY_MS / 1000)}
    parts = (CRITICAL, topic("t", (1,), configs=configs), replica(1, "/d1", "t", size=size))
    found = recommended(*parts, growth=growth, evidence={"keeps_growing": list(keeps_growing)})
    losing = {one.kind for one in found if one.data_loss and not one.vetoes}
    assert losing == frees, case


@pytest.mark.parametrize(
    ("enable", "configs", "frees"),
    [
        ("false", COMPACT_DELETE | A_DAY, set()),
        ("false", COMPACT_DELETE | FOR_EVER, set()),
        ("false", {"cleanup.policy": "delete,compact"} | A_DAY, set()),
        ("true", COMPACT_DELETE | A_DAY, RETAINED),
        (None, COMPACT_DELETE | A_DAY, RETAINED),
        ("false", A_DAY, RETAINED),
    ],
)
def test_a_cleaner_that_is_disabled_deletes_nothing(enable, configs, frees):
    size = 420 * MIB
    parts = (CRITICAL, broker(1, **{"log.cleaner.enable": enable}), topic("t", (1,), configs=configs))
    growth = {((1, "/d1"), ("t", 0)): size / (DAY_MS / 1000)}
    found = recommended(*parts, replica(1, "/d1", "t", size=size), growth=growth)
    assert {one.kind for one in found if one.data_loss and not one.vetoes} == frees


def test_where_one_deletion_stands_still_another_topic_gives():
    parts = (
        CRITICAL,
        topic("stuck", (1,), configs=COMPACT_DELETE | A_DAY),
        replica(1, "/d1", "stuck", size=500 * MIB),
        topic("well", (1,), configs=COMPACT_DELETE | A_DAY),
        replica(1, "/d1", "well", size=300 * MIB),
    )
    growth = {((1, "/d1"), ("stuck", 0)): 500 * MIB / (5 * 86_400), ((1, "/d1"), ("well", 0)): 300 * MIB / 86_400}
    assert the(ActionKind.LOWER_RETENTION, recommended(*parts, growth=growth)).target["topic"] == "well"
