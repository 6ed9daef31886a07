"""Element-wise operations do not ask where their elements lie.

Invariant: an element of a result depends on no neighbour.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from op_support import ROWS, function

LENGTH = 96
#: Tails of vectors, tails that are padded, and more than one vector of bytes.
LENGTHS = (1, 3, 7, 17, 48, 93)


def draw(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(LENGTH) * np.resize([1.0, 0.1, 10.0], LENGTH)
    values[::4] = rng.uniform(0.05, 0.95, LENGTH // 4)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(LENGTH)
    return values.astype(dtype)


def placed(values: np.ndarray, n: int, offset: int, step: int) -> fg.Tensor:
    """The first values as a part of a longer tensor."""
    memory = np.zeros(offset + n * abs(step), values.dtype)
    part = memory[offset:][::step][:n]
    part[:] = values[:n]
    return fg.tensor(memory)[offset:][::step][:n]


def computed(case: Case, values: list[np.ndarray], n: int, offset: int, step: int) -> list[Any]:
    """The result, its derivatives, and derivatives of the sum of those."""
    f, count = function(case), case.operands
    leaves = [placed(v, n, offset, step) for v in values[:count]]
    real = [x.requires_grad_() for x in leaves]
    y = f(*real, **case.options)
    found = [y]
    if y.requires_grad:
        drawn = values[count] if y.dtype.kind == "c" else values[count].real
        seed = placed(drawn, n, offset, step).astype(y.dtype)
        slopes = fg.autograd.grad(y, real, seed, allow_unused=True, create_graph=True)
        found += slopes
        further = [g for g in slopes if g is not None and g.requires_grad]
        if case.order > 1 and further:
            seeds = [fg.ones_like(g) for g in further]
            found += fg.autograd.grad(further, real, seeds, allow_unused=True)
    return [g.detach().numpy() for g in found if g is not None]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("case", [c for c in ROWS if c.operands], ids=lambda case: case.key)
def test_neighbours_change_no_bit(case: Case, dtype: str) -> None:
    values = [draw(dtype, seed) for seed in range(case.operands + 1)]
    with np.errstate(all="ignore"):
        try:
            expected = computed(case, values, LENGTH, 0, 1)
        except (fg.errors.FerrogradError, TypeError):
            pytest.skip("it does not take this dtype")
        for n in LENGTHS:
            for offset, step in ((0, 1), (1, 1), (0, 2), (1, 3), (0, -1)):
                found = computed(case, values, n, offset, step)
                assert len(found) == len(expected)
                for whole, part in zip(expected, found, strict=True):
                    same = (whole[:n] == part) | ((whole[:n] != whole[:n]) & (part != part))
                    assert same.all(), (n, offset, step, np.flatnonzero(~same)[:3])


def test_two_complex_values_beside_many_elements() -> None:
    many = draw("complex128", 1)
    mask = fg.tensor(np.resize([True, False], 4 * LENGTH))
    a, b = 1.0 + 2.0j, -3.0 + 0.5j
    for n in (LENGTH, 4 * LENGTH):
        chosen = fg.where(mask[:n], fg.tensor(a), fg.tensor(b)).numpy()
        np.testing.assert_array_equal(chosen, np.where(mask[:n].numpy(), a, b))
        line = np.resize(many, n)
        assert (fg.tensor(line) < fg.tensor(a)).tolist() == (line < a).tolist()
        assert (fg.tensor(a) < fg.tensor(line)).tolist() == (a < line).tolist()
