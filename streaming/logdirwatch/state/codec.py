"""How a query's memory is stored: one value ``struct<version:int, body:string>`` of Spark's state."""

from typing import Any, Generic, TypeVar

import msgspec

from logdirwatch.errors import UserError
from logdirwatch.parse.decoding import Decoder, NotReadableError

T = TypeVar("T", bound=msgspec.Struct)


def refused(query: str, version: int, reads: int) -> UserError:
    """Return the error about state that another release wrote, in a form that this one does not read."""
    return UserError(
        f"{query}: the checkpoint holds state of version {version}, this release reads version {reads}; run the "
        "release that wrote it, or start with an empty checkpoint folder"
    )


class UnreadableStateError(UserError):
    """State that is damaged."""


def unreadable(query: str, error: Exception) -> UnreadableStateError:
    """Return the error about state that is damaged."""
    return UnreadableStateError(f"{query}: the checkpoint's state cannot be read: {error}")


class StateCodec(Generic[T]):
    """Writes and reads the memory ``kind`` of ``query``, in the form of ``version``."""

    def __init__(self, query: str, version: int, kind: type[T]) -> None:
        self._query, self._version = query, version
        self._encoder = msgspec.json.Encoder()
        self._decoder = Decoder(kind)

    def encode(self, memory: T) -> str:
        """Return the serialized ``memory``."""
        return self._encoder.encode(memory).decode()

    def decode(self, version: int, body: str) -> T:
        """Return the memory in ``body``.

        Raises UserError when another release wrote it, UnreadableStateError when it cannot be read.
        """
        if version != self._version:
            raise refused(self._query, version, self._version)
        try:
            return self._decoder.decode(body)
        except NotReadableError as error:
            raise unreadable(self._query, error) from None

    def load(self, state: Any) -> T | None:
        """Return the memory that a key's value state holds; None at its first record."""
        # Checking whether it exists would be one more round trip to the JVM for every key.
        value = state.get()
        return None if value is None else self.decode(*value)

    def keep(self, state: Any, memory: T) -> None:
        """Write the memory into a key's value state."""
        state.update((self._version, self.encode(memory)))
