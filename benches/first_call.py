"""Cost of the first call of compiled functions, compared with a later call.

`python benches/first_call.py` prints, for Rosenbrock's function of 10 variables and 200 steps of an
integrator, the first and a later call of: eager ferrograd, `fg.compile`, `jax.jit`, and with
`--torch` eager PyTorch and `torch.compile` (minutes). Each figure comes from a new process; the
processes take turns, and the best of several rounds counts.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODES = ("eager", "compile", "jax")
TORCH_MODES = ("torch", "torch.compile")
POINT = np.linspace(-0.4, 1.1, 10)


def rosenbrock(lib: Any, x: Any) -> Any:
    return lib.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def integrate(lib: Any, x: Any) -> Any:
    for _ in range(200):
        x = x + 0.01 * (lib.sin(x) - 0.1 * x * x)
    return lib.sum(x * x)


PROGRAMS = {"rosenbrock(10)": rosenbrock, "200 steps": integrate}


def make_function(way: str, work: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """Value and gradient at the point, with arrays in and out."""
    if way in TORCH_MODES:
        return make_torch_function(way, work)
    if way == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        fast = jax.jit(jax.value_and_grad(lambda x: work(jax.numpy, x)))
        return lambda: jax.tree.map(np.asarray, jax.block_until_ready(fast(POINT)))
    import ferrograd as fg

    both = fg.value_and_grad(lambda x: work(fg, x))
    made = fg.compile(both) if way == "compile" else both
    return lambda: made(POINT)


def make_torch_function(way: str, work: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    import torch

    inner: Any = lambda x: work(torch, x)  # noqa: E731
    forward = torch.compile(inner) if way == "torch.compile" else inner

    def both() -> Any:
        x = torch.tensor(POINT, requires_grad=True)
        value = forward(x)
        value.backward()
        assert x.grad is not None
        return value.item(), x.grad.numpy()

    return both


def time_calls(way: str, name: str) -> tuple[float, float]:
    """Seconds of the first call and of a later one."""
    run = make_function(way, PROGRAMS[name])
    begin = time.perf_counter()
    run()
    first = time.perf_counter() - begin
    for _ in range(20):
        run()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 0.2:
        run()
        count += 1
    return first, (time.perf_counter() - begin) / count


def measure_in_subprocess(*words: str) -> list[float]:
    """The figures that a process of its own prints."""
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def format_table(rounds: int, ways: tuple[str, ...]) -> str:
    lines = ["| work | way | first call, ms | later call, µs |", "|---|---|---|---|"]
    for name in PROGRAMS:
        best = {way: [float("inf")] * 2 for way in ways}
        for _ in range(rounds):
            for way in ways:
                best[way] = [
                    min(*both)
                    for both in zip(best[way], measure_in_subprocess(way, name), strict=True)
                ]
        for way, (first, later) in best.items():
            lines.append(f"| {name} | {way} | {first * 1e3:.2f} | {later * 1e6:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help="way and work: one measurement, for the processes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torch", action="store_true", help="with PyTorch, compiled too: minutes")
    given = parser.parse_args()
    if given.what:
        print(*time_calls(*given.what))
    else:
        print(format_table(given.rounds, MODES + TORCH_MODES if given.torch else MODES))


if __name__ == "__main__":
    main()
