"""Errors meant for people: one line that says what, where and what to do."""


class UserError(Exception):
    """A mistake or a state that the user can mend; the command line prints it without a traceback."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
