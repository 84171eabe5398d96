"""What a ref names, and what is said where it names nothing."""

import pytest
from git_repositories import git, repository, write

from harness.errors import UsageError
from harness.session.against.repository import find_repository


@pytest.fixture
def found(tmp_path):
    return find_repository(repository(tmp_path / "repository", op="a = 1\n"))


@pytest.mark.parametrize("ref", ["main", "HEAD", "v1"])
def test_a_branch_a_tag_and_head_resolve_to_the_same_commit(found, ref):
    git(found.root, "tag", "-a", "v1", "-m", "a tag that is an object of its own")
    commit = found.resolve(ref)
    assert commit.commit == git(found.root, "rev-parse", "HEAD")
    assert commit.label == f"{ref} @ {commit.short}"


def test_a_commit_named_by_its_hash_is_not_named_twice(found):
    commit = found.resolve(git(found.root, "rev-parse", "HEAD"))
    assert commit.label == commit.short


@pytest.mark.parametrize("ref", ["", " ", "-h", "a\nb", "no-such-branch", "main:op.py", "HEAD~1"])
def test_what_names_no_commit_is_refused_by_name(found, ref):
    with pytest.raises(UsageError) as error:
        found.resolve(ref)
    assert repr(ref) in str(error.value)


def test_a_branch_that_only_the_remote_has_is_suggested(found, tmp_path):
    git(found.root, "branch", "release")
    git(tmp_path, "clone", "-q", str(found.root), "clone")
    with pytest.raises(UsageError, match=r"did you mean origin/release\?"):
        find_repository(tmp_path / "clone").resolve("release")


def test_uncommitted_changes_are_counted(found):
    commit = found.resolve("main")
    assert "the same code on both sides" in found.state(commit)
    write(found.root, op="a = 2\n", other="b = 1\n")
    assert found.state(commit).endswith("with 2 uncommitted changes")


def test_a_later_commit_is_not_called_the_same(found):
    commit = found.resolve("main")
    git(found.root, "commit", "-q", "--allow-empty", "-m", "after")
    assert "same code" not in found.state(commit)


def test_files_are_those_of_the_commit_whatever_their_names(found):
    commit = found.resolve("main")
    write(found.root, **{"a b": ""})
    assert found.files(commit) == {"op.py"}
    git(found.root, "add", "-A")
    git(found.root, "commit", "-q", "-m", "after")
    assert found.files(found.resolve("main")) == {"op.py", "a b.py"}


def test_a_hook_s_variables_do_not_lead_elsewhere(found, tmp_path, monkeypatch):
    other = repository(tmp_path / "other", thing="")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert find_repository(found.root).root == found.root


def test_a_repository_without_a_commit_is_refused(tmp_path):
    git(tmp_path, "init", "-q")
    with pytest.raises(UsageError, match="no commit yet"):
        find_repository(tmp_path)
