"""Where a reader finds a page and how it begins; links of the root's pages (mkdocs checks those of docs/)."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from markdown.extensions.toc import slugify

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHELVES = ["Start", "On call", "Run", "Reference"]
CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
NAVIGATION = CONFIGURATION["nav"]
EXCLUDED = tuple(CONFIGURATION["exclude_docs"].split())


def hook():
    """Return the module that adds the generated pages."""
    spec = importlib.util.spec_from_file_location("docs_pages", DOCS / "hooks" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILES = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
PAGES = {**{path: text for path, text in FILES.items() if not path.startswith(EXCLUDED)}, **hook().contents(ROOT)}


def listed(entry):
    """Return the paths of an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    children = entry.values() if isinstance(entry, dict) else entry
    return [path for child in children for path in listed(child)]


def test_the_home_page_is_followed_by_three_shelves_and_the_reference():
    home, *sections = NAVIGATION
    assert home == {"Home": "index.md"}
    assert [title for section in sections for title in section] == SHELVES


def test_every_page_is_in_the_navigation_once():
    assert Counter(listed(NAVIGATION)) == Counter(list(PAGES))


def opening(text):
    """Return what stands between a page's title and its next blank line, its code and links' addresses left out."""
    title, paragraph = (*text.split("\n\n"), "")[:2]
    assert re.fullmatch(r"# \S.*", title.strip()), f"the first line is no title: {title[:80]}"
    return re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", paragraph))


# Decisions have a form of their own (tests/unit/test_decisions.py).
@pytest.mark.parametrize("path", [path for path in PAGES if not re.match(r"decisions/\d", path)])
def test_a_page_begins_with_at_most_three_sentences_of_what_its_reader_finds(path):
    paragraph = opening(PAGES[path])
    assert re.match(r"[A-Z*`\[]|code|logdirwatch", paragraph), f"no paragraph: {paragraph[:80]}"
    assert len(re.findall(r"[.!?](?=\s|$)", paragraph)) in range(1, 4), paragraph


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_local_link_of_a_page_of_the_root_leads_to_a_page_and_its_heading(name):
    links = re.findall(r"\]\((?!https?://)([^)]+)\)", (ROOT / name).read_text(encoding="utf-8"))
    for link in links:
        path, _, anchor = link.partition("#")
        target = ROOT / (path or name)
        assert target.is_file(), link
        headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {slugify(heading, "-") for heading in headings}, link


def test_a_dead_link_fails_the_build_of_the_documentation():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (build,) = re.findall(r"mkdocs build.*", makefile)
    assert build.split() == ["mkdocs", "build", "--strict"], "--quiet hides warnings from --strict as well"
