"""Loops with a derivative: compiled `fg.scan` beside `jax.lax.scan` and eager PyTorch.

1 000 steps of Runge and Kutta's method on an ordinary differential equation of four variables with
the gradient of its end by its start, and an LSTM of 8 units over 1 000 values with the gradients of
its weights. JAX is jitted, warm, and waits for its results; PyTorch runs a Python loop.
"""

from typing import Any

import numpy as np

from harness import Case

from .common import import_library, make_tensor

STEPS = 1000
START = np.array([1.0, 0.0, 0.5, -0.5])
UNITS = 8


def compute_force(lib: Any, s: Any) -> Any:
    """Two coupled oscillators with damping that grows with the way."""
    q, p = s[:2], s[2:]
    return lib.concatenate([p, -lib.sin(q) - 0.1 * q * q[::-1] - 0.01 * p])


def compute_torch_force(torch: Any, s: Any) -> Any:
    q, p = s[:2], s[2:]
    return torch.cat([p, -torch.sin(q) - 0.1 * q * q.flip(0) - 0.01 * p])


def runge_kutta_step(f: Any, s: Any, h: float) -> Any:
    k1 = f(s)
    k2 = f(s + 0.5 * h * k1)
    k3 = f(s + 0.5 * h * k2)
    k4 = f(s + h * k3)
    return s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def set_up_orbit(library: str) -> dict[str, Any] | None:
    if library == "torch":
        return set_up_torch_orbit()
    if library == "jax":
        jax = import_library("jax")
        jax.config.update("jax_enable_x64", True)
        lib, scan, compiled, value_and_grad = (
            jax.numpy,
            jax.lax.scan,
            jax.jit,
            jax.value_and_grad,
        )
    elif library == "ferrograd":
        lib = import_library("ferrograd")
        scan, compiled, value_and_grad = lib.scan, lib.compile, lib.value_and_grad
    else:
        return None

    def end(s: Any) -> Any:
        def step(s: Any, _: Any) -> Any:
            return runge_kutta_step(lambda s: compute_force(lib, s), s, 0.01), None

        last, _ = scan(step, s, None, length=STEPS)
        return (last * last).sum()

    fast = compiled(value_and_grad(end))

    def run() -> Any:
        value, slope = fast(START)
        return np.asarray(value), np.asarray(slope)

    run()
    return {"run": run}


def set_up_torch_orbit() -> dict[str, Any]:
    torch = import_library("torch")

    def run() -> Any:
        start = torch.tensor(START, requires_grad=True)
        s = start
        for _ in range(STEPS):
            s = runge_kutta_step(lambda s: compute_torch_force(torch, s), s, 0.01)
        (s * s).sum().backward()
        return start.grad.numpy()

    return {"run": run}


def lstm_cell(lib: Any, weights: Any, state: Any, x: Any) -> Any:
    """One step of an LSTM; the gates lie one after the other."""
    h, c = state
    across, own, bias = weights
    gates = across * x + own @ h + bias
    i, f = lib.tanh(gates[:UNITS]), lib.tanh(gates[UNITS : 2 * UNITS])
    o, g = lib.tanh(gates[2 * UNITS : 3 * UNITS]), lib.tanh(gates[3 * UNITS :])
    c = (0.5 + 0.5 * f) * c + (0.5 + 0.5 * i) * g
    h = (0.5 + 0.5 * o) * lib.tanh(c)
    return (h, c), h.sum()


def set_up_lstm(library: str) -> dict[str, Any] | None:
    rng = np.random.default_rng(0)
    wide = 4 * UNITS
    weights = [rng.normal(size=wide), rng.normal(size=(wide, UNITS)) / 3.0, np.zeros(wide)]
    series = rng.normal(size=STEPS)
    if library == "torch":
        return set_up_torch_lstm(weights, series)
    if library not in ("ferrograd", "jax"):
        return None
    lib = import_library(library)
    if library == "jax":
        lib.config.update("jax_enable_x64", True)
    scan = lib.scan if library == "ferrograd" else lib.lax.scan
    maths = lib if library == "ferrograd" else lib.numpy

    def loss(across: Any, own: Any, bias: Any) -> Any:
        zero = np.zeros(UNITS)
        _, rows = scan(
            lambda state, x: lstm_cell(maths, (across, own, bias), state, x), (zero, zero), series
        )
        return (rows * rows).mean()

    slopes = lib.value_and_grad(loss, argnums=(0, 1, 2))
    fast = lib.compile(slopes) if library == "ferrograd" else lib.jit(slopes)

    def run() -> Any:
        value, found = fast(*weights)
        return np.asarray(value), [np.asarray(slope) for slope in found]

    run()
    return {"run": run}


def set_up_torch_lstm(weights: list[Any], series: Any) -> dict[str, Any]:
    torch = import_library("torch")
    leaves = [make_tensor("torch", weight, grad=True) for weight in weights]
    values = [float(x) for x in series]

    def run() -> Any:
        state = (torch.zeros(UNITS, dtype=torch.float64),) * 2
        rows = []
        for x in values:
            state, row = lstm_cell(torch, leaves, state, x)
            rows.append(row)
        stacked = torch.stack(rows)
        return torch.autograd.grad((stacked * stacked).mean(), leaves)

    return {"run": run}


CASES = [
    Case(f"loop: {name}", "run()", setup, peers=("jax", "torch"), goal=2.0, unit="ms")
    for name, setup in (("1000 steps of RK4", set_up_orbit), ("LSTM over 1000 values", set_up_lstm))
]
