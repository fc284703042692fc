"""Great Expectations on Spark frames: one suite, one frame, its results."""

import json
from collections.abc import Mapping
from typing import Any

import great_expectations as gx
from great_expectations.checkpoint.actions import UpdateDataDocsAction, ValidationAction
from great_expectations.core import ExpectationSuite, ExpectationValidationResult
from great_expectations.data_context.store.store import DataDocsSiteConfigTypedDict
from great_expectations.data_context.types.base import ProgressBarsConfig
from pyspark.sql import DataFrame, SparkSession

from logdirwatch.quality.results import Checked

SITE = "logdirwatch"
LONGEST = 500


class Examiner:
    """Validates frames of a session; with ``docs_path`` Great Expectations' Data Docs are written there."""

    def __init__(self, spark: SparkSession, docs_path: str | None) -> None:
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        self._actions: list[ValidationAction] = []
        if docs_path is not None:
            self._context.add_data_docs_site(SITE, _site(docs_path))
            self._actions.append(UpdateDataDocsAction(name="docs", site_names=[SITE]))
        self._source = self._context.data_sources.add_spark("tables", persist=False)
        # It would query the first session of the application, which knows no view of another.
        self._source._spark = spark  # noqa: SLF001 - Great Expectations has no public way
        self._source._execution_engine = None  # noqa: SLF001

    def check(self, suite: ExpectationSuite, frame: DataFrame) -> list[Checked]:
        """Return the result of each expectation."""
        name = suite.name
        batch = self._source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("whole")
        definition = gx.ValidationDefinition(name=name, data=batch, suite=self._context.suites.add(suite))
        checkpoint = gx.Checkpoint(
            name=name,
            validation_definitions=[self._context.validation_definitions.add(definition)],
            actions=self._actions,
            result_format="SUMMARY",
        )
        done = self._context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": frame})
        return [_checked(name, one) for run in done.run_results.values() for one in run.results]


def _site(docs_path: str) -> DataDocsSiteConfigTypedDict:
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": docs_path}
    return {
        "class_name": "SiteBuilder",
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "store_backend": store,
    }


def _checked(suite: str, one: ExpectationValidationResult) -> Checked:
    config = one.expectation_config
    assert config is not None
    result = one.result or {}
    seen = result.get("observed_value")
    is_of_rows = config.type == "unexpected_rows_expectation"
    unexpected = seen if is_of_rows else result.get("unexpected_count")
    examples = result.get("partial_unexpected_list") if seen is None else seen
    return Checked(
        suite=suite,
        expectation=config.description or config.type,
        success=bool(one.success),
        observed=None if examples is None else json.dumps(examples, default=str)[:LONGEST],
        unexpected=None if unexpected is None else int(unexpected),
        error=_error(one.exception_info),
    )


def _error(info: Mapping[str, Any] | None) -> str | None:
    """Return why an expectation could not be checked; Great Expectations reports it by metric, or directly."""
    if not info:
        return None
    told = [info, *(value for value in info.values() if isinstance(value, dict))]
    raised = next((one for one in told if one.get("raised_exception")), None)
    return None if raised is None else str(raised.get("exception_message")).splitlines()[0][:LONGEST]
