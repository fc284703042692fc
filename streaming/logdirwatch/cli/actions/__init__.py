"""The command actions, and those below it."""
