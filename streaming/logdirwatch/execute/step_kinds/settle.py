"""The time between two waves in which brokers delete the copies that the first one left behind."""

from dataclasses import dataclass

from logdirwatch.text.units import human_ms


@dataclass(frozen=True)
class Settle:
    """Nothing is called for so long (``file.delete.delay.ms``): until then old and new copies are both there."""

    delay_ms: int

    def __str__(self) -> str:
        return f"wait {human_ms(self.delay_ms)} until the old copies are deleted"
