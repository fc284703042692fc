"""One action as files: harmless with hostile names, and what the scripts do is what the record says."""

import contextlib
import json
import os
import pty
import subprocess

import pytest

from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.report.actions.export import COMMANDS, README, REASSIGNMENT, ROLLBACK, UNDO, files
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


REPLACING = ["echo stopped", note("Replace the disk of kafka-1's /d1; $(touch pwned)"), "echo started", note("Look.")]


def run_at_a_terminal(script, typed):
    """Run a script whose terminal is one of ours; return what it printed, and its exit code.

    The first terminal that the leader of a session opens becomes the session's own.
    """
    ours, theirs = pty.openpty()
    at_it = 'exec sh "$1" < "$2" > "$2" 2>&1'
    done = subprocess.Popen(["sh", "-c", at_it, "sh", str(script), os.ttyname(theirs)], start_new_session=True)
    os.write(ours, typed)
    code = done.wait()
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while more := os.read(ours, 4096):
            said += more
    os.close(ours)
    return said.decode().replace("\r", ""), code


def test_a_step_of_a_person_is_waited_for_before_the_next_command(tmp_path):
    (tmp_path / "commands.sh").write_text(written(commands=REPLACING)[COMMANDS])
    said, code = run_at_a_terminal(tmp_path / "commands.sh", b"\n")
    assert code == 0
    assert said.count("Press Enter") == 1, "what stands last holds nothing up"
    asked = said.index("Replace the disk of kafka-1's /d1; $(touch pwned)\nPress Enter when it is done: ")
    assert said.index("stopped") < asked < said.index("started")
    assert not (tmp_path / "pwned").exists()


def test_a_person_who_breaks_off_keeps_what_follows_from_being_done(tmp_path):
    (tmp_path / "commands.sh").write_text(written(commands=REPLACING)[COMMANDS])
    said, code = run_at_a_terminal(tmp_path / "commands.sh", b"\x04")
    assert code != 0
    assert "started" not in said


def test_without_a_terminal_nothing_is_done_that_waits_for_a_person(tmp_path):
    (tmp_path / "commands.sh").write_text(written(commands=REPLACING)[COMMANDS])
    done = subprocess.run(
        ["sh", str(tmp_path / "commands.sh")], capture_output=True, text=True, start_new_session=True, check=False
    )
    assert done.returncode != 0
    assert "stopped" in done.stdout
    assert "started" not in done.stdout


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
