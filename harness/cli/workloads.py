"""``harness workloads``: what can be run by name."""

from __future__ import annotations

import click

from harness.session.catalogue import BUILT_IN, load_workload

__all__ = ["workloads_command"]


@click.command("workloads")
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
def workloads_command(names: tuple[str, ...]) -> None:
    """List the built-in workloads, or the cases of those named."""
    for name in names or tuple(BUILT_IN):
        workload = load_workload(name)
        click.echo(f"{workload.name}: {workload.summary}")
        for case in workload.cases():
            about = ", ".join(f"{key} {value}" for key, value in case.parameters.items())
            timed = "" if case.timed else "  (not timed)"
            click.echo(f"  {workload.name}/{case.name}  {about}{timed}")
