"""Which calls share a program: numbers, static values and classes are told apart.

Owns: keys of programs. What a compiled function does is in `test_compile.py`.
"""

import collections
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from test_compile import same_bits


def test_numbers_as_exponents_and_options_belong_to_the_program() -> None:
    x = fg.tensor(np.linspace(0.1, 3.0, 50))
    power = fg.compile(lambda x, s: x**s)
    leaky = fg.compile(lambda x, s: fg.leaky_relu(x, s))
    for s in (3.0, 2.0, -1.0, 0.5):
        same_bits(power(x, s), x**s)
        same_bits(leaky(x - 1.0, abs(s)), fg.leaky_relu(x - 1.0, abs(s)))


def test_the_default_dtype_belongs_to_the_program() -> None:
    f = fg.compile(lambda x: fg.ones(2) * x)
    x = fg.tensor([1, 2], dtype="uint8")
    try:
        for dtype in ("float64", "float32", "float64"):
            fg.set_default_dtype(dtype)
            for _ in range(2):
                assert f(x).dtype == np.dtype(dtype)
    finally:
        fg.set_default_dtype("float64")


def test_signatures_tell_values_and_classes_apart() -> None:
    f = fg.compile(lambda x, t: x * t[0], static_argnums=1)
    x = fg.tensor([1, 2])
    for t in ((2,), (2.0,), (True,)):
        same_bits(f(x, t), x * t[0])
    makers = [collections.namedtuple("P", "a") for _ in range(2)]
    g = fg.compile(lambda p: p.a * (2.0 if type(p) is makers[0] else 3.0))
    for maker in makers:
        same_bits(g(maker(x)), x * (2.0 if maker is makers[0] else 3.0))


def test_a_compiled_module_is_used_like_the_module() -> None:
    model = fg.nn.Linear(2, 3)
    compiled = fg.compile(model, name="linear")
    assert repr(compiled) == "<compiled linear: 0 programs>"
    assert [p.shape for p in compiled.parameters()] == [p.shape for p in model.parameters()]
    assert compiled.state_dict().keys() == model.state_dict().keys()
    compiled(fg.ones(4, 2))
    assert repr(compiled) == "<compiled linear: 1 program>"
    with pytest.raises(AttributeError, match="nothing_of_this"):
        _ = compiled.nothing_of_this


def test_keywords_in_another_order_share_a_program() -> None:
    f = fg.compile(lambda x, *, scale, shift: x * scale + shift)
    x, scale, shift = np.ones(2), np.full(2, 3.0), np.full(2, 0.5)
    for _ in range(3):
        assert f(x, scale=scale, shift=shift).tolist() == [3.5, 3.5]
        assert f(x, shift=shift, scale=scale).tolist() == [3.5, 3.5]
        assert f(shift=shift, scale=scale, x=x).tolist() == [3.5, 3.5]
    assert len(f.programs) == 2
    run = f.bind(x, shift=shift, scale=scale)
    assert run().tolist() == [3.5, 3.5]
    assert len(f.programs) == 2


def test_a_function_that_sees_the_order_of_keywords_keeps_it() -> None:
    def last(**given: Any) -> Any:
        return [*given.values()][-1] * 2.0, list(given)

    f = fg.compile(last)
    a, b = np.ones(2), np.zeros(2)
    for _ in range(3):
        assert f(a=a, b=b)[0].tolist() == [0.0, 0.0]
        assert f(b=b, a=a)[1] == ["b", "a"]
        assert f(b=b, a=a)[0].tolist() == [2.0, 2.0]


def test_keywords_of_modules_and_transforms_in_another_order() -> None:
    class Affine(fg.nn.Module):
        def forward(self, x: Any, *, scale: Any, shift: Any) -> Any:
            return (x * scale + shift * shift).sum()

    x, scale, shift = (fg.tensor(value) for value in (2.0, 3.0, 4.0))
    for f in (fg.compile(Affine()), fg.compile(fg.grad(Affine()))):
        first = f(x, scale=scale, shift=shift)
        assert f(x, shift=shift, scale=scale).item() == first.item()
        assert f(x, shift=scale, scale=shift).item() != first.item()
        assert len(f.programs) == 1
