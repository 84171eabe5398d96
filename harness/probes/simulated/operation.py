"""One modelled operation: its parameters, what crosses the boundary, and where its values come from.

Parameters are written as text, operands before ``|`` and options after it, in CuPy's order::

    "a ~indices:int64 | axis out"

===========  ======================================================================
plain        operand: a device array or a scalar; option: a host value
``~name``    a host list or array is accepted too and costs one copy to the device
``@name``    an option that may be a device array
``*name``    a sequence of device arrays
``!name``    an option of CuPy that is not modelled: refused unless it is ``None``
``:dtype``   the dtype in which a host operand is copied
``name=old``  CuPy's name, and the one NumPy has for it
===========  ======================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import boundary
from harness.probes.simulated.host_knowledge import REFUSALS, depends_on_values
from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.silence import silently
from harness.probes.simulated.storage import DeviceMemory, Memory, is_scalar, to_memory
from harness.probes.simulated.transfer import upload

__all__ = ["Call", "Operation", "Work", "named_parameters", "on_device"]


class Work(Enum):
    """What an operation does on the device apart from its crossings."""

    KERNEL = "one kernel named after it, unless the result is empty"
    VIEW = "nothing when the result is a view of an operand, else one kernel"


class _Parameter(NamedTuple):
    """``name`` is CuPy's, ``keyword`` what the function that computes the values calls it."""

    name: str
    mark: str
    dtype: str | None
    keyword: str


class Call(NamedTuple):
    """The arguments of one call; looking them up by name is left to the crossings that need it."""

    operands: tuple[_Parameter, ...]
    as_given: tuple[Sequence[Any], Mapping[str, Any]]
    as_memory: tuple[Sequence[Any], Mapping[str, Any]]

    @property
    def given(self) -> dict[str, Any]:
        """What the caller passed, by name."""
        return self._by_name(*self.as_given)

    @property
    def memory(self) -> dict[str, Any]:
        """The same as memory and scalars."""
        return self._by_name(*self.as_memory)

    def _by_name(self, operands: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        names = (parameter.name for parameter in self.operands)
        return dict(zip(names, operands, strict=False)) | dict(options)


def named_parameters(*names: str, optional: Iterable[str] = ()) -> inspect.Signature:
    """The signature of a function whose parameters may be given by position or by name, the optional ones last."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in names]
    parameters += [inspect.Parameter(name, kind, default=None) for name in optional]
    return inspect.Signature(parameters)


def _parse(text: str) -> tuple[_Parameter, ...]:
    parameters = []
    for word in text.split():
        mark = word[0] if word[0] in "~@*!" else ""
        names, _, dtype = word[len(mark) :].partition(":")
        name, _, keyword = names.partition("=")
        parameters.append(_Parameter(name, mark, dtype or None, keyword or name))
    return tuple(parameters)


def on_device(value: object, where: str, dtype: npt.DTypeLike | None = None) -> Any:
    """Memory of a device array, a scalar as it is, or a host list or array copied to the device."""
    if isinstance(value, DeviceMemory):
        return value._memory
    if value is None or is_scalar(value):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return upload(value, dtype)
    return to_memory(value, where)


@dataclass(frozen=True, slots=True)
class Operation:
    """A function of the device; call it with device arrays, scalars and options.

    ``values`` computes on host memory and defaults to NumPy's function of the same name. ``crossings`` is
    run first and announces what crosses the boundary; ``None`` means that nothing does, and that no value can
    be refused, unless ``announces_itself``: then ``values`` does both. ``source`` says where in CuPy 14.2 that
    can be read, ``owner`` where the function is found.
    """

    name: str
    parameters: str
    crossings: Callable[[Call], None] | None = None
    values: Callable[..., Any] | None = None
    source: str = ""
    work: Work = Work.KERNEL
    owner: str = "xp"
    announces_itself: bool = False
    _operands: tuple[_Parameter, ...] = field(init=False)
    _options: Mapping[str, _Parameter] = field(init=False)
    _values: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        operands, _, options = self.parameters.partition("|")
        object.__setattr__(self, "_operands", _parse(operands))
        object.__setattr__(self, "_options", {option.name: option for option in _parse(options)})
        values = self.values if self.values is not None else getattr(np, self.name)
        object.__setattr__(self, "_values", values)

    @property
    def __signature__(self) -> inspect.Signature:
        """Operands and options, in CuPy's order and under its names."""
        return named_parameters(*(each.name for each in self._operands), optional=self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Announce the crossings, compute, announce the kernel; returns memory, or what was given as out."""
        misplaced = kwargs and not kwargs.keys() <= self._options.keys()
        if misplaced or len(args) > len(self._operands):
            args, kwargs = self._rearrange(args, kwargs)
        operands = [
            value._memory
            if isinstance(value, DeviceMemory) and parameter.mark != "*"
            else self._operand(parameter, value)
            for parameter, value in zip(self._operands, args, strict=False)
        ]
        options = self._converted(kwargs) if kwargs else {}
        if self.crossings is not None:
            silently(self.crossings, Call(self._operands, (args, kwargs), (operands, options)))
        try:
            result = silently(self._values, *operands, **options)
        except REFUSALS as error:
            reads = self.announces_itself or self.crossings is not None
            if not reads and depends_on_values(self._values, operands, options):
                raise not_modelled(f"{self.owner}.{self.name} of these values") from error
            raise
        if self._launches(result, operands):
            boundary.kernel(self.name)
        out = kwargs.get("out") if kwargs else None
        return result if out is None else out

    def _rearrange(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments with operands by position and options by name."""
        operands = [parameter.name for parameter in self._operands]
        names = [*operands, *self._options]
        if len(args) > len(names):
            raise TypeError(f"{self.name}() takes at most {len(names)} arguments on the device")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(
                    f"{self.name}() has no argument {name!r} on the device, only {', '.join(names)}"
                )
            if name in given:
                raise TypeError(f"{self.name}() got two values for {name!r}")
            given[name] = value
        present = [name in given for name in operands]
        if sorted(present, reverse=True) != present:
            raise TypeError(f"{self.name}() lacks {operands[present.index(False)]!r}")
        positional = tuple(given.pop(name) for name in operands if name in given)
        return positional, given

    def _converted(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        options = {}
        for name, value in kwargs.items():
            parameter = self._options[name]
            if value is not None or not parameter.mark:
                options[parameter.keyword] = self._option(parameter, value)
        return options

    def _option(self, parameter: _Parameter, value: Any) -> Any:
        name = parameter.name
        if name == "out":
            return None if value is None else self._out(value)
        if parameter.mark == "!":
            raise not_modelled(f"{self.owner}.{self.name}({name}=...)")
        if parameter.mark:
            return self._operand(parameter, value)
        if isinstance(value, DeviceMemory):
            boundary.doubt(
                f"{self.owner}.{self.name}({name}=<device array>)",
                "is refused here, which CuPy may not do",
            )
            raise TypeError(
                f"{self.name}({name}=...) must be a host value: a device array has no __index__, "
                "and reading it with int() would be a copy and a wait"
            )
        return value

    def _out(self, value: Any) -> Memory:
        if not isinstance(value, DeviceMemory):
            raise TypeError(
                f"{self.name}(out=...) takes a device array, not {type(value).__name__}"
            )
        return value._memory

    def _operand(self, parameter: _Parameter, value: Any) -> Any:
        if isinstance(value, DeviceMemory) and parameter.mark != "*":
            return value._memory
        if parameter.mark == "~":
            return on_device(value, self.name, parameter.dtype)
        if parameter.mark == "*":
            if isinstance(value, DeviceMemory):
                return [np.asarray(row) for row in value._memory]
            return [to_memory(element, self.name) for element in value]
        try:
            return to_memory(value, self.name)
        except TypeError:
            if isinstance(value, (list, tuple, np.ndarray)):
                boundary.doubt(
                    f"{self.owner}.{self.name}({parameter.name}=<{type(value).__name__}>)",
                    "is refused here, which CuPy may not do for every host array",
                )
            raise

    def _launches(self, result: Any, operands: list[Any]) -> bool:
        first = result
        while isinstance(first, (tuple, list)):
            if not first:
                return False
            first = first[0]
        if isinstance(first, (np.ndarray, np.generic)) and not first.size:
            return False
        return self.work is Work.KERNEL or not _shares(first, operands)


def _shares(result: Memory, operands: list[Any]) -> bool:
    for operand in operands:
        parts = operand if isinstance(operand, list) else [operand]
        if any(
            isinstance(part, np.ndarray) and np.may_share_memory(result, part) for part in parts
        ):
            return True
    return False
