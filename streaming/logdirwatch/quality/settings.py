"""How ``logdirwatch validate`` looks at the tables."""

from pydantic import Field

from logdirwatch.config.section import DAY_MS, HOUR_MS, Section


class QualitySettings(Section):
    """What is checked, and how old it must or may be."""

    window_ms: int = Field(DAY_MS, gt=0, description="How far back samples, transitions and rejected records are read.")
    settle_ms: int = Field(
        300_000,
        ge=0,
        description="How old a row must be before other tables must agree with it: each is written apart.",
    )
    fresh_ms: int = Field(HOUR_MS, gt=0, description="How old the newest row of a cluster may be.")
    docs_path: str | None = Field(None, description="Folder of Great Expectations' Data Docs, HTML; null: none.")
