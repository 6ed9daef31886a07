"""`fg.functors` of slices and fibers: `scale`, sums, products and norms."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, functors as F  # noqa: N812

RNG = np.random.default_rng(2)


def leaf(*shape: int) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape), requires_grad=True)


def check(function: Any, *inputs: Tensor) -> None:
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(function, inputs, atol=1e-6)


X3, SLICE, FIBER = (2, 3, 4), (2, 4), (3, 4)
MORE = {
    "scale": (lambda x: F.scale(0.5, x), lambda x: 0.5 * x, [X3]),
    "sum_slice": (lambda x: F.sum_slice(x, 1, 2.0), lambda x: 2 * x.sum(1), [X3]),
    "norm_slice": (
        lambda x: F.norm_slice(x, 1, 2.0),
        lambda x: 2 * np.sqrt((x * x).sum(1)),
        [X3],
    ),
    "norm_fiber": (
        lambda x: F.norm_fiber(x, 1, 1, 2.0),
        lambda x: 2 * np.sqrt((x * x).sum(0)),
        [X3],
    ),
    "add_slice": (
        lambda s, x: F.add_slice(2.0, s, 3.0, x, 1),
        lambda s, x: 2 * s[:, None] + 3 * x,
        [SLICE, X3],
    ),
    "multiply_slice": (
        lambda s, x: F.multiply_slice(2.0, s, x, 1),
        lambda s, x: 2 * s[:, None] * x,
        [SLICE, X3],
    ),
    "multiply_fiber": (
        lambda f, x: F.multiply_fiber(2.0, f, x, 1, 1),
        lambda f, x: 2 * f[None] * x,
        [FIBER, X3],
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_functors_of_slices_and_fibers_are_one_node(name: str) -> None:
    call, plain, shapes = MORE[name]
    inputs = [leaf(*shape) for shape in shapes]
    out = call(*inputs)
    np.testing.assert_allclose(out.detach(), plain(*(x.detach().numpy() for x in inputs)), 1e-14)
    kind = "".join(word.title() for word in name.split("_"))
    assert kind in out.grad_fn.name()
    assert all(source.name().startswith("Accumulate") for source, _ in out.grad_fn.next_functions)
    assert {"alpha", "axis"} & set(out.grad_fn.attrs)
    assert repr(getattr(F, kind)()) == f"{kind}()"
    check(call, *inputs)


def test_norms_of_zeros_have_the_derivative_zero() -> None:
    for call in (F.norm_slice, F.norm_fiber):
        x = fg.zeros(2, 3, requires_grad=True)
        call(x).sum().backward()
        assert not x.grad.numpy().any()


def test_slices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(fg.errors.ShapeError, match="without axis 1"):
        F.add_slice(1.0, fg.ones(3, 4), 1.0, fg.ones(2, 3, 4), 1)
    with pytest.raises(fg.errors.ArgumentError, match="axis is 3 for 3 axes"):
        F.sum_slice(fg.ones(2, 3, 4), 3)
