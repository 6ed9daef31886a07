"""Names of other libraries that are not here say what to use, as pytorch.md promises.

Owns: modules, methods and arguments. What a hint names exists: tests/package/test_public_faces.py.
"""

import re
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from ferrograd._pytorch import absent

MODULES = """sparse multiprocessing hub ao export package quantization onnx jit fx distributions
    profiler special testing futures library overrides masked nested version types compiler"""
OF_JAX = "debug block_until_ready make_jaxpr eval_shape associative_scan pmap lax tree"
METHODS = """qr svd lu hardshrink put_ apply_ map_ resize_as_ storage_offset layout at
    block_until_ready flat prelu set_ storage untyped_storage to_dense lu_solve
    triangular_solve igamma mvlgamma stft"""


@pytest.mark.parametrize(
    ("home", "name"),
    [
        *((fg, name) for name in f"{MODULES} {OF_JAX}".split()),
        (nn, "attention"),
        (nn, "quantized"),
        (nn, "RNNBase"),
        (nn.functional, "upsample_nearest"),
        (fg.autograd, "Variable"),
        (nn.utils, "stateless"),
        (nn.utils, "prune"),
        (fg.utils, "tensorboard"),
        (fg.utils, "benchmark"),
    ],
)
def test_modules_say_what_to_use(home: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"'{name}'; (PyTorch|JAX) has it, here use \w"):
        getattr(home, name)


@pytest.mark.parametrize("name", METHODS.split())
def test_methods_say_what_to_use(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"{name!r}; (PyTorch|JAX|NumPy) has it, here \w"):
        getattr(absent, name).fget(fg.ones(2))


@pytest.mark.parametrize("name", METHODS.split())
def test_what_a_hint_of_a_method_names_exists(name: str) -> None:
    x: Any = fg.ones(2, 2)
    for path in re.findall(r"\b(?:fg|nn|np|x)(?:\.\w+)+", str(getattr(absent, name).__doc__)):
        home, *names = path.split(".")
        found: Any = {"fg": fg, "nn": nn, "np": np, "x": x}[home]
        for part in names:
            found = getattr(found, part)


DROPPED = ["dropout", "dropout1d", "dropout2d", "dropout3d"]
ALPHA = ["alpha_dropout", "feature_alpha_dropout", "rrelu"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, (0.5, False)) for name in [*DROPPED, *ALPHA[:2]]),
        ("rrelu", (0.1, 0.3, False)),
        ("threshold", (0.1, 2.0)),
    ],
)
def test_a_result_that_is_another_tensor_is_what_inplace_false_asks_for(
    name: str, options: tuple[Any, ...]
) -> None:
    call: Any = getattr(nn.functional, name)
    x = fg.tensor(np.linspace(-1.0, 1.0, 16).reshape(2, 2, 2, 2)[(0,) * (name == "dropout1d")])
    expected = call(x, *options).tolist()
    assert call(x, *options, inplace=False).tolist() == expected
    assert call(x, *options, False).tolist() == expected
    with pytest.raises(
        fg.errors.ArgumentError, match=rf"^{name}: inplace=True, .* use .*F\.{name}"
    ):
        call(x, *options, inplace=True)


def test_a_generator_knows_its_seed() -> None:
    assert fg.Generator(7).initial_seed() == 7
    assert fg.Generator(np.random.default_rng(3)).initial_seed() == 3
    assert fg.Generator(7).manual_seed(8).initial_seed() == 8
    g = fg.Generator()
    first = fg.rand(3, generator=g).tolist()
    assert fg.rand(3, generator=fg.Generator(g.initial_seed())).tolist() == first
