"""The one credential with which tables of Unity Catalog are read."""

import pytest
from pydantic import ValidationError

from logdirwatch.errors import UserError
from logdirwatch.store.settings import DatabricksSettings

PLACE = {"server_hostname": "adb-1.azuredatabricks.net", "http_path": "/sql/1.0/warehouses/a"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "secret"
    path.write_text(" of the file\n")
    return str(path)


def test_a_credential_is_a_value_or_that_of_its_file(file):
    assert DatabricksSettings(**PLACE, token="t").secret_token() == "t"
    assert DatabricksSettings(**PLACE, token_file=file).secret_token() == "of the file"
    for of_client, secret in (({"client_secret": "s"}, "s"), ({"client_secret_file": file}, "of the file")):
        settings = DatabricksSettings(**PLACE, client_id="c", **of_client)
        assert (settings.secret_of_client(), settings.secret_token()) == (secret, None)


@pytest.mark.parametrize("key", ["token_file", "client_secret_file"])
def test_a_file_that_cannot_be_read_is_one_line(key, tmp_path):
    client = {"client_id": "c"} if key == "client_secret_file" else {}
    not_text = tmp_path / "bytes"
    not_text.write_bytes(b"\xff")
    for path, reason in ((tmp_path / "none", "No such file or directory"), (not_text, "not text in UTF-8")):
        settings = DatabricksSettings(**PLACE, **client, **{key: str(path)})
        with pytest.raises(UserError) as error:
            settings.secret_of_client() if client else settings.secret_token()
        assert str(error.value) == f"tables.databricks.{key} {path}: {reason}"
        assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "needs one of"),
        ({"token": "t", "token_file": "f"}, "needs one of"),
        ({"token": "t", "client_secret": "s", "client_id": "c"}, "needs one of"),
        ({"token": "t", "client_id": "c"}, "belong together"),
        ({"client_secret": "s"}, "belong together"),
        ({"client_secret_file": "f"}, "belong together"),
        ({"token": "t", "timeout_ms": 999}, "timeout_ms"),
        ({"token": "t", "server_hostname": "https://adb"}, "server_hostname"),
    ],
)
def test_what_is_no_credential_is_refused(fields, said):
    with pytest.raises(ValidationError, match=said):
        DatabricksSettings(**{**PLACE, **fields})


def test_what_is_left_out_is_that_of_databricks_own_variables(monkeypatch, file):
    for name, value in {"HOST": "https://adb-2.azuredatabricks.net/", "CLIENT_ID": "c", "CLIENT_SECRET": "s"}.items():
        monkeypatch.setenv(f"DATABRICKS_{name}", value)
    found = DatabricksSettings(http_path="/sql/1.0/warehouses/a")
    assert (found.server_hostname, found.client_id, found.secret_of_client()) == ("adb-2.azuredatabricks.net", "c", "s")
    own = DatabricksSettings(**PLACE, token_file=file)
    assert (own.server_hostname, own.client_id, own.client_secret) == (PLACE["server_hostname"], None, None)
