"""``harness doctor``: what can be observed here, what cannot and why, with the positive controls run."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console

from harness.cli.debugging import debug_option
from harness.devices.availability import Availability, cuda_driver, optional_packages
from harness.devices.base import Device
from harness.devices.cpu import CpuDevice
from harness.devices.registry import choose_devices
from harness.devices.simulated import SimulatedDevice
from harness.environment import fingerprint
from harness.errors import ExitCode, UnavailableError
from harness.model.outcome import Outcome
from harness.session.observe import positive_control

__all__ = ["doctor_command"]


@click.command("doctor")
@debug_option
def doctor_command() -> int:
    """Show what is available on this machine and run the positive controls."""
    console = Console(highlight=False, soft_wrap=True)
    devices: tuple[Device, ...] = (CpuDevice(), SimulatedDevice())
    console.print("[bold]Devices[/]")
    trusted = [_show_device(console, device) for device in devices]
    _show_cuda(console)
    console.print("\n[bold]Driver and optional packages[/]")
    _show_packages(console, (cuda_driver(), *optional_packages()))
    console.print(
        "\n[bold]Environment[/]  (a baseline is comparable only where all of these agree)"
    )
    facts = fingerprint([device.name for device in devices])
    for name, value in sorted(facts.hard.items()):
        console.print(f"  {name:<28} {value}", markup=False)
    return int(ExitCode.PASSED if all(trusted) else ExitCode.INCONCLUSIVE)


def _show_device(console: Console, device: Device) -> bool:
    control = positive_control(device)
    if device.probe is None or control is None:
        console.print(
            f"  {device.name:<12} values and timing; no host/device boundary, so no traffic evidence"
        )
        return True
    console.print(
        f"  {device.name:<12} values and traffic, evidence {device.probe.evidence.value} "
        f"({device.probe.name}, {control.evidence}: {control.summary})",
        markup=False,
    )
    return control.outcome is Outcome.PASSED


def _show_cuda(console: Console) -> None:
    try:
        choose_devices("cuda:0")
    except UnavailableError as error:
        console.print(f"  {'cuda:0':<12} not available: {error}", markup=False)


def _show_packages(console: Console, rows: Sequence[Availability]) -> None:
    width = max(len(row.name) for row in rows)
    for row in rows:
        mark = "yes" if row.available else "no "
        detail = row.detail if row.available else f"{row.detail}; {row.install}"
        console.print(f"  {row.name:<{width}}  {mark}  {row.purpose}: {detail}", markup=False)
