"""Is the code in the working tree slower than it was? It is timed beside the baseline's code, pair by pair.

``conduct.py`` is the story of a comparison with a git ref, ``frozen.py`` that with a registered frozen copy. Two
processes, one per side, take turns; ``worker.py`` is what runs in each, ``tour.py`` the order of it all.
"""

from harness.session.against.conduct import compare_with_ref
from harness.session.against.frozen import PEER, compare_with_peer
from harness.session.against.judgement import Criteria
from harness.session.against.tour import Progress, Request, Step

__all__ = [
    "PEER",
    "Criteria",
    "Progress",
    "Request",
    "Step",
    "compare_with_peer",
    "compare_with_ref",
]
