"""The command ``console`` and its subcommands."""
