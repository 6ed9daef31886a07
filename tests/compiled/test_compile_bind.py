"""`CompiledFunction.bind`: the same memory in every run, and the function for callers from C."""

import ctypes
import gc
import threading
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, CompileError
from test_compile import draw, rosenbrock, same_bits

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def test_runs_read_and_write_the_same_memory() -> None:
    f = fg.value_and_grad(rosenbrock)
    x = draw(10)
    run = fg.compile(f).bind(x)
    first = run()
    assert first is run.results
    for seed in range(1, 4):
        x[:] = draw(10, seed=seed)
        again = run()
        assert again is first
        same_bits(tuple(np.array(r) for r in again), tuple(np.array(r) for r in f(x)))


def test_tensors_and_containers() -> None:
    def f(p: Any, scale: float) -> Any:
        return {"y": fg.tanh(p["w"]) * scale, "view": p["w"].T, "fixed": (fg.ones(2), 7)}

    w = fg.tensor(draw(3, 2))
    run = fg.compile(f).bind({"w": w}, 0.5)
    kept = run()
    version = kept["y"]._version
    w.copy_(fg.tensor(draw(3, 2, seed=1)))
    assert run() is kept
    same_bits(kept, f({"w": w}, 0.5))
    assert kept["y"]._version > version
    kept["view"].zero_()
    assert w.numpy().any(), "a result that is an argument is a copy"
    kept["fixed"][0].zero_()
    same_bits(run(), f({"w": w}, 0.5))


def test_large_arrays_run_without_the_lock() -> None:
    f = fg.value_and_grad(lambda x: fg.sum(fg.tanh(x * 1.5) * x))
    x = draw(50_000)
    run = fg.compile(f).bind(x)
    x *= 0.5
    value, slope = run()
    same_bits((np.float64(value), np.array(slope)), f(x))


def test_a_training_step() -> None:
    w = fg.tensor(draw(4), requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        loss = fg.sum((w * x) ** 2)
        loss.backward()
        with fg.no_grad():
            w.sub_(0.1 * w.grad)
        return loss.detach()

    x = fg.tensor(draw(4, seed=1))
    run = fg.compile(step).bind(x)
    start = fg.tensor(draw(4, seed=2))
    with fg.no_grad():
        w.copy_(start)
    got = run().item(), w.detach().clone(), w.grad.clone()
    with fg.no_grad():
        w.copy_(start)
    want = step(x).item(), w.detach().clone(), w.grad.clone()
    same_bits(got, want)


def test_a_c_function_runs_it() -> None:
    f = fg.value_and_grad(rosenbrock)
    x = draw(10)
    run = fg.compile(f).bind(x)
    entry = ENTRY(run.address)
    x[:] = draw(10, seed=3)
    assert entry(run.data) == 0
    same_bits(tuple(np.array(r) for r in run.results), tuple(np.array(r) for r in f(x)))


def test_a_c_function_of_another_thread() -> None:
    x = draw(10)
    run = fg.compile(fg.grad(rosenbrock)).bind(x)
    entry = ENTRY(run.address)
    statuses = []
    x[:] = draw(10, seed=3)
    thread = threading.Thread(target=lambda: statuses.append(entry(run.data)))
    thread.start()
    thread.join()
    assert statuses == [0]
    same_bits(np.array(run.results), fg.grad(rosenbrock)(x))


def test_one_run_at_a_time() -> None:
    x = draw(300_000)
    run = fg.compile(lambda x: fg.tanh(x) * x + fg.exp(-x)).bind(x)
    entry = ENTRY(run.address)
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.extend(entry(run.data) for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {0, 1}
    assert 0 in statuses
    same_bits(np.array(run()), np.tanh(fg.tensor(x)).numpy() * x + fg.exp(-fg.tensor(x)).numpy())


def test_what_ends_it() -> None:
    scale = fg.tensor(2.0)
    f = fg.compile(lambda x: x * scale.item())
    x = fg.tensor(draw(3))
    run = f.bind(x)
    run()
    scale.fill_(3.0)
    with pytest.raises(CompileError, match="bind it again"):
        run()
    assert ENTRY(run.address)(run.data) == 2
    same_bits(f(x), x * 3.0)
    same_bits(f.bind(x)(), x * 3.0)


def test_values_that_decide_otherwise_end_it() -> None:
    x = np.array([2, 3])
    f = fg.compile(lambda x: fg.power(fg.tensor([4, 5]), x))
    run = f.bind(x)
    same_bits(np.array(run()), np.array([16, 125]))
    x[1] = -1
    with pytest.raises(CompileError, match="bind it again"):
        run()
    assert ENTRY(run.address)(run.data) == 2


def test_arguments_that_cannot_be_bound() -> None:
    f = fg.compile(fg.exp)
    with pytest.raises(CompileError, match="C order"):
        f.bind(draw(4, 3).T)
    with pytest.raises(ArgumentError, match="argument 0 cannot be read where it lies"):
        fg.compile(fg.logical_not).bind(np.array([True, False]))
    leaf = fg.tensor(1.0, requires_grad=True)
    with pytest.raises(CompileError, match="requires grad"):
        f.bind(leaf)
    with fg.no_grad():
        same_bits(f.bind(leaf)(), fg.exp(1.0))
    x = fg.tensor(draw(3))
    changing = fg.compile(lambda y: x.add_(1.0) * y)
    changing.bind(fg.tensor(draw(3)))
    with pytest.raises(CompileError, match="memory that the function changes"):
        changing.bind(x)


def test_it_keeps_what_it_needs() -> None:
    x = draw(10)
    run = fg.compile(fg.grad(rosenbrock)).bind(x)
    want = fg.grad(rosenbrock)(x)
    del x
    gc.collect()
    junk = [draw(10, seed=i) for i in range(50)]
    same_bits(np.array(run()), want)
    result = run.results
    del run, junk
    gc.collect()
    same_bits(np.array(result), want)


def test_python_code_in_the_middle_needs_python() -> None:
    def f(x: Any) -> Any:
        return fg.pure_callback(lambda a: np.sort(a), fg.zeros(3), fg.exp(x)) * 2.0

    x = draw(3)
    run = fg.compile(f).bind(fg.tensor(x))
    same_bits(run(), f(fg.tensor(x)))
    with pytest.raises(CompileError, match="Python"):
        _ = run.address
