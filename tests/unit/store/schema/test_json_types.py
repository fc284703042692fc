"""Spark's types of records: what may hold anything is text."""

from pyspark.sql import types as T  # noqa: N812 - the field's name for it

from logdirwatch.model.records import AlertRecord, MetricsRecord
from logdirwatch.store.schema.json_types import spark_type, text_fields


def test_a_field_that_may_hold_anything_is_text():
    assert "affected" in text_fields(AlertRecord)
    for name in text_fields(AlertRecord):
        assert spark_type(AlertRecord)[name].dataType == T.StringType()


def test_other_fields_have_their_own_types():
    assert spark_type(AlertRecord)["revision"].dataType == T.LongType()
    assert isinstance(spark_type(MetricsRecord)["log_dirs"].dataType, T.ArrayType)
    assert isinstance(spark_type(MetricsRecord)["metrics"].dataType, T.MapType)
