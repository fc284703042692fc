"""Pictures of the console over the tables of a bad night, for the documentation.

    python -m tests.browser.screenshots docs/images     # make screenshots: those that the documentation shows
    python -m tests.browser.screenshots FOLDER --all    # every page by day, by night and on a phone, to look at

The browser is that of the tests.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import chromium, night
from tests.browser.conftest import CALM
from tests.browser.test_accessible import PAGES, PHONE
from tests.support.console import serving
from tests.support.delta import Written

DESK = {"viewport": {"width": 1280, "height": 800}}
LOOKS = {
    "light": {**DESK, "color_scheme": "light"},
    "dark": {**DESK, "color_scheme": "dark"},
    "phone": {**PHONE, "color_scheme": "light"},
}


SHOWN = (("fleet", "light"), ("directory", "dark"))
"""The pictures of the documentation, as page and look."""


def main(folder: Path, *, everything: bool = False) -> None:
    """Write a picture of each page and look that the documentation shows, or of all."""
    wanted = [(page, look) for page in PAGES for look in LOOKS] if everything else SHOWN
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as root, sync_playwright() as driver:
        tables = Path(root) / "tables"
        night.write(Written(tables))
        browser = driver.chromium.launch(executable_path=chromium.program(), args=["--no-sandbox", *chromium.FLAGS])
        with serving(tables, **CALM) as address:
            for name, look in wanted:
                page = browser.new_context(**LOOKS[look]).new_page()
                page.goto(f"http://{address}{PAGES[name]}")
                page.screenshot(path=folder / f"console-{name}-{look}.png", full_page=True)
                page.context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), everything="--all" in sys.argv[2:])
