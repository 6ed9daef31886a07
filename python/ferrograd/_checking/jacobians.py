"""Jacobians of a function: by backward, by central differences, and random projections of both.

Invariant: the caller's tensors, their gradients and the grad mode are as before; everything is
computed in float64.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ferrograd._checking.error_report import Jacobians
from ferrograd._core import (
    Tensor,
    _enter_dual_level,
    _exit_dual_level,
    _grad,
    _make_dual,
    _unpack_dual,
    tensor,
    view_as_complex,
    view_as_real,
)
from ferrograd._tensor.array_recording import call_with_recorded_arrays
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd._tensor.modes import enable_grad
from ferrograd.errors import ArgumentError, GradcheckError


@dataclass
class GradcheckProblem:
    """A function with float64 leaves in place of the inputs to check."""

    function: Callable[..., Any]
    args: list[Any]
    #: Positions of the inputs to check.
    checked: list[int]
    notes: list[str]
    #: The kinds of all results at the inputs themselves, once they are known.
    kinds: list[str] = field(default_factory=list)
    #: The outputs there, recorded last.
    recorded: list[Tensor] = field(default_factory=list)
    #: Positions of complex inputs, which are pairs of real numbers in `args`.
    pairs: set[int] = field(default_factory=set)

    @property
    def leaves(self) -> list[Tensor]:
        """The inputs to check."""
        return [self.args[i] for i in self.checked]

    def convert_args(self, args: Sequence[Any]) -> list[Any]:
        """The arguments for the function: pairs become complex numbers."""
        return [view_as_complex(a) if i in self.pairs else a for i, a in enumerate(args)]

    def evaluate_outputs(self, args: Sequence[Any]) -> list[Tensor]:
        """The differentiable results for these arguments."""
        return self.evaluate(args)[0]

    def evaluate(self, args: Sequence[Any]) -> tuple[list[Tensor], list[str]]:
        """The differentiable results for these arguments, and the kinds of all results."""
        result = call_with_recorded_arrays(self.function, *self.convert_args(args))
        given = result if isinstance(result, tuple | list) else [result]
        found = [tensor(o) if isinstance(o, np.ndarray | np.inexact) else o for o in given]
        # A complex number is checked as a pair: by the real and by the imaginary step.
        found = [view_as_real(o) if _is_complex(o) else o for o in found]
        floats = [o for o in found if isinstance(o, Tensor) and o.dtype.kind == "f"]
        if not floats and not self.kinds:
            raise ArgumentError(
                f"gradcheck: the function returned {_describe_result(result)}, so there is nothing"
                " to check; return a float tensor computed from the inputs, without item()"
            )
        return floats, [_describe_kind(o) for o in found]


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor | np.ndarray) and value.dtype.kind == "c"


def _describe_kind(result: Any) -> str:
    """The properties of an output that must not depend on the values of the inputs."""
    if isinstance(result, Tensor | np.ndarray):
        return f"{result.dtype} of shape {tuple(result.shape)}"
    return type(result).__name__


def _describe_result(result: Any) -> str:
    """A result without float tensors, for the message."""
    if isinstance(result, Tensor | np.ndarray):
        return f"values of dtype {result.dtype}"
    if isinstance(result, tuple | list):
        return f"a {type(result).__name__} without float tensors"
    return "None" if result is None else f"a {type(result).__name__} instead of a tensor"


def prepare_problem(function: Callable[..., Any], inputs: Any) -> GradcheckProblem:
    """The problem: the tensors that require grad, or, if there are none, the float arrays."""
    single = isinstance(inputs, Tensor | np.ndarray)
    given = [inputs] if single else convert_to_list("gradcheck", "inputs", inputs)
    floats = [
        i
        for i, value in enumerate(given)
        if isinstance(value, Tensor | np.ndarray) and value.dtype.kind in "fc"
    ]
    tensors = [i for i in floats if isinstance(given[i], Tensor)]
    checked = [i for i in tensors if given[i].requires_grad]
    if not checked:
        checked = [i for i in floats if i not in tensors]
    if not checked:
        nested = [i for i, value in enumerate(given) if isinstance(value, dict | list | tuple)]
        if nested:
            raise ArgumentError(
                f"gradcheck: input {nested[0]} is a {type(given[nested[0]]).__name__}, and only"
                " inputs that are tensors or float arrays themselves are checked; pass its values"
                " one by one, as in gradcheck(lambda a, b: f({'a': a, 'b': b}), (a, b))"
            )
        raise ArgumentError(
            "gradcheck: no input requires grad; set requires_grad=True on at least one, or give"
            " float arrays"
        )
    notes = [
        f"input {i} is {given[i].dtype} and was checked in "
        + ("complex128" if _is_complex(given[i]) else "float64")
        for i in sorted({*tensors, *checked})
        if given[i].dtype not in (np.float64, np.complex128)
    ]
    pairs: set[int] = set()
    for i in {*tensors, *checked}:
        value = given[i]
        values = value.detach().numpy() if isinstance(value, Tensor) else value
        if _is_complex(value):
            pairs.add(i)
            values = np.stack([values.real, values.imag], -1)
        given[i] = tensor(values, dtype=np.float64)
        if i in checked:
            given[i].requires_grad_()
    return GradcheckProblem(function, given, checked, notes, pairs=pairs)


def compute_gradients(
    problem: GradcheckProblem, outputs: Sequence[Tensor], seeds: Sequence[Any], **options: Any
) -> list[Tensor | None]:
    """The gradients of the checked inputs for these gradients of the outputs."""
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
    if not pairs:
        return [None] * len(problem.checked)
    found = _grad(
        [o for o, _ in pairs],
        problem.leaves,
        [s for _, s in pairs],
        retain_graph=True,
        allow_unused=True,
        **options,
    )
    return list(found)


def _make_single_seed(outputs: Sequence[Tensor], k: int, seed: np.ndarray) -> list[np.ndarray]:
    """A gradient for output `k`, and zeros for the others."""
    return [seed if i == k else np.zeros(o.shape) for i, o in enumerate(outputs)]


def compute_analytic(problem: GradcheckProblem) -> tuple[Jacobians, list[tuple[int, ...]]]:
    """Jacobians by backward, and the shapes of the outputs."""
    outputs = _record_outputs(problem)
    jacobians = []
    for o, output in enumerate(outputs):
        rows = [np.zeros((int(output.size), int(leaf.size))) for leaf in problem.leaves]
        for k in range(int(output.size)) if output.requires_grad else ():
            seed = np.zeros(int(output.size))
            seed[k] = 1.0
            found = compute_gradients(
                problem, outputs, _make_single_seed(outputs, o, seed.reshape(output.shape))
            )
            for row, gradient in zip(rows, found, strict=True):
                if gradient is not None:
                    row[k] = gradient.detach().numpy().ravel()
        jacobians.append(rows)
    return jacobians, [tuple(output.shape) for output in outputs]


def _record_outputs(problem: GradcheckProblem) -> list[Tensor]:
    """The outputs at the inputs themselves."""
    with enable_grad():
        problem.recorded, problem.kinds = problem.evaluate(problem.args)
    return problem.recorded


def _evaluate_perturbed(
    problem: GradcheckProblem, position: int, array: np.ndarray
) -> list[np.ndarray]:
    """The outputs for another value of one input, recorded as for backward."""
    args = list(problem.args)
    args[position] = tensor(array, requires_grad=True)
    with enable_grad():
        outputs, kinds = problem.evaluate(args)
    if kinds != problem.kinds:
        raise GradcheckError(
            "gradcheck: the dtype or shape of an output depends on the values of the inputs: the"
            f" outputs {problem.kinds} became {kinds} when input {position} was perturbed; return"
            " outputs of the same dtypes and the same shapes when inputs are perturbed"
        )
    return [output.detach().numpy().ravel().copy() for output in outputs]


def _compute_central_differences(
    problem: GradcheckProblem, position: int, step: np.ndarray, eps: float
) -> list[np.ndarray]:
    """Central differences of the outputs along `step`."""
    base = problem.args[position].detach().numpy()
    high = _evaluate_perturbed(problem, position, base + eps * step)
    low = _evaluate_perturbed(problem, position, base - eps * step)
    return [(h - k) / (2 * eps) for h, k in zip(high, low, strict=True)]


def compute_numeric(problem: GradcheckProblem, eps: float, count: int) -> Jacobians:
    """Jacobians of `count` outputs by central differences."""
    columns: list[list[list[np.ndarray]]] = []
    for position in problem.checked:
        shape = problem.args[position].shape
        size = int(problem.args[position].size)
        unit = np.eye(size).reshape(size, *shape) if size else np.zeros((0, *shape))
        columns.append(
            [_compute_central_differences(problem, position, step, eps) for step in unit]
        )
    return [
        [
            np.stack([element[o] for element in per_input], axis=1)
            if per_input
            else np.zeros((0, 0))
            for per_input in columns
        ]
        for o in range(count)
    ]


def compute_projections(problem: GradcheckProblem, eps: float) -> tuple[Jacobians, Jacobians]:
    """`vᵀJu` for each output and input, numeric and analytic: two evaluations for each input."""
    rng = np.random.default_rng(0)
    outputs = _record_outputs(problem)
    left = [_draw_direction(rng, tuple(o.shape)) for o in outputs]
    right = [_draw_direction(rng, tuple(leaf.shape)) for leaf in problem.leaves]
    slopes = [
        _compute_central_differences(problem, position, u, eps)
        for position, u in zip(problem.checked, right, strict=True)
    ]
    by_difference = [
        [np.array([[np.vdot(v, slope[o])]]) for slope in slopes] for o, v in enumerate(left)
    ]
    by_backward = []
    for o, v in enumerate(left):
        found = compute_gradients(problem, outputs, _make_single_seed(outputs, o, v))
        by_backward.append(
            [
                np.array([[0.0 if g is None else np.vdot(g.detach().numpy(), u)]])
                for g, u in zip(found, right, strict=True)
            ]
        )
    return by_difference, by_backward


def _draw_direction(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A random vector of length 1."""
    vector = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else vector)


def compute_changes(
    problem: GradcheckProblem, position: int, direction: np.ndarray, eps: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The changes of the outputs along a direction of an input: forward mode, and differences."""
    slopes = _compute_central_differences(problem, position, direction, eps)
    level = _enter_dual_level(False)
    try:
        args = [a.detach() if isinstance(a, Tensor) else a for a in problem.args]
        args[position] = _make_dual(args[position], tensor(direction), level)
        outputs = problem.evaluate_outputs(args)
        changes = [_unpack_dual(output, level)[1] for output in outputs]
    finally:
        _exit_dual_level(level)
    return [
        (np.zeros(slope.shape) if c is None else c.detach().numpy().reshape(slope.shape), slope)
        for c, slope in zip(changes, slopes, strict=True)
    ]
