"""Everything on a device array that copies it to the host."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy.typing as npt

from harness.probes.simulated import transfer
from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.storage import DeviceMemory

__all__ = ["HostReads"]

_CPU = (1, 0)
_CUDA = (2, 0)
"""Device types of DLPack (dlpack.h, ``DLDeviceType``) with the device's number."""


class HostReads(DeviceMemory):
    """Explicit reads: each is one copy to the host and one wait for the stream, unless said otherwise."""

    __slots__ = ()

    def get(
        self,
        stream: Any = None,
        order: str = "C",
        out: npt.NDArray[Any] | None = None,
        blocking: bool = True,
    ) -> npt.NDArray[Any]:
        """A copy in host memory.

        With ``blocking=False`` there is no wait, but a copy into pageable memory, which is what ``out=None``
        gives, still holds the host until it is done. An empty array copies nothing.
        """
        return transfer.download(
            self._memory,
            stream=None if stream is None else stream.ptr,
            order=order,
            out=out,
            blocking=blocking,
        )

    def item(self) -> Any:
        """The only element as a Python scalar; ``ValueError`` before any copy when there are more."""
        if self.size != 1:
            raise ValueError(f"item() takes an array of one element, not of {self.size}")
        return self.get().item()

    def tolist(self) -> Any:
        """The elements as nested Python lists."""
        return self.get().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """The elements as bytes."""
        return self.get().tobytes(order)  # type: ignore[arg-type]

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file."""
        self.get().tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """Pickle the array to an open file."""
        pickle.dump(self, file, -1)

    def dumps(self) -> bytes:
        """The array as a pickle."""
        return pickle.dumps(self, -1)

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.get())
        if self.size == 0:
            warnings.warn(
                "the truth value of an empty device array is ambiguous: test a.size > 0",
                DeprecationWarning,
                stacklevel=2,
            )
            return False
        raise ValueError(
            "the truth value of a device array with more than one element is ambiguous: "
            "use a.any() or a.all()"
        )

    def __bytes__(self) -> bytes:
        return bytes(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __format__(self, spec: str) -> str:
        return format(self.get(), spec)

    def __reduce__(self) -> Any:
        return type(self)._restore, (self.get(order="A"),)

    @classmethod
    def _restore(cls, host: npt.NDArray[Any]) -> HostReads:
        """Put a pickled array back on the device: one copy to it."""
        array = object.__new__(cls)
        array._memory = transfer.upload(host)
        return array

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of a host copy when the consumer asks for the CPU; the device's memory is not exported."""
        if dl_device == _CPU:
            if copy is False:
                raise ValueError("device memory is not exported to the CPU without a copy")
            options: dict[str, Any] = {} if max_version is None else {"max_version": max_version}
            return self.get(order="A").__dlpack__(**options)
        if dl_device in (None, _CUDA):
            raise not_modelled(
                "__dlpack__ to another CUDA library",
                "simulated device memory has no CUDA address; ask for dl_device=(1, 0), a host copy",
            )
        raise BufferError(f"unsupported device {dl_device}")
