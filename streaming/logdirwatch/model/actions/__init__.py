"""The data of an action besides its texts: target, expected effect, vetoes and preconditions.

An action's ``kind`` decides the struct of its ``expected`` (``EXPECTED``); the other parts are the same for all kinds.
"""

from logdirwatch.model.actions.expected import EXPECTED as EXPECTED
from logdirwatch.model.actions.expected import Expected as Expected
