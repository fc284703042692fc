"""The command ``actions`` and its subcommands."""
