"""``logdirwatch plan --what-if``: what people and programs read, and how it refuses."""

import csv
import io
import json

import pytest

from tests.unit.cli.reading.test_plan_source import MIB, Lake, clock, lake

__all__ = ("clock", "lake")
GROWING = {"growth_bytes_per_s": float(MIB)}


@pytest.fixture
def prod(lake: Lake):
    lake.cluster(d1=GROWING, d2=GROWING)


def test_people_read_what_is_full_first_and_what_is_copied(run, prod):
    ended = run("plan", "--what-if", "add-disks=7:8TB", "--what-if", "growth=2x")
    assert (ended.exit_code, ended.err) == (0, "")
    out = ended.out
    assert "what if growth=2x, add-disks=7:8TB" in out
    assert "first full before: broker 7 /d1 in about 3 min 20 s; after: broker 7 /d2 in about 7 min 30 s" in out
    assert "copied     3 replicas, 450 MiB: 450 MiB within brokers, 0 B between them" in out
    assert "cluster prod: state of 5 s ago, inventory of 5 s ago" in out
    assert "broker 7 new-1  new" in out


def test_programs_read_every_directory(run, prod):
    told = json.loads(run("plan", "--what-if", "growth=2x", "--json").out)
    assert (told["cluster"], told["what_if"], told["moves"]["bytes"]) == ("prod", ["growth=2x"], 0)
    assert [one["log_dir"] for one in told["directories"]] == ["/d1", "/d2"]
    assert told["directories"][0]["before"]["full_in_ms"] == 2 * told["directories"][0]["after"]["full_in_ms"]
    rows = list(csv.DictReader(io.StringIO(run("plan", "--what-if", "growth=2x", "--csv").out)))
    assert [(row["cluster"], row["broker"], row["log_dir"]) for row in rows] == [
        ("prod", "7", n) for n in ("/d1", "/d2")
    ]
    assert int(rows[0]["full_in_ms_after"]) == told["directories"][0]["after"]["full_in_ms"]


def test_old_tables_are_tried_and_their_age_is_said(run, lake):
    lake.cluster(age_ms=90_000_000, d1=GROWING)
    ended = run("plan", "--what-if", "add-disks=7:8TB")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "state of 1 d 1 h ago" in ended.out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "name a --mode, or a change with --what-if"),
        (["--what-if", "loose-broker=7"], "there is no such change; did you mean lose-broker?"),
        (["--what-if", "lose-broker=7"], "prod has no other broker"),
        (["--what-if", "retention=t:3d"], "the retention of t is not known"),
        (["--what-if", "growth=2x", "--live"], "cannot be combined with --model, --live"),
        (["--what-if", "growth=2x", "--mode", "fix"], "cannot be combined with --mode fix"),
        (["--what-if", "growth=2x", "--mode", "evacuate:7:/d1"], "cannot be combined with --mode evacuate:7:/d1"),
        (["--what-if", "growth=2x", "--steps", "s.json"], "writes no files"),
        (["--what-if", "growth=2x", "--json", "--csv"], "--json and --csv cannot be combined"),
    ],
)
def test_what_cannot_be_tried_is_one_line(run, prod, arguments, why):
    ended = run("plan", *arguments)
    assert (ended.exit_code, ended.out) == (2, "")
    assert why in ended.err
    assert ended.err.count("\n") == 1
