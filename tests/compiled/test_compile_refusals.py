"""What `fg.compile` refuses, with its messages, and that a refusal changes nothing."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd._compile.compiled_function import MAX_WARM_UPS
from ferrograd.errors import ArgumentTypeError, CompileError
from test_compile import same_bits

GENERATOR = fg.Generator(0)


def swallow(f: Any) -> float:
    try:
        return f()
    except CompileError:
        return 1.0


REFUSED = {
    "if": (lambda x: x if x.sum() > 0 else -x, "fg.where"),
    "while": (lambda x: [x := x - 1 for _ in iter(lambda: bool(x.sum() > 0), False)], "fg.where"),
    "float": (lambda x: fg.zeros(2) + float(x.sum()), "static"),
    "item": (lambda x: x * x.sum().item(), "static"),
    "print": (lambda x: print(x) or x, "static"),
    "tolist": (lambda x: fg.tensor(x.tolist()), "static"),
    "numpy": (lambda x: fg.tensor(np.asarray(x)), "static"),
    "mask": (lambda x: x[x > 0], "fg.where"),
    "nonzero": (lambda x: fg.nonzero(x > 0), "fg.where"),
    "generator": (lambda x: x + fg.rand(2, generator=fg.Generator(0)), "make it outside"),
    "default_rng": (
        lambda x: x + fg.rand(2, generator=np.random.default_rng(0)),
        "make it outside",
    ),
    "numpy's numbers": (lambda x: x + GENERATOR.numpy.random(2), "fg.rand"),
    "swallowed": (lambda x: x + swallow(lambda: float(x.sum())), "static"),
    "argument": (lambda x: x.add_(1.0), "copy"),
    "recursion": (lambda x: COMPILED["recursion"](x), ""),
}
COMPILED: dict[str, Any] = {name: fg.compile(f) for name, (f, _) in REFUSED.items()}


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "recursion"])
def test_what_looks_at_values_is_refused(name: str) -> None:
    x = fg.tensor([1.0, -2.0])
    for _ in range(2):
        with pytest.raises(CompileError, match=REFUSED[name][1]):
            COMPILED[name](x)
    assert x.tolist() == [1.0, -2.0]
    same_bits(fg.compile(lambda x: x * 2)(x), x * 2)  # recording goes on as ever


def test_constants_chosen_by_an_argument_are_no_constants() -> None:
    table = np.arange(4.0)
    for f in (
        lambda i: fg.tensor(table)[i].sum().item(),
        lambda i: fg.scatter(fg.zeros(4), 0, i, fg.ones(1)).argmax().item(),
    ):
        with pytest.raises(CompileError, match="Python reads a value"):
            fg.compile(f)(fg.tensor([1]))


def test_a_tensor_that_is_kept_is_refused() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x + 1

    total = fg.zeros(3)

    def g(x: Any) -> Any:
        with fg.no_grad():
            total.add_(x)
        return f(x)

    compiled = fg.compile(g)
    for _ in range(MAX_WARM_UPS):
        assert compiled(fg.ones(3)).tolist() == [2.0] * 3  # counts as a plain call
    for _ in range(2):
        with pytest.raises(CompileError, match="kept after each call"):
            compiled(fg.ones(3))
        assert total.tolist() == [float(MAX_WARM_UPS)] * 3
    assert compiled.programs == ()


def test_an_argument_that_the_function_changes_is_refused() -> None:
    c = fg.zeros(2)

    def f(x: Any) -> Any:
        with fg.no_grad():
            c.add_(1.0)
        return x * 10

    compiled = fg.compile(f)
    with pytest.raises(CompileError, match="pass a copy"):
        compiled(c)
    assert c.tolist() == [0.0, 0.0]
    compiled(fg.ones(2))
    with pytest.raises(CompileError, match="pass a copy"):
        compiled(c)
    assert c.tolist() == [1.0, 1.0]


def test_a_recording_that_fails_changes_nothing() -> None:
    state = fg.ones(3)
    w = fg.tensor([1.0, 2.0], requires_grad=True)
    w.grad = fg.ones(2)

    def f(x: Any) -> Any:
        with fg.no_grad():
            state.mul_(2.0)
        (w * w).sum().backward()
        return float(x.sum())

    with pytest.raises(CompileError):
        fg.compile(f)(fg.ones(3))
    assert state.tolist() == [1.0] * 3
    assert w.grad.tolist() == [1.0, 1.0]


def test_errors_are_those_of_the_function() -> None:
    f = fg.compile(lambda a, b: a @ b)
    with pytest.raises(fg.errors.ShapeError, match="matmul"):
        f(fg.ones(2, 3), fg.ones(2, 3))
    inverse = fg.compile(fg.linalg.inv)
    inverse(fg.tensor(np.eye(2)))
    with pytest.raises(fg.errors.MatrixError):
        inverse(fg.zeros(2, 2))


def test_bad_input() -> None:
    with pytest.raises(ArgumentTypeError, match="pass a function"):
        fg.compile(3)  # type: ignore[call-overload]


def test_the_dtype_that_programs_do_not_take_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match="an array of object"):
        fg.compile(lambda m: m * 2)(np.array([1], object))
