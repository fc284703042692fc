"""Every decision record has a status and a date, and is in the index; what supersedes one is there."""

import datetime
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("0*.md"))
LINK = r"\[decision (\d+)\]\((\d{4}-[a-z0-9-]+\.md)\)"
STATUS = re.compile(rf"accepted|(?:accepted, superseded in part|superseded) by {LINK}(?:, except for .+)?")
HEAD = re.compile(r"# (\d+)\. .+\n\n- Status: (.+)\n- Date: (\d{4}-\d\d-\d\d)\n\n")


def test_the_template_has_the_form_of_a_record():
    text = (FOLDER / "template.md").read_text(encoding="utf-8")
    assert HEAD.match(text.replace("# N.", "# 1.").replace("YYYY-MM-DD", "2026-01-01"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem[:4])
def test_a_record_has_its_number_a_status_and_a_date(path):
    found = HEAD.match(path.read_text(encoding="utf-8"))
    assert found, "begin as docs/decisions/template.md does"
    number, status, date = found.groups()
    assert int(number) == int(path.name[:4])
    assert STATUS.fullmatch(status), status
    datetime.date.fromisoformat(date)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem[:4])
def test_what_supersedes_a_record_is_a_later_one_that_names_it(path):
    text = path.read_text(encoding="utf-8")
    status = HEAD.match(text)[2]
    for number, name in re.findall(LINK, status):
        assert path.name < name
        assert int(number) == int(name[:4])
        assert path.name in (FOLDER / name).read_text(encoding="utf-8")


def test_the_index_lists_every_record_once_in_order():
    listed = re.findall(r"^\| \[(\d+)\]\((.+?)\)", (FOLDER / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [(str(int(path.name[:4])), path.name) for path in RECORDS]
