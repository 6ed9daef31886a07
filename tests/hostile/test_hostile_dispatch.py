"""Objects that are whatever is asked of them, in the calls of NumPy and SciPy on tensors."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import special

import ferrograd as fg
from processes import run

ENDLESS = """
from scipy import special
class Endless:
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __iter__(self): return self
    def __next__(self): return self
    def __getitem__(self, i): return self
o, t = Endless(), fg.ones(3, requires_grad={tracked})
for f in (special.erf, special.gammaln, np.sin, np.add, np.sum, np.cumsum, special.jv):
    for call in (lambda: f(t, o), lambda: f(t, t, o), lambda: f(t, out=o), lambda: f(t, t, out=o),
                 lambda: f(t, where=o), lambda: f(t, dtype=o), lambda: f(np.ones(3), t, o)):
        try: call()
        except Exception as error: assert not isinstance(error, MemoryError)
"""


@pytest.mark.parametrize("tracked", [False, True])
def test_a_place_for_the_result_that_has_no_end(tracked: bool) -> None:
    done = run(ENDLESS.replace("{tracked}", str(tracked)), timeout=30.0)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("out", [itertools.count(), object(), [1.0, 2.0, 3.0]])
def test_a_place_for_the_result_is_an_array_or_a_tensor(out: Any) -> None:
    with pytest.raises(TypeError):
        special.erf(fg.ones(3), out=out)
    with pytest.raises(TypeError):
        np.sum(fg.ones(3), out=out)
