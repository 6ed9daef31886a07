"""Derivatives of complex functions: both conventions, transforms, training, custom functions.

The values are held in `test_complex.py`.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentTypeError, DTypeError

RANDOM = np.random.default_rng(3)
Z = RANDOM.normal(size=(3, 5)) + 1j * RANDOM.normal(size=(3, 5))
W = RANDOM.normal(size=(3, 5)) + 1j * RANDOM.normal(size=(3, 5))
X = RANDOM.normal(size=(3, 5))

HOLOMORPHIC = [
    *("sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos"),
    *("tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh"),
    *("arctanh", "sigmoid", "sinc", "square", "reciprocal", "negative"),
]


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic_functions_have_derivatives_of_two_orders(name: str) -> None:
    z = fg.tensor(0.6 * Z[0] + 0.1, requires_grad=True)
    assert fg.gradcheck(getattr(fg, name), z)
    assert fg.gradgradcheck(getattr(fg, name), z)
    x = 0.3 - 0.4j
    h = 1e-6
    f = getattr(fg, name)
    slope = (f(fg.tensor(x + h)) - f(fg.tensor(x - h))).item() / (2 * h)
    assert abs(fg.holomorphic_grad(f)(x) - slope) < 1e-6 * max(1, abs(slope))


OTHERS = {
    "abs": abs,
    "angle": fg.angle,
    "sign": fg.sign,
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "conj": lambda z: z.conj(),
    "view_as_real": fg.view_as_real,
    "astype": lambda z: z.real.astype(np.complex128),
    "lerp": lambda z: fg.lerp(z, z * z, 0.3),
    "where": lambda z: fg.where(z.real > 0, z * 1j, z.conj()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_have_derivatives_of_two_orders(name: str) -> None:
    z = fg.tensor(Z[0], requires_grad=True)
    assert fg.gradcheck(OTHERS[name], z)
    assert fg.gradgradcheck(OTHERS[name], z)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "power", "complex"])
def test_functions_of_two_operands_have_derivatives(name: str) -> None:
    f = getattr(fg, name)
    real = fg.tensor(abs(X[0]) + 0.5, requires_grad=True)
    z, w = (fg.tensor(v[0], requires_grad=True) for v in (Z, W))
    pairs = [(real, real * 2)] if name == "complex" else [(z, w), (z, real), (real, w)]
    for a, b in pairs:
        a, b = (v.detach().requires_grad_() for v in (a, b))
        assert fg.gradcheck(f, (a, b))
        assert fg.gradgradcheck(f, (a, b))


def test_backward_is_pytorchs_and_grad_is_jaxs() -> None:
    z = fg.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * z.detach().numpy())
    loss = lambda z: np.sum(np.abs(z) ** 2)  # noqa: E731
    at = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(fg.grad(loss)(at), 2 * at.conj())
    np.testing.assert_allclose(fg.value_and_grad(loss)(at)[1], 2 * at.conj())
    assert abs(fg.grad(lambda z: abs(z) ** 2)(1 + 2j) - (2 - 4j)) < 1e-12
    (found,) = fg.autograd.grad((abs(z) ** 2).sum(), [z])
    np.testing.assert_allclose(found.numpy(), 2 * at)
    w = fg.tensor(1 + 1j, requires_grad=True)
    (w * w).backward(fg.tensor(1 + 0j))
    assert w.grad.item() == 2 - 2j
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    ((x * (2 + 1j)).imag).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert x.grad.dtype == np.float64


def test_products_with_derivatives_are_those_of_the_derivative() -> None:
    at, along = Z[0], W[0]
    _, pull = fg.vjp(np.exp, at)
    np.testing.assert_allclose(pull(along)[0], along * np.exp(at))
    _, change = fg.jvp(np.exp, (at,), (along,))
    np.testing.assert_allclose(change, along * np.exp(at))
    matrix = fg.jacobian(lambda z: z**2, holomorphic=True)(at)
    np.testing.assert_allclose(matrix, np.diag(2 * at))
    of_real = fg.jacobian(lambda x: x * (1 + 2j))(X[0])
    np.testing.assert_allclose(of_real, np.eye(5) * (1 + 2j))
    assert fg.grad(lambda z: z**3, holomorphic=True)(1 + 1j) == pytest.approx(3 * (1 + 1j) ** 2)
    second = fg.grad(fg.grad(lambda z: z**3, holomorphic=True), holomorphic=True)
    assert second(1 + 1j) == pytest.approx(6 * (1 + 1j))
    hessian = fg.hessian(lambda x: np.sum(np.abs(np.exp(1j * x) + x) ** 2))(X[0])
    assert hessian.dtype == np.float64
    np.testing.assert_allclose(hessian, hessian.T)
    fg.check_grads(lambda x: np.abs(np.exp(1j * x) + x) ** 2, order=2)(X[0])


def test_a_complex_result_needs_a_word() -> None:
    with pytest.raises(DTypeError, match="holomorphic=True"):
        fg.grad(lambda z: z * z)(1 + 1j)
    with pytest.raises(DTypeError, match="holomorphic=True"):
        fg.jacobian(lambda z: z * z)(Z[0])
    with pytest.raises(DTypeError, match="complex"):
        fg.grad(lambda x: x * x, holomorphic=True)(1.0)
    with pytest.raises(DTypeError, match="real"):
        (fg.tensor(1j, requires_grad=True) * 2).backward()
    with pytest.raises(ArgumentTypeError, match="complex"):
        fg.vjp(np.sin, 1.0)[1](1j)


@pytest.mark.parametrize("make", [
    lambda p: fg.optim.SGD(p, lr=0.1),
    lambda p: fg.optim.SGD(p, lr=0.05, momentum=0.5, nesterov=True, weight_decay=1e-6),
    lambda p: fg.optim.Adam(p, lr=0.1),
    lambda p: fg.optim.Adam(p, lr=0.1, amsgrad=True),
    lambda p: fg.optim.AdamW(p, lr=0.1, weight_decay=1e-6),
])  # fmt: skip
def test_every_optimiser_trains_complex_parameters(make: Any) -> None:
    target = fg.tensor(W[0])
    z = fg.tensor(Z[0], requires_grad=True)
    pair = fg.tensor(np.stack([Z[0].real, Z[0].imag], -1), requires_grad=True)
    ours, theirs = make([z]), make([pair])
    for _ in range(200):
        for parameter, optimizer in ((z, ours), (pair, theirs)):
            optimizer.zero_grad()
            found = parameter if parameter is z else fg.view_as_complex(parameter)
            (abs(found - target) ** 2).sum().backward()
            optimizer.step()
    np.testing.assert_allclose(fg.view_as_real(z.detach()).numpy(), pair.detach().numpy())
    np.testing.assert_allclose(z.detach().numpy(), W[0], atol=1e-2)
    again = make([z])
    again.load_state_dict(ours.state_dict())


def test_custom_functions_have_pytorchs_convention() -> None:
    class Square(fg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (z,) = ctx.saved_tensors
            return g * (2 * z).conj()

    z = fg.tensor(Z[0], requires_grad=True)
    assert fg.gradcheck(Square.apply, z)
    np.testing.assert_allclose(
        fg.grad(lambda z: abs(Square.apply(z)).sum())(Z[0]),
        fg.grad(lambda z: abs(z * z).sum())(Z[0]),
    )


def test_compiled_functions_have_the_bits_of_eager() -> None:
    def f(z: Any) -> Any:
        return (abs(np.exp(1j * z) * z.conj() / (z + 2)) ** 2).sum()

    compiled = fg.compile(fg.value_and_grad(f))
    for scale in (1.0, 0.5, 2.0):
        z = fg.tensor(Z[0] * scale)
        value, slope = fg.value_and_grad(f)(z)
        for _ in range(2):
            again, same = compiled(z)
            assert again.item() == value.item()
            assert same.numpy().tobytes() == slope.numpy().tobytes()
