"""What the repository promises about itself."""

import ast
import importlib.metadata
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.model.vocabulary import Rule
from logdirwatch_lab.main import commands as lab

ROOT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "requirements-dev.lock"]
TARGETS = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0].split()

# Written in pieces, so that this file passes its own check.
FORBIDDEN = {
    "a package registry": re.compile(
        "|".join(
            [
                "pypi" + r"\.org",
                "python" + r"hosted\.",
                r"repo1?\.mav" + "en",
                "index" + "-url=",
                "//[^/ ]*arti" + "factory",
            ]
        )
    ),
    "a path of one machine": re.compile("/" + r"(root|work)/|/tmp/" + r"w\b|/home/" + r"\w+/"),
    "the place where it was built": re.compile(r"\.\./" + "shared|issues " + r"show\b"),
}
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def code_in(page: Path) -> Iterator[str]:
    """Yield the lines of code blocks, and inline code."""
    text = text_of(page)
    for block in re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def pinned(lock: str) -> set[str]:
    """Return what a lock pins, as ``name==version``."""
    return {line.split()[0] for line in text_of(ROOT / lock).splitlines() if line[0].isalnum()}


def normal(name: str) -> str:
    """Return a distribution's name as locks write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module


def calls(page: Path, program: str) -> list[str]:
    return [line.strip() for line in code_in(page) if re.match(rf"(\.venv/bin/)?{program} \S", line.strip())]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_names(what):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if FORBIDDEN[what].search(line)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_in_the_lock_is_pinned_with_hashes_and_names_no_index(name):
    lock = text_of(ROOT / name)
    requirements = lock.replace("\\\n", " ").splitlines()
    assert len(requirements) > 50
    for requirement in requirements:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ ", requirement), requirement[:80]
        assert "--hash=sha256:" in requirement, requirement[:80]
    assert "://" not in lock


def test_what_the_service_needs_is_pinned_as_the_tests_run_it_and_without_what_only_they_need():
    run_time, everything = (pinned(name) for name in LOCKS)
    assert run_time < everything
    names = {requirement.split("==")[0] for requirement in run_time}
    assert names >= {"pyspark", "delta-spark", "kafka-python", "great-expectations", "hatchling"}
    assert not names & {"pytest", "mypy", "playwright", "ruff", "mkdocs-material", "grafana-foundation-sdk", "trino"}


def test_the_service_imports_nothing_but_what_its_lock_holds():
    modules = {
        name.split(".")[0]
        for path in (ROOT / "streaming").rglob("*.py")
        for node in ast.walk(ast.parse(text_of(path)))
        for name in imported(node)
    }
    foreign = modules - {*sys.stdlib_module_names, "logdirwatch"}
    distributions = importlib.metadata.packages_distributions()
    names = {requirement.split("==")[0] for requirement in pinned("requirements.lock")}
    missing = {module for module in foreign if not {normal(name) for name in distributions[module]} & names}
    assert missing == {"botocore"}, "which only Amazon's login needs: without it, an error says what to install"


@pytest.fixture(scope="module")
def programs():
    return {"logdirwatch": get_command(app), "logdirwatch-lab": get_command(lab)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_documentation_exist(programs, page):
    for call, program in [(call, program) for name, program in programs.items() for call in calls(page, name)]:
        command, rest = program, shlex.split(call, comments=True)[1:]
        while rest and not rest[0].startswith("-") and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        words = [word for word in rest if not word.startswith("-")]
        options = {name for parameter in command.params for name in parameter.opts} | {"--help"}
        assert not (hasattr(command, "commands") and words), f"no such command: {call}"
        unknown = [word for word in rest if word.startswith("--") and word not in options]
        assert not unknown, f"no such option {unknown}: {call}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_targets_in_the_documentation_exist(page):
    for call in calls(page, "make"):
        words = shlex.split(call, comments=True)[1:]
        assert {word for word in words if "=" not in word} <= set(TARGETS), call


def test_the_makefile_has_every_target_with_a_line_of_help():
    makefile = text_of(ROOT / "Makefile")
    assert [name for name in TARGETS if not re.search(rf"^{name}:.*## \S", makefile, re.MULTILINE)] == []


def test_every_command_says_what_it_does():
    def silent(command, name):
        children = getattr(command, "commands", {})
        found = [silent(child, f"{name} {below}") for below, child in children.items()]
        return ([] if command.help else [name]) + [name for names in found for name in names]

    assert silent(get_command(app), "logdirwatch") == []


def test_every_rule_that_can_fire_has_a_runbook():
    package = ROOT / "streaming" / "logdirwatch"
    judging = [path for folder in ("detect", "fleet") for path in (package / folder).rglob("*.py")]
    used = {name for path in judging for name in re.findall(r"\bRule\.([A-Z_]+)\b", text_of(path))}
    rules = {Rule[name].value for name in used}
    pages = {path.stem for path in (ROOT / "docs" / "runbooks").glob("*.md")} - {"index"}
    assert rules == pages


@pytest.mark.parametrize(
    "body",
    [
        "import pytest\n@pytest.mark.skip\ndef test_a(): pass",
        "import pytest\npytest.skip('x', allow_module_level=True)",
    ],
    ids=["a test", "a file"],
)
def test_what_is_skipped_fails_the_run(tmp_path, body):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(f"{body}\n")
    (tmp_path / "test_other.py").write_text("def test_b(): pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "SKIPPED, which fails the run: test_it.py" in ended.stdout


def test_the_log_configuration_that_people_find_is_the_one_that_spark_gets():
    from logdirwatch.jobs import session

    assert (ROOT / "conf" / "log4j2.properties").read_text() == session._LOG4J2.read_text()
