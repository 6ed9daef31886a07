"""Whole programs with their gradients, written once for both libraries, beside PyTorch.

Small ones of a page each: a valley, a network's Hessian times a vector, and the kinds of program
that comparisons of automatic differentiation run (mixtures, k-means, bundle adjustment, an LSTM
over a sequence, a determinant by minors, particles whose forces are gradients). Every library runs
the same text, which is in the names that both have.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor

Program = Callable[[str], Callable[[], Any]]


def make_numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """The same normal numbers for every library."""
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape)


def compute_gradient(library: str, value: Any, inputs: list[Any]) -> Any:
    """Gradients of a scalar by a list of tensors."""
    return import_library(library).autograd.grad(value, inputs)


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's function."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def set_up_rosenbrock_array(library: str) -> Callable[[], Any]:
    """An array goes in and an array comes out, as an optimiser of SciPy wants it."""
    lib, x = import_library(library), np.linspace(-0.4, 1.1, 8)
    if library == "ferrograd":
        grad = lib.grad(rosenbrock)
        return lambda: grad(x)

    def f() -> np.ndarray:
        t = lib.from_numpy(x).requires_grad_()
        return lib.autograd.grad(rosenbrock(t), t)[0].numpy()

    return f


def set_up_rosenbrock_tensor(library: str) -> Callable[[], Any]:
    """A leaf goes in and a tensor comes out."""
    x = make_tensor(library, np.linspace(-0.4, 1.1, 8), grad=True)
    return lambda: compute_gradient(library, rosenbrock(x), [x])


def set_up_elementwise_chain(library: str) -> Callable[[], Any]:
    """Six operations on 4M numbers and their gradient."""
    lib, x = import_library(library), make_tensor(library, make_numbers(4_000_000), grad=True)

    def f() -> Any:
        y = lib.tanh(x * 1.5 + 0.5)
        return compute_gradient(library, (y * lib.exp(-y)).sum(), [x])

    return f


def set_up_cross_entropy(library: str) -> Callable[[], Any]:
    """The mean loss of 512 rows of 1 000 scores, from their softmax."""
    lib, x = import_library(library), make_tensor(library, make_numbers(512, 1000), True, "float32")
    labels = lib.tensor(np.random.default_rng(0).integers(0, 1000, 512))
    function = lib.nn.functional

    def f() -> Any:
        return compute_gradient(library, function.cross_entropy(x, labels), [x])

    return f


def set_up_hessian_vector(library: str) -> Callable[[], Any]:
    """The Hessian of a network's loss times a vector, by two backward passes."""
    lib = import_library(library)
    x, w, out = (make_tensor(library, make_numbers(*s)) for s in ((32, 20), (20, 20), (20, 1)))
    p, v = (
        make_tensor(library, make_numbers(20, 20), grad=True),
        make_tensor(library, make_numbers(20, 20, seed=1)),
    )

    def f() -> Any:
        loss = (lib.tanh(lib.tanh(x @ p) @ w) @ out).sum()
        (g,) = lib.autograd.grad(loss, [p], create_graph=True)
        return compute_gradient(library, (g * v).sum(), [p])

    return f


def make_mixture(points: int, d: int, k: int) -> Program:
    """The log-likelihood of a mixture of Gaussians with full covariances."""

    def program(library: str) -> Callable[[], Any]:
        lib = import_library(library)
        x = make_tensor(library, make_numbers(points, d))
        alphas, means = (make_tensor(library, make_numbers(*s), True) for s in ((k,), (k, d)))
        logs, lower = (
            make_tensor(library, make_numbers(k, n), True) for n in (d, d * (d - 1) // 2)
        )
        rows, columns = np.tril_indices(d, -1)
        places = lib.tensor(rows * d + columns)
        logsumexp = lib.logsumexp

        def f() -> Any:
            zeros = lib.zeros((k, d * d), dtype=x.dtype)
            factors = zeros.index_copy(1, places, lower).reshape(k, d, d)
            centred = x - means.reshape(k, 1, d)
            scaled = centred * lib.exp(logs).reshape(k, 1, d)
            scaled = scaled + centred @ lib.swapaxes(factors, 1, 2)
            terms = -0.5 * (scaled * scaled).sum(2) + (alphas + logs.sum(1)).reshape(k, 1)
            value = logsumexp(terms, 0).sum() - points * logsumexp(alphas, 0)
            prior = (lib.exp(logs) ** 2).sum() + (lower**2).sum()
            return compute_gradient(library, value + 0.5 * prior, [alphas, means, logs, lower])

        return f

    return program


def set_up_k_means(library: str) -> Callable[[], Any]:
    """The cost of 100 centres for 10 000 points of 10 numbers, and its gradient."""
    lib = import_library(library)
    x, centres = (
        make_tensor(library, make_numbers(10_000, 10)),
        make_tensor(library, make_numbers(100, 10), True),
    )

    def f() -> Any:
        distances = ((x.reshape(10_000, 1, 10) - centres) ** 2).sum(2)
        return compute_gradient(library, lib.amin(distances, 1).sum(), [centres])

    return f


def set_up_bundle_adjustment(library: str) -> Callable[[], Any]:
    """Reprojection errors of 500 cameras and points with two coefficients of distortion."""
    lib, n = import_library(library), 500
    cameras, points, weights = (make_tensor(library, make_numbers(n, c), True) for c in (11, 3, 1))
    seen = make_tensor(library, make_numbers(n, 2))

    def rotate(axis: Any, x: Any) -> Any:
        angle = lib.sqrt((axis * axis).sum(1).reshape(n, 1))
        k, c, s = axis / angle, lib.cos(angle), lib.sin(angle)
        k0, k1, k2, x0, x1, x2 = (v[:, i] for v in (k, x) for i in range(3))
        cross = lib.stack([k1 * x2 - k2 * x1, k2 * x0 - k0 * x2, k0 * x1 - k1 * x0], 1)
        return x * c + cross * s + k * (k * x).sum(1).reshape(n, 1) * (1 - c)

    def f() -> Any:
        x = rotate(cameras[:, :3], points - cameras[:, 3:6])
        p = x[:, :2] / x[:, 2:]
        r = (p * p).sum(1).reshape(n, 1)
        p = p * (1 + cameras[:, 9:10] * r + cameras[:, 10:] * r * r)
        error = (p * cameras[:, 6:7] + cameras[:, 7:9] - seen) * weights
        return compute_gradient(library, (error * error).sum(), [cameras, points, weights])

    return f


def set_up_lstm(library: str) -> Callable[[], Any]:
    """Two layers with diagonal weights over 64 letters, from operations on vectors of 14."""
    lib, layers, letters, b = import_library(library), 2, 64, 14
    weights = make_tensor(library, make_numbers(2 * layers, 4 * b), True)
    ends = make_tensor(library, make_numbers(3, b), True)
    start = [make_tensor(library, make_numbers(b, seed=i)) for i in range(2 * layers)]
    text = [make_tensor(library, make_numbers(b, seed=9 + i)) for i in range(letters)]

    def cell(w: Any, bias: Any, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        forget = lib.sigmoid(x * w[:b] + bias[:b])
        take = lib.sigmoid(h * w[b : 2 * b] + bias[b : 2 * b])
        give = lib.sigmoid(x * w[2 * b : 3 * b] + bias[2 * b : 3 * b])
        c = c * forget + take * lib.tanh(h * w[3 * b :] + bias[3 * b :])
        return give * lib.tanh(c), c

    def f() -> Any:
        state, loss = list(start), 0.0
        for t in range(letters - 1):
            x = text[t] * ends[0]
            for i in range(0, 2 * layers, 2):
                x, state[i + 1] = cell(weights[i], weights[i + 1], x, *state[i : i + 2])
                state[i] = x
            y = x * ends[1] + ends[2]
            loss = loss + (text[t + 1] * (y - lib.log(lib.exp(y).sum() + 2.0))).sum()
        return compute_gradient(library, loss, [weights, ends])

    return f


def set_up_determinant(library: str) -> Callable[[], Any]:
    """The determinant of a matrix of 5 rows, expanded by minors, and its gradient."""
    lib, n = import_library(library), 5
    a = make_tensor(library, make_numbers(n, n), True)
    join = lib.concatenate

    def det(m: Any, size: int) -> Any:
        if size == 1:
            return m[0, 0]
        below = m[1:]
        minors = [join([below[:, :i], below[:, i + 1 :]], 1) for i in range(size)]
        terms = [m[0, i] * det(minor, size - 1) for i, minor in enumerate(minors)]
        return sum(-t if i % 2 else t for i, t in enumerate(terms))

    return lambda: compute_gradient(library, det(a, n), [a])


def set_up_particles(library: str) -> Callable[[], Any]:
    """Where a charge lands after 50 steps, by the place of another: gradients inside a gradient."""
    lib = import_library(library)
    fixed = make_tensor(library, [[10.0, 10.0], [10.0, 0.0]])
    w = make_tensor(library, [0.0, -0.3], True)

    def potential(x: Any, charges: Any) -> Any:
        return (1.0 / lib.sqrt(((charges - x) ** 2).sum(1))).sum()

    def f() -> Any:
        charges = fixed + w
        x, v = make_tensor(library, [0.0, 8.0], True), make_tensor(library, [0.75, 0.0])
        for _ in range(50):
            (force,) = lib.autograd.grad(potential(x, charges), [x], create_graph=True)
            v = v - 0.1 * force
            x = x + 0.1 * v
        return compute_gradient(library, x[0] ** 2, [w])

    return f


def make_case(name: str, program: Program, goal: float, unit: str = "µs") -> Case:
    """A program beside PyTorch, on one thread."""

    def setup(library: str) -> dict[str, Any]:
        return {"f": program(library)}

    return Case(f"programs: {name}", "f()", setup, unit=unit, goal=goal)


CASES = [
    make_case("Rosenbrock of 8, array in and out", set_up_rosenbrock_array, 22),
    make_case("Rosenbrock of 8, tensor in", set_up_rosenbrock_tensor, 22),
    make_case("element-wise chain of 4M", set_up_elementwise_chain, 1.5, "ms"),
    make_case("softmax and cross-entropy", set_up_cross_entropy, 1.4),
    make_case("Hessian times vector", set_up_hessian_vector, 4),
    make_case("mixture, 5 Gaussians of 2", make_mixture(1000, 2, 5), 4),
    make_case("mixture, 5 Gaussians of 10", make_mixture(1000, 10, 5), 2),
    make_case("k-means, 100 of 10 000", set_up_k_means, 2, "ms"),
    make_case("bundle adjustment, 500", set_up_bundle_adjustment, 2),
    make_case("particles", set_up_particles, 8, "ms"),
    make_case("LSTM of 2 layers", set_up_lstm, 12, "ms"),
    make_case("determinant by minors, 5", set_up_determinant, 12, "ms"),
]
