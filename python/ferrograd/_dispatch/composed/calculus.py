"""Composed functions of calculus and element-wise mathematics: `gradient`, `correlate`, …

Invariant: values that decide a branch are detached.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor, asarray, concatenate
from ferrograd._dispatch.composed.registration import (
    check_same_kind,
    check_unsupported,
    conjugate,
    get_values,
    normalize_axes,
    register_composition,
    register_refusal,
    to_floats,
    to_inexact,
)
from ferrograd._tensor.creation import parse_shape, zeros_like
from ferrograd.errors import DTypeError


@register_composition("gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Second-order central differences, one-sided at the ends."""
    f = to_inexact(f)
    axes = normalize_axes("gradient", axis, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError(f"numpy.gradient: edge_order is {edge_order}; give 1 or 2")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"numpy.gradient: {len(varargs)} spacings for {len(axes)} axes; give one or one each"
        )
    steps = varargs or (1.0,)
    steps = steps * len(axes) if len(steps) == 1 else steps
    made = [_differentiate_along(f, h, a, edge_order) for h, a in zip(steps, axes, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _differentiate_along(f: Tensor, spacing: Any, axis: int, edge_order: int) -> Tensor:
    size = f.shape[axis]
    if size < edge_order + 1:
        raise ValueError(
            f"numpy.gradient: axis {axis} has {size} elements; edge_order={edge_order} needs at"
            f" least {edge_order + 1}"
        )

    def take_slice(first: int | None, last: int | None) -> Tensor:
        return f[(slice(None),) * axis + (slice(first, last),)]

    def broadcast_along(h: Any) -> Any:
        return h if np.ndim(h) == 0 else h.reshape((-1,) + (1,) * (f.ndim - axis - 1))

    if np.ndim(spacing) == 0:
        if np.iscomplexobj(spacing):
            to_floats("gradient", spacing)
        h: Any = spacing
        steps = before = after = h
        inner = (take_slice(2, None) - take_slice(None, -2)) / (2.0 * h)
        ends = (h, h, h, h)
    else:
        x = to_floats("gradient", spacing)
        if x.ndim != 1 or x.shape[0] != size:
            raise ValueError(
                f"numpy.gradient: coordinates of shape {tuple(x.shape)} for an axis of {size}"
                " elements; give one for each element"
            )
        steps = x[1:] - x[:-1]
        before, after = broadcast_along(steps[:-1]), broadcast_along(steps[1:])
        inner = (
            -after / (before * (before + after)) * take_slice(None, -2)
            + (after - before) / (before * after) * take_slice(1, -1)
            + before / (after * (before + after)) * take_slice(2, None)
        )
        ends = (steps[0], steps[min(1, size - 2)], steps[max(size - 3, 0)], steps[size - 2])
    left, right = _compute_edge_differences(take_slice, ends, edge_order)
    return concatenate([left, inner, right], axis).astype(f.dtype)


def _compute_edge_differences(take_slice: Any, ends: Any, edge_order: int) -> tuple[Tensor, Tensor]:
    """The one-sided differences at both ends."""
    first, second, before, last = ends
    if edge_order == 1:
        return (take_slice(1, 2) - take_slice(None, 1)) / first, (
            take_slice(-1, None) - take_slice(-2, -1)
        ) / last
    left = (
        -(2.0 * first + second) / (first * (first + second)) * take_slice(None, 1)
        + (first + second) / (first * second) * take_slice(1, 2)
        - first / (second * (first + second)) * take_slice(2, 3)
    )
    right = (
        last / (before * (before + last)) * take_slice(-3, -2)
        - (before + last) / (before * last) * take_slice(-2, -1)
        + (2.0 * last + before) / (last * (before + last)) * take_slice(-1, None)
    )
    return left, right


@register_composition("correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Cross-correlation of two vectors, with the conjugate of the second."""
    a, v = asarray(a), conjugate(v)
    if len(v) > len(a):
        return _core.convolve(v, a.flip(), mode).flip()
    return _core.convolve(a, v.flip(), mode)


@register_composition("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours in the flattened array, with ends."""
    flat = asarray(ary).reshape(-1)
    parts = [flat[1:] - flat[:-1]]
    if to_begin is not None:
        parts.insert(0, asarray(to_begin).reshape(-1))
    if to_end is not None:
        parts.append(asarray(to_end).reshape(-1))
    return concatenate(parts)


@register_composition("unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Phases without jumps; how many periods a jump has is constant to differentiation."""
    p, length = asarray(p), get_values(period)
    plain = get_values(p)
    if p.dtype.kind in "biu" and not isinstance(period, Tensor):
        return asarray(np.unwrap(plain, discont, axis, period=length))
    p = to_floats("unwrap", p)
    jumps = np.unwrap(plain, discont, axis, period=length) - plain
    return p + (np.rint(jumps / length) * period if isinstance(period, Tensor) else jumps)


@register_composition("linspace")
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers between two ends, with NumPy's order of operations and rounding."""
    (num,) = parse_shape("numpy.linspace", (num,))
    kind = np.result_type(*map(_get_promotion_operand, (start, stop)), 0.0)
    first, last = (asarray(x).astype(kind) for x in (start, stop))
    span, parts = last - first, num - 1 if endpoint else num
    count = np.arange(num, dtype=kind).reshape((num,) + (1,) * span.ndim)
    if parts > 0:
        # NumPy divides complex numbers by multiplication with the reciprocal.
        step = span * (np.ones((), kind).real / parts) if kind.kind == "c" else span / parts
        # A step that underflows would be lost in the product.
        lost = _core.any(_core.equal(step, 0.0))
        made = _core.where(lost, count / parts * span, count * step)
    else:
        step, made = asarray(np.nan), count * span
    made = made + first
    if endpoint and num > 1:
        made = concatenate([made[:-1], _core.broadcast_to(last, span.shape)[None]], 0)
    made = _finish_samples("linspace", made, axis, dtype)
    return (made, step) if retstep else made


def _get_promotion_operand(x: Any) -> Any:
    """The argument for `np.result_type`: a Python number itself, else the dtype."""
    return x if type(x) in (int, float, complex) else asarray(x).dtype


def _finish_samples(name: str, made: Tensor, axis: int, dtype: Any) -> Tensor:
    """Samples along an axis, in a dtype; for integer dtypes they are rounded down."""
    made = _core.moveaxis(made, 0, axis) if axis else made
    if dtype is None:
        return made
    check_same_kind(name, made, dtype)
    if name == "linspace" and np.dtype(dtype).kind in "iu":
        made = _core.floor(made)
    return made.astype(dtype)


@register_composition("logspace")
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers whose logarithms are evenly spaced."""
    if np.ndim(base):
        ends = [asarray(x) for x in (start, stop, base)]
        most = max(x.ndim for x in ends)
        start, stop, base = (x.reshape((1,) * (most - x.ndim) + tuple(x.shape)) for x in ends)
        base = _core.expand_dims(base, axis)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return _finish_samples("logspace", _core.power(base, exponents), 0, dtype)


@register_composition("geomspace")
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Numbers of which each is the same multiple of the one before."""
    first, last = asarray(start), asarray(stop)
    wide = np.result_type(first.dtype, last.dtype, np.float64 if dtype is None else dtype, 0.0)
    first, last = first.astype(wide), last.astype(wide)
    if np.any(get_values(first) == 0) or np.any(get_values(last) == 0):
        raise ValueError("numpy.geomspace: an end is zero; give ends other than zero")
    # Turned to the positive reals, where logarithms have no jump.
    sign = _core.sign(first)
    ends = (first / sign, last / sign)
    made = logspace(_core.log10(ends[0]), _core.log10(ends[1]), num, endpoint)
    rows = [_core.broadcast_to(end, made.shape[1:])[None] for end in ends]
    num = made.shape[0]
    if num:  # the ends to the last bit
        exact = endpoint and num > 1
        made = concatenate([rows[0], made[1 : num - exact], *rows[1 : 1 + exact]], 0)
    return _finish_samples("geomspace", made * sign, axis, dtype)


@register_composition("divmod")
def divmod_(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Quotient rounded down, and remainder."""
    return _core.floor_divide(a, b), _core.remainder(a, b)


@register_composition("modf")
def modf(x: Any) -> tuple[Tensor, Tensor]:
    """Fractional and whole part; the derivative of the second is zero."""
    x = _to_result_floats("modf", x)
    whole, sign = _core.trunc(x), _core.copysign(1.0, x.detach())
    # The difference of sizes is never a negative zero, and then has the sign of the number.
    part = (x * sign - whole * sign) * sign
    return _core.where(_core.isinf(x), _core.copysign(0.0, x), part), whole


@register_composition("frexp")
def frexp(x: Any) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent; the derivative of the mantissa is `g / 2^exponent`."""
    x = _to_result_floats("frexp", x)
    exponent = _compute_exponents(x.detach())
    # In two halves, because 2^-exponent may overflow.
    half = -exponent // 2
    scales = (_core.exp2(power.astype(x.dtype)) for power in (half, -exponent - half))
    return x * next(scales) * next(scales), exponent


def _compute_exponents(x: Tensor) -> Tensor:
    """The exponents of floats, computed from their bits, so that a compiled function can do it."""
    info = np.finfo(x.dtype)
    digits, kind = info.nmant, np.dtype(f"int{info.bits}")
    # Subnormal numbers are scaled first.
    small = _core.abs(x) < info.smallest_normal
    bits = _core.where(small, x * 2.0 ** (digits + 1), x).view(kind)
    biased = (bits >> digits) & (2**info.nexp - 1)
    raw = biased - (2 ** (info.nexp - 1) - 2) - _core.where(small, digits + 1, 0)
    none = np.frexp(np.array(np.inf, x.dtype))[1]
    zero = _core.where(_core.isfinite(x), 0, int(none))
    found: Tensor = _core.where(_core.isfinite(x) & (x != 0), raw, zero)
    return found.astype(np.int32)


@register_composition("ldexp")
def ldexp(x1: Any, x2: Any) -> Any:
    """`x1 * 2**x2` for integers `x2`, rounded once."""
    # A Python number has no dtype.
    weak = isinstance(x1, int | float)
    first, x1, n = x1, asarray(x1), asarray(x2)
    if x1.dtype.kind == "c":
        to_floats("ldexp", x1)
    kind = np.ldexp(first if weak else np.zeros(0, x1.dtype), np.zeros(0, n.dtype)).dtype
    low, high = int(np.finfo(kind).minexp), int(np.finfo(kind).maxexp) - 1
    left, powers = _core.clip(n.astype(np.int64), -3 * high, 3 * high), []
    for _ in range(3):
        powers.append(_core.clip(left, low, high))
        left = left - powers[-1]
    out = x1.astype(kind)
    # The largest step comes last, because only it may round. Powers of two are exact.
    for power in reversed(powers):
        out = out * _core.exp2(power.astype(kind))
    return out


@register_composition("positive")
def positive(x: Any) -> Tensor:
    """A copy."""
    x = asarray(x)
    if x.dtype.kind == "b":
        raise DTypeError("numpy.positive: the tensor is bool; give numbers")
    return _core.clone(x)


@register_composition("iscomplexobj")
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(asarray(x).dtype.kind == "c")


@register_composition("isrealobj")
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@register_composition("real_if_close")
def real_if_close(a: Any, tol: Any = 100) -> Tensor:
    """The real part, if all imaginary parts are at most `tol` times the machine epsilon."""
    a = asarray(a)
    return a if np.iscomplexobj(np.real_if_close(get_values(a), tol)) else _core.real(a)


@register_composition("sort_complex")
def sort_complex(a: Any) -> Any:
    """The sorted elements, as complex numbers."""
    made = _core.sort(asarray(a), -1)
    if made.dtype.kind == "c":
        return made
    return made.astype(np.complex64 if made.dtype.char in "bhBH" else np.complex128)


@register_composition("float_power")
def float_power(x1: Any, x2: Any) -> Any:
    """`x1 ** x2` in float64 or complex128, for all dtypes."""
    x1, x2 = asarray(x1), asarray(x2)
    dtype = np.complex128 if "c" in (x1.dtype.kind, x2.dtype.kind) else np.float64
    return _core.power(x1.astype(dtype), x2.astype(dtype))


@register_composition("fabs")
def fabs(x: Any) -> Any:
    """The absolute value as a float."""
    return _core.abs(_to_result_floats("fabs", x))


def _to_result_floats(name: str, x: Any) -> Tensor:
    """Floats in the dtype that NumPy's function returns for integers."""
    x = asarray(x)
    if x.dtype.kind in "biu":
        made = getattr(np, name)(np.zeros(0, x.dtype))
        x = x.astype((made[0] if isinstance(made, tuple) else made).dtype)
    return to_floats(name, x)


@register_composition("empty_like")
def empty_like(prototype: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of the same shape and dtype."""
    check_unsupported("empty_like", **{k: v for k, v in kwargs.items() if k == "shape"})
    return zeros_like(asarray(prototype), dtype=dtype)


register_refusal(
    "nextafter",
    "spacing",
    reason="it takes floats apart into bits and has no derivative; pass t.detach()",
)
