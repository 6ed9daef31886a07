"""Layers and losses beside PyTorch's numbers, compiled, and in both modes.

Owns: the comparison. Cases: `golden/layer_cases.py` and its neighbours; numbers:
`golden/layers.py`.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from golden_support import Case, arguments, flat, golden, loaded, named, values

GOLDEN = golden()
IDS = [case.key for case, _ in GOLDEN]


@pytest.mark.parametrize(("case", "want"), GOLDEN, ids=IDS)
def test_values_and_derivatives_are_pytorch_s(case: Case, want: np.ndarray) -> None:
    got = values(case, want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=case.rtol, atol=1e-11)


#: Modules whose options say what the values of lengths are: those are read, not recorded.
READ = ("CTCLoss", "pack_padded_sequence")


@pytest.mark.parametrize(("case", "want"), GOLDEN, ids=IDS)
def test_compiled_calls_have_the_bits_of_eager_ones(case: Case, want: np.ndarray) -> None:
    eager, module = loaded(case), loaded(case)
    inputs, options = arguments(case), named(case)
    whole = [k for k, x in enumerate(inputs) if not isinstance(x, fg.Tensor) or x.dtype.kind != "f"]
    fixed = {k: inputs[k] for k in whole if any(word in case.key for word in READ)}

    def run(function: Any, given: list[Any]) -> list[fg.Tensor]:
        args = [fixed.get(k, x) for k, x in enumerate(given)]
        outs = flat(function(*args, **options))
        if isinstance(function, nn.Module):
            outs += [b.clone() for b in function.buffers()]
        return outs

    compiled = fg.compile(lambda *given: run(module, list(given)))
    for step in range(3):
        scale = 1.0 - 0.25 * step
        given = [
            None if k in fixed else x if k in whole else x.detach() * scale
            for k, x in enumerate(inputs)
        ]
        got, plain = compiled(*given), run(eager, given)
        assert len(got) == len(plain)
        for a, b in zip(got, plain, strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    assert len(compiled.programs) == 1
