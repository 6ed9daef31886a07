"""Every operation, forward and backward, recorded on some values and replayed on others."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Call, Case
from op_support import ROWS, function, parts, tensors, with_arrays

#: Operations that look at values to choose a shape or a way: refused while a function is recorded.
LOOKS_AT_VALUES = {
    "allclose",
    "argwhere",
    "array_equal",
    "flatnonzero",
    "nonzero",
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


def integers(*shape: int, low: int, high: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape)


def draw(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def assigned(x: Any, index: Any, value: Any) -> Any:
    y = x * 1.0
    y[index] = value
    return y


def wide(v: Any) -> Any:
    """Rows of three, each of one number."""
    return fg.broadcast_to(v[:, None], (len(v), 3))


#: Functions of values, indices and more values, whose indices are found anew by every call.
INDEXED = {
    "setitem": assigned,
    "setitem of rows": lambda x, i, v: assigned(x.reshape(4, 3), i % 4, v[:, None]).ravel(),
    "setitem of a view": lambda x, i, v: assigned(x[::-1], i, v),
    "setitem of a mask": lambda x, i, v: assigned(x, fg.isin(x, x[i]), 0.0),
    "setitem of a number in a mask": lambda x, i, v: assigned(x, x > x[i[0]], v[0].detach()),
    "scatter": lambda x, i, v: fg.scatter(x, 0, i, v),
    "scatter_add": lambda x, i, v: fg.scatter_add(x, 0, i, v),
    "index_add": lambda x, i, v: fg.index_add(x, 0, i, v),
    "scatter_reduce": lambda x, i, v: fg.scatter_reduce(x, 0, i, v, "mean"),
    "index_reduce": lambda x, i, v: fg.index_reduce(
        x.reshape(4, 3), 0, i % 4 - 4, wide(v), "mean", include_self=False
    ),
    "scatter_reduce prod": lambda x, i, v: fg.scatter_reduce(x, 0, i, v, "prod"),
    "scatter_reduce amax": lambda x, i, v: fg.scatter_reduce(x, 0, i % 3, v, "amax"),
    "scatter_reduce amin": lambda x, i, v: fg.scatter_reduce(x, 0, i, v, "amin", False),
    "index_reduce prod": lambda x, i, v: fg.index_reduce(
        x.reshape(4, 3), 0, i % 4 - 4, wide(v * (v > 0.0)), "prod", include_self=False
    ),
    "index_reduce amax": lambda x, i, v: fg.index_reduce(
        x.reshape(4, 3), 0, i % 4, wide(fg.round(v)), "amax"
    ),
    "index_reduce sum": lambda x, i, v: fg.index_reduce(x, 0, i, v, "sum", include_self=False),
    "put_along_axis": lambda x, i, v: fg.put_along_axis(x, i, v, 0),
    "take_along_axis": lambda x, i, v: fg.take_along_axis(x, i, 0) * v,
    "searchsorted": lambda x, i, v: fg.searchsorted(fg.sort(x), v) * x[i],
    "interp": lambda x, i, v: fg.interp(v, fg.sort(x), x),
    "nanmedian": lambda x, i, v: fg.nanmedian(fg.where(x > 1.0, fg.nan, x).reshape(4, 3), 1),
    "cov": lambda x, i, v: fg.cov(x[i], v, aweights=v * v),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_are_taken_anew(name: str) -> None:
    def run(x: Any, i: Any, v: Any) -> list[Any]:
        x, v = x.detach().requires_grad_(), v.detach().requires_grad_()
        result = INDEXED[name](x, i, v)
        if not result.requires_grad:
            return [result]
        seed = fg.cos(result.detach())
        slopes = fg.autograd.grad(result, [x, v], seed, allow_unused=True, materialize_grads=True)
        return [result.detach(), *slopes]

    compiled = fg.compile(run)
    for seed in range(4):
        args = (
            fg.tensor(draw(12, seed=seed)),
            fg.tensor(integers(9, low=0, high=12, seed=seed)),
            fg.tensor(draw(9, seed=seed + 10)),
        )
        assert bits(compiled(*args)) == bits(run(*args))
    assert len(compiled.programs) == 1


def test_indices_are_checked_by_every_call() -> None:
    x, v = fg.zeros(3), fg.ones(1)
    for name, op in (("setitem", "index"), ("scatter", "scatter"), ("index_add", "index_add")):
        compiled = fg.compile(INDEXED[name])
        compiled(x, fg.tensor([2]), v)
        with pytest.raises(fg.errors.IndexOutOfRangeError, match=f"{op}.* 3 "):
            compiled(x, fg.tensor([3]), v)
        assert len(compiled.programs) == 1
    weighted = fg.compile(lambda x, w: fg.cov(x, aweights=w))
    weighted(fg.ones(3), fg.ones(3))
    with pytest.raises(fg.errors.ArgumentError, match="a weight of -2"):
        weighted(fg.ones(3), fg.tensor([1.0, -2.0, -3.0]))


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
