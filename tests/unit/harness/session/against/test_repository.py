"""What a ref names, and what is said where it names nothing."""

import shlex

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


@pytest.mark.parametrize("ref", ["", " ", "-h", "a\nb", "no-such-branch", "HEAD~1"])
def test_what_names_no_commit_is_refused_by_name(found, ref):
    with pytest.raises(UsageError) as error:
        found.resolve(ref)
    assert repr(ref) in str(error.value)


def test_a_branch_that_only_the_remote_has_is_suggested(found, tmp_path):
    git(found.root, "branch", "release")
    git(tmp_path, "clone", "-q", str(found.root), "clone")
    with pytest.raises(UsageError, match=r"did you mean origin/release\?"):
        find_repository(tmp_path / "clone").resolve("release")


def test_uncommitted_changes_are_counted_and_untracked_files_are_none(found):
    commit = found.resolve("main")
    write(found.root, op="a = 2\n", other="b = 1\n")
    assert found.state(commit, same_code=False).endswith("with 1 uncommitted change")


def test_the_same_code_is_said_whatever_git_calls_changed_and_leads_to_another_ref(found):
    commit = found.resolve("main")
    write(found.root, op="a = 2\n")
    said = found.state(commit, same_code=True)
    assert "1 uncommitted change and main @ " in said
    assert "the same code on both sides; name the branch it will be merged into" in said


def test_a_later_commit_is_not_called_the_same(found):
    commit = found.resolve("main")
    git(found.root, "commit", "-q", "--allow-empty", "-m", "after")
    assert "same code" not in found.state(commit, same_code=False)


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


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("HEAD:pkg", "it is a folder, not a commit; name the commit it lies in: --against HEAD"),
        ("HEAD:op.py", "it is a file, not a commit"),
        ("HEAD:absent", "a path within a commit is not one; name the commit: --against HEAD"),
        ("v0..main", "a range is not a commit; name its older end: --against v0"),
        ("main@{3}", "name a commit, tag or branch"),
        ("main~9", "main has only 0 commits behind it"),
        ("gone~2", "nor 'gone'"),
    ],
)
def test_what_is_no_commit_anywhere_is_not_to_be_fetched(found, ref, says):
    write(found.root, pkg__a="")
    git(found.root, "add", "-A")
    git(found.root, "commit", "-q", "--amend", "-m", "with a folder")
    with pytest.raises(UsageError) as error:
        found.resolve(ref)
    assert says in str(error.value)
    assert "git fetch" not in str(error.value)


@pytest.fixture
def origin(tmp_path):
    """Five commits on ``main``, and a branch, a branch in a folder, and two kinds of tag on others."""
    where = repository(tmp_path / "origin", op="a = 0\n")
    for number in range(1, 5):
        write(where, op=f"a = {number}\n")
        git(where, "commit", "-aqm", str(number))
    git(where, "branch", "br", "HEAD~2")
    git(where, "branch", "team/br", "HEAD~3")
    git(where, "tag", "light", "HEAD~1")
    git(where, "tag", "-a", "v1.0", "-m", "annotated", "HEAD~3")
    return where


@pytest.fixture(params=["shallow", "of one branch"])
def clone(request, origin, tmp_path):
    """A clone as CI makes them: cut off behind the newest commit, or of one branch alone."""
    kind = ("--depth", "1") if request.param == "shallow" else ("--single-branch", "--no-tags")
    git(tmp_path, "clone", "-q", *kind, f"file://{origin}", "clone")
    return find_repository(tmp_path / "clone")


_GETS = [
    ("origin/br", "origin br:refs/remotes/origin/br", "br"),
    ("origin/team/br", "origin team/br:refs/remotes/origin/team/br", "team/br"),
    ("refs/remotes/origin/br", "origin br:refs/remotes/origin/br", "br"),
    ("br", "origin br:br", "br"),
    ("team/br", "origin team/br:team/br", "team/br"),
    ("light", "origin tag light", "light"),
    ("v1.0", "origin tag v1.0", "v1.0"),
]


@pytest.mark.parametrize(("ref", "step", "same"), _GETS)
def test_the_advice_gets_the_very_ref_that_was_asked_for(clone, origin, ref, step, same):
    command = _advice(clone, ref)
    assert command.endswith(step)
    assert ("--depth 1" in command) == (clone.root / ".git" / "shallow").exists()
    git(clone.root, *shlex.split(command))
    assert clone.resolve(ref).commit == git(origin, "rev-parse", f"{same}^{{commit}}")


@pytest.mark.parametrize("ref", ["HEAD~3", "HEAD^^", "main~2^", "@~4", "HEAD^"])
def test_a_shallow_clone_is_deepened_by_as_much_as_is_asked_for(origin, tmp_path, ref):
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "clone")
    clone = find_repository(tmp_path / "clone")
    command = _advice(clone, ref)
    assert command.startswith("fetch --deepen ")
    git(clone.root, *shlex.split(command))
    assert clone.resolve(ref).commit == git(origin, "rev-parse", ref)


def test_a_merge_that_ci_made_for_a_pull_request_is_deepened_though_no_branch_has_it(
    origin, tmp_path
):
    git(origin, "checkout", "-q", "--detach")
    git(origin, "commit", "-q", "--allow-empty", "-m", "merge")
    git(origin, "update-ref", "refs/pull/1/merge", "HEAD")
    git(origin, "checkout", "-q", "main")
    pull = "+refs/pull/1/merge:refs/remotes/pull/1/merge"
    where = repository(tmp_path / "ci", other="")
    git(where, "remote", "add", "origin", f"file://{origin}")
    git(where, "fetch", "-q", "--depth", "1", "origin", pull)
    git(where, "checkout", "-q", "--detach", "refs/remotes/pull/1/merge")
    clone = find_repository(where)
    git(where, *shlex.split(_advice(clone, "HEAD~2")))
    assert clone.resolve("HEAD~2").commit == git(origin, "rev-parse", "refs/pull/1/merge~2")


@pytest.mark.parametrize("digits", [40, 10])
def test_a_commit_is_got_by_all_its_digits_and_else_with_all_branches(origin, tmp_path, digits):
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "clone")
    clone = find_repository(tmp_path / "clone")
    commit = git(origin, "rev-parse", "br")
    command = _advice(clone, commit[:digits])
    assert (command == f"fetch --depth 1 origin {commit}") == (digits == 40)
    git(clone.root, *shlex.split(command))
    assert clone.resolve(commit[:digits]).commit == commit


def test_a_name_the_remote_lacks_is_not_to_be_fetched(clone):
    for ref, says in [
        ("origin/mian", "origin has no branch 'mian'; did you mean 'main'?"),
        ("origin/zzz", "origin has no branch 'zzz'; it has br, main, team/br"),
        ("v1.1", "nor has origin; did you mean 'v1.0'?"),
        ("zzz", "nor has origin; it has "),
    ]:
        with pytest.raises(UsageError) as error:
            clone.resolve(ref)
        assert says in str(error.value)


def test_a_remote_that_does_not_answer_leaves_the_advice_for_a_branch(clone, origin):
    origin.rename(origin.with_name("moved"))
    assert _advice(clone, "br").endswith("origin br:br")
    assert _advice(clone, "origin/br").endswith("origin br:refs/remotes/origin/br")


def _advice(clone, ref):
    """The command git is to be given."""
    with pytest.raises(UsageError) as error:
        clone.resolve(ref)
    return str(error.value).rpartition(": git ")[2]
