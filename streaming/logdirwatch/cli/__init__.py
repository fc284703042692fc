"""The command line: one module per command in ``commands/``, or a folder for a command with subcommands."""

import time

STARTED_S = time.monotonic()
"""When the import of the command line began: people wait from here, not from the first request to Kafka."""
