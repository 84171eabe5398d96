"""The verbs the command lists are those that there are."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import harness.cli
from harness.cli.command import command

CONTEXT = click.Context(command)
VERBS = command.list_commands(CONTEXT)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_found_and_says_what_it_does(name: str) -> None:
    verb = command.get_command(CONTEXT, name)
    assert verb is not None
    assert verb.name == name
    assert verb.get_short_help_str()


def test_every_module_of_a_verb_is_listed() -> None:
    (folder,) = harness.cli.__path__
    modules = [path for path in Path(folder).glob("*.py") if "_command = " not in path.read_text()]
    having = {path.stem for path in modules if f"def {path.stem}_command(" in path.read_text()}
    assert having == set(VERBS)


def test_what_is_no_verb_is_none() -> None:
    assert command.get_command(CONTEXT, "options") is None


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("comp", "No such command 'comp'. Did you mean 'compare'?"),
        ("zzz", "No such command 'zzz'."),
    ],
)
def test_a_verb_that_is_mistyped_is_guessed(typed: str, says: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        command.resolve_command(CONTEXT, [typed])
    assert caught.value.message == says
