"""Spark's checkpoints, and what a power cut leaves of them."""

from pathlib import Path


def newest(folder: Path) -> Path:
    """Return the file of the newest batch in a folder of offsets or commits."""
    return max(folder.glob("[0-9]*"), key=lambda file: int(file.name))


def cut(file: Path, *, keeps_checksum: bool = False) -> None:
    """Leave only half of a file; of what is left, Spark's own checksum beside it tells the truth no more."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    if not keeps_checksum:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
