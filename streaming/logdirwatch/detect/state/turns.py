"""Spreads periodic work for very many brokers over time, so that it is not due for all of them in the same batch."""

from zlib import crc32

import numpy as np
import numpy.typing as npt


def seed_of(cluster: str, broker: int) -> int:
    """Return a number for a broker, the same in every process."""
    return crc32(f"{cluster}/{broker}".encode())


def is_turn(before_ms: int, at_ms: int, every_ms: int, seed: int) -> bool:
    """Tell whether a turn of ``seed`` started after ``before_ms``, up to ``at_ms``; one starts each ``every_ms``."""
    phase_ms = seed % every_ms
    return (before_ms + phase_ms) // every_ms < (at_ms + phase_ms) // every_ms


def are_turns(
    before_ms: npt.NDArray[np.int64], at_ms: npt.NDArray[np.int64], every_ms: int, seeds: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return for each seed what ``is_turn`` returns for one."""
    phases_ms = seeds % every_ms
    turns: npt.NDArray[np.bool_] = (before_ms + phases_ms) // every_ms < (at_ms + phases_ms) // every_ms
    return turns
