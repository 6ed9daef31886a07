"""Later calls of a compiled function come to its program without Python, if they are like it."""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import CompileError, FerrogradError
from test_compile_history import bits, leaf


@contextmanager
def short_way(function: Any) -> Iterator[None]:
    """Fails where a call comes to the package."""

    def called(*_: Any) -> Any:
        raise AssertionError("the call took the long way")

    kind = type(function)
    before = kind._call
    kind._call = called
    try:
        yield
    finally:
        kind._call = before


def takes_the_long_way(function: Any, *args: Any, **kwargs: Any) -> bool:
    try:
        with short_way(function):
            function(*args, **kwargs)
    except AssertionError:
        return True
    return False


ARGUMENTS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, dict[str, Any]]]]] = {
    "tensors": (lambda x, w: (x @ w).sum(), lambda: ((leaf(3, 4), leaf(4, 2)), {})),
    "an array and a tensor": (
        lambda x, w: fg.tanh(w @ x),
        lambda: ((np.cos(np.arange(4.0)), leaf(3, 4)), {}),
    ),
    "a float": (lambda x, a: (x * a).sum(), lambda: ((leaf(3), float(np.random.rand())), {})),
    "containers": (
        lambda p, xs: {"out": [(p["w"] * xs[0]).sum(), p["b"] + xs[1]]},
        lambda: (({"w": leaf(3), "b": leaf(2)}, (fg.ones(3), np.ones(2))), {}),
    ),
    "keywords": (
        lambda x, *, scale, mode: x * scale if mode == "times" else x,
        lambda: ((leaf(3),), {"scale": leaf(3), "mode": "times"}),
    ),
    "what belongs to the program": (
        lambda x, n, none, flag: x.reshape(n) * (2.0 if flag and none is None else 3.0),
        lambda: ((leaf(2, 3), (3, 2), None, True), {}),
    ),
    "no history": (lambda x: x.detach() * 2.0, lambda: ((leaf(3),), {})),
}


def flat(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return [x for value in found.values() for x in flat(value)]
    return [x for value in found for x in flat(value)] if isinstance(found, list) else [found]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_later_calls_take_the_short_way_and_give_the_bits_of_eager(name: str) -> None:
    f, arguments = ARGUMENTS[name]
    compiled = fg.compile(f)
    args, kwargs = arguments()
    compiled(*args, **kwargs)
    for _ in range(2):
        args, kwargs = arguments()
        inputs = [x for x in flat(list(args)) + flat(kwargs) if isinstance(x, fg.Tensor)]
        inputs = [x for x in inputs if x.requires_grad]
        with short_way(compiled):
            found = flat(compiled(*args, **kwargs))
        expected = flat(f(*args, **kwargs))
        assert [bits(x) for x in found] == [bits(x) for x in expected]
        if expected[0].requires_grad:
            got = fg.autograd.grad([x.sum() for x in found], inputs, allow_unused=True)
            want = fg.autograd.grad([x.sum() for x in expected], inputs, allow_unused=True)
            assert [bits(x) for x in got] == [bits(x) for x in want]
    assert len(compiled.programs) == 1


def test_a_model_in_a_training_loop_takes_the_short_way() -> None:
    model = fg.nn.Sequential(fg.nn.Linear(4, 5), fg.nn.Tanh(), fg.nn.Linear(5, 1))
    compiled = fg.compile(model)
    optimizer = fg.optim.Adam(model.parameters(), lr=0.1)
    for k in range(4):
        x = fg.tensor(np.cos(np.arange(8.0) + k).reshape(2, 4))
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        want = [bits(p.grad) for p in model.parameters()]
        optimizer.zero_grad()
        if k == 0:
            compiled(x)
        with short_way(compiled):
            (compiled(x) ** 2).mean().backward()
        assert [bits(p.grad) for p in model.parameters()] == want
        optimizer.step()


def test_inside_a_transform() -> None:
    def f(x: Any) -> Any:
        return (fg.sin(x) * x).sum()

    compiled = fg.compile(f)
    slope = fg.grad(compiled)
    slope(np.ones(3))
    x = np.array([0.5, 1.0, 2.0])
    with short_way(compiled):
        found = slope(x)
    assert bits(found) == bits(fg.grad(f)(x))


def test_several_signatures_are_remembered() -> None:
    compiled = fg.compile(lambda x: (x * x).sum())
    given = [leaf(2), leaf(3), fg.ones(2), np.ones(4)]
    for x in given:
        compiled(x)
    with short_way(compiled):
        for x in given:
            found = compiled(x)
            assert bits(found) == bits((fg.tensor(x) * fg.tensor(x)).sum())


def test_what_differs_takes_the_long_way() -> None:
    f = fg.compile(lambda x, n, w: (x.reshape(n) * w["a"]).sum())
    x, w = leaf(2, 3), leaf(6)
    f(x, 6, {"a": w})
    assert not takes_the_long_way(f, x, 6, {"a": w})
    other = [
        (x.detach(), 6, {"a": w}),
        (leaf(2, 3, dtype=np.float32), 6, {"a": w}),
        (leaf(3, 2), 6, {"a": w}),
        (leaf(3, 2).T, 6, {"a": w}),
        (x, np.int64(6), {"a": w}),
        (x, (6,), {"a": w}),
        (x, 6, {"b": w}),
        (x, 6, {"a": w, "b": w}),
        (x, 6, [w]),
        (x, 6),
        (x.detach().numpy(), 6, {"a": w}),
    ]
    for args in other:
        assert takes_the_long_way(f, *args)
    assert takes_the_long_way(f, x, 6, w={"a": w})
    with fg.no_grad():
        assert takes_the_long_way(f, x, 6, {"a": w})
    with fg.inference_mode():
        assert takes_the_long_way(f, x, 6, {"a": w})
    with fg.Graph():
        assert takes_the_long_way(f, x, 6, {"a": w})


def test_minus_zero_and_one_are_other_values_than_zero_and_true() -> None:
    f = fg.compile(lambda x, flag: x * 2.0 if flag is True else x * 3.0)
    x = leaf(2)
    f(x, True)
    assert takes_the_long_way(f, x, 1)
    g = fg.compile(lambda x, a: x * (2.0 if str(a) == "0.0" else 3.0))
    for value in (0.0, -0.0, 0.0, -0.0):
        assert g(x, value).tolist() == (x * (2.0 if str(value) == "0.0" else 3.0)).tolist()


def test_what_the_function_looks_at_is_checked() -> None:
    """Modules that change, numbers that were read, and tensors that begin to require grad."""

    class Dropped(fg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = fg.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return fg.nn.functional.dropout(self.linear(x), 0.5, self.training)

    model = Dropped()
    compiled = fg.compile(lambda x: model(x).sum())
    x = leaf(2, 3)
    for k in range(6):
        model.train() if k % 3 == 0 else model.eval()
        if k == 4:
            model.linear.weight = fg.nn.Parameter(fg.ones(3, 3))
        if k == 5:
            model.linear.bias.requires_grad_(False)
        for p in model.parameters():
            p.grad = None
        fg.manual_seed(3)
        y = compiled(x)
        y.backward()
        got = [bits(y), *(bits(p.grad) for p in model.parameters())]
        for p in model.parameters():
            p.grad = None
        fg.manual_seed(3)
        y = model(x).sum()
        y.backward()
        assert got == [bits(y), *(bits(p.grad) for p in model.parameters())]
    scale = fg.tensor(2.0)
    scaled = fg.compile(lambda x: x * scale.item())
    for value in (2.0, 2.0, 5.0):
        scale.fill_(value)
        assert scaled(x).tolist() == (x * value).tolist()


def test_an_array_may_change_before_the_backward_pass() -> None:
    w = leaf(3)
    compiled = fg.compile(lambda x: (w * x * x).sum())
    x = np.ones(3)
    for _ in range(3):
        x[:] = 1.0
        y = compiled(x)
        x[:] = 7.0
        (slope,) = fg.autograd.grad(y, w)
        assert slope.tolist() == [1.0, 1.0, 1.0]


def test_an_argument_that_the_function_writes_is_refused() -> None:
    memory = fg.zeros(3)

    def f(x: Any, y: Any) -> Any:
        with fg.no_grad():
            memory.add_(1.0)
        return x * y

    compiled = fg.compile(f)
    x = leaf(3)
    compiled(x, fg.ones(3))
    with pytest.raises(CompileError, match="argument"):
        compiled(x, memory)
    assert memory.tolist() == [1.0, 1.0, 1.0]


def test_hooks_on_arguments_and_saved_tensors() -> None:
    compiled = fg.compile(lambda x: (x * x).sum())
    x = leaf(2)
    compiled(x)
    x.register_hook(lambda g: g * 10.0)
    with short_way(compiled):
        compiled(x).backward()
    assert x.grad.tolist() == (x.detach() * 20.0).tolist()
    packed: list[Any] = []

    def pack(value: Any) -> Any:
        packed.append(value)
        return value

    with fg.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        assert takes_the_long_way(compiled, x)
        compiled(x)
    assert packed


def test_calls_from_many_threads() -> None:
    compiled = fg.compile(lambda x: fg.tanh(x @ x).sum())
    xs = [leaf(8, 8) for _ in range(4)]
    want = [bits(fg.grad(lambda x: fg.tanh(x @ x).sum())(x.detach())) for x in xs]
    compiled(xs[0])
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(50):
            (slope,) = fg.autograd.grad(compiled(xs[k]), xs[k])
            if bits(slope) != want[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_change_in_place_before_the_backward_pass_is_found() -> None:
    w = leaf(3)
    compiled = fg.compile(lambda x: (w * w * x).sum())
    for _ in range(3):
        y = compiled(leaf(3))
        with fg.no_grad():
            w.mul_(2.0)
        with pytest.raises(FerrogradError, match=r"in-place|in place|changed"):
            y.backward()


def test_programs_die_with_the_function() -> None:
    gc.collect()
    before = fg.live_nodes()

    class Owner:
        def __init__(self) -> None:
            self.w = leaf(3)
            self.step = fg.compile(self.compute)
            self.last: Any = None

        def compute(self, x: Any) -> Any:
            return {"y": self.w * x}

    owner = Owner()
    for _ in range(3):
        owner.last = owner.step(leaf(3))
    del owner
    gc.collect()
    assert fg.live_nodes() == before
