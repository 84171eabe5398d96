"""Two versions of the same modules in one process, each seeing only its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from harness.session.against.worlds import World, Worlds

PACKAGE = """
import json
from two_versions_inner import part

VERSION = {version!r}

def late():
    from two_versions_late import NAME
    return NAME
"""


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A package in two versions, in folders of their own."""
    before, path, folder = set(sys.modules), list(sys.path), Path.cwd()
    roots = []
    for version in ("new", "old"):
        root = tmp_path / version
        root.mkdir()
        (root / "two_versions.py").write_text(PACKAGE.format(version=version))
        (root / "two_versions_inner").mkdir()  # a namespace package: it has no file of its own
        (root / "two_versions_inner" / "part.py").write_text(f"VERSION = {version!r}\n")
        (root / "two_versions_late.py").write_text(f"NAME = {version!r}\n")
        roots.append(root)
    yield roots[0], roots[1]
    for name in set(sys.modules) - before:
        if name.startswith("two_versions"):
            del sys.modules[name]
    sys.path[:] = path
    os.chdir(folder)


def entered(worlds: Worlds, root: Path) -> tuple[World, ModuleType]:
    world = World(root, root)
    worlds.enter(world)
    sys.path.insert(0, str(root))
    import two_versions

    return world, two_versions


def test_each_side_sees_its_own_version(trees: tuple[Path, Path]) -> None:
    worlds = Worlds()
    (new, newer), (old, older) = (entered(worlds, root) for root in trees)
    assert newer is not older
    for world, module, version in ((new, newer, "new"), (old, older, "old"), (new, newer, "new")):
        worlds.enter(world)
        assert sys.modules["two_versions"] is module
        assert (version, version) == (module.VERSION, module.part.VERSION)
        assert Path.cwd() == world.folder


def test_what_is_imported_late_comes_from_the_side_that_imports_it(
    trees: tuple[Path, Path],
) -> None:
    worlds = Worlds()
    (new, newer), (old, older) = (entered(worlds, root) for root in trees)
    assert older.late() == "old"
    worlds.enter(new)
    assert newer.late() == "new"
    worlds.enter(old)
    assert older.late() == "old"


def test_what_belongs_to_neither_side_is_common(trees: tuple[Path, Path]) -> None:
    worlds = Worlds()
    (_, newer), (_, older) = (entered(worlds, root) for root in trees)
    assert newer.json is older.json is sys.modules["json"]
