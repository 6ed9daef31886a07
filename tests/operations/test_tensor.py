"""What a tensor is: construction, attributes, conversions, Python's protocols.

Who shares memory and what leaves the graph: `test_sharing.py`; operations: `test_ops.py`;
gradients: `test_autograd.py`; messages: `test_errors.py`.
"""

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from op_support import DTYPES


def matrix(**options: Any) -> fg.Tensor:
    return fg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **options)


CONSTRUCTED = {
    "float": (1.5, np.array(1.5)),
    "int": (3, np.array(3)),
    "bool": (True, np.array(True)),
    "list": ([1, 2.5], np.array([1, 2.5])),
    "nested": (((1, 2), (3, 4)), np.array([[1, 2], [3, 4]])),
    "empty": ([], np.array([])),
    "empty rows": ([[], []], np.zeros((2, 0))),
    "array": (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)),
    "transposed": (np.arange(6.0).reshape(2, 3).T, np.arange(6.0).reshape(2, 3).T),
    "big-endian": (np.arange(3, dtype=">f8"), np.arange(3.0)),
    "big-endian int": (np.arange(3, dtype=">i4"), np.arange(3, dtype=np.int32)),
    "numpy scalar": (np.float32(0.1), np.array(0.1, np.float32)),
    "list of numpy scalars": ([np.float32(1), np.float32(2)], np.array([1, 2], np.float32)),
    "range": (range(3), np.arange(3)),
    "subclass": (np.ma.masked_array([1.0, 2.0]), np.array([1.0, 2.0])),
}


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_construction(name: str) -> None:
    data, expected = CONSTRUCTED[name]
    t = fg.tensor(data)
    assert (t.shape, t.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(t.numpy(), expected)
    assert t.is_leaf
    assert not t.requires_grad


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_numpy_s(dtype: Any) -> None:
    t = fg.tensor([0, 1, 2], dtype=dtype)
    assert t.dtype is np.dtype(dtype)
    assert t.dtype is getattr(fg, "bool_" if dtype is np.bool_ else np.dtype(dtype).name)
    np.testing.assert_array_equal(t.numpy(), np.array([0, 1, 2]).astype(dtype))
    assert t.itemsize == t.element_size() == t.dtype.itemsize
    assert t.nbytes == 3 * t.itemsize


def test_default_dtype() -> None:
    try:
        fg.set_default_dtype(fg.float32)
        made = [fg.tensor(1.5), fg.tensor([1.5, 2]), fg.zeros(2), fg.randn(2), fg.linspace(0, 1, 3)]
        assert [t.dtype for t in made] == [np.float32] * len(made)
        assert fg.tensor(np.array(1.5)).dtype == np.float64
        assert fg.tensor([1, 2]).dtype == np.int64
        assert fg.get_default_dtype() is fg.float32
    finally:
        fg.set_default_dtype(fg.float64)
    with pytest.raises(fg.errors.ArgumentError):
        fg.set_default_dtype(fg.int64)


def test_tensor_copies_and_stacks_tensors_differentiably() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    copied = fg.tensor(x)
    assert copied.is_leaf
    assert not copied.requires_grad
    stacked = fg.tensor([[x[0], 5.0], [x[1], x[0]]])
    stacked.backward(np.array([[1.0, 10.0], [100.0, 1000.0]]))
    np.testing.assert_array_equal(stacked.detach().numpy(), [[1, 5], [2, 1]])
    np.testing.assert_array_equal(x.grad.numpy(), [1001.0, 100.0])


CREATED = {
    "zeros": (fg.zeros(2, 3), np.zeros((2, 3))),
    "zeros tuple": (fg.zeros((2, 3), dtype=np.int32), np.zeros((2, 3), np.int32)),
    "ones": (fg.ones(2), np.ones(2)),
    "full": (fg.full((2,), 7), np.full((2,), 7)),
    "full bool": (fg.full((1, 2), True), np.full((1, 2), True)),
    "zeros 0-d": (fg.zeros(()), np.zeros(())),
    "arange": (fg.arange(2, 11, 3), np.arange(2, 11, 3)),
    "arange float": (fg.arange(0, 1, 0.25), np.arange(0, 1, 0.25)),
    "linspace": (fg.linspace(-1, 1, 5), np.linspace(-1, 1, 5)),
    "eye": (fg.eye(3), np.eye(3)),
    "zeros_like": (fg.zeros_like(fg.ones(2, dtype=np.float32)), np.zeros(2, np.float32)),
    "ones_like": (fg.ones_like(fg.zeros(2), dtype=np.int64), np.ones(2, np.int64)),
    "full_like": (fg.full_like(fg.zeros(2), 4.5), np.full(2, 4.5)),
}


@pytest.mark.parametrize("name", CREATED)
def test_creation(name: str) -> None:
    ours, theirs = CREATED[name]
    np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.dtype == theirs.dtype


def test_random_numbers_follow_the_seed() -> None:
    def draw() -> list[bytes]:
        fg.manual_seed(7)
        made = [
            fg.rand(3),
            fg.randn(2, 2),
            fg.randint(5, (4,)),
            fg.randperm(6),
            fg.rand_like(fg.ones(2)),
        ]
        return [t.numpy().tobytes() for t in made]

    assert draw() == draw()
    generator = fg.Generator(7)
    np.testing.assert_array_equal(
        fg.randn(3, generator=generator).numpy(), np.random.default_rng(7).standard_normal(3)
    )
    values = fg.randint(2, 5, (1000,)).numpy()
    assert set(values) == {2, 3, 4}
    assert sorted(fg.randperm(6).tolist()) == list(range(6))


def test_attributes() -> None:
    t = matrix(requires_grad=True, name="w")
    assert (t.shape, t.ndim, t.dim(), t.numel(), t.nbytes) == ((2, 3), 2, 2, 6, 48)
    assert t.size == 6
    assert (t.size(), t.size(0), t.size(-1)) == ((2, 3), 2, 3)
    assert (t.strides, t.stride(), t.stride(0), t.stride(-1)) == ((24, 8), (3, 1), 3, 1)
    assert (t.is_leaf, t.requires_grad, t.grad, t.grad_fn) == (True, True, None, None)
    assert (t.name, t.device, t._version, t.retains_grad) == ("w", "cpu", 0, False)
    assert t.is_contiguous()
    assert not t.T.is_contiguous()
    assert (t.T.shape, t.T.stride(), t.mT.shape) == ((3, 2), (1, 3), (3, 2))
    t.name = None
    assert t.name is None
    assert matrix().T.numpy().strides == (8, 24)


def test_dtype_shorthands() -> None:
    t = matrix(requires_grad=True)
    kinds = {"double": "f8", "float": "f4", "long": "i8", "int": "i4", "bool": "?"}
    for method, dtype in kinds.items():
        assert getattr(t, method)().dtype == np.dtype(dtype)
    assert t.double() is t
    assert t.cpu() is t
    assert t.to("cpu") is t
    assert t.to(np.float32).dtype == np.float32
    assert t.to(fg.zeros(1, dtype=np.int32)).dtype == np.int32
    t.float().sum().backward()
    assert t.grad.dtype == np.float64
    np.testing.assert_array_equal(t.grad.numpy(), np.ones((2, 3)))
    assert not t.long().requires_grad


def test_python_protocols() -> None:
    t = matrix()
    assert len(t) == 2
    assert [row.tolist() for row in t] == t.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert 5.0 in t
    assert 7.0 not in t
    assert isinstance(t == t, fg.Tensor)
    assert (t == 2).tolist() == [[False, True, False], [False] * 3]
    assert len({t, t, matrix()}) == 2
    one = fg.tensor(2.5)
    assert (float(one), int(one), bool(one), complex(one)) == (2.5, 2, True, 2.5 + 0j)
    assert not bool(fg.tensor([0]))
    assert "abc"[fg.tensor(1)] == "b"
    assert isinstance(fg.tensor(3).item(), int)
    assert isinstance(fg.tensor(True).item(), bool)
    copy = +t
    copy += 1.0
    assert t.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert abs(fg.tensor(-2.0)).item() == 2.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: fg.tensor([1.0, 2.5]), "tensor([1. , 2.5])"),
        (lambda: fg.tensor([1, 2], dtype=np.int32), "tensor([1, 2], dtype=int32)"),
        (lambda: fg.tensor(1.0, requires_grad=True), "tensor(1., requires_grad=True)"),
        (
            lambda: fg.tensor([1.0], requires_grad=True) * 2,
            "tensor([2.], grad_fn=<MultiplyBackward>)",
        ),
        (lambda: fg.zeros(0, 2), "tensor([], dtype=float64, shape=(0, 2))"),
        (lambda: fg.tensor(2.0, name="w"), 'tensor(2., name="w")'),
    ],
)
def test_repr(make: Any, text: str) -> None:
    assert repr(make()) == text


def test_format() -> None:
    t = fg.tensor([1.23456])
    assert f"{t:.2f}" == "1.23"
    assert f"{fg.tensor([1.0, 2.0])}" == str(fg.tensor([1.0, 2.0])) == "[1. 2.]"
    assert f"{fg.tensor(7):>4}" == "   7"


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_of_a_leaf_keep_its_state(how: Any) -> None:
    t = matrix(requires_grad=True, name="w")
    (t * t).sum().backward()
    other = how(t)
    assert (other.name, other.requires_grad, other.is_leaf) == ("w", True, True)
    np.testing.assert_array_equal(other.numpy(), t.numpy())
    np.testing.assert_array_equal(other.grad.numpy(), t.grad.numpy())
    assert not np.shares_memory(other.numpy(), t.numpy())
    if how in (copy.copy, copy.deepcopy):
        assert how(t * 2).grad_fn.next_functions[0][0] is not None
    else:
        with pytest.raises(fg.errors.GradientError, match=r"pickle: a tensor with history"):
            how(t * 2)


def test_every_bound_method_is_pickled_by_its_name() -> None:
    t = fg.tensor([0.25, 0.75])
    for name in dir(t):
        method = getattr(t, name, None) if name not in ("H", "mH", "mT", "size") else None
        if callable(method) and not isinstance(method, type):
            again = pickle.loads(pickle.dumps(method))
            assert again.__name__ == method.__name__, name
            assert isinstance(copy.deepcopy(method), type(method)), name
    assert pickle.loads(pickle.dumps(t.sum))().item() == 1.0


def test_identity_and_weak_references() -> None:
    t = matrix(requires_grad=True)
    y = (t * 2).sum()
    assert y.grad_fn is y.grad_fn
    y.backward()
    assert t.grad is t.grad
    reference = weakref.ref(t)
    del t, y
    gc.collect()
    assert reference() is None


def test_a_subclass_is_a_tensor() -> None:
    class Weight(fg.Tensor):
        pass

    w = Weight([1.0, 2.0], requires_grad=True)
    w.note = "kept"
    (w * 3).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [3.0, 3.0])
    assert w.note == "kept"
    assert isinstance(w, fg.Tensor)
