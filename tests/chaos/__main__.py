"""``python -m tests.chaos --kills 10 --seed 1``: the stream under fire; exit code 1 for any difference."""

import argparse
import json
import random
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from logdirwatch import settings as configuration
from logdirwatch_lab.config import ClusterSpec
from tests.chaos.campaign import Campaign
from tests.kafka.conftest import cluster_in


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    arguments.add_argument("--kills", type=int, default=10, help="of the driver")
    arguments.add_argument("--seed", type=int, default=None, help="of the history and the strikes; none: any")
    arguments.add_argument("--each", type=int, default=5, help="kills of the driver before each strike of another kind")
    arguments.add_argument(
        "--minutes", type=float, default=1e9, help="how long to go on striking; none: until all is done"
    )
    arguments.add_argument("--only", default="", help="regular expression of the names of the other strikes; none: all")
    arguments.add_argument("--report", type=Path, help="JSON file to write what was found to")
    arguments.add_argument("--folder", type=Path, help="folder to keep tables, checkpoints and logs in")
    chosen = arguments.parse_args()
    # Mounts and processes go away also when somebody ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.SystemRandom().randrange(10**6) if chosen.seed is None else chosen.seed
    say(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="logdirwatch-chaos-") as scratch:
        folder = chosen.folder or Path(scratch) / "campaign"
        folder.mkdir(parents=True, exist_ok=True)
        with cluster_in(_made(Path(scratch) / "cluster"), ClusterSpec(brokers=1, log_dirs=1)) as cluster:
            settings = configuration.load(cluster.config_path)
            report = Campaign(cluster, settings, folder, seed, say, chosen.only).strike(
                chosen.kills, chosen.each, chosen.minutes
            )
    say("\n".join(report.lines()))
    if chosen.report:
        chosen.report.write_text(json.dumps(asdict(report), indent=2))
    return 1 if report.found else 0


def say(line: str) -> None:
    print(line, flush=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main())
