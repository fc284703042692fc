"""``logdirwatch plan``: its files, what it prints, and how it refuses."""

import json
import subprocess
import sys

import pytest

from logdirwatch.plan.balance.model.csv_reader import read_model
from tests.unit.plan.balance.builders import applied, layout, used

HEADER = "broker,rack,disk,capacity_bytes,topic,partition,size_bytes,is_leader\n"
LINES = "".join(f"1,r,/a,1000,t,{n},100,1\n" for n in range(8)) + "1,r,/b,1000,,,,\n"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text(HEADER + LINES)
    return path


def arguments(model, mode="balance-disks", *more):
    return ["plan", "--model", str(model), "--mode", mode, "--out", "after.csv", *more]


def test_the_files_agree_with_each_other(run, model, tmp_path):
    ended = run(*arguments(model, "balance-disks", "--reassignment", "r.json", "--steps", "s.json"))
    assert ended.exit_code == 0
    before, after = read_model(model), read_model(tmp_path / "after.csv")
    assert set(used(after).values()) == {400}
    assert applied(layout(before), json.loads((tmp_path / "r.json").read_text())) == layout(after)
    waves = json.loads((tmp_path / "s.json").read_text())["waves"]
    assert sum(wave["moved_bytes"] for wave in waves) == 400


def test_people_read_what_it_costs_and_brings(run, model):
    ended = run(*arguments(model))
    assert "balance-disks: 4 replicas, 400 B" in ended.out
    assert "1.099 times" in ended.out
    assert "nothing remains outside the tolerance" in ended.out
    assert [line.split()[-4:] for line in ended.out.splitlines() if line.startswith("fullest directory")] == [
        ["80.0", "%", "40.0", "%"]
    ]


def test_people_read_what_stays_outside(run, tmp_path):
    path = tmp_path / "model.csv"
    path.write_text(HEADER + "1,r,/a,1000,t,0,800,1\n1,r,/b,1000,,,,\n")
    ended = run(*arguments(path))
    assert ended.exit_code == 0
    assert "2 stay outside the tolerance: no single move" in ended.out
    assert "broker 1 /a" in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mode", "balance-disks", "--apply"], "cannot be combined with --model"),
        (["--mode", "fix", "--apply"], "carry each out with: logdirwatch apply ID"),
        (["--mode", "balance-disks", "--dry-run"], "--dry-run goes with --apply"),
    ],
)
def test_only_a_plan_of_waves_for_a_cluster_is_applied(run, model, words, said):
    ended = run("plan", "--model", str(model), *words)
    assert ended.exit_code == 2
    assert said in ended.err


def test_programs_read_one_object(run, model):
    ended = run(*arguments(model, "balance-disks", "--json"))
    told = json.loads(ended.out)
    assert told["mode"] == "balance-disks"
    assert told["moved"]["bytes"] == 400
    assert told["lower_bound"] == {"bytes": 364, "in_racks_bytes": 364}
    assert told["directories"]["before"]["max_ratio"] == 0.8
    assert told["directories"]["after"] == {"max_ratio": 0.4, "min_ratio": 0.4, "spread_ratio": 0.0}
    assert set(told["violations"].values()) == {0}
    assert told["outside"] == []
    assert told["evacuation"] is None
    assert told["load_ms"] >= 0
    assert told["plan_ms"] >= 0


def test_an_evacuation_is_told_with_the_best_possible(run, model):
    told = json.loads(run(*arguments(model, "evacuate:1:/a", "--json")).out)
    assert told["evacuation"] == {"max_ratio": 0.8, "best_max_ratio": 0.8}
    assert "at best 80.0 %" in run(*arguments(model, "evacuate:1:/a")).out


def test_the_configuration_sets_the_limits(run, model, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_PLAN__DESTINATION_MAX_RATIO", "0.7")
    ended = run(*arguments(model, "evacuate:1:/a"))
    assert ended.exit_code == 1
    assert "100 bytes (100 B) are missing" in ended.err
    monkeypatch.setenv("LOGDIRWATCH_PLAN__INTERNAL_TOPICS", '["t"]')
    assert json.loads(run(*arguments(model, "balance-disks", "--json")).out)["moved"]["bytes"] == 0


@pytest.mark.parametrize(
    ("mode", "more", "exit_code", "reason"),
    [
        ("balance", [], 2, "there are balance-disks"),
        ("evacuate:1:/z", [], 2, "broker 1 has only /a, /b"),
        ("evacuate:1:/a", ["--out", "/none/after.csv"], 2, "/none/after.csv: there is no folder /none"),
        ("balance-disks", ["--csv"], 2, "--csv goes with --what-if"),
        ("balance-disks", ["--steps", "."], 2, ".: is a folder"),
        ("balance-disks", ["--model", "/none.csv"], 1, "/none.csv: "),
    ],
)
def test_a_mistake_is_one_line(run, model, mode, more, exit_code, reason):
    ended = run(*arguments(model, mode, *more))
    assert ended.exit_code == exit_code
    assert reason in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_bad_line_is_named(run, model):
    model.write_text(HEADER + LINES + "1,r,/a,1000,t,9,-1,1\n")
    ended = run(*arguments(model))
    assert ended.exit_code == 1
    assert "model.csv line 11: size_bytes is '-1'" in ended.err


def test_it_starts_without_spark(model, tmp_path):
    code = "import sys; sys.modules['pyspark'] = None; from logdirwatch.cli.main import main; main()"
    command = [sys.executable, "-c", code, *arguments(model)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
