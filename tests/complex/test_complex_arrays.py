"""Complex numbers in reductions, products, orders and arrangements: NumPy's values and dtypes.

Element-wise functions and factorisations have files of their own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from complex_support import check, numbers

X, Y = numbers(1, 3, 4), numbers(2, 3, 4)
V, W = numbers(3, 5), numbers(4, 3)
S, R = numbers(5, 3, 3), numbers(6, 2, 3, 4)
REAL = np.arange(12.0).reshape(3, 4)
TIES = np.array([1 + 2j, 1 + 2j, 1 - 1j, 0, 2 - 1j, 2 - 3j, 0])
NANS = np.array([[1 + 2j, np.nan + 1j, 3.0], [complex(0, np.nan), 2 - 1j, 3 + 1j]])
INDEX = np.array([2, 0])
MASK = X.real > 0

Function = Callable[..., Any]
CALLS: dict[str, tuple[Function, list[Any]]] = {
    "sum": (lambda m, x: [m.sum(x), m.sum(x, axis=0), m.sum(x, axis=(0, 1), keepdims=True)], [X]),
    "prod": (lambda m, x: [m.prod(x), m.prod(x, axis=1)], [X]),
    "mean": (lambda m, x: [m.mean(x), m.mean(x, axis=0)], [X]),
    "var": (lambda m, x: [m.var(x), m.var(x, axis=0, ddof=1)], [X]),
    "std": (lambda m, x: [m.std(x), m.std(x, axis=1)], [X]),
    "cumsum": (lambda m, x: [m.cumsum(x), m.cumsum(x, axis=1)], [X]),
    "cumprod": (lambda m, x: [m.cumprod(x), m.cumprod(x, axis=0)], [X]),
    "diff": (lambda m, x: [m.diff(x), m.diff(x, n=2, axis=0)], [X]),
    "ediff1d": (lambda m, x: m.ediff1d(x), [V]),
    "trapezoid": (lambda m, x: [m.trapezoid(x, dx=0.5), m.trapezoid(x, axis=0)], [X]),
    "gradient": (lambda m, x: m.gradient(x), [V]),
    "max": (lambda m, x: [m.max(x), m.max(x, axis=0), m.amax(x, axis=1, keepdims=True)], [X]),
    "min": (lambda m, x: [m.min(x), m.min(x, axis=(0, 1)), m.amin(x, axis=1)], [X]),
    "argmax": (lambda m, x: [m.argmax(x), m.argmax(x, axis=0)], [X]),
    "argmin": (lambda m, x: [m.argmin(x), m.argmin(x, axis=1, keepdims=True)], [X]),
    "ties": (lambda m, x: [m.max(x), m.min(x), m.argmax(x), m.argmin(x), m.sort(x)], [TIES]),
    "nan extremes": (lambda m, x: [m.max(x), m.argmax(x, axis=1), m.argmin(x, axis=0)], [NANS]),
    "ptp": (lambda m, x: m.ptp(x), [V]),
    "sort": (lambda m, x: [m.sort(x), m.sort(x, axis=0), m.sort(x, axis=None)], [X]),
    "argsort": (lambda m, x: [m.argsort(x), m.argsort(x, axis=0)], [X]),
    "lexsort": (lambda m, x: m.lexsort((x.real, x.imag)), [V]),
    "partition": (lambda m, x: m.partition(x, 2)[..., 2], [X]),
    "unique": (lambda m, x: m.unique(x), [TIES]),
    "unique counts": (lambda m, x: m.unique(x, return_inverse=True, return_counts=True), [TIES]),
    "searchsorted": (lambda m, x, v: m.searchsorted(m.sort(x), v), [V, W]),
    "isin": (lambda m, x: m.isin(x, x[0]), [X]),
    "any": (lambda m, x: [m.any(x), m.all(x, axis=0), m.count_nonzero(x)], [X * MASK]),
    "any of imaginary": (lambda m, x: [m.any(x), m.all(x), m.count_nonzero(x)], [1j * REAL]),
    "average": (lambda m, x: m.average(x, axis=0), [X]),
    "weighted": (lambda m, x, w: m.average(x, axis=1, weights=w), [X, np.arange(1.0, 5.0)]),
    "cov": (lambda m, x: m.cov(x), [X]),
    "cov of two": (lambda m, x, y: m.cov(x, y, rowvar=False), [X, Y]),
    "corrcoef": (lambda m, x: m.corrcoef(x), [X]),
    "nansum": (lambda m, x: [m.nansum(x), m.nansum(x, axis=0)], [NANS]),
    "nanmean": (lambda m, x: [m.nanmean(x), m.nanmean(x, axis=1)], [NANS]),
    "nanvar": (lambda m, x: [m.nanvar(x), m.nanstd(x, axis=1)], [NANS]),
    "nanmax": (lambda m, x: [m.nanmax(x), m.nanmin(x, axis=1)], [NANS]),
    "nanprod": (lambda m, x: m.nanprod(x), [NANS]),
    "nancumsum": (lambda m, x: m.nancumsum(x), [NANS]),
    "nan_to_num": (lambda m, x: m.nan_to_num(x), [NANS]),
    "index": (lambda m, x: [x[1], x[:, ::-2], x[INDEX], x[INDEX, INDEX], x[None, ..., 0]], [X]),
    "mask": (lambda m, x: x[MASK], [X]),
    "take": (lambda m, x: [m.take(x, INDEX, axis=0), m.take(x, 3)], [X]),
    "take_along_axis": (lambda m, x: m.take_along_axis(x, m.argsort(x, axis=1), axis=1), [X]),
    "compress": (lambda m, x: m.compress([True, False, True], x, axis=0), [X]),
    "where": (lambda m, x, y: [m.where(MASK, x, y), m.where(MASK, x, 1.5)], [X, Y]),
    "where of two kinds": (lambda m, x, y: m.where(MASK, x, y), [X, REAL]),
    "select": (lambda m, x, y: m.select([MASK, ~MASK], [x, y]), [X, Y]),
    "choose": (lambda m, x, y: m.choose(MASK.astype(int), [x, y]), [X, Y]),
    "pad": (lambda m, x: [m.pad(x, 1), m.pad(x, 1, mode="edge"), m.pad(x, 2, mode="wrap")], [X]),
    "pad reflect": (lambda m, x: m.pad(x, 1, mode="reflect"), [X]),
    "pad with a number": (lambda m, x: m.pad(x, 1, constant_values=2.0), [X]),
    "roll": (lambda m, x: [m.roll(x, 2), m.roll(x, 1, axis=0)], [X]),
    "tril": (lambda m, x: [m.tril(x), m.triu(x, 1)], [X]),
    "diag": (lambda m, x: [m.diag(x), m.diagonal(x), m.trace(x)], [S]),
    "diagflat": (lambda m, x: m.diagflat(x), [W]),
    "vander": (lambda m, x: m.vander(x, 3), [W]),
    "flip": (lambda m, x: [m.flip(x), m.fliplr(x), m.rot90(x)], [X]),
    "join": (lambda m, x, y: [m.concatenate([x, y]), m.stack([x, y], axis=1)], [X, Y]),
    "join of two kinds": (lambda m, x, y: m.concatenate([x, y]), [X, REAL]),
    "split": (lambda m, x: m.split(x, 2, axis=1), [X]),
    "repeat": (lambda m, x: [m.repeat(x, 2), m.tile(x, (2, 1))], [X]),
    "arrange": (lambda m, x: [x.T, m.reshape(x, (4, 3)), m.moveaxis(x, 0, 1), m.ravel(x)], [X]),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (2, 3, 4)), [X]),
    "insert": (lambda m, x: [m.insert(x, 1, 2.0, axis=0), m.delete(x, 1, axis=1)], [X]),
    "append": (lambda m, x, y: m.append(x, y), [V, W]),
    "nonzero": (lambda m, x: [m.nonzero(x)[0], m.argwhere(x), m.flatnonzero(x)], [X * MASK]),
    "convolve": (lambda m, x, y: [m.convolve(x, y), m.convolve(x, y, mode="valid")], [V, W]),
    "correlate": (lambda m, x, y: [m.correlate(x, y), m.correlate(x, y, mode="full")], [V, W]),
    "matmul": (lambda m, x, y: [x @ y, y[0] @ x, x @ y[:, 0]], [S, S.T.copy()]),
    "matmul of batches": (lambda m, x, y: m.matmul(x, y), [R, numbers(7, 4, 2)]),
    "matmul of two kinds": (lambda m, x, y: m.matmul(x, y), [S, REAL]),
    "dot": (lambda m, x, y: m.dot(x, y), [X, Y.T.copy()]),
    "vdot": (lambda m, x, y: m.vdot(x, y), [X, Y]),
    "vecdot": (lambda m, x, y: m.vecdot(x, y), [X, Y]),
    "inner": (lambda m, x, y: m.inner(x, y), [X, Y]),
    "outer": (lambda m, x, y: m.outer(x, y), [V, W]),
    "kron": (lambda m, x, y: m.kron(x, y), [V, W]),
    "cross": (lambda m, x, y: m.cross(x, y), [S, S.T.copy()]),
    "tensordot": (
        lambda m, x, y: m.tensordot(x, y, axes=([1, 2], [0, 1])),
        [R, numbers(8, 3, 4, 2)],
    ),
    "einsum": (lambda m, x, y: m.einsum("ij,kj->ik", x, y), [X, Y]),
    "einsum of three": (lambda m, x, y, v: m.einsum("ij,ij,j->i", x, y, v), [X, Y, numbers(9, 4)]),
    "einsum diagonal": (lambda m, x: m.einsum("ii->i", x), [S]),
    "interp": (lambda m, f: m.interp(np.array([0.5, 1.2, 7.0]), np.arange(5.0), f), [V]),
    "closeness": (
        lambda m, x, y: [m.isclose(x, y), m.array_equal(x, y), m.array_equal(x, x)],
        [X, Y],
    ),
    "allclose": (lambda m, x: m.allclose(x, x + 1e-12), [X]),
    "norm": (lambda m, x: [m.linalg.norm(x), m.linalg.norm(x, axis=1)], [X]),
    "norm of orders": (
        lambda m, x: [m.linalg.vector_norm(x, ord=o) for o in (0, 1, 3, np.inf, -np.inf)],
        [V],
    ),
    "polyval": (lambda m, x: m.polyval(np.array([1.0, 2.0, 3.0]), x), [V]),
    "apply": (lambda m, x: [m.zeros_like(x), m.ones_like(x), m.full_like(x, 2)], [X]),
}
# Whose results are no smooth functions of the operands at these places, or none at all.
CONSTANT = {
    "argmax",
    "argmin",
    "argsort",
    "lexsort",
    "searchsorted",
    "isin",
    "any",
    "nonzero",
    "unique counts",
    "any of imaginary",
    "closeness",
    "allclose",
    "apply",
}
KINKED = {
    "ties",
    "nan extremes",
    "unique",
    "nansum",
    "nanmean",
    "nanvar",
    "nanmax",
    "nanprod",
    "nancumsum",
    "nan_to_num",
}


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [part for one in result for part in flat(one)]
    return [result]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("single", [False, True])
def test_values_are_those_of_numpy(name: str, single: bool) -> None:
    call, arrays = CALLS[name]
    if not all(
        hasattr(fg, part)
        for part in call.__code__.co_names
        if hasattr(np, part)
        and part not in ("array", "arange", "inf", "real", "imag", "copy", "astype")
    ):
        pytest.skip("no such function in ferrograd's namespace")
    if single:
        narrow = {"c": np.complex64, "f": np.float32}
        arrays = [a.astype(narrow[a.dtype.kind]) for a in arrays]
    got = flat(call(fg, *map(fg.tensor, arrays)))
    want = flat(call(np, *arrays))
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        w, g = np.asarray(w), np.asarray(g.numpy() if isinstance(g, fg.Tensor) else g)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        tol = 1e-5 if single else 1e-13
        np.testing.assert_allclose(g, w, rtol=tol, atol=0 if g.dtype.kind in "biu" else tol)


@pytest.mark.parametrize("name", [n for n in CALLS if n not in CONSTANT | KINKED])
def test_derivatives(name: str) -> None:
    call, arrays = CALLS[name]
    try:
        flat(call(fg, *map(fg.tensor, arrays)))
    except AttributeError:
        pytest.skip("no such function in ferrograd's namespace")
    check(lambda *xs: flat(call(fg, *xs)), *arrays)


def test_products_of_zeros_have_exact_derivatives() -> None:
    x = numbers(1, 4)
    x[1] = 0
    check(lambda x: [fg.prod(x), fg.cumprod(x)], x)


@pytest.mark.parametrize("n", [1, 2, 7, 16, 33, 64, 130, 600])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_every_arrangement(n: int, dtype: Any) -> None:
    a, b = numbers(n, 5, n).astype(dtype), numbers(n + 1, n, 9).astype(dtype)
    arrangements: list[Function] = [
        lambda x: x,
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
        lambda x: x[::-1, ::-1],
    ]
    tol = 1e-4 if dtype == np.complex64 else 1e-12
    for f in arrangements:
        for g in arrangements:
            got = (fg.tensor(f(a)) @ fg.tensor(g(b))).numpy()
            np.testing.assert_allclose(got, f(a) @ g(b), rtol=tol, atol=tol * n)
            got = (fg.tensor(g(b)).T @ fg.tensor(f(a)).T).numpy()
            np.testing.assert_allclose(got, g(b).T @ f(a).T, rtol=tol, atol=tol * n)
    for left, right in ((a, b[:, 0]), (a[0], b), (a[:, :1], a[:1])):
        np.testing.assert_allclose(
            (fg.tensor(left) @ fg.tensor(right)).numpy(), left @ right, rtol=tol, atol=tol * n
        )


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_have_the_same_bits_wherever_operands_lie(dtype: Any) -> None:
    a, b = numbers(1, 70, 300).astype(dtype), numbers(2, 300, 45).astype(dtype)
    whole = (fg.tensor(a) @ fg.tensor(b)).numpy()
    far = [np.zeros((x.shape[0], 1000), dtype) for x in (a, b)]
    for x, wide in zip((a, b), far, strict=True):
        wide[:, : x.shape[1]] = x
    left = [fg.tensor(a), fg.tensor(far[0])[:, :300], fg.tensor(np.asfortranarray(a))]
    right = [fg.tensor(b), fg.tensor(far[1])[:, :45], fg.tensor(np.asfortranarray(b))]
    for x in left:
        for y in right:
            np.testing.assert_array_equal((x @ y).numpy(), whole)
            np.testing.assert_array_equal((x[:33] @ y[:, 16:41]).numpy(), whole[:33, 16:41])
            np.testing.assert_array_equal((y.T @ x.T).numpy(), whole.T)


def test_sums_of_single_precision_are_rounded_once() -> None:
    x = numbers(3, 301, 1100).astype(np.complex64)
    wide = x.astype(np.complex128)
    t = fg.tensor(x)
    for axis in (None, 0, 1, (0, 1)):
        for f in (lambda m, x, axis: m.sum(x, axis=axis), lambda m, x, axis: m.mean(x, axis=axis)):
            got, want = f(fg, t, axis).numpy(), f(np, wide, axis)
            assert got.dtype == np.complex64
            np.testing.assert_allclose(got, want.astype(np.complex64), rtol=2e-7, atol=1e-7)
    got = fg.sum(t[::-2, ::3].T, axis=0).numpy()
    np.testing.assert_allclose(got, wide[::-2, ::3].sum(axis=1), rtol=2e-7, atol=1e-7)
    unit = x / abs(x)
    want = np.prod(unit.astype(np.complex128), axis=1)
    np.testing.assert_allclose(fg.prod(fg.tensor(unit), axis=1).numpy(), want, rtol=1e-4)
    assert fg.sum(fg.zeros((0,), dtype=np.complex64)).numpy() == 0
    big = np.full(4, 3e38 + 3e38j, np.complex64) * np.array([1, -1, 1, -1], np.float32)
    assert fg.sum(fg.tensor(big)).numpy() == 0


def test_small_parts_survive_beside_large_ones() -> None:
    a = np.eye(20) + 1e-30j * numbers(1, 20, 20).real
    got = (fg.tensor(a) @ fg.tensor(numbers(2, 20, 20).real)).numpy()
    np.testing.assert_allclose(got.imag, a.imag @ numbers(2, 20, 20).real, rtol=1e-12)


def test_assignments() -> None:
    for where in (1, (slice(None), 2), INDEX, MASK):
        x, y = fg.tensor(X), X.copy()
        x[where] = 2 - 1j
        y[where] = 2 - 1j
        np.testing.assert_array_equal(x.numpy(), y)
    x = fg.tensor(X, requires_grad=True)
    z = x * 1
    z[0] = z[1] * 2j
    z.backward(fg.tensor(Y))
    want = Y.copy()
    want[1] += -2j * Y[0]
    want[0] = 0
    np.testing.assert_allclose(x.grad.numpy(), want)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fg.floor(x),
        lambda x: x // x,
        lambda x: x % x,
        lambda x: fg.quantile(x, 0.5),
        lambda x: fg.median(x),
        lambda x: fg.arctan2(x, x),
        lambda x: fg.histogram(x),
        lambda x: fg.bincount(x),
        lambda x: fg.digitize(x, x),
        lambda x: fg.interp(x, np.arange(3.0), np.arange(3.0)),
        lambda x: fg.softmax(x, 0),
        lambda x: fg.cummax(x),
        lambda x: fg.logcumsumexp(x),
        lambda x: fg.gelu(x),
    ],
)
def test_what_complex_numbers_do_not_have_is_refused(call: Function) -> None:
    x = fg.tensor(numbers(1, 3))
    try:
        call(x)
    except AttributeError:
        pytest.skip("no such function")
    except fg.errors.InternalError as error:
        raise AssertionError("a panic") from error
    except (TypeError, fg.errors.FerrogradError):
        pass


@pytest.mark.parametrize(
    "call",
    [
        lambda z: fg.nn.functional.conv1d(z[None], z[:1, None]),
        lambda z: fg.nn.functional.avg_pool2d(z[None], 2),
        lambda z: fg.nn.functional.max_pool2d(z[None], 2),
        lambda z: fg.nn.functional.group_norm(z[None], 1),
        lambda z: fg.nn.functional.batch_norm(z, training=True),
        lambda z: fg.nn.functional.layer_norm(z, (4,)),
        lambda z: fg.nn.functional.cross_entropy(z, fg.tensor([0, 1, 2, 3])),
    ],
)
def test_layers_of_real_numbers_refuse_complex_ones(call: Any) -> None:
    z = fg.tensor(np.ones((4, 4)) + 1j)
    with pytest.raises(fg.errors.DTypeError, match="real"):
        call(z)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 24, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_many_elements(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    x = np.exp(1j * rng.uniform(0, 7, (n, 3))).astype(dtype)
    x *= np.exp(rng.uniform(-0.01, 0.01, (n, 3))).astype(x.real.dtype)
    bound = 1e-12 if dtype == "complex128" else 4e-7
    wide = x.astype(np.complex128)
    for axis in (None, 0, 1):
        want = wide.prod(axis=axis)
        np.testing.assert_allclose(fg.prod(x, axis=axis), want, rtol=bound)
    np.testing.assert_allclose(fg.prod(x.T.copy(), axis=1), wide.prod(axis=0), rtol=bound)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (8,), (31,), (33,), (2000,), (3, 4), (40, 3)])
def test_sums_of_negative_zeros_have_the_sign_of_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    x = -np.zeros(shape, dtype)
    for name in ("sum", "nansum"):
        for axis in (None, *range(len(shape))):
            want = np.asarray(getattr(np, name)(x, axis=axis))
            got = getattr(np, name)(fg.tensor(x), axis=axis).numpy()
            assert np.array_equal(np.signbit(got.real), np.signbit(want.real))
            assert np.array_equal(np.signbit(got.imag), np.signbit(want.imag))
