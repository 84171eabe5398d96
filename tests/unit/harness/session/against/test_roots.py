"""Where the ref's code is imported from, and whether it was."""

import sys
import sysconfig
import types
from pathlib import Path

import pytest

from harness.session.against.roots import (
    Relocation,
    import_path,
    imported,
    loaded_files,
    module_roots,
    modules_under,
    root_holding,
)


@pytest.fixture
def relocation(tmp_path):
    for folder in ("repository/src", "repository/only_here", "tree/src"):
        (tmp_path / folder).mkdir(parents=True)
    return Relocation(tmp_path / "repository", tmp_path / "tree")


@pytest.fixture
def loaded(monkeypatch):
    """Pretend that a module was imported from a file."""

    def load(name: str, file: Path) -> None:
        module = types.ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)

    return load


def test_folders_of_the_repository_become_those_of_the_worktree_in_the_same_order(relocation):
    entries = ["/lib/a", str(relocation.repository / "src"), str(relocation.repository), "/lib/b"]
    expected = ["/lib/a", str(relocation.tree / "src"), str(relocation.tree), "/lib/b"]
    assert import_path(entries, relocation) == expected


def test_a_folder_the_ref_does_not_have_is_left_out(relocation):
    """Kept, it would give the ref code of the working tree."""
    entries = [str(relocation.repository / "only_here")]
    assert import_path(entries, relocation) == []


def test_an_empty_entry_is_the_working_folder(relocation, monkeypatch):
    monkeypatch.chdir(relocation.repository / "src")
    assert import_path([""], relocation) == [str(relocation.tree / "src")]


def test_what_comes_first_is_not_repeated(relocation):
    first = [relocation.tree / "src"]
    entries = [str(relocation.repository), str(relocation.repository / "src")]
    expected = [str(relocation.tree / "src"), str(relocation.tree)]
    assert import_path(entries, relocation, first=first) == expected


def test_an_environment_inside_the_repository_is_not_moved(tmp_path):
    packages = Path(sysconfig.get_paths()["purelib"]).resolve()
    around = Relocation(packages.parent, tmp_path)
    assert around.of(packages / "numpy") is None
    assert import_path([str(packages)], around) == [str(packages)]


def test_roots_of_packages_without_an_entry_on_the_path_are_found(relocation, loaded):
    loaded("a_module_of_the_user", relocation.repository / "src" / "a_module_of_the_user.py")
    code = imported(["a_module_of_the_user"])
    file = relocation.repository / "src" / "a_module_of_the_user.py"
    assert code.files == {"a_module_of_the_user": str(file)}
    assert module_roots(relocation, code.folders) == [relocation.tree / "src"]


def test_a_module_of_the_working_tree_is_seen_and_the_harness_is_not(relocation, loaded):
    loaded("user.part", relocation.repository / "src" / "user" / "part.py")
    loaded("harness.made_up", relocation.repository / "harness" / "made_up.py")
    assert list(loaded_files(relocation.repository)) == ["user.part"]


def test_only_compiled_modules_are_compiled(relocation, loaded):
    loaded("user.plain", relocation.repository / "plain.py")
    loaded("user.built", relocation.repository / "built.abi3.so")
    found = loaded_files(relocation.repository, compiled=True)
    assert list(found) == ["user.built"]


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        ({"pkg/perf.py"}, ["."]),
        ({"src/pkg/perf.py", "src/pkg/__init__.py"}, ["src"]),
        ({"lib/pkg/perf/__init__.py"}, ["lib"]),
        ({"a/pkg/perf.py", "b/pkg/perf.py"}, ["a", "b"]),
        ({"pkg/perf.pyx", "other_pkg/perf.py"}, []),
    ],
)
def test_the_folders_that_hold_a_module_are_told_from_file_names(files, roots):
    assert root_holding("pkg.perf", files) == roots


class _AnswersAnyName(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        return object()


class _WithoutDictionary:
    __slots__ = ()


@pytest.mark.parametrize("module", [_AnswersAnyName("strange"), _WithoutDictionary()])
def test_what_only_looks_like_a_module_lies_nowhere(
    monkeypatch: pytest.MonkeyPatch, module: object
) -> None:
    monkeypatch.setitem(sys.modules, "strange", module)
    assert modules_under(Path("/"), ["strange"]) == {}
    assert "strange" not in loaded_files(Path("/"))
