"""What spark-submit runs: its arguments are those of the command, such as ``--config logdirwatch.yaml stream``."""

from logdirwatch.cli.main import main

main()
