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


SHARE = """
import importlib
import sys
import zipfile
import zipimport
archive = sys.argv[1]
with zipfile.ZipFile(archive, "w") as written:
    written.writestr("packed.py", "")
sys.path.insert(0, archive)
import packed
from logdirwatch.jobs import worker_daemon
worker_daemon.keep_shared()
zipimport._read_directory = lambda path: print("read", path)
importlib.invalidate_caches()
"""


def test_a_worker_that_invalidates_the_caches_of_imports_reads_no_archive(tmp_path):
    command = [sys.executable, "-c", SHARE, str(tmp_path / "packed.zip")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
