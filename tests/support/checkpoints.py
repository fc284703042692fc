"""Spark's checkpoints, and what a power cut leaves of them."""

from collections.abc import Callable
from pathlib import Path


def newest(folder: Path) -> Path:
    """Return the file of the newest batch in a folder of offsets or commits."""
    return max(folder.glob("[0-9]*"), key=lambda file: int(file.name))


def cut(file: Path, *, keeps_checksum: bool = False) -> None:
    """Leave only half of a file; of what is left, Spark's own checksum beside it tells the truth no more."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    if not keeps_checksum:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _replaced(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        file.write_bytes(change(file.read_bytes()))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "emptied": _replaced(lambda content: b""),
    "zeroed": _replaced(lambda content: bytes(len(content))),
}
"""What file systems leave of a file that was written just before the power failed, by name."""


def needed(checkpoint: Path) -> dict[str, Path]:
    """Return the newest file of every kind that a query needs to go on from its checkpoint."""
    folders = {"offsets": "offsets", "commits": "commits", "state metadata": "state/*/_metadata/v2"}
    found = {kind: sorted(checkpoint.glob(f"{folder}/[0-9]*"), key=_version) for kind, folder in folders.items()}
    found["metadata"] = [file for file in (checkpoint / "metadata",) if file.exists()]
    for suffix in ("zip", "changelog", "delta"):
        found[f"state {suffix}"] = sorted(checkpoint.glob(f"state/*/*/**/*.{suffix}"), key=_version)
    return {kind: files[-1] for kind, files in found.items() if files}


def _version(file: Path) -> int:
    digits = file.name.partition(".")[0].partition("_")[0]
    return int(digits) if digits.isdecimal() else -1
