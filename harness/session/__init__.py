"""The one use case: verify workloads and return what was found, as values.

``conduct.py`` is the story of a run, ``verify.py`` that of one case.
"""

from harness.session.catalogue import BUILT_IN, Selection, load_workload, select
from harness.session.conduct import Request, conduct
from harness.session.verify import Settings, verify_case

__all__ = [
    "BUILT_IN",
    "Request",
    "Selection",
    "Settings",
    "conduct",
    "load_workload",
    "select",
    "verify_case",
]
