"""Every kind of action is known whole: one file each, and nothing of it forgotten."""

from pathlib import Path

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan import actions
from logdirwatch.plan.action_types import ACTION_TYPES, RETIRED
from logdirwatch.plan.actions.action_type import FixRole

FOLDER = Path(actions.__file__).parent


def test_every_kind_has_its_type():
    assert set(ACTION_TYPES) == set(ActionKind)
    assert [found.kind for found in ACTION_TYPES.values()] == list(ACTION_TYPES)


@pytest.mark.parametrize("kind", sorted(set(ActionKind) - set(RETIRED)))
def test_every_kind_has_one_file_of_its_name(kind):
    (file,) = FOLDER.rglob(f"{kind}.py")
    assert f"kind=ActionKind.{kind.name}," in file.read_text()


def test_no_two_kinds_share_a_rank_among_what_gives_room():
    reliefs = [found.relief for kind, found in ACTION_TYPES.items() if found.fix_role is FixRole.MAKES_ROOM]
    assert len({relief.if_not for relief in reliefs}) == len(reliefs)
