"""The command ``alerts`` and its subcommands."""
