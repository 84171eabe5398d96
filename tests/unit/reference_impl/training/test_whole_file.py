"""Files are there whole or as they were, and what belongs to somebody else stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from reference_impl.training.errors import InputError
from reference_impl.training.whole_file import check_replaceable, replace_file

MARK = b'"one of ours"'
OURS = b'{"format": ' + MARK + b"}"


def filled_disk(stream: BinaryIO) -> None:
    stream.write(b"half of it")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(stream: BinaryIO) -> None:
    stream.write(b"half of it")
    raise KeyboardInterrupt


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"first", b"second, longer"):
        replace_file(path, lambda stream, content=content: stream.write(content))  # type: ignore[misc]
        assert path.read_bytes() == content
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("fail", [filled_disk, interrupted])
@pytest.mark.parametrize("before", [None, b"precious"])
def test_a_failed_write_leaves_everything_as_it_was(
    tmp_path: Path, before: bytes | None, fail: object
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises((OSError, KeyboardInterrupt)):
        replace_file(path, fail)  # type: ignore[arg-type]
    assert (path.read_bytes() if path.exists() else None) == before
    assert names(tmp_path) == ([] if before is None else ["file"])


@pytest.mark.parametrize("exists", [True, False], ids=["target", "dangling"])
def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path, exists: bool) -> None:
    folder, link = tmp_path / "elsewhere", tmp_path / "link"
    folder.mkdir()
    if exists:
        (folder / "target").write_bytes(OURS)
    link.symlink_to(folder / "target")
    check_replaceable(link, MARK, what="record")
    replace_file(link, lambda stream: stream.write(b"new"))
    assert link.is_symlink()
    assert (folder / "target").read_bytes() == b"new"
    assert (names(tmp_path), names(folder)) == (["elsewhere", "link"], ["target"])


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_replaceable(pipe, MARK, what="record")
        replace_file(pipe, lambda stream: stream.write(b"content"))
        assert os.read(reader, 99) == b"content"
        # What a shell calls /dev/fd/N leads to no name that exists.
        end = Path(f"/dev/fd/{reader}")
        check_replaceable(end, MARK, what="record")
    finally:
        os.close(reader)
    assert names(tmp_path) == ["pipe"]


def test_the_longest_name_of_four_byte_letters_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("\N{GRINNING FACE}" * 63)
    replace_file(path, lambda stream: stream.write(b"content"))
    assert path.read_bytes() == b"content"


@pytest.mark.parametrize("before", [None, b"", OURS], ids=["nothing", "empty", "ours"])
def test_what_is_free_empty_or_ours_may_be_replaced_and_is_left_alone(
    tmp_path: Path, before: bytes | None
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    check_replaceable(path, MARK, what="record")
    assert (path.read_bytes() if path.exists() else None) == before
    assert names(tmp_path) == ([] if before is None else ["file"])


REFUSED = {
    "foreign": "exists and is no record; remove it or name another file",
    "folder": "is a folder; name a file for the record",
    "absent/file": "absent is no folder; make it, or name another file",
    "foreign/file": f"{os.strerror(errno.ENOTDIR)}; name another file",
    "n" * 300: f"{os.strerror(errno.ENAMETOOLONG)}; name another file",
    "loop": f"{os.strerror(errno.ELOOP)}; name another file",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_or_must_not_be_written_is_refused_in_one_line(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "foreign").write_bytes(b"precious")
    (tmp_path / "loop").symlink_to("loop")
    before = names(tmp_path)
    with pytest.raises(InputError) as caught:
        check_replaceable(tmp_path / name, MARK, what="record")
    assert str(caught.value).endswith(REFUSED[name])
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == before
    assert (tmp_path / "foreign").read_bytes() == b"precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    with pytest.raises(InputError, match=os.strerror(errno.EACCES)):
        check_replaceable(folder / "file", MARK, what="record")
