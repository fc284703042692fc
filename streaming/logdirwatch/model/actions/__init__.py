"""What actions carry beside their texts: what they act on, what is expected of them, what stands against them.

An action's ``kind`` says which struct its ``expected`` has (``EXPECTED``); the other parts are the same for all kinds.
"""

from logdirwatch.model.actions.expected import EXPECTED as EXPECTED
from logdirwatch.model.actions.expected import Expected as Expected
