"""A worktree is there while it is needed and gone afterwards."""

import tempfile

import pytest
from git_repositories import git, repository, write

from harness.errors import OutputError
from harness.session.against.repository import find_repository
from harness.session.against.worktree import checked_out


@pytest.fixture
def found(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return find_repository(repository(tmp_path / "repository", op="a = 1\n"))


@pytest.fixture
def left(found, tmp_path):
    """What is left: folders for temporary files, and worktrees beside the working tree."""
    return lambda: (
        [path.name for path in (tmp_path / "temporary").iterdir()],
        git(found.root, "worktree", "list").splitlines()[1:],
    )


def test_the_tree_holds_the_commit_and_not_the_changes_since(found, left):
    write(found.root, op="a = 2\n")
    with checked_out(found, found.resolve("main")) as worktree:
        assert (worktree.tree / "op.py").read_text() == "a = 1\n"
        assert worktree.scratch.is_dir()
    assert left() == ([], [])


def test_it_is_gone_after_an_exception_and_after_its_files_were_spoilt(found, left):
    def spoil():
        with checked_out(found, found.resolve("main")) as worktree:
            (worktree.tree / ".git").unlink()
            (worktree.tree / "made.pyc").write_text("")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spoil()
    assert left() == ([], [])


def test_the_same_commit_can_be_checked_out_twice_at_once(found, left):
    commit = found.resolve("main")
    with checked_out(found, commit) as one, checked_out(found, commit) as other:
        assert one.tree != other.tree
        assert one.tree.exists()  # the second did not take the first for left behind
        assert other.tree.exists()
    assert left() == ([], [])


def test_git_does_not_prune_it_while_it_is_in_use(found):
    with checked_out(found, found.resolve("main")):
        git(found.root, "worktree", "prune", "--expire", "now")
        assert len(git(found.root, "worktree", "list").splitlines()) == 2


def test_worktrees_of_others_stay(found, left, tmp_path):
    git(found.root, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "main")
    with checked_out(found, found.resolve("main")):
        pass
    assert len(left()[1]) == 1


def test_hooks_do_not_run(found, tmp_path):
    hook = found.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    with checked_out(found, found.resolve("main")):
        assert not (tmp_path / "ran").exists()


def test_a_folder_that_cannot_be_made_is_an_output_error(found, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no" / "such"))
    with pytest.raises(OutputError, match=r"cannot be checked out in .*set TMPDIR"):
        checked_out(found, found.resolve("main")).__enter__()
