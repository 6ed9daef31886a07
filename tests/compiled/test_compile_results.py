"""What a compiled function may keep and return: what would be stale in later calls is found."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd._compile.compiled_function import MAX_WARM_UPS
from ferrograd.errors import ArgumentTypeError, CompileError


class Average(fg.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", fg.zeros(2))

    def forward(self, x: Any) -> Any:
        self.mean = self.mean * 0.9 + x
        return self.mean


class Keeper:
    """Functions that keep what they return, or their argument."""

    def __init__(self) -> None:
        self.kept: Any = None
        self.all: list[Any] = []

    def result(self, x: Any) -> Any:
        self.kept = (x * x).sum()
        return self.kept

    def detached(self, x: Any) -> Any:
        y = fg.tanh(x)
        self.kept = y.detach()
        return y

    def listed(self, x: Any) -> Any:
        self.all.append((x * x).sum())
        return self.all[-1]

    def argument(self, x: Any) -> Any:
        self.kept = x
        return x * 2.0

    def view(self, x: Any) -> Any:
        self.kept = x[:1]
        return x * 2.0


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", ["result", "detached", "listed", "argument", "view"])
def test_what_is_kept_at_each_call_is_refused(name: str, grad: bool) -> None:
    function = fg.compile(getattr(Keeper(), name))
    x = fg.tensor([1.0, 2.0], requires_grad=grad)
    for _ in range(MAX_WARM_UPS):
        function(x)  # These calls may keep tensors, as an optimiser does.
    with pytest.raises(CompileError, match="is kept after each call"):
        function(x)


def test_a_module_that_replaces_its_buffer_is_refused() -> None:
    average = Average()
    compiled = fg.compile(average)
    found = [compiled(fg.ones(2)).numpy() for _ in range(MAX_WARM_UPS)]
    np.testing.assert_array_equal(found[0], [1.0, 1.0])
    with pytest.raises(CompileError, match="is kept after each call"):
        compiled(fg.ones(2))
    np.testing.assert_array_equal(average.mean.numpy(), found[-1])


def test_the_caller_may_keep_results() -> None:
    compiled = fg.compile(lambda x: (x * 2.0, x.sum()))
    found = [compiled(fg.full(2, float(i))) for i in range(4)]
    assert [s.item() for _, s in found] == [0.0, 2.0, 4.0, 6.0]
    assert [d[0].item() for d, _ in found] == [0.0, 2.0, 4.0, 6.0]


def generated(x: Any) -> Any:
    yield x * 2.0


async def awaited(x: Any) -> Any:
    return x * 2.0


STALE: dict[str, Callable[[Any], Any]] = {
    "function": lambda x: lambda: x * 2.0,
    "partial": lambda x: functools.partial(np.add, x, 1.0),
    "generator": generated,
    "map": lambda x: map(np.sin, x),
}


@pytest.mark.parametrize("name", STALE)
def test_results_that_are_no_trees_of_arrays(name: str) -> None:
    with pytest.raises(CompileError, match=f"returns a {name}.*return tensors, arrays"):
        fg.compile(STALE[name])(fg.ones(3))


def test_coroutines_are_no_results() -> None:
    with (
        pytest.warns(RuntimeWarning, match="never awaited"),
        pytest.raises(CompileError, match="returns a coroutine"),
    ):
        fg.compile(awaited)(fg.ones(3))


def test_constants_among_results_belong_to_the_caller() -> None:
    compiled = fg.compile(lambda x: (x * 2.0, np.zeros(1), {1, 2}, "name", None))
    for _ in range(3):
        _, zeros, numbers, name, nothing = compiled(fg.ones(2))
        assert (zeros.tolist(), numbers, name, nothing) == ([0.0], {1, 2}, "name", None)
        zeros += 1
        numbers.clear()


def test_constants_that_somebody_holds_may_change() -> None:
    held: list[Any] = []

    def kept(x: Any) -> Any:
        held.append(fg.tensor([1.0, 2.0]))
        return x * held[-1]

    def returned(x: Any) -> Any:
        held.append(fg.tensor([1.0, 2.0]))
        return x * held[-1] + held[-1] * 3.0, held[-1]

    def in_a_loop(x: Any) -> Any:
        return fg.fori_loop(0, 2, lambda i, carry: kept(carry), x)

    def in_a_branch(x: Any) -> Any:
        return fg.cond(x.sum() > 0, kept, lambda x: x, x)

    weight = fg.ones(2, requires_grad=True)
    for f in (kept, returned, in_a_loop, in_a_branch, lambda x: kept(x * weight)):
        compiled, x = fg.compile(f), fg.tensor([3.0, 4.0])
        for _ in range(3):
            found = compiled(x)
            first = found[0] if isinstance(found, tuple) else found
            want = f(x)
            assert first.tolist() == (want[0] if isinstance(want, tuple) else want).tolist()
            for tensor in held:
                tensor.mul_(10.0)
            held.clear()


MADE: dict[str, Callable[[], Any]] = {
    "list": lambda: fg.tensor([1.0, 2.0]),
    "fill": lambda: fg.ones(2),
    "computed": lambda: fg.arange(2) * 2.0 + 1.0,
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_constants_that_the_function_keeps_may_change(make: Callable[[], Any]) -> None:
    def cached(x: Any, cache: dict[str, Any]) -> Any:
        if "c" not in cache:
            cache["c"] = make()
        return x * cache["c"]

    def in_a_loop(x: Any, cache: dict[str, Any]) -> Any:
        return fg.fori_loop(0, 3, lambda i, carry: cached(carry, cache), x)

    weight = fg.ones(2, requires_grad=True)
    for f in (cached, in_a_loop, lambda x, cache: cached(x * weight, cache)):
        own: dict[str, Any] = {}
        compiled = fg.compile(functools.partial(f, cache=own))
        x, other = fg.tensor([3.0, 4.0]), {}
        for _ in range(4):
            assert compiled(x).tolist() == f(x, other).tolist()
            own["c"].mul_(2.0)
            other["c"].mul_(2.0)


def test_an_array_as_the_only_result() -> None:
    compiled = fg.compile(lambda x: np.arange(3.0))
    for _ in range(2):
        np.testing.assert_array_equal(compiled(np.ones(3)), [0.0, 1.0, 2.0])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", [np.ma.MaskedArray, np.matrix])
def test_arrays_that_compute_otherwise_are_refused(kind: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=f"an argument is a {kind.__name__}"):
        fg.compile(lambda x: x * x)(kind([[1.0, 2.0], [3.0, 4.0]]))


def test_check_compares_with_the_function_on_tensors() -> None:
    compiled = fg.compile(lambda x: np.sin(x) + np.linalg.inv(np.outer(x, x) + np.eye(50)), check=1)
    x = np.random.default_rng(3).standard_normal(50)
    for _ in range(3):
        compiled(x)
    calls: list[int] = []

    def changing(x: Any) -> Any:
        calls.append(1)
        return [x * 2.0] * min(len(calls), 2)

    other = fg.compile(changing, check=1)
    other(x)
    with pytest.raises(CompileError, match=r"returned list\(\[0\]: \*\) when"):
        other(x)


def test_functions_that_differentiate_by_an_argument() -> None:
    def force(x: Any) -> Any:
        with fg.enable_grad():
            return fg.autograd.grad((x**3).sum(), [x])[0]

    compiled = fg.compile(force)
    for i in range(3):
        x = fg.tensor([1.0, 2.0 + i], requires_grad=True)
        np.testing.assert_array_equal(compiled(x).numpy(), force(x).numpy())
        with fg.no_grad():
            np.testing.assert_array_equal(compiled(x).numpy(), force(x).numpy())


def test_functions_that_ask_whether_an_argument_requires_grad() -> None:
    compiled = fg.compile(lambda x: x * 2.0 if x.requires_grad else x * 3.0)
    for grad in (True, False):
        x = fg.ones(2, requires_grad=grad)
        with fg.no_grad():
            assert compiled(x).tolist() == [2.0 if grad else 3.0] * 2


def test_gradients_that_belong_to_an_argument() -> None:
    def step(x: Any) -> Any:
        (x * x).sum().backward()
        return x.detach() * 2.0

    x = fg.ones(2, requires_grad=True)
    assert fg.compile(step)(x).tolist() == [2.0, 2.0]
    assert x.grad.tolist() == [2.0, 2.0]

    def weighted(x: Any) -> Any:
        return x.sum() if x.grad is None else (x * x.grad).sum()

    with fg.no_grad(), pytest.raises(CompileError, match="reads or sets the gradient of an arg"):
        fg.compile(weighted)(x)


@pytest.mark.parametrize("run", [lambda f: f, fg.compile], ids=["eager", "compiled"])
def test_hooks_that_come_later_run_once(run: Any) -> None:
    weight = fg.tensor([1.0, 2.0], requires_grad=True)
    compiled = run(lambda x: (x * weight * weight).sum())
    x = fg.tensor([3.0, 5.0], requires_grad=True)
    compiled(x)
    seen: list[Any] = []

    def hook(g: Any) -> Any:
        seen.append(g.tolist())
        return g + 1.0

    handle = weight.register_hook(hook)
    value = compiled(x)
    (slope,) = fg.autograd.grad(value**2, [weight])
    value = compiled(x)
    (again,) = fg.autograd.grad(value**2, [weight], create_graph=True)
    assert again.tolist() == slope.tolist()
    again.sum().backward()
    twice = [g.tolist() for g in (weight.grad, x.grad)]
    handle.remove()
    # 2 v v', plus one; then its derivative, whose gradient the hook sees as well.
    v, slopes = 23.0, np.array([6.0, 20.0])
    np.testing.assert_allclose(slope.tolist(), 2 * v * slopes + 1.0)
    assert len(seen) == 3
    w, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    total = (2 * y * w).sum()
    np.testing.assert_allclose(twice[0], 2 * total * 2 * y * w + 2 * v * 2 * y + 1.0)
    np.testing.assert_allclose(twice[1], 2 * total * w * w + 2 * v * 2 * w)


def test_hooks_of_a_loop_that_come_later_run_once() -> None:
    for loop in (
        lambda w: fg.fori_loop(0, 3, lambda i, c: c * w, fg.ones(1)),
        lambda w: fg.ones(1) * w * w * w,
    ):
        w = fg.tensor([2.0], requires_grad=True)
        seen: list[Any] = []
        y = loop(w)
        w.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        (slope,) = fg.autograd.grad(y, [w], create_graph=True)
        assert slope.tolist() == [12.0]
        slope.backward()
        assert w.grad.tolist() == [12.0]
        assert seen == [[12.0], [12.0]]


def test_retained_gradients_are_those_of_the_pass_around() -> None:
    w = fg.tensor([2.0], requires_grad=True)
    m = w * 1.0
    m.retain_grad()
    compiled = fg.compile(lambda x: (x * x).sum())
    for _ in range(2):
        m.grad = None
        (slope,) = fg.autograd.grad(compiled(m) + m.sum(), [w], create_graph=True)
        assert slope.tolist() == [5.0]
        assert m.grad.tolist() == [5.0]


def test_hooks_that_a_function_registers_on_its_arguments() -> None:
    def f(x: Any) -> Any:
        if x.requires_grad:
            x.register_hook(lambda g: g * 3.0)
        return (x**3).sum()

    compiled = fg.compile(f)
    for run in (f, compiled, compiled):
        x = fg.tensor([2.0], requires_grad=True)
        (slope,) = fg.autograd.grad(run(x), [x], create_graph=True)
        assert slope.tolist() == [36.0]
        (twice,) = fg.autograd.grad(slope, [x])
        assert twice.tolist() == [108.0]  # the hook sees the second pass, too


def test_an_argument_that_comes_to_require_grad() -> None:
    def f(x: Any) -> Any:
        x.requires_grad_(True)
        return (x * x).sum()

    for make in (lambda: fg.tensor([3.0]), lambda: fg.tensor([3.0], requires_grad=True)):
        compiled = fg.compile(f)
        for _ in range(3):
            x = make()
            compiled(x).backward()
            assert x.requires_grad
            assert x.grad.tolist() == [6.0]
    compiled = fg.compile(f)
    x = fg.tensor([3.0])
    for n in range(1, 4):
        compiled(x).backward()
        assert x.grad.tolist() == [6.0 * n]
    assert "changes whether an argument requires grad" in compiled.explain(fg.tensor([3.0]))
    off = fg.compile(lambda x: (x.requires_grad_(False), x * 2.0)[1])
    x = fg.tensor([3.0], requires_grad=True)
    assert not off(x).requires_grad
    assert not x.requires_grad
    # An array has no such state.
    energy = fg.compile(lambda x: fg.autograd.grad((x.requires_grad_() ** 2).sum(), [x])[0])
    for _ in range(2):
        assert energy(np.array([3.0])).tolist() == [6.0]
    assert len(energy.programs) == 1


def test_slices_belong_to_the_program() -> None:
    compiled = fg.compile(lambda x, where: x[where] * 2.0)
    x = fg.tensor([1.0, 2.0, 3.0])
    for where in (slice(1), slice(1, 3), slice(1)):
        assert compiled(x, where).tolist() == (x[where] * 2.0).tolist()
    assert len(compiled.programs) == 2


def test_arrays_give_arrays_where_the_function_runs_as_it_is() -> None:
    f = fg.compile(lambda x: (fg.sum(x), x * 2.0, {"rows": fg.sum(x, axis=1)}))
    x = np.arange(6.0).reshape(2, 3)
    for given in (x, x.T, x[:, ::-1], np.asfortranarray(x)):
        total, twice, rest = f(given)
        assert [type(v) for v in (total, twice, rest["rows"])] == [np.float64, *[np.ndarray] * 2]
        assert total == 15.0
        assert rest["rows"].tolist() == given.sum(axis=1).tolist()
    assert isinstance(f(fg.tensor(x).T)[0], fg.Tensor)


def test_errors_of_matrices_are_those_of_the_operation() -> None:
    for function in (fg.linalg.inv, fg.linalg.cholesky, lambda a: fg.linalg.solve(a, a)):
        compiled = fg.compile(function)
        compiled(np.eye(2))
        compiled(np.eye(2) * 2.0)
        wrong = np.array([[-1.0, 0.0], [0.0, 0.0]])
        with pytest.raises(np.linalg.LinAlgError) as eager:
            function(fg.tensor(wrong))
        with pytest.raises(np.linalg.LinAlgError) as replayed:
            compiled(wrong)
        assert str(replayed.value) == str(eager.value)


def test_results_share_memory_from_the_first_call_on() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        return y, y[::-1], x * 2, y.sum()

    compiled = fg.compile(f)
    for _ in range(3):
        y, turned, other, total = compiled(np.arange(3.0))
        assert turned.tolist() == [2, 1, 0]
        y[0], other[0] = 7, 8
        assert (turned[2], total, type(total)) == (7, 3, np.float64)
