"""Compiled functions that take and return containers of classes of their own.

Containers in general are in `test_compile.py`.
"""

import collections
import dataclasses
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import ferrograd as fg


@dataclasses.dataclass
class Output:
    value: Any
    slope: Any = None
    word: str = dataclasses.field(default="a", metadata={"static": True})


def test_results_in_containers_of_classes_of_their_own() -> None:
    kinds: list[Callable[..., Any]] = [
        Output,
        collections.OrderedDict,
        lambda **items: [Output(value=collections.defaultdict(list, items), word="b")],
    ]
    for kind in kinds:
        compiled = fg.compile(lambda x, kind=kind: kind(value=x * 1.0, slope=x * 2.0))
        for n in range(7):
            x = fg.full(2, float(n))
            found, want = compiled(x), kind(value=x * 1.0, slope=x * 2.0)
            assert repr(found) == repr(want)
        assert len(compiled.programs) == 1

    def of_arguments(p: Any) -> Any:
        return fg.scan(lambda c, _: (Output(c.value * p.slope, c.slope), None), p, length=2)[0]

    compiled = fg.compile(fg.grad(lambda p: (of_arguments(p).value ** 2).sum()))
    for n in range(1, 7):
        given = Output(np.full(2, float(n)), np.ones(2))
        assert compiled(given).slope.tolist() == [4.0 * n * n] * 2
    alive = weakref.ref(given.value)
    del given
    gc.collect()
    assert alive() is None
