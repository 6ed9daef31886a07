"""`scipy.fft`, differentiable: arrays give arrays and tensors give tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice as _islice
from typing import Any

import numpy as _numpy

from ferrograd import _core
from ferrograd._tensor.creation import MOST_AXES as _MOST_AXES
from ferrograd.errors import ArgumentError as _ArgumentError
from ferrograd.extend import Primitive as _Primitive
from ferrograd.fft import next_fast_len as next_fast_len
from ferrograd.numpy.fft import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)
from ferrograd.scipy._computed_by_scipy import of_scipy as _of_scipy, rest_of as _rest_of
from ferrograd.scipy._wrappers import face as _face

__getattr__ = _rest_of("fft")


def _no_plan(name: str, plan: Any) -> None:
    if plan is not None:
        raise NotImplementedError(
            f"scipy.fft.{name}: plan={plan!r} cannot be used; leave it out, plans are kept anyway"
        )


def _line(name: str) -> Callable[..., Any]:
    ours = _face(_core._namespaces["fft"][name], name)

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
        _no_plan(name, plan)
        return ours(x, n, axis, norm)

    return _named(transform, name, ours)


def _area(name: str) -> Callable[..., Any]:
    ours = _face(_core._namespaces["fft"][name], name)
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
        _no_plan(name, plan)
        return ours(x, _lengths(s), axes, norm)

    return _named(transform, name, ours)


def _waves(name: str) -> Callable[..., Any]:
    ours, several = _face(_core._namespaces["fft"][name], name), name.endswith("n")

    def real(x: Any, type: int, n: Any, axis: Any, norm: Any, orthogonalize: Any) -> Any:
        return ours(x, type, _lengths(n) if several else n, axis, norm, orthogonalize)

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

        return _named(transform, name, ours)

    def line(
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

    return _named(line, name, ours)


def _lengths(s: Any) -> Any:
    """As in SciPy: one length for one axis; None keeps the length of an axis."""
    if s is None or not _numpy.ndim(s):
        return s if s is None else (s,)
    # More than the possible number of axes, so that an endless iterator is not consumed.
    lengths = tuple(_islice(s, _MOST_AXES + 1))
    if any(n is not None and n < -1 for n in lengths):
        raise _ArgumentError(f"scipy.fft: the lengths are {lengths}; give positive ones")
    return tuple(-1 if n is None else n for n in lengths)


def _named(made: Callable[..., Any], name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = ours.__doc__
    return made


fft, ifft, rfft, irfft = map(_line, ("fft", "ifft", "rfft", "irfft"))
hfft, ihfft = map(_line, ("hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = map(_area, ("fft2", "ifft2", "rfft2", "irfft2"))
hfft2, ihfft2, hfftn, ihfftn = map(_area, ("hfft2", "ihfft2", "hfftn", "ihfftn"))
fftn, ifftn, rfftn, irfftn = map(_area, ("fftn", "ifftn", "rfftn", "irfftn"))
dct, idct, dst, idst = map(_waves, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_waves, ("dctn", "idctn", "dstn", "idstn"))


def _symmetric(name: str) -> _Primitive:
    """A Hankel transform over a logarithmic grid; its matrix is symmetric."""

    def rule(
        ans: Any, a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0
    ) -> Callable[[Any], Any]:
        return lambda g: made(g, dln, mu, offset=offset, bias=bias)

    made = _of_scipy(f"fft.{name}", rule)
    return made


fht, ifht = map(_symmetric, ("fht", "ifht"))
