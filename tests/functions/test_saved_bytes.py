"""What structured operations keep: an operand only for a derivative that reads it and is wanted.

Element-wise operations, whose saves follow from their formulas, have this in `test_memory.py`.
"""

import gc
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ferrograd as fg


@dataclass(frozen=True)
class Row:
    """An operation, the shapes of its operands, and which of them the derivative by each reads."""

    call: Callable[..., fg.Tensor]
    shapes: tuple[tuple[int, ...], ...]
    reads: tuple[frozenset[int], ...]
    #: Whether the derivative by an operand reads the result.
    result: tuple[bool, ...] = ()


def row(call: Callable[..., Any], *shapes: tuple[int, ...], reads: Any, result: Any = ()) -> Row:
    return Row(call, shapes, tuple(frozenset(r) for r in reads), result)


CROSS = ((1,), (0,))
F = fg.nn.functional
ROWS: dict[str, Row] = {
    "matmul": row(fg.matmul, (40, 30), (30, 20), reads=CROSS),
    "matmul batch": row(fg.matmul, (3, 40, 30), (3, 30, 20), reads=CROSS),
    "dot": row(fg.dot, (40, 30), (30, 20), reads=CROSS),
    "tensordot": row(lambda a, b: fg.tensordot(a, b, 1), (40, 30), (30, 20), reads=CROSS),
    "einsum": row(lambda a, b: fg.einsum("ij,jk->ik", a, b), (40, 30), (30, 20), reads=CROSS),
    "convolve": row(fg.convolve, (2000,), (50,), reads=CROSS),
    "convolve valid": row(lambda a, b: fg.convolve(a, b, "valid"), (2000,), (50,), reads=CROSS),
    "correlate": row(np.correlate, (2000,), (50,), reads=CROSS),
    "conv1d": row(F.conv1d, (2, 3, 40), (4, 3, 5), reads=CROSS),
    "conv2d": row(F.conv2d, (2, 3, 12, 12), (4, 3, 3, 3), reads=CROSS),
    "conv_transpose2d": row(F.conv_transpose2d, (2, 3, 12, 12), (3, 4, 3, 3), reads=CROSS),
    "solve": row(fg.linalg.solve, (20, 20), (20, 30), reads=((0,), (0,)), result=(True, False)),
    "solve_triangular": row(
        lambda a, b: fg.linalg.solve_triangular(a, b, lower=True),
        (20, 20),
        (20, 30),
        reads=((0,), (0,)),
        result=(True, False),
    ),
    "concatenate": row(lambda a, b: fg.concatenate([a, b]), (40, 30), (20, 30), reads=((), ())),
    "stack": row(lambda a, b: fg.stack([a, b]), (40, 30), (40, 30), reads=((), ())),
    "index": row(lambda a: a[::2, 1:], (40, 30), reads=((),)),
    "take": row(lambda a: a[[3, 1, 1]], (40, 30), reads=((),)),
    "sum": row(lambda a: fg.sum(a, 0), (40, 30), reads=((),)),
    "cumsum": row(lambda a: fg.cumsum(a, 0), (40, 30), reads=((),)),
    "cumprod": row(lambda a: fg.cumprod(a, 0), (40, 30), reads=((0,),), result=(True,)),
    "max": row(lambda a: fg.max(a, 0), (40, 30), reads=((0,),), result=(True,)),
    "softmax": row(lambda a: F.softmax(a, 0), (40, 30), reads=((),), result=(True,)),
    "roll": row(lambda a: fg.roll(a, 3), (40, 30), reads=((),)),
    "pad": row(lambda a: fg.pad(a, 3), (40, 30), reads=((),)),
    "inv": row(fg.linalg.inv, (20, 20), reads=((),), result=(True,)),
    "det": row(fg.linalg.det, (20, 20), reads=((0,),), result=(True,)),
    "layer_norm": row(
        lambda a, w: F.layer_norm(a, (30,), w), (40, 30), (30,), reads=((0, 1), (0,))
    ),
}
CASES = [
    pytest.param(name, wants, id=f"{name}-{''.join('01'[w] for w in wants)}")
    for name, r in ROWS.items()
    for wants in itertools.product((False, True), repeat=len(r.shapes))
    if any(wants)
]
#: Kept beside operands and result: numbers per row of a normalisation; factors, the order of rows.
BESIDE = {"layer_norm": 40 * 2 * 8, "solve": 20 * 20 * 8 + 20 * 8}


@pytest.mark.parametrize(("name", "wants"), CASES)
def test_an_operand_is_kept_for_a_wanted_derivative_only(
    name: str, wants: tuple[bool, ...]
) -> None:
    r = ROWS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(1, 2, shape) for shape in r.shapes]
    for a in arrays:
        if a.ndim == 2:
            a += 9 * np.eye(*a.shape)  # Regular, where it is a matrix to be inverted.
    operands = [fg.tensor(a, requires_grad=w) for a, w in zip(arrays, wants, strict=True)]
    gc.collect()
    before = fg.live_bytes() - sum(a.nbytes for a in arrays)
    result = r.call(*operands)
    del operands
    gc.collect()
    node = result.grad_fn
    values = result.detach().clone()
    shape = result.shape
    del result
    gc.collect()
    kept = fg.live_bytes() - before - values.nbytes
    read = frozenset().union(*(s for s, w in zip(r.reads, wants, strict=True) if w))
    expected = sum(arrays[i].nbytes for i in read)
    if any(s and w for s, w in zip(r.result or (False,) * len(wants), wants, strict=True)):
        expected += values.nbytes
    assert node is not None
    assert kept == expected + BESIDE.get(name, 0), (shape, kept, expected)
