"""What a command imports before it does anything: people wait for it, also while Kafka is away."""

import subprocess
import sys

import pytest

HEAVY = {
    *("aiohttp", "apprise", "databricks", "deltalake", "flask", "great_expectations", "numpy", "pandas", "pyarrow"),
    *("py4j", "pyspark", "requests", "waitress"),
}
PROGRAM = (
    "import sys; from logdirwatch.cli.main import application; application(sys.argv[1]); "
    "print(*{name.partition('.')[0] for name in sys.modules})"
)


NEEDED = {"plan": {"numpy", "pyarrow"}}  # it calculates, and reads and writes CSV


@pytest.mark.parametrize("command", ["status", "alerts", "actions", "doctor", "plan", "maintenance", "topics", "init"])
def test_a_command_for_people_imports_nothing_heavy_that_it_may_not_need(command):
    done = subprocess.run([sys.executable, "-c", PROGRAM, command], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) <= NEEDED.get(command, set())
