"""Child processes end with this one, even when it is killed."""

import shutil


def dying_with_parent() -> list[str]:
    """Return the prefix of a command that lets the kernel end the child when the thread that starts it has ended.

    It is ``PR_SET_PDEATHSIG`` of prctl(2), which stays in force when the child executes another program. Empty where
    there is no ``setpriv`` of util-linux, as on macOS.
    """
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
