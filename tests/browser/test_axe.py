"""axe-core's rules, over every page; test_accessible.py measures contrast by night. The package ships the script."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.test_accessible import PAGES

# Somebody who speaks to the machine says what is to be read. axe leaves this rule out unless it is asked.
OPTIONS = {"rules": {"label-content-name-mismatch": {"enabled": True}}}


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_axe_core_finds_no_violation(visits, console, path):
    page = visits(console, color_scheme="light").to(path)
    found = Axe().run(page, options=OPTIONS)
    assert found.violations_count == 0, found.generate_report()
    assert len(found.response["passes"]) > 10
