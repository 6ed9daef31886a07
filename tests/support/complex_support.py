"""Complex derivatives by finite differences, in PyTorch's convention."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd as fg

STEP = 1e-6


def numbers(seed: int, *shape: int) -> Any:
    """Complex numbers without a pattern."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def outputs(result: Any) -> list[Any]:
    """The inexact outputs of a call."""
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    return [p for p in parts if np.dtype(str(p.dtype)).kind in "fc"]


def weights(seed: int, result: Any) -> list[Any]:
    """A cotangent for each output, of its dtype."""
    found = []
    for i, part in enumerate(outputs(result)):
        w = numbers(seed + i, *part.shape)
        found.append(w if np.dtype(str(part.dtype)).kind == "c" else w.real.copy())
    return found


def loss(result: Any, ws: list[Any]) -> float:
    """`Re sum(conj(w) y)` over all outputs."""
    total = 0.0
    for part, w in zip(outputs(result), ws, strict=True):
        total += float(np.sum(np.conj(w) * part.detach().numpy()).real)
    return total


def differences(f: Callable[[Any], float], x: Any) -> Any:
    """The gradient of a real function of an array."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for unit in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            ahead, behind = x.copy(), x.copy()
            ahead[at] += STEP * unit
            behind[at] -= STEP * unit
            found[at] += unit * (f(ahead) - f(behind)) / (2 * STEP)
    return found


def gradients(f: Callable[..., Any], arrays: list[Any], ws: list[Any], create: bool) -> Any:
    """The operands, and the engine's gradients by them."""
    operands = [fg.tensor(a, requires_grad=True) for a in arrays]
    outs = outputs(f(*operands))
    pairs = [(o, fg.tensor(w)) for o, w in zip(outs, ws, strict=True) if o.requires_grad]
    found = fg.autograd.grad(
        [o for o, _ in pairs], operands, [w for _, w in pairs], create_graph=create
    )
    return operands, found


def check(f: Callable[..., Any], *arrays: Any, second: bool = True, tol: float = 1e-5) -> None:
    """Compares all first derivatives, and with `second` those of the gradients."""
    given = list(arrays)
    ws = weights(100, f(*map(fg.tensor, given)))
    _, found = gradients(f, given, ws, False)
    for k, a in enumerate(given):

        def moved(x: Any, k: int = k) -> float:
            return loss(f(*map(fg.tensor, [*given[:k], x, *given[k + 1 :]])), ws)

        want = differences(moved, a)
        got = found[k].numpy()
        assert got.dtype == a.dtype
        np.testing.assert_allclose(
            got, want, rtol=tol, atol=tol * (1 + np.abs(want).max(initial=0))
        )
    if second:
        of_gradients(f, given, ws, tol)


def of_gradients(f: Callable[..., Any], given: list[Any], ws: list[Any], tol: float) -> None:
    """The second order: the gradient is a function as any other."""
    operands, found = gradients(f, given, ws, True)
    linked = [g for g in found if g.requires_grad]
    if not linked:
        return
    us = weights(200, list(found))
    pairs = [(g, fg.tensor(u)) for g, u in zip(found, us, strict=True) if g.requires_grad]
    got = fg.autograd.grad(
        [g for g, _ in pairs], operands, [u for _, u in pairs], allow_unused=True
    )
    for k, a in enumerate(given):

        def moved(x: Any, k: int = k) -> float:
            _, found = gradients(f, [*given[:k], x, *given[k + 1 :]], ws, True)
            return loss(list(found), us)

        want = differences(moved, a)
        have = np.zeros_like(a) if got[k] is None else got[k].numpy()
        np.testing.assert_allclose(
            have, want, rtol=10 * tol, atol=10 * tol * (1 + np.abs(want).max(initial=0))
        )
