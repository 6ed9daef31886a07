"""The array API standard 2024.12: `t.__array_namespace__()`, `import ferrograd.array_api as xp`.

Every function is an operation of the core, with its derivatives, under the standard's signature.
Invariant: a name that is missing here does not exist: nothing falls through to the package, whose
functions of the same name take other arguments.

>>> import ferrograd as fg
>>> import ferrograd.array_api as xp
>>> x = fg.tensor([1.0, 4.0], requires_grad=True)
>>> x.__array_namespace__() is xp
True
>>> xp.sum(xp.sqrt(x)).backward()
>>> x.grad.tolist()
[0.5, 0.25]
"""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from ferrograd._tensor.creation import (
    e as e,
    inf as inf,
    nan as nan,
    newaxis as newaxis,
    pi as pi,
)
from ferrograd.array_api import linalg as linalg
from ferrograd.array_api._creation import (
    arange as arange,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tril as tril,
    triu as triu,
    zeros as zeros,
    zeros_like as zeros_like,
)
from ferrograd.array_api._dtype_names import *
from ferrograd.array_api._dtypes import (
    astype as astype,
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    result_type as result_type,
)
from ferrograd.array_api._elementwise import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    add as add,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    ceil as ceil,
    clip as clip,
    conj as conj,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    divide as divide,
    equal as equal,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floor_divide as floor_divide,
    greater as greater,
    greater_equal as greater_equal,
    hypot as hypot,
    imag as imag,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    less as less,
    less_equal as less_equal,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logaddexp as logaddexp,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    not_equal as not_equal,
    positive as positive,
    pow as pow,
    real as real,
    reciprocal as reciprocal,
    remainder as remainder,
    round as round,
    sign as sign,
    signbit as signbit,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    trunc as trunc,
)
from ferrograd.array_api._extra_names import (
    cross as cross,
    cumprod as cumprod,
    cumsum as cumsum,
    diag as diag,
    einsum as einsum,
    float16 as float16,
    gradient as gradient,
    isin as isin,
    lib as lib,
    logspace as logspace,
    median as median,
    pad as pad,
    quantile as quantile,
    transpose as transpose,
)
from ferrograd.array_api._info import (
    LAZY as _LAZY,
    __array_api_version__ as __array_api_version__,
    __array_namespace_info__ as __array_namespace_info__,
)
from ferrograd.array_api._manipulation import (
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    concat as concat,
    expand_dims as expand_dims,
    flip as flip,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    squeeze as squeeze,
    stack as stack,
    tile as tile,
    unstack as unstack,
)
from ferrograd.array_api._reductions import (
    all as all,
    any as any,
    count_nonzero as count_nonzero,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diff as diff,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    std as std,
    sum as sum,
    var as var,
)
from ferrograd.array_api._searching import (
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    nonzero as nonzero,
    searchsorted as searchsorted,
    sort as sort,
    take as take,
    take_along_axis as take_along_axis,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
    where as where,
)
from ferrograd.array_api.linalg import (
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    tensordot as tensordot,
    vecdot as vecdot,
)

if _typing.TYPE_CHECKING:
    from ferrograd.array_api import special as special

__all__ = [
    *(name for name in _LAZY if name != "special"),
    *(name for name in globals() if name[0] != "_" and name != "annotations"),
    "__array_api_version__",
    "__array_namespace_info__",
]


def __getattr__(name: str) -> _typing.Any:
    """`special` and `fft`, which are loaded when they are first used."""
    if name not in _LAZY:
        raise AttributeError(
            f"module 'ferrograd.array_api' has no attribute {name!r}: it holds the names of the"
            " standard; ferrograd's own are in the package, NumPy's in ferrograd.numpy"
        )
    return _import_module(f"ferrograd.array_api.{_LAZY[name]}")


def __dir__() -> list[str]:
    """The standard's names, and `special`."""
    return [*__all__, *(name for name in _LAZY if name not in __all__)]
