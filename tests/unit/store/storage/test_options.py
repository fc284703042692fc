"""How object stores are reached without Java, from Hadoop's properties."""

import pytest

from logdirwatch.store.storage.options import UnknownOptionsError, of_extra, storage_options

S3, ABFSS, GS = "s3a://bucket/tables", "abfss://disks@lake.dfs.core.windows.net/tables", "gs://bucket/tables"
HOST = "lake.dfs.core.windows.net"
PATH_STYLE = {"aws_region": "us-east-1", "aws_virtual_hosted_style_request": "false"}
CASES = {
    "the environment tells": (S3, {}, {}),
    "keys": (
        S3,
        {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b", "fs.s3a.session.token": "c"},
        {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c"},
    ),
    "keys of the bucket come first": (
        S3,
        {"fs.s3a.access.key": "a", "fs.s3a.bucket.bucket.access.key": "b", "fs.s3a.bucket.other.access.key": "c"},
        {"aws_access_key_id": "b"},
    ),
    "anonymous": (
        S3,
        {
            "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
            "fs.s3a.access.key": "a",
        },
        {"aws_skip_signature": "true"},
    ),
    "region": (S3, {"fs.s3a.endpoint.region": "eu-west-1"}, {"aws_region": "eu-west-1"}),
    "amazon's endpoint names the region": (
        S3,
        {"fs.s3a.endpoint": "s3.eu-central-1.amazonaws.com"},
        {"aws_region": "eu-central-1"},
    ),
    "amazon's old endpoint": (S3, {"fs.s3a.endpoint": "s3-eu-west-1.amazonaws.com"}, {"aws_region": "eu-west-1"}),
    "amazon's first endpoint": (S3, {"fs.s3a.endpoint": "https://s3.amazonaws.com"}, {"aws_region": "us-east-1"}),
    "a region says more than an endpoint": (
        S3,
        {"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com", "fs.s3a.endpoint.region": "us-east-2"},
        {"aws_region": "us-east-2"},
    ),
    "a store of one's own": (
        S3,
        {"fs.s3a.endpoint": "https://minio:9000/", "fs.s3a.path.style.access": "true"},
        {"aws_endpoint": "https://minio:9000", **PATH_STYLE},
    ),
    "a store that names buckets in its host": (
        S3,
        {"fs.s3a.endpoint": "oss.example.com"},
        {
            "aws_endpoint": "https://bucket.oss.example.com",
            "aws_region": "us-east-1",
            "aws_virtual_hosted_style_request": "true",
        },
    ),
    "a number has no host for a bucket": (
        S3,
        {"fs.s3a.endpoint": "http://127.0.0.1:9000"},
        {"aws_endpoint": "http://127.0.0.1:9000", **PATH_STYLE, "allow_http": "true"},
    ),
    "without TLS": (
        S3,
        {
            "fs.s3a.endpoint": "minio:9000",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.endpoint.region": "here",
        },
        {"aws_endpoint": "http://minio:9000", **PATH_STYLE, "aws_region": "here", "allow_http": "true"},
    ),
    "encrypted with the bucket's key": (
        S3,
        {"fs.s3a.encryption.algorithm": "AES256", "fs.s3a.encryption.key": "ignored"},
        {"aws_server_side_encryption": "AES256"},
    ),
    "encrypted with a key of one's own": (
        S3,
        {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "arn"},
        {"aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "arn"},
    ),
    "encrypted, in Hadoop's older words": (
        S3,
        {"fs.s3a.server-side-encryption-algorithm": "SSE-KMS", "fs.s3a.server-side-encryption.key": "arn"},
        {"aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "arn"},
    ),
    "an account's key": (
        ABFSS,
        {f"fs.azure.account.key.{HOST}": "k", "fs.azure.account.key.other.dfs.core.windows.net": "x"},
        {"azure_storage_account_name": "lake", "azure_storage_account_key": "k"},
    ),
    "a service principal": (
        ABFSS,
        {
            f"fs.azure.account.oauth2.client.id.{HOST}": "i",
            "fs.azure.account.oauth2.client.secret": "s",
            f"fs.azure.account.oauth2.client.endpoint.{HOST}": "https://login.microsoftonline.com/tenant/oauth2/token",
        },
        {
            "azure_storage_account_name": "lake",
            "azure_storage_client_id": "i",
            "azure_storage_client_secret": "s",
            "azure_storage_tenant_id": "tenant",
        },
    ),
    "the machine's identity": (ABFSS, {}, {"azure_storage_account_name": "lake"}),
    "a service account": (
        GS,
        {"google.cloud.auth.service.account.json.keyfile": "/key"},
        {"google_service_account": "/key"},
    ),
    "a service account, in newer words": (
        GS,
        {"fs.gs.auth.service.account.json.keyfile": "/key"},
        {"google_service_account": "/key"},
    ),
    "Google's environment": (GS, {}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_hadoop_s_properties_are_those_of_the_store(case):
    url, properties, expected = CASES[case]
    assert storage_options(url, properties.get).of_deltalake() == expected


@pytest.mark.parametrize(
    ("url", "properties", "reason"),
    [
        ("hdfs://name/tables", {}, "no conditional writes are known of hdfs:"),
        (S3, {"fs.s3a.assumed.role.arn": "arn"}, "assumed.role"),
        (S3, {"fs.s3a.encryption.algorithm": "SSE-C"}, "the encryption SSE-C"),
        (S3, {"fs.s3a.encryption.algorithm": "CSE-KMS"}, "the encryption CSE-KMS"),
    ],
)
def test_what_only_hadoop_can_reach_is_named(url, properties, reason):
    with pytest.raises(UnknownOptionsError, match=reason):
        storage_options(url, properties.get)


def test_only_an_address_without_tls_allows_it():
    secure, plain = (storage_options(S3, {"fs.s3a.endpoint": f"{kind}://minio"}.get) for kind in ("https", "http"))
    assert (secure.client, plain.client) == ({}, {"allow_http": True})


def test_properties_are_those_that_spark_gives_to_hadoop():
    get = of_extra({"spark.hadoop.fs.s3a.access.key": "a", "fs.s3a.secret.key": "b"})
    assert (get("fs.s3a.access.key"), get("fs.s3a.secret.key")) == ("a", None)
