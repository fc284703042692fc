"""One set of client properties serves kafka-python and Spark, and no message shows a value."""

from pathlib import Path

import pytest

from logdirwatch.errors import UserError
from logdirwatch.kafka.logins import ClientCredentials
from logdirwatch.kafka.properties import check, python_arguments, remarks, spark_options, unsupported

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
    assert python_arguments(SERVERS, named)["aws_profile"] == "other"


KIP_1139 = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": ENDPOINT,
    "sasl.oauthbearer.client.credentials.client.id": "me",
    "sasl.oauthbearer.client.credentials.client.secret": 'a"b',
    "sasl.oauthbearer.scope": "kafka",
}


def with_options(options, module=OAUTH, client=BY_TOKEN):
    return {**client, "sasl.jaas.config": f"{module} required {options};"}


SECRETS = 'clientId="me" clientSecret="s"'


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (KIP_1139, ClientCredentials(ENDPOINT, "me", 'a"b', "kafka")),
        (
            KIP_1139 | with_options("extension_logicalCluster='lkc-1' extension_identityPoolId='pool-1'", client={}),
            ClientCredentials(ENDPOINT, "me", 'a"b', "kafka", {"logicalCluster": "lkc-1", "identityPoolId": "pool-1"}),
        ),
        # As in Kafka 4.1, a property of its own comes before the option of the login module.
        (
            KIP_1139 | with_options(f"{SECRETS} scope=other", client={}),
            ClientCredentials(ENDPOINT, "me", 'a"b', "kafka"),
        ),
        (with_options(f"{SECRETS} extension_a='x y'"), ClientCredentials(ENDPOINT, "me", "s", None, {"a": "x y"})),
        (
            with_options(SECRETS) | {"sasl.oauthbearer.header.urlencode": "True"},
            ClientCredentials(ENDPOINT, "me", "s", is_urlencoded=True),
        ),
        # How Java's client renews and checks tokens is its own affair.
        (
            with_options(SECRETS)
            | {"sasl.login.refresh.window.factor": "0.5", "sasl.oauthbearer.expected.audience": "kafka"}
            | {"sasl.login.callback.handler.class": OAUTH_HANDLER},
            ClientCredentials(ENDPOINT, "me", "s"),
        ),
    ],
)
def test_both_clients_ask_for_the_same_token_and_send_the_same_extensions(client, expected):
    assert python_arguments(SERVERS, client)["client_credentials"] == expected
    line = spark_options(SERVERS, client)["kafka.sasl.jaas.config"]
    again = {key: value for key, value in client.items() if key not in KIP_1139} | {"sasl.jaas.config": line}
    kept = {"sasl.oauthbearer.token.endpoint.url": ENDPOINT}
    assert python_arguments(SERVERS, again | kept)["client_credentials"] == expected, "Spark's client, 3.9, knows these"
    assert not any("client.credentials" in key for key in spark_options(SERVERS, client))


KERBEROS = {"security.protocol": "SASL_SSL"}
KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


@pytest.mark.parametrize(
    ("client", "service", "of_spark"),
    [
        (KERBEROS, None, "kafka"),
        (KERBEROS | {"sasl.kerberos.service.name": "bus"}, "bus", "bus"),
        (with_options("useTicketCache=true", KRB5, KERBEROS), None, "kafka"),
        (with_options("useTicketCache=true serviceName=bus", KRB5, KERBEROS), "bus", None),
        (KERBEROS | {"sasl.kerberos.kinit.cmd": "/usr/bin/kinit"}, None, "kafka"),
    ],
)
def test_kerberos_means_the_same_service_to_both(client, service, of_spark):
    assert python_arguments(SERVERS, client).get("sasl_kerberos_service_name") == service
    assert spark_options(SERVERS, client).get("kafka.sasl.kerberos.service.name") == of_spark


AWS = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
BY_PASSWORD = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
HANDLER, CLIENT_HANDLER = "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"
GOOGLE = {HANDLER: "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"}
STRIMZI = {HANDLER: "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"}


@pytest.mark.parametrize(
    ("client", "key", "remedy"),
    [
        (with_options('awsRoleArn="hidden"', f"{MSK}IAMLoginModule", AWS), "sasl.jaas.config", "profile with role_arn"),
        (
            with_options('awsStsRegion="hidden"', f"{MSK}IAMLoginModule", AWS),
            "sasl.jaas.config",
            "profile with role_arn",
        ),
        (AWS | {"security.protocol": "SASL_PLAINTEXT"}, "security.protocol", "SASL_SSL"),
        (
            with_options('username="hidden" password="hidden" tokenauth="true"', SCRAM, BY_PASSWORD),
            "sasl.jaas.config",
            "delegation token",
        ),
        (with_options("useKeyTab=true keyTab='hidden'", KRB5, KERBEROS), "sasl.jaas.config", "kinit"),
        (with_options("useTicketCache=true principal='hidden'", KRB5, KERBEROS), "sasl.jaas.config", "kinit"),
        (with_options(f"{SECRETS} extension_auth=hidden"), "sasl.jaas.config", "extension_NAME"),
        (with_options(f"{SECRETS} extension_a.b=hidden"), "sasl.jaas.config", "extension_NAME"),
        (with_options(f"{SECRETS} extension_a='\u00e9hidden'"), "sasl.jaas.config", "ASCII"),
        (with_options(f"{SECRETS} ssl.truststore.location=hidden"), "sasl.jaas.config", "authorities of the machine"),
        (BY_TOKEN | {"sasl.oauthbearer.token.endpoint.url": "file:///hidden"}, "sasl.oauthbearer.token", "https://"),
        (BY_TOKEN | {"sasl.oauthbearer.header.urlencode": "hidden"}, "header.urlencode", "true or false"),
        (BY_TOKEN | GOOGLE, HANDLER, "PLAIN with a key of the service account"),
        (BY_TOKEN | STRIMZI, HANDLER, "sasl.oauthbearer.token.endpoint.url"),
        (BY_TOKEN | {HANDLER: f"{MSK}IAMOAuthBearerLoginCallbackHandler"}, HANDLER, "AWS_MSK_IAM"),
        (BY_TOKEN | {HANDLER: "org.example.Hidden"}, HANDLER, "leave it out"),
        (AWS | {CLIENT_HANDLER: "org.example.Hidden"}, CLIENT_HANDLER, "leave it out"),
        (BY_TOKEN | {"sasl.login.class": "org.example.Hidden"}, "sasl.login.class", "leave it out"),
        (
            KIP_1139 | {"sasl.oauthbearer.jwt.retriever.class": f"{OAUTH[:-24]}JwtBearerJwtRetriever"},
            "sasl.oauthbearer.jwt.retriever.class",
            "ClientCredentialsJwtRetriever",
        ),
        (BY_TOKEN | {"sasl.oauthbearer.assertion.file": "/hidden"}, "assertion.file", "client credentials"),
        (BY_TOKEN | {"sasl.oauthbearer.token.endpoint": "hidden"}, "sasl.oauthbearer.token.endpoint:", "did you mean"),
        ({"ssl.ca.location": "/hidden"}, "ssl.ca.location", "ssl.truststore.location"),
        ({"ssl.certificate.location": "/hidden"}, "ssl.certificate.location", "ssl.keystore.location"),
        ({"enable.ssl.certificate.verification": "hidden"}, "certificate.verification", "name the authority"),
        ({"ssl.truststore.type": "JKS"}, "ssl.truststore.type", "convert it"),
        ({"ssl.keystore.type": "PKCS12"}, "ssl.keystore.type", "convert it"),
        ({"ssl.truststore.password": "hidden"}, "ssl.truststore.password", "PEM"),
        ({"ssl.keystore.password": "hidden"}, "ssl.keystore.password", "ssl.key.password"),
        ({"ssl.enabled.protocols": "hidden"}, "ssl.enabled.protocols", "leave it out"),
        ({"ssl.engine.factory.class": "hidden"}, "ssl.engine.factory.class", "leave it out"),
    ],
)
def test_what_would_make_two_users_of_one_is_refused_with_what_to_do(client, key, remedy):
    for translate in (python_arguments, spark_options, lambda _, properties: check(properties)):
        with pytest.raises(UserError) as refused:
            translate(SERVERS, client)
        text = str(refused.value)
        assert key in text
        assert remedy in text
        assert "hidden" not in text.lower()
        assert "\n" not in text
        assert refused.value.exit_code == 2


def test_of_kip_1139_the_secret_may_come_from_the_environment_of_another_part():
    secret = "sasl.oauthbearer.client.credentials.client.secret"
    without = {key: value for key, value in KIP_1139.items() if key != secret}
    check(without)
    assert remarks(without) == [f"{secret} is missing"]
    with pytest.raises(UserError, match=f"{secret}: is missing"):
        python_arguments(SERVERS, without)


# configNames() of the clients of kafka-clients 3.9.2 and 4.3.1, as far as they are about security.
JAVA = (Path(__file__).parent / "java_client_properties.txt").read_text().split()


@pytest.mark.parametrize("key", JAVA)
def test_every_property_of_javas_client_about_security_has_an_answer(key):
    assert "supported are" not in (unsupported(key) or ""), "it says what to do instead"


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
