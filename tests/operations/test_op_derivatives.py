"""Derivatives of every operation, derived from the table: nothing here names an operation."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Call, Case
from derivatives import check
from op_support import (
    ROWS,
    function,
    gradients,
    large_calls,
    parts,
    reference,
    same,
    tensors,
    with_arrays,
)

SMOOTH = [case for case in ROWS if case.order]
THREADS = (1, 2, 4, 8)


def rows(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.key)


def as_function(case: Case, call: Call) -> Any:
    def apply(*inputs: fg.Tensor) -> list[fg.Tensor]:
        results = parts(call.apply(function(case), list(inputs)))
        return [result for result in results if result.dtype.kind == "f"]

    return apply


@rows(SMOOTH)
def test_first_order(case: Case) -> None:
    checked = 0
    for call in with_arrays(case):
        if any(p.dtype.kind == "f" for p in parts(call.apply(function(case), call.arrays()))):
            check(as_function(case, call), call.arrays(), 1)
            checked += 1
    assert checked


@rows([case for case in SMOOTH if case.order > 1])
def test_higher_orders(case: Case) -> None:
    for call in with_arrays(case):
        if sum(a.size for a in call.arrays()) <= 60:
            check(as_function(case, call), call.arrays(seed=1), case.order)


@rows([case for case in ROWS if case.kinks])
def test_conventions(case: Case) -> None:
    for args, expected in case.kinks:
        leaves = [fg.tensor(a, requires_grad=True) for a in args[: len(expected)]]
        function(case)(*leaves, *args[len(expected) :]).sum().backward()
        for leaf, wanted in zip(leaves, expected, strict=True):
            found = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
            np.testing.assert_array_equal(found, np.asarray(wanted), f"{case.name}{args}")


@rows([case for case in ROWS if any(with_arrays(case))])
def test_float32(case: Case) -> None:
    for call in with_arrays(case):
        single = [a.astype(np.float32) for a in call.arrays()]
        double = [a.astype(np.float64) for a in single]
        ours = parts(call.apply(function(case), tensors(single)))
        wide = parts(call.apply(function(case), tensors(double)))
        same(ours, [w.numpy() for w in wide], rtol=case.f32, atol=case.f32, dtype=False, why=call)
        asked = (
            case.wide
            or "dtype" in call.kwargs
            or any(isinstance(a, np.ndarray | type | np.dtype) for a in call.args)
        )
        if not asked:
            theirs = [np.dtype("f4") if w.dtype == np.float64 else w.dtype for w in wide]
            assert [o.dtype for o in ours] == theirs, call
        if case.order:
            narrow = gradients(case, call, tensors(single, grad=True))
            for g, w in zip(narrow, gradients(case, call, tensors(double, grad=True)), strict=True):
                assert g.dtype == np.float32
                slack = case.f32 * float(np.max(np.abs(w), initial=1.0))
                np.testing.assert_allclose(g, w, 4 * case.f32, slack, err_msg=str(call))


@rows([case for case in ROWS if case.order and any(with_arrays(case))])
def test_recorded_gradients_keep_float32(case: Case) -> None:
    for call in with_arrays(case):
        inputs = tensors([a.astype(np.float32) for a in call.arrays()], grad=True)
        values = [o for o in parts(call.apply(function(case), inputs)) if o.requires_grad]
        for _ in range(2):
            weights = [fg.ones_like(value) for value in values]
            found = fg.autograd.grad(values, inputs, weights, create_graph=True, allow_unused=True)
            values = [g for g in found if g is not None and g.requires_grad]
            assert {g.dtype for g in found if g is not None} <= {np.dtype("f4")}, call
            if not values:
                break


@rows(ROWS)
def test_threads_give_identical_bits(case: Case) -> None:
    calls = large_calls(case)
    assert calls, "name a call with `large`"
    for call in calls:
        arrays = call.arrays()
        results = []
        for threads in THREADS:
            fg.set_num_threads(threads)
            values = [p.numpy().tobytes() for p in parts(call.apply(function(case), arrays))]
            if case.order:
                found = gradients(case, call, tensors(arrays, grad=True))
                values += [g.tobytes() for g in found]
            results.append(values)
        assert all(result == results[0] for result in results), call


@rows([case for case in ROWS if case.large])
def test_large_values(case: Case) -> None:
    for call in case.large:
        arrays = call.arrays()
        actual = call.apply(function(case), tensors(arrays))
        same(actual, call.apply(reference(case), arrays), rtol=case.rtol, atol=1e-13, why=call)
