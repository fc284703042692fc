"""The pause between two waves in which brokers delete the old copies of the first one."""

from dataclasses import dataclass

from logdirwatch.text.units import human_ms


@dataclass(frozen=True)
class Settle:
    """A pause without calls (``file.delete.delay.ms``), during which old and new copies both use space."""

    delay_ms: int

    def __str__(self) -> str:
        return f"wait {human_ms(self.delay_ms)} until the old copies are deleted"
