"""One action as files: harmless with hostile names, and what the scripts do is what the record says."""

import json
import subprocess

import pytest

from logdirwatch.report.export import COMMANDS, README, REASSIGNMENT, ROLLBACK, UNDO, files
from tests.support.hostile import NAMES
from tests.unit.report.builders import NOW_MS, action

PLAN = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["/d1", "any"]}]}
BACK = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d1", "any"]}]}


def written(**fields):
    return files(action(**fields), NOW_MS)


def test_an_action_with_a_plan_has_all_five_files():
    found = written(reassignment=PLAN, undo={"reassignment": BACK, "commands": ["echo back"], "text": "when well"})
    assert set(found) == {README, COMMANDS, UNDO, REASSIGNMENT, ROLLBACK}
    assert json.loads(found[REASSIGNMENT]) == PLAN
    assert json.loads(found[ROLLBACK]) == BACK


def test_without_a_plan_or_a_way_back_these_files_are_left_out():
    assert set(written()) == {README, COMMANDS}


def test_the_script_stops_at_the_first_failure_and_works_where_it_lies(tmp_path):
    script = written(commands=["echo one > here", "false", "echo two > never"])[COMMANDS]
    (tmp_path / "commands.sh").write_text(script)
    done = subprocess.run(["sh", str(tmp_path / "commands.sh")], cwd="/", check=False)
    assert done.returncode == 1
    assert (tmp_path / "here").read_text() == "one\n"
    assert not (tmp_path / "never").exists()


def test_commands_stand_in_it_as_they_are():
    commands = ["cat > plan.json <<'LOGDIRWATCH_END'\n{}\nLOGDIRWATCH_END", "tool --x 'a b'"]
    assert "\n".join(commands) in written(commands=commands)[COMMANDS]


@pytest.mark.parametrize("name", [*NAMES, "/data/$(touch pwned)`touch pwned`\n; touch pwned #\x1b[31m'\""])
def test_hostile_names_run_nothing_and_stay_on_their_line(tmp_path, name):
    found = written(
        target={"broker": 1, "log_dir": name},
        reason=name,
        cluster=name,
        commands=["echo fine"],
        preconditions=[{"name": "x", "text": name, "holds": None}],
        undo={"text": name, "commands": ["echo back"]},
    )
    for script in (COMMANDS, UNDO):
        (tmp_path / script).write_text(found[script])
        subprocess.run(["sh", str(tmp_path / script)], check=True, capture_output=True)
    assert not (tmp_path / "pwned").exists()
    assert "\x1b" not in "".join(found.values())
    assert "touch pwned #" not in found[README].splitlines()
    assert all(line.isprintable() for line in found[README].splitlines())


def test_a_hostile_identity_cannot_leave_the_comment(tmp_path):
    found = files(action(action_id="x\ntouch pwned", commands=["true"]), NOW_MS)
    (tmp_path / "commands.sh").write_text(found[COMMANDS])
    subprocess.run(["sh", str(tmp_path / "commands.sh")], check=True)
    assert not (tmp_path / "pwned").exists()


def test_the_text_says_what_to_check_first_and_that_data_is_lost():
    text = written(
        data_loss=True,
        preconditions=[
            {"name": "a", "text": "the owner agrees", "holds": None},
            {"name": "b", "text": "a broker is alive", "holds": True},
            {"name": "c", "text": "there is room", "holds": False},
        ],
    )[README]
    assert "logdirwatch actions check cccc" in text
    assert "[ ] the owner agrees" in text
    assert "[x] a broker is alive" in text
    assert "[NO] there is room" in text
    assert "THIS LOSES DATA" in text
