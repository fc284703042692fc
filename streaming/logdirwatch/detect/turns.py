"""What is done once in a while for each of very many: not for all of them in the same batch."""


def is_turn(before_ms: int, at_ms: int, every_ms: int, seed: int) -> bool:
    """Tell whether a turn began after ``before_ms``, up to ``at_ms``; there is one each ``every_ms``, by ``seed``."""
    phase_ms = seed % every_ms
    return (before_ms + phase_ms) // every_ms < (at_ms + phase_ms) // every_ms
