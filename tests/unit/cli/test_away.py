"""While Kafka does not answer, no command for people waits longer than they do, whatever it asks first."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients, deadline, telemetry_topics

SIGNED = ("--by", "ada", "--reason", "r")
COMMANDS = (
    ("alerts",),
    ("alerts", "ack", "x", *SIGNED),
    ("alerts", "unack", "x", *SIGNED),
    ("alerts", "silence", "--cluster", "prod", *SIGNED),
    ("alerts", "healthy", "x", *SIGNED),
    ("alerts", "decisions"),
    ("actions",),
    ("actions", "show", "x"),
    ("actions", "check", "x"),
    ("actions", "accept", "x", *SIGNED),
    ("maintenance", "list"),
    ("maintenance", "start", "--cluster", "prod", "--broker", "1", "--for", "1h", *SIGNED),
    ("autopilot", "pause", "prod", *SIGNED),
    ("topics", "list"),
    ("status",),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_question_to_kafka_has_the_deadline(run, monkeypatch, words):
    limits = []

    def away(*_):
        limits.append(deadline.at_most_ms(1_000_000))
        raise UserError("Kafka at telemetry:9092 cannot be reached: no answer")

    monkeypatch.setattr(clients, "read_all", away)
    monkeypatch.setattr(telemetry_topics, "existing_topics", away)
    ended = run(*words)
    assert ended.exit_code == 1
    assert "cannot be reached: no answer" in ended.err
    assert limits
    assert max(limits) <= deadline.ANSWER_MS
