"""`fg.functions`: the example functions, by value, by derivative, and at second order."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, functions

RNG = np.random.default_rng(2)


def leaf(values: Any, dtype: Any = np.float64) -> Tensor:
    return fg.tensor(values, dtype=dtype, requires_grad=True)


def check(function: Any, *inputs: Tensor) -> None:
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(function, inputs, atol=1e-6)


# --- STEBinary ---------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [-1.0, 0.0, 1.0])
def test_ste_binary_is_the_sign(zero: float) -> None:
    y = functions.STEBinary(zero)(leaf([-2.0, -0.0, 0.0, 1e-300, np.inf, np.nan]))
    np.testing.assert_array_equal(y.detach().numpy(), [-1.0, zero, zero, 1.0, 1.0, np.nan])


def test_ste_binary_passes_the_gradient_unchanged() -> None:
    x = leaf([-2.0, 0.0, 3.0])
    g = fg.tensor([1.0, -2.0, 0.5])
    functions.STEBinary()(x).backward(g)
    assert x.grad is not None
    assert x.grad.tolist() == g.tolist()


def test_ste_binary_has_no_second_derivative() -> None:
    x = leaf([0.5])
    (g,) = fg.autograd.grad(functions.STEBinary()(x) * x, [x], create_graph=True)
    (h,) = fg.autograd.grad(g, [x])
    assert g.item() == 1.0 + 0.5
    assert h.item() == 2.0, "once through each factor of sign(x) x"


def test_ste_binary_cannot_pass_gradcheck() -> None:
    report = fg.gradcheck(functions.STEBinary(), [leaf([0.5, -0.5])], raise_exception=False)
    assert not report
    assert {(f.numeric, f.analytic) for f in report.failures} == {(0.0, 1.0)}


def test_ste_binary_keeps_float32() -> None:
    assert functions.STEBinary()(leaf([1.0], np.float32)).dtype == np.float32


# --- ReLU6 -------------------------------------------------------------------------------------


def test_relu6_values_and_kinks() -> None:
    x = leaf([-1.0, 0.0, 3.0, 6.0, 7.0])
    y = functions.ReLU6()(x)
    y.sum().backward()
    assert y.tolist() == [0.0, 0.0, 3.0, 6.0, 6.0]
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_relu6_derivatives() -> None:
    check(lambda x: functions.ReLU6()(x * x) * x, leaf([-3.0, 0.3, 1.5, 2.3]))


def test_relu6_equals_the_operation() -> None:
    x = RNG.standard_normal(50) * 5
    np.testing.assert_array_equal(functions.ReLU6()(fg.tensor(x)).numpy(), fg.relu6(x).numpy())


# --- StableSoftmax -----------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stable_softmax_over_each_axis(axis: int) -> None:
    from scipy.special import softmax

    x = leaf(RNG.standard_normal((2, 3, 4)))
    y = functions.StableSoftmax(axis)(x)
    np.testing.assert_allclose(y.detach().numpy(), softmax(x.detach().numpy(), axis), rtol=1e-14)
    check(functions.StableSoftmax(axis), x)


def test_stable_softmax_of_large_numbers() -> None:
    y = functions.StableSoftmax()(fg.tensor([1e308, 1e308, -1e308]))
    assert y.tolist() == [0.5, 0.5, 0.0]


def test_stable_softmax_at_third_order() -> None:
    x = leaf(RNG.standard_normal(3))

    @fg.enable_grad()
    def second(x: Tensor) -> Tensor:
        x = x if x.requires_grad else x.detach().requires_grad_()
        y = functions.StableSoftmax()(x)
        (g,) = fg.autograd.grad((y * y).sum(), [x], create_graph=True)
        (h,) = fg.autograd.grad((g * g).sum(), [x], create_graph=True)
        return h

    fg.gradcheck(second, [x], atol=1e-6)


def test_stable_softmax_refuses_bad_axes() -> None:
    with pytest.raises(fg.errors.AxisError):
        functions.StableSoftmax(2)(fg.ones(2, 2))
    with pytest.raises(TypeError, match="give an integer"):
        functions.StableSoftmax(1.5)


# --- ClampedMSELoss ----------------------------------------------------------------------------


def clamped(p: np.ndarray, t: np.ndarray, low: float, high: float, reduction: str) -> Any:
    squares = np.clip(p - t, low, high) ** 2
    return {"mean": squares.mean, "sum": squares.sum, "none": lambda: squares}[reduction]()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_clamped_mse_loss(reduction: str) -> None:
    p, t = (leaf(RNG.standard_normal((3, 4)) * 2) for _ in range(2))
    function = functions.ClampedMSELoss(-1.0, 1.5, reduction)
    want = clamped(p.detach().numpy(), t.detach().numpy(), -1.0, 1.5, reduction)
    np.testing.assert_allclose(function(p, t).detach().numpy(), want, rtol=1e-14)
    check(function, p, t)


def test_clamped_mse_loss_counts_its_bounds_as_inside() -> None:
    p = leaf([-1.0, 1.0, 1.5, -2.0])
    functions.ClampedMSELoss(-1.0, 1.0, "sum")(p, fg.zeros(4)).backward()
    assert p.grad is not None
    assert p.grad.tolist() == [-2.0, 2.0, 0.0, 0.0]


def test_clamped_mse_loss_multiplies_by_the_upstream_gradient() -> None:
    p, t = leaf([0.5, 0.25]), leaf([0.0, 0.0])
    (functions.ClampedMSELoss(-1, 1)(p, t) * -3.0).backward()
    assert p.grad is not None
    assert t.grad is not None
    assert p.grad.tolist() == [-1.5, -0.75]
    assert t.grad.tolist() == [1.5, 0.75]


def test_clamped_mse_loss_without_bounds_is_the_plain_one() -> None:
    p, t = (fg.tensor(RNG.standard_normal(9)) for _ in range(2))
    loss = functions.ClampedMSELoss()(p, t)
    assert loss.item() == pytest.approx(fg.nn.functional.mse_loss(p, t).item(), rel=1e-15)


# --- FocalLoss ---------------------------------------------------------------------------------


def focal(x: np.ndarray, t: np.ndarray, alpha: float, gamma: float) -> np.ndarray:
    p = 1 / (1 + np.exp(-x))
    pt = np.where(t == 1, p, 1 - p)
    return -np.where(t == 1, alpha, 1 - alpha) * (1 - pt) ** gamma * np.log(pt)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_loss(gamma: float, reduction: str) -> None:
    x, t = leaf(RNG.standard_normal((3, 4)) * 2), RNG.integers(0, 2, (3, 4)).astype(float)
    function = functions.FocalLoss(0.3, gamma, reduction)
    losses = focal(x.detach().numpy(), t, 0.3, gamma)
    want = {"mean": losses.mean(), "sum": losses.sum(), "none": losses}[reduction]
    target = fg.tensor(t)
    np.testing.assert_allclose(function(x, target).detach().numpy(), want, rtol=1e-12)
    check(lambda x: function(x, target), x)


def test_focal_loss_of_large_logits_is_finite() -> None:
    x = leaf([800.0, -800.0, 800.0, -800.0])
    loss = functions.FocalLoss(0.5, 2.0, "none")(x, fg.tensor([1.0, 0.0, 0.0, 1.0]))
    loss.sum().backward()
    np.testing.assert_allclose(loss.detach().numpy(), [0.0, 0.0, 400.0, 400.0])
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 0.0, 0.5, -0.5], atol=1e-300)


def test_focal_loss_takes_labels_of_any_dtype_and_gives_them_no_gradient() -> None:
    x = leaf([0.3, -0.2])
    for labels in (fg.tensor([1, 0]), fg.tensor([True, False])):
        functions.FocalLoss()(x, labels).backward()
    soft = leaf([1.0, 0.0])
    functions.FocalLoss()(x, soft).backward()
    assert soft.grad is None


# --- what they refuse --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: functions.STEBinary(0.5), "STEBinary: zero is 0.5"),
        (lambda: functions.ClampedMSELoss(1.0, 0.0), "min is 1.0 and max is 0.0"),
        (lambda: functions.ClampedMSELoss(reduction="max"), "reduction='max'"),
        (lambda: functions.FocalLoss(alpha=2.0), "alpha is 2.0"),
        (lambda: functions.FocalLoss(gamma=-1.0), "gamma is -1.0"),
        (lambda: functions.FocalLoss(reduction="all"), "reduction='all'"),
        (lambda: functions.FocalLoss()(fg.ones(1), fg.tensor([0.5])), "neither 0 nor 1"),
        (lambda: functions.ClampedMSELoss()(fg.ones(2), fg.ones(3)), r"has shape \(2,\)"),
        (lambda: functions.ClampedMSELoss()(fg.ones(2)), "1 inputs"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
