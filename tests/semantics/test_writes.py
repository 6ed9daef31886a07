"""What writes do to values, to memory, and through views.

Every program is NumPy's: what it does to a tensor is what it does to an array, in eager, in a
compiled function and under `fg.grad`, whose gradient is that of differences of the program on
arrays. What operations saved: `test_saved_elements.py`.
"""

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

START = np.array([1.2, -0.7, 2.3, 0.4, 1.9, -1.1])

#: Programs about `y`, a fresh copy of the argument, and `Y`, its rows as a view, that make
#: `out`.
PROGRAMS = {
    "a value stays": "v = y[1]; y[1] += 3; out = v * y[1]",
    "a value stays after a write by slice": "v = y[1]; y[...] = y * y; out = v * y[1]",
    "+= of an element read": "v = y[1]; v += 3; out = v * y[1]",
    "+= of a sum": "s = y.sum(); t = s; t += y[0]; out = s * t",
    "+= of an operation": "s = y[0] * y[1]; t = s; t *= s; out = s + t",
    "*= and -= and /=": "s = y[0]; s *= y[1]; s -= y[2]; s /= y[4]; out = s * y[0]",
    "**= and @": "s = y @ y; t = s; s **= 2; out = s - t",
    "a trajectory": (
        "v, kept = y[0], []\nfor i in range(4): v += 0.1 * y[1]; kept.append(v)\nout = "
        "sum(kept) + kept[0] * 9"
    ),
    "an accumulator": "s = 0.0\nfor e in y: s += e * e\nout = s * s",
    "an accumulator that begins as an element": (
        "s = y[0]\nfor i in range(1, 6): s += y[i] * s\nout = s * y[0]"
    ),
    "a product": "p = y[0]; q = p\nfor e in y[1:]: p *= e\nout = p + q",
    "unpacking": (
        "a, b, *rest = y; a += 1; b *= a; rest[0] -= b; out = (y * y).sum() * a * b * rest[0]"
    ),
    "elements in a loop": "for e in y: e *= 2\nout = (y * y).sum()",
    "a swap": "y[0], y[1] = y[1], y[0]; out = y[0] + 10 * y[1] * y[1]",
    "a swap of rows by copies": (
        "Y[0], Y[1] = Y[1].copy(), Y[0].copy(); out = (y * np.arange(6)).sum()"
    ),
    "a swap of rows by a list": "Y[[0, 1]] = Y[[1, 0]]; out = (y * y * np.arange(6)).sum()",
    "item assignment": "y[2] = y[0] * y[1]; out = (y * y).sum()",
    "augmented item": "y[2] += y[0]; y[2] *= y[2]; y[-1] -= y[2]; out = (y * y).sum()",
    "a row is a view": "r = Y[1]; r += y[0]; r *= r; out = (y * y).sum()",
    "rows of a loop": "for r in Y: r += r[0] * 1\nout = (y * y).sum()",
    "a column": "Y[:, 1] *= Y[:, 0]; out = (y ** 3).sum()",
    "two keys": "Y[1][2] = Y[0][1] * 2; Y[0][2] += Y[1][2]; out = (y * y).sum()",
    "ellipsis is a view": "e = y[1, ...]; e += y[0]; out = e * y[1]",
    "None is a view": "e = y[None, 2:]; e *= y[0] * 1; out = (y * y).sum()",
    "a list is a copy": "e = y[[1, 2]]; e += 5; out = (e * y[1:3]).sum()",
    "a mask is a copy": "e = y[y > 0]; e *= e; out = e.sum() * y[0]",
    "an array of integers is a copy": "e = Y[np.array([1, 0])]; e *= e; out = (e * Y).sum()",
    "writes by a list": "y[[3, 1]] += y[:2] * 1; out = (y * y).sum()",
    "writes by a mask": "y[y > 0] *= 3; out = (y * y).sum()",
    "a slice shifted": "y[1:] = y[:-1] * y[1:]; out = (y * y).sum()",
    "a slice of itself": "y[1:] += y[:-1]; out = (y * y).sum()",
    "a reversed view": "r = y[::-1]; r[:3] *= r[3:] * 1; out = (y * y).sum()",
    "a view of einsum's view": (
        "v = np.einsum('i->i', y[:2]); r = v[:]; r *= 3; out = (y * y).sum()"
    ),
    "a diagonal of rows": (
        "S = np.stack([Y[:, :2], Y[:, 1:]])\nfor C in S:\n  d = np.einsum('ii->i', C)\n"
        "  d[...] += y[0]\nout = (S * S).sum()"
    ),
    "elements of a view between writes": (
        "q, s = Y[:, 0], 0.0\nfor k in range(2): Y[k] = Y[k - 1] * y[k]; s = s + q[k] * q[k - 1]"
        "\nout = s"
    ),
    "a view of a view between writes": (
        "w = y[1:][::-1]\nfor k in range(3): w[k + 1] = (w[k : k + 2] * y[k]).sum()\nout = w @ w"
    ),
    "transposes": "t = Y.T; t[1] += t[0] * t[2]; out = (y * y).sum()",
    "a diagonal by reads": "for i in range(2): Y[i, i] *= Y[i, 2]\nout = (y * y).sum()",
    "dictionaries": (
        "d = {'k': y[0] * 1, 's': y}; old = d['k']; d['k'] += y[1]; d['s'] *= 2; out = old * "
        "d['k'] + y.sum() ** 2"
    ),
    "attributes": "o.p = y[0]; old = o.p; o.p += y[1]; o.q = y; o.q += 1; out = old * o.p * y[2]",
    "lists": "l = [y[0], y]; a = l[0]; l[0] += 1; l[1] *= 3; out = a * l[0] * y[1]",
    "operator.iadd": (
        "a = y[0]; b = operator.iadd(a, y[1]); c = operator.imul(b, b); out = a * b + c"
    ),
    "broadcasting makes an array": "s = y[0]; s = s + 0; t = s; s += y[1:]; out = (s * t).sum()",
    "a sum by rows": "m = Y.sum(axis=0); m += y[:3]; out = (m * m).sum()",
    "0-d memory": "z = y[:1].reshape(()); w = z; w += y[1]; out = z * y[0] * w",
    "a 0-d array from where": (
        "z = np.where(y[0] > 0, y[0], y[1]); w = z; w += 1; out = z * w * y[0]"
    ),
    "out": "np.multiply(y, y, out=y); out = (y * y).sum()",
    "out of another": "z = y * 1; np.add(z, y, out=z); out = (z * y).sum()",
    "a buffer": (
        "u = Y * 1\nfor k in range(3): u[1, k] = u[0, k] * u[1, k - 1]\nout = (u * u).sum()"
    ),
    "a cumulative sum": (
        "s = y * 1\nfor k in range(1, 6): s[k] = s[k - 1] * 0.5 + y[k] ** 2\nout = (s * s).sum()"
    ),
    "steps of Euler": "v = y[1]; y[1] += 0.1 * y[2]; y[0] += 0.1 * v; out = y[0] * y[1]",
    "explicit steps": "for _ in range(3): y += 0.1 * (y * y - 1)\nout = (y * y).sum()",
    "Gauss and Seidel": (
        "for i in range(1, 5): y[i] = (y[i - 1] + y[i + 1]) * y[i]\nout = (y * y).sum()"
    ),
    "bubbles": (
        "for i in range(5):\n  if y[i] > y[i + 1]: y[i], y[i + 1] = y[i + 1], y[i]\nout = (y "
        "* np.arange(6)).sum()"
    ),
    "a maximum so far": "m = y[0]\nfor e in y:\n  if e > m: m = e\nm *= m; out = m + y.sum()",
    "the same name twice": "s = t = y[0] * 1; s += 1; t += 2; out = s * t",
}
READS_VALUES = ["bubbles", "a maximum so far", "a mask is a copy", "writes by a mask"]


def function(text: str) -> Callable[[Any], Any]:
    code = compile(text, text, "exec")

    def f(x: Any) -> Any:
        y = x.copy() if isinstance(x, np.ndarray) else x * 1
        names: dict[str, Any] = {"y": y, "Y": y.reshape(2, 3), "np": np, "operator": operator}
        names["o"] = SimpleNamespace()
        exec(code, names)
        return names["out"]

    return f


def differences(f: Callable[[Any], Any]) -> np.ndarray:
    found = np.empty(6)
    for k in range(6):
        step = np.zeros(6)
        step[k] = 1e-6
        found[k] = (f(START + step) - f(START - step)) / 2e-6
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_numpy(name: str) -> None:
    f = function(PROGRAMS[name])
    value, slope = f(START.copy()), differences(f)
    np.testing.assert_allclose(float(f(fg.tensor(START))), value, 1e-14)
    found, gradient = fg.value_and_grad(f)(START)
    np.testing.assert_allclose(float(found), value, 1e-14)
    np.testing.assert_allclose(gradient, slope, 1e-7, 1e-7)
    x = fg.tensor(START, requires_grad=True)
    f(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), slope, 1e-7, 1e-7)
    np.testing.assert_array_equal(x.detach().numpy(), START)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in READS_VALUES])
def test_programs_of_numpy_compiled(name: str) -> None:
    f = function(PROGRAMS[name])
    value, slope = f(START.copy()), differences(f)
    compiled, both = fg.compile(f), fg.compile(fg.value_and_grad(f))
    for _ in range(3):
        np.testing.assert_allclose(float(compiled(fg.tensor(START))), value, 1e-14)
        found, gradient = both(START)
        np.testing.assert_allclose(float(found), value, 1e-14)
        np.testing.assert_allclose(np.asarray(gradient), slope, 1e-7, 1e-7)
    assert len(compiled.programs) == len(both.programs) == 1


class TestValues:
    """2.1: a value never changes, and `s op= v` is `s = s op v`."""

    #: `s op= v` of a value, with NumPy's dtype and shape.
    PROMOTED = (
        ("s += 0.5", [3]),
        ("s *= True", [3]),
        ("s /= 2", [3]),
        ("s **= 2", [3]),
        ("s //= 2", [7]),
        ("s %= 4", [7]),
        ("s += 1j", [3.0]),
        ("s += np.arange(3)", [3.5]),
        ("s -= np.ones((2, 1))", [3]),
        ("s <<= 2", [3]),
        ("s |= 4", [3]),
        ("s ^= 1", [True]),
        ("s += np.float32(1)", [3]),
    )

    @pytest.mark.parametrize(("text", "data"), PROMOTED)
    def test_promotion_and_broadcasting_are_those_of_numpy(self, text: str, data: Any) -> None:
        results = []
        for make in (np.array, fg.tensor):
            names: dict[str, Any] = {"np": np, "s": make(data)[0]}
            before = names["s"]
            exec(text, names)
            assert names["s"] is not before
            assert before == data[0]
            results.append(names["s"])
        array, tensor = np.asarray(results[0]), results[1]
        assert isinstance(tensor, fg.Tensor)
        assert (tensor.dtype, tuple(tensor.shape)) == (array.dtype, array.shape)
        np.testing.assert_array_equal(tensor.numpy(), array)

    def test_history_hooks_and_names_stay_with_the_old_value(self) -> None:
        x = fg.tensor([2.0, 3.0], requires_grad=True)
        seen: list[float] = []
        s = old = x[0] * x[1]
        s.retain_grad()
        s.register_hook(lambda g: seen.append(g.item()))
        s += x[0]
        (s * 10 + old).backward()
        assert old.grad is not None
        assert (old.grad.item(), s.retains_grad, seen) == (11.0, False, [11.0])
        assert x.grad is not None
        assert x.grad.tolist() == [43.0, 22.0]

    def test_the_version_of_what_was_read_does_not_move(self) -> None:
        y = fg.tensor([1.0, 2.0])
        s = y[0]
        s += 1
        assert (y._version, s.item(), y.tolist()) == (0, 2.0, [1.0, 2.0])


class TestMemory:
    """2.2: on memory `op=` writes in place."""

    @pytest.mark.parametrize("make", [lambda: fg.zeros(()), lambda: fg.tensor([0.0])[0, ...]])
    def test_every_name_sees_it(self, make: Callable[[], fg.Tensor]) -> None:
        a = b = make()
        c = a.detach()
        b += 1
        b *= 3
        assert a is b
        assert (a.item(), c.item(), a._version) == (3.0, 3.0, 2)

    def test_it_keeps_its_dtype(self) -> None:
        count = fg.tensor(1)
        with pytest.raises(fg.errors.DTypeError, match="int64"):
            count += 0.5
        assert count.item() == 1

    def test_a_leaf_refuses_outside_no_grad_and_may_be_written_inside(self) -> None:
        a = b = fg.tensor(1.0, requires_grad=True)
        with pytest.raises(fg.errors.InPlaceError, match="leaf that requires grad"):
            a += 1
        (a * 3).backward()
        with fg.no_grad():
            a -= 0.1 * a.grad
        assert a is b
        assert a.item() == pytest.approx(0.7)
        assert a.requires_grad

    def test_it_takes_a_history(self) -> None:
        x, total = fg.tensor([2.0, 3.0], requires_grad=True), fg.zeros(())
        other = total
        for e in x:
            total += e * e
        assert total is other
        total.backward()
        assert x.grad is not None
        assert x.grad.tolist() == [4.0, 6.0]


REFUSED = {
    "a method": "y[0].add_(1)",
    "two keys": "Y[0, 1].mul_(2)",
    "a method behind a name": "e = y[0]; e.zero_()",
    "an ellipsis": "y[0][...] = 3.0",
    "an empty key": "y[0][()] = 3.0",
    "data": "y[0].data = fg.tensor(3.0)",
    "out": "np.add(y[1], 1, out=y[0])",
    "out of ours": "fg.add(y[1], 1, out=y[0])",
    "copy_": "y[0].copy_(fg.tensor(3.0))",
    "fill_": "y[0].fill_(3.0)",
    "detach": "y[0].detach().add_(1)",
    "elements of a loop": "for e in y: e.mul_(2)",
    "unpacked": "a, *_ = y; a.mul_(2)",
}


class TestElements:
    """2.3: a write into an element read would be lost; it raises and says what to write."""

    @pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
    @pytest.mark.parametrize("history", [False, True])
    @pytest.mark.parametrize("recording", [False, True])
    def test_refused(self, text: str, history: bool, recording: bool) -> None:
        y = fg.tensor(START, requires_grad=history) * 1
        with (
            pytest.raises(fg.errors.InPlaceError, match=r"x\[i\] = "),
            fg.set_grad_enabled(recording),
        ):
            exec(text, {"y": y, "Y": y.reshape(2, 3), "np": np, "fg": fg})
        np.testing.assert_array_equal(y.detach().numpy(), START)

    @pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
    def test_refused_in_a_compiled_function(self, text: str) -> None:
        def f(x: Any) -> Any:
            y = x * 1
            exec(text, {"y": y, "Y": y.reshape(2, 3), "np": np, "fg": fg})
            return y

        with pytest.raises(fg.errors.FerrogradError, match=r"x\[i\] = "):
            fg.compile(f)(fg.tensor(START))

    def test_named_methods_change_other_values(self) -> None:
        x = fg.tensor([2.0, 3.0], requires_grad=True)
        s = old = x.sum()
        assert s.add_(1) is s
        assert old.item() == 6.0
        s.mul_(x[0])
        s.backward()
        assert (s.item(), x.grad.tolist() if x.grad is not None else None) == (12.0, [8.0, 2.0])

    def test_what_requires_grad_is_a_leaf_of_its_own(self) -> None:
        x = fg.tensor([2.0, 3.0])
        e = x[0].requires_grad_()
        assert e.is_leaf
        (e * e).backward()
        with fg.no_grad():
            e -= e.grad
        assert (e.item(), x.tolist(), x.requires_grad) == (-2.0, [2.0, 3.0], False)


SHARES = {
    "x[1:]": True,
    "x[1]": True,
    "x[1, ...]": True,
    "x[..., 0]": True,
    "x[None]": True,
    "x[1, 1:2]": True,
    "x[1][None]": True,
    "x[:, 1]": True,
    "x[1, None, 2]": True,
    "x[1, 2, ...]": True,
    "x[1, 2, None]": True,
    "x[[1]]": False,
    "x[[1], [2]]": False,
    "x[np.array([1])]": False,
    "x[x > 2]": False,
    "x[1, [0, 2]]": False,
    "x[np.array([True, False])]": False,
    "x[1, 2]": False,
}


@pytest.mark.parametrize("text", SHARES)
def test_what_is_a_view_and_what_a_copy(text: str) -> None:
    """2.4, as NumPy says itself of arrays: of elements read NumPy gives a scalar."""
    arrays = {"x": np.arange(6.0).reshape(2, 3), "np": np}
    assert np.shares_memory(arrays["x"], eval(text, arrays)) == SHARES[text]
    x = fg.tensor(arrays["x"])
    found = eval(text, {"x": x, "np": np})
    assert np.shares_memory(x.numpy(), found.numpy()) == SHARES[text]
    assert (found._base is x) == SHARES[text]
    if SHARES[text]:
        found += 100
        assert x.sum().item() >= 115
