"""Where the code of a ref is imported from, and whether it really was.

The worker of the ref gets the import path of the working tree with every folder inside the repository replaced by
its counterpart in the worktree. What lies in an environment's own folders for packages stays as it is.
"""

from __future__ import annotations

import importlib.machinery
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = [
    "Imported",
    "Relocation",
    "import_path",
    "imported",
    "loaded_files",
    "module_roots",
    "modules_under",
    "root_holding",
]

_OWN = ("harness", "__main__", "__mp_main__")
"""Both sides are measured by the same harness, also where it is the package under test that holds it."""


@dataclass(frozen=True, slots=True)
class Relocation:
    """From the root of a repository to that of its worktree."""

    repository: Path
    tree: Path

    def of(self, path: Path) -> Path | None:
        """The counterpart of a path of the working tree, ``None`` for one outside it or of an environment in it."""
        if not path.is_relative_to(self.repository) or _of_an_environment(path):
            return None
        return self.tree / path.relative_to(self.repository)


def import_path(
    entries: Iterable[str], move: Relocation, *, first: Sequence[Path] = (), keep: bool = True
) -> list[str]:
    """An import path as it is for the worktree: ``first``, then every entry with those of the repository moved.

    A folder of the repository that the ref does not have is left out, or the two versions would mix. Without
    ``keep`` only the moved entries are given.
    """
    found: dict[str, None] = dict.fromkeys(map(str, first))
    for entry in entries:
        folder = Path(entry or os.curdir).resolve()
        moved = move.of(folder)
        if moved is not None and moved.exists():
            found[str(moved)] = None
        elif moved is None and keep:
            found[entry] = None
    return list(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Where a process has its code from.

    Its import path, the ``files`` of the modules asked about, and all ``folders`` that hold its top-level packages:
    editable installs may map packages without any entry on the import path.
    """

    path: tuple[str, ...]
    files: Mapping[str, str]
    folders: tuple[str, ...]


def imported(modules: Iterable[str]) -> Imported:
    """Where this process has its code from."""
    folders: dict[str, None] = {}
    for name, module in list(sys.modules.items()):
        if "." not in name and name not in _OWN:
            folders |= {str(place.parent): None for place in _places(module)}
    files = {
        name: str(getattr(sys.modules.get(name), "__file__", None) or "no file") for name in modules
    }
    return Imported(path=tuple(sys.path), files=files, folders=tuple(folders))


def module_roots(move: Relocation, folders: Iterable[str]) -> list[Path]:
    """The counterparts of those ``folders`` that lie in the repository."""
    moved = dict.fromkeys(move.of(Path(folder)) for folder in folders)
    return [root for root in moved if root is not None and root.exists()]


def root_holding(module: str, files: Iterable[str]) -> list[str]:
    """The folders, relative to a repository's root, from which ``module`` would be imported given its files."""
    base = module.replace(".", "/")
    ends = (f"{base}.py", f"{base}/__init__.py")
    return sorted(
        path.removesuffix(end).rstrip("/") or "."
        for path in files
        for end in ends
        if path == end or path.endswith(f"/{end}")
    )


def loaded_files(root: Path, *, compiled: bool = False) -> dict[str, Path]:
    """Modules of this process whose file lies under ``root``, without the harness and installed packages.

    ``compiled`` asks for extension modules only.
    """
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    found = {}
    for name, module in list(sys.modules.items()):
        origin = _own_attribute(module, "__file__")
        if name.partition(".")[0] in _OWN or not isinstance(origin, str):
            continue
        path = Path(origin).resolve()
        wanted = path.name.endswith(suffixes) or not compiled
        if wanted and path.is_relative_to(root) and not _of_an_environment(path):
            found[name] = path
    return found


def modules_under(root: Path, names: Iterable[str]) -> dict[str, ModuleType]:
    """Those of these modules of the process that come from a folder, namespace packages too; never the harness."""
    found = {}
    for name in names:
        module = sys.modules.get(name)
        if module is None or name.partition(".")[0] in _OWN:
            continue
        places = _places(module)
        if any(place.is_relative_to(root) and not _of_an_environment(place) for place in places):
            found[name] = module
    return found


def _places(module: ModuleType) -> list[Path]:
    """The file of a module, or the folders of a package; none for what has neither."""
    folders = list(_own_attribute(module, "__path__") or ())
    origin = _own_attribute(module, "__file__")
    texts = folders or ([origin] if isinstance(origin, str) else [])
    return [Path(text).resolve() for text in texts if isinstance(text, str)]


def _own_attribute(module: object, name: str) -> Any:
    """What a module's own dictionary holds; what it makes up on access is no place (``torch.classes`` has any name).

    Programs put objects of other types into ``sys.modules`` too, some without a dictionary.
    """
    return getattr(module, "__dict__", {}).get(name)


def _of_an_environment(path: Path) -> bool:
    """Whether packages are installed here; an environment often lies in the repository it serves."""
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return any(path.is_relative_to(Path(folder).resolve()) for folder in folders)
