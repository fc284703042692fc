"""Errors meant for people: one line that says what, where and what to do."""


class UserError(Exception):
    """An error that the user can fix; the command line prints it without a traceback."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UnconfirmedError(UserError):
    """What was written may have arrived or not: nobody confirmed it, and nobody refused it."""
