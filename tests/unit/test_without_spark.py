"""Where Spark is not installed: what needs it says so in one line, and nothing else needs it."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules.update(dict.fromkeys(('pyspark', 'py4j', 'delta')))"
RUN_WITH_SPARK = (
    "logdirwatch.jobs.",
    "logdirwatch.store.",
    "logdirwatch.jobs.processors",
    "logdirwatch.pipeline.watch",
    "logdirwatch.plan.cluster.from_tables_spark",
    "logdirwatch.quality.examine",
)
"""What the queries and jobs are made of."""
IMPORT_ALL = f"""
{WITHOUT}
import pkgutil, logdirwatch
for module in pkgutil.walk_packages(logdirwatch.__path__, "logdirwatch.", onerror=lambda name: None):
    if not module.name.startswith({RUN_WITH_SPARK!r}) and not module.name.endswith("__main__"):
        __import__(module.name)
"""


def python(code, *arguments, cwd):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_no_other_module_imports_spark(tmp_path):
    done = python(IMPORT_ALL, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["stream"], ["tables", "optimize"], ["validate"], ["checkpoint"]], ids=" ".join)
def test_a_command_that_needs_spark_says_what_to_install(tmp_path, arguments):
    done = python(f"{WITHOUT}; from logdirwatch.cli.main import main; main()", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("logdirwatch: this command needs Spark (pyspark, delta-spark not found); install it with: ")
    assert line.endswith("pip install 'logdirwatch[spark]'")
