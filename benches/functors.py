"""Overhead of the functors of document 001 over the operations they wrap.

`python benches/functors.py`. Each round times both sides of a pair once, in alternating order; a
figure is the median over the rounds of a ratio, or of a difference, of two times of one round.
Exits with 1 if a limit is exceeded. Run it with `chrt -f 50` where that is allowed: other work on
the machine then waits.
"""

import gc
import statistics
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import ferrograd as fg
from ferrograd import functors

ROUNDS = 41
SECONDS = 0.004


@dataclass(frozen=True)
class Comparison:
    """A call, what it wraps, and the limit on their ratio or (in ns) on their difference."""

    name: str
    call: Callable[[], object]
    wrapped: Callable[[], object]
    ratio: float | None = None
    nanoseconds: float | None = None


def make_clock(call: Callable[[], object]) -> Callable[[], float]:
    """Seconds per call, over enough calls to fill the target time."""
    timer = timeit.Timer(call)
    once = timer.timeit(20) / 20
    number = max(1, int(SECONDS / once))
    return lambda: timer.timeit(number) / number


def measure(pair: Comparison) -> tuple[float, float, float]:
    """Median time of the wrapped operation, median ratio, median difference in ns."""
    sides = make_clock(pair.call), make_clock(pair.wrapped)
    rounds = []
    for i in range(ROUNDS):
        gc.collect()
        first = i % 2
        times = {first: sides[first](), 1 - first: sides[1 - first]()}
        rounds.append((times[0], times[1]))
    return (
        statistics.median(w for _, w in rounds),
        statistics.median(c / w for c, w in rounds),
        statistics.median((c - w) * 1e9 for c, w in rounds),
    )


def make_functor_calls(size: int) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Each functor beside the operation it wraps, on about so many elements."""
    side = max(1, round(size**0.5))

    def leaf(*shape: int) -> fg.Tensor:
        return fg.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)

    x, y, a, b, fiber = leaf(size), leaf(size), leaf(side, side), leaf(side, side), leaf(side)
    return {
        "add": (lambda: functors.add(1.0, x, 1.0, y), lambda: x + y),
        "gemm": (lambda: functors.gemm(a, b), lambda: a @ b),
        "add_fiber": (lambda: functors.add_fiber(1.0, fiber, 1.0, a, 1), lambda: a + fiber),
        "sum_fiber": (lambda: functors.sum_fiber(a, 1), lambda: a.sum(axis=0)),
        "gelu": (lambda: functors.gelu(x), lambda: fg.gelu(x)),
    }


class Square(fg.Function):
    """The peer of a `wrap_forward` module."""

    @staticmethod
    def forward(ctx, x):
        """The square."""
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        """2 g x."""
        (x,) = ctx.saved_tensors
        return 2.0 * g * x


class WrappedSquare(fg.nn.Module):
    """The same through `wrap_forward`."""

    def forward(self, x):
        """The square."""
        return self.wrap_forward(x, self._square, lambda: [x], self._backward)

    @staticmethod
    def _square(x):
        return x * x

    @staticmethod
    def _backward(op):
        return [2.0 * op.grad_outputs[0] * op.inputs[0]]


def make_comparisons() -> list[Comparison]:
    """Everything to time."""
    found = [
        Comparison(f"functors.{name}, 1 element", *both, nanoseconds=400)
        for name, both in make_functor_calls(1).items()
    ]
    found += [
        Comparison(f"functors.{name}, 100 000 elements", *both, ratio=1.05)
        for name, both in make_functor_calls(100_000).items()
    ]
    x, module = fg.tensor([1.5], requires_grad=True), WrappedSquare()
    found.append(
        Comparison(
            "wrap_forward and backward, beside a Function",
            lambda: module(x).backward(),
            lambda: Square.apply(x).backward(),
            ratio=2.5,
        )
    )
    return found


def main() -> None:
    """Measures and compares with the limits."""
    fg.set_num_threads(1)
    broken = 0
    for pair in make_comparisons():
        wrapped, ratio, difference = measure(pair)
        limit = f"<= {pair.ratio}" if pair.ratio else f"<= {pair.nanoseconds:.0f} ns more"
        fails = ratio > pair.ratio if pair.ratio else difference > (pair.nanoseconds or 0)
        broken += fails
        print(
            f"{pair.name:46} wraps {wrapped * 1e6:9.2f} µs   x {ratio:5.3f}   {difference:+9.0f} ns"
            f"   {limit}{'   BROKEN' if fails else ''}",
            flush=True,
        )
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
