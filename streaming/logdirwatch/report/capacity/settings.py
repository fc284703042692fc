"""The cost of space, for the capacity report."""

from pydantic import Field

from logdirwatch.config.section import Section


class ReportSettings(Section):
    """The report of who uses how much space."""

    cost_per_tb_month: float | None = Field(
        None,
        ge=0,
        description="What 1 TB (10^12 bytes) of used disk costs a month, every replica counted; null: no costs are "
        "shown.",
    )
