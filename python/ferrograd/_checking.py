"""Derivatives against finite differences.

Owns: `gradcheck`, `gradgradcheck` and their report. Computes in float64, also for float32 inputs.
Invariant: the caller's tensors, their gradients and the grad mode are as before the call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ferrograd._core import Tensor, grad, tensor
from ferrograd._modes import enable_grad, no_grad
from ferrograd.errors import ArgumentError, GradcheckError

Index = tuple[int, ...]


@dataclass(frozen=True)
class Mismatch:
    """One entry of a Jacobian in which the two derivatives differ."""

    output: int
    output_index: Index
    input: int
    input_index: Index
    numeric: float
    analytic: float

    def __str__(self) -> str:
        return (
            f"d output {self.output}{list(self.output_index)}"
            f" / d input {self.input}{list(self.input_index)}:"
            f" numeric {self.numeric:.9g}, analytic {self.analytic:.9g}"
        )


@dataclass(frozen=True)
class GradcheckReport:
    """What a check found; true when it passed."""

    passed: bool
    max_abs_error: float
    max_rel_error: float
    entries: int
    failures: list[Mismatch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.summary()

    def summary(self, limit: int = 5) -> str:
        """A few readable lines."""
        verdict = "passed" if self.passed else f"FAILED in {len(self.failures)} entries"
        lines = [
            f"gradcheck {verdict}: {self.entries} entries,"
            f" largest error {self.max_abs_error:.3g} absolute, {self.max_rel_error:.3g} relative"
        ]
        lines += [f"  {failure}" for failure in self.failures[:limit]]
        if len(self.failures) > limit:
            lines.append(f"  … and {len(self.failures) - limit} more")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])


def _prepared(inputs: Any) -> tuple[list[Any], list[int], list[str]]:
    """Float64 leaves in place of the tensors to check, their positions, and what to tell."""
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    notes, checked = [], []
    for i, value in enumerate(given):
        if not isinstance(value, Tensor) or value.dtype.kind != "f":
            continue
        if value.dtype == np.float32:
            notes.append(f"input {i} is float32 and was checked in float64")
        given[i] = tensor(value.detach().numpy(), dtype=np.float64)
        if value.requires_grad:
            given[i].requires_grad_()
            checked.append(i)
    if not checked:
        raise ArgumentError(
            "gradcheck: no input requires grad; set requires_grad=True on at least one"
        )
    return given, checked, notes


def _outputs(function: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    result = function(*args)
    outputs = [result] if isinstance(result, Tensor) else list(result)
    return [o for o in outputs if isinstance(o, Tensor) and o.dtype.kind == "f"]


def _analytic(
    function: Callable[..., Any], args: list[Any], checked: list[int]
) -> tuple[list[list[np.ndarray]], list[tuple[int, ...]]]:
    """Jacobians by backward: one matrix per output and checked input."""
    leaves = [args[i] for i in checked]
    with enable_grad():
        outputs = _outputs(function, args)
    jacobians = []
    for output in outputs:
        rows = [np.zeros((int(output.size), int(leaf.size))) for leaf in leaves]
        for k in range(int(output.size)) if output.requires_grad else ():
            seed = np.zeros(int(output.size))
            seed[k] = 1.0
            found = grad(
                output, leaves, seed.reshape(output.shape), retain_graph=True, allow_unused=True
            )
            for row, gradient in zip(rows, found, strict=True):
                if gradient is not None:
                    row[k] = gradient.detach().numpy().ravel()
        jacobians.append(rows)
    return jacobians, [tuple(output.shape) for output in outputs]


def _numeric(
    function: Callable[..., Any], args: list[Any], checked: list[int], eps: float
) -> list[list[np.ndarray]]:
    """Jacobians by central differences."""

    def values(position: int, array: np.ndarray) -> list[np.ndarray]:
        moved = list(args)
        moved[position] = tensor(array)
        with no_grad():
            return [o.detach().numpy().ravel().copy() for o in _outputs(function, moved)]

    columns: list[list[list[np.ndarray]]] = []
    for position in checked:
        base = args[position].detach().numpy()
        per_element = []
        for k in range(base.size):
            step = np.zeros(base.size)
            step[k] = eps
            step = step.reshape(base.shape)
            high, low = values(position, base + step), values(position, base - step)
            per_element.append([(h - k) / (2 * eps) for h, k in zip(high, low, strict=True)])
        columns.append(per_element)
    count = len(_outputs(function, args))
    return [
        [
            np.stack([element[o] for element in per_input], axis=1)
            if per_input
            else np.zeros((0, 0))
            for per_input in columns
        ]
        for o in range(count)
    ]


def _position(flat: int, shape: tuple[int, ...]) -> Index:
    return tuple(int(x) for x in np.unravel_index(flat, shape)) if shape else ()


def _compare(
    numeric: list[list[np.ndarray]],
    analytic: list[list[np.ndarray]],
    shapes: list[tuple[int, ...]],
    args: list[Any],
    checked: list[int],
    tolerance: tuple[float, float],
) -> tuple[list[Mismatch], float, float, int]:
    atol, rtol = tolerance
    failures: list[Mismatch] = []
    worst_abs = worst_rel = 0.0
    entries = 0
    for o, (rows_n, rows_a) in enumerate(zip(numeric, analytic, strict=True)):
        for i, n, a in zip(checked, rows_n, rows_a, strict=True):
            if a.size == 0:
                continue
            same = (n == a) | (np.isnan(n) & np.isnan(a))
            with np.errstate(all="ignore"):
                error = np.where(same, 0.0, np.abs(n - a))
                relative = np.where(same, 0.0, error / np.maximum(np.abs(n), np.abs(a)))
            entries += a.size
            worst_abs = max(worst_abs, float(np.max(error)))
            worst_rel = max(worst_rel, float(np.max(relative)))
            bad = ~same & ~(error <= atol + rtol * np.abs(n))
            for row, column in np.argwhere(bad):
                where = _position(row, shapes[o]), _position(column, args[i].shape)
                values = float(n[row, column]), float(a[row, column])
                failures.append(Mismatch(o, where[0], i, where[1], *values))
    return failures, worst_abs, worst_rel, entries


def gradcheck(
    function: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> GradcheckReport:
    """Compares the derivatives of `function(*inputs)` with central differences.

    Inputs that do not require grad are passed on unchecked. A function whose derivative is meant to
    differ from its slope (straight-through estimators) cannot pass: test it by its values. Returns
    a report that is true when every entry agrees; otherwise raises `GradcheckError` with it,
    unless `raise_exception` is False.
    """
    args, checked, notes = _prepared(inputs)
    analytic, shapes = _analytic(function, args, checked)
    again, _ = _analytic(function, args, checked)
    numeric = _numeric(function, args, checked, eps)
    failures, worst_abs, worst_rel, entries = _compare(
        numeric, analytic, shapes, args, checked, (atol, rtol)
    )
    same = all(
        np.array_equal(a, b, equal_nan=True)
        for rows, others in zip(analytic, again, strict=True)
        for a, b in zip(rows, others, strict=True)
    )
    if not same:
        notes.append(
            "two backward passes gave different gradients: the function is not deterministic"
        )
    report = GradcheckReport(not failures and same, worst_abs, worst_rel, entries, failures, notes)
    if raise_exception and not report:
        raise GradcheckError(report.summary())
    return report


def gradgradcheck(
    function: Callable[..., Any],
    inputs: Any,
    grad_outputs: Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> GradcheckReport:
    """Checks the second derivatives: `gradcheck` of the gradient.

    `grad_outputs` are the vectors the gradient is taken with, random ones by default.
    """
    args, checked, _ = _prepared(inputs)
    outputs = _outputs(function, args)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        grad_outputs = [tensor(rng.standard_normal(o.shape)) for o in outputs]
    seeds = [tensor(g, dtype=np.float64, requires_grad=True) for g in grad_outputs]
    count = len(args)

    def first_order(*values: Any) -> list[Tensor]:
        own, vectors = list(values[:count]), list(values[count:])
        with enable_grad():
            for i in checked:
                if not own[i].requires_grad:
                    own[i] = own[i].detach().requires_grad_()
            pairs = [
                (o, v)
                for o, v in zip(_outputs(function, own), vectors, strict=True)
                if o.requires_grad
            ]
            return list(
                grad(
                    [o for o, _ in pairs],
                    [own[i] for i in checked],
                    [v for _, v in pairs],
                    create_graph=True,
                    allow_unused=True,
                    materialize_grads=True,
                )
            )

    return gradcheck(
        first_order,
        [*args, *seeds],
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
    )
