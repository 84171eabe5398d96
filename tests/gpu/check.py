"""Everything that only a GPU can show, in one command: ``make gpu`` or ``python -m tests.gpu.check``.

Each section is a process of its own with a time limit; all of it takes under eight minutes. What was found is in
one folder, and in a zip file of it to send back. The short table comes last.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click

import harness
from harness.errors import ExitCode

from .findings import worst_of
from .plan import SECTIONS, TOTAL_S, WHOLE
from .runner import Ended, Ending, run_section
from .section import FINDINGS_FILE, PREFLIGHT
from .table import difference_lines, exit_code, table_lines

__all__ = ["SCHEMA_VERSION", "main"]

SCHEMA_VERSION = 1
"""Of ``gpu-check.json``; raised whenever a field changes meaning or disappears."""

ROOT = Path(__file__).resolve().parents[2]

_PREFLIGHT_S = 25.0
"""For the driver to wake up and CuPy to be imported; seconds on a machine in order."""

_LEAST_S = 5.0
"""With less time left no section is begun: it would be killed while it imports CuPy."""

_INSTALL = 'python -m pip install -e ".[cuda13,bfloat16]" or ".[cuda12,bfloat16]"'

_OTHER_DEVICE = ", or use --device auto"
"""How the harness goes on where it offers another device, which this check has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One run of the check: where it writes, and whether it is a dry one."""

    folder: Path
    dry_run: bool
    deadline: float

    def run(self, name: str, limit_s: float) -> Ended:
        """Run one section, or say that there is no time for it."""
        left = self.deadline - time.monotonic()
        if left < _LEAST_S:
            return Ended(name=name, ending=Ending.NO_TIME, reason=f"{TOTAL_S:.0f} s are over")
        limit = min(limit_s, left)
        folder = self.folder / name
        command = [sys.executable, "-m", "gpu.section", name, "--folder", str(folder)]
        command += ["--limit", f"{limit:.1f}", *(["--dry-run"] if self.dry_run else [])]
        return run_section(
            name,
            command,
            folder=folder,
            findings_file=FINDINGS_FILE,
            limit_s=limit,
            environment=_environment(os.environ.get("PYTHONPATH")),
            cwd=ROOT,
        )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder to write, new or empty.  [default: reports/gpu-check-TIME]",
)
@click.option(
    "--section",
    "names",
    multiple=True,
    type=click.Choice([section.name for section in SECTIONS]),
    help="Only this section; may be repeated.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="On simulated arrays and a scripted CUPTI: tries the check itself.",
)
def main(output: Path | None, names: tuple[str, ...], dry_run: bool) -> None:
    """Check on a real GPU what this project otherwise rests on documentation and simulation for."""
    created = datetime.now(UTC)
    folder = _new_folder(output or ROOT / "reports" / f"gpu-check-{created:%Y%m%dT%H%M%SZ}")
    check = Check(folder=folder, dry_run=dry_run, deadline=time.monotonic() + TOTAL_S)
    interrupted = False
    ended: list[Ended] = []
    with _termination_as_interrupt():
        try:
            preflight = check.run(PREFLIGHT, _PREFLIGHT_S)
            _refuse_without_gpu(preflight, folder)
            for section in SECTIONS:
                if not names or section.name in names:
                    click.echo(
                        f"{section.name}: {section.title} (at most {section.limit_s:.0f} s)",
                        err=True,
                    )
                    ended.append(check.run(section.name, section.limit_s))
        except KeyboardInterrupt:
            interrupted = True
    if not ended:
        click.echo("interrupted before the first section ended", err=True)
        sys.exit(int(ExitCode.INTERRUPTED))
    # A dry run can try everything but the device, and says so in its title.
    whole = frozenset() if dry_run else WHOLE
    title = _title(preflight, created, dry_run=dry_run)
    archive = _write(check, ended, title=title, created=created)
    lines = [
        *difference_lines(ended),
        "",
        *table_lines(ended, title=title),
        f"send back: {archive}",
    ]
    click.echo("\n".join(lines).lstrip("\n"))
    sys.exit(int(ExitCode.INTERRUPTED if interrupted else exit_code(ended, whole=whole)))


def _new_folder(folder: Path) -> Path:
    """The folder, made; one that holds something is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise click.UsageError(f"{folder} is not empty; name a new folder with --output")
    except OSError as error:
        raise click.UsageError(f"{folder} cannot be written: {error.strerror or error}") from None
    return folder.resolve()


def _refuse_without_gpu(preflight: Ended, folder: Path) -> None:
    """End with one line where no section could do anything."""
    if preflight.ending is Ending.FINISHED:
        return
    shutil.rmtree(folder / PREFLIGHT, ignore_errors=True)
    if not any(folder.iterdir()):
        folder.rmdir()
    if preflight.ending is Ending.UNAVAILABLE:
        click.echo(
            f"gpu check: {preflight.reason.partition(_OTHER_DEVICE)[0]}; all this check uses: {_INSTALL}; "
            "without a GPU: --dry-run",
            err=True,
        )
        sys.exit(int(ExitCode.UNAVAILABLE))
    click.echo(
        f"gpu check: the GPU did not come up ({preflight.ending.value}, {preflight.reason}); see `nvidia-smi`",
        err=True,
    )
    sys.exit(int(ExitCode.INCONCLUSIVE))


def _title(preflight: Ended, created: datetime, *, dry_run: bool) -> str:
    gpu = next((finding.seen for finding in preflight.findings), "")
    about = f"{created:%Y-%m-%d}, ondevice-harness {harness.__version__}"
    if dry_run:
        return (
            f"DRY RUN on the simulated device and a scripted CUPTI, no claim about any GPU; {about}"
        )
    return f"{gpu}; {about}"


def _write(check: Check, ended: Sequence[Ended], *, title: str, created: datetime) -> Path:
    """The report and the table beside the sections' own files, and a zip file of it all."""
    report = {
        "format": "ondevice-harness gpu check",
        "schema_version": SCHEMA_VERSION,
        "created": created.isoformat(timespec="seconds"),
        "title": title,
        "dry_run": check.dry_run,
        "sections": [
            {
                "name": one.name,
                "ending": one.ending.value,
                "reason": one.reason,
                "seconds": round(one.seconds, 1),
                "items": {item: outcome.value for item, outcome in worst_of(one.findings).items()},
            }
            for one in ended
        ],
    }
    (check.folder / "gpu-check.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    lines = [*table_lines(ended, title=title), "", *difference_lines(ended)]
    (check.folder / "summary.txt").write_text("\n".join(lines) + "\n", "utf-8")
    archive = shutil.make_archive(
        str(check.folder), "zip", root_dir=check.folder.parent, base_dir=check.folder.name
    )
    return Path(archive)


def _environment(path: str | None) -> dict[str, str]:
    """This process's, with the repository and its tests importable and output unbuffered."""
    folders = [str(ROOT / "tests"), str(ROOT), *([path] if path else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONUNBUFFERED": "1"}


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """What a cancelled job has found by then is told as after Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    main()
