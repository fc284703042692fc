"""The command line: one module per command in ``commands/``, or a folder for a command with subcommands."""

import time

STARTED_S = time.monotonic()
"""When the command line began to be imported: people wait from here, not from the first question to Kafka."""
