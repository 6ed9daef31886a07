"""Functions that are called many times: `fg.compile` beside `jax.jit`, eager PyTorch and CasADi.

Rosenbrock's function of 10 variables (value and gradient, Hessian), an element-wise chain of 4
million elements with its gradient, softmax and layer norm written by hand with their gradients, and
a training step of the network in `mlp.py` with SGD and with Adam. JAX is warm, waits for its
results and has as many threads as the machine; arrays go in and out as NumPy's where the function
takes them so.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor
from .mlp import BATCH, SIZES

X = np.linspace(-0.4, 1.1, 10)
LENGTH = 4_000_000
# So small that the network does not learn its only batch by heart: gradients of almost nothing are
# denormal numbers, which take many times as long where a library keeps them (JAX makes them zero).
LEARNING_RATE = 1e-7
MATRIX = np.sin(np.arange(1e6)).reshape(1000, 1000)


def rosenbrock(lib: Any, x: Any) -> Any:
    return lib.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def chain(lib: Any, x: Any) -> Any:
    return lib.sum(lib.tanh(x * 1.5 + 0.5) * lib.exp(-x * x) + 3.0 * x)


def reduce_rows(lib: Any, name: str, x: Any) -> Any:
    """A reduction of each row that keeps its axis."""
    if lib.__name__ == "torch":
        return getattr(lib, {"max": "amax"}.get(name, name))(x, -1, keepdim=True)
    return getattr(lib, name)(x, axis=-1, keepdims=True)


def softmax(lib: Any, x: Any) -> Any:
    e = lib.exp(x - reduce_rows(lib, "max", x))
    y = e / reduce_rows(lib, "sum", e)
    return lib.sum(y * y)


def layer_norm(lib: Any, x: Any) -> Any:
    d = x - reduce_rows(lib, "mean", x)
    y = d / lib.sqrt(reduce_rows(lib, "mean", d * d) + 1e-5)
    return lib.sum(y * y * y)


def set_up_jax(operator: str, function: Any, x: Any) -> dict[str, Any]:
    jax = import_library("jax")
    jax.config.update("jax_enable_x64", True)
    made = {
        "value_and_grad": jax.value_and_grad,
        "hessian": jax.hessian,
    }[operator](lambda x: function(jax.numpy, x))
    fast = jax.jit(made)

    def run() -> Any:
        return jax.tree.map(np.asarray, jax.block_until_ready(fast(x)))

    return {"run": run}


def set_up_torch(operator: str, function: Any, x: Any) -> dict[str, Any]:
    torch = import_library("torch")

    def value_and_grad() -> Any:
        t = torch.tensor(x, requires_grad=True)
        value = function(torch, t)
        value.backward()
        return value.item(), t.grad.numpy()

    def hessian() -> Any:
        return torch.autograd.functional.hessian(lambda t: function(torch, t), torch.tensor(x))

    return {"run": value_and_grad if operator == "value_and_grad" else hessian}


def set_up_casadi(operator: str, x: Any) -> dict[str, Any]:
    """Rosenbrock's function as CasADi's expression graph, called with an array."""
    casadi = import_library("casadi")
    symbol = casadi.SX.sym("x", len(x))
    squares = 100.0 * (symbol[1:] - symbol[:-1] ** 2) ** 2 + (1 - symbol[:-1]) ** 2
    value = casadi.sum1(squares)
    derived = {
        "value_and_grad": lambda: [value, casadi.gradient(value, symbol)],
        "hessian": lambda: [casadi.hessian(value, symbol)[0]],
    }[operator]()
    call = casadi.Function("f", [symbol], derived)
    return {"run": lambda: call(x)}


def make_setup(operator: str, function: Any, x: Any) -> Any:
    """The set-up of a transform of a function of one array."""

    def setup(library: str) -> dict[str, Any] | None:
        if library == "jax":
            return set_up_jax(operator, function, x)
        if library == "torch":
            return set_up_torch(operator, function, x)
        if library == "casadi" and function is rosenbrock:
            return set_up_casadi(operator, x)
        if library != "ferrograd":
            return None
        fg = import_library(library)
        fast = fg.compile(getattr(fg, operator)(lambda x: function(fg, x)))
        fast(x)
        return {"run": lambda: fast(x)}

    return setup


def make_training_setup(rule: str) -> Any:
    """The set-up of one step of an optimiser, the parameters changed where they lie."""
    return lambda library: set_up_training(library, rule)


def set_up_training(library: str, rule: str) -> dict[str, Any] | None:
    """The step in a library."""
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(BATCH, SIZES[0])), rng.integers(0, SIZES[-1], BATCH)
    weights = [rng.normal(size=pair) / pair[0] ** 0.5 for pair in pairwise(SIZES)]
    if library == "jax":
        return set_up_jax_training(images, labels, weights, rule)
    if library not in ("ferrograd", "torch"):
        return None
    lib = import_library(library)
    x = make_tensor(library, images, dtype="float32")
    y = make_tensor(library, labels, dtype="int64")
    parameters = []
    for weight in weights:
        parameters.append(make_tensor(library, weight, grad=True, dtype="float32"))
        parameters.append(
            make_tensor(library, np.zeros(weight.shape[1]), grad=True, dtype="float32")
        )
    optimizer = getattr(lib.optim, rule)(parameters, lr=LEARNING_RATE)

    def step(x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        optimizer.zero_grad()
        hidden = ((x @ w1 + b1).relu() @ w2 + b2).relu()
        loss = lib.nn.functional.cross_entropy(hidden @ w3 + b3, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = lib.compile(step) if library == "ferrograd" else step
    for _ in range(2):
        run(x, y)
    return {"run": lambda: run(x, y)}


def jax_adam_step(jax: Any, parameters: Any, slopes: Any, state: Any) -> Any:
    """Adam as the optimiser libraries of JAX write it."""
    count, means, squares = state
    count = count + 1
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, slopes)
    squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, squares, slopes)
    below, scale = 1 - 0.9**count, 1 - 0.999**count

    def update(p: Any, m: Any, v: Any) -> Any:
        return p - LEARNING_RATE * (m / below) / (jax.numpy.sqrt(v / scale) + 1e-8)

    return jax.tree.map(update, parameters, means, squares), (count, means, squares)


def set_up_jax_training(images: Any, labels: Any, weights: list[Any], rule: str) -> dict[str, Any]:
    jax = import_library("jax")
    jnp = jax.numpy
    x, y = jnp.asarray(images, "float32"), jnp.asarray(labels)
    parameters = [(jnp.asarray(w, "float32"), jnp.zeros(w.shape[1], "float32")) for w in weights]

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        for weight, bias in parameters[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        weight, bias = parameters[-1]
        rows = jax.nn.log_softmax(x @ weight + bias)
        return -jnp.mean(rows[jnp.arange(BATCH), y])

    def step(state: Any, x: Any, y: Any) -> Any:
        parameters, moments = state
        value, slopes = jax.value_and_grad(loss)(parameters, x, y)
        if rule == "Adam":
            return value, jax_adam_step(jax, parameters, slopes, moments)
        return value, (
            jax.tree.map(lambda p, g: p - LEARNING_RATE * g, parameters, slopes),
            moments,
        )

    def zeros() -> Any:
        return jax.tree.map(jnp.zeros_like, parameters)

    fast = jax.jit(step, donate_argnums=0)
    state = [(parameters, (jnp.float32(0), zeros(), zeros()))]

    def run() -> None:
        value, state[0] = fast(state[0], x, y)
        jax.block_until_ready((value, state[0]))

    run()
    return {"run": run}


def make_case(name: str, setup: Any, **options: Any) -> Case:
    return Case(f"compiled: {name}", "run()", setup, peers=("jax", "torch", "casadi"), **options)


CASES = [
    make_case(
        "rosenbrock(10) value_and_grad",
        make_setup("value_and_grad", rosenbrock, X),
        goal=5.0,
        unit="µs",
    ),
    make_case("rosenbrock(10) hessian", make_setup("hessian", rosenbrock, X), goal=1.5, unit="µs"),
    make_case(
        "chain 4M value_and_grad",
        make_setup("value_and_grad", chain, np.linspace(-2.0, 2.0, LENGTH)),
        goal=2.0,
        threads=2,
        unit="ms",
    ),
    *(
        make_case(
            f"{name} by hand value_and_grad",
            make_setup("value_and_grad", function, MATRIX),
            threads=threads,
            unit="ms",
        )
        for name, function in (("softmax", softmax), ("layer norm", layer_norm))
        for threads in (1, 2)
    ),
    make_case("MLP step with SGD", make_training_setup("SGD"), goal=1.3, threads=2, unit="ms"),
    make_case("MLP step with Adam", make_training_setup("Adam"), goal=1.3, threads=2, unit="ms"),
]
