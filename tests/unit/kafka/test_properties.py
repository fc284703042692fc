"""One set of client properties serves kafka-python and Spark, and no message shows a value."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.kafka.properties import python_arguments, spark_options

SERVERS = "a:1, b:2"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_without_properties_the_servers_are_all():
    assert python_arguments(SERVERS, {}) == {"bootstrap_servers": ["a:1", "b:2"]}
    assert spark_options(SERVERS, {}) == {"kafka.bootstrap.servers": SERVERS}


def test_tls_reads_pem_files_under_kafkas_names():
    client = {
        "security.protocol": "ssl",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.location": "/me.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "",
        "request.timeout.ms": "5000",
    }
    arguments = python_arguments(SERVERS, client)
    assert arguments == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SSL",
        "ssl_cafile": "/ca.pem",
        "ssl_certfile": "/me.pem",
        "ssl_password": "secret",
        "ssl_check_hostname": False,
        "request_timeout_ms": 5000,
    }
    options = spark_options(SERVERS, client)
    assert options["kafka.ssl.truststore.location"] == "/ca.pem"
    assert (options["kafka.ssl.truststore.type"], options["kafka.ssl.keystore.type"]) == ("PEM", "PEM")


def test_what_is_given_as_pem_itself_goes_to_spark_as_it_is():
    client = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.certificate.chain": "CHAIN",
        "ssl.keystore.key": "KEY",
    }
    arguments = python_arguments(SERVERS, client)
    assert (arguments["ssl_ca_pem"], arguments["ssl_cert_pem"], arguments["ssl_key_pem"]) == ("CA", "CHAIN", "KEY")
    options = spark_options(SERVERS, client)
    assert options["kafka.ssl.keystore.key"] == "KEY"
    assert (options["kafka.ssl.truststore.type"], options["kafka.ssl.keystore.type"]) == ("PEM", "PEM")


@pytest.mark.parametrize(
    ("password", "written"),
    [("secret", "secret"), ('quo"te', r"quo\"te"), ("back\\slash", r"back\\slash"), ("semi;colon =", "semi;colon =")],
)
def test_a_jaas_line_gives_name_and_password(password, written):
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="me" password="{written}" ;',
    }
    arguments = python_arguments(SERVERS, client)
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("me", password)
    assert spark_options(SERVERS, client)["kafka.sasl.jaas.config"] == client["sasl.jaas.config"]


@pytest.mark.parametrize("password", ["secret", 'quo"te', "back\\slash", "semi;colon", "new\nline"])
def test_name_and_password_become_a_jaas_line_that_reads_back(password):
    client = {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": password}
    options = spark_options(SERVERS, client)
    line = options["kafka.sasl.jaas.config"]
    assert line.startswith(PLAIN)
    assert not {"kafka.sasl.username", "kafka.sasl.password"} & options.keys()
    assert python_arguments(SERVERS, {"sasl.jaas.config": line})["sasl_plain_password"] == password


def test_kerberos_is_kafkas_default_mechanism():
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.service.name": "kafka"}
    assert python_arguments(SERVERS, client)["sasl_mechanism"] == "GSSAPI"


@pytest.mark.parametrize(
    "client",
    [
        {"ssl.protocol": "hidden"},
        {"sasl.mechanism": "hidden"},
        {"security.protocol": "hidden"},
        {"request.timeout.ms": "hidden"},
        {"ssl.truststore.type": "hidden"},
        {"ssl.endpoint.identification.algorithm": "hidden"},
        {"sasl.jaas.config": "hidden"},
        {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required hidden=true;"},
        {"sasl.jaas.config": f'{PLAIN} required username="hidden";'},
    ],
    ids=lambda client: next(iter(client)),
)
def test_what_cannot_be_translated_is_named_without_its_value(client):
    for translate in (python_arguments, spark_options):
        with pytest.raises(UserError) as refused:
            translate(SERVERS, client)
        assert next(iter(client)) in str(refused.value)
        assert "hidden" not in str(refused.value)
        assert refused.value.exit_code == 2


def test_a_password_without_a_mechanism_that_takes_one_is_refused_for_spark():
    with pytest.raises(UserError, match=r"sasl\.username"):
        spark_options(SERVERS, {"sasl.username": "me", "sasl.password": "hidden"})
