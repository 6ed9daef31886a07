"""Element-wise derivatives at NaN, infinities, zeros, ties and outside their domains."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ferrograd as fg
from convention_cases import CASES, PAGE, differing, section, slopes, split
from golden.conventions import FILE, PAIRS, POINTS, of_torch, torch_slopes

NAN, INF = math.nan, math.inf


def test_the_page_shows_what_the_operations_do() -> None:
    _, shown, _ = split(PAGE.read_text())
    assert shown == section(), "run: python tests/cases/convention_cases.py"


def test_every_differentiable_element_wise_operation_is_on_record() -> None:
    known = json.loads(FILE.read_text())
    assert known["operations"] == {name: case.operands for name, case in CASES.items()}


def test_what_is_recorded_of_pytorch_is_what_it_gives() -> None:
    pytest.importorskip("torch")
    known = json.loads(FILE.read_text())["PyTorch"]
    for name, row in known.items():
        for at in PAIRS if CASES[name].operands == 2 else [(x,) for x in POINTS]:
            found = torch_slopes(of_torch(name), at)
            assert found is not None
            assert not differing(found, row[repr(at)]), (name, at)


@pytest.mark.parametrize("name", CASES)
def test_arrays_give_what_single_elements_give(name: str) -> None:
    """Vector lanes and their tails follow the same convention as one element."""
    pairs = CASES[name].operands == 2
    at = PAIRS if pairs else [(x,) for x in POINTS]
    columns = [np.tile(column, 7) for column in zip(*at, strict=True)]
    leaves = [fg.tensor(column, requires_grad=True) for column in columns]
    result = getattr(fg, name)(*leaves)
    if result.requires_grad:
        result.sum().backward()
    for k, leaf in enumerate(leaves):
        grad = np.zeros(len(columns[0])) if leaf.grad is None else leaf.grad.numpy()
        wanted = np.tile([slopes(name, point)[k] for point in at], 7)
        np.testing.assert_allclose(grad, wanted, rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_derivative_has_the_same_convention(name: str) -> None:
    """The derivative that is differentiated again is the one that is not."""
    for at in PAIRS if CASES[name].operands == 2 else [(x,) for x in POINTS]:
        leaves = [fg.tensor(x, requires_grad=True) for x in at]
        result = getattr(fg, name)(*leaves)
        if not result.requires_grad:
            continue
        found = fg.autograd.grad(
            result, leaves, create_graph=True, allow_unused=True, materialize_grads=True
        )
        np.testing.assert_allclose(
            [float(g.detach()) for g in found], slopes(name, at), rtol=1e-12, err_msg=f"{name}{at}"
        )


def test_ties_share_and_nan_takes() -> None:
    for name in ("maximum", "minimum"):
        assert slopes(name, (1.0, 1.0)) == [0.5, 0.5]
        assert_array_equal(slopes(name, (NAN, 1.0))[0], 1.0)
        assert_array_equal(slopes(name, (1.0, NAN))[1], 1.0)
    assert slopes("hypot", (0.0, 0.0)) == [0.0, 0.0]
