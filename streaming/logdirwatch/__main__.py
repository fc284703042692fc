"""``python -m logdirwatch``."""

from logdirwatch.cli.main import main

main()
