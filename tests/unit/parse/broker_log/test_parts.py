"""Lines that a container runtime cut into parts say what the whole line says."""

import json

import pytest

from logdirwatch.parse.broker_log.entries import Entries
from tests.unit.parse.broker_log.layouts import NANO, told
from tests.unit.parse.broker_log.logs import CHANNEL

RUNTIME_BYTES = 16_384
LONG = "Error while rolling log segment for t-0 in dir /d1 " + "x" * 2 * RUNTIME_BYTES
LAYOUTS = ["Apache", "ECS", "log4j2's JsonLayout", "Strimzi since 4.0"]


def docker(text, stream="stdout"):
    return json.dumps({"log": text, "stream": stream, "time": NANO}, separators=(",", ":"))


def containerd(text, stream="stdout"):
    tag = "F" if text.endswith("\n") else "P"
    return f"{NANO} {stream} {tag} {text.rstrip(chr(10))}"


def cut(text, write):
    pieces = [line[at : at + RUNTIME_BYTES] for line in text.splitlines(keepends=True)
              for at in range(0, len(line), RUNTIME_BYTES)]  # fmt: skip
    return [write(piece) for piece in pieces]


def entries_of(lines):
    reader = Entries()
    found = [entry for line in lines for entry in reader.feed(f"{line}\n".encode())]
    return [*found, *reader.end()], reader


@pytest.mark.parametrize("write", [docker, containerd])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_line_in_parts_is_one_entry(layout, write):
    text = told(layout, "ERROR", CHANNEL, LONG, "java.io.IOException: No space left on device")
    found, reader = entries_of(cut(text, write))
    assert [("LogDirFailureChannel" in entry.logger, entry.more[0]) for entry in found] == [
        (True, "java.io.IOException: No space left on device")
    ]
    assert reader.not_understood_lines == 0


@pytest.mark.parametrize("write", [docker, containerd])
def test_another_stream_may_write_between_two_parts(write):
    first, *rest = cut(told("Apache", "ERROR", CHANNEL, LONG), write)
    found, _ = entries_of([first, write("OpenJDK 64-Bit Server VM warning: x\n", "stderr"), *rest])
    assert [entry.logger for entry in found] == ["java", CHANNEL]
    assert found[1].message == LONG


@pytest.mark.parametrize("write", [docker, containerd])
def test_parts_are_held_until_their_line_ends(write):
    first, *_ = cut(told("Apache", "ERROR", CHANNEL, LONG), write)
    reader = Entries()
    assert list(reader.feed(f"{first}\n".encode())) == []
    assert reader.held_bytes == len(first) + 1
    assert len(list(reader.end())) == 1
    assert reader.held_bytes == 0


def test_json_without_line_ends_is_of_no_runtime_that_cuts_lines():
    lines = [
        docker(line) for line in told("Apache", "ERROR", CHANNEL, "Error in dir /d1", "x.y.Exception").splitlines()
    ]
    found, _ = entries_of(lines)
    assert [entry.message for entry in found] == ["Error in dir /d1"]
