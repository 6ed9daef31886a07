"""The table of NumPy functions that are compositions: a call on arrays for each.

`test_numpy_functions.py` runs each call on arrays and on tensors. Invariant: every composition in
`ferrograd._dispatch` has a row here, or a reason in `ELSEWHERE`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

L = np.linalg
RANDOM = np.random.default_rng(5)
V, W = RANDOM.normal(size=7), RANDOM.normal(size=4)
M, T = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(2, 3, 4))
S = RANDOM.normal(size=(4, 4)) + 4 * np.eye(4)
HOLES = np.where([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1]], np.nan, M)


class Row(NamedTuple):
    """A call of `path`, on copies of the arrays."""

    path: str
    call: Callable[..., Any]
    arrays: tuple[Any, ...]
    derivative: bool = True


def row(path: str, call: Callable[..., Any], *arrays: Any, derivative: bool = True) -> Row:
    return Row(path, call, arrays, derivative)


def mask(path: str, call: Callable[..., Any], *arrays: Any) -> Row:
    return Row(path, call, arrays, False)


REARRANGING = [
    row("append", np.append, M, W),
    row("append", lambda a, b: np.append(a, b[None], 0), M, W),
    row("insert", lambda a, b: np.insert(a, [1, 3], b[:2]), V, W),
    row("insert", lambda a, b: np.insert(a, 2, b[:3], axis=1), M, W),
    row("insert", lambda a: np.insert(a, 1, 5.0, axis=0), M),
    row("delete", lambda a: np.delete(a, [0, 2], 1), M),
    row("delete", lambda a: np.delete(a, slice(0, 3)), V),
    row("resize", lambda a: np.resize(a, (3, 5)), V),
    row("block", lambda a, b: np.block([[a, a], [b, b]]), M, W),
    row("block", lambda a, b: np.block([a, b, 1.0]), V, W),
    row("choose", lambda a, b: np.choose(np.array([0, 1, 1, 0]), [a, b]), W, 2 * W),
    row("extract", lambda a: np.extract(a > 0, a), V),
    row("trim_zeros", lambda a: np.trim_zeros(np.concatenate([[0, 0], a, [0.0]])), V),
    row("rollaxis", lambda a: np.rollaxis(a, 2), T),
    row("rollaxis", lambda a: np.rollaxis(a, 0, 3), T),
    row("matrix_transpose", np.matrix_transpose, T),
    row("linalg.matrix_transpose", L.matrix_transpose, T),
    row("apply_along_axis", lambda a: np.apply_along_axis(lambda r: np.sum(r**2), 1, a), M),
    row("apply_along_axis", lambda a: np.apply_along_axis(lambda r: np.outer(r, r), 1, a), T),
    row("apply_along_axis", lambda a: np.apply_along_axis(np.sort, 0, a), M),
    row("apply_over_axes", lambda a: np.apply_over_axes(np.sum, a, [0, 2]), T),
    row(
        "piecewise",
        lambda a: np.piecewise(a, [a < 0, a > 1], [lambda x: x**2, lambda x: -x, 7.0]),
        V,
    ),
    row("piecewise", lambda a: np.piecewise(a, [a < 0], [lambda x: x**2, np.sin]), M),
    row("piecewise", lambda a: np.piecewise(a, [a < 0, a > 0], [lambda x: x.sum(), 1.0]), V),
    row("fft.fftshift", lambda a: np.fft.fftshift(a, axes=1), M),
    row("fft.ifftshift", np.fft.ifftshift, V),
]

CALCULUS = [
    row("gradient", np.gradient, V),
    row("gradient", lambda a: np.gradient(a, 2.0, edge_order=2), V),
    row("gradient", lambda a: np.gradient(a, np.array([0, 1, 3, 4.0]), axis=1), M),
    row("gradient", lambda a: np.gradient(a, [0, 1, 3, 4.0], axis=1, edge_order=2), M),
    row("gradient", lambda a: np.stack(np.gradient(a, 2.0, 3.0)), M),
    row("gradient", lambda a, x: np.gradient(a, x**2), W, np.array([1, 2, 3.5, 4])),
    *(
        row("correlate", lambda a, b, mode=mode: np.correlate(a, b, mode), a, b)
        for mode in ("full", "same", "valid")
        for a, b in ((V, W), (W, V), (V, W[:3]), (W[:3], V), (V, V))
    ),
    row("ediff1d", lambda a: np.ediff1d(a, to_end=a[0, :2], to_begin=a[0, 0]), M),
    row("unwrap", lambda a: np.unwrap(a * 8), V),
    row("linspace", lambda a, b: np.linspace(a, b, 5), W, M),
    row("linspace", lambda a, b: np.linspace(a, b, 5, endpoint=False, axis=-1), W, M),
    row("linspace", lambda a, b: np.linspace(a, b, 5, retstep=True)[1], W, M),
    row("logspace", lambda a, b: np.logspace(a, b, 4, base=2.0), W, M),
    row("geomspace", lambda a, b: np.geomspace(a, b, 4), abs(W), abs(M)),
    row("geomspace", lambda a, b: np.geomspace(a, b, 4, axis=1), -abs(W), -abs(W) * 2),
    row("divmod", lambda a, b: np.stack(np.divmod(a, b)), V, abs(V) + 1),
    row("modf", lambda a: np.stack(np.modf(a)), 3 * V),
    row("frexp", lambda a: np.frexp(a)[0], V),
    row("ldexp", lambda a: np.ldexp(a, 3), V),
    row("positive", np.positive, V),
    row("real", np.real, V),
    row("conj", np.conj, V),
    row("real_if_close", np.real_if_close, V),
    row("sort_complex", lambda a: np.sort_complex(a).real, V),
    mask("imag", np.imag, V),
    mask("angle", np.angle, V),
    row("float_power", np.float_power, abs(W) + 1, W),
    row("fabs", np.fabs, V),
    mask("empty_like", lambda a: np.shape(np.empty_like(a)), V),
    row("i0", np.i0, V),
]

STATISTICS = [
    row("nanprod", lambda a: np.nanprod(a, axis=1), HOLES),
    row("nancumsum", lambda a: np.nancumsum(a, axis=1), HOLES),
    row("nancumprod", np.nancumprod, HOLES),
    row("nanmedian", lambda a: np.nanmedian(a, axis=0), HOLES),
    row("nanmedian", np.nanmedian, HOLES),
    row("nanquantile", lambda a: np.nanquantile(a, [[0.1, 0.5], [0.3, 1]], axis=1), HOLES),
    row("nanquantile", lambda a: np.nanquantile(a, 0.3, axis=(0, 1), keepdims=True), HOLES),
    row("nanpercentile", lambda a: np.nanpercentile(a, 30.0, axis=-1, keepdims=True), HOLES),
    row("bincount", lambda a: np.bincount(np.array([0, 1, 1, 3]), a, 6), W),
]

POLYNOMIALS = [
    row("polyadd", np.polyadd, V, W),
    row("polysub", np.polysub, W, V),
    row("polymul", np.polymul, V, W),
    row("polymul", lambda a, b: np.polymul(np.concatenate([[0.0, 0], a]), b), V, W),
    row("polydiv", lambda a, b: np.concatenate(np.polydiv(a, b)), V, W),
    row("polyder", lambda a: np.polyder(a, 2), V),
    row("polyint", lambda a: np.polyint(a, 2, 3.0), V),
    row("poly", np.poly, W),
    row("vander", np.vander, W),
    row("vander", lambda a: np.vander(a, 3, increasing=True), W),
    row("polyfit", lambda a, b: np.polyfit(a, b, 2), V, V**3),
    row("polyfit", lambda a, b, w: np.polyfit(a, b, 1, w=w), V, V**3, abs(V)),
]

LINEAR = [
    row("linalg.matmul", L.matmul, M, S),
    row("linalg.outer", L.outer, V, W),
    row("linalg.tensordot", lambda a, b: L.tensordot(a, b, axes=1), M, S),
    row("linalg.cross", L.cross, V[:3], W[:3]),
    row("linalg.diagonal", L.diagonal, T),
    row("linalg.trace", L.trace, T),
    row("linalg.vecdot", L.vecdot, M, W),
    row("vecdot", np.vecdot, M, W),
    row("matvec", np.matvec, M, W),
    row("vecmat", np.vecmat, M[:, 0], M),
    *(
        row("linalg.cond", lambda a, p=p: L.cond(a, p), S)
        for p in (None, 2, -2, 1, -1, np.inf, "fro")
    ),
    row("linalg.tensorinv", lambda a: L.tensorinv(a.reshape(2, 2, 4)), S),
    row(
        "linalg.tensorsolve",
        lambda a, b: L.tensorsolve(a.reshape(2, 2, 4), b[:4].reshape(2, 2)),
        S,
        V,
    ),
]

PLAIN = [
    mask("argpartition", lambda a: np.argpartition(a, 3), V),
    mask("isin", lambda a: np.isin(a, [0, 1]), V),
    mask("digitize", lambda a: np.digitize(a, [0.0, 1]), V),
    mask("isposinf", np.isposinf, V),
    mask("isneginf", np.isneginf, V),
    mask("lexsort", lambda a: np.lexsort((a, a)), V),
    mask("linalg.matrix_rank", L.matrix_rank, S),
    mask("signbit", np.signbit, V),
    mask("nanargmax", np.nanargmax, HOLES),
    mask("nanargmin", np.nanargmin, HOLES),
    mask("array_equiv", lambda a: np.array_equiv(a, a + 1), V),
    mask("iscomplex", np.iscomplex, V),
    mask("iscomplexobj", np.iscomplexobj, V),
    mask("isreal", np.isreal, V),
    mask("isrealobj", np.isrealobj, V),
    mask("result_type", lambda a: np.result_type(a, np.float32), V),
    mask("common_type", np.common_type, V),
    mask("can_cast", lambda a: np.can_cast(a.dtype, np.float32), V),
    mask("min_scalar_type", np.min_scalar_type, V),
    mask("array_str", np.array_str, V),
    mask("array_repr", np.array_repr, V),
    mask("array2string", np.array2string, V),
    mask("shares_memory", lambda a: np.shares_memory(a, a), V),
    mask("may_share_memory", lambda a: np.may_share_memory(a, a), V),
    mask("tril_indices_from", lambda a: np.stack(np.tril_indices_from(a)), S),
    mask("triu_indices_from", lambda a: np.stack(np.triu_indices_from(a)), S),
    mask("diag_indices_from", lambda a: np.stack(np.diag_indices_from(a)), S),
]

ROWS = [*REARRANGING, *CALCULUS, *STATISTICS, *POLYNOMIALS, *LINEAR, *PLAIN]

#: Where the functions without a row here are tested, or why they need none.
ELSEWHERE = {
    "written to": "copyto put place putmask fill_diagonal put_along_axis",
    "files": "save savez savez_compressed savetxt",
    "integers": "ix_ ravel_multi_index unravel_index",
    "facts of the shapes": "size einsum_path",
}
