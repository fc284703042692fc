"""Helm, and what it makes of the chart."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "conf" / "helm" / "logdirwatch"
# The release of Kubernetes that helm takes for the one it talks to.
KUBERNETES = "1.33.0"


class RefusedError(Exception):
    """Helm did not take the values; the text is what it said."""


class Helm:
    """One helm, which never talks to a cluster."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        # What this machine is configured for is nothing to the chart.
        home = {name: str(folder) for name in ("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}
        self.environment = {"PATH": os.environ["PATH"], **home}

    def run(self, *words):
        done = subprocess.run([self.program, *words], env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RefusedError(done.stdout + done.stderr)
        return done.stdout

    def _values(self, values):
        path = self.folder / "values.yaml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        return f"--values={path}"

    def lint(self, values):
        return self.run("lint", "--strict", str(CHART), "--kube-version", KUBERNETES, self._values(values))

    def render(self, values):
        """Return the manifests of a release named ``disks``."""
        text = self.run("template", "disks", str(CHART), "--kube-version", KUBERNETES, self._values(values))
        return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def program():
    """Return helm's path: the one that is named, on the path, or beside this Python."""
    named = os.environ.get("TEST_HELM")
    found = named or shutil.which("helm") or shutil.which("helm", path=str(Path(sys.executable).parent))
    return found or pytest.fail("no helm: run .ci/helm, or name one in TEST_HELM", pytrace=False)


@pytest.fixture
def helm(tmp_path):
    return Helm(program(), tmp_path)
