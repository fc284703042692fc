"""The browser that the tests drive: one that is installed here; none is ever downloaded."""

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
NAMED = "TEST_CHROMIUM"
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name leads anywhere but here; what a page asks of others is recorded before that.
    "--host-resolver-rules=MAP console.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def program() -> str:
    """Return the browser's path.

    Raises FileNotFoundError, whose text is one line that says what to do.
    """
    named = os.environ.get(NAMED)
    if named:
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise FileNotFoundError(f"{NAMED}={named} is no program: name a Chromium there, or unset it")
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise FileNotFoundError(f"no browser: run make test-browser, or name a Chromium in {NAMED}")
    return found
