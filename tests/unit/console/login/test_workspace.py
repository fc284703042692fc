"""The login of a workspace: users that the proxy names decide, others get nothing, and only an App believes it."""

import re

import pytest

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.console.login.workspace import HEADER, app_address
from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.errors import UserError
from tests.support.delta import Written as Tables
from tests.support.login import PATIENCE, Written
from tests.unit.report.builders import NOW_MS, alert

PAGE = f"/alerts/{'a' * 32}"
ADA, EVE = {HEADER: "ada@example.com"}, {HEADER: "eve@example.com"}


@pytest.fixture
def decisions():
    return Written(lambda: NOW_MS)


@pytest.fixture
def client(tmp_path, decisions):
    Tables(tmp_path / "tables").alerts(alert())
    files = DeltaFiles(str(tmp_path / "tables"))
    settings = ConsoleSettings(databricks_app=True)
    reader = Reader(files.select, files.rows)
    return application(reader, settings, PATIENCE, lambda: NOW_MS, decisions=decisions).test_client()


def token(client, headers):
    return re.search(r'name="csrf" value="([^"]+)"', client.get(PAGE, headers=headers).text)[1]


def acknowledged(client, headers, csrf):
    form = {"csrf": csrf, "reason": "known", "lasting": "2h", "severity": "critical"}
    return client.post(f"{PAGE}/acknowledge", headers=headers, data=form)


def test_a_user_that_the_proxy_names_is_in_and_decides_under_that_name(client, decisions):
    text = client.get("/", headers=ADA).text
    assert "ada@example.com" in text
    assert "Log in" not in text
    assert "Log out" not in text
    assert acknowledged(client, ADA, token(client, ADA)).status_code == 303
    assert [made[2] for made in decisions.made] == ["ada@example.com"]
    assert "Recorded: acknowledge" in client.get(PAGE, headers=ADA).text
    assert "Recorded" not in client.get(PAGE, headers=ADA).text, "a result is shown once"


@pytest.mark.parametrize(
    "headers", [{}, {HEADER: ""}, {HEADER: "a b"}, {HEADER: "x" * 255}, {"X-Forwarded-User": "ada"}]
)
def test_a_user_that_the_proxy_does_not_name_sees_nothing(client, headers):
    for path in ("/", "/alerts", "/static/console.css"):
        assert client.get(path, headers=headers).status_code == 403


def test_a_form_of_somebody_else_is_refused(client, decisions):
    assert acknowledged(client, EVE, token(client, ADA)).status_code == 403
    assert acknowledged(client, ADA, "").status_code == 403
    assert not decisions.made


def test_there_is_no_other_login(client):
    assert client.get("/login", headers=ADA).status_code == 404


@pytest.mark.parametrize(
    "more", [{"listen": "0.0.0.0:80"}, {"password": "correct horse battery"}, {"login": {"users_file": "users"}}]
)
def test_an_app_has_no_address_and_no_login_of_its_own(more):
    with pytest.raises(ValueError, match="leave out listen, password and login"):
        ConsoleSettings(databricks_app=True, **more)


def test_it_listens_at_the_apps_port_and_nowhere_without_one():
    assert app_address({"DATABRICKS_APP_PORT": "8000"}) == ("0.0.0.0", 8000)
    for environ in ({}, {"DATABRICKS_APP_PORT": ""}, {"DATABRICKS_APP_PORT": "x"}):
        with pytest.raises(UserError, match="this is no Databricks App"):
            app_address(environ)


def test_without_the_setting_the_header_says_nothing(tmp_path, decisions):
    files = DeltaFiles(str(tmp_path / "tables"))
    reader = Reader(files.select, files.rows)
    app = application(reader, ConsoleSettings(), PATIENCE, lambda: NOW_MS, decisions=decisions)
    answer = app.test_client().get("/", headers={**ADA, "Host": "127.0.0.1"})
    assert answer.status_code == 200
    assert "ada@example.com" not in answer.text
