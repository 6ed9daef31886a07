"""Corners of NumPy's functions on tensors: signed zeros, narrow dtypes, nothing at all.

Derivatives: `test_numpy_functions.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp

pytestmark = pytest.mark.filterwarnings("ignore")

BYTES = np.array([1, 100], np.uint8)
FLOATS = np.array([[1.5, 2.7, 4.9], [1.0, 2.0, 3.0]])
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -2.0])
NOTHING = np.zeros((0, 3))

SAME: list[tuple[Callable[..., Any], Any]] = [
    (lambda x: np.float_power(x, x), np.array([1, 20])),
    (lambda x: np.float_power(x, 2), BYTES),
    (lambda x: np.float_power(x, -1), np.array([1, 2])),
    (lambda x: np.float_power(x, 2), FLOATS.astype(np.float32)),
    (lambda x: np.float_power.outer(x, x), np.array([1, 2])),
    (lambda x: np.float_power.reduce(x), np.array([2, 3, 2])),
    (lambda x: np.cumsum(x, dtype=np.uint8), np.array([200, 100, 7], np.uint8)),
    (lambda x: np.cumprod(x, dtype=np.int32), np.array([100_000, 100_000, 3], np.int32)),
    (lambda x: np.cumsum(x, dtype=bool), np.array([0, 2, 0])),
    (lambda x: np.cumprod(x, dtype=bool), np.array([3, 2, 0, 1])),
    (lambda x: np.isin(x, x[1:]), SPECIAL),
    (lambda x: np.searchsorted(np.sort(x), x), SPECIAL),
    (np.fabs, np.array([-3, 2])),
    (np.fabs, FLOATS.astype(np.float32)),
    (lambda x: np.fabs(x, out=None), FLOATS),
    (np.angle, SPECIAL),
    (lambda x: np.angle(x, deg=True), SPECIAL),
    (np.angle, SPECIAL.astype(np.float32)),
    (np.sinh, np.array([5e-324, -5e-324, 1e-310, 3e-308, 1e-9, 0.3, -0.0, np.inf])),
    (np.sinh, np.array([1e-45, -1e-40, 1e-9, 0.3], np.float32)),
    (lambda x: np.polymul(x, [1, 3]), np.array([0, 0, 1, 2])),
    (lambda x: np.polymul([0.0, 2.0], x), np.zeros(3)),
    (lambda x: np.mean(x, dtype=int), FLOATS),
    (lambda x: np.mean(x, axis=0, dtype=np.int32), FLOATS.astype(int)),
    (lambda x: np.mean(x, 1, int, keepdims=True), FLOATS),
    (lambda x: np.var(x, dtype=int), FLOATS),
    (lambda x: np.var(x, axis=0, dtype=int, ddof=1), FLOATS),
    (lambda x: np.std(x, dtype=int), FLOATS),
    (lambda x: np.nanmean(x, dtype=int), FLOATS.astype(int)),
    (np.nanmedian, np.zeros(0)),
    (lambda x: np.nanmedian(x, axis=0), NOTHING),
    (lambda x: np.nanmedian(x, axis=1), NOTHING),
    (lambda x: np.nanpercentile(x, 10, axis=0, keepdims=True), NOTHING),
    (lambda x: np.argsort(x), np.array(3.0)),
    (lambda x: x << 2, np.array([1, -3, 2**40])),
    (lambda x: 3 << x, BYTES),
    (lambda x: x >> np.array([1, 2]), np.array([100, -7])),
    (lambda x: 2**40 >> x, np.array([1, 50])),
    (lambda x: x.compress([True, False], axis=0), FLOATS),
    (lambda x: x.compress([False, True, True]), FLOATS),
    (lambda x: x == 300, BYTES),
    (lambda x: x != -1, BYTES),
    (lambda x: x < -1, BYTES),
    (lambda x: x <= 300, BYTES),
    (lambda x: np.greater(x, -(2**40)), BYTES.astype(np.int32)),
]


@pytest.mark.parametrize(("call", "array"), SAME, ids=range(len(SAME)))
def test_value_shape_and_dtype_are_those_of_numpy(call: Callable[..., Any], array: Any) -> None:
    expected, found = np.asarray(call(array)), call(fg.tensor(array))
    assert found.dtype == expected.dtype
    assert tuple(found.shape) == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6 if found.itemsize < 8 else 1e-15)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found.numpy())[known], np.signbit(expected)[known])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.nanmedian(x, axis=5),
        lambda x: np.nanpercentile(x, 30, axis=(0, -3)),
        lambda x: np.nanquantile(x, 0.5, axis=(0, -2)),
        lambda x: np.std(x, axis=0, dtype=int),
        lambda x: np.nanmean(x, dtype=int),
        lambda x: np.nanstd(x, dtype=np.int32),
        lambda x: x.astype(np.uint8) + 300,
    ],
    ids=range(7),
)
def test_what_numpy_refuses_is_refused(call: Callable[..., Any]) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(FLOATS)
    kind = ValueError if isinstance(theirs.value, ValueError | OverflowError) else TypeError
    with pytest.raises(kind):
        call(fg.tensor(FLOATS))


class TestNullSpace:
    """The vectors that complete a basis: their span has a derivative, they have none."""

    WIDE = np.array([[1.0, 2, 3, 0.5], [3, 4, 1, 2]])

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_a_gradient_into_single_vectors_is_refused(self, dtype: Any) -> None:
        m = fg.tensor(self.WIDE.astype(dtype), requires_grad=True)
        with pytest.raises(fg.errors.NotDifferentiableError, match="full_matrices=False"):
            (np.linalg.svd(m)[2][2:] ** 3).sum().backward()
        with pytest.raises(fg.errors.NotDifferentiableError, match="full_matrices=False"):
            (np.linalg.svd(m.T)[0][:, 3] ** 3).sum().backward()
        with pytest.raises(fg.errors.NotDifferentiableError, match='mode="reduced"'):
            (np.linalg.qr(m.T, mode="complete")[0] ** 3).sum().backward()

    def test_their_span_and_a_single_vector_have_derivatives(self) -> None:
        def span(m: Any) -> Any:
            rest = np.linalg.svd(m)[2][2:]
            return (np.matmul(rest.T, rest) ** 3).sum()

        assert fg.gradcheck(span, (fg.tensor(self.WIDE, requires_grad=True),))
        one = fg.tensor(self.WIDE[:, :3], requires_grad=True)
        assert fg.gradcheck(lambda m: (np.linalg.svd(m)[2][2] ** 2 * [1, 2, 3]).sum(), (one,))

    def test_the_span_in_float32(self) -> None:
        m = fg.tensor(self.WIDE.astype(np.float32), requires_grad=True)
        rest = np.linalg.svd(m)[2][2:]
        (np.matmul(rest.T, rest) ** 3).sum().backward()
        assert m.grad is not None
        assert np.all(np.isfinite(m.grad.numpy()))


def test_a_probability_outside_its_range_is_refused() -> None:
    loss = fg.nn.functional.binary_cross_entropy
    for wrong in ([1.2], [-0.1], [0.5, np.inf]):
        with pytest.raises(fg.errors.ArgumentError, match="no probability; apply sigmoid"):
            loss(fg.tensor(wrong), fg.ones(len(wrong)))
    assert loss(fg.tensor([0.0, 1.0]), fg.tensor([0.0, 1.0])).item() == 0
    assert np.isnan(loss(fg.tensor([np.nan]), fg.ones(1)).item())


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_class_outside_says_how_classes_are_numbered(wrong: int) -> None:
    rows, target = fg.ones(2, 3), fg.tensor([0, wrong])
    losses = fg.nn.functional
    for call in (losses.cross_entropy, losses.nll_loss, lambda _, t: fg.one_hot(t, 3)):
        with pytest.raises(IndexError, match=f"class {wrong} of 3 classes; number .* from 0"):
            call(rows, target)
    assert losses.nll_loss(rows, target, ignore_index=wrong).item() == -1


def test_elements_and_bytes_as_numpy_gives_them() -> None:
    t = fg.tensor(FLOATS)
    assert [t.item(4), t.item(-1), t.item(0, 2), t.item((1, 1))] == [2.0, 3.0, 4.9, 2.0]
    for wrong in (6, (2, 0)):
        with pytest.raises(IndexError, match="out of bounds"):
            t.item(wrong)
    assert t.tobytes() == FLOATS.tobytes()
    assert t.T.tobytes("F") == FLOATS.T.tobytes("F")
    assert fg.zeros(2, dtype=fg.bool).dtype == np.bool_


def test_round_is_the_operation() -> None:
    t = fg.tensor([2.567, -1.5], requires_grad=True)
    assert round(t, 2).tolist() == [2.57, -1.5]
    assert round(t).tolist() == [3.0, -2.0]
    assert float(round(fg.tensor(2.567))) == 3.0


class TestSpecialFunctions:
    """SciPy's own functions on tensors."""

    @pytest.mark.parametrize(
        "name", ["gamma", "beta", "betaln", "j0", "i0", "ndtr", "ndtri", "entr", "log1p", "expm1"]
    )
    def test_they_are_differentiable_where_ours_are(self, name: str) -> None:
        special = pytest.importorskip("scipy.special")
        theirs = getattr(special, name)
        x = np.array([0.3, 0.8])
        args = (x, x + 1)[: theirs.nin]
        tensors = tuple(fg.tensor(a, requires_grad=True) for a in args)
        np.testing.assert_allclose(theirs(*tensors).detach().numpy(), theirs(*args), rtol=1e-12)
        assert fg.gradcheck(theirs, tensors)

    def test_the_others_are_refused_under_their_own_name(self) -> None:
        special = pytest.importorskip("scipy.special")
        t = fg.tensor([2.5], requires_grad=True)
        for name in ("kolmogorov", "itairy"):
            with pytest.raises(fg.errors.NotDifferentiableError, match=rf"^scipy.special.{name}:"):
                getattr(special, name)(t)
        np.testing.assert_allclose(special.kolmogorov(t.detach()), special.kolmogorov([2.5]))


def test_which_triangle_a_symmetric_matrix_gives_its_gradient_to() -> None:
    m = np.array([[2.0, 1.0], [1.0, 3.0]])
    t = fg.tensor(m, requires_grad=True)
    np.linalg.eigh(t)[0][0].backward()
    lower = fg.grad(lambda a: fnp.linalg.eigh(a)[0][0])(m)
    assert t.grad is not None
    np.testing.assert_allclose(t.grad.numpy(), t.grad.numpy().T)
    assert lower[0, 1] == 0
    np.testing.assert_allclose(lower + lower.T, t.grad.numpy() * 2)
    assert fg.gradcheck(lambda a: np.linalg.eigh((a + a.T) / 2)[0] ** 2, (t,))


def test_powers_of_integers_wrap_around_for_any_exponent() -> None:
    base = np.array([1, -1, 2, 3, -7, 6])
    for exponent in (3, 63, 2**32 - 1, 2**32, 2**32 + 1, 2**62 + 12345):
        want = base**exponent
        np.testing.assert_array_equal((fg.tensor(base) ** exponent).numpy(), want)
        np.testing.assert_array_equal((fg.tensor(base) ** fg.tensor(exponent)).numpy(), want)
