"""One Chromium for all tests, a console over the tables of a bad night, and windows that report what went wrong."""

import os
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser import chromium, night
from tests.browser.visits import PATIENCE_MS, Visit
from tests.support.console import serving
from tests.support.delta import Written

# The tables are written once; nobody may call them old because a machine is slow, nor may a page look again unasked.
CALM = {"detect__state_refresh_ms": 3_600_000, "collect__inventory_interval_ms": 3_600_000, "console__refresh_s": 3_600}


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    try:
        program = chromium.program()
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
    expect.set_options(timeout=PATIENCE_MS)
    home = str(tmp_path_factory.mktemp("browser"))
    with sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=program,
            headless=True,
            # Chromium refuses to run as root within its own sandbox.
            chromium_sandbox=os.geteuid() != 0,
            args=list(chromium.FLAGS),
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
            timeout=PATIENCE_MS,
        )
        yield started
        started.close()


@pytest.fixture(scope="session")
def console(tmp_path_factory):
    """The address of a console over the tables of the night."""
    root = tmp_path_factory.mktemp("night") / "tables"
    night.write(Written(root))
    with serving(root, **CALM) as address:
        yield address


@pytest.fixture
def consoles(tmp_path):
    """Consoles of a test's own: tables that it wrote, and settings."""
    with ExitStack() as stack:
        yield lambda host="127.0.0.1", **settings: stack.enter_context(
            serving(tmp_path / "tables", host, **{**CALM, **settings})
        )


@pytest.fixture
def tables(tmp_path):
    return Written(tmp_path / "tables")


@pytest.fixture
def visits(browser):
    """Windows, each as a person of its own; a test fails for what went wrong in any of them."""
    opened = []
    with ExitStack() as stack:

        def visit(address, names=(), **options):
            context = stack.enter_context(browser.new_context(**options))
            context.set_default_timeout(PATIENCE_MS)
            opened.append(Visit(context.new_page(), address, names))
            return opened[-1]

        yield visit
        for visited in opened:
            assert visited.unexpected() == []
            assert visited.seen


@pytest.fixture
def visit(visits, console):
    """A window onto the night."""
    return visits(console)
