"""Two versions of the same modules in one process: each side has its own, and only one side's are visible at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

from harness.session.against.roots import modules_under

__all__ = ["World", "Worlds"]


class World:
    """What the code of one side sees: its modules, its import path, its working folder.

    ``root`` is the folder its own modules lie under; all others (NumPy, the standard library) are common property.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.path = list(sys.path)
        self.modules: dict[str, ModuleType] = {}


class Worlds:
    """The world in force; entering another puts the modules of the last one aside.

    Functions keep the modules they were defined in; what they import later comes from their own side, as long as it
    happens while their world is in force. Costs some 20 us when nothing new was imported.
    """

    def __init__(self) -> None:
        self._current: World | None = None
        self._common: set[str] = set()

    def enter(self, world: World) -> None:
        """Make ``world`` the one in force."""
        if world is self._current:
            return
        if self._current is not None:
            self._put_aside(self._current)
        sys.modules.update(world.modules)
        sys.path[:] = world.path
        os.chdir(world.folder)
        self._current = world

    def _put_aside(self, world: World) -> None:
        world.path = list(sys.path)
        new = sys.modules.keys() - self._common - world.modules.keys()
        own = modules_under(world.root, new)
        self._common |= new - own.keys()
        world.modules = {
            name: module
            for name in (*world.modules, *own)
            if (module := sys.modules.pop(name, None)) is not None
        }
