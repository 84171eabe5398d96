"""Cases in a process of their own: one that hangs or crashes takes no other along.

``supervisor.py`` is the story: it starts ``worker.py`` in a forked process, hears from it by ``messages.py``, ends
it at the time limit, and goes on with the remaining cases in a new one. ``running.py`` does ``harness run`` this way.
"""

from harness.session.isolation.account import Account, Hooks, Order
from harness.session.isolation.errand import Errand, Limits, TimeLimit
from harness.session.isolation.messages import Begun, Doing, Item, Message, Stage
from harness.session.isolation.process import SUPPORTED
from harness.session.isolation.running import conduct_apart
from harness.session.isolation.supervisor import NothingRanError, carry_out, carry_out_here
from harness.session.isolation.verdicts import (
    Ending,
    end_of_case,
    lost_workload,
    next_step,
    outcome_of,
    story,
    unrun,
)
from harness.session.isolation.worker import Leftover, Teller, Work, selected

__all__ = [
    "SUPPORTED",
    "Account",
    "Begun",
    "Doing",
    "Ending",
    "Errand",
    "Hooks",
    "Item",
    "Leftover",
    "Limits",
    "Message",
    "NothingRanError",
    "Order",
    "Stage",
    "Teller",
    "TimeLimit",
    "Work",
    "carry_out",
    "carry_out_here",
    "conduct_apart",
    "end_of_case",
    "lost_workload",
    "next_step",
    "outcome_of",
    "selected",
    "story",
    "unrun",
]
