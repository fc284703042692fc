"""``python -m tests.versions.matrix``: the table of releases of Kafka, and of what was right and wrong with each.

Runs the tests of releases on real brokers, one release after the other, and prints a line of the table for each: a cell
is right, wrong, or absent where the test does not run with the release. Exit code 1 if a cell is wrong.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from logdirwatch.reference.support import TESTED_KAFKA

COLUMNS = {
    "a_release_tells_what_it_can": "what it reports; a failed directory leads to alert and action",
    "lost_directories_page": "failed directories: what is advised, pasted",
    "a_filling_directory_is_told_of": "filling directory: what is advised, pasted",
    "a_directory_that_fills_is_emptied": "filling directory: `apply`",
    "a_directory_that_ran_full": "full directory: told, and its return",
}
"""What a test shows, by the beginning of its name."""
TESTS = ("tests/kafka/test_versions.py", "tests/versions/test_story.py")


def main() -> int:
    """Run the tests of each release, and print its line."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions.matrix", description=__doc__)
    releases = [f"{version}-{mode.value}" for version, mode in TESTED_KAFKA]
    parser.add_argument("--release", action="append", choices=releases, help="only this one; may be repeated")
    given = parser.parse_args()
    _say("| Kafka | " + " | ".join(COLUMNS.values()) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
    is_wrong = False
    for release in given.release or releases:
        cells = cells_of(outcomes(release))
        is_wrong |= "wrong" in cells
        _say(f"| {release.replace('-', ', ')} | " + " | ".join(cells) + " |")
    return is_wrong


def outcomes(release: str) -> Mapping[str, bool]:
    """Run the tests of a release; return whether each passed, by its name without ``test_``."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", *TESTS, "-m", "", "-k", release, f"--junitxml={report}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.stderr.write(done.stdout)
        return passed(ElementTree.parse(report).iter("testcase"))


def passed(cases: Iterable[ElementTree.Element]) -> dict[str, bool]:
    """Return by name whether a test passed; an error around it counts as a failure of it."""
    found: dict[str, bool] = {}
    for case in cases:
        name = re.sub(r"\[.*", "", case.attrib["name"]).removeprefix("test_")
        is_right = case.find("failure") is None and case.find("error") is None
        found[name] = found.get(name, True) and is_right
    return found


def cells_of(ran: Mapping[str, bool]) -> list[str]:
    """Return right, wrong or absent for each column."""
    words = {True: "right", False: "wrong", None: "absent"}
    return [words[next((right for name, right in ran.items() if name.startswith(one)), None)] for one in COLUMNS]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
