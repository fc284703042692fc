"""Words of texts, and secrets that are masked in them."""

import pytest

from logdirwatch.text.printable import MASK, masked
from logdirwatch.text.words import counted, did_you_mean, number_ranges, shortened, utc
from tests.unit.report.builders import NOW_MS


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (NOW_MS, "2023-11-14 22:13:20Z"),
        (NOW_MS * 1000, "an unknown time"),
        (2**63, "an unknown time"),
        (-(2**62), "an unknown time"),
    ],
)
def test_a_moment_is_in_utc_and_one_beyond_the_calendar_unknown(at_ms, text):
    assert utc(at_ms) == text


@pytest.mark.parametrize(
    ("words", "one", "many"),
    [
        (("replica",), "1 replica", "3 replicas"),
        (("directory",), "1 directory", "3 directories"),
        (("replica comes", "replicas come"), "1 replica comes", "3 replicas come"),
    ],
)
def test_a_number_has_its_noun_and_verb(words, one, many):
    assert (counted(1, *words), counted(3, *words)) == (one, many)


def test_the_most_similar_name_is_suggested_and_nothing_where_none_is_similar():
    assert did_you_mean("statsu", ["alerts", "status"]) == "; did you mean status?"
    assert did_you_mean("zzz", ["alerts", "status"]) == ""


def test_numbers_in_a_row_are_a_range():
    assert number_ranges([6, 1, 3, 2, 4, 4]) == "1-4, 6"
    assert number_ranges(range(0, 20, 2), limit=2) == "0, 2 and 8 more"
    assert number_ranges([]) == ""


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", ""),
        ("x" * 20, "x" * 20),
        ("a" * 10 + "b" * 11, "a" * 5 + " ... " + "b" * 10),
        ("what failed for " + "x" * 100 + "why", "what  ... xxxxxxxwhy"),
    ],
)
def test_a_long_line_keeps_its_beginning_and_its_end(text, cut):
    assert shortened(text, 20) == cut


@pytest.mark.parametrize(
    "key",
    [
        "sasl.jaas.config",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.truststore.password",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.azure.account.key.mine.dfs.core.windows.net",
        "sasl.oauthbearer.client.credentials.client.secret",
        "api_key",
    ],
)
def test_secrets_are_masked_by_their_name(key):
    assert masked({"client": {key: "hunter2"}}) == {"client": {key: MASK}}


@pytest.mark.parametrize("key", ["security.protocol", "ssl.truststore.location", "bootstrap_servers", "keyed.by"])
def test_what_is_no_secret_stays(key):
    assert masked({key: "value"}) == {key: "value"}


def test_the_user_part_of_a_url_is_masked():
    assert masked({"path": "s3a://user:hunter2@bucket/tables"}) == {"path": f"s3a://{MASK}@bucket/tables"}


def test_numbers_lists_and_nothing_pass():
    assert masked({"a": 1, "b": None, "c": ("x", 2), "token": ""}) == {"a": 1, "b": None, "c": ["x", 2], "token": ""}


@pytest.mark.parametrize("mapping", ["client", "extra"])
@pytest.mark.parametrize("key", ["sasl.passwrd", "sasl.login.passwrd", "spark.hadoop.fs.mine", "anything"])
def test_in_mappings_of_foreign_names_what_is_not_known_to_be_harmless_is_masked(mapping, key):
    assert masked({mapping: {key: "hunter2"}}) == {mapping: {key: MASK}}


@pytest.mark.parametrize(
    "key",
    [
        "security.protocol",
        "sasl.username",
        "ssl.truststore.location",
        "request.timeout.ms",
        "spark.sql.shuffle.partitions",
    ],
)
def test_in_mappings_of_foreign_names_what_is_harmless_stays(key):
    assert masked({"client": {key: "value"}}) == {"client": {key: "value"}}


def test_a_cluster_may_be_named_like_such_a_mapping():
    cluster = {"bootstrap_servers": "b1:9092", "client": {"sasl.passwrd": "hunter2"}}
    expected = {"bootstrap_servers": "b1:9092", "client": {"sasl.passwrd": MASK}}
    assert masked({"client": cluster}) == {"client": expected}


def test_the_query_of_a_url_is_masked_which_may_be_a_signature():
    signed = "abfss://c@a.dfs.core.windows.net/p?sig=hunter2"
    assert masked({"path": signed}) == {"path": f"abfss://{MASK}@a.dfs.core.windows.net/p?{MASK}"}
    assert masked({"text": "is it there? yes"}) == {"text": "is it there? yes"}
