"""One set of client properties serves kafka-python and Spark, and no message shows a value."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.kafka.properties import ClientCredentials, python_arguments, spark_options

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
    [
        ("secret", "secret"),
        ('quo"te', r"quo\"te"),
        ("back\\slash", r"back\\slash"),
        ("semi;colon =", "semi;colon ="),
        ("new\nline\tA", r"new\nline\t\101"),
        ("$HOME %h #é//", "$HOME %h #é//"),
    ],
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


@pytest.mark.parametrize("password", ["secret", 'quo"te', "back\\slash", "semi;colon", "new\r\nline", "$HOME %h \\n"])
def test_name_and_password_become_a_jaas_line_that_reads_back(password):
    client = {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": password}
    options = spark_options(SERVERS, client)
    line = options["kafka.sasl.jaas.config"]
    assert line.startswith(PLAIN)
    assert not {"kafka.sasl.username", "kafka.sasl.password"} & options.keys()
    assert line.isprintable()
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


OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
OAUTH_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
ENDPOINT = "https://login.example.org/token"
BY_TOKEN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": ENDPOINT,
    "sasl.jaas.config": f'{OAUTH} required clientId="me" clientSecret="a;b" scope="kafka";',
}
MSK = "software.amazon.msk.auth.iam."


def test_client_credentials_are_read_from_the_login_module_and_not_shown():
    arguments = python_arguments(SERVERS, BY_TOKEN)
    assert arguments["sasl_mechanism"] == "OAUTHBEARER"
    assert arguments["client_credentials"] == ClientCredentials(ENDPOINT, "me", "a;b", "kafka")
    assert "a;b" not in repr(arguments["client_credentials"])


def test_spark_gets_the_properties_of_oauthbearer_and_the_class_that_asks_for_tokens():
    options = spark_options(SERVERS, BY_TOKEN)
    assert options["kafka.sasl.oauthbearer.token.endpoint.url"] == ENDPOINT
    assert options["kafka.sasl.jaas.config"] == BY_TOKEN["sasl.jaas.config"]
    assert options["kafka.sasl.login.callback.handler.class"] == OAUTH_HANDLER


@pytest.mark.parametrize(
    ("left_out", "named"), [("sasl.oauthbearer.token.endpoint.url", "endpoint"), ("clientSecret", "clientSecret")]
)
def test_what_a_token_cannot_be_asked_for_without_is_named(left_out, named):
    client = {key: value.replace(left_out, "other") for key, value in BY_TOKEN.items() if key != left_out}
    with pytest.raises(UserError, match=named):
        python_arguments(SERVERS, client)


def test_amazons_mechanism_needs_no_more_than_its_name():
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
    assert python_arguments(SERVERS, client)["sasl_mechanism"] == "AWS_MSK_IAM"
    options = spark_options(SERVERS, client)
    assert options["kafka.sasl.jaas.config"] == f"{MSK}IAMLoginModule required;"
    assert options["kafka.sasl.client.callback.handler.class"] == f"{MSK}IAMClientCallbackHandler"
    named = client | {"sasl.jaas.config": f'{MSK}IAMLoginModule required awsProfileName="other";'}
    assert spark_options(SERVERS, named)["kafka.sasl.jaas.config"] == named["sasl.jaas.config"]
    assert "client_credentials" not in python_arguments(SERVERS, named)


@pytest.mark.parametrize(
    ("client", "key", "expected"),
    [
        (
            {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "org.apache.kafka.x"},
            "sasl.jaas.config",
            f'kafkashaded.{PLAIN} required username="me" password="org.apache.kafka.x";',
        ),
        (
            {"sasl.jaas.config": f'kafkashaded.{PLAIN} required username="me" password="org.apache.kafka.x";'},
            "sasl.jaas.config",
            f'kafkashaded.{PLAIN} required username="me" password="org.apache.kafka.x";',
        ),
        (BY_TOKEN, "sasl.login.callback.handler.class", f"kafkashaded.{OAUTH_HANDLER}"),
        (
            {"sasl.mechanism": "AWS_MSK_IAM"},
            "sasl.client.callback.handler.class",
            f"shadedmskiam.{MSK}IAMClientCallbackHandler",
        ),
        ({"client.id": "org.apache.kafka.me"}, "client.id", "org.apache.kafka.me"),
    ],
    ids=["login module", "named already", "handler", "amazon", "no class"],
)
def test_on_databricks_classes_have_the_names_that_they_have_there(client, key, expected):
    assert spark_options(SERVERS, client, on_databricks=True)[f"kafka.{key}"] == expected


def test_a_service_credential_stands_for_every_other_way_to_log_in():
    credential = {"databricks.serviceCredential": "msk", "databricks.serviceCredential.scope": "s"}
    client = {**credential, "security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "client.id": "me"}
    expected = {"kafka.bootstrap.servers": SERVERS, "kafka.client.id": "me", **credential}
    assert spark_options(SERVERS, client, on_databricks=True) == expected
    assert python_arguments(SERVERS, client)["sasl_mechanism"] == "AWS_MSK_IAM"
