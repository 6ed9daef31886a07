"""What `autograd.functional` asks of a function and of its options."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.autograd import functional

X = fg.tensor([1.0, 2.0])
SECOND = {
    "hessian": lambda f, **o: functional.hessian(f, X, **o),
    "hvp": lambda f, **o: functional.hvp(f, X, fg.ones(2), **o),
    "vhp": lambda f, **o: functional.vhp(f, X, fg.ones(2), **o),
}


def cubes(x: fg.Tensor) -> fg.Tensor:
    return (x**3).sum()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_one_element_of_any_shape(shape: tuple[int, ...], create_graph: bool) -> None:
    f = lambda x: cubes(x).reshape(shape)  # noqa: E731
    h = functional.hessian(f, X, create_graph=create_graph)
    np.testing.assert_allclose(h.detach().numpy(), np.diag([6.0, 12.0]))
    for product in (functional.hvp, functional.vhp):
        value, found = product(f, X, fg.ones(2), create_graph=create_graph)
        assert value.shape == shape
        assert value.item() == 9.0
        np.testing.assert_allclose(found.detach().numpy(), [6.0, 12.0])


@pytest.mark.parametrize("op", SECOND)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda x: x**2, "a tensor of shape"),
        (lambda x: (x**3)[:0], "a tensor of shape"),
        (lambda x: (cubes(x),), "a tuple of 1"),
        (lambda x: [cubes(x)], "a list of 1"),
        (lambda x: (cubes(x), cubes(x)), "a tuple of 2"),
        (lambda x: "text", "the string 'text'"),
        (lambda x: None, "None"),
        (lambda x: 3.0, "a float"),
        (lambda x: x.detach().numpy().sum(), "float64"),
    ],
)
def test_another_result_is_refused(op: str, strict: bool, returned: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"^{op}: .*returned .*{said}.*one tensor of one element"):
        SECOND[op](returned, strict=strict)


@pytest.mark.parametrize("op", SECOND)
def test_every_error_names_the_function_called(op: str) -> None:
    for wrong in (
        lambda x: (x > 1).sum(),
        lambda x: x.mul_(2.0).sum(),
        lambda x: fg.sum(x.item()),
    ):
        with pytest.raises(fg.errors.FerrogradError) as caught:
            SECOND[op](wrong)
        assert str(caught.value).startswith((f"{op}: ", "item: ")), str(caught.value)
    with pytest.raises(TypeError, match=f"^{op}: "):
        SECOND[op](3)
    with pytest.raises(TypeError, match=f"^{op}: inputs is"):
        getattr(functional, op)(cubes, [1.0])
    if op != "hessian":
        with pytest.raises(ValueError, match=f"^{op}: .*shape"):
            getattr(functional, op)(cubes, X, fg.ones(3))


@pytest.mark.parametrize("op", ["jacobian", "hessian"])
def test_options(op: str) -> None:
    call = getattr(functional, op)
    with pytest.raises(ValueError, match=f"^{op}: strict=True and vectorize=True exclude"):
        call(cubes, X, strict=True, vectorize=True)
    name = "strategy" if op == "jacobian" else "outer_jacobian_strategy"
    with pytest.raises(ValueError, match=f"^{op}: {name}='sideways'"):
        call(cubes, X, **{name: "sideways"})
