"""`checkpoint=k` of loops: they keep the carry of every k iterations, and gradients keep bits."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, FerrogradError
from test_control_flow import bits, leaf, recurrent

rng = np.random.default_rng(5)


def gradients(checkpoint: int, reverse: bool, compiled: bool, w: Any, h: Any, xs: Any) -> Any:
    def loss(w: Any, h: Any, xs: Any) -> Any:
        step = recurrent(w)
        last, rows = fg.scan(
            lambda h, x: step(h, fg.sin(x)), h, xs, reverse=reverse, checkpoint=checkpoint
        )
        return last.sum() + (rows * rows).sum()

    both = fg.value_and_grad(loss, argnums=(0, 1, 2))
    return (fg.compile(both) if compiled else both)(w, h, xs)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [2, 3, 7, 10, 11, 10**30])
def test_gradients_have_the_bits_of_the_whole_tape(
    checkpoint: int, reverse: bool, compiled: bool
) -> None:
    given = [rng.standard_normal(shape) for shape in ((4, 4), (4,), (10, 4))]
    want = gradients(1, reverse, compiled, *given)
    found = gradients(checkpoint, reverse, compiled, *given)
    assert bits(found[0]) == bits(want[0])
    assert [bits(x) for x in found[1]] == [bits(x) for x in want[1]]


def test_closures_integers_and_values_that_pass_through() -> None:
    w, x = leaf(3), leaf(3)

    def body(i: Any, carry: Any) -> Any:
        a, b, n = carry
        return fg.sin(a * w) + b, b, n + i

    found = []
    for checkpoint in (1, 4):
        a, b, n = fg.fori_loop(2, 15, body, (x, x * 2.0, 0), checkpoint=checkpoint)
        grads = fg.autograd.grad((a * b).sum(), [w, x])
        found.append([bits(y) for y in (a, b, n, *grads)])
    assert found[0] == found[1]


def test_a_backward_pass_twice_and_a_second_derivative() -> None:
    x = leaf(3)
    y = fg.fori_loop(0, 9, lambda i, x: fg.sin(x) * x, x, checkpoint=3).sum()
    (first,) = fg.autograd.grad(y, x, retain_graph=True)
    (again,) = fg.autograd.grad(y, x, retain_graph=True)
    assert bits(first) == bits(again)
    (slope,) = fg.autograd.grad(y, x, create_graph=True)
    (curve,) = fg.autograd.grad(slope.sum(), x)
    plain = fg.fori_loop(0, 9, lambda i, x: fg.sin(x) * x, x).sum()
    (want,) = fg.autograd.grad(plain, x, create_graph=True)
    assert bits(curve) == bits(fg.autograd.grad(want.sum(), x)[0])


def test_a_change_of_a_leaf_that_iterations_read_again_is_found() -> None:
    w, xs, x = leaf(3), fg.ones(6, 3), leaf(3)
    y = fg.scan(lambda c, x, w=w: (fg.sin(c) + w + x, None), x, xs, checkpoint=2)[0]
    with fg.no_grad():
        w.mul_(2.0)
    with pytest.raises(FerrogradError, match=r"in-place|in place|changed"):
        y.sum().backward()


@pytest.mark.parametrize("refused", [False, True])
def test_what_iterations_read_again_is_as_it_was(refused: bool) -> None:
    x, xs = leaf(3), fg.ones(6, 3)
    held = x * 1.0
    y = fg.scan(lambda c, x: (fg.sin(c) * held + x, None), x, xs, checkpoint=2)[0]
    (expected,) = fg.autograd.grad(y.sum(), x, retain_graph=True)
    graph = fg.autograd.graph
    with graph.disallow_mutation_on_saved_tensors() if refused else fg.no_grad():
        xs.mul_(2.0)
        held.add_(1.0)
    if refused:
        with pytest.raises(FerrogradError, match=r"in-place|in place|changed"):
            y.sum().backward()
    else:
        (found,) = fg.autograd.grad(y.sum(), x)
        assert bits(found) == bits(expected)


def test_memory_of_a_long_loop_falls() -> None:
    x = leaf(100)
    kept = []
    for checkpoint in (1, 300):
        before = fg.live_bytes()
        y = fg.fori_loop(0, 100_000, lambda i, x: fg.sin(x) + 0.5 * x, x, checkpoint=checkpoint)
        kept.append(fg.live_bytes() - before)
        (slope,) = fg.autograd.grad(y.sum(), x)
        kept.append(bits(slope))
    assert kept[1] == kept[3]
    assert kept[0] > 100_000 * 800
    assert kept[2] < kept[0] / 50


def test_it_keeps_bits_where_nothing_is_compiled() -> None:
    script = (
        "import ferrograd as fg\n"
        "x = fg.tensor([0.5, 1.0], requires_grad=True)\n"
        "y = fg.fori_loop(0, 7, lambda i, x: fg.sin(x) * x + i, x, checkpoint=3).sum()\n"
        "print(fg.autograd.grad(y, x)[0].numpy().tobytes().hex())\n"
    )
    found = []
    for on in ("0", "1"):
        environment = {**os.environ, "FERROGRAD_COMPILE": on}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.append(done.stdout)
    assert found[0] == found[1]


@pytest.mark.parametrize("checkpoint", [0, -1, 2.0, "3", None, True])
def test_what_is_no_number_of_iterations_is_refused(checkpoint: Any) -> None:
    with pytest.raises(ArgumentError, match="scan: checkpoint is"):
        fg.scan(lambda c, x: (c + x, c), 0.0, fg.ones(3), checkpoint=checkpoint)
    with pytest.raises(ArgumentError, match="fori_loop: checkpoint is"):
        fg.fori_loop(0, 3, lambda i, c: c, 0.0, checkpoint=checkpoint)
