"""The task of a plan: its mode, tolerance and limits."""

from dataclasses import dataclass
from enum import Enum

from logdirwatch.errors import UserError
from logdirwatch.plan.settings import PlanSettings

TOLERANCE_RATIO = 0.09
"""For a goal of a tenth, a tenth of which is kept in reserve for what is written meanwhile."""


class Kind(str, Enum):
    """The modes."""

    BALANCE_DISKS = "balance-disks"
    BALANCE_BROKERS = "balance-brokers"
    BALANCE_ALL = "balance-all"
    EVACUATE = "evacuate"


@dataclass(frozen=True)
class Mode:
    """One mode; ``evacuated`` is the broker and the path of the directory that ``evacuate`` empties."""

    kind: Kind
    evacuated: tuple[int, str] | None = None

    def __str__(self) -> str:
        """Return it as it is written on the command line."""
        return ":".join([self.kind.value, *map(str, self.evacuated or ())])


@dataclass(frozen=True)
class Task:
    """A mode, the tolerance (a share of the mean fill ratio), and what no plan may do."""

    mode: Mode
    limits: PlanSettings
    tolerance_ratio: float = TOLERANCE_RATIO


def parse_mode(text: str) -> Mode:
    """Read ``balance-disks``, ``balance-brokers``, ``balance-all`` or ``evacuate:BROKER:DISK``; else UserError."""
    name, *rest = text.split(":", 2)
    if name == Kind.EVACUATE.value and len(rest) == 2 and rest[0].isdecimal() and rest[1]:
        return Mode(Kind.EVACUATE, (int(rest[0]), rest[1]))
    if not rest and name in {kind.value for kind in Kind} - {Kind.EVACUATE.value}:
        return Mode(Kind(name))
    known = "balance-disks, balance-brokers, balance-all, evacuate:BROKER:DISK and fix"
    raise UserError(f"plan: --mode {text}: there are {known}", exit_code=2)
