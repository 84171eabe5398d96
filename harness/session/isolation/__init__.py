"""A run whose cases are in a process of their own: one that hangs or crashes takes no other along.

``supervisor.py`` is the story: it starts ``worker.py`` in a forked process, hears from it by ``messages.py``, ends
it at the time limit, and goes on with the remaining cases in a new one.
"""

from harness.session.isolation.errand import Errand
from harness.session.isolation.process import SUPPORTED
from harness.session.isolation.supervisor import Hooks, NothingRanError, conduct_apart

__all__ = ["SUPPORTED", "Errand", "Hooks", "NothingRanError", "conduct_apart"]
