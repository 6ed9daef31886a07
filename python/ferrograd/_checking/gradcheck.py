"""`gradcheck` and `gradgradcheck`.

Invariant: the error of a failed check shows the compared values; the caller's tensors do not
change.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._checking import jacobians
from ferrograd._checking.error_report import (
    Comparison,
    GradcheckReport,
    Jacobians,
    get_max_difference,
)
from ferrograd._checking.jacobians import GradcheckProblem, compute_gradients, prepare_problem
from ferrograd._core import Node, Tensor, _copy_dual, _grad, tensor
from ferrograd._inspect import compare_with_arrays
from ferrograd._inspect.graph_walk import iter_reachable_nodes
from ferrograd._tensor.array_recording import call_with_recorded_arrays
from ferrograd._tensor.finite_sequences import convert_to_list
from ferrograd._tensor.modes import enable_grad
from ferrograd.errors import GradcheckError


def gradcheck(
    function: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
    fast_mode: bool = False,
) -> GradcheckReport:
    """Compares the derivatives of `function(*inputs)` with central differences.

    The tensors that require grad are checked, in float64; if there are none, the float arrays are
    checked. A complex number is checked as the pair of its parts, along a last axis of size 2: real
    and imaginary steps, and both parts of the results. Other arguments are passed unchanged. It
    also checks that two backward passes agree (to `nondet_tol`), and that gradients of zero give
    zeros. With `check_undefined_grad`, it checks that missing gradients, of all outputs and of each
    of several, count as zeros. If the function accepts plain arrays, its value on copies of them
    must equal that on tensors. `check_grad_dtypes` checks that each gradient has its input's dtype.
    `fast_mode` compares one random projection for each output and input: two evaluations for each
    input. `check_forward_ad` also compares the changes that forward mode computes, along a random
    direction of each input. `check_batched_grad` has no effect. A function whose derivative is
    meant to differ from its slope (straight-through estimators) cannot pass.

    Returns a report that is true if everything agrees. Otherwise raises `GradcheckError` with the
    report, unless `raise_exception` is False. Errors: `ArgumentError` if no input can be checked,
    or if the function returns no float tensor.

    >>> import ferrograd as fg
    >>> print(fg.gradcheck(fg.sin, fg.tensor([0.5, 1.0], requires_grad=True)).summary())
    gradcheck passed: 4 entries, largest error ... absolute, ... relative
    """
    problem = prepare_problem(function, inputs)
    comparison, faults = Comparison(), []
    try:
        difference = _compare_jacobians(problem, comparison, eps, (atol, rtol), fast_mode)
        faults += _check_plain_arrays(problem)
        faults += _check_determinism(difference, nondet_tol) + _check_zero_gradients(problem)
        faults += _check_undefined_gradients(problem) if check_undefined_grad else []
        faults += _check_gradient_dtypes(function, inputs) if check_grad_dtypes else []
        faults += _check_forward_mode(problem, eps, (atol, rtol)) if check_forward_ad else []
    except GradcheckError as error:
        if raise_exception:
            raise
        faults.append(str(error))
    report = comparison.report(problem.notes, faults)
    if raise_exception and not report:
        raise GradcheckError(report.summary())
    return report


def _check_forward_mode(
    problem: GradcheckProblem, eps: float, tolerance: tuple[float, float]
) -> list[str]:
    """The changes by forward mode that differ from central differences."""
    atol, rtol = tolerance
    rng, faults = np.random.default_rng(0), []
    for i in problem.checked:
        direction = rng.standard_normal(problem.args[i].shape)
        pairs = jacobians.compute_changes(problem, i, direction, eps)
        for o, (change, slope) in enumerate(pairs):
            if not np.allclose(change, slope, rtol, atol * max(1.0, direction.size**0.5)):
                k = np.argmax(np.abs(change - slope))
                faults.append(
                    f"forward mode: along a random direction of input {i}, output {o} changes by"
                    f" {change.flat[k]:.6g} at element {k}, and by {slope.flat[k]:.6g} by central"
                    " differences; check the jvp of custom functions, and that their backward is"
                    " linear in the gradients"
                )
    return faults


JacobianPair = tuple[Jacobians, Jacobians, list[Any], float]


def _compute_all_entries(problem: GradcheckProblem, eps: float) -> JacobianPair:
    analytic, shapes = jacobians.compute_analytic(problem)
    again, _ = jacobians.compute_analytic(problem)
    numeric = jacobians.compute_numeric(problem, eps, len(shapes))
    return numeric, analytic, list(shapes), get_max_difference(analytic, again)


def _compute_projections(problem: GradcheckProblem, eps: float) -> JacobianPair:
    numeric, analytic = jacobians.compute_projections(problem, eps)
    _, again = jacobians.compute_projections(problem, eps)
    return numeric, analytic, [None] * len(analytic), get_max_difference(analytic, again)


def _compare_jacobians(
    problem: GradcheckProblem,
    comparison: Comparison,
    eps: float,
    tolerance: tuple[float, float],
    fast_mode: bool,
) -> float:
    """Compares both Jacobians; returns the difference of two backward passes."""
    found = _compute_projections(problem, eps) if fast_mode else _compute_all_entries(problem, eps)
    numeric, analytic, shapes, difference = found
    for o, (rows_n, rows_a) in enumerate(zip(numeric, analytic, strict=True)):
        for i, n, a in zip(problem.checked, rows_n, rows_a, strict=True):
            of_input = None if fast_mode else tuple(problem.args[i].shape)
            comparison.add((o, i), (shapes[o], of_input), (n, a), tolerance)
    return difference


def _check_plain_arrays(problem: GradcheckProblem) -> list[str]:
    """The difference of the function's values on plain arrays, if it accepts them."""
    own = problem.convert_args(problem.args)
    said = compare_with_arrays.describe_difference(
        lambda: call_with_recorded_arrays(problem.function, *own), problem.function, own
    )
    return [] if said is None else [f"{said}; {compare_with_arrays.CAUSES}"]


def _check_determinism(difference: float, nondet_tol: float) -> list[str]:
    if difference <= nondet_tol:
        return []
    return [
        "two backward passes gave different gradients: the function is not deterministic"
        f" (they differ by {difference:.3g}, nondet_tol is {nondet_tol:.3g})"
    ]


def _check_zero_gradients(problem: GradcheckProblem) -> list[str]:
    """The nonzero gradients for zero gradients of all outputs: backward must be linear."""
    outputs, problem.recorded = problem.recorded, []
    found = compute_gradients(problem, outputs, [np.zeros(o.shape) for o in outputs])
    return [
        "backward not multiplied by grad_output: with gradients of zero for all outputs, that of"
        f" input {i} is not zero"
        for i, gradient in zip(problem.checked, found, strict=True)
        if gradient is not None and np.any(np.nan_to_num(gradient.detach().numpy()))
    ]


def _check_undefined_gradients(problem: GradcheckProblem) -> list[str]:
    """The errors when all outputs, or all but one of several, get no gradient."""
    with enable_grad():
        outputs = problem.evaluate_outputs(problem.args)
    roots = [o.grad_fn for o in outputs if o.grad_fn is not None]
    faults = [
        fault for node, _ in iter_reachable_nodes(roots) for fault in _check_no_gradients(node)
    ]
    if sum(o.requires_grad for o in outputs) < 2:
        return faults
    ones = [np.ones(o.shape) for o in outputs]
    for k, output in enumerate(outputs):
        if output.requires_grad:
            faults += _check_single_gradient(problem, outputs, ones, k)
    return faults


def _check_no_gradients(node: Node) -> list[str]:
    """The errors of Python backwards when no output of the forward has a gradient."""
    if node.context is None:
        return []
    try:
        found = node(*[None] * node.output_count)
    except Exception as error:
        return [f"without any gradient the backward of {node.name} raised {error!r}"]
    return [
        f"a missing gradient is not taken as zeros: without any, the backward of {node.name} gives"
        f" one to its input {i} that is not zero"
        for i, gradient in enumerate(found if isinstance(found, tuple) else (found,))
        if gradient is not None and np.any(np.nan_to_num(gradient.detach().numpy()))
    ]


def _check_single_gradient(
    problem: GradcheckProblem, outputs: list[Tensor], ones: list[np.ndarray], k: int
) -> list[str]:
    """The error when only output `k` gets a gradient."""
    zeros = [one * (i == k) for i, one in enumerate(ones)]
    try:
        alone = compute_gradients(problem, [outputs[k]], [ones[k]])
    except Exception as error:
        return [f"with a gradient for output {k} alone backward raised {error!r}"]
    beside = compute_gradients(problem, outputs, zeros)
    faults = []
    for i, one, other in zip(problem.checked, alone, beside, strict=True):
        a, b = (np.zeros(1) if g is None else g.detach().numpy() for g in (one, other))
        if not np.allclose(a, b, equal_nan=True):
            faults.append(
                f"a missing gradient is not taken as zeros: with a gradient for output {k} alone,"
                f" that of input {i} differs from the one with zeros for the others"
            )
    return faults


def _check_gradient_dtypes(function: Callable[..., Any], inputs: Any) -> list[str]:
    """The gradients whose dtype differs from that of the given inputs."""
    given = [inputs] if isinstance(inputs, Tensor | np.ndarray) else list(inputs)
    problem = prepare_problem(function, given)
    for i in problem.checked:
        dtype = np.real(np.zeros((), given[i].dtype)).dtype
        problem.args[i] = problem.args[i].detach().astype(dtype).requires_grad_()
    with enable_grad():
        outputs = problem.evaluate_outputs(problem.args)
    found = compute_gradients(problem, outputs, [np.ones(o.shape) for o in outputs])
    return [
        f"the gradient of input {i} is {gradient.dtype}, and the input is {problem.args[i].dtype}"
        for i, gradient in zip(problem.checked, found, strict=True)
        if gradient is not None and gradient.dtype != problem.args[i].dtype
    ]


def gradgradcheck(
    function: Callable[..., Any],
    inputs: Any,
    grad_outputs: Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    fast_mode: bool = False,
) -> GradcheckReport:
    """Checks the second derivatives: `gradcheck` of the gradient.

    `grad_outputs` are the vectors the gradient is taken with, random ones by default; tensors or
    arrays. `check_fwd_over_rev` also compares forward mode over the gradient. The other arguments
    are those of `gradcheck`.
    """
    problem = prepare_problem(function, inputs)
    outputs = problem.evaluate_outputs(problem.args)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        grad_outputs = [tensor(rng.standard_normal(o.shape)) for o in outputs]
    elif isinstance(grad_outputs, Tensor | np.ndarray):
        grad_outputs = [grad_outputs]
    vectors = convert_to_list("gradgradcheck", "grad_outputs", grad_outputs)
    seeds = [tensor(g, dtype=np.float64, requires_grad=True) for g in vectors]
    if faults := _check_plain_arrays(problem):
        report = Comparison().report(problem.notes, faults)
        if raise_exception:
            raise GradcheckError(report.summary())
        return report
    return gradcheck(
        _make_gradient_function(problem),
        [*problem.args, *seeds],
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        fast_mode=fast_mode,
    )


def _make_gradient_function(problem: GradcheckProblem) -> Callable[..., list[Tensor]]:
    """The gradients as a function of the inputs and of the vectors they are taken with."""
    count = len(problem.args)

    def first_order(*values: Any) -> list[Tensor]:
        own, vectors = list(values[:count]), list(values[count:])
        with enable_grad():
            for i in problem.checked:
                if not own[i].requires_grad:
                    own[i] = own[i].detach().requires_grad_()
                elif (copy := _copy_dual(own[i])) is not None:
                    own[i] = copy
            pairs = [
                (o, v)
                for o, v in zip(problem.evaluate_outputs(own), vectors, strict=True)
                if o.requires_grad
            ]
            return list(
                _grad(
                    [o for o, _ in pairs],
                    [own[i] for i in problem.checked],
                    [v for _, v in pairs],
                    create_graph=True,
                    allow_unused=True,
                    materialize_grads=True,
                )
            )

    return first_order
