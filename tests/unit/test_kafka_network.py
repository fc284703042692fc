"""Certificates and keys are read before anything connects, and what is wrong with them names its property."""

import ssl

import pytest

from logdirwatch.errors import UserError
from logdirwatch.kafka_network import with_stores
from tests.kafka.certificates import Authority

KEY_PASSWORD = "hunter2"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def store(authority):
    return authority.issue("me", password=KEY_PASSWORD)


def test_files_stay_files_so_that_renewed_ones_are_read(authority, store):
    arguments = {
        "bootstrap_servers": ["a:1"],
        "ssl_cafile": str(authority.certificate),
        "ssl_certfile": str(store),
        "ssl_password": KEY_PASSWORD,
    }
    assert with_stores(arguments) == arguments


def test_pem_itself_becomes_a_context(authority, store):
    key, _, chain = store.read_text().partition("-----BEGIN CERTIFICATE")
    arguments = with_stores(
        {
            "bootstrap_servers": ["a:1"],
            "ssl_check_hostname": False,
            "ssl_ca_pem": authority.certificate.read_text(),
            "ssl_key_pem": key,
            "ssl_cert_pem": f"-----BEGIN CERTIFICATE{chain}",
            "ssl_password": KEY_PASSWORD,
        }
    )
    context = arguments.pop("ssl_context")
    assert arguments.keys() == {"bootstrap_servers", "ssl_check_hostname", "ssl_password"}
    assert isinstance(context, ssl.SSLContext)
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert len(context.get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ssl_cafile": "/nowhere/ca.pem"}, "ssl.truststore.location: /nowhere/ca.pem: No such file or directory"),
        ({"ssl_cafile": __file__}, "ssl.truststore.location: .*: no certificates in PEM"),
        ({"ssl_ca_pem": "nonsense"}, "ssl.truststore.certificates: no certificates in PEM"),
        ({"ssl_certfile": "STORE", "ssl_password": "wr0ng"}, "ssl.keystore.location: .* that ssl.key.password opens"),
        ({"ssl_certfile": "STORE"}, "ssl.keystore.location: .* that ssl.key.password opens"),
        ({"ssl_key_pem": "nonsense"}, "ssl.keystore.key, ssl.keystore.certificate.chain: no key"),
    ],
)
def test_what_cannot_be_read_is_named_and_never_shown(store, arguments, said):
    named = {key: str(store) if value == "STORE" else value for key, value in arguments.items()}
    with pytest.raises(UserError, match=said) as raised:
        with_stores(named)
    assert raised.value.exit_code == 2
    assert not any(secret in str(raised.value) for secret in ("wr0ng", KEY_PASSWORD, "nonsense"))
