"""`explain` and `log`: what people are told of programs."""

import re
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, CompileError
from test_compile import draw


def test_steps_memory_and_what_is_outside() -> None:
    w, count = fg.tensor(draw(3000)), fg.zeros(1)

    def f(x: Any) -> Any:
        with fg.no_grad():
            count.add_(1.0)
        y = fg.sin(x * w) + fg.rand(3000)
        return fg.sum(y), y[::-1] @ fg.tensor(np.arange(3000.0))

    text = fg.compile(f, name="f").explain(fg.tensor(draw(3000)))
    assert re.match(r"f: \d+ steps, \d+ bytes of temporaries\n", text)
    assert re.search(r"memory: \d+ bytes of results, \d+ bytes of constants", text)
    assert re.search(r"read where it lies, outside: %\d+ \(\d+ bytes\), %\d+ \(\d+ bytes\)", text)
    assert re.search(r"written where it lies, outside: %\d+ \(8 bytes\)", text)
    assert "foreign, calls Python: random" in text
    assert "x.sin()" in text  # what loops compute
    assert "a * b" in text
    assert text.endswith("recorded: it was called for the first time")


def test_a_flowchart() -> None:
    f = fg.compile(lambda x: fg.sum(fg.sin(x * 2.0) + 1.0) + fg.rand(()))
    lines = f.explain(fg.ones(5000), format="mermaid").splitlines()
    assert lines[0] == "flowchart TD"
    nodes = [line for line in lines if re.match(r"  s\d+[\[{]", line)]
    assert len(nodes) == len(f.programs[0].steps())
    assert any('{{"random"}}' in line for line in lines)
    assert any("argument 0" in line for line in lines)
    assert any("result, 8 bytes" in line for line in lines)
    for line in lines[1:]:
        for name in re.findall(r"-->(?:\|[^|]*\|)? (\w+)", line):
            assert any(re.match(rf"  {name}\W", other) or name in line for other in lines)
    with pytest.raises(ArgumentError, match="mermaid"):
        f.explain(fg.ones(5000), format="dot")


def test_calls_that_are_nodes_and_calls_that_run_eagerly() -> None:
    f = fg.compile(lambda x: (x * x).sum(), name="f")
    assert "memory:" in f.explain(fg.ones(3, requires_grad=True))
    base = fg.ones(2, requires_grad=True) * 2.0
    g = fg.compile(lambda x: x * base, name="g")
    for form in ("text", "mermaid"):
        assert g.explain(fg.ones(2), format=form).startswith("g: runs eagerly, because")


def test_the_log_says_why_it_was_recorded() -> None:
    n = fg.tensor(2.0)
    f = fg.compile(lambda x, k, *, y=1.0: fg.max(x * float(n)) * k * y)
    f(fg.ones(2), 3)
    assert f.log == ("it was called for the first time",)
    f(fg.ones(2), 3)
    f(fg.ones(3), 3)
    assert f.log[1] == "argument 0 is float64(3,) and was float64(2,)"
    f(fg.ones(3, dtype="float32"), 4)
    assert f.log[2] == (
        "argument 0 is float32(3,) and was float64(3,), argument 1 is int 4 and was int 3"
    )
    f(fg.ones(3), 4, y=fg.ones(1))
    assert f.log[3] == "the structure of the arguments is different"
    f(fg.ones(3), 4, y=fg.ones(2))
    assert f.log[4] == "argument y is float64(2,) and was float64(1,)"
    n.fill_(3.0)
    f(fg.ones(3), 4, y=fg.ones(2))
    assert f.log[5] == "what the function looked at beside its arguments has changed"
    assert f.explain(fg.ones(3), 4, y=fg.ones(2)).endswith(f"recorded: {f.log[5]}")
    f.clear()
    assert f.log == ()


def test_values_that_take_another_way_are_logged() -> None:
    f = fg.compile(fg.grad(lambda x: fg.max(x)))
    f(np.array([1.0, 2.0]))
    f(np.array([np.nan, 2.0]))
    assert f.log[1] == "values took another way than those recorded before"


def test_the_warning_names_what_is_different() -> None:
    f = fg.compile(lambda x, n: x * n)
    for n in range(8):
        f(fg.ones(2), n)
    with pytest.warns(RuntimeWarning, match="argument 1 is int 8 and was int 7"):
        f(fg.ones(2), 8)


def test_a_learning_rate_that_changes_is_named() -> None:
    weight = fg.nn.Parameter(fg.ones(2))
    optimizer = fg.optim.Adam([weight], lr=0.5)

    @fg.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    for n in range(4):
        optimizer.param_groups[0]["lr"] = 0.5 / 2**n
        step(fg.ones(2))
    assert step.log[-1].endswith(
        "has changed: 'lr' of Adam is 0.0625 and was 0.125; use lr=fg.tensor(...)"
    )


def test_the_log_says_why_calls_run_eagerly() -> None:
    weight = fg.nn.Parameter(fg.ones(2))

    @fg.compile
    def step(x: Any) -> Any:
        loss = (weight * x).sum()
        loss.backward()
        return loss

    for _ in range(3):
        step(fg.ones(2))
    assert step.log == (
        "it was called for the first time; such calls run eagerly, because it sets gradients of"
        " leaves and returns a history",
    )


def test_arguments_that_do_not_lie_in_c_order_are_named() -> None:
    f = fg.compile(lambda x, p: (x * p["w"]).sum())
    a, b = np.ones((2, 3)), np.arange(6.0).reshape(3, 2)
    for _ in range(3):
        assert f(a, {"w": b.T}) == 15.0
        assert f(fg.tensor(b).T, {"w": a}).item() == 15.0
    assert f.log == (
        "such calls run eagerly, because argument 1['w'] is not in C order: pass"
        " np.ascontiguousarray(x)",
        "such calls run eagerly, because argument 0 is not in C order: pass x.contiguous()",
    )
    assert "argument 1['w'] is not in C order" in f.explain(a, {"w": b.T})
    assert f.programs == ()
    with pytest.raises(CompileError, match="runs eagerly, because argument 0 is not in C order"):
        f.bind(b.T, {"w": a})
    assert f(a, {"w": a}) == 6.0
    assert f(a, {"w": b.T}) == 15.0
    assert len(f.programs) == 1
    assert f.log[-1] == "it was called for the first time"
