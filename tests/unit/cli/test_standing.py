"""An execution at a terminal goes on as long as its word and its need last, by the order of the topics."""

import pytest
from kafka.errors import KafkaTimeoutError
from msgspec.structs import replace

from logdirwatch.cli.commands.apply import Standing
from logdirwatch.execute.need import Shown
from logdirwatch.execute.ports import Halt, Hold
from logdirwatch.model.vocabulary import Decision
from tests.unit.autopilot.world import accepted, cut, execution, firing, move

CUT, MOVE = cut(), move()


class Topics:
    """Decisions and alerts; ``away``: the topics do not answer."""

    def __init__(self, word=None, *, shown=None, away=False):
        self.word, self._shown, self.away = word, shown or Shown(), away

    def catch_up(self):
        if self.away:
            raise KafkaTimeoutError("gone")

    def said(self):
        return {} if self.word is None else {self.word.id: self.word}

    def shown(self):
        return self._shown


def permit(made, topics, *, back=False, is_attended=True):
    return Standing(topics, made, is_attended=is_attended)(replace(execution(made), back=back))


REJECTED, OTHER = accepted(MOVE, Decision.REJECT), accepted(MOVE, content_hash="other")
OVER = accepted(MOVE, until_ms=1)


@pytest.mark.parametrize(
    ("word", "attended", "alone"),
    [
        (None, None, None),
        (accepted(MOVE), None, None),
        (REJECTED, "ann rejected it: because", "ann rejected it: because"),
        (OTHER, None, "ann accepted something else meanwhile"),
        (OVER, None, "the acceptance by ann ended: because"),
    ],
    ids=["none", "accepted", "rejected", "something else accepted", "withdrawn"],
)
def test_the_last_word_counts_and_a_person_who_answers_needs_no_acceptance(word, attended, alone):
    for is_attended, why in ((True, attended), (False, alone)):
        assert permit(MOVE, Topics(word), is_attended=is_attended) == (why and Halt(why))


@pytest.mark.parametrize(
    ("word", "against"),
    [
        (None, "nobody has decided about it"),
        (accepted(MOVE), None),
        (OTHER, "it has changed since ann accepted it"),
        (OVER, "the acceptance by ann ended: because"),
    ],
)
def test_an_acceptance_counts_before_the_action_shows_it(word, against):
    assert Standing(Topics(word), MOVE, is_attended=False).why_not_accepted(execution(MOVE)) == against


def test_what_is_taken_back_is_not_stopped_by_a_rejection():
    assert permit(MOVE, Topics(REJECTED), back=True) is None


def test_without_a_person_a_cut_stops_once_its_need_is_over():
    assert permit(CUT, Topics(), is_attended=True) is None
    assert permit(CUT, Topics(shown=firing(CUT)), is_attended=False) is None
    found = permit(CUT, Topics(), is_attended=False)
    assert "is not on the topic" in found.reason


def test_while_the_topics_do_not_answer_nothing_is_called_and_that_is_said_once(capsys):
    topics = Topics(away=True)
    standing = Standing(topics, MOVE, is_attended=True)
    assert [standing(execution(MOVE)) for _ in range(2)] == [Hold(), Hold()]
    assert capsys.readouterr().out.count("do not answer") == 1
    topics.away = False
    assert standing(execution(MOVE)) is None
