"""Files: NumPy reads them and the array is copied to the device, or the array is read and NumPy writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated.conversion import asnumpy
from harness.probes.simulated.functions import functions as xp

__all__ = ["FUNCTIONS"]


class NpzFile:
    """An ``.npz`` file: each array is copied to the device when it is asked for."""

    def __init__(self, file: Any) -> None:
        self.npz_file = file

    def __enter__(self) -> NpzFile:
        self.npz_file.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.npz_file.__exit__(*exception)

    def __getitem__(self, key: str) -> Any:
        return xp.array(self.npz_file[key])

    def close(self) -> None:
        """Close the file."""
        self.npz_file.close()


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool | None = None) -> Any:
    """An array of an ``.npy`` file, one copy to the device; of an ``.npz`` file a lazy mapping of them."""
    loaded = np.load(file, mmap_mode, bool(allow_pickle))
    if isinstance(loaded, np.ndarray):
        return xp.array(loaded)
    return NpzFile(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else loaded


def save(file: Any, arr: Any, allow_pickle: bool | None = None) -> None:
    """Write an array: one read."""
    np.save(file, asnumpy(arr), allow_pickle=allow_pickle is None or allow_pickle)


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N803 - NumPy's name
    """Write an array as text: one read."""
    np.savetxt(fname, asnumpy(X), *args, **kwargs)


def _save_several(name: str) -> Callable[..., None]:
    write: Callable[..., None] = getattr(np, name)

    def save_several(file: Any, *args: Any, **kwds: Any) -> None:
        write(file, *map(asnumpy, args), **{key: asnumpy(value) for key, value in kwds.items()})

    save_several.__name__ = name
    save_several.__doc__ = f"``numpy.{name}`` of host copies: one read per array."
    return save_several


def _from_host(name: str) -> Callable[..., Any]:
    read = getattr(np, name)

    def from_host(*args: Any, **kwargs: Any) -> Any:
        return xp.asarray(read(*args, **kwargs))

    from_host.__name__ = name
    from_host.__doc__ = f"``numpy.{name}``, copied to the device."
    return from_host


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for function in (load, save, savetxt):
        yield function.__name__, function
    for name in ("savez", "savez_compressed"):
        yield name, _save_several(name)
    for name in ("fromfile", "fromfunction", "fromiter", "fromstring", "genfromtxt", "loadtxt"):
        yield name, _from_host(name)


FUNCTIONS: Mapping[str, Callable[..., Any]] = dict(_functions())
"""By name (cupy/_io, cupy/_creation/from_data.py)."""
