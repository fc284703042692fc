"""What the evidence of several rules has in common."""

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
FullAtMs = Annotated[int | None, Meta(description="When it is forecast to be full; null: no end is forecast.")]
ForecastConfidence = Annotated[float | None, Meta(description="Confidence in the forecast, from 0 to 1.")]
IsMetadataDir = Annotated[bool | None, Meta(description="Whether the KRaft metadata log is in this directory.")]


class Evidence(RecordPart, frozen=True, kw_only=True):
    """What every alert of a broker or directory may show."""

    NEWS: ClassVar[tuple[str, ...]] = ()
    """The fields of which a change is news: a firing alert is revised for it. Other numbers change all the time."""

    host: Annotated[str | None, Meta(description="The broker's host.")] = None
    has_zookeeper: Annotated[
        bool | None,
        Meta(description="True where the broker keeps its metadata in ZooKeeper; null: it is not known to."),
    ] = None
    flapping: Annotated[
        int | None, Meta(description="How many times the alert ended recently: it is held open for now.")
    ] = None

    def is_news_after(self, before: "Evidence") -> bool:
        """Tell whether it says something else than what was shown before."""
        return any(getattr(self, name) != getattr(before, name, None) for name in self.NEWS)


NO_EVIDENCE = Evidence()
"""The evidence of an alert without any."""

E = TypeVar("E", bound=Evidence)


class Variant(NamedTuple):
    """A struct of a rule, for evidence that has the field ``marker``."""

    marker: str
    kind: type[Evidence]


class Kinds(NamedTuple):
    """The structs of a rule: ``kind``, unless the marker of a variant is there."""

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
    """Return the decorator of the struct that alerts of a rule show.

    With ``marker`` it is one of several structs of the rule: the one for evidence that has the field of that name.
    Where evidence has the markers of two structs, the first counts.
    """

    def noted(kind: type[E]) -> type[E]:
        if marker is None:
            KINDS[rule] = kind
        else:
            VARIANTS.setdefault(rule, []).append(Variant(marker, kind))
        return kind

    return noted


def read_as(evidence: Evidence, kind: type[E]) -> E:
    """Return evidence as that of a kind; of any other it shows nothing."""
    return evidence if isinstance(evidence, kind) else kind()


class LogDirEvidence(Evidence, frozen=True, kw_only=True):
    """The last sample of a log directory."""

    sample_at_ms: SampleAtMs = NULL
    total_bytes: TotalBytes = NULL
    usable_bytes: UsableBytes = NULL
    used_ratio: UsedRatio = NULL
    growth_bytes_per_s: GrowthBytesPerS = NULL
    full_at_ms: FullAtMs = NULL
    forecast_confidence: ForecastConfidence = NULL
    is_metadata_dir: IsMetadataDir = NULL


class UsedLogDir(RecordPart, frozen=True, kw_only=True):
    """How full one directory is."""

    log_dir: Annotated[str, Meta(description="Its path.")]
    used_ratio: UsedRatio = NULL
