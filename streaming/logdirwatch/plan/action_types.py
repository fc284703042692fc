"""Every kind of action, with what the planner must know of it: each has a module of its name in ``actions``."""

from collections.abc import Mapping

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.modules_by_name import modules_by_name
from logdirwatch.plan import actions
from logdirwatch.plan.actions.action_type import ActionType

_MODULES = modules_by_name(actions)

ACTION_TYPES: Mapping[ActionKind, ActionType] = {kind: _MODULES[kind].ACTION_TYPE for kind in ActionKind}
