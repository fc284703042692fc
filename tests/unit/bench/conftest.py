"""The benchmarks are scripts beside each other, and no package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "bench"))
