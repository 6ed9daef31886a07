"""What is a value and what is memory, of all that has no axes."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

NAMES: dict[str, Callable[[], Any]] = {
    "x": lambda: fg.tensor([1.0, 2.0, 4.0]),
    "w": lambda: fg.tensor([1.0, 2.0, 4.0], requires_grad=True),
    "A": lambda: fg.tensor(np.arange(6.0).reshape(2, 3)),
    "S": lambda: fg.tensor([[2.0, 1.0], [1.0, 3.0]]),
    "C": lambda: fg.tensor([1 + 2j, 3.0]),
    "i": lambda: fg.tensor(1),
    "m": lambda: fg.tensor(2.0),
    "v": lambda: fg.tensor([1.0, 2.0, 4.0])[1],
}


def made(text: str) -> Any:
    """The value of an expression about fresh tensors."""
    names = {name: make() for name, make in NAMES.items()}
    return eval(text, {**names, "np": np, "fg": fg})


def is_memory(t: Any) -> bool:
    """Whether `t += 1` changes `t` itself, told from the object and from its elements."""
    assert isinstance(t, fg.Tensor)
    assert t.shape == ()
    before, other = t.tolist(), t
    with fg.no_grad():
        other += 1
    assert other.tolist() == before + 1
    assert t.tolist() == (before + 1 if other is t else before)
    return other is t


ELEMENTS = """
x[1]
x[-1]
x[np.int64(1)]
x[np.int8(0)]
x[i]
x[i,]
A[1, 2]
A[(1, -2)]
A[np.int32(1), 2]
A[i, 0]
A[1][2]
A.T[2, 1]
x[::-1][0]
w[0]
v[()]
w[0][()]
next(iter(x))
list(x)[0]
[*A[0]][1]
[e for e in x][2]
[e for k, e in enumerate(x)][1]
max(x)
sorted(x)[0]
(lambda a, b, c: c)(*x)
np.unstack(x)[1]
fg.unstack(x)[1]
fg.numpy.unstack(w)[0]
fg.compile(fg.unstack)(x)[2]
C[0]
C[0].real
C[0].imag
v.real
v.T
"""

COMPUTED = """
m + 1
1 - m
m * m
-m
abs(m)
m ** 2
divmod(m, 2)[0]
fg.sin(m)
np.sin(m)
np.add(m, 1)
m.exp()
fg.maximum(m, 1)
fg.clip(m, 0, 1)
fg.round(m)
x @ x
fg.matmul(x, x)
fg.dot(x, x)
np.dot(x, x)
fg.inner(x, x)
fg.vdot(x, x)
fg.einsum("i,i->", x, x)
np.vecdot(x, x)
fg.take(x, 1)
np.take(x, 1)
x.take(1)
x.sum()
np.sum(x)
A.sum()
m.sum()
x.mean()
x.prod()
x.max()
x.min()
x.std()
x.var()
np.ptp(x)
x.argmax()
x.argmin()
fg.count_nonzero(x)
fg.logsumexp(x)
fg.trace(S)
fg.linalg.det(S)
fg.linalg.norm(x)
np.linalg.norm(A)
fg.median(x)
fg.quantile(x, 0.3)
np.percentile(x, 50)
fg.interp(1.5, x, x)
fg.polyval(x, m)
np.average(x)
fg.nanmean(x)
np.nansum(x)
fg.trapezoid(x)
fg.nn.functional.mse_loss(x, x * 2)
fg.searchsorted(x, 1.5)
"""

MEMORY = """
fg.tensor(0.0)
fg.tensor(3)
fg.tensor(np.float64(1))
fg.tensor(1.0, requires_grad=True)
fg.zeros(())
fg.ones(())
fg.empty(())
fg.full((), 2.0)
fg.rand(())
fg.randn(())
fg.zeros_like(v)
fg.ones_like(v)
fg.full_like(v, 2.0)
fg.empty_like(v)
fg.rand_like(v)
np.zeros_like(v)
fg.array(2.0)
fg.asarray(2.0)
fg.asarray(np.zeros(()))
fg.from_numpy(np.zeros(()))
x.new_zeros(())
x.new_tensor(1.0)
m.copy()
np.copy(m)
m.contiguous()
x[1, ...]
x[..., 1]
A[0, ..., 1]
m[...]
x[:1].reshape(())
m.reshape(())
x[:1].squeeze()
fg.squeeze(x[:1])
np.squeeze(x[:1])
m.T
m.real
C[0, ...].real
C[0, ...].imag
S.diagonal()[0, ...]
x.unbind()[0]
np.unstack(A)[0][0, ...]
x.select(0, 1)
m.expand(())
x.as_strided((), (), 1)
fg.where(True, m, 0.0)
fg.where(v > 1, v, 0.0)
np.where(True, m, 0.0)
np.select([v > 1], [v], 0.0)
np.piecewise(m, [m > 1], [1.0, 2.0])
fg.tensordot(x, x, 1)
np.tensordot(x, x, 1)
m.astype("float32")
fg.nn.Parameter(fg.tensor(1.0))
fg.nn.Parameter(x[0])
x[0].requires_grad_()
x.sum().requires_grad_()
"""


def rows(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.mark.parametrize("text", rows(ELEMENTS) + rows(COMPUTED))
def test_a_value(text: str) -> None:
    assert not is_memory(made(text))


@pytest.mark.parametrize("text", rows(MEMORY))
def test_memory(text: str) -> None:
    assert is_memory(made(text))


@pytest.mark.parametrize("text", rows(ELEMENTS) + rows(COMPUTED) + rows(MEMORY))
@pytest.mark.parametrize("alike", ["detach()", "clone()"])
def test_detach_and_clone_keep_the_kind(text: str, alike: str) -> None:
    source = made(text)
    assert is_memory(getattr(source, alike[:-2])()) == is_memory(made(text))


@pytest.mark.parametrize("text", ["x.any()", "x.all()", "m > 1", "m == 2", "fg.isnan(v)"])
def test_truths_are_values(text: str) -> None:
    t = s = made(text)
    t |= True
    assert t is not s


def test_memory_that_others_make() -> None:
    def loaded(t: fg.Tensor) -> fg.Tensor:
        file = io.BytesIO()
        fg.save(t, file)
        file.seek(0)
        found: fg.Tensor = fg.load(file)
        return found

    for t in (fg.tensor(1.0), fg.tensor([1.0]).sum()):
        for again in (loaded, lambda t: pickle.loads(pickle.dumps(t))):
            assert is_memory(again(t))
        # As those of NumPy's scalars and arrays without axes.
        for copied in (copy.copy, copy.deepcopy):
            assert is_memory(copied(t)) == is_memory(t)


def test_gradients_and_buffers_are_memory() -> None:
    a = fg.tensor(1.0, requires_grad=True)
    s = (a * 2).exp()
    s.retain_grad()
    s.backward()
    for kept in (a, s):
        assert kept.grad is not None
        before = kept.grad
        kept.grad += 1
        assert kept.grad is before
    module = fg.nn.Module()
    module.register_buffer("seen", fg.tensor([1.0, 2.0]).sum())
    module.weight = fg.nn.Parameter(fg.tensor([1.0])[0])
    seen, weight = module.seen, module.weight
    module.seen += 1
    with fg.no_grad():
        module.weight += 1
    assert module.seen is seen
    assert module.weight is weight
    assert (seen.item(), weight.item()) == (4.0, 2.0)


def test_a_new_copy_each_time() -> None:
    m = fg.tensor(2.0)
    for copied in (m.copy(), m.astype("float64"), fg.where(True, m, 0.0)):
        copied += 1
        assert m.item() == 2.0


NUMBERS = [3.0, 3, np.float64(3), np.float32(3), 3 + 1j]

TRANSFORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "compile": fg.compile,
    "compile grad": lambda f: fg.compile(fg.grad(f)),
    "grad compile": lambda f: fg.grad(fg.compile(f)),
    "grad grad": lambda f: fg.grad(fg.grad(f)),
    "jacobian": fg.jacobian,
    "hessian": fg.hessian,
    "vjp": lambda f: lambda x: fg.vjp(f, x),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("number", [3.0, np.float64(3.0), np.float32(3.0)])
def test_arguments_made_from_numbers_are_values(name: str, number: Any) -> None:
    kinds = []

    def f(x: Any) -> Any:
        before = x
        x += 1
        kinds.append(x is before)
        return x * x

    def plain(x: Any) -> Any:
        return (x + 1) * (x + 1)

    for _ in range(2):
        found, expected = TRANSFORMS[name](f)(number), TRANSFORMS[name](plain)(number)
        if name == "vjp":
            found, expected = found[0], expected[0]
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected))
    assert not any(kinds)


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if name not in ("vjp",)])
@pytest.mark.parametrize("make", [np.array, fg.tensor, lambda v: fg.tensor(v, requires_grad=True)])
def test_arguments_that_are_memory_are_not_changed(name: str, make: Any) -> None:
    def f(x: Any) -> Any:
        x += 1
        return x * x

    given = make(3.0)
    with pytest.raises((fg.errors.InPlaceError, fg.errors.FerrogradError), match="in place"):
        TRANSFORMS[name](f)(given)
    assert float(given if isinstance(given, np.ndarray) else given.detach()) == 3.0


@pytest.mark.parametrize("compiled", [False, True])
def test_carries_counters_and_operands_are_values(compiled: bool) -> None:
    kinds: list[bool] = []

    def changed(c: Any) -> Any:
        before = c
        c += 1
        kinds.append(c is before)
        return c

    def loops(a: Any) -> Any:
        xs = fg.ones(3)
        found = [fg.scan(lambda c, e: (changed(c) + e, None), a * 1, xs)[0]]
        found.append(fg.scan(lambda c, e: (c + changed(e), None), a * 1, xs)[0])
        found.append(fg.fori_loop(0, 3, lambda i, c: changed(c) + changed(i), 0.0))
        found.append(fg.while_loop(lambda c: changed(c) < 4, changed, 0.0))
        found.append(fg.cond(a > 0, lambda c: changed(c), lambda c: c - 1, a))
        return fg.stack([f + a * 0 for f in found])

    f = fg.compile(loops) if compiled else loops
    for _ in range(2):
        assert f(fg.tensor([2.0]).sum()).tolist() == [8.0, 8.0, 9.0, 3.0, 3.0]
    assert kinds
    assert not any(kinds)
