"""Which calls share a program: numbers, static values and classes are told apart."""

import cmath
import collections
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import DTypeError
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


COMPLEX = [1 + 2j, 0.5 - 1j, complex(-0.0, 0.0), complex(0.0, -0.0), complex(np.nan, 1.0), 3j]
OF_COMPLEX: dict[str, Any] = {
    "product": lambda z: fg.sin(z) * z,
    "gradient": fg.holomorphic_grad(lambda z: fg.sin(z) * z),
    "second": fg.holomorphic_grad(fg.holomorphic_grad(lambda z: fg.exp(z) * z * z)),
    "real": fg.grad(lambda z: fg.abs(fg.sin(z) * z) ** 2),
    "beside arrays": lambda z: fg.tensor([1.0, 2.0]) * z + fg.tensor([1, 2]),
    "results": lambda z: (z, z.real, z.imag, fg.conj(z)),
}


def leaves(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_numbers_are_taken_anew(name: str) -> None:
    f = OF_COMPLEX[name]
    compiled = fg.compile(f)
    for z in COMPLEX * 2:
        found, want = leaves(compiled(z)), leaves(f(fg.tensor(z)))
        assert [np.asarray(x).tobytes() for x in found] == [x.numpy().tobytes() for x in want]
        assert not any(isinstance(x, fg.Tensor) for x in found)
    assert len(compiled.programs) == 1


def test_complex_numbers_in_containers_and_beside_others() -> None:
    f = fg.compile(lambda x, p, *, w: x * p["a"] + p["b"] * w)
    x = fg.tensor(np.linspace(0.1, 3.0, 5))
    for a, b, w in [(1j, 2.0, 3.0 + 1j), (2j, 3.0, 4.0 + 0j), (1.5j, 0.5, -1j)]:
        same_bits(f(x, {"a": a, "b": b}, w=w), x * fg.tensor(a) + fg.tensor(b) * fg.tensor(w))
    assert len(f.programs) == 1
    # Another kind of number is another program, and does not run the former one.
    same_bits(f(x, {"a": 2.0, "b": 3.0}, w=1j), x * 2.0 + fg.tensor(3.0) * fg.tensor(1j))
    same_bits(f(x, {"a": 1j, "b": 3.0}, w=1j), x * fg.tensor(1j) + fg.tensor(3.0) * fg.tensor(1j))
    assert len(f.programs) == 2
    assert "a complex number" in f.log[-1]
    assert "a float" in f.log[-1]


def test_complex_numbers_that_python_computes_with_belong_to_the_program() -> None:
    cases = {
        "cmath": lambda z, x: x * cmath.exp(z),
        "complex64": lambda z, x: x.astype("complex64") * z,
        "decision": lambda z, x: x if z == 1j else x * 2.0,
    }
    x = fg.tensor([0.1, 0.2])
    for f in cases.values():
        compiled = fg.compile(f)
        for z in (1j, 2j, 1j, complex(0.0, -0.0), complex(0.0, 0.0)):
            same_bits(compiled(z, x), f(z, x))


def test_a_complex_number_keeps_its_value_in_a_bound_call() -> None:
    x = np.array([1.0, 2.0])
    run = fg.compile(lambda x, z: x * z).bind(x, 2 + 1j)
    x[:] = 3.0, 4.0
    assert run().tobytes() == (fg.tensor(x) * fg.tensor(2 + 1j)).numpy().tobytes()


def test_complex_numbers_under_recording() -> None:
    compiled = fg.compile(lambda x, z: fg.abs(x * z).sum())
    for z in (1 + 1j, 2 - 1j):
        x = fg.tensor([0.5, 2.0], requires_grad=True)
        y = fg.tensor([0.5, 2.0], requires_grad=True)
        compiled(x, z).backward()
        fg.abs(y * fg.tensor(z)).sum().backward()
        assert x.grad is not None
        assert y.grad is not None
        same_bits(x.grad, y.grad)
    assert len(compiled.programs) == 1


def test_holomorphic_gradients_compile() -> None:
    def f(z: Any) -> Any:
        return fg.sin(z) * z * z

    whole = fg.holomorphic_grad(lambda z: fg.sum(f(z)))
    points = np.array([1 + 1j, 2 - 0.5j, -0.3j])
    for slope in (whole, fg.grad(lambda z: fg.sum(fg.abs(whole(z)) ** 2))):
        compiled = fg.compile(slope)
        for z in (points, points * 2.0):
            same_bits(compiled(fg.tensor(z)), slope(fg.tensor(z)))
        assert len(compiled.programs) == 1
    with pytest.raises(DTypeError, match="returned"):
        fg.compile(fg.holomorphic_grad(lambda z: fg.abs(fg.sum(z))))(points)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">f2", ">c16", ">c8", ">i4"])
def test_arrays_in_another_byte_order_are_those_in_ours(dtype: str) -> None:
    x = np.arange(1, 4).astype(dtype)
    own = x.astype(x.dtype.newbyteorder("="))
    compiled = fg.compile(lambda x: fg.sin(x) * 2)
    for given in (x, own, x[::-1]):
        found = compiled(given)
        assert found.dtype.isnative
        same_bits(fg.tensor(found), fg.sin(np.ascontiguousarray(given)) * 2)
    if x.dtype.kind != "i":
        slope = fg.grad(lambda x: fg.sum(abs(x) ** 2))
        assert np.array_equal(slope(x), slope(own))
        assert np.array_equal(fg.compile(slope)(x), slope(own))
