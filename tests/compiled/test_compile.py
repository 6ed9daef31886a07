"""`fg.compile`: what is replayed, and what a call leaves behind."""

import gc
import itertools
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentTypeError, CompileError


def rosenbrock(x: Any) -> Any:
    return fg.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def same_bits(a: Any, b: Any) -> None:
    if isinstance(a, tuple | list):
        assert type(a) is type(b)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same_bits(x, y)
        return
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same_bits(a[key], b[key])
        return
    assert isinstance(a, fg.Tensor) == isinstance(b, fg.Tensor)
    a, b = (x.detach().numpy() if isinstance(x, fg.Tensor) else np.asarray(x) for x in (a, b))
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def replays(f: Any, *calls: tuple[Any, ...]) -> Any:
    """Holds a compiled function to its function: the first call records, the others replay."""
    compiled = fg.compile(f)
    for args in calls:
        same_bits(compiled(*args), f(*args))
    assert len(compiled.programs) == 1
    return compiled


TRANSFORMS = {
    "value": rosenbrock,
    "grad": fg.grad(rosenbrock),
    "value_and_grad": fg.value_and_grad(rosenbrock),
    "hessian": fg.hessian(rosenbrock),
    "jacobian of grad": fg.jacobian(fg.grad(rosenbrock)),
    "grad of grad": fg.grad(lambda x: fg.sum(fg.grad(rosenbrock)(x) ** 2)),
    "hvp": lambda x: fg.hvp(rosenbrock)(x, x * 0.5),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("kind", [np.array, fg.tensor])
def test_transforms_replay(name: str, kind: Any) -> None:
    values = [kind(draw(10, seed=seed)) for seed in range(3)]
    if name in ("value", "hvp") and kind is np.array:
        values = [fg.tensor(v) for v in values]
    replays(TRANSFORMS[name], *((v,) for v in values))


def test_trees_of_arguments_and_results() -> None:
    def f(params: Any, x: Any, scale: float) -> Any:
        return {"y": fg.tanh(x @ params["w"] + params["b"]) * scale, "n": (x, "text", None)}

    calls = [
        (
            ({"w": fg.tensor(draw(3, 2, seed=s)), "b": fg.tensor(draw(2, seed=s))}),
            fg.tensor(draw(4, 3)),
            s + 0.5,
        )
        for s in range(3)
    ]
    compiled = fg.compile(f)
    for call in calls:
        got, want = compiled(*call), f(*call)
        same_bits(got["y"], want["y"])
        same_bits(got["n"][0], want["n"][0])
        assert got["n"][1:] == ("text", None)
    assert len(compiled.programs) == 1


def test_arrays_give_arrays_and_tensors_give_tensors() -> None:
    double = fg.compile(lambda x: fg.multiply(x, 2.0))
    for _ in range(2):
        assert type(double(np.ones(3))) is np.ndarray
        assert type(double(fg.ones(3))) is fg.Tensor
        assert isinstance(double(np.float64(3.0)), np.float64)
    double(np.ones(3))[0] = 5.0  # results are the caller's own
    np.testing.assert_array_equal(double(np.ones(3)), 2.0)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?"])
def test_dtypes(dtype: str) -> None:
    replays(
        lambda x: fg.where(x > 0, x, x)[::-1],
        *((fg.tensor(draw(5, seed=s).astype(dtype)),) for s in range(3)),
    )


def test_layouts() -> None:
    f = fg.compile(lambda x: fg.cumsum(x, axis=0) @ x.T)
    total = fg.compile(lambda x: fg.sum(x, axis=0))
    long = fg.tensor(draw(100, 80))
    for view in (long, long[::2], long.T, long[:, ::3], fg.flip(long, 1)):
        same_bits(total(view), fg.sum(view, axis=0))
    x = draw(6, 8)
    f(fg.tensor(x))
    for other in (x.T.copy().T, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        same_bits(
            f(fg.tensor(np.array(other))), fg.cumsum(fg.tensor(other), axis=0) @ fg.tensor(other).T
        )
        same_bits(f(fg.asarray(other)), fg.cumsum(fg.tensor(other), axis=0) @ fg.tensor(other).T)


def test_a_program_for_every_signature() -> None:
    f = fg.compile(lambda x, n: fg.sum(x * n))
    f(fg.ones(3), 2)
    f(fg.ones(3), 2)
    assert len(f.programs) == 1
    assert f(fg.ones(3), 3).item() == 9  # whole numbers belong to the program
    f(fg.ones(4), 3)
    f(fg.ones(4, dtype="float32"), 3)
    assert len(f.programs) == 4
    f.clear()
    assert f.programs == ()


def test_many_signatures_warn_once_and_are_bounded() -> None:
    f = fg.compile(lambda x: x * 2)
    for n in range(8):
        f(fg.ones(n + 1))
    with pytest.warns(RuntimeWarning, match="recorded for 9 signatures"):
        f(fg.ones(9))
    for n in range(30):
        f(fg.ones(n + 1))
    assert len(f.programs) <= 16


def test_floats_are_inputs_unless_python_computes_with_them() -> None:
    f = fg.compile(lambda x, a: x * a)
    for a in (1.0, 2.5, -0.0):
        same_bits(f(fg.ones(3), a), fg.ones(3) * a)
    assert len(f.programs) == 1
    g = fg.compile(lambda x, a: x * float(np.exp(float(a))))
    for a in (1.0, 2.0):
        same_bits(g(fg.ones(3), a), fg.ones(3) * float(np.exp(a)))
    assert len(g.programs) == 2


def test_floats_stay_weak() -> None:
    f = fg.compile(lambda x, a: x * a + a)
    for a in (0.1, 0.2, 0.3):
        x = fg.tensor(draw(3), dtype="float32")
        same_bits(f(x, a), x * a + a)


def test_static_arguments() -> None:
    @fg.compile(static_argnums=1, static_argnames="axis")
    def f(x: Any, kind: Any, *, axis: int = 0) -> Any:
        return fg.sum(x, axis=axis) if kind == "sum" else fg.mean(x, axis=axis)

    x = draw(3, 4)
    for kind in ("sum", "mean"):
        for axis in (0, 1):
            same_bits(
                f(fg.tensor(x), kind, axis=axis), f.__wrapped__(fg.tensor(x), kind, axis=axis)
            )
    with pytest.raises(ArgumentTypeError, match="nor hashable"):
        f(fg.tensor(x), {1, 2})


def test_closed_over_tensors_are_read_where_they_lie() -> None:
    w = fg.tensor([1.0, 2.0])
    f = fg.compile(lambda x: x * w)
    same_bits(f(fg.ones(2)), fg.tensor([1.0, 2.0]))
    w[0] = 7.0
    same_bits(f(fg.ones(2)), fg.tensor([7.0, 2.0]))


def test_closed_over_tensors_are_changed_where_they_lie() -> None:
    count = fg.zeros(3)

    def f(x: Any) -> Any:
        with fg.no_grad():
            count.add_(x)
        return count * 2

    compiled = fg.compile(f)
    version = count._version
    for i in range(1, 4):
        same_bits(compiled(fg.ones(3)), fg.full(3, 2.0 * i))
        assert count.tolist() == [float(i)] * 3
    assert count._version == version + 3


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda t, x: t.add_(x),
    "setitem": lambda t, x: t.__setitem__(0, x[0]),
    "two": lambda t, x: (t.mul_(2.0), t.add_(x)),
    "view": lambda t, x: t[1:].copy_(x[1:]),
    "out": lambda t, x: np.add(x, 1.0, out=t),
    "iadd": lambda t, x: t.__iadd__(x),
}


@pytest.mark.parametrize("name", WRITES)
def test_versions_move_as_with_the_function(name: str) -> None:
    write = WRITES[name]
    moved, values = [], []
    for compiled in (False, True):
        t = fg.ones(3)

        def f(x: Any, t: Any = t) -> Any:
            with fg.no_grad():
                write(t, x)
            return x * 2.0

        call = fg.compile(f) if compiled else f
        versions = [t._version]
        for _ in range(3):
            call(fg.ones(3))
            versions.append(t._version)
        moved.append([a != b for a, b in itertools.pairwise(versions)])
        values.append(t.tolist())
    assert moved == [[True] * 3] * 2
    assert values[0] == values[1]


def test_constants_that_are_written_begin_anew() -> None:
    def f(x: Any) -> Any:
        y = fg.tensor([1.0, 2.0, 3.0])
        y[1:] = x
        y += 1
        return y

    replays(f, *((fg.tensor(draw(2, seed=s)),) for s in range(4)))


def test_a_number_read_outside_makes_the_program_stale() -> None:
    n = fg.tensor(2.0)
    f = fg.compile(lambda x: x * float(n))
    same_bits(f(fg.ones(2)), fg.ones(2) * 2)
    n.fill_(5.0)
    same_bits(f(fg.ones(2)), fg.ones(2) * 5)


def test_values_that_decide_otherwise_are_computed_anew() -> None:
    f = fg.grad(lambda x: fg.max(x))
    compiled = fg.compile(f)
    for x in ([1.0, 2.0], [3.0, 1.0], [np.nan, 1.0], [np.nan, np.nan], [0.0, 1.0]):
        same_bits(compiled(np.array(x)), f(np.array(x)))


def test_indices_are_inputs() -> None:
    table = fg.tensor(draw(10, 3))
    f = fg.compile(fg.value_and_grad(lambda w, i: fg.sum(w[i] ** 2), 0))
    for seed in range(3):
        i = np.random.default_rng(seed).integers(-10, 10, 7)
        want = fg.value_and_grad(lambda w, i: fg.sum(w[i] ** 2), 0)(table, fg.tensor(i))
        same_bits(f(table, fg.tensor(i)), want)
    with pytest.raises(fg.errors.IndexOutOfRangeError, match="99"):
        f(table, fg.tensor([0, 1, 2, 3, 4, 5, 99]))
    assert len(f.programs) == 1


def test_recorded_calls_run_eagerly() -> None:
    f = fg.compile(lambda x: fg.sin(x) * 2)
    x = fg.tensor(draw(3), requires_grad=True)
    for _ in range(2):
        y = f(x)
        assert y.requires_grad
        y.sum().backward()
    np.testing.assert_allclose(x.grad, 4 * np.cos(x.detach().numpy()))
    w = fg.tensor(2.0, requires_grad=True)
    g = fg.compile(lambda x: x * w)
    assert [g(fg.ones(2)).requires_grad for _ in range(2)] == [True, True]
    with fg.no_grad():
        assert not g(fg.ones(2)).requires_grad
    np.testing.assert_allclose(fg.grad(lambda x: fg.sum(f(x)))(np.zeros(2)), 2.0)


class Cube(fg.Function):
    """An operation written in Python."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3.0 * x * x


def test_custom_functions_and_hooks_replay() -> None:
    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = Cube.apply(x)
        y.register_hook(lambda g: g * 2.0)
        return fg.autograd.grad(fg.sum(y), x)[0]

    replays(f, *((fg.tensor(draw(4, seed=s)),) for s in range(3)))


def test_observed_calls_run_eagerly() -> None:
    f = fg.compile(lambda x: fg.sin(x) * 2)
    f(fg.ones(2))
    with fg.Graph() as graph:
        f(fg.ones(2))
    assert len(graph) == 2
    with fg.inference_mode():
        assert f(fg.ones(2)).is_inference()
    slope = fg.grad(lambda x: fg.sum(x * f(fg.ones(2))))
    np.testing.assert_allclose(slope(np.ones(2)), 2 * np.sin(1.0))


def test_check_compares() -> None:
    noise = [0.0]
    f = fg.compile(lambda x: x + noise[0], check=2)
    f(fg.ones(2))
    f(fg.ones(2))
    noise[0] = 1.0
    with pytest.raises(CompileError, match="depends on something besides"):
        f(fg.ones(2))


def test_switching_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    f = fg.compile(lambda x: x.sum().item())
    monkeypatch.setenv("FERROGRAD_COMPILE", "0")
    assert f(fg.ones(3)) == 3.0


def side_by_side(work: Callable[[int], None], count: int) -> None:
    """Calls work(0), work(1), … each on a thread of its own."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_share_a_program() -> None:
    f = fg.compile(fg.value_and_grad(rosenbrock))
    f(draw(10))
    wrong = []

    def work(seed: int) -> None:
        for i in range(50):
            x = draw(10, seed=1000 * seed + i)
            got, want = f(x), fg.value_and_grad(rosenbrock)(x)
            if got[0] != want[0] or got[1].tobytes() != want[1].tobytes():
                wrong.append(x)

    side_by_side(work, 4)
    assert wrong == []


def test_explain_lists_the_steps() -> None:
    f = fg.compile(lambda x: fg.cumsum(fg.sin(x * 2.0) + 1.0), name="wave")
    text = f.explain(fg.ones(5000))
    assert text.startswith("wave: 2 steps")
    assert "chain(" in text
    assert "scan(" in text
    history = fg.ones(3, requires_grad=True) * 2.0
    g = fg.compile(lambda x: x * history, name="closed")
    expected = "closed: runs eagerly, because it closes over a tensor with a history"
    assert g.explain(fg.ones(3)).startswith(expected)


def test_the_short_way_notices_what_differs() -> None:
    f = fg.compile(lambda x, y: (x + y, x * y))
    a, b = draw(4), draw(4, seed=1)
    f(a, b)
    for args in (
        (a, b),
        (a[::-1], b),
        (a.astype("f4"), b),
        (fg.tensor(a), b),
        (a[:2], b[:2]),
        (a, 2.0),
    ):
        want = (args[0] + args[1], args[0] * args[1])
        got = f(*args)
        same_bits(tuple(map(np.asarray, got)), tuple(map(np.asarray, want)))
    same_bits(f(x=a, y=b), (a + b, a * b))
    with fg.no_grad():
        same_bits(f(a, b), (a + b, a * b))
    with pytest.raises(TypeError):
        f(a)


def test_programs_die_with_the_function() -> None:
    gc.collect()
    before, bytes_before = fg.live_nodes(), fg.live_bytes()
    f = fg.compile(fg.hessian(rosenbrock))
    f(draw(50))
    f(draw(50, seed=1))
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
    assert (fg.live_nodes(), fg.live_bytes()) == (before, bytes_before)


def test_it_keeps_name_and_documentation_and_pickles() -> None:
    f = fg.compile(rosenbrock)
    assert f.__name__ == "rosenbrock"
    assert f.__wrapped__ is rosenbrock
    again = pickle.loads(pickle.dumps(f))
    same_bits(again(fg.tensor(draw(4))), rosenbrock(fg.tensor(draw(4))))
