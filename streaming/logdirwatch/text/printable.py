"""Text of unknown origin as text that is nothing else: no end of a line, no colour, no title for the terminal."""


def printable(text: str) -> str:
    r"""Return a text on one line that no terminal takes for more than a text; what cannot be shown is spelled out.

    >>> print(printable("a\tb\x1b[31m"))
    a\tb\x1b[31m
    """
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return a text whose own line ends stay, and each line of which is ``printable``."""
    return "\n".join(map(printable, text.split("\n")))
