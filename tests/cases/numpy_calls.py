"""The table of calls of NumPy's functions on arrays of any dtype.

`test_numpy_dtypes.py` runs each on arrays and on tensors of every dtype. `test_numpy_functions.py`
has the derivatives.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

L, F = np.linalg, np.fft
MASK = np.array([[1, 0, 1, 1], [1, 1, 1, 0], [1, 0, 0, 1]], bool)


REDUCTIONS = """
    sum prod mean var std min max argmin argmax any all ptp median nansum nanprod nanmean nanvar
    nanstd nanmin nanmax nanmedian
"""
FOLDED = """
    add multiply maximum minimum logical_and logical_or fmax bitwise_and bitwise_or bitwise_xor
    logaddexp
"""
METHODS = """
    linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation
    interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased
"""
PADS = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap"
SCANS = "cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod"
MASKED = "sum prod mean var std any all nansum nanprod nanmean"
INITIAL = "min max sum prod nansum nanprod"
WITH_DDOF = "var std nanvar nanstd"
SPREADS = "var std"
IN_DTYPES = "sum prod nansum nanprod cumsum"


class Called(NamedTuple):
    """A call on as many arrays as there are shapes."""

    name: str
    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def _of(name: str, call: Callable[..., Any], *shapes: tuple[int, ...]) -> Called:
    return Called(name, call, shapes)


def _home(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _plain(names: str, *shapes: tuple[int, ...]) -> list[Called]:
    return [_of(name, _home(name), *shapes) for name in names.split()]


def _reductions() -> list[Called]:
    rows = []
    for name in REDUCTIONS.split():
        f = _home(name)
        rows.append(_of(name, f, (3, 4)))
        rows.append(_of(f"{name} axis", lambda a, f=f: f(a, axis=1), (3, 4)))
        rows.append(_of(f"{name} keepdims", lambda a, f=f: f(a, axis=0, keepdims=True), (3, 4)))
    for name in SCANS.split():
        f = _home(name)
        rows.append(_of(name, lambda a, f=f: f(a, axis=1), (3, 4)))
    for name in MASKED.split():
        f = _home(name)
        rows.append(_of(f"{name} where", lambda a, f=f: f(a, axis=1, where=MASK), (3, 4)))
    for name in INITIAL.split():
        f = _home(name)
        rows.append(_of(f"{name} initial", lambda a, f=f: f(a, axis=1, initial=1), (3, 4)))
    for name in WITH_DDOF.split():
        f = _home(name)
        rows.append(_of(f"{name} ddof", lambda a, f=f: f(a, axis=1, ddof=1), (3, 4)))
    for name in SPREADS.split():
        f = _home(name)
        rows.append(_of(f"{name} complex", lambda a, f=f: f(a, axis=1, dtype="D"), (3, 4)))
    for name in IN_DTYPES.split():
        for dtype in "bhBHqfd":
            f = _home(name)
            rows.append(
                _of(f"{name} {dtype}", lambda a, f=f, d=dtype: f(np.real(a), dtype=d), (3, 4))
            )
    for name in FOLDED.split():
        f = _home(name)
        rows.append(_of(f"{name}.reduce", lambda a, f=f: f.reduce(a, axis=1), (3, 4)))
        rows.append(_of(f"{name}.reduceat", lambda a, f=f: f.reduceat(a, [0, 2]), (4,)))
        rows.append(_of(f"{name}.outer", lambda a, b, f=f: f.outer(a, b), (3,), (2,)))
        if name not in ("maximum", "minimum"):
            rows.append(_of(f"{name}.accumulate", lambda a, f=f: f.accumulate(a, axis=1), (3, 4)))
    return rows


def _quantiles() -> list[Called]:
    rows = []
    for method in METHODS.split():
        for name in ("quantile", "nanquantile"):
            f = _home(name)
            rows.append(
                _of(
                    f"{name} {method}",
                    lambda a, f=f, m=method: f(a, [0.25, 0.5], axis=1, method=m),
                    (3, 4),
                )
            )
            rows.append(
                _of(f"{name} one {method}", lambda a, f=f, m=method: f(a, 0.3, method=m), (3, 4))
            )
    return rows


REARRANGING = [
    *_plain(
        "ravel transpose flip rot90 nonzero argwhere flatnonzero tril triu diagflat copy", (3, 4)
    ),
    *_plain("sort unique", (3, 4)),
    *_plain("sort_complex ediff1d diag vander trim_zeros", (5,)),
    *_plain("hstack vstack dstack column_stack concatenate stack", (2, 3)),
    *_plain("union1d intersect1d setdiff1d setxor1d isin append", (5,), (4,)),
    _of("argsort", lambda a: np.argsort(a, axis=1, kind="stable"), (3, 4)),
    _of("searchsorted", lambda a, b: np.searchsorted(np.sort(a), b), (5,), (4,)),
    _of("insert", lambda a, b: np.insert(a, 1, b[0]), (3,), (2,)),
    _of("repeat", lambda a: np.repeat(a, [1, 2, 0]), (3,)),
    _of("where", lambda a, b: np.where(a, a, b), (3,), (3,)),
    _of("select", lambda a, b: np.select([a == b, a != b], [a, b], default=3), (5,), (5,)),
    _of("choose", lambda a, b: np.choose([0, 1, 0], [a, b]), (3,), (3,)),
    _of("piecewise", lambda a: np.piecewise(a, [a != 0], [lambda x: x * x, 5]), (5,)),
    _of("take_along_axis", lambda a: np.take_along_axis(a, np.array([[1, 0]]), axis=1), (3, 4)),
    *(
        _of(f"pad {mode}", lambda a, m=mode: np.pad(a, (2, 1), mode=m), (4,))
        for mode in PADS.split()
    ),
]

MATHEMATICS = [
    *_plain("diff nan_to_num real imag angle fix sinc i0 unwrap", (5,)),
    *_plain("polyval polyadd polymul polysub convolve correlate interp", (5,), (5,)),
    *_plain("polyder polyint poly", (4,)),
    *_plain("isclose allclose array_equal vdot inner outer kron cross", (3,), (3,)),
    *_plain("cov corrcoef", (3, 5)),
    _of("unwrap period", lambda a: np.unwrap(a, period=4), (5,)),
    _of("round", lambda a: np.round(a, 1), (5,)),
    _of("gradient", lambda a: np.gradient(a, 0.5, axis=1, edge_order=2), (3, 4)),
    _of("clip", lambda a: np.clip(a, 1, 3), (3, 4)),
    _of("linspace", lambda a, b: np.linspace(a, b, 3), (2,), (2,)),
    _of("logspace", lambda a: np.logspace(a[0], a[1], 4), (2,)),
    _of("geomspace", lambda a: np.geomspace(abs(a[0]) + 1, abs(a[1]) + 2, 4), (2,)),
    _of("average", lambda a, b: np.average(a, weights=b * b + 1, axis=1), (3, 4), (3, 4)),
    _of("dot", np.dot, (3, 4), (4, 2)),
    _of("matmul", np.matmul, (2, 3, 4), (4, 2)),
    _of("einsum", lambda a, b: np.einsum("ij,jk->ik", a, b), (3, 4), (4, 2)),
    _of("tensordot", lambda a, b: np.tensordot(a, b, axes=1), (3, 4), (4, 2)),
    _of("vecdot", np.vecdot, (3, 4), (4,)),
    _of("trapezoid", np.trapezoid, (3, 4)),
    _of("trapezoid x", lambda y, x: np.trapezoid(y, abs(x) * 0 + 1), (4,), (4,)),
]

ALGEBRA = [
    *_plain(
        "linalg.inv linalg.det linalg.slogdet linalg.pinv linalg.cond linalg.trace trace", (3, 3)
    ),
    *_plain("linalg.svdvals linalg.diagonal linalg.matrix_transpose linalg.matrix_norm", (3, 4)),
    *(
        _of(f"linalg.norm {p}", lambda a, p=p: L.norm(a, p), (4,))
        for p in (None, 0, 1, 2, 3, np.inf)
    ),
    *(_of(f"norm {p}", lambda a, p=p: L.norm(a, p), (3, 4)) for p in ("fro", "nuc", 1, -1, 2, -2)),
    _of("linalg.eigvalsh", lambda a: L.eigvalsh(a + a.conj().T), (3, 3)),
    _of("linalg.solve", L.solve, (3, 3), (3, 2)),
    _of("linalg.lstsq", lambda a, b: L.lstsq(a, b, rcond=None)[0], (4, 2), (4,)),
    _of("linalg.matrix_power", lambda a: L.matrix_power(a, 3), (3, 3)),
]

SPECTRA = _plain(
    "fft.fft fft.rfft fft.irfft fft.hfft fft.fft2 fft.fftn fft.rfftn fft.irfftn fft.fftshift",
    (4, 6),
)

CALLS = [*_reductions(), *_quantiles(), *REARRANGING, *MATHEMATICS, *ALGEBRA, *SPECTRA]
