"""What other people's code raises is told with the line it came from, as seen from where the reader stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import WorkloadError
from harness.session.foreign import foreign


def message_of(file: Path) -> str:
    code = compile("def run():\n    raise ValueError('bad')\n", str(file), "exec")
    names: dict[str, object] = {}
    exec(code, names)
    run = names["run"]
    assert callable(run)
    with pytest.raises(WorkloadError) as caught, foreign("case"):
        run()
    return str(caught.value)


def test_a_file_below_the_working_folder_is_told_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = "case raised ValueError: bad (ops/mine.py:2 in run)"
    assert message_of(tmp_path / "ops" / "mine.py") == place


def test_any_other_file_is_told_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    file = tmp_path / "mine.py"
    assert message_of(file).endswith(f"({file}:2 in run)")
    (tmp_path / "here").rmdir()
    assert message_of(file).endswith(f"({file}:2 in run)")
