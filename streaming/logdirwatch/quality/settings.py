"""Settings of ``logdirwatch validate``."""

from pydantic import Field

from logdirwatch.config.section import DAY_MS, HOUR_MS, Section


class QualitySettings(Section):
    """What is checked, and the ages that matter."""

    window_ms: int = Field(DAY_MS, gt=0, description="How far back samples, transitions and rejected records are read.")
    settle_ms: int = Field(
        300_000,
        ge=0,
        description="Age from which other tables must agree with a row: each table is written separately.",
    )
    fresh_ms: int = Field(HOUR_MS, gt=0, description="Maximum age of the newest row of a cluster.")
    docs_path: str | None = Field(None, description="Folder of Great Expectations' Data Docs, HTML; null: none.")
