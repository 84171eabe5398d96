"""Every modelled function and what it costs: the table to check against CuPy's source.

What is not listed here, in ``elementwise.UFUNCS``, in ``random`` or in the ``FUNCTIONS`` of ``creation``,
``joining``, ``ranges``, ``variadic``, ``linalg`` and ``host_answers`` is refused with ``NotModelledError``.
Parameters are written as in ``operation``; paths and lines are of the ``cupy`` package of CuPy 14.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import creation, crossings, joining, linalg, ranges, values, variadic
from harness.probes.simulated.operation import Operation, Work

__all__ = ["FUNCTIONS", "KERNELS", "READS", "VIEWS", "by_numpy_function"]

VIEWS = """
broadcast_to       array | shape
diagonal           a | offset axis1 axis2
expand_dims        a | axis
flip               a | axis
fliplr             a
flipud             a
imag               ~val
matrix_transpose   x
moveaxis           a | source destination
ravel              a | order
real               ~val
reshape            a | newshape=shape order copy
rollaxis           a | axis start
rot90              a | k axes
squeeze            a | axis
swapaxes           a | axis1 axis2
transpose          a | axes
array_split        ary | indices_or_sections axis
dsplit             ary | indices_or_sections
hsplit             ary | indices_or_sections
split              ary | indices_or_sections axis
vsplit             ary | indices_or_sections
"""
"""Nothing is launched when the result is a view; one kernel when a copy is needed."""

KERNELS = """
all                a | axis out keepdims
any                a | axis out keepdims
allclose           ~a ~b | rtol atol equal_nan
amax               a | axis out keepdims
amin               a | axis out keepdims
angle              z | deg
argmax             a | axis dtype out keepdims
argmin             a | axis dtype out keepdims
argpartition       a | kth axis
argsort            a | axis kind
around             ~a | decimals out
array_equiv        a1 a2
bartlett           M
blackman           M
clip               a a_min a_max | out
convolve           a v | mode
corrcoef           a y | rowvar bias ddof dtype
correlate          a v | mode
count_nonzero      a | axis
cross              ~a ~b | axisa axisb axisc axis
cumprod            a | axis dtype out
cumsum             a | axis dtype out
diagflat           v | k
diff               ~a | n axis ~prepend ~append
digitize           x bins | right
dot                a b | out
ediff1d            arr | @to_end @to_begin
fix                x | out
hamming            M
hanning            M
in1d               ar1 ar2 | assume_unique invert
inner              a b
interp             x xp fp | @left @right period
iscomplex          x
isclose            ~a ~b | rtol atol equal_nan
isin               element test_elements | assume_unique invert
isneginf           x | out
isposinf           x | out
isreal             x
i0                 x | out
kaiser             M beta
kron               a b
lexsort            keys
max                a | axis out keepdims
mean               a | axis dtype out keepdims
median             a | axis out overwrite_input keepdims
min                a | axis out keepdims
nan_to_num         x | copy nan posinf neginf
nanargmax          a | axis dtype out keepdims
nanargmin          a | axis dtype out keepdims
nancumprod         a | axis dtype out
nancumsum          a | axis dtype out
nanmean            a | axis dtype out keepdims
nanmedian          a | axis out overwrite_input keepdims
nanprod            a | axis dtype out keepdims
nanstd             a | axis dtype out ddof keepdims
nansum             a | axis dtype out keepdims
nanvar             a | axis dtype out ddof keepdims
outer              a b | out
packbits           a | axis bitorder
pad                array | pad_width mode constant_values !end_values reflect_type stat_length
partition          a | kth axis
prod               a | axis dtype out keepdims
ptp                a | axis out keepdims
roll               a @shift | axis
round              a | decimals out
searchsorted       a v | side @sorter
select             *condlist *choicelist | default
sinc               x | out
sort               a | axis kind
sort_complex       a
std                a | axis dtype out ddof keepdims
sum                a | axis dtype out keepdims
take               a ~indices:int64 | axis out
take_along_axis    a ~indices | axis
tensordot          a b | axes
tile               ~A | reps
trace              a | offset axis1 axis2 dtype out
trapezoid          y x | dx axis
tril               ~m | k
triu               ~m | k
unpackbits         a | axis bitorder
vander             ~x | N increasing
var                a | axis dtype out ddof keepdims
vdot               a b
"""
"""One kernel; nothing crosses the boundary besides operands marked as coming from the host."""

READS = """
argwhere           a                                          nonzero           _core/_routines_indexing.pyx:123
array_equal        a1 a2 | equal_nan                          array_equal       _logic/comparison.py:67,70
average            ~a | axis ~weights returned keepdims       average           _statistics/meanvar.py:130
bincount           x | @weights minlength                     bincount          _statistics/histogram.py:546,560
choose             a choices | out mode                       choose            _core/_routines_indexing.pyx:200
compress           ~condition:int64 a | axis out              compress          _core/_routines_indexing.pyx:226
cov                a y | rowvar bias ddof @fweights @aweights dtype  covariance  _statistics/correlation.py:200,215
extract            ~condition a                               compress          _indexing/indexing.py:162
flatnonzero        a                                          nonzero           _sorting/search.py:164
histogram          x ~bins | range density @weights           histogram         _statistics/histogram.py:108,114,147
intersect1d        arr1 arr2 | assume_unique return_indices   intersection      _logic/truth.py:171-194
nanmax             a | axis out keepdims                      truth             _statistics/order.py:145
nanmin             a | axis out keepdims                      truth             _statistics/order.py:114
nonzero            a                                          nonzero           _core/_routines_indexing.pyx:123
percentile         a ~q | axis out overwrite_input method keepdims !interpolation  quantile    _statistics/order.py:293
place              arr ~mask ~vals                            place             _indexing/insert.py:43
putmask            a mask values                              putmask           _indexing/insert.py:129,137
quantile           a ~q | axis out overwrite_input method keepdims !interpolation  quantile    _statistics/order.py:293
ravel_multi_index  *multi_index | dims mode order             ravel_multi_index _indexing/generate.py:352
real_if_close      a | tol                                    real_if_close     _math/misc.py:484
setdiff1d          ar1 ar2 | assume_unique                    every_set_unique  _logic/truth.py:256-258
setxor1d           ar1 ar2 | assume_unique                    every_set_unique  _logic/truth.py:285-294
trim_zeros         filt | trim                                trim_zeros        _manipulation/add_remove.py:184,186
union1d            arr1 arr2                                  first_set_unique  _logic/truth.py:319
unique             ar | return_index return_inverse return_counts axis equal_nan  unique  _manipulation/add_remove.py:363,369,376
unravel_index      indices | dims=shape order                      unravel_index     _indexing/generate.py:409,417
where              condition x y                              where             _sorting/search.py:205
"""
"""Name, parameters, what is read (a function of ``crossings``), and where CuPy does so."""

_REDUCTIONS = ("all", "any", "cumprod", "cumsum", "max", "min", "prod", "sum")

_VALUES: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(np.ndarray, name) for name in _REDUCTIONS},  # the same values, less overhead
    "bincount": values.bincount,
    "choose": values.choose,
    "clip": values.clip,
    "corrcoef": values.corrcoef,
    "cov": values.cov,
    "diagonal": values.diagonal,
    "digitize": values.digitize,
    "in1d": values.in1d,
    "pad": values.pad,
    "place": values.place,
    "ravel_multi_index": values.ravel_multi_index,
    "reshape": values.reshape,
    "searchsorted": values.searchsorted,
    "take": values.take,
    "take_along_axis": values.take_along_axis,
    "unique": values.unique,
    "where": values.where,
    **{name: values.argument_reduction(name) for name in ("argmax", "argmin")},
    "nanargmax": values.ignoring_nan("argmax", -np.inf),
    "nanargmin": values.ignoring_nan("argmin", np.inf),
    **{name: values.into(name) for name in ("fix", "i0", "sinc")},
    **{name: values.stable(name) for name in ("sort", "argsort")},
    **{name: values.quietly(name) for name in ("mean", "var", "std", "median")},
    **{f"nan{name}": values.quietly(f"nan{name}") for name in ("mean", "var", "std", "median")},
}
"""Values that differ from those of NumPy's function of the same name."""


def _rows(text: str, work: Work) -> dict[str, Operation]:
    operations = {}
    for line in text.strip().splitlines():
        name, parameters = line.split(None, 1)
        operations[name] = Operation(name, parameters, values=_VALUES.get(name), work=work)
    return operations


def _reading_rows(text: str) -> dict[str, Operation]:
    operations = {}
    for line in text.strip().splitlines():
        name, *parameters, crossing, source = line.split()
        operations[name] = Operation(
            name,
            " ".join(parameters),
            crossings=getattr(crossings, crossing),
            values=_VALUES.get(name),
            source=source,
        )
    return operations


_OPERATIONS = {
    **_rows(VIEWS, Work.VIEW),
    **_rows(KERNELS, Work.KERNEL),
    **_reading_rows(READS),
}

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_OPERATIONS,
    **creation.FUNCTIONS,
    **joining.FUNCTIONS,
    **ranges.FUNCTIONS,
    **variadic.FUNCTIONS,
    "alltrue": _OPERATIONS["all"],
    "concat": joining.FUNCTIONS["concatenate"],
    "cumproduct": _OPERATIONS["cumprod"],
    "permute_dims": _OPERATIONS["transpose"],
    "product": _OPERATIONS["prod"],
    "round_": _OPERATIONS["round"],
    "row_stack": joining.FUNCTIONS["vstack"],
    "sometrue": _OPERATIONS["any"],
    "trapz": _OPERATIONS["trapezoid"],
}
"""Functions of the device by name; they take device arrays and return memory."""


def by_numpy_function() -> dict[Any, Callable[..., Any]]:
    """NumPy function to the device's, for ``__array_function__``."""
    found: dict[Any, Callable[..., Any]] = {}
    for name, function in FUNCTIONS.items():
        counterpart = getattr(np, name, None)
        if counterpart is not None:
            found[counterpart] = function
    for name, function in linalg.FUNCTIONS.items():
        found[getattr(np.linalg, name)] = function
    return found
