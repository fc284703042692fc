"""Spark's handle, state and timers of a stateful processor, in memory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Key = tuple[Any, ...]


class Stored(NamedTuple):
    """The state of one key: its value, and the times of its timers."""

    value: tuple[Any, ...] | None = None
    timers: frozenset[int] = frozenset()


class Handle:
    """Spark's handle and timer values for one key of a batch after the other; ``states`` are those after the batch."""

    def __init__(self, states: Mapping[Key, Stored], now_ms: int) -> None:
        self.states: dict[Key, Stored] = dict(states)
        self._now_ms, self._expires_ms = now_ms, 0
        self._key: Key = ()

    def run(self, processor: Any, grouped: Mapping[Key, Sequence[Mapping[str, Any]]]) -> Iterator[Any]:
        """Yield what a processor writes about the rows of each key, and then of each timer that has expired."""
        processor.init(self)
        for self._key in sorted(grouped):
            yield from processor.handleInputRows(self._key, iter(grouped[self._key]), self)
        for key in sorted(self.states):
            for at_ms in sorted(at for at in self.states[key].timers if at <= self._now_ms):
                self._key, self._expires_ms = key, at_ms
                self.deleteTimer(at_ms)
                yield from processor.handleExpiredTimer(key, self, self)

    def begin(self, processor: Any, memories: Mapping[Key, Mapping[str, Any]]) -> None:
        """Give a processor the initial state of each key."""
        processor.init(self)
        for self._key, memory in sorted(memories.items()):
            processor.handleInitialState(self._key, memory, self)

    # -- Spark's names

    def getValueState(self, *_: Any) -> "Handle":  # noqa: N802
        """Return the state, of which there is one."""
        return self

    def get(self) -> tuple[Any, ...] | None:
        """Return the value of the present key."""
        return self._stored.value

    def update(self, value: tuple[Any, ...]) -> None:
        """Replace the value of the present key."""
        self.states[self._key] = self._stored._replace(value=value)

    def registerTimer(self, at_ms: int) -> None:  # noqa: N802
        """Set a timer of the present key."""
        self.states[self._key] = self._stored._replace(timers=self._stored.timers | {at_ms})

    def deleteTimer(self, at_ms: int) -> None:  # noqa: N802
        """Delete a timer of the present key."""
        self.states[self._key] = self._stored._replace(timers=self._stored.timers - {at_ms})

    def getCurrentProcessingTimeInMs(self) -> int:  # noqa: N802
        """Return the time of the batch."""
        return self._now_ms

    def getExpiryTimeInMs(self) -> int:  # noqa: N802
        """Return the time of the timer that expired."""
        return self._expires_ms

    @property
    def _stored(self) -> Stored:
        return self.states.get(self._key, Stored())
