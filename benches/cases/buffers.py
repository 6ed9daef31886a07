"""Buffers that are filled in a loop, beside a list and one `np.stack`: forward and backward.

Each pair computes the same number of ten parameters. `buffer_growth.py` compares the time and the
peak of memory of both for loops of 10 000 and 100 000 steps, each in a process of its own.
"""

from collections.abc import Callable
from typing import Any

import numpy

from harness import Case

START = numpy.linspace(0.1, 1.0, 10)
STEPS = 10_000
#: A program of the namespace, the parameters and the number of steps.
Program = Callable[[Any, Any, int], Any]


def step(np: Any, u: Any) -> Any:
    return np.tanh(u) * 0.99 + 0.01


def fill_rows(np: Any, x: Any, steps: int) -> Any:
    U = np.zeros((steps + 1, 10))
    U[0] = x
    for t in range(steps):
        U[t + 1] = step(np, U[t])
    return U.sum()


def stack_rows(np: Any, x: Any, steps: int, axis: int = 0) -> Any:
    us = [x]
    for _ in range(steps):
        us.append(step(np, us[-1]))
    return np.stack(us, axis=axis).sum()


def fill_columns(np: Any, x: Any, steps: int) -> Any:
    U = np.zeros((10, steps + 1))
    U[:, 0] = x
    for t in range(steps):
        U[:, t + 1] = step(np, U[:, t])
    return U.sum()


def stack_columns(np: Any, x: Any, steps: int) -> Any:
    return stack_rows(np, x, steps, axis=1)


def get_side_length(steps: int) -> int:
    """That of a square of nearly so many elements: 300 for 100 000 steps."""
    return round(300 * (steps / 100_000) ** 0.5)


def fill_elements(np: Any, x: Any, steps: int) -> Any:
    n = get_side_length(steps)
    A = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            A[i, j] = x[i % 10] * x[j % 10]
    return (A * A).sum()


def stack_elements(np: Any, x: Any, steps: int) -> Any:
    n = get_side_length(steps)
    found = []
    for i in range(n):
        for j in range(n):
            found.append(x[i % 10] * x[j % 10])
    A = np.stack(found).reshape(n, n)
    return (A * A).sum()


def fill_cumulative_sum(np: Any, x: Any, steps: int) -> Any:
    s = np.zeros(steps + 1)
    for k in range(1, steps + 1):
        s[k] = s[k - 1] + 1e-3 * x[k % 10]
    return (s * s).sum()


def stack_cumulative_sum(np: Any, x: Any, steps: int) -> Any:
    s = [0.0 * x[0]]
    for k in range(1, steps + 1):
        s.append(s[-1] + 1e-3 * x[k % 10])
    s = np.stack(s)
    return (s * s).sum()


def compute_step_costs(np: Any, before: Any, x: Any) -> Any:
    """The costs of a step of dynamic programming: to stay, or to come from the left."""
    stay, come = before, before + 0.1
    return x + -np.log(np.exp(-stay) + np.exp(-np.roll(come, 1))) * 0.9


def fill_dynamic_program(np: Any, x: Any, steps: int) -> Any:
    D = np.zeros((steps + 1, 10))
    D[0] = x
    for i in range(1, steps + 1):
        D[i, :] = compute_step_costs(np, D[i - 1, :], x)
    return D[-1].min() + D.mean()


def stack_dynamic_program(np: Any, x: Any, steps: int) -> Any:
    found = [x]
    for _ in range(steps):
        found.append(compute_step_costs(np, found[-1], x))
    D = np.stack(found)
    return D[-1].min() + D.mean()


def read_through_view(np: Any, x: Any, steps: int) -> Any:
    U = np.zeros((steps + 1, 10))
    U[0] = x
    first, total = U[:, 0], 0.0
    for t in range(steps):
        U[t + 1] = step(np, U[t])
        total = total + first[t]
    return total


def read_from_list(np: Any, x: Any, steps: int) -> Any:
    us, total = [x], 0.0
    for _ in range(steps):
        us.append(step(np, us[-1]))
        total = total + us[-2][0]
    return total


def fill_by_index_array(np: Any, x: Any, steps: int) -> Any:
    s = np.zeros(steps + 2)
    s[:2] = x[:2]
    for k in range(steps):
        s[k + 2] = (0.5 * s[[k, k + 1]]).sum() + 1e-3 * x[k % 10]
    return (s * s).sum()


def stack_by_index_array(np: Any, x: Any, steps: int) -> Any:
    s = [x[0], x[1]]
    for k in range(steps):
        s.append((0.5 * np.stack(s[-2:])).sum() + 1e-3 * x[k % 10])
    s = np.stack(s)
    return (s * s).sum()


#: Each with a buffer and with a list.
PROGRAM_PAIRS: dict[str, tuple[Program, Program]] = {
    "U[t + 1] = f(U[t])": (fill_rows, stack_rows),
    "U[:, t + 1] = f(U[:, t])": (fill_columns, stack_columns),
    "A[i, j] = …": (fill_elements, stack_elements),
    "s[k] = s[k - 1] + …": (fill_cumulative_sum, stack_cumulative_sum),
    "D[i, :] = g(D[i - 1, :])": (fill_dynamic_program, stack_dynamic_program),
    "q = U[:, 0]; … + q[t]": (read_through_view, read_from_list),
    "s[k + 2] = f(s[[k, k + 1]])": (fill_by_index_array, stack_by_index_array),
}


def make_value_and_grad(
    program: Program, steps: int, compiled: bool = False
) -> Callable[[Any], Any]:
    """The value and the gradient of a program, eager or compiled."""
    import ferrograd as fg
    import ferrograd.numpy

    found = fg.value_and_grad(lambda x: program(ferrograd.numpy, x, steps))
    return fg.compile(found) if compiled else found


def make_setup(program: Program) -> Callable[[str], dict[str, Any] | None]:
    def setup(library: str) -> dict[str, Any] | None:
        if library != "ferrograd":
            return None
        return {"f": make_value_and_grad(program, STEPS), "x": START}

    return setup


CASES = [
    Case(f"{name}, 10 000 steps", "f(x)", make_setup(pair[0]), per=STEPS, peers=())
    for name, pair in PROGRAM_PAIRS.items()
]
