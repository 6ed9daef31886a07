"""Functions of numbers under PyTorch's names.

Invariant: shapes and values are PyTorch's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core as core
from ferrograd._core import Tensor, asarray, get_default_dtype
from ferrograd._dispatch.named_tuples import make_named_tuple
from ferrograd._dispatch.ufuncs import write_out
from ferrograd._pytorch.validate import check_integer, check_integers, check_real, normalize_dim
from ferrograd.errors import ArgumentError, DTypeError, IndexOutOfRangeError, ShapeError

#: NumPy without its types, because its functions also take and return tensors.
_numpy: Any = np


def _write_out(op: str, out: Any, result: Tensor, operands: int = 2) -> Any:
    """Returns the result, or writes it to `out` and returns that."""
    return result if out is None else write_out(op, out, result, True, operands, repeats=True)


def _to_float_tensor(op: str, x: Any) -> Tensor:
    """A tensor of real floats; integers are converted to the default dtype."""
    found = asarray(x)
    if found.dtype.kind == "c":
        raise DTypeError(f"{op}: the tensor is {found.dtype}; give real numbers")
    return found if found.dtype.kind == "f" else found.to(get_default_dtype())


def _check_integer_array(op: str, x: Any, kinds: str = "iu") -> Any:
    found = asarray(x)
    if found.dtype.kind not in kinds:
        raise DTypeError(f"{op}: an operand is {found.dtype}; give whole numbers")
    return found.numpy()


def _call_on_integers(op: str, function: Any, a: Any, b: Any) -> Tensor:
    """A NumPy function of integers; one argument may be boolean."""
    a = _check_integer_array(op, a, "iub")
    b = _check_integer_array(op, b, "iu" if a.dtype.kind == "b" else "iub")
    try:
        return core.tensor(function(a, b))
    except ValueError:
        raise ShapeError(
            f"{op}: shapes {a.shape} and {b.shape} do not broadcast together; reshape or expand one"
            " of them"
        ) from None
    except TypeError:
        raise DTypeError(
            f"{op}: no whole numbers hold both {a.dtype} and {b.dtype}; convert one of them"
        ) from None


def logit(input: Any, eps: float | None = None, **options: Any) -> Tensor:
    """The inverse of `sigmoid`, `ln(x / (1 - x))`; with `eps` of x limited to `eps..1 - eps`.

    Without `eps` numbers outside 0..1 give NaN. Takes `out=` and `name=`.
    Errors: `ArgumentError` for an `eps` outside 0..0.5.

    >>> import ferrograd as fg
    >>> fg.logit([0.0, 0.5], eps=0.25).tolist()
    [-1.0986122886681098, 0.0]
    """
    if eps is None:
        return core._logit(input, **options)
    if not 0 <= check_real("logit", "eps", eps) <= 0.5:
        raise ArgumentError(f"logit: eps is {eps}; give a number from 0 to 0.5")
    return core._logit(core.clip(input, eps, 1 - eps), **options)


def frexp(input: Any) -> Any:
    """`(mantissa, exponent)` with `x = mantissa · 2^exponent` and 0.5 ≤ |mantissa| < 1.

    Exponents are int32. The derivative of a mantissa is `g / 2^exponent`.
    Errors: `DTypeError` for complex numbers.

    >>> import ferrograd as fg
    >>> fg.frexp(fg.tensor([3.0])).mantissa.tolist()
    [0.75]
    """
    return make_named_tuple(
        "frexp", "mantissa exponent", _numpy.frexp(_to_float_tensor("frexp", input))
    )


def ldexp(input: Any, other: Any, *, out: Any = None) -> Any:
    """`x · 2^other`; shapes broadcast, integers become floats; written to `out` if given.

    With integer exponents it is `np.ldexp`: the result is rounded once. Float exponents have a
    derivative.

    >>> import ferrograd as fg
    >>> fg.ldexp(fg.tensor([1.0, 3.0]), fg.tensor([2, -1])).tolist()
    [4.0, 1.5]
    """
    x, power = _to_float_tensor("ldexp", input), asarray(other)
    if power.dtype.kind in "biu":
        return _write_out("ldexp", out, _numpy.ldexp(x, power))
    return _write_out("ldexp", out, core.multiply(x, core.exp2(power.to(x.dtype))))


def gcd(input: Any, other: Any, *, out: Any = None) -> Any:
    """The greatest common divisors of integers, written to `out` if given.

    Errors: `DTypeError` for other numbers.

    >>> import ferrograd as fg
    >>> fg.gcd(fg.tensor([4, 9]), 6).tolist()
    [2, 3]
    """
    return _write_out("gcd", out, _call_on_integers("gcd", np.gcd, input, other))


def lcm(input: Any, other: Any, *, out: Any = None) -> Any:
    """The least common multiples of integers, written to `out` if given.

    Errors: `DTypeError` for other numbers.

    >>> import ferrograd as fg
    >>> fg.lcm(fg.tensor([4, 9]), 6).tolist()
    [12, 18]
    """
    return _write_out("lcm", out, _call_on_integers("lcm", np.lcm, input, other))


def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """The power in float64, or complex128: `np.float_power`. `out` takes the result.

    >>> import ferrograd as fg
    >>> fg.float_power(fg.tensor([2, 3]), -1).dtype.name
    'float64'
    """
    return _write_out("float_power", out, asarray(_numpy.float_power(asarray(input), exponent)))


def frac(input: Any) -> Tensor:
    """The fractional part with the sign of x: `x - trunc(x)`.

    >>> import ferrograd as fg
    >>> fg.frac(fg.tensor([1.25, -1.5])).tolist()
    [0.25, -0.5]
    """
    x = asarray(input)
    return core.subtract(x, core.trunc(x))


def positive(input: Any, *, out: Any = None) -> Any:
    """A copy: `+x`, written to `out` if given.

    Errors: `DTypeError` for booleans.

    >>> import ferrograd as fg
    >>> fg.positive(fg.tensor([1.0, -2.0])).tolist()
    [1.0, -2.0]
    """
    x = asarray(input)
    if x.dtype.kind == "b":
        raise DTypeError("positive: the tensor is bool; give numbers")
    return _write_out("positive", out, core.clone(x) if out is None else x, 1)


def isposinf(input: Any) -> Tensor:
    """A mask of the elements that are positive infinity.

    >>> import ferrograd as fg
    >>> fg.isposinf(fg.tensor([1.0, float("inf")])).tolist()
    [False, True]
    """
    return asarray(_numpy.isposinf(asarray(input)))


def isneginf(input: Any) -> Tensor:
    """A mask of the elements that are negative infinity.

    >>> import ferrograd as fg
    >>> fg.isneginf(fg.tensor([1.0, -float("inf")])).tolist()
    [False, True]
    """
    return asarray(_numpy.isneginf(asarray(input)))


def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Quantiles of the elements that are not NaN: `np.nanquantile`.

    >>> import ferrograd as fg
    >>> fg.nanquantile(fg.tensor([1.0, float("nan"), 3.0]), 0.5).item()
    2.0
    """
    options: dict[str, Any] = {"keepdims": keepdim, "method": interpolation}
    return asarray(_numpy.nanquantile(asarray(input), q, dim, **options))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector in rows (n, N), descending by default: `np.vander`.

    >>> import ferrograd as fg
    >>> fg.vander(fg.tensor([1, 2, 3]), 2).tolist()
    [[1, 1], [2, 1], [3, 1]]
    """
    return asarray(_numpy.vander(asarray(x), N, increasing))


def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Slopes along the axes by differences of second order, one tensor for each: `np.gradient`.

    `spacing` is one distance, or for each axis a distance or the coordinates.

    >>> import ferrograd as fg
    >>> fg.gradient(fg.tensor([1.0, 4.0, 9.0]))[0].tolist()
    [3.0, 4.0, 5.0]
    """
    steps = spacing if isinstance(spacing, tuple | list) else [spacing]
    steps = [step if isinstance(step, int | float) else asarray(step) for step in steps]
    found = _numpy.gradient(asarray(input), *steps, axis=dim, edge_order=edge_order)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running integral by trapezoids, one element shorter than `y` along the axis.

    >>> import ferrograd as fg
    >>> fg.cumulative_trapezoid(fg.tensor([1.0, 2.0, 4.0])).tolist()
    [1.5, 4.5]
    """
    steps: Any = dx
    y = core.moveaxis(asarray(y), dim, -1)
    if x is not None:
        x = asarray(x)
        points = x.shape[dim if x.ndim > 1 else 0] if x.ndim else 0
        if points != y.shape[-1]:
            raise ShapeError(
                f"cumulative_trapezoid: axis {dim} of y has {y.shape[-1]} elements and x {points};"
                " give one x for each"
            )
        steps = core.diff(core.moveaxis(x, dim, -1) if x.ndim > 1 else x)
    parts = core.multiply(core.add(y[..., 1:], y[..., :-1]) / 2, steps)
    return core.moveaxis(core.cumsum(parts, -1), -1, dim)


def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along an axis; those with a larger p-norm are scaled down to `maxnorm`.

    Errors: `ShapeError` for fewer than two axes, `ArgumentError` for p ≤ 0 and maxnorm < 0.

    >>> import ferrograd as fg
    >>> fg.renorm(fg.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0).tolist()
    [[0.5999999880000002, 0.7999999840000003], [0.0, 1.0]]
    """
    x = asarray(input)
    if x.ndim < 2:
        raise ShapeError(f"renorm: the tensor has shape {tuple(x.shape)}; give at least two axes")
    if not (check_real("renorm", "p", p) > 0 and check_real("renorm", "maxnorm", maxnorm) >= 0):
        raise ArgumentError(f"renorm: p is {p} and maxnorm {maxnorm}; give p > 0, maxnorm >= 0")
    kept, p = normalize_dim("renorm", dim, x.ndim), check_real("renorm", "p", p)
    size = core.norm(x, p, tuple(k for k in range(x.ndim) if k != kept), keepdims=True)
    # 1e-7 is PyTorch's; it keeps a norm of 0 apart.
    return core.multiply(x, core.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0))


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of flat indices in an array of a shape, one tensor for each axis.

    Errors: `DTypeError` for indices that are not integers, `IndexOutOfRangeError` for indices
    outside the shape.

    >>> import ferrograd as fg
    >>> [k.tolist() for k in fg.unravel_index(fg.tensor([4, 6]), (3, 4))]
    [[1, 1], [0, 2]]
    """
    flat = _check_integer_array("unravel_index", indices)
    shape = check_integers("unravel_index", "shape", (shape,) if isinstance(shape, int) else shape)
    count = math.prod(shape)
    if flat.size and not (flat.min() >= 0 and flat.max() < count):
        wrong = flat.min() if flat.min() < 0 else flat.max()
        raise IndexOutOfRangeError(
            f"unravel_index: index {wrong} is out of range for the {count} elements of shape"
            f" {shape}; give indices from 0 on"
        )
    return tuple(core.tensor(k) for k in np.unravel_index(flat, shape))


def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = 0) -> Tensor:
    """The elements at `offset + Σ i_k stride_k` of the memory of a contiguous tensor, as a copy.

    Elements may repeat; the derivative sums the gradients of all repetitions. The offset counts
    from the first element of the tensor. Errors: `ArgumentError` for a tensor that is not
    contiguous, and for elements outside of it.

    >>> import ferrograd as fg
    >>> fg.as_strided(fg.arange(5.0), (3, 3), (1, 1)).tolist()
    [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    """
    x, size = asarray(input), check_integers("as_strided", "size", size)
    stride = check_integers("as_strided", "stride", stride, -(1 << 62))
    if len(size) != len(stride) or not x.is_contiguous():
        raise ArgumentError(
            f"as_strided: sizes {size}, strides {stride} of a tensor with shape {tuple(x.shape)}"
            f" and strides {tuple(x.stride())}; give as many strides as sizes, and x.contiguous()"
        )
    offset = check_integer("as_strided", "storage_offset", storage_offset or 0, -(1 << 62))
    places = np.full((1,) * len(size), offset)
    for k, (length, step) in enumerate(zip(size, stride, strict=True)):
        places = places + (np.arange(length) * step).reshape(-1, *(1,) * (len(size) - k - 1))
    if places.size and not (places.min() >= 0 and places.max() < x.size):
        raise ArgumentError(
            f"as_strided: sizes {size}, strides {stride} and offset {storage_offset} reach places"
            f" {places.min()} to {places.max()} of {x.size} elements; stay inside"
        )
    made = core.take(x.reshape(-1), places)
    made._become_memory()
    return made


def t(input: Any) -> Tensor:
    """The transposed matrix; vectors and numbers are returned unchanged.

    >>> import ferrograd as fg
    >>> fg.t(fg.tensor([[1.0, 2.0]])).tolist()
    [[1.0], [2.0]]
    """
    return asarray(input).t()


def adjoint(input: Any) -> Tensor:
    """The conjugates of the transposed matrices (…, n, m): `x.mH`.

    >>> import ferrograd as fg
    >>> fg.adjoint(fg.tensor([[1.0, 2.0j]])).tolist()
    [[(1-0j)], [-2j]]
    """
    found: Tensor = asarray(input).mH
    return found


# --- methods -----------------------------------------------------------------------------------


def frac_(self: Tensor) -> Tensor:
    """`frac` in place."""
    return self.copy_(frac(self))
