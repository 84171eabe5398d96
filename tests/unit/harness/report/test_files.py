"""A report is there whole or not at all, and never on top of another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from builders import a_run, a_verdict

from harness.errors import OutputError
from harness.report.files import check_writable, write_report
from harness.report.json import read_run

REPOSITORY = Path(__file__).parents[4]

LIMITED = """
import resource, sys
from pathlib import Path
from builders import a_run
from harness.errors import OutputError
from harness.report.files import check_writable, write_report
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    {call}
except OutputError as error:
    sys.exit(str(error))
"""


def with_file_size_limit(call: str, folder: Path, limit: int) -> str:
    """What a process says that may write no file beyond ``limit`` bytes: a disk that fills up."""
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED.format(call=call), str(folder), str(limit)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}"},
    )
    assert ran.returncode == 1, ran.stderr
    return ran.stderr.strip()


def test_a_report_is_a_folder_with_a_page_and_its_data(tmp_path: Path) -> None:
    run = a_run(a_verdict())
    folder = write_report(run, tmp_path / "reports")
    assert folder == tmp_path / "reports" / run.run_id
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "run.json"]
    assert read_run(folder / "run.json") == run
    assert [path.name for path in folder.parent.iterdir()] == [run.run_id]


def test_other_users_may_read_what_the_umask_allows(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert write_report(a_run(), tmp_path).stat().st_mode == plain.stat().st_mode


def test_an_existing_run_is_never_overwritten(tmp_path: Path) -> None:
    folder = write_report(a_run(notes=("first",)), tmp_path)
    with pytest.raises(OutputError, match="exists and was left as it is"):
        write_report(a_run(notes=("second",)), tmp_path)
    assert read_run(folder / "run.json").notes == ("first",)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("kind", ["file", "empty folder", "dangling link"])
def test_whatever_has_the_name_of_the_run_is_left_alone(kind: str, tmp_path: Path) -> None:
    target = tmp_path / a_run().run_id
    match kind:
        case "file":
            target.write_text("mine")
        case "empty folder":
            target.mkdir()
        case _:
            target.symlink_to(tmp_path / "nowhere")
    before = target.lstat()
    with pytest.raises(OutputError, match="exists and was left as it is"):
        write_report(a_run(), tmp_path)
    assert target.lstat().st_ino == before.st_ino


@pytest.mark.parametrize("run_id", ["", ".", "..", "../up", "a/b", ".hidden", "nul\0", "x" * 300])
def test_a_run_id_that_leads_elsewhere_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot name a folder"):
        write_report(a_run(run_id=run_id), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_be_written_is_created_and_left_empty(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_below_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="Not a directory; choose another folder with --output"):
        check_writable(tmp_path / "file" / "reports")
    with pytest.raises(OutputError, match="cannot be written: File exists"):
        check_writable(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_with_an_impossible_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nul\\x00 cannot be written"):
        check_writable(tmp_path / "nul\0")


def test_a_folder_that_cannot_be_written_is_told_with_the_reason() -> None:
    with pytest.raises(OutputError, match=r"^/proc/reports cannot be written: "):
        check_writable(Path("/proc/reports"))


def test_a_disk_that_is_full_from_the_start_is_told_before_any_work(tmp_path: Path) -> None:
    said = with_file_size_limit("check_writable(Path(sys.argv[1]))", tmp_path, 4)
    assert (
        said
        == f"{tmp_path} cannot be written: File too large; raise the limit on the size of files (ulimit -f)"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_leaves_nothing_half_written(tmp_path: Path) -> None:
    earlier = write_report(a_run(run_id="earlier"), tmp_path)
    said = with_file_size_limit("write_report(a_run(), Path(sys.argv[1]))", tmp_path, 5000)
    assert said.startswith(f"{tmp_path / a_run().run_id} cannot be written: File too large")
    assert list(tmp_path.iterdir()) == [earlier]
    assert len(list(earlier.iterdir())) == 2
