"""What the documentation owes to whoever was woken: every word of a record explained, every example one that holds."""

import json
import re
import textwrap
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.doctor.findings import CHECKS
from logdirwatch.model import vocabulary as words
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.topics import TOPICS
from logdirwatch.plan.action_types import EXECUTABLE
from logdirwatch.reference.pages import generated
from logdirwatch.reference.schemas import RECORDS, json_schema
from logdirwatch.settings import ClusterSettings, Settings
from logdirwatch.store.schema.definitions import TABLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
RUNBOOKS = sorted(path for path in (DOCS / "runbooks").glob("*.md") if path.stem != "index")
REFERENCE = generated(get_command(app))

EXPLAINED = [
    (words.LogDirStatus, "statuses", "Log directories"),
    (words.Cause, "statuses", "Why is it offline?"),
    (words.FullBy, "statuses", "Why is it offline?"),
    (words.KernelTrouble, "statuses", "Suspect"),
    (words.BrokerStatus, "statuses", "Brokers"),
    (words.PollStatus, "statuses", "Brokers"),
    (words.MetadataMode, "statuses", "What a release cannot report"),
    (words.NotReported, "statuses", "What a release cannot report"),
    (CapacitySource, "statuses", "What a release cannot report"),
    (words.ReplicaStatus, "statuses", "Replicas and partitions"),
    (words.ReplicaCause, "statuses", "Replicas and partitions"),
    (words.Rule, "alerts", "Alerts"),
    (words.Severity, "alerts", "Alerts"),
    (words.AlertStatus, "alerts", "How an alert lives"),
    (words.Lane, "alerts", "Two lanes"),
    (words.EventName, "alerts", "Events"),
    (BrokerFailureReason, "alerts", "Why a broker is away"),
    (words.ActionStatus, "actions", "Status"),
    (words.Decision, "planned", "For programs"),
    (words.OperationKind, "actions", "Operations"),
    (words.ClusterOwner, "actions", "Owner"),
    (words.ExecutionState, "../apply", "States"),
]


def section(page, title):
    """Return what stands below a heading, up to the next one."""
    text = (DOCS / "concepts" / f"{page}.md").read_text(encoding="utf-8")
    return re.split(r"^#", re.split(rf"^#+ {re.escape(title)}$", text, flags=re.MULTILINE)[1], flags=re.MULTILINE)[0]


def first_cells(text):
    """Return the words that begin a table's row, with or without a link."""
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    return {word for row in rows if len(row) > 3 and row[2].strip() for word in re.findall(r"`([^`]+)`", row[1])}


def blocks(language):
    for page in PAGES:
        for found in re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            yield pytest.param(textwrap.dedent(found), id=f"{page.stem}: {found.split(':')[0].strip()[:30]}")


def test_apply_says_of_every_kind_whether_it_can_be_carried_out():
    can, never = (first_cells(part) for part in apply_page().split("never applied", 1))
    assert can == {str(kind) for kind in EXECUTABLE}
    assert (never | can) - {"data_loss"} == {str(kind) for kind in words.ActionKind}


def apply_page():
    """Return the section on kinds, as far as the tables of both sorts go."""
    text = (DOCS / "apply.md").read_text(encoding="utf-8")
    return text.split("{#kinds}", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize(
    ("vocabulary", "page", "title"), EXPLAINED, ids=lambda value: getattr(value, "__name__", value)
)
def test_every_word_that_a_record_may_hold_is_explained(vocabulary, page, title):
    assert {word.value for word in vocabulary} - first_cells(section(page, title)) == set()


def test_no_vocabulary_is_forgotten_here():
    told = {vocabulary for vocabulary, *_ in EXPLAINED if vocabulary.__module__ == words.__name__} | {
        words.ActionKind,
        words.Departure,
        words.StrEnum,
    }
    assert {kind for kind in vars(words).values() if isinstance(kind, type) and issubclass(kind, words.StrEnum)} == told


@pytest.mark.parametrize("word", [*words.ActionKind, *words.Departure])
def test_every_kind_of_action_and_departure_is_spoken_of(word):
    assert any(f"`{word}`" in path.read_text() for path in (DOCS / "concepts").glob("*.md"))


def test_every_rule_has_a_runbook_and_every_page_leads_there():
    rules = {rule.value for rule in words.Rule}
    assert {path.stem for path in RUNBOOKS} == rules
    for page in (DOCS / "runbooks" / "index.md", DOCS / "concepts" / "alerts.md"):
        assert {rule for rule in rules if f"{rule}.md)" not in page.read_text(encoding="utf-8")} == set(), page


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_a_runbook_says_what_it_means_what_to_do_and_when_it_is_over(path):
    text = path.read_text(encoding="utf-8")
    assert re.match(rf"# {path.stem}: .+\n\n\*\*Means\.\*\*", text)
    assert "**Do.**" in text or re.search(r"\*\*If it .*\n\n1\. ", text)
    assert "**Resolved" in text


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_and_column_is_in_the_reference_with_its_meaning(table):
    (told,) = re.findall(rf"^## {table.name}\n(.*?)(?:^## |\Z)", REFERENCE["reference/tables.md"], re.M | re.S)
    assert table.comment in told
    assert table.columns
    for column in table.columns:
        assert f"| `{column.name}` | {column.kind.replace('<', '&lt;')} | {column.comment} |" in told
        assert column.comment.strip()


def test_every_topic_record_and_field_is_in_the_reference():
    assert [topic.name for topic in TOPICS if f"| `{topic.name}` |" not in REFERENCE["reference/topics.md"]] == []
    for name in RECORDS:
        assert f"## {name}\n" in REFERENCE["reference/records.md"]
        fields = {field for kind in json_schema(name)["$defs"].values() for field in kind.get("properties", ())}
        assert {field for field in fields if f"| `{field}` |" not in REFERENCE["reference/records.md"]} == set()


def test_every_check_of_the_doctor_is_explained_with_what_to_do():
    assert first_cells((DOCS / "doctor.md").read_text(encoding="utf-8")) == set(CHECKS)


@pytest.mark.parametrize("block", list(blocks("yaml")))
def test_configuration_in_the_documentation_is_accepted(block):
    content = yaml.safe_load(block)
    if "lowercaseOutputName" in content:
        return  # The exporter's; tests/unit/collect/exporter/test_mbeans.py reads it.
    if set(content) <= set(ClusterSettings.model_fields):
        # Passwords come from the environment, as the page says.
        content.get("jmx_exporter", {}).setdefault("password", "x")
        content = {"clusters": {"prod": {"bootstrap_servers": "b1:9092", **content}}}
    Settings.model_validate(content)


@pytest.mark.parametrize("block", list(blocks("json")))
def test_json_in_the_documentation_is_json(block):
    assert json.loads(block)
