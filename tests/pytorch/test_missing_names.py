"""Names of other libraries that are not here say what to use, as pytorch.md promises.

What a hint names exists: tests/package/test_public_faces.py.
"""

import importlib
import re
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from ferrograd._names.missing import MISSING
from ferrograd._pytorch import unsupported

MODULES = """sparse multiprocessing hub ao export package quantization onnx jit fx distributions
    profiler special testing futures library overrides masked nested version types compiler"""
OF_JAX = "debug block_until_ready make_jaxpr eval_shape associative_scan pmap lax tree"
METHODS = """qr svd lu hardshrink put_ apply_ map_ resize_as_ storage_offset layout at
    block_until_ready flat prelu set_ storage untyped_storage to_dense lu_solve
    triangular_solve igamma mvlgamma"""


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
        getattr(unsupported, name).fget(fg.ones(2))


@pytest.mark.parametrize("name", METHODS.split())
def test_what_a_hint_of_a_method_names_exists(name: str) -> None:
    x: Any = fg.ones(2, 2)
    for path in re.findall(r"\b(?:fg|nn|np|x)(?:\.\w+)+", str(getattr(unsupported, name).__doc__)):
        home, *names = path.split(".")
        found: Any = {"fg": fg, "nn": nn, "np": np, "x": x}[home]
        for part in names:
            found = getattr(found, part)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("distributions", r"PyTorch has it, here use ferrograd\.scipy\.stats"),
        ("nn.parameter", r"here use the classes of fg\.nn themselves, as nn\.Parameter"),
        ("nn.modules", r"here use the classes of fg\.nn"),
        ("nn.modules.conv", r"here use the classes of fg\.nn"),
        ("backends.cudnn", r"it is no module, write from ferrograd import backends"),
        ("utils.tensorboard", r"here use a package"),
        ("lax", r"JAX has it, here use fg\.scan"),
    ],
)
def test_imports_say_what_attributes_say(path: str, hint: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"^No module named 'ferrograd\..*'; .*{hint}"):
        importlib.import_module(f"ferrograd.{path}")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'ferrograd\.nothing'$"):
        importlib.import_module("ferrograd.nothing")


def test_every_hint_of_a_module_is_one_of_its_import() -> None:
    """Where the name is no attribute: some are functions of PyTorch's."""
    for group in MISSING:
        parent = f"ferrograd.{group.namespace}" if group.namespace else "ferrograd"
        if group.namespace == "Tensor" or not hasattr(importlib.import_module(parent), "__path__"):
            continue
        for name in group.names.split() if group.library == "PyTorch" else ():
            with pytest.raises(ModuleNotFoundError, match="PyTorch has it, here use"):
                importlib.import_module(f"{parent}.{name}")


def test_the_classes_of_tensors_say_how_sizes_are_given() -> None:
    with pytest.raises(AttributeError, match=r"fg\.empty\(2, 3, dtype=…\) of sizes"):
        _ = fg.FloatTensor  # type: ignore[attr-defined]


def test_a_split_by_position_is_refused_with_both_spellings() -> None:
    x = fg.ones(6, 2)
    text = r"split: \(2, 1\) .* x\.split_with_sizes\(2, dim=1\) or x\.split\(2, axis=1\)"
    with pytest.raises(fg.errors.ArgumentError, match=text):
        x.split(2, 1)
    assert [part.shape for part in x.split(2, axis=1)] == [(6, 1)] * 2
    assert [part.shape for part in fg.split(x, 2, 1)] == [(6, 1)] * 2
    assert [part.shape for part in np.split(x, 2, 1)] == [(6, 1)] * 2
    with pytest.raises(
        fg.errors.ArgumentError, match=r"axes \(-2, -1\) .* swapaxes\(0, 1\) or perm"
    ):
        x.transpose(-2, -1)


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
