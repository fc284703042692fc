"""The common parts of evidence."""

from collections.abc import Callable
from typing import Annotated, ClassVar, NamedTuple, TypeVar

from msgspec import Meta

from logdirwatch.model.record_part import NULL, RecordPart
from logdirwatch.model.vocabulary import Rule

SampleAtMs = Annotated[int | None, Meta(description="Time of the last sample that had the numbers below.")]
TotalBytes = Annotated[int | None, Meta(description="Size of the directory's volume, as DescribeLogDirs reports it.")]
UsableBytes = Annotated[int | None, Meta(description="Free space of the volume that Kafka can use.")]
UsedRatio = Annotated[float | None, Meta(description="Share of the volume in use, from 0 to 1.")]
GrowthBytesPerS = Annotated[float | None, Meta(description="How fast its use grows, smoothed; negative if it shrinks.")]
LastingGrowthBytesPerS = Annotated[
    float | None,
    Meta(
        description="Growth that lasts, in bytes per second: what neither retention nor the pattern of days and weeks "
        "explains; null: not watched for long enough."
    ),
]
FullAtMs = Annotated[int | None, Meta(description="When it is forecast to be full; null: no end is forecast.")]
ForecastConfidence = Annotated[float | None, Meta(description="Confidence in the forecast, from 0 to 1.")]
IsMetadataDir = Annotated[bool | None, Meta(description="Whether the KRaft metadata log is in this directory.")]


class Evidence(RecordPart, frozen=True, kw_only=True):
    """Fields that every alert about a broker or directory may have."""

    NEWS: ClassVar[tuple[str, ...]] = ()
    """The fields of which a change is news: a firing alert is revised for it. Other numbers change all the time."""

    host: Annotated[str | None, "The broker's host."] = None
    has_zookeeper: Annotated[
        bool | None, "True if the broker keeps its metadata in ZooKeeper; null: not, or unknown."
    ] = None
    flapping: Annotated[int | None, "How many times the alert ended recently: it is held open for now."] = None

    def is_news_after(self, before: "Evidence") -> bool:
        """Tell whether it differs from the previous evidence in a field that matters."""
        return any(getattr(self, name) != getattr(before, name, None) for name in self.NEWS)

    @property
    def news(self) -> tuple[object, ...]:
        """What it says, as far as a change of it is news."""
        return tuple(getattr(self, name) for name in self.NEWS)


NO_EVIDENCE = Evidence()
"""The evidence of an alert without any."""

E = TypeVar("E", bound=Evidence)


class Variant(NamedTuple):
    """The struct of a rule for evidence with the field ``marker``."""

    marker: str
    kind: type[Evidence]


class Kinds(NamedTuple):
    """The structs of a rule: ``kind``, unless the marker of a variant is present."""

    kind: type[Evidence]
    variants: tuple[Variant, ...] = ()

    @property
    def all(self) -> tuple[type[Evidence], ...]:
        """Every struct of the rule."""
        return (self.kind, *(variant.kind for variant in self.variants))


KINDS: dict[Rule, type[Evidence]] = {}
VARIANTS: dict[Rule, list[Variant]] = {}
"""The structs registered by ``shown_by``, from which ``EVIDENCE`` is built."""


def shown_by(rule: Rule, marker: str | None = None) -> Callable[[type[E]], type[E]]:
    """Return the decorator for the evidence struct of a rule.

    With ``marker`` it is one of several structs of the rule: the one for evidence that has this field. If evidence has
    the markers of two structs, the first counts.
    """

    def noted(kind: type[E]) -> type[E]:
        if marker is None:
            KINDS[rule] = kind
        else:
            VARIANTS.setdefault(rule, []).append(Variant(marker, kind))
        return kind

    return noted


def read_as(evidence: Evidence, kind: type[E]) -> E:
    """Return evidence as that of a kind; empty if it is of another kind."""
    return evidence if isinstance(evidence, kind) else kind()


class LogDirEvidence(Evidence, frozen=True, kw_only=True):
    """The last sample of a log directory."""

    sample_at_ms: SampleAtMs = NULL
    total_bytes: TotalBytes = NULL
    usable_bytes: UsableBytes = NULL
    used_ratio: UsedRatio = NULL
    growth_bytes_per_s: GrowthBytesPerS = NULL
    lasting_growth_bytes_per_s: LastingGrowthBytesPerS = NULL
    full_at_ms: FullAtMs = NULL
    forecast_confidence: ForecastConfidence = NULL
    is_metadata_dir: IsMetadataDir = NULL


class UsedLogDir(RecordPart, frozen=True, kw_only=True):
    """The used space of one directory."""

    log_dir: Annotated[str, "Its path."]
    used_ratio: UsedRatio = NULL
