"""A tensor without axes has, for PyTorch's functions, the one axis 0 or -1.

Axes that there are: the operation table.
"""

from collections.abc import Callable
from typing import Any

import pytest

import ferrograd as fg
from ferrograd.nn import functional as F  # noqa: N812

ZERO = fg.tensor(0)
REDUCED = "mean prod amax amin nansum nanmean logsumexp median flip"


#: By what is written, of `x` and an axis `d`; the value is that of `x` itself unless it says more.
CALLS: dict[str, Callable[[Any, int], Any]] = {
    **{name: lambda x, d, name=name: getattr(x, name)(d) for name in REDUCED.split()},
    "sum": lambda x, d: x.sum(dim=d),
    "norm": lambda x, d: x.norm(dim=d),
    "vector_norm": lambda x, d: fg.linalg.vector_norm(x, 3, d),
    "quantile": lambda x, d: x.quantile(0.3, dim=d),
    "topk": lambda x, d: x.topk(1, d).values,
    "roll": lambda x, d: x.roll(3, d),
    "transpose": lambda x, d: x.transpose(d, -1 - d),
    "swapaxes": lambda x, d: x.swapaxes(d, 0),
    "movedim": lambda x, d: x.movedim(d, 0),
    "gather": lambda x, d: x.gather(d, ZERO),
    "index_select": lambda x, d: x.index_select(d, ZERO),
    "index_add": lambda x, d: x.index_add(d, fg.tensor([0]), fg.tensor(0.0)),
    "squeeze": lambda x, d: x.squeeze(d),
    "var": lambda x, d: x + x.var(dim=d, correction=0),
    "std": lambda x, d: x + x.std(axis=d),
    "softmax": lambda x, d: x * x.softmax(d),
    "log_softmax": lambda x, d: x + F.log_softmax(x, d),
    "normalize": lambda x, d: x * F.normalize(x, dim=d),
    "scatter": lambda x, d: (x * 5).scatter(d, ZERO, x),
    "index_copy": lambda x, d: (x * 5).index_copy(d, fg.tensor([0]), x),
}


@pytest.mark.parametrize("d", [0, -1])
@pytest.mark.parametrize("name", CALLS)
def test_the_axis_of_a_number(name: str, d: int) -> None:
    x = fg.tensor(1.75, requires_grad=True)
    found = CALLS[name](x, d)
    assert found.shape == ()
    assert found.item() == pytest.approx(1.75), name
    if name not in ("normalize", "std"):
        (slope,) = fg.autograd.grad(found, x)
        assert slope.item() == pytest.approx(1.0), name
    for wrong in (1, -2):
        with pytest.raises((fg.errors.AxisError, fg.errors.ArgumentError)):
            CALLS[name](x, wrong)


def test_indices_and_masks() -> None:
    x = fg.tensor(2.0)
    assert x.argmax(dim=0).item() == 0
    assert x.argsort(-1).numel() == 1
    assert x.any(0).item()
    assert x.all(dim=-1).item()
    assert x.count_nonzero(dim=0).item() == 1
    assert x.index_fill(0, fg.tensor([0]), 5.0).item() == 5.0
    assert x.index_fill(0, fg.tensor([], dtype="int64"), 5.0).item() == 2.0
