"""`scipy.fft`, differentiable: arrays give arrays and tensors give tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice as _islice
from typing import Any

import numpy as _numpy

from ferrograd import _core
from ferrograd._tensor.creation import MAX_NDIM as _MOST_AXES
from ferrograd.errors import ArgumentError as _ArgumentError
from ferrograd.extend import Primitive as _Primitive
from ferrograd.fft import next_fast_len as next_fast_len
from ferrograd.numpy.fft import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)
from ferrograd.scipy._scipy_primitives import (
    make_scipy_getattr as _make_scipy_getattr,
    make_scipy_primitive as _make_scipy_primitive,
)
from ferrograd.scipy._wrappers import wrap_operation as _wrap_operation

__getattr__ = _make_scipy_getattr("fft")


def _check_plan(name: str, plan: Any) -> None:
    if plan is not None:
        raise NotImplementedError(
            f"scipy.fft.{name}: plan={plan!r} cannot be used; leave it out, plans are kept anyway"
        )


def _make_transform(name: str) -> Callable[..., Any]:
    ours = _wrap_operation(_core._namespaces["fft"][name], name)

    def transform(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        _check_plan(name, plan)
        return ours(x, n, axis, norm)

    return _set_name_and_doc(transform, name, ours)


def _make_nd_transform(name: str) -> Callable[..., Any]:
    ours = _wrap_operation(_core._namespaces["fft"][name], name)
    default: Any = (-2, -1) if name.endswith("2") else None

    def transform(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        _check_plan(name, plan)
        return ours(x, _normalize_lengths(s), axes, norm)

    return _set_name_and_doc(transform, name, ours)


def _make_trigonometric_transform(name: str) -> Callable[..., Any]:
    ours, several = _wrap_operation(_core._namespaces["fft"][name], name), name.endswith("n")

    def real(x: Any, type: int, n: Any, axis: Any, norm: Any, orthogonalize: Any) -> Any:
        return ours(x, type, _normalize_lengths(n) if several else n, axis, norm, orthogonalize)

    if several:

        def transform(
            x: Any,
            type: int = 2,
            s: Any = None,
            axes: Any = None,
            norm: str | None = None,
            overwrite_x: bool = False,
            workers: int | None = None,
            *,
            orthogonalize: bool | None = None,
        ) -> Any:
            return real(x, type, s, axes, norm, orthogonalize)

        return _set_name_and_doc(transform, name, ours)

    def transform_axis(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        return real(x, type, n, axis, norm, orthogonalize)

    return _set_name_and_doc(transform_axis, name, ours)


def _normalize_lengths(s: Any) -> Any:
    """The lengths as a tuple; one number is for one axis, None keeps the length of an axis."""
    if s is None or not _numpy.ndim(s):
        return s if s is None else (s,)
    # More than the possible number of axes, so that an endless iterator is not consumed.
    lengths = tuple(_islice(s, _MOST_AXES + 1))
    if any(n is not None and n < -1 for n in lengths):
        raise _ArgumentError(f"scipy.fft: the lengths are {lengths}; give positive ones")
    return tuple(-1 if n is None else n for n in lengths)


def _set_name_and_doc(
    made: Callable[..., Any], name: str, ours: Callable[..., Any]
) -> Callable[..., Any]:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = ours.__doc__
    return made


fft, ifft, rfft, irfft = map(_make_transform, ("fft", "ifft", "rfft", "irfft"))
hfft, ihfft = map(_make_transform, ("hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = map(_make_nd_transform, ("fft2", "ifft2", "rfft2", "irfft2"))
hfft2, ihfft2, hfftn, ihfftn = map(_make_nd_transform, ("hfft2", "ihfft2", "hfftn", "ihfftn"))
fftn, ifftn, rfftn, irfftn = map(_make_nd_transform, ("fftn", "ifftn", "rfftn", "irfftn"))
dct, idct, dst, idst = map(_make_trigonometric_transform, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_make_trigonometric_transform, ("dctn", "idctn", "dstn", "idstn"))


def _make_hankel_transform(name: str) -> _Primitive:
    """A Hankel transform over a logarithmic grid; its matrix is symmetric."""

    def rule(
        ans: Any, a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0
    ) -> Callable[[Any], Any]:
        return lambda g: made(g, dln, mu, offset=offset, bias=bias)

    made = _make_scipy_primitive(f"fft.{name}", rule)
    return made


fht, ifht = map(_make_hankel_transform, ("fht", "ifht"))
