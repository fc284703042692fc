"""Why something must not be done: every rule has a name and says what it found."""
