"""A clock that a test moves."""


class Clock:
    """Answers in seconds, like ``time.monotonic``."""

    now_s = 100.0

    def __call__(self):
        return self.now_s
