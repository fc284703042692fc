"""``python -m tests.chaos_apply --kills 8 --seed 1``: ``apply`` under fire; exit code 1 for anything that is wrong."""

import argparse
import json
import random
import re
import signal
import sys
import tempfile
from pathlib import Path

from logdirwatch import settings as configuration
from logdirwatch_lab.config import ClusterSpec
from tests.chaos_apply import drawn, named
from tests.chaos_apply.campaign import Campaign
from tests.kafka.applying import MIB, watched
from tests.kafka.conftest import cluster_in
from tests.kafka.telemetry import fresh_topics

SIZE_BYTES = 96 * MIB


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.chaos_apply", description=__doc__)
    arguments.add_argument("--kills", type=int, default=8, help="of the executor")
    arguments.add_argument("--schedules", type=int, default=40, help="drawn as for the model, each on real brokers")
    arguments.add_argument("--named", default="", help="regular expression of the names of runs; none: all")
    arguments.add_argument("--seed", type=int, default=None, help="of the moments and schedules; none: any")
    arguments.add_argument("--report", type=Path, help="JSON file to write what was found to")
    chosen = arguments.parse_args()
    # Mounts and processes go away also when somebody ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.SystemRandom().randrange(10**6) if chosen.seed is None else chosen.seed
    say(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="logdirwatch-chaos-") as scratch:
        folder = Path(scratch)
        for name in ("cluster", "logs"):
            (folder / name).mkdir()
        with cluster_in(folder / "cluster", ClusterSpec(3, 2, SIZE_BYTES)) as disks:
            own = configuration.load(disks.config_path)
            fresh_topics(own)
            broken = named.run(disks, watched(own), [one for one in named.RUNS if re.search(chosen.named, one)], say)
            broken += drawn.run(disks, watched(own), range(seed, seed + chosen.schedules), say)
            report = Campaign(disks, own, folder / "logs", seed, say).strike(chosen.kills)
    # What went wrong comes last: of a long run only the end is kept.
    say("\n".join([*report.lines(), *broken]))
    if chosen.report:
        chosen.report.write_text(json.dumps(vars(report), indent=2))
    return 1 if report.found or broken else 0


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
