"""Random functions with several results, of which a backward pass uses some, compiled and not.

Gradients of a random choice of results have the bits of the function itself, and are None where
those are.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

Matrices = list[Any]


def joined(u: Any, v: Any) -> Any:
    p, q = fg.split(u, 2, axis=0)
    return fg.concatenate([q * v[:2], p])


def written(u: Any, v: Any) -> Any:
    z = u * 1.0
    z[1:3] = v[:2] * 2.0
    return z


def spread(x: Any) -> Any:
    return fg.broadcast_to(x, (4, 4))


OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda u, v: u + v,
    lambda u, v: u * v,
    lambda u, v: u / v,
    lambda u, v: u @ v,
    lambda u, v: u.T + v,
    lambda u, _: -u,
    lambda u, _: fg.tanh(u),
    lambda u, _: fg.sqrt(fg.abs(u)),
    lambda u, _: fg.log(fg.abs(u)),
    lambda u, v: fg.where(u > v, u, v * 2.0),
    lambda u, v: fg.floor(u) + v,
    lambda u, v: u.detach() * v,
    lambda u, v: u[::-1] * v,
    lambda u, v: spread(fg.sum(u, axis=0)) * v,
    lambda u, _: spread(fg.max(u, axis=1, keepdims=True)),
    lambda u, _: fg.cumsum(u, axis=1),
    lambda u, _: fg.sort(u, axis=0),
    lambda u, _: fg.clip(u, -0.5, 0.5),
    lambda u, v: fg.stack([u[0], v[1], u[2], v[3]]),
    joined,
    written,
]


def function(seed: int) -> tuple[Callable[..., tuple[Any, ...]], int]:
    """A function of three matrices, and how many it gives."""
    draw = random.Random(seed)
    plan = [
        (draw.random(), draw.random(), draw.choice(OPERATIONS))
        for _ in range(draw.randrange(3, 14))
    ]
    chosen = [draw.random() for _ in range(draw.randrange(2, 5))]

    def f(*given: Any) -> tuple[Any, ...]:
        pool = list(given)
        for a, b, operation in plan:
            pool.append(operation(pool[int(a * len(pool))], pool[int(b * len(pool))]))
        made = pool[len(given) :]
        return tuple(made[int(k * len(made))] for k in chosen)

    return f, len(chosen)


def gradients(f: Callable[..., Any], matrices: Matrices, use: list[int]) -> list[Any]:
    leaves = [fg.tensor(a, requires_grad=True) for a in matrices]
    results = f(*leaves)
    used = [results[k] for k in use if results[k].requires_grad]
    if not used:
        return []
    seeds = [fg.full(y.shape, 1.5 + k) for k, y in enumerate(used)]
    found = fg.autograd.grad(used, leaves, seeds, allow_unused=True)
    return [None if g is None else g.numpy() for g in found]


def same(found: list[Any], wanted: list[Any]) -> bool:
    """Whether the bits are equal, but for those of NaN."""

    def one(a: Any, b: Any) -> bool:
        if a is None or b is None:
            return a is b
        there = ~np.isnan(b)
        return bool(np.all(np.isnan(a) != there)) and a[there].tobytes() == b[there].tobytes()

    return len(found) == len(wanted) and all(map(one, found, wanted))


def agree(plain: Any, compiled: Any, count: int, seed: int) -> None:
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    matrices = [rng.normal(size=(4, 4)) for _ in range(3)]
    if seed % 3 == 0:
        matrices[0][0] = 0.0
        matrices[1][:, 1] = 0.0
    for _ in range(3):
        use = [k for k in range(count) if draw.random() < 0.5] or [0]
        assert same(gradients(compiled, matrices, use), gradients(plain, matrices, use)), (
            seed,
            use,
        )


@pytest.mark.parametrize("block", range(6))
def test_functions(block: int) -> None:
    with np.errstate(all="ignore"):
        for seed in range(20 * block, 20 * block + 20):
            f, count = function(seed)
            agree(f, fg.compile(f), count, seed)


@pytest.mark.parametrize("block", range(6))
def test_bodies_of_loops(block: int) -> None:
    with np.errstate(all="ignore"):
        for seed in range(20 * block, 20 * block + 20):
            f, _ = function(seed)

            def body(carry: Any, w: Any, f: Any = f) -> tuple[Any, Any]:
                found = f(*carry, w)
                return (found[0] * 0.5, found[1] * 0.5), found[-1]

            def python(x: Any, y: Any, w: Any, body: Any = body) -> tuple[Any, ...]:
                carry, rows = (x, y), []
                for _ in range(3):
                    carry, row = body(carry, w)
                    rows.append(row)
                return *carry, fg.stack(rows)

            def scanned(x: Any, y: Any, w: Any, body: Any = body) -> tuple[Any, ...]:
                carry, rows = fg.scan(lambda c, _: body(c, w), (x, y), length=3)
                return *carry, rows

            agree(python, scanned, 3, seed)
            agree(python, fg.compile(scanned), 3, seed)
