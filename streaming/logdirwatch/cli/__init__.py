"""The command line: one file a command, in ``commands/``, or a folder where there are commands below it."""
