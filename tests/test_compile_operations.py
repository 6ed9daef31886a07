"""Every operation, forward and backward, recorded on some values and replayed on others.

Owns: one case per row of the operation table, whose replays have the bits of eager calls.
"""

from typing import Any

import pytest

import ferrograd as fg
from case_model import Call, Case
from op_support import ROWS, function, parts, tensors, with_arrays

#: Operations that look at values to choose a shape or a way: refused while a function is recorded.
LOOKS_AT_VALUES = {
    "allclose",
    "argwhere",
    "array_equal",
    "cov",
    "flatnonzero",
    "interp",
    "isin",
    "nanmedian",
    "nonzero",
    "put_along_axis",
    "scatter",
    "searchsorted",
    "unique",
}


def with_gradients(case: Case, call: Call) -> Any:
    """The results of a call and, where it has derivatives, its gradients."""

    def run(*inputs: fg.Tensor) -> list[fg.Tensor]:
        leaves = [x.detach().requires_grad_(case.order > 0) for x in inputs]
        results = parts(call.apply(function(case), leaves))
        roots = [r for r in results if r.requires_grad and r.grad_fn is not None]
        if not roots:
            return [r.detach() for r in results]
        seeds = [fg.ones_like(r) * 0.5 for r in roots]
        found = fg.autograd.grad(roots, leaves, seeds, allow_unused=True, materialize_grads=True)
        return [r.detach() for r in results] + list(found)

    return run


def bits(results: list[fg.Tensor]) -> list[tuple[Any, ...]]:
    return [(str(r.dtype), r.shape, r.numpy().tobytes()) for r in results]


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.key)
def test_replays_give_the_bits_of_eager_calls(case: Case) -> None:
    for call in with_arrays(case):
        run = with_gradients(case, call)
        compiled = fg.compile(run)
        try:
            first = compiled(*tensors(call.arrays()))
        except fg.errors.CompileError:
            assert case.key in LOOKS_AT_VALUES, case.key
            return
        assert bits(first) == bits(run(*tensors(call.arrays())))
        for seed in (1, 2):
            others = tensors(call.arrays(seed))
            assert bits(compiled(*others)) == bits(run(*others)), call
        assert len(compiled.programs) == 1
    assert case.key not in LOOKS_AT_VALUES or not any(with_arrays(case)), "it replays"


def pulled(results: list[fg.Tensor], leaves: list[fg.Tensor]) -> list[Any]:
    """What the roots among some results give to the leaves."""
    roots = [r for r in results if r.requires_grad]
    seeds = [fg.ones_like(r) * 0.5 for r in roots]
    return list(fg.autograd.grad(roots, leaves, seeds, allow_unused=True)) if roots else []


@pytest.mark.parametrize("case", [c for c in ROWS if c.order > 0], ids=lambda case: case.key)
def test_calls_with_a_history_give_the_bits_of_eager_calls(case: Case) -> None:
    for call in with_arrays(case):

        def run(*inputs: fg.Tensor, call: Call = call) -> list[fg.Tensor]:
            # A copy: some operations give back their argument.
            return [r * 1.0 for r in parts(call.apply(function(case), inputs))]

        compiled = fg.compile(run)
        for seed in (0, 1, 2):
            both = []
            for f in (compiled, run):
                leaves = [x.requires_grad_() for x in tensors(call.arrays(seed))]
                try:
                    results = f(*leaves)
                except fg.errors.CompileError:
                    assert case.key in LOOKS_AT_VALUES, case.key
                    return
                found = pulled(results, leaves)
                both.append(bits([r.detach() for r in [*results, *found] if r is not None]))
                both.append([g is None for g in found])
            assert both[:2] == both[2:], call
