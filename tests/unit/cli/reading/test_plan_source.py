"""``logdirwatch plan`` for a real cluster: from tables that another writer than Spark made, and from live brokers."""

import json

import msgspec
import pytest
import yaml

from logdirwatch.cli.commands import plan
from logdirwatch.cli.reading import live_cluster, plan_source
from logdirwatch.collect.kafka.answers import Configs, LogDirAnswer, LogDirsAnswer, Node, Topic
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.model.records import PartitionInfo, Placement
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, PollStatus, Rule, Severity
from logdirwatch.plan.fix import plan as fix_plan
from tests.support.delta import Written
from tests.unit.report import builders
from tests.unit.report.builders import NOW_MS
from tests.unit.report.rows import broker, log_dir

MIB = 1 << 20
SIZE = 1000 * MIB
CONFIGS = [("cleanup.policy", "delete"), ("retention.bytes", "-1"), ("segment.bytes", str(10 * MIB))]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(plan, "now_ms", lambda: NOW_MS)


class Lake(Written):
    """Tables of clusters with one broker 7; a directory is full of one topic of its own."""

    def cluster(self, name="prod", used=(800, 100), *, age_ms=5_000, sizes=(150, 150, 150), without=(), **fields):
        self.write("broker_state", broker(cluster=name, at_ms=NOW_MS - age_ms), without=without)
        self.write(
            "log_dir_state",
            *(
                {
                    **log_dir(cluster=name, log_dir=f"/d{number}", at_ms=NOW_MS - age_ms, sample_at_ms=NOW_MS - age_ms),
                    "total_bytes": SIZE,
                    "usable_bytes": SIZE - size * MIB,
                    **fields.get(f"d{number}", {}),
                }
                for number, size in enumerate(used, start=1)
            ),
        )
        self.write("log_dir_inventory", {"cluster": name, "broker": None, "inventory_at_ms": NOW_MS - age_ms})
        place = {"cluster": name, "broker": 7, "topic": "t"}
        seen = {"log_dir": "/d1", "is_future": False, "status": "online"}
        self.write(
            "replica_state",
            *({**place, **seen, "partition": n, "size_bytes": size * MIB} for n, size in enumerate(sizes)),
        )
        known = {"replicas": [7], "isr": [7], "leader": 7, "adding": [], "removing": [], "configs": CONFIGS}
        self.write(
            "topic_state", *({**place, **known, "partition": n, "is_internal": False} for n in range(len(sizes)))
        )


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TABLES__PATH", str(tmp_path / "tables"))
    return Lake(tmp_path / "tables")


def filling(alert_id="a1", log_dir="/d1", **fields):
    values = {"rule": Rule.LOG_DIR_SPACE, "severity": Severity.WARNING, "to_status": "filling", "log_dir": log_dir}
    return builders.alert(alert_id, **{**values, **fields})


class TestTables:
    def test_the_only_cluster_is_planned_and_what_it_rests_on_is_said(self, run, lake, tmp_path):
        lake.cluster()
        files = ["--reassignment", "r.json", "--steps", "s.json", "--out", "after.csv"]
        ended = run("plan", "--mode", "balance-disks", *files)
        assert (ended.exit_code, ended.err) == (0, "")
        assert "cluster prod: state of 5 s ago, inventory of 5 s ago" in ended.out
        told = json.loads(run("plan", "--mode", "balance-disks", "--json").out)
        assert told["moved"]["bytes"] == 300 * MIB
        assert told["about"]["cluster"] == "prod"
        moves = json.loads((tmp_path / "r.json").read_text())["partitions"]
        assert [move["log_dirs"] for move in moves] == [["/d2"], ["/d2"]]
        (wave,) = json.loads((tmp_path / "s.json").read_text())["waves"]
        assert any("--execute" in command for command in wave["commands"])
        assert (tmp_path / "after.csv").read_text().count("/d2") == 2

    def test_what_is_left_out_is_said(self, run, lake):
        lake.cluster(used=(800, 100, 50), d3={"is_cordoned": True})
        ended = run("plan", "--mode", "balance-disks")
        assert "left out   broker 7 /d3: it is cordoned: it takes no new replica" in ended.out

    def test_a_directory_that_the_configuration_marks_takes_nothing(self, run, lake, tmp_path):
        lake.cluster(used=(800, 100, 50))
        config = tmp_path / "c.yaml"
        config.write_text(yaml.safe_dump({"plan": {"log_dirs": [{"log_dir": "/d3", "destination": False}]}}))
        ended = run("--config", str(config), "plan", "--mode", "balance-disks", "--reassignment", "r.json")
        assert "left out   broker 7 /d3: plan.log_dirs says that it is no destination" in ended.out
        moves = json.loads((tmp_path / "r.json").read_text())["partitions"]
        assert {move["log_dirs"][0] for move in moves} == {"/d2"}

    def test_a_timer_learns_by_the_exit_code_whether_there_is_something_to_move(self, run, lake):
        lake.cluster()
        assert run("plan", "--mode", "balance-disks", "--exit-code").exit_code == 3
        assert run("plan", "--mode", "balance-disks").exit_code == 0
        lake.cluster("even", used=(500, 501))
        assert run("plan", "--mode", "balance-disks", "--cluster", "even", "--exit-code").exit_code == 0
        assert run("plan", "--mode", "balance-disks", "--cluster", "none", "--exit-code").exit_code == 2

    def test_several_clusters_must_be_told_apart(self, run, lake):
        lake.cluster()
        lake.cluster("o'ther", used=(500, 501))
        ended = run("plan", "--mode", "balance-disks")
        assert ended.exit_code == 2
        assert "there are o'ther, prod" in ended.err
        ended = run("plan", "--mode", "balance-disks", "--cluster", "dev")
        assert ended.exit_code == 2
        assert "no cluster dev in the tables at" in ended.err
        assert "there are o'ther, prod" in ended.err
        told = json.loads(run("plan", "--mode", "balance-disks", "--cluster", "o'ther", "--json").out)
        assert told["moved"]["replicas"] == 0

    def test_old_tables_are_refused_in_one_line(self, run, lake):
        lake.cluster(age_ms=7_200_000)
        ended = run("plan", "--mode", "evacuate:7:/d1")
        assert ended.exit_code == 1
        assert ended.err.startswith("logdirwatch: plan: the last inventory is 2 h old")
        assert ended.err.count("\n") == 1

    def test_no_tables_are_one_line_that_says_what_to_do(self, run, lake):
        ended = run("plan", "--mode", "balance-disks")
        assert ended.exit_code == 1
        assert "run logdirwatch collect" in ended.err
        assert ended.err.count("\n") == 1

    def test_columns_that_store_has_not_added_yet_are_not_known(self, run, lake):
        lake.cluster(without=("metadata_version",))
        assert run("plan", "--mode", "balance-disks").exit_code == 0

    def test_an_open_alert_is_believed_before_the_tables(self, run, lake):
        lake.cluster()
        lake.alerts(filling(rule=Rule.LOG_DIR_SUSPECT, log_dir="/d2", to_status=None))
        ended = run("plan", "--mode", "evacuate:7:/d1")
        assert ended.exit_code == 1
        assert "the state of /d2 on broker 7 is not known" in ended.err

    def test_another_folder_of_tables_can_be_named(self, run, lake, tmp_path, monkeypatch):
        lake.cluster()
        monkeypatch.setenv("LOGDIRWATCH_TABLES__PATH", str(tmp_path / "none"))
        assert run("plan", "--mode", "balance-disks").exit_code == 1
        assert run("plan", "--mode", "balance-disks", "--tables", str(lake.root)).exit_code == 0


class TestFix:
    def test_nothing_open_is_said(self, run, lake):
        lake.cluster()
        resolved = filling(revision=2, status=AlertStatus.RESOLVED)
        lake.alerts(filling(), resolved, builders.alert("x", cluster="else"))
        ended = run("plan", "--mode", "fix")
        assert (ended.exit_code, ended.out) == (0, "Cluster prod has no open alerts: there is nothing to fix.\n")
        assert json.loads(run("plan", "--mode", "fix", "--json").out)["alerts"] == []

    def test_a_timer_learns_by_the_exit_code_whether_an_alert_is_open(self, run, lake):
        lake.cluster()
        assert run("plan", "--mode", "fix", "--exit-code").exit_code == 0
        lake.alerts(filling())
        assert run("plan", "--mode", "fix", "--exit-code").exit_code == 3

    def test_every_open_alert_is_answered_in_one_plan(self, run, lake, tmp_path):
        lake.cluster()
        lake.alerts(filling(revision=1), filling(revision=2, severity=Severity.PAGE))
        ended = run("plan", "--mode", "fix", "--reassignment", "r.json", "--steps", "s.json")
        assert (ended.exit_code, ended.err) == (0, "")
        assert "fix prod: 1 alert, 1 action" in ended.out
        assert "move_log_dir" in ended.out
        moves = json.loads((tmp_path / "r.json").read_text())["partitions"]
        assert [move["log_dirs"] for move in moves] == [["/d2"]]
        (wave,) = json.loads((tmp_path / "s.json").read_text())["waves"]
        assert wave["kind"] == "move_log_dir"
        (told,) = json.loads(run("plan", "--mode", "fix", "--json").out)["alerts"]
        assert (told["severity"], told["missing_bytes"]) == ("page", 0)
        assert told["actions"][0]["reassignment"]["partitions"] == moves

    def test_moves_that_do_not_belong_in_one_reassignment_are_written_as_steps_only(
        self, run, lake, tmp_path, monkeypatch
    ):
        lake.cluster()
        lake.alerts(filling())
        monkeypatch.setattr(fix_plan, "mixed_brokers", lambda made: [7])
        ended = run("plan", "--mode", "fix", "--reassignment", "r.json", "--steps", "s.json")
        assert (ended.exit_code, ended.out, list(tmp_path.glob("*.json"))) == (1, "", [])
        assert ended.err.startswith("logdirwatch: plan: replicas move within broker 7 and new ones arrive there")
        assert "--steps FILE" in ended.err
        assert run("plan", "--mode", "fix", "--steps", "s.json").exit_code == 0

    def test_what_is_accepted_is_named_and_not_planned_again(self, run, lake):
        lake.cluster()
        lake.alerts(filling())
        (told,) = json.loads(run("plan", "--mode", "fix", "--json").out)["alerts"]
        proposed = msgspec.convert(told["actions"][0], plan_source.ActionRecord)
        lake.actions(proposed, msgspec.structs.replace(proposed, revision=2, status=ActionStatus.ACCEPTED))
        ended = run("plan", "--mode", "fix")
        assert "is accepted already" in ended.out
        (told,) = json.loads(run("plan", "--mode", "fix", "--json").out)["alerts"]
        assert told["under_way"] == [proposed.action_id]
        assert all(action["kind"] != "move_log_dir" for action in told["actions"])

    def test_where_nothing_fits_it_says_what_would_make_it_possible(self, run, lake, tmp_path, monkeypatch):
        lake.cluster(used=(800, 840), sizes=(5, 5, 5))
        lake.alerts(filling())
        config = tmp_path / "c.yaml"
        config.write_text(yaml.safe_dump({"plan": {"log_dirs": [{"log_dir": "/d1", "max_bytes": SIZE}]}}))
        ended = run("--config", str(config), "plan", "--mode", "fix")
        assert ended.exit_code == 0
        text = " ".join(ended.out.split())
        assert "100 MiB fit nowhere (the volume under /d1 is as large as it can be" in text
        assert "would help: 100 MiB more on its volume" in text

    def test_it_is_about_alerts_not_about_files(self, run, lake):
        for more in (["--out", "x.csv"], ["--model", "x.csv"]):
            ended = run("plan", "--mode", "fix", *more)
            assert ended.exit_code == 2
            assert ended.err.count("\n") == 1


def answers(**fields):
    def disk(path, used, *replicas):
        return LogDirAnswer(path, 0, SIZE, SIZE - used * MIB, False, replicas)

    placed = [Placement(topic="t", partition=n, size_bytes=150 * MIB) for n in range(3)]
    infos = [
        PartitionInfo(partition=n, leader=7, replicas=[7], isr=[7], offline_replicas=[], adding=[], removing=[])
        for n in range(3)
    ]
    values = {
        "at_ms": NOW_MS,
        "nodes": {7: Node(7, "h", 9, None, False)},
        "lists_fenced": True,
        "log_dirs": {7: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", 800, *placed), disk("/d2", 100)))},
        "broker_configs": {},
        "topics": (Topic("t", False, tuple(infos)),),
        "topic_configs": Configs({"t": dict(CONFIGS)}),
        "reassignments": {},
        "quorum": None,
    }
    return LiveCluster(**(values | fields))


@pytest.fixture
def live(run, tmp_path, monkeypatch):
    """Run ``plan --live`` on a cluster that answers as told."""
    config = tmp_path / "logdirwatch.yaml"
    config.write_text(yaml.safe_dump({"clusters": {"prod": {"bootstrap_servers": "h:9"}}}))
    asked = []

    def planned(*arguments, **fields):
        def seen(cluster, settings):
            asked.append(cluster.bootstrap_servers)
            return answers(**fields)

        monkeypatch.setattr(live_cluster, "seen", seen)
        return run("--config", str(config), "plan", *arguments)

    planned.asked = asked
    return planned


class TestLive:
    def test_the_brokers_themselves_are_asked(self, live):
        ended = live("--live", "--mode", "evacuate:7:/d1", "--json")
        told = json.loads(ended.out)
        assert told["moved"]["bytes"] == told["lower_bound"]["bytes"] == 450 * MIB
        assert live.asked == ["h:9"]

    def test_an_address_needs_no_configuration_and_is_in_the_commands(self, live, tmp_path):
        live("--bootstrap-server", "other:1", "--mode", "balance-disks", "--steps", "s.json")
        assert live.asked == ["other:1"]
        (wave,) = json.loads((tmp_path / "s.json").read_text())["waves"]
        assert all("other:1" in command for command in wave["commands"][1:])

    def test_what_could_not_be_asked_is_said_and_what_makes_it_unsafe_refused(self, live):
        ended = live("--live", "--mode", "balance-disks", topics=None, unknown={"topics": "TimeoutError"})
        assert ended.exit_code == 1
        assert "not known: topics: TimeoutError" in ended.err
        assert "no inventory of the cluster has been seen yet" in ended.err

    def test_sizes_that_an_old_release_does_not_report_are_named_with_the_remedy(self, live):
        unsized = {7: LogDirsAnswer(PollStatus.OK, None, (LogDirAnswer("/d1", 0, None, None, None, ()),))}
        ended = live("--live", "--mode", "balance-disks", log_dirs=unsized, api_versions={7: {35: 2}})
        (line,) = [line for line in ended.err.splitlines() if "not known: the size of 1 log directory" in line]
        assert "clusters.prod.log_dirs, or run watch-host on the brokers" in line

    def test_a_broker_that_does_not_answer_is_left_out(self, live):
        silent = {**answers().log_dirs, 8: LogDirsAnswer(PollStatus.TIMEOUT, "no answer")}
        nodes = {**answers().nodes, 8: Node(8, "h", 9, None, False)}
        ended = live("--live", "--mode", "balance-all", log_dirs=silent, nodes=nodes)
        assert "left out   broker 8: broker 8 is unknown" in ended.out

    def test_disks_that_look_alike_are_taken_for_separate_and_that_is_said(self, live):
        new = tuple(LogDirAnswer(f"/d{number}", 0, SIZE, SIZE, False, ()) for number in (1, 2, 3))
        grown = {**answers().log_dirs, 8: LogDirsAnswer(PollStatus.OK, None, new)}
        nodes = {**answers().nodes, 8: Node(8, "h", 9, None, False)}
        ended = live("--live", "--mode", "balance-all", "--json", log_dirs=grown, nodes=nodes)
        assert "broker 8: /d1, /d2, /d3 report the same size and free bytes" in ended.err
        assert "exclude all but one of them in plan.log_dirs" in ended.err
        assert ended.err.count("\n") == 1
        told = json.loads(ended.out)
        assert told["about"]["left_out"] == []
        assert told["moved"]["replicas"] > 0

    def test_fix_takes_the_alerts_from_the_topic(self, live, telemetry):
        telemetry.topics["logdir.alerts"] = [filling(broker=7)]
        (told,) = json.loads(live("--live", "--mode", "fix", "--json").out)["alerts"]
        assert told["actions"][0]["kind"] == "move_log_dir"

    def test_a_cluster_that_is_not_configured_is_wrong_use(self, live):
        ended = live("--live", "--cluster", "dev", "--mode", "balance-disks")
        assert ended.exit_code == 2
        assert "no cluster dev in the configuration: there are prod" in ended.err

    @pytest.mark.parametrize("more", [["--live"], ["--cluster", "x"], ["--tables", "t"]])
    def test_a_file_is_the_whole_cluster(self, live, more):
        ended = live("--model", "m.csv", "--mode", "balance-disks", *more)
        assert ended.exit_code == 2

    def test_tables_or_brokers_but_not_both(self, live):
        assert live("--live", "--tables", "t", "--mode", "balance-disks").exit_code == 2
