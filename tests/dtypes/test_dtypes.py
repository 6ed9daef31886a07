"""The dtypes of tensors: promotion, Python numbers, casting, exchange, text.

Operations: `test_dtype_sweep.py`.
"""

import copy
import itertools
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

REAL = [
    np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
]
ALL = [*REAL, np.dtype("c8"), np.dtype("c16")]
INTEGERS = [d for d in REAL if d.kind in "iu"]
FLOATS = [d for d in REAL if d.kind == "f"]
each = pytest.mark.parametrize("dtype", ALL, ids=str)


def test_every_pair_promotes_as_numpy() -> None:
    for a, b in itertools.product(ALL, ALL):
        x, y = fg.ones(2, dtype=a), fg.ones(2, dtype=b)
        expected = np.result_type(a, b)
        assert fg.concatenate([x, y]).dtype == expected, (a, b)
        assert fg.where(fg.ones(2) > 0, x, y).dtype == expected, (a, b)
        assert (x + y).dtype == expected, (a, b)
        assert (x * y.numpy()).dtype == expected, (a, b)


@each
def test_python_numbers_are_weak(dtype: Any) -> None:
    for number in (True, 2, 2.5):
        x = fg.ones(2, dtype=dtype)
        assert (x + number).dtype == np.result_type(dtype, number), number
        assert (number * x).dtype == np.result_type(dtype, number), number


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_numbers_out_of_range(dtype: Any) -> None:
    ends, x = np.iinfo(dtype), fg.ones(2, dtype=dtype)
    inside = [int(ends.min), int(ends.max)]
    for number in inside:
        np.testing.assert_array_equal(x * number, x.numpy() * number)
    for number in (ends.max + 1, ends.min - 1):
        for call in (operator.add, operator.mul, operator.floordiv):
            with pytest.raises(OverflowError):
                call(x, number)
            with pytest.raises(OverflowError):
                call(number, x)
    reach = [n for n in (ends.max + 1, ends.min - 1) if -(2**63) <= n < 2**64]
    for number in [*inside, *reach]:
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            call = getattr(operator, name)
            np.testing.assert_array_equal(call(x, number), call(x.numpy(), number), name)
            np.testing.assert_array_equal(call(number, x), call(number, x.numpy()), name)


def test_integers_beyond_int64_meet_uint64() -> None:
    big = 2**64 - 3
    x = fg.tensor([1, big], dtype=fg.uint64)
    assert x.tolist() == [1, big]
    assert (x - big).tolist() == [4, 0]
    assert fg.tensor(big).dtype == np.uint64
    assert fg.full((2,), big, dtype=fg.uint64).tolist() == [big, big]
    assert (x == big).tolist() == [False, True]
    assert (fg.ones(1) * big).item() == float(big)
    assert x.sum().item() == (1 + big) % 2**64
    assert x.max().item() == big
    assert fg.sort(x).tolist() == [1, big]
    assert (x // 2).tolist() == [0, big // 2]
    assert (x % 10).tolist() == [1, big % 10]
    assert (x >> 1).tolist() == [0, big >> 1]
    assert fg.sign(x).tolist() == [1, 1]
    assert abs(x).tolist() == [1, big]
    assert not fg.signbit(x).any()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_and_divide_by_zero_as_numpy(dtype: Any) -> None:
    ends = np.iinfo(dtype)
    a = np.array([ends.min, ends.max, 7, 0, 1], dtype)
    b = np.array([0, 1, 2, 3, ends.max], dtype)
    with np.errstate(all="ignore"):
        for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "power"):
            expected = getattr(np, name)(a[:, None], b)
            made = getattr(fg, name)(fg.tensor(a)[:, None], fg.tensor(b))
            assert made.dtype == expected.dtype
            np.testing.assert_array_equal(made, expected, name)
        np.testing.assert_array_equal(-fg.tensor(a), -a)
        np.testing.assert_array_equal(abs(fg.tensor(a)), abs(a))


@each
def test_exchange(dtype: Any) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype)
    t = fg.tensor(a)
    assert t.dtype == dtype
    assert hash(t.dtype) == hash(dtype)
    np.testing.assert_array_equal(t.numpy(), a)
    assert np.asarray(t).dtype == dtype
    assert np.array(t).dtype == dtype
    assert t.tolist() == a.tolist()
    assert type(t[1, 2].item()) is type(a[1, 2].item())
    assert t[1, 2].item() == a[1, 2].item()
    swapped = fg.asarray(a.astype(dtype.newbyteorder(">")))
    assert swapped.dtype == dtype
    np.testing.assert_array_equal(swapped, a)
    for other in (pickle.loads(pickle.dumps(t)), copy.copy(t), copy.deepcopy(t), t.clone()):
        assert other.dtype == dtype
        np.testing.assert_array_equal(other, a)
    np.testing.assert_array_equal(np.from_dlpack(t), a)
    np.testing.assert_array_equal(fg.from_dlpack(a), a)
    assert fg.tensor(a.tolist(), dtype=dtype).dtype == dtype
    for name in (dtype.name, dtype.type, dtype):
        assert fg.tensor([1, 0], dtype=name).dtype == dtype


@each
def test_text_is_numpys(dtype: Any) -> None:
    values = np.array([0, 1, 0.1, 1 / 3, 100.25, 60000])
    with np.errstate(all="ignore"):
        a = values.astype(dtype)
    for shown in (a, a[:0], a[:4], a.reshape(2, 3)):
        assert str(fg.tensor(shown)) == str(shown)
        assert np.array2string(shown, separator=", ", prefix="tensor(") in repr(fg.tensor(shown))
    named = f"dtype={dtype}" in repr(fg.tensor(a))
    assert named is (dtype not in (np.float64, np.int64, np.bool_))


@each
def test_creation(dtype: Any) -> None:
    assert fg.zeros(2, 3, dtype=dtype).dtype == dtype
    assert fg.ones(2, dtype=dtype).numpy().tolist() == np.ones(2, dtype).tolist()
    assert fg.empty(2, dtype=dtype).dtype == dtype
    assert fg.full((2,), 1, dtype=dtype).numpy().tolist() == np.full(2, 1, dtype).tolist()
    assert fg.zeros_like(fg.ones(2, dtype=dtype)).dtype == dtype
    np.testing.assert_array_equal(fg.eye(3, dtype=dtype), np.eye(3, dtype=dtype))
    if dtype.kind != "b":
        np.testing.assert_array_equal(fg.arange(5, dtype=dtype), np.arange(5, dtype=dtype))
        assert fg.linspace(0, 4, 5, dtype=dtype).dtype == dtype
    assert fg.rand(3, dtype=dtype).dtype == dtype
    assert fg.randn(3, dtype=dtype).dtype == dtype
    if dtype.kind != "c":
        assert fg.randint(0, 2, (3,), dtype=dtype).dtype == dtype


def test_names() -> None:
    for dtype in ALL[1:]:
        assert getattr(fg, dtype.name) == dtype
    x = fg.ones(2)
    methods = {
        "half": "f2",
        "float": "f4",
        "double": "f8",
        "char": "i1",
        "short": "i2",
        "int": "i4",
    }
    methods |= {"long": "i8", "byte": "u1", "bool": "?", "cfloat": "c8", "cdouble": "c16"}
    for name, code in methods.items():
        assert getattr(x, name)().dtype == np.dtype(code)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_casting_rules() -> None:
    for a, b in itertools.product(ALL, ALL):
        for rule in ("no", "equiv", "safe", "same_kind", "unsafe"):
            x = fg.ones(2, dtype=a)
            if np.can_cast(a, b, rule):
                assert x.astype(b, casting=rule).dtype == b
            else:
                with pytest.raises(TypeError):
                    x.astype(b, casting=rule)


def test_long_double_is_converted() -> None:
    a = np.array([1.5, 2.5], np.longdouble)
    assert fg.asarray(a).dtype == np.float64
    assert fg.tensor(a).tolist() == [1.5, 2.5]
    assert (fg.ones(2) * a).tolist() == [1.5, 2.5]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_of_any_dtype_index(dtype: Any) -> None:
    x, index = fg.tensor([1.0, 2.0, 3.0]), fg.tensor([2, 0], dtype=dtype)
    rows = fg.eye(3)
    assert x[index].tolist() == [3.0, 1.0]
    assert fg.take(x, index).tolist() == [3.0, 1.0]
    assert fg.gather(x, 0, index).tolist() == [3.0, 1.0]
    assert fg.embedding(index, rows).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert fg.one_hot(index).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert fg.cross_entropy(rows[:2], index).dtype == np.float64
    assert fg.where(index, 1.0, 0.0).tolist() == [1.0, 0.0]
    assert fg.scatter_add(x, 0, index, fg.ones(2)).tolist() == [2.0, 2.0, 4.0]
    z = fg.zeros(3, dtype=dtype)
    z[index] = 1
    assert z.tolist() == [1, 0, 1]
    lowest = fg.scatter_reduce(
        fg.zeros(2, dtype=dtype),
        0,
        fg.tensor([0, 0]),
        fg.tensor([3, 5], dtype=dtype),
        "amin",
        include_self=False,
    )
    assert lowest.tolist() == [3, 0]


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_reductions(dtype: Any) -> None:
    a = np.array([[1, 0, 3], [2, 5, 1]]).astype(dtype)
    t, where = fg.tensor(a), np.array([True, False, True])
    for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax"):
        for axis in (None, 0, 1):
            expected = getattr(np, name)(a, axis=axis)
            made = getattr(np, name)(t, axis=axis)
            assert made.dtype == expected.dtype, (name, axis)
            np.testing.assert_allclose(made, expected, 2e-3, err_msg=name)
    for name in ("sum", "prod"):
        for wanted in REAL:
            expected = getattr(np, name)(a, dtype=wanted)
            made = getattr(np, name)(t, dtype=wanted)
            assert made.dtype == wanted
            np.testing.assert_allclose(made, expected, 2e-3, err_msg=f"{name} {wanted}")
        expected = getattr(np, name)(a, axis=1, where=where)
        made = getattr(np, name)(t, axis=1, where=where)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, 2e-3)
    for name in ("cumsum", "cumprod"):
        expected, made = getattr(np, name)(a, axis=1), getattr(np, name)(t, axis=1)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, 2e-3)


def test_float16_has_gradients() -> None:
    x = fg.tensor([0.5, 1.0, 2.0], dtype=fg.float16, requires_grad=True)
    y = (fg.softmax(x, 0) * x.exp()).sum()
    assert y.dtype == np.float16
    y.backward()
    assert x.grad.dtype == np.float16
    wide = fg.tensor([0.5, 1.0, 2.0], requires_grad=True)
    (fg.softmax(wide, 0) * wide.exp()).sum().backward()
    np.testing.assert_allclose(x.grad, wide.grad, 5e-3)
    (g,) = fg.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = fg.autograd.grad(g.sum(), x)
    assert h.dtype == np.float16
    np.testing.assert_allclose(h, 6 * x.detach().numpy(), 2e-3)
    assert fg.grad(lambda v: np.sum(v * v))(np.array([1, 2], np.float16)).dtype == np.float16


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_optimisers_step_float16(name: str) -> None:
    x = fg.tensor([1.0, -2.0], dtype=fg.float16, requires_grad=True)
    optimiser = getattr(fg.optim, name)([x], lr=0.125)
    for _ in range(3):
        optimiser.zero_grad()
        (x * x).sum().backward()
        optimiser.step()
    assert x.dtype == np.float16
    assert np.all(np.abs(x.detach().numpy()) < [1.0, 2.0])


COMPILED = {
    "arithmetic": lambda x: x * x + x,
    "comparison": lambda x: x > x.max() * 0 + 1,
    "sum": lambda x: x.sum(axis=0),
    "prod": lambda x: fg.prod(x),
    "mean": lambda x: x.mean(),
    "cumsum": lambda x: fg.cumsum(x, 0),
    "sort": lambda x: fg.sort(x),
    "matmul": lambda x: x @ x,
    "exp": fg.exp,
    "divide": lambda x: x / 3,
    "where": lambda x: fg.where(x > 1, x, x * x),
    "index": lambda x: x[fg.tensor([1, 0])],
    "concatenate": lambda x: fg.concatenate([x, x]),
    "astype": lambda x: x.astype(fg.float32),
    "softmax": lambda x: fg.softmax(x, axis=0),
}


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_replay_has_the_bits_of_eager(name: str, dtype: Any) -> None:
    compiled = fg.compile(COMPILED[name])
    for shift in range(3):
        x = fg.tensor((np.array([[1, 2], [0, 3]]) + shift).astype(dtype))
        expected, made = COMPILED[name](x), compiled(x)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)


def test_float64_is_rounded_to_float16_once() -> None:
    near = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 1 + 2**-11, 65519.999, 3e-8, 1e-300])
    values = np.concatenate([near, -near, np.random.default_rng(0).standard_normal(1000)])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(fg.tensor(values).astype("float16").numpy(), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_loops_and_branches_add_up_what_they_close_over(dtype: Any) -> None:
    """The sum of a closure's gradients has its dtype, whichever that is."""
    start = np.array([0.5, 1.0, 0.25], dtype)

    def loop(x: fg.Tensor) -> fg.Tensor:
        return fg.fori_loop(0, 3, lambda i, c: c * x + x, x)

    def unrolled(x: fg.Tensor) -> fg.Tensor:
        c = x
        for _ in range(3):
            c = c * x + x
        return c

    def branch(x: fg.Tensor) -> fg.Tensor:
        return fg.cond(fg.abs(x).sum() > 0.1, lambda c: c * x, lambda c: c, x)

    def gradient(f: Any) -> Any:
        x = fg.tensor(start, requires_grad=True)
        fg.abs(f(x)).sum().backward()
        return x.grad.numpy()

    for _ in range(20):
        np.testing.assert_allclose(gradient(loop), gradient(unrolled), 2e-3)
        np.testing.assert_allclose(gradient(branch), gradient(lambda x: x * x), 2e-3)
