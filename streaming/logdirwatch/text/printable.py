"""Makes text of unknown origin safe to print: no line ends, colours or other control sequences."""


def printable(text: str) -> str:
    r"""Return a text on one line without control characters; those that cannot be shown are escaped.

    >>> print(printable("a\tb\x1b[31m"))
    a\tb\x1b[31m
    """
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return a text that keeps its line ends, with each line ``printable``."""
    return "\n".join(map(printable, text.split("\n")))
