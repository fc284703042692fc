"""One look that sends nothing."""

import asyncio

import pytest
import structlog

from logdirwatch.collect.host.once import look_once
from logdirwatch.collect.host.sources import HostEyes
from logdirwatch.collect.host.tail_state import TailState
from tests.unit.collect.builders import T0
from tests.unit.collect.host.conftest import reserve_of
from tests.unit.parse.broker_log.logs import NOISE, START, failure


def test_one_look_tells_what_the_log_says_of_the_present_run_only(machine):
    machine.log.write_text("")
    machine.write(failure(f"Error in dir {machine.dirs[0]}"), START, failure(f"Error in dir {machine.dirs[1]}"))
    machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState(), back_bytes=1 << 20)
    record, events = asyncio.run(look_once(machine.settings, machine.eyes, T0))
    assert [event.log_dir for event in events] == [machine.dirs[1]]
    assert len(record.log_dirs) == 2
    assert not machine.state_folder.exists()


@pytest.mark.parametrize(
    ("text", "back_bytes", "read"),
    [
        (START + NOISE, 1 << 20, (2, 0)),
        ("one word\n" * 3, 1 << 20, (0, 3)),
        (START + failure() + NOISE, len(failure() + NOISE) - 150, (1, 0)),
        ("a word\n" * 100, 300, (0, 43)),
    ],
    ids=["understood", "not understood", "begun in the middle of an entry", "begun in the middle of what nobody knows"],
)
def test_a_look_says_how_much_of_the_log_was_understood(machine, text, back_bytes, read):
    machine.log.write_text(text)
    machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState(), back_bytes=back_bytes)
    record, _ = asyncio.run(look_once(machine.settings, machine.eyes, T0))
    assert (record.log_entries, record.log_lines_not_understood) == read


def test_one_look_says_that_the_log_is_missing(machine):
    machine.log.unlink()
    machine.eyes = HostEyes(machine.settings, machine.dirs, reserve_of, TailState())
    with structlog.testing.capture_logs() as logged:
        asyncio.run(look_once(machine.settings, machine.eyes, T0))
    assert [entry["error"] for entry in logged] == ["No such file or directory"]
