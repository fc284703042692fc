"""``logdirwatch autopilot`` and its subcommands."""
