"""What the workers' daemon imports before it forks them."""

import subprocess
import sys

IMPORT = """
import psutil
from logdirwatch.jobs import worker_daemon
worker_daemon.import_modules()
print(psutil.Process().num_threads())
"""


def test_every_module_is_imported_in_a_single_thread():
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("1", "")
