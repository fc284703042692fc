"""``.ci/release``: version, changelog and tags agree, and a release is described in a length that people read."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from logdirwatch import __version__

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
LONGEST = 60
KEPT = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-26\n\n- b\n\n## [0.1.0] - 2026-11-21\n\n- a\n"
UNRELEASED = KEPT.replace("[Unreleased]\n", "[Unreleased]\n\n- c\n")


def sections():
    """Return the text of each section by the version that it describes."""
    _, *parts = re.split(r"^## \[(.+?)\].*$", CHANGELOG, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def release(tmp_path):
    """Return a function that runs the check in a repository of one commit with a version, a changelog and tags."""

    def run(version, changelog=KEPT, tags=(), commits=1, arguments=()):
        package = tmp_path / "streaming" / "logdirwatch"
        package.mkdir(parents=True)
        package.joinpath("__init__.py").write_text(f'"""A text."""\n\n__version__ = "{version}"\n')
        tmp_path.joinpath("CHANGELOG.md").write_text(changelog)
        git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=one"], check=True)
        for tag in tags:
            subprocess.run([*git, "tag", tag], check=True)
        for _ in range(commits - 1):
            subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=more"], check=True)
        command = [sys.executable, ROOT / ".ci" / "release", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout + done.stderr).splitlines()

    return run


def test_version_and_changelog_of_this_repository_agree():
    command = [sys.executable, ROOT / ".ci" / "release"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, f"version, changelog and tags agree: {__version__}\n")


@pytest.mark.parametrize("version", sections())
def test_a_release_is_described_in_a_length_that_people_read(version):
    bullets = re.findall(r"^- ", sections()[version], re.MULTILINE)
    assert len(bullets) <= LONGEST, "merge what belongs together, and leave out what users do not notice"


@pytest.mark.parametrize("version", sections())
def test_the_changelog_uses_the_headings_of_keep_a_changelog(version):
    headings = re.findall(r"^### (.+)$", sections()[version], re.MULTILINE)
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    assert headings == [heading for heading in order if heading in headings]


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("0.2.0", {}),
        ("0.2.0", {"tags": ["v0.1.0", "v0.2.0"], "arguments": ["v0.2.0"]}),
        ("0.3.0.dev0", {"changelog": UNRELEASED, "tags": ["v0.2.0"], "commits": 2}),
    ],
    ids=["before the tag", "tagged", "between releases"],
)
def test_what_agrees_passes(release, version, more):
    assert release(version, **more) == (0, [f"version, changelog and tags agree: {version}"])


@pytest.mark.parametrize(
    ("version", "more", "says"),
    [
        ("0.2.1", {}, "version 0.2.1 is not the newest release 0.2.0 of CHANGELOG.md"),
        ("0.2.0.dev0", {}, "version 0.2.0.dev0 is not later than the newest release 0.2.0 of CHANGELOG.md"),
        ("0.2.0", {"arguments": ["v0.3.0"]}, "the tag v0.3.0 is not that of version 0.2.0"),
        ("0.3.0.dev0", {"arguments": ["v0.3.0"]}, "the tag v0.3.0 is not that of version 0.3.0.dev0"),
        (
            "0.2.0",
            {"changelog": UNRELEASED},
            "CHANGELOG.md: version 0.2.0 is to be released, and [Unreleased] is not empty",
        ),
        (
            "0.2.0",
            {"tags": ["v0.2.0"], "commits": 2},
            "the tag v0.2.0 is on another commit: between releases the version ends in .dev0",
        ),
        ("0.2.0", {"changelog": KEPT.replace(" - 2026-11-21", "")}, "CHANGELOG.md: 0.1.0 has no date"),
        ("0.3.0-alpha", {}, "0.3.0-alpha is not the newest release 0.2.0 of CHANGELOG.md"),
    ],
)
def test_what_does_not_agree_is_named(release, version, more, says):
    code, lines = release(version, **more)
    assert code == 1
    assert any(line.endswith(says) for line in lines), lines


@pytest.fixture
def sbom(tmp_path):
    """Return a function that writes the bill of materials of a lock, twice, and returns the two texts."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    package = tmp_path / "streaming" / "logdirwatch"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text('__version__ = "9.8.7"\n')

    def run(lock):
        tmp_path.joinpath("requirements.lock").write_text(lock)
        for name in ("one.json", "two.json"):
            command = [sys.executable, ROOT / ".ci" / "sbom", Path(sys.executable).parent, f"dist/{name}"]
            subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return [(tmp_path / "dist" / name).read_text() for name in ("one.json", "two.json")]

    return run


def test_the_bill_of_materials_holds_every_pinned_package_and_is_the_same_each_time(sbom):
    marker = "; python_full_version < '3.11'"
    first, second = sbom(
        f"typer==0.29.1 {marker} \\\n    --hash=sha256:{'0' * 64}\nTyper==0.29.2 \\\n    --hash=sha256:{'1' * 64}\n"
    )
    assert first == second
    bill = json.loads(first)
    assert [(part["name"], part["version"]) for part in bill["components"]] == [
        ("Typer", "0.29.2"),
        ("typer", "0.29.1"),
    ]
    component = bill["metadata"]["component"]
    assert (component["name"], component["version"]) == ("logdirwatch", "9.8.7")
    assert "timestamp" not in bill["metadata"]


def test_the_security_policy_names_the_newest_minor_version_and_its_day():
    newest, *_ = re.findall(r"^## \[(\d+\.\d+)\.0\] - (\S+)$", CHANGELOG, re.MULTILINE)
    first_row, *_ = re.findall(r"^\| (\d+\.\d+) \| (\S+) \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert first_row == newest
