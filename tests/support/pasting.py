"""Commands as a person pastes them into a shell."""

import subprocess

from tests.support.waiting import DEADLINE_S


def paste(commands, folder, deadline_s=DEADLINE_S):
    """Paste commands into a shell in a folder, which is made if need be; all must succeed. Return what they print."""
    folder.mkdir(exist_ok=True)
    script = "\n".join(["set -e", *commands])
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=deadline_s, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout
