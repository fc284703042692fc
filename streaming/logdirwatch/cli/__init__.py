"""The command line: one file a command, in ``commands/``, or a folder where there are commands below it."""

import time

STARTED_S = time.monotonic()
"""When the command line began to be imported: people wait from here, not from the first question to Kafka."""
