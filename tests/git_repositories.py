"""Real git repositories for tests, made of Python files."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["git", "repository", "write"]


def git(folder: Path, *arguments: str) -> str:
    """What a git command prints; it must succeed."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, **files: str) -> Path:
    """A repository with these files in one commit on ``main``."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "before")
    return folder


def write(folder: Path, **files: str) -> None:
    """Write ``name.py`` for every ``name``; two underscores are a slash."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
