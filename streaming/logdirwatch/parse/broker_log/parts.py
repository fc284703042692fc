"""Joins lines that a container runtime split because they are longer than 16 KiB. Pure."""

from logdirwatch.parse.broker_log.prefixes import CRI
from logdirwatch.parse.patterns import compiled

LONGEST = 65_536
"""The maximum length of a line that is kept."""
DOCKER_BYTES = 16_384
"""The maximum that Docker writes at once; shorter text without a line end comes from a program that strips it."""
_DOCKER, _STREAM = '{"log":"', '","stream":"'
_ESCAPED_END = compiled(r"(?<!\\)(?:\\\\)*\\n$")


class Parts:
    """Keeps the parts of a line until the last one arrives; the two streams of a container may be interleaved."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, int]] = {}

    @property
    def held_bytes(self) -> int:
        """The bytes of unfinished lines."""
        return sum(size for _, size in self._held.values())

    def joined(self, text: str, size: int) -> tuple[str, int] | None:
        """Return the line that ``text`` completes, with its length in bytes; None for an unfinished part."""
        stream, begin, is_part = _part(text)
        before, before_size = self._held.pop(stream, ("", 0))
        whole = before + text[begin if before else 0 :]
        if not is_part:
            return whole, before_size + size
        end = whole.rfind(_STREAM) if whole.startswith(_DOCKER) else len(whole)
        self._held[stream] = whole[:end][:LONGEST], before_size + size
        return None

    def end(self) -> list[tuple[str, int]]:
        """Return the unfinished lines, because nothing follows."""
        left, self._held = self._held, {}
        return [
            (f'{text}{_STREAM}{stream}"}}' if text.startswith(_DOCKER) else text, size)
            for stream, (text, size) in left.items()
        ]


def _part(text: str) -> tuple[str, int, bool]:
    """Return the stream of a line, the start of its content, and whether it continues in another line."""
    if text.startswith(_DOCKER) and (end := text.rfind(_STREAM)) > 0:
        written, stream = text[len(_DOCKER) : end], text[end + len(_STREAM) :].partition('"')[0]
        is_part = len(written.encode()) >= DOCKER_BYTES and _ESCAPED_END.search(written) is None
        return stream, len(_DOCKER), is_part
    cut = CRI.match(text)
    return ("", 0, False) if cut is None else (cut["stream"], cut.end(), cut["tag"] == "P")
