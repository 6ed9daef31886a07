"""Values and gradients at NaN, infinities and magnitudes where a formula loses its digits."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ferrograd as fg
from ferrograd.nn.functional import binary_cross_entropy_with_logits

NAN, INF = np.nan, np.inf


def slope(f: Callable[..., Any], *args: Any) -> Any:
    """The gradient of the sum of a function by its first argument."""
    x = fg.tensor(args[0], requires_grad=True)
    f(x, *args[1:]).sum().backward()
    return x.grad.numpy()


ORDER = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "amax": fg.amax,
    "amin": fg.amin,
    "median": fg.median,
    "quantile": lambda x: fg.quantile(x, 0.3),
    "lower quantile": lambda x: fg.quantile(x, 0.3, method="lower"),
    "percentile": lambda x: fg.percentile(x, 60),
}


@pytest.mark.parametrize("name", ORDER)
def test_a_gradient_among_nan_goes_to_the_nan_elements(name: str) -> None:
    f = ORDER[name]
    assert_array_equal(slope(f, [NAN, 1.0, NAN]), [0.5, 0.0, 0.5])
    assert_array_equal(slope(f, [1.0, NAN, 3.0, 2.0]), [0.0, 1.0, 0.0, 0.0])
    assert_array_equal(slope(f, [NAN]), [1.0])
    hessian = fg.hessian(f)(np.array([NAN, 1.0]))
    assert_array_equal(hessian, np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_only_the_lines_that_hold_a_nan_are_touched(dtype: Any) -> None:
    x = np.array([[1.0, NAN, 3.0], [4.0, 6.0, 5.0], [NAN, NAN, 0.0]], dtype)
    for f, second in (
        (lambda x: x.max(1), [0, 1, 0]),
        (lambda x: x.min(axis=1), [1, 0, 0]),
        (lambda x: fg.median(x, axis=1), [0, 0, 1]),
        (lambda x: fg.quantile(x, 0.5, axis=1), [0, 0, 1]),
    ):
        assert_array_equal(slope(f, x), [[0, 1, 0], second, [0.5, 0.5, 0]])
    two = slope(lambda x: fg.quantile(x, np.array([0.0, 1.0]), axis=1), x)
    assert_array_equal(two, [[0, 2, 0], [1, 1, 0], [1, 1, 0]])


def test_what_sorts_gives_the_gradient_to_the_places_taken() -> None:
    x, g = [NAN, 1.0, NAN, 0.0], np.array([1.0, 2.0, 3.0, 4.0])
    assert_array_equal(slope(lambda x: fg.sort(x) * g, x), [3.0, 2.0, 4.0, 1.0])
    assert_array_equal(slope(lambda x: fg.topk(x, 1)[0], x), [1.0, 0.0, 0.0, 0.0])
    assert_array_equal(slope(lambda x: fg.cummax(x)[0] * g, [0.0, NAN, 2.0, NAN]), [1, 5, 0, 4])
    assert_array_equal(slope(fg.nanmax, x), [0.0, 1.0, 0.0, 0.0])


class TestLogarithmsOfSums:
    """`logsumexp` and `logcumsumexp` where values are huge, infinite, or few."""

    HUGE: tuple[tuple[list[float], list[float]], ...] = (
        ([1e300, 1e300, 1.0], [2.0, 1.0, 0.0]),
        (
            [1e16, 1e16 + 2, 1e16],
            [
                1 + 1 / (1 + math.e**2) + 1 / (2 + math.e**2),
                math.e**2 / (1 + math.e**2) + math.e**2 / (2 + math.e**2),
                1 / (2 + math.e**2),
            ],
        ),
        ([-1e300, -1e300], [1.5, 0.5]),
        ([-1e300, 1e300], [1.0, 1.0]),
        ([-INF, -INF, 3.0], [0.0, 0.0, 1.0]),
        ([-INF, -1000.0, -INF, -1000.0], [0.0, 2.5, 0.0, 0.5]),
        ([-INF, -INF], [0.0, 0.0]),
        ([5.0], [1.0]),
    )

    @pytest.mark.parametrize(("x", "exact"), HUGE, ids=str)
    def test_running(self, x: list[float], exact: list[float]) -> None:
        assert_allclose(slope(fg.logcumsumexp, x), exact, rtol=1e-13)

    def test_running_along_an_axis_and_to_third_order(self) -> None:
        x = np.random.default_rng(0).normal(size=(3, 4, 2)) * 5
        x[0, :2, 0] = -INF

        def plain(x: Any) -> Any:
            lines = [fg.logsumexp(x[:, : k + 1], 1) for k in range(4)]
            return fg.stack(lines, 1)

        running = slope(lambda x: fg.logcumsumexp(x, 1), x)
        assert_allclose(running, slope(plain, x), rtol=1e-12)
        y = np.array([0.3, -1.0, 2.0])
        fg.check_grads(lambda y: fg.logcumsumexp(y).sum(), "rev", 3)(y)

    def test_whole(self) -> None:
        for x, exact in (
            ([1e300, 1e300, 1.0], [0.5, 0.5, 0.0]),
            ([1e16, 1e16 + 2], [1 / (1 + math.e**2), math.e**2 / (1 + math.e**2)]),
            ([-1e308, -1e308, -1e308], [1 / 3] * 3),
            ([-INF, -INF], [0.0, 0.0]),
            ([-INF, 1.0], [0.0, 1.0]),
        ):
            assert_allclose(slope(fg.logsumexp, x), exact, rtol=1e-13)
        x = np.array([[1e300, 1e300], [0.0, -INF]])
        assert_allclose(slope(lambda x: fg.logsumexp(x, (0, 1)), x), [[0.5, 0.5], [0.0, 0.0]])
        assert_allclose(slope(lambda x: fg.logsumexp(x, 1), x), [[0.5, 0.5], [1.0, 0.0]])
        hessian = fg.hessian(fg.logsumexp)(np.array([1e300, 1e300]))
        assert_allclose(hessian, [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-13)
        fg.check_grads(fg.logsumexp, "rev", 3)(np.array([0.3, -1.0, 2.0]))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_two(self, dtype: Any) -> None:
        big = dtype(1e30)
        assert slope(fg.logaddexp, [big], dtype(1e30)) == 0.5
        assert slope(fg.logaddexp2, [big], dtype(1e30)) == 0.5


@pytest.mark.parametrize("axis", [None, 0, -1, ()])
@pytest.mark.parametrize("name", ["logsumexp", "sum", "nanmean", "max", "all"])
def test_a_reduction_of_a_0d_tensor_takes_the_axes_that_numpy_lets_it(name: str, axis: Any) -> None:
    result = getattr(fg, name)(fg.tensor(2.0), axis)
    assert result.shape == ()
    assert float(result) == (1.0 if name == "all" else 2.0)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["logcumsumexp", "cumsum", "cumprod", "cummax", "cummin"])
def test_a_running_fold_of_a_0d_tensor_has_one_element(name: str, axis: Any) -> None:
    result = getattr(fg, name)(fg.tensor(2.0), axis)
    result = result[0] if isinstance(result, tuple) else result
    numpys = name in ("cumsum", "cumprod") or axis is None
    assert result.shape == ((1,) if numpys else ())
    assert result.size == 1
    with pytest.raises(IndexError):
        getattr(fg, name)(fg.tensor(2.0), 1)


class TestCrossEntropyOfLogits:
    """`binary_cross_entropy_with_logits` at infinite logits."""

    @pytest.mark.parametrize("pos_weight", [None, 1.0, 3.0])
    def test_values(self, pos_weight: float | None) -> None:
        weight = None if pos_weight is None else fg.tensor(pos_weight)
        x = fg.tensor([INF, INF, INF, -INF, -INF, -INF, NAN])
        target = fg.tensor([0.0, 0.5, 1.0, 0.0, 0.5, 1.0, 1.0])
        losses = binary_cross_entropy_with_logits(x, target, None, "none", weight)
        assert_array_equal(losses.numpy(), [INF, INF, 0.0, 0.0, INF, INF, NAN])

    def test_gradients(self) -> None:
        target = fg.tensor([0.0, 0.5, 1.0, 0.0, 0.5, 1.0])
        loss = lambda x: binary_cross_entropy_with_logits(x, target, reduction="sum")  # noqa: E731
        found = slope(loss, [INF, INF, INF, -INF, -INF, -INF])
        assert_array_equal(found, [1.0, 0.5, 0.0, 0.0, -0.5, -1.0])

    @pytest.mark.parametrize("weight", [1.0, 3.0])
    def test_derivatives_by_target_and_weight_where_they_cut_each_other(
        self, weight: float
    ) -> None:
        x, t = np.array([-2.0, 0.5, 2.0]), np.array([0.0, 1.0, 0.0])
        target, w = fg.tensor(t, requires_grad=True), fg.tensor([weight] * 3, requires_grad=True)
        binary_cross_entropy_with_logits(fg.tensor(x), target, None, "sum", w).backward()
        good, bad = np.logaddexp(0, -x), np.logaddexp(0, x)
        assert_allclose(target.grad.numpy(), weight * good - bad, rtol=1e-14)
        assert_allclose(w.grad.numpy(), t * good, rtol=1e-14)

    def test_finite_logits_keep_their_digits(self) -> None:
        x, t = np.array([-800.0, -3.0, 0.0, 2.0, 800.0]), np.array([1.0, 0.25, 0.5, 0.75, 0.0])
        exact = np.logaddexp(0, x) - x * t
        found = binary_cross_entropy_with_logits(fg.tensor(x), fg.tensor(t), reduction="none")
        assert_allclose(found.numpy(), exact, rtol=1e-15)


class TestPseudoInverse:
    """Derivatives at full rank, where the projectors on nothing must not add noise."""

    @pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 5, 3), (1, 1)])
    def test_second_derivative_at_full_rank(self, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(1)
        a, w = rng.normal(size=shape), rng.normal(size=(*shape[:-2], shape[-1], shape[-2]))
        tall = shape[-2] >= shape[-1]

        def exact(a: Any) -> Any:
            if tall:
                return fg.linalg.solve(a.mT @ a, a.mT)
            return fg.linalg.solve(a @ a.mT, a).mT

        found, wanted = (
            fg.hessian(lambda a, f=f: (w * fg.sin(f(a))).sum())(a) for f in (fg.linalg.pinv, exact)
        )
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * np.abs(wanted).max())

    def test_ill_conditioned(self) -> None:
        a = np.diag([1.0, 1e-4, 1e-7]) + 1e-9
        found = fg.hessian(lambda a: fg.linalg.pinv(a).sum())(a)
        wanted = fg.hessian(lambda a: fg.linalg.inv(a).sum())(a)
        assert_allclose(found, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())

    def test_a_stack_of_full_and_low_rank(self) -> None:
        rng = np.random.default_rng(2)
        full, low = rng.normal(size=(3, 3)), np.outer(rng.normal(size=3), rng.normal(size=3))
        w = rng.normal(size=(3, 3))

        def gradient(a: Any) -> Any:
            return slope(lambda a: w * fg.linalg.pinv(a, rcond=1e-10), a)

        stacked = gradient(np.stack([full, low]))
        assert_allclose(stacked[0], gradient(full), rtol=1e-12)
        assert_allclose(stacked[1], gradient(low), rtol=1e-10, atol=1e-12)


def test_exp_of_one_is_e() -> None:
    assert fg.exp(1.0) == fg.e
    assert fg.exp(fg.ones(20)).numpy().tolist() == [math.e] * 20
    assert fg.exp(fg.ones(1000)[::3])[5] == math.e


class TestOut:
    """`out=` of a ufunc may be larger than the result, which repeats along it."""

    @pytest.mark.parametrize("make", [np.zeros, fg.zeros])
    def test_ufuncs(self, make: Any) -> None:
        a = np.array([1.0, 2.0, 3.0])
        for call, shape in (
            (lambda a, out: np.exp(a, out=out), (2, 3)),
            (lambda a, out: np.add(a, a, out=out), (2, 1, 3)),
            (lambda a, out: np.multiply(a[:, None], 2.0, out=out), (3, 4)),
            (lambda a, out: np.matmul(a[None], a[:, None], out=out), (5, 1, 1)),
        ):
            out, wanted = make(shape), call(a, np.zeros(shape))
            assert call(fg.tensor(a), out) is out
            assert_allclose(np.asarray(out), wanted, rtol=1e-15)

    def test_gradients_sum_over_what_repeats(self) -> None:
        x, out = fg.tensor([1.0, 2.0], requires_grad=True), fg.zeros((3, 2))
        np.square(x, out=out)
        out.sum().backward()
        assert_array_equal(x.grad.numpy(), [6.0, 12.0])

    def test_refusals_name_both_shapes(self) -> None:
        with pytest.raises(ValueError, match=r"out has shape \(3,\) and the result \(2, 3\)"):
            np.exp(fg.ones((2, 3)), out=fg.zeros(3))
        with pytest.raises(ValueError, match=r"out has shape \(2, 3\) and the result \(3,\)"):
            np.sum(fg.ones((2, 3)), 0, out=fg.zeros((2, 3)))
