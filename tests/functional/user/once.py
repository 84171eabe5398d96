"""Can be imported once only: what is left of its cases after a crash cannot be run any more."""

import os
from dataclasses import dataclass
from pathlib import Path

from stuck_workloads import Crashes
from user_workloads import Double

_MARK = Path(os.environ["ONCE"])
if _MARK.exists():
    raise ModuleNotFoundError("gone", name="gone")
_MARK.touch()


@dataclass(frozen=True)
class Two:
    name: str = "two"
    summary: str = "one case crashes, the other would pass"

    def cases(self):
        return (Crashes(name="crashes"), Double(name="fine"))


TWO = Two()
