"""Pictures of the console over the tables of a bad night, for the documentation.

    python -m tests.browser.screenshots [FOLDER]

By day, by night and on a phone; the browser is that of the tests.
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


def main(folder: Path) -> None:
    """Write one picture for each page and look."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as root, sync_playwright() as driver:
        tables = Path(root) / "tables"
        night.write(Written(tables))
        browser = driver.chromium.launch(executable_path=chromium.program(), args=["--no-sandbox", *chromium.FLAGS])
        with serving(tables, **CALM) as address:
            for look, options in LOOKS.items():
                page = browser.new_context(**options).new_page()
                for name, path in PAGES.items():
                    page.goto(f"http://{address}{path}")
                    page.screenshot(path=folder / f"console-{name}-{look}.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
