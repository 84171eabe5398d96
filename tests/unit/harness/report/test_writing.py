"""A file is there whole or as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.errors import OutputError
from harness.report.writing import check_replaceable, replace_file


def test_a_file_takes_the_place_of_an_older_one_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.xml"
    replace_file(path, b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert [each.name for each in path.parent.iterdir()] == ["out.xml"]


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.xml"
    path.write_bytes(b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OutputError, match=r"out\.xml cannot be written: No space left on device"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["out.xml"]


def test_a_link_stays_one_and_a_device_stays_a_device(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    replace_file(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    replace_file(Path(os.devnull), b"gone")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("name", ["folder", "file/below", "nul\0"])
def test_what_cannot_be_written_is_told_by_name_before_and_after_the_work(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for refused in (check_replaceable, lambda path: replace_file(path, b"x")):
        with pytest.raises(OutputError, match=r"cannot be written: .+; choose another file"):
            refused(tmp_path / name)


def test_the_check_leaves_what_is_there_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    path.write_bytes(b"old")
    check_replaceable(path)
    check_replaceable(tmp_path / "new" / "other.xml")
    assert path.read_bytes() == b"old"
    assert list((tmp_path / "new").iterdir()) == []
