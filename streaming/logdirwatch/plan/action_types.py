"""Every kind of action and its :class:`ActionType`; each kind has a module of the same name in ``actions``."""

from collections.abc import Mapping

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.modules_by_name import modules_by_name
from logdirwatch.plan import actions
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much
from logdirwatch.plan.actions.progress import not_seen

RETIRED = {
    kind: ActionType(kind=kind, progress=not_seen, covers=frees_as_much, changes_declared=False)
    for kind in (ActionKind.DELETE_TOPIC_CANDIDATE,)
}
"""Kinds that are only read: releases before this one proposed them."""
_MODULES = modules_by_name(actions)

ACTION_TYPES: Mapping[ActionKind, ActionType] = {
    kind: RETIRED.get(kind) or _MODULES[kind].ACTION_TYPE for kind in ActionKind
}

EXECUTABLE = tuple(kind for kind, declared in ACTION_TYPES.items() if declared.executes is not None)
"""The kinds that the autopilot can be allowed to carry out."""
