"""`t.view(dtype)`: the same bytes as another dtype.

Views of shapes are in `test_parity_views.py`.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

DTYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


@pytest.mark.parametrize(("old", "new"), list(itertools.product(DTYPES, DTYPES)))
@pytest.mark.parametrize("shape", [(4,), (2, 8), (3, 1), (2, 0), (0, 4), ()])
def test_every_pair_is_numpy_s(old: str, new: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape, dtype=int))
    a = np.arange(size * np.dtype(old).itemsize, dtype="u1").view(old).reshape(shape)
    t = fg.tensor(a)
    try:
        want = a.view(new)
    except ValueError:
        with pytest.raises(fg.errors.ShapeError, match="view: "):
            t.view(new)
        return
    got = t.view(new)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.numpy().tobytes() == want.tobytes()
    assert np.shares_memory(got.numpy(), t.numpy()) or size == 0


def test_spellings() -> None:
    t = fg.tensor([1.0, 2.0])
    for new in (np.int64, "i8", np.dtype("int64"), fg.int64):
        assert t.view(new).dtype == np.int64
    assert t.view(dtype=np.int64).dtype == np.int64
    assert fg.view(t, complex).tolist() == [1 + 2j]
    assert t.view(float).tolist() == [1, 2]
    assert t.view(float)._base is t
    assert t.view()._base is t
    assert t.view(2, 1).shape == t.view((2, 1)).shape == t.view(size=(2, 1)).shape == (2, 1)
    assert t.view(-1).shape == (2,)
    with pytest.raises(fg.errors.ArgumentTypeError, match="a shape or a dtype"):
        t.view(1.5)


def test_the_last_axis_must_be_contiguous() -> None:
    a = np.arange(12.0).reshape(3, 4)
    t = fg.tensor(a)
    assert t.T.view(np.int64).shape == (4, 3)
    for view in (np.float32, complex):
        with pytest.raises(ValueError, match="last axis must be contiguous"):
            a.T.view(view)
        with pytest.raises(fg.errors.ShapeError, match="last axis must be contiguous"):
            t.T.view(view)
    np.testing.assert_array_equal(t[::2].view(complex).numpy(), a[::2].view(complex))


@pytest.mark.parametrize("new", ["int64", "float32", "uint8", "complex64"])
def test_memory_and_version_are_shared(new: str) -> None:
    t = fg.tensor([1.0, 2.0])
    v = t.view(new)
    v[...] = 0
    assert t.tolist() == [0, 0]
    assert (t._version, v._version) == (1, 1)
    t[0] = 5.0
    assert v.numpy().tobytes() == t.numpy().tobytes()


@pytest.mark.parametrize("new", ["int64", "float32", "float16", "complex64"])
def test_other_dtypes_are_constants(new: str) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    v = y.view(new)
    assert not v.requires_grad
    assert not v._is_view()
    loss = (y * y).sum()
    v[...] = 0
    assert y.tolist() == [0, 0]
    loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 4]
    y = x * 1
    loss = (y * y).sum()
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        y.view(new)[...] = 0
    with pytest.raises(fg.errors.InPlaceError, match="changed in place"):
        loss.backward()


@pytest.mark.parametrize(("whole", "part"), [("complex128", "float64"), ("complex64", "float32")])
def test_parts_have_derivatives(whole: str, part: str) -> None:
    z = fg.tensor([1 + 2j, 3 - 1j], dtype=whole, requires_grad=True)
    y = z * 1
    v = y.view(part)
    assert v._base is y
    v[1:3] *= 2
    v.view(whole)[1] = 5j * y[0]
    (v**2).sum().backward()
    assert v.tolist() == [1, 4, -20, 5]
    # v is (r, 2 i, -10 i, 5 r) of the first number r + i j.
    np.testing.assert_allclose(z.grad.numpy(), [52 + 416j, 0])
    x = fg.tensor(np.arange(4.0), dtype=part, requires_grad=True)
    (abs(x.view(whole)) ** 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 2, 4, 6])


def test_parts_have_derivatives_of_every_order() -> None:
    z = fg.tensor([[1 + 2j, 3 - 1j]], requires_grad=True)
    assert fg.gradcheck(lambda z: z.view(float) ** 3, (z,))
    assert fg.gradgradcheck(lambda z: (z.view(float) ** 3).view(complex) ** 2, (z,))


def test_what_no_view_can_show() -> None:
    with pytest.raises(fg.errors.DTypeError, match="not every byte is a boolean"):
        fg.tensor(np.array([0, 1, 2], "u1")).view(bool)
    with pytest.raises(fg.errors.DTypeError, match="not every byte is a boolean"):
        fg.tensor([True]).view("u1")
    with pytest.raises(fg.errors.ShapeError, match=r"first position 1; view a clone\(\)"):
        fg.arange(4.0)[1:3].view(complex)
    odd = np.zeros(17, "u1")[1:]
    with pytest.raises(fg.errors.ShapeError, match=r"view a clone\(\)"):
        fg.from_numpy(odd).view("f8")
    assert fg.from_numpy(odd).clone().view("f8").tolist() == [0, 0]


def test_replay() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        bits = y.view("i8") + 1
        y.view("i8")[0] = 0
        return bits, y, y.view(complex) * 1j, fg.zeros(4).view("i8") + bits

    compiled = fg.compile(f)
    for seed in range(3):
        x = fg.tensor(np.random.default_rng(seed).standard_normal(4))
        for got, want in zip(compiled(x), f(x), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()
