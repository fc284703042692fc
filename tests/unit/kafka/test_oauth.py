"""Tokens for OAUTHBEARER: asked for once, again before they end, and no error shows a credential."""

import json
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import SaslMechanismOAuth

from logdirwatch.errors import UserError
from logdirwatch.kafka import oauth
from logdirwatch.kafka.clients import python_arguments
from logdirwatch.kafka.logins import ClientCredentials
from logdirwatch.kafka.settings import KafkaSettings

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], body))
        status, answer = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        server.asked = []
        server.answer = 200, json.dumps({"access_token": "t1", "expires_in": 100}).encode()
        server.url = f"http://127.0.0.1:{server.server_port}/token"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def credentials(url, scope=None):
    return ClientCredentials(url, "me", "secret", scope)


def test_a_token_is_kept_until_most_of_its_life_is_over(endpoint, monkeypatch):
    now = [1_000.0]
    # Not the module itself: the server needs its clock.
    monkeypatch.setattr(oauth, "time", SimpleNamespace(monotonic=lambda: now[0]))
    tokens = oauth.Tokens(credentials(endpoint.url, "kafka"))
    assert (tokens.token(), tokens.token()) == ("t1", "t1")
    assert endpoint.asked == [("Basic bWU6c2VjcmV0", "grant_type=client_credentials&scope=kafka")]
    now[0] += 81
    endpoint.answer = 200, b'{"access_token": "t2"}'
    assert tokens.token() == "t2"


@pytest.mark.parametrize(
    ("expires_in", "used_s"),
    [
        ("100", 80),
        ('"100"', 80),
        ("1.5", 1.2),
        ("null", 48),
        ("0", 48),
        ("-5", 48),
        ("NaN", 48),
        ('"never"', 48),
        ('"2026-11-29T12:00:00Z"', 48),
        ("[]", 48),
        ("{}", 48),
        ("86400", 720),
        ("3600000", 720),
        ("1e400", 720),
        ("Infinity", 720),
        ("9" * 400, 48),
    ],
)
def test_a_lifetime_that_cannot_be_true_is_a_short_one_and_none_is_long(endpoint, monkeypatch, expires_in, used_s):
    now = [1_000.0]
    monkeypatch.setattr(oauth, "time", SimpleNamespace(monotonic=lambda: now[0]))
    endpoint.answer = 200, f'{{"access_token": "t1", "expires_in": {expires_in}}}'.encode()
    tokens = oauth.Tokens(credentials(endpoint.url))
    for after_s, asked in ((0, 1), (used_s - 0.1, 1), (used_s + 0.1, 2)):
        now[0] = 1_000 + after_s
        assert tokens.token() == "t1"
        assert len(endpoint.asked) == asked


def test_extensions_go_with_the_token_and_a_secret_is_encoded_where_the_endpoint_wants_it(endpoint):
    asked = ClientCredentials(
        endpoint.url, "me", "a b:%", None, {"logicalCluster": "lkc-1", "x": "y"}, is_urlencoded=True
    )
    mechanism = SaslMechanismOAuth(sasl_oauth_token_provider=oauth.Tokens(asked))
    assert mechanism.auth_bytes() == b"n,,\x01auth=Bearer t1\x01logicalCluster=lkc-1\x01x=y\x01\x01"
    assert b64decode(endpoint.asked[0][0].removeprefix("Basic ")) == b"me:a+b%3A%25"


def test_amazons_mechanism_takes_the_profile_that_java_takes():
    module = "software.amazon.msk.auth.iam.IAMLoginModule"
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
    for line, profile in ((f'{module} required awsProfileName="other";', "other"), (f"{module} required;", None)):
        arguments = python_arguments(KafkaSettings(client={**client, "sasl.jaas.config": line}))
        mechanism = get_sasl_mechanism("AWS_MSK_IAM")(**arguments, host="b")
        assert mechanism._boto_session_cls().profile == profile
    assert "aws_profile" not in arguments


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((401, b"secret"), "answers 401"),
        ((302, b"secret"), "answers 302"),
        *(
            ((200, body), "without a token")
            for body in (
                b"secret",
                b"[]",
                b"null",
                b"",
                b"\xff\xfe",
                b'"access_token"',
                b'{"access_token": null}',
                b'{"access_token": ""}',
                b'{"access_token": 5}',
                b'{"access_token": ["t1"]}',
                b'{"access_token": "t1\\u0001host=other"}',
                b'{"access_token": "t1\\nx"}',
                b'{"access_token": "\\ud800"}',
            )
        ),
    ],
)
def test_an_endpoint_that_grants_nothing_is_an_error_without_credentials(endpoint, answer, told):
    endpoint.answer = answer
    with pytest.raises(SaslAuthenticationFailedError, match=told) as refused:
        oauth.Tokens(credentials(endpoint.url)).token()
    assert "secret" not in str(refused.value)


def test_an_endpoint_that_is_away_is_a_failed_connection():
    with pytest.raises(KafkaConnectionError, match="the token endpoint cannot be reached: ConnectionError"):
        oauth.Tokens(credentials("http://127.0.0.1:1/token")).token()


def test_the_clients_ask_the_endpoint_that_the_properties_name(endpoint):
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        "sasl.jaas.config": f'{MODULE} required clientId="me" clientSecret="secret";',
    }
    arguments = python_arguments(KafkaSettings(client=client))
    assert "client_credentials" not in arguments
    assert arguments["sasl_oauth_token_provider"].token() == "t1"


@pytest.mark.parametrize(
    ("line", "told"),
    [("required;", "no credentials here"), ('required awsProfileName="gone";', r"profile \(gone\) could not be found")],
)
def test_amazons_mechanism_without_credentials_is_refused_in_one_line(monkeypatch, tmp_path, line, told):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
    client["sasl.jaas.config"] = f"software.amazon.msk.auth.iam.IAMLoginModule {line}"
    mechanism = get_sasl_mechanism("AWS_MSK_IAM")(**python_arguments(KafkaSettings(client=client)), host="b")
    with pytest.raises(SaslAuthenticationFailedError, match=told):
        mechanism.auth_bytes()


@pytest.mark.parametrize(("mechanism", "package"), [("AWS_MSK_IAM", "botocore"), ("GSSAPI", "gssapi")])
def test_a_mechanism_says_which_package_it_lacks(monkeypatch, mechanism, package):
    monkeypatch.setattr(oauth, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=f"pip install {package}"):
        python_arguments(KafkaSettings(client={"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism}))
    python_arguments(KafkaSettings(client={"security.protocol": "SSL", "sasl.mechanism": mechanism}))
