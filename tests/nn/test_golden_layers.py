"""Layers and losses beside PyTorch's numbers, compiled, and in both modes.

Cases: `golden/layers/layer_cases.py` and its neighbours; numbers: `golden/layers/layers.py`.
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
READ = ("CTCLoss", "pack_padded_sequence", "AdaptiveLogSoftmaxWithLoss")


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
    # A module that is made inside counts as state: the fifth call is recorded.
    for step in range(6):
        scale = 1.0 - 0.125 * step
        given = [
            None if k in fixed else x if k in whole else x.detach() * scale
            for k, x in enumerate(inputs)
        ]
        got, plain = compiled(*given), run(eager, given)
        assert len(got) == len(plain)
        for a, b in zip(got, plain, strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    assert len(compiled.programs) == 1


TRAINED = (
    "nn.Conv2d(2, 2, 2) ",
    "nn.Conv3d(2, 2, 2) ",
    "nn.ConvTranspose1d(2, 3, 3) ",
    "nn.BatchNorm1d(3) ",
    "nn.Embedding(5, 2) ",
    "nn.MaxPool1d(2) ",
    "nn.Upsample((3, 5), mode='bilinear') ",
    "nn.LSTM(2, 2) ",
    "nn.GRU(2, 2) ",
    "nn.MultiheadAttention(4, 2) ",
    "nn.TransformerEncoderLayer(2, 1, 3, 0.0) ",
    "nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)) ",
)
STEPS = [case for case, _ in GOLDEN if case.train and case.key.startswith(TRAINED)]


@pytest.mark.parametrize("case", STEPS, ids=[case.key for case in STEPS])
def test_compiled_training_steps_have_the_bits_of_eager_ones(case: Case) -> None:
    eager, module = loaded(case), loaded(case)
    inputs = [x.detach() if isinstance(x, fg.Tensor) else x for x in arguments(case)]

    def step(net: nn.Module, *given: Any) -> Any:
        net.zero_grad()
        loss: Any = 0.0
        for out in flat(net(*given, **named(case))):
            loss = loss + (out * out).sum()
        if loss.requires_grad:
            loss.backward()
        with fg.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
        return loss.detach()

    compiled = fg.compile(lambda *given: step(module, *given))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(*inputs).numpy(), step(eager, *inputs).numpy())
        for a, b in zip(module.state_dict().values(), eager.state_dict().values(), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert len(compiled.programs) == 1
