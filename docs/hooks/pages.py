"""Pages that are not files of docs/: the reference, written from the code, and the pages of the repository itself."""

import re
from pathlib import Path

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.reference import pages

PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
"""Pages of the repository's root that the site shows as well, and where."""


UNSEARCHED = ("decisions/", "contributing/", "project/changelog.md", "benchmarks.md", "kip-coverage.md")
"""Pages for those who build logdirwatch: the search of its users leaves them out."""


WORDS: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("search_words.yaml").read_text(encoding="utf-8"))
"""What readers search for, by the page that answers it."""


def on_page_markdown(_markdown: str, *, page: Page, **_: object) -> None:
    """Keep the pages of ``UNSEARCHED`` out of the search, and have the others found by their words."""
    if page.file.src_uri.startswith(UNSEARCHED):
        page.meta["search"] = {"exclude": True}
    page.meta["tags"] = WORDS.get(page.file.src_uri, [])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files of docs/."""
    for path, text in contents(Path(config.config_file_path).parent).items():
        files.append(File.generated(config, path, content=text))
    return files


def contents(root: Path) -> dict[str, str]:
    """Return the text of each such page by its path; ``root`` is the repository's folder."""
    project = {path: _relinked((root / name).read_text(encoding="utf-8")) for name, path in PROJECT.items()}
    return {**pages.generated(get_command(app)), **project}


def _relinked(text: str) -> str:
    """Return a page of the root with its links as they are one folder below docs/."""
    for name, path in PROJECT.items():
        text = text.replace(f"]({name}", f"](../{path}")
    return re.sub(r"\]\(docs/", "](../", text)
