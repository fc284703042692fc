import pytest

from logdirwatch.text.masking import MASK, masked


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
