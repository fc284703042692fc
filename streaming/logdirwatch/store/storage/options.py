"""How to reach an object store without Java: from the same properties by which Hadoop's file systems reach it.

Where they name no credentials, both take those of the environment: variables, web identity, the instance's role.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

Get: TypeAlias = Callable[[str], str | None]
"""Returns a property of Hadoop's configuration, such as ``fs.s3a.endpoint``; None if it is not set."""

S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
AZURE_SCHEMES = frozenset({"abfs", "abfss"})
GOOGLE_SCHEMES = frozenset({"gs"})

_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_S3 = {
    "access.key": "aws_access_key_id",
    "secret.key": "aws_secret_access_key",
    "session.token": "aws_session_token",
    "endpoint.region": "aws_region",
}
_AMAZON = re.compile(r"\bs3(?:[.-]([a-z0-9-]+))?\.amazonaws\.com\b")
_DEFAULT_REGION = "us-east-1"
_S3_ENCRYPTION = {"AES256": "AES256", "SSE-S3": "AES256", "SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}
_AZURE = {
    "fs.azure.account.key": "azure_storage_account_key",
    "fs.azure.sas.fixed.token": "azure_storage_sas_key",
    "fs.azure.account.oauth2.client.id": "azure_storage_client_id",
    "fs.azure.account.oauth2.client.secret": "azure_storage_client_secret",
    "fs.azure.account.oauth2.msi.tenant": "azure_storage_tenant_id",
}
_GOOGLE = ("fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile")


class UnknownOptionsError(Exception):
    """A store, or a way to reach it, that only Hadoop knows; the text says which."""


class StorageOptions(NamedTuple):
    """The configuration of an object store, in the words of Rust's object_store."""

    config: Mapping[str, Any]
    allow_http: bool = False

    @property
    def client(self) -> dict[str, Any]:
        """The options of the HTTP client of obstore."""
        return {"allow_http": True} if self.allow_http else {}

    def of_deltalake(self) -> dict[str, str]:
        """Return all of it for deltalake."""
        return {**self.config, **({"allow_http": "true"} if self.allow_http else {})}


def of_extra(extra: Mapping[str, str]) -> Get:
    """Return Hadoop's properties as ``stream.extra`` sets them for Spark."""
    return lambda key: extra.get(f"spark.hadoop.{key}")


def storage_options(url: str, get: Get) -> StorageOptions:
    """Return how to reach the store of a URL. Raises UnknownOptionsError if only Hadoop can."""
    place = urlsplit(url)
    if place.scheme in S3_SCHEMES:
        return _s3(place.netloc, _of_bucket(place.netloc, get))
    if place.scheme in AZURE_SCHEMES:
        return StorageOptions(dict(_azure(place.hostname or "", get)))
    if place.scheme in GOOGLE_SCHEMES:
        file = next(filter(None, map(get, _GOOGLE)), None)
        return StorageOptions({"google_service_account": file} if file else {})
    raise UnknownOptionsError(f"no conditional writes are known of {place.scheme}:")


def _of_bucket(bucket: str, get: Get) -> Get:
    """Return S3A's properties by the rest of their names; those of a bucket come before those of all buckets."""
    return lambda key: get(f"fs.s3a.bucket.{bucket}.{key}") or get(f"fs.s3a.{key}")


def _s3(bucket: str, get: Get) -> StorageOptions:
    if get("assumed.role.arn"):
        raise UnknownOptionsError("fs.s3a.assumed.role.arn is known to Hadoop alone")
    config = {option: value for key, option in _S3.items() if (value := get(key))}
    if _ANONYMOUS in (get("aws.credentials.provider") or ""):
        config = {"aws_skip_signature": "true"}
    config |= _encryption(get)
    endpoint = get("endpoint") or ""
    if amazon := _AMAZON.search(endpoint):
        return StorageOptions({"aws_region": amazon[1] or _DEFAULT_REGION, **config})
    if not endpoint:
        return StorageOptions(config)
    return StorageOptions(
        {"aws_region": _DEFAULT_REGION, **config, **_at(bucket, endpoint, get)},
        allow_http=_address(endpoint, get).startswith("http:"),
    )


def _address(endpoint: str, get: Get) -> str:
    if "://" in endpoint:
        return endpoint.rstrip("/")
    return f"{'http' if get('connection.ssl.enabled') == 'false' else 'https'}://{endpoint}"


def _at(bucket: str, endpoint: str, get: Get) -> dict[str, str]:
    """Return the address of a store that is not Amazon's, and whether it has the bucket's name, as S3A does."""
    address = urlsplit(_address(endpoint, get))
    if get("path.style.access") == "true" or _is_number(address.hostname or ""):
        return {"aws_endpoint": address.geturl(), "aws_virtual_hosted_style_request": "false"}
    named = address._replace(netloc=f"{bucket}.{address.netloc}").geturl()
    return {"aws_endpoint": named, "aws_virtual_hosted_style_request": "true"}


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _encryption(get: Get) -> dict[str, str]:
    algorithm = get("encryption.algorithm") or get("server-side-encryption-algorithm")
    if not algorithm:
        return {}
    if algorithm not in _S3_ENCRYPTION:
        raise UnknownOptionsError(f"the encryption {algorithm} of S3 is known to Hadoop alone")
    found = {"aws_server_side_encryption": _S3_ENCRYPTION[algorithm]}
    key = get("encryption.key") or get("server-side-encryption.key")
    return {**found, "aws_sse_kms_key_id": key} if key and "kms" in _S3_ENCRYPTION[algorithm] else found


def _azure(host: str, get: Get) -> Iterator[tuple[str, str]]:
    """Yield the options of an account, whose own properties end in its host name."""
    yield "azure_storage_account_name", host.partition(".")[0]
    for key, option in _AZURE.items():
        if value := get(f"{key}.{host}") or get(key):
            yield option, value
    # https://login.microsoftonline.com/TENANT/oauth2/token
    endpoint = get(f"fs.azure.account.oauth2.client.endpoint.{host}") or get("fs.azure.account.oauth2.client.endpoint")
    if endpoint and (tenant := urlsplit(endpoint).path.split("/")[1:2]):
        yield "azure_storage_tenant_id", tenant[0]
