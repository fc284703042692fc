"""What the search of the built documentation finds first, asked as a reader does."""

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.browser.visits import PATIENCE_MS

ROOT = Path(__file__).parents[2]

WORDS = yaml.safe_load((ROOT / "docs" / "hooks" / "search_words.yaml").read_text(encoding="utf-8"))
FIRST = {word: page.removesuffix(".md") + "/" for page, words in WORDS.items() for word in words}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing about requests."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the documentation, built now."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def found(site, browser):
    """A function that returns the pages that a search finds, the best first."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(site)
    box, results = page.locator(".md-search__input"), page.locator(".md-search-result__item")

    def search(words):
        for text, state in (("", "detached"), (words, "visible")):
            box.fill(text)
            # What searches listens for keys alone.
            box.dispatch_event("keyup")
            results.first.wait_for(state=state)
        links = page.locator(".md-search-result__item > a:first-child").all()
        return [urlsplit(link.get_attribute("href")).path.lstrip("/") for link in links]

    yield search
    context.close()


@pytest.mark.parametrize(("words", "path"), FIRST.items(), ids=FIRST)
def test_the_page_that_answers_is_found_first(found, words, path):
    assert found(words)[0] == path


def test_pages_for_builders_are_not_found(found):
    pages = found("decision") + found("kip") + found("benchmark")
    assert [page for page in pages if page.startswith(("decisions/", "benchmarks/", "kip-coverage/"))] == []
