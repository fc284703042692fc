"""``logdirwatch notify``: wrong use, and the test message."""

import pytest
import yaml

from tests.unit.notify.receivers import receiving

SECRET = "hunter2secret"


def config(tmp_path, **notify):
    path = tmp_path / "notify.yaml"
    path.write_text(yaml.safe_dump({"notify": notify}))
    return str(path)


def test_without_a_receiver_there_is_nobody_to_tell(run):
    ended = run("notify")
    assert ended.exit_code == 2
    assert ended.err == "logdirwatch: notify: no receiver: add one under notify.receivers\n"


@pytest.mark.parametrize(
    ("notify", "words"),
    [
        ({"receivers": {"ops": {"urls": [f"nonsense://{SECRET}"]}}}, "does not know URL 1"),
        ({"receivers": {"ops": {}}}, "notify.receivers.ops: needs urls, urls_file or alertmanager"),
        ({"receivers": {}, "routes": [{"receivers": ["x"]}]}, "routes name receivers that do not exist: x"),
    ],
)
def test_what_cannot_be_meant_is_one_line_without_secrets(run, tmp_path, notify, words):
    ended = run("--config", config(tmp_path, **notify), "notify")
    assert ended.exit_code == 2
    assert words in ended.err
    assert SECRET not in ended.err
    assert ended.err.count("\n") == 1


def test_a_test_message_and_its_end_reach_every_receiver(run, tmp_path):
    with receiving() as chat, receiving() as alertmanager:
        receivers = {
            "chat": {"urls": [f"json://127.0.0.1:{chat.port}?rate=0"]},
            "am": {"alertmanager": [f"http://127.0.0.1:{alertmanager.port}"]},
            "gone": {"urls": [f"json://127.0.0.1:1/{SECRET}"]},
        }
        ended = run("--config", config(tmp_path, receivers=receivers), "notify", "--test")
    assert ended.exit_code == 1
    assert "chat: accepted" in ended.out
    assert "am: accepted" in ended.out
    assert "gone: A Connection error occurred" in ended.out
    assert ended.err == "logdirwatch: notify: failed: gone\n"
    assert SECRET not in ended.out + ended.err
    assert [body["type"] for body in chat.bodies] == ["info", "success"]
    assert [len(body) for body in alertmanager.bodies] == [1, 1]
