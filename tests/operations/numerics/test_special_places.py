"""Places and arguments at which a number is easily wrong without a sign of it."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import ferrograd as fg
from derivatives import check
from ferrograd.errors import ArgumentTypeError, DTypeError

F = fg.nn.functional
INF, NAN = np.inf, np.nan


def slopes(f: Callable[..., Any], *args: Any) -> list[Any]:
    """The gradients of the sum of a function by its arguments."""
    leaves = [fg.tensor(a, requires_grad=True) for a in args]
    return [g.tolist() for g in fg.autograd.grad(f(*leaves).sum(), leaves)]


FUNCTIONS = """relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign sigmoid tanh
    hardsigmoid hardswish hardtanh hardshrink softshrink tanhshrink logsigmoid rrelu"""
LAYERS = """ReLU ReLU6 LeakyReLU RReLU ELU SELU CELU GELU SiLU Mish Softplus Softsign Sigmoid Tanh
    Hardsigmoid Hardswish Hardtanh Hardshrink Softshrink Tanhshrink LogSigmoid PReLU"""
#: Every activation and what limits or scales, of one tensor.
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(F, name) for name in FUNCTIONS.split()},
    "threshold": lambda x: F.threshold(x, 0.5, 2.0),
    "prelu": lambda x: F.prelu(x, fg.tensor([0.25], dtype=x.dtype)),
    "rrelu, training": lambda x: F.rrelu(x, training=True),
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus, threshold": lambda x: F.softplus(x, 2.0, 1.0),
    "glu": lambda x: F.glu(fg.concatenate([x, x]), 0),
    "clip": lambda x: fg.clip(x, -1.0, 1.0),
    "logit": fg.logit,
    "sign": fg.sign,
    "threshold_": lambda x: F.threshold_(x.clone(), 0.5, 2.0),
    **{
        f"{name}_": lambda x, name=name: getattr(F, f"{name}_")(x.clone())
        for name in ("relu", "elu", "selu", "celu", "leaky_relu", "hardtanh", "rrelu")
    },
    **{name: lambda x, name=name: getattr(fg.nn, name)()(x) for name in LAYERS.split()},
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_nan_passes_through_every_activation(name: str) -> None:
    for dtype, repeats in itertools.product(("float64", "float32", "float16"), (1, 300)):
        x = fg.tensor(np.array([NAN, 0.25, -NAN] * repeats, dtype))
        found = np.isnan(np.asarray(ACTIVATIONS[name](x).detach()))
        np.testing.assert_array_equal(found, np.isnan(np.asarray(x))[: found.size], f"{dtype}")


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_a_factor_of_whole_numbers_counts(dtype: str) -> None:
    x, a, b = (np.array(v, dtype) for v in ([1, 0, 3], [2, 3, 1], [1, 1, 5]))
    t, s, r = map(fg.tensor, (x, a, b))
    np.testing.assert_array_equal(fg.addcmul(t, s, r), x + a * b)
    for value in (2, 3):
        expected = x + a * b * value
        found = fg.addcmul(t, s, r, value=value)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        if dtype != "bool":
            np.testing.assert_array_equal(t.clone().addcmul_(s, r, value=value), expected)
    np.testing.assert_array_equal(fg.addcmul(t, s, r, value=0.5), x + 0.5 * (a * b))
    with pytest.raises(DTypeError, match="addcmul_: the result is float64"):
        t.clone().addcmul_(s, r, value=0.5)


def test_a_factor_may_be_complex() -> None:
    x, a = fg.tensor([1.0 + 1j], requires_grad=True), fg.tensor([2.0, 1j])
    assert fg.addcmul(x, a, a, value=2j).tolist() == [1 + 9j, 1 - 1j]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_the_slope_of_a_remainder_is_the_quotient_of_its_value(name: str, dtype: str) -> None:
    assert slopes(getattr(fg, name), 1.0, 0.1)[1] == -9.0
    rng = np.random.default_rng(1)
    step = rng.choice([0.1, 0.3, 0.7, 1.1, -0.1, -0.7, 3.0], 400).astype(dtype)
    x = (step * rng.integers(-40, 40, 400)).astype(dtype)
    a, b = (fg.tensor(v, requires_grad=True) for v in (x, step))
    rest = getattr(fg, name)(a, b)
    by_a, by_b = fg.autograd.grad(rest.sum(), [a, b])
    wide = getattr(np, name)(x, step).astype(np.float64)
    quotient = np.rint((x.astype(np.float64) - wide) / step)
    np.testing.assert_array_equal(by_b, -quotient)
    assert set(by_a.tolist()) == {1.0}


def test_the_slope_of_a_remainder_far_away() -> None:
    assert slopes(fg.remainder, [5.0, -5.0], [INF, INF])[1] == [0.0, 1.0]
    assert slopes(fg.fmod, [5.0, -5.0], [INF, INF])[1] == [0.0, 0.0]
    hessian = fg.hessian(lambda v: fg.remainder(v[0], v[1]))(np.array([7.3, 2.1]))
    np.testing.assert_array_equal(hessian, np.zeros((2, 2)))


def test_logarithms_of_determinants_keep_their_angle() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(5, 3, 3)) + 1j * rng.normal(size=(5, 3, 3))
    det = np.linalg.det(a)
    np.testing.assert_allclose(fg.logdet(fg.tensor(a)), np.log(det), rtol=1e-12)
    x = 3 * np.eye(3) + a[0].real
    check(lambda x: [fg.logdet(x + 1j * x.mT).real, fg.logdet(x - 2j * x.mT).imag], [x], 2)
    real = fg.logdet(fg.tensor([[[2.0, 0.0], [0.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]]]))
    np.testing.assert_allclose(real, [np.log(6.0), NAN])
    assert fg.logdet(fg.zeros(2, 2)).item() == -INF


METHODS = """linear interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased
    midpoint lower higher nearest inverted_cdf averaged_inverted_cdf closest_observation"""


@pytest.mark.parametrize("method", METHODS.split())
def test_quantiles_of_what_is_no_nan_move_with_their_levels(method: str) -> None:
    rng = np.random.default_rng(3)
    x = np.where(rng.random((4, 6)) < 0.3, NAN, rng.normal(size=(4, 6)))
    x[:, 0] = 0.5
    levels, h = rng.uniform(0.01, 0.99, 5), 1e-7

    def plain(q: np.ndarray) -> np.ndarray:
        return np.nanquantile(x, q, axis=1, method=method).sum(1)  # type: ignore[call-overload]

    q = fg.tensor(levels, requires_grad=True)
    for name, scale in (("nanquantile", 1.0), ("nanpercentile", 100.0)):
        found = getattr(np, name)(fg.tensor(x), q * scale, axis=1, method=method)
        np.testing.assert_allclose(found.detach().sum(1), plain(levels), rtol=1e-12)
        slope = fg.autograd.grad(found.sum(), [q])[0].numpy() if found.requires_grad else 0.0
        above, below = (
            (plain(levels + h) - plain(levels)) / h,
            (plain(levels) - plain(levels - h)) / h,
        )
        smooth = np.abs(above - below) < 1e-4
        assert smooth.sum() >= 3
        np.testing.assert_allclose(np.where(smooth, slope - above, 0.0), 0.0, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
def test_polygamma_far_below_zero(order: int) -> None:
    x = np.array([-12.5, -13.75, -20.3, -999.5, -1e6 - 0.25, -1e7 + 0.3, -1e12 + 0.125])
    found = fg.polygamma(order, fg.tensor(x)).numpy()
    # By reflection: `ψ(1 - x)` and the derivatives of the cotangent, which are polynomials of it.
    part = x - np.rint(x)
    cot, powers = np.polynomial.Polynomial([0.0, 1.0]), 1.0 / np.tan(np.pi * part)
    for _ in range(order):
        cot = -np.pi * np.polynomial.Polynomial([1.0, 0.0, 1.0]) * cot.deriv()
    sign = (-1) ** order
    expected = sign * (special.polygamma(order, 1 - x) - 0.0) - np.pi * cot(powers)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert np.isposinf(np.abs(fg.polygamma(order, fg.tensor([-1e16, -3.0, -INF])).numpy())).all()


SCANNED: dict[str, Callable[[Any], Any]] = {
    "cummax": lambda x: fg.cummax(x, 0),
    "cummin": lambda x: fg.cummin(x, -1),
    "logcumsumexp": lambda x: (fg.logcumsumexp(x, 0),),
    "kthvalue": lambda x: fg.kthvalue(x, 1),
    "kthvalue, kept": lambda x: fg.kthvalue(x, 1, 0, keepdim=True),
    "mode": fg.mode,
    "mode, kept": lambda x: fg.mode(x, 0, keepdim=True),
    "gather": lambda x: (fg.gather(x, 0, fg.tensor(0)),),
    "scatter": lambda x: (fg.scatter(x, 0, fg.tensor(0), 2.5),),
    "sum": lambda x: (fg.sum(x, dim=0),),
    "softmax": lambda x: (fg.log_softmax(x, 0) + 2.5,),
    "aminmax": lambda x: tuple(fg.aminmax(x, dim=0)),
}


@pytest.mark.parametrize("name", SCANNED)
def test_along_the_axis_of_a_0d_tensor_results_have_none(name: str) -> None:
    x = fg.tensor(2.5, requires_grad=True)
    found = SCANNED[name](x)
    assert [tuple(part.shape) for part in found] == [()] * len(found)
    assert found[0].item() == 2.5
    fg.autograd.grad(found[0], [x])


EXTREMES = """max min amax amin ptp argmax argmin nanmax nanmin nanargmax nanargmin median nanmedian
    mean sum prod"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXTREMES.split())
def test_extremes_of_empty_axes_are_numpys(name: str) -> None:
    for shape in ((0,), (0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 0)):
        x = np.zeros(shape)
        axes: list[Any] = [None, *range(-1, len(shape))]
        for axis in axes:
            try:
                expected = np.shape(getattr(np, name)(x, axis=axis))
            except ValueError:
                with pytest.raises(ValueError, match=r"zero|empty"):
                    getattr(np, name)(fg.tensor(x), axis=axis)
                continue
            assert np.shape(getattr(np, name)(fg.tensor(x), axis=axis)) == expected, (shape, axis)


REDUCTIONS = """sum mean prod amax amin logsumexp all any std_mean var_mean nansum nanmean
    count_nonzero"""


@pytest.mark.parametrize("name", REDUCTIONS.split())
def test_no_axes_under_pytorchs_word_are_refused(name: str) -> None:
    x = fg.tensor([[1.0, 2.0]])
    with pytest.raises(
        ArgumentTypeError, match=r"dim=\(\).*axis=\(\) none in NumPy; leave dim out"
    ):
        getattr(fg, name)(x, dim=())
    reduced = getattr(fg, name)(x, axis=())
    assert (reduced[0] if isinstance(reduced, tuple) else reduced).shape == x.shape
    assert fg.squeeze(x, dim=()).shape == (1, 2)


def apart(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The gradient of the weighted distances of all pairs, by unit vectors."""
    gradient = np.zeros_like(x)
    for weight, (i, j) in zip(w, itertools.combinations(range(len(x)), 2), strict=True):
        unit = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
        gradient[i] += weight * unit
        gradient[j] -= weight * unit
    return gradient


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-14])
def test_gradients_of_rows_that_lie_close_together(gap: float) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 3)) * 5
    x[1::2] = x[::2] + gap * rng.normal(size=(20, 3))
    w = rng.normal(size=40 * 39 // 2)
    expected = apart(x, w)
    t = fg.tensor(x, requires_grad=True)
    for again in (False, True):
        found = fg.autograd.grad(F.pdist(t), [t], [fg.tensor(w)], create_graph=again)[0]
        np.testing.assert_allclose(found.detach(), expected, rtol=1e-11, atol=1e-11)
    square = np.zeros((40, 40))
    square[np.triu_indices(40, 1)] = w
    for f in (
        fg.cdist,
        lambda a, b: fg._core._namespaces["nn.functional"]["euclidean_distances"](a, b),
    ):
        distances = f(t, t)
        found = fg.autograd.grad(distances, [t], [fg.tensor(square)])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_distances_have_all_derivatives() -> None:
    rng = np.random.default_rng(5)
    distances = fg._core._namespaces["nn.functional"]["euclidean_distances"]
    for rows, others, columns in ((3, 4, 2), (2, 35, 3), (1, 1, 1), (4, 33, 5)):
        a, b = rng.normal(size=(rows, columns)), rng.normal(size=(others, columns)) + 3
        check(lambda a, b: distances(a, b), [a, b], 1)
        if others < 10:
            check(lambda a, b: distances(a, b), [a, b], 2)
    check(lambda a: F.pdist(a), [rng.normal(size=(4, 2))], 3)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss"])
def test_rows_that_are_all_ignored(loss: str, reduction: str) -> None:
    for shape, weight, again in itertools.product(((2, 3), (2, 3, 2)), (None, fg.ones(3)), (0, 1)):
        x = fg.tensor(np.ones(shape), requires_grad=True)
        target = fg.tensor(np.full((shape[0], *shape[2:]), 1))
        options = {"weight": weight, "ignore_index": 1, "reduction": reduction}
        value = getattr(F, loss)(x, target, **options)
        assert np.isnan(value.item()) if reduction == "mean" else not value.abs().sum().item()
        gradient = fg.autograd.grad(value.sum(), [x], create_graph=bool(again))[0]
        assert not gradient.abs().max().item()
        if gradient.requires_grad:
            assert not fg.autograd.grad(gradient.sum(), [x])[0].abs().max().item()


CLIPPED: list[tuple[Any, Any]] = [
    (70000, -INF),
    (0.5, 70000),
    (-INF, 70000),
    (NAN, 3),
    (1, NAN),
    (1, 2 + 0j),
    (-5, 3.0),
    (70000, np.float32(3)),
    (70000, np.int8(3)),
    (-1, np.array([3, 4, 5], np.int8)),
    (None, 2.5),
]


@pytest.mark.parametrize("bounds", CLIPPED, ids=str)
def test_whole_numbers_are_clipped_in_the_dtype_of_all(bounds: tuple[Any, Any]) -> None:
    for dtype in ("uint16", "int8", "bool", "int64"):
        x = np.array([1, 0, 100], dtype)
        try:
            expected = np.clip(x, *bounds)
        except OverflowError:
            with pytest.raises(OverflowError):
                np.clip(fg.tensor(x), *bounds)
            continue
        found = np.clip(fg.tensor(x), *bounds)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_directions_of_numbers_whose_size_overflows() -> None:
    z = np.array([1.7e308 + 1.7e308j, -1.7e308 + 1.7e308j, 3 - 4j, 0, -0.0 + 0j])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(
        fg.sgn(fg.tensor(z))[:3], [root + root * 1j, -root + root * 1j, 0.6 - 0.8j]
    )
    assert slopes(lambda z: fg.sgn(z).real, 0j) == [0j]


def test_normalisation_over_channels_of_few_and_of_narrow_numbers() -> None:
    assert F.local_response_norm(fg.zeros(2, 0, 3), 2).shape == (2, 0, 3)
    wide = np.full((1, 3, 2), 300.0)
    found = F.local_response_norm(fg.tensor(wide.astype(np.float16)), 2, alpha=1.0)
    expected = F.local_response_norm(fg.tensor(wide), 2, alpha=1.0)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, rtol=1e-3)
