"""The command console, and those below it."""
