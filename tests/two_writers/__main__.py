"""The long form, by hand and before a release."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.two_writers.run import in_folder, in_s3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1000, help="of each process")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--s3", action="store_true", help="on a server of S3's protocol, in place of a folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = (in_s3 if asked.s3 else in_folder)(Path(folder), asked.commits, asked.kills, asked.seed)
    sys.stdout.write(f"{outcome}\n")
    return 1 if outcome.lost or outcome.twice else 0


if __name__ == "__main__":
    sys.exit(main())
