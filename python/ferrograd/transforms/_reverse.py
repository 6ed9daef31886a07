"""Gradients of functions: `grad`, `value_and_grad`, `elementwise_grad`, `vjp`, `make_vjp`.

Invariant: results have the structure and the kind of the differentiated arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, _grad, _traced_call, _TracedCall, tensor
from ferrograd._tensor.creation import ones_like
from ferrograd._tensor.pytree import Tree, flatten
from ferrograd.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    InPlaceError,
    ShapeError,
)
from ferrograd.transforms._argnums import (
    Argnums,
    P,
    R,
    TransformSpec,
    get_function_name,
    set_wrapper_name,
)
from ferrograd.transforms._conversion import (
    conjugate,
    convert_derivative,
    convert_value,
    make_zero_derivative,
)
from ferrograd.transforms._differentiated_call import (
    GRAD,
    Trace,
    check_holomorphic,
    check_output,
    convert_result,
    describe_value,
    flatten_outputs,
    get_mode,
    make_no_value_error,
    make_quick_trace,
    pull,
    raise_clear_error,
    trace,
    trace_call,
)


def grad(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Returns a function that computes the gradient of a scalar function.

    `argnums` selects the arguments to differentiate, by position or by name; for several, the
    gradient is a tuple. Arguments may be floats, arrays, tensors or containers of them; the
    gradient has the same structure and kind. With `has_aux`, `f` returns `(value, aux)` and the
    result is `(gradient, aux)`. Nesting gives derivatives of any order. The gradient with respect
    to a complex argument `x + iy` is `dL/dx - i dL/dy`, as in JAX and HIPS autograd (`backward`
    gives the conjugate). A complex result needs `holomorphic=True`, and the gradient is then the
    complex derivative.
    Errors: `TypeError` for integer or other arguments that have no derivative, and for results that
    are not a number; `ValueError` if `f` returns more than one number.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return make_gradient(TransformSpec("grad", f, argnums, argnum, holomorphic), has_aux)


def make_gradient(spec: TransformSpec, has_aux: bool = False) -> Callable[..., Any]:
    """`grad`, with the name of the calling transform for messages."""
    return _make_gradient_transform(spec, has_aux, False, "grad_of")


def value_and_grad(
    f: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
    holomorphic: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """Like `grad`, but the result is `(value, gradient)`, or `((value, aux), gradient)`.

    Use it with SciPy: `scipy.optimize.minimize(fg.value_and_grad(f), x0, jac=True)`.

    >>> import ferrograd as fg
    >>> fg.value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    return make_value_and_grad(
        TransformSpec("value_and_grad", f, argnums, argnum, holomorphic), has_aux
    )


def make_value_and_grad(spec: TransformSpec, has_aux: bool = False) -> Callable[..., Any]:
    """`value_and_grad`, with the name of the calling transform for messages."""
    return _make_gradient_transform(spec, has_aux, True, "value_and_grad_of")


def _make_gradient_transform(
    spec: TransformSpec, has_aux: bool, valued: bool, prefix: str
) -> Callable[..., Any]:
    """Returns the function that computes the gradient, optionally with the value."""
    op, function, position = spec.op, spec.function, spec.position
    short = None if has_aux or spec.holomorphic else valued

    def compute_derivative(*args: Any, **kwargs: Any) -> Any:
        try:
            hit = _traced_call(function, position, args, kwargs, short)
        except (ValueError, InPlaceError) as error:
            raise_clear_error(op, function, error)
            raise
        if hit is None:
            found = trace(spec, args, kwargs)
        elif type(hit) is not _TracedCall:
            return hit
        elif hit.error is not None:
            try:
                raise hit.error
            finally:
                del hit  # It would keep the frame that keeps it.
        else:
            found = make_quick_trace(spec, hit)
        if has_aux:
            found.split_aux()
        attached, slope = _compute_gradient(found)
        aux = found.convert_aux(attached) if has_aux else None
        if not valued:
            return (slope, aux) if has_aux else slope
        value = convert_value(found.kind, found.result, attached)
        return ((value, aux), slope) if has_aux else (value, slope)

    return set_wrapper_name(compute_derivative, function, prefix)


def _compute_gradient(found: Trace) -> tuple[bool, Any]:
    """Whether results stay in a graph, and the gradient of a scalar result."""
    out = found.result
    if type(out) is not Tensor or out.ndim:
        out = check_scalar_result(found)
    elif not out.requires_grad:
        check_output(found.spec, out)
    if type(out) is Tensor and (found.spec.holomorphic or out.dtype.kind == "c"):
        check_holomorphic(found, out)
    if out is None or not out.requires_grad:
        return False, found.build_tree(list(map(make_zero_derivative, found.kinds, found.tensors)))
    attached = found.is_attached((out,))
    seed = ones_like(out) if out.dtype.kind == "c" else None
    slopes = found.compute_derivatives(
        (out,), attached, lambda create: _grad(out, found.tensors, seed, None, create, True)
    )
    return attached, found.build_tree(convert_gradients(found, slopes))


def convert_gradients(found: Trace, slopes: Sequence[Tensor | None]) -> list[Any]:
    """Converts gradients to the kinds of the arguments; a missing gradient becomes zeros."""
    return [
        make_zero_derivative(kind, x)
        if slope is None
        else convert_derivative(kind, conjugate(slope))
        for kind, x, slope in zip(found.kinds, found.tensors, slopes, strict=True)
    ]


def check_scalar_result(found: Trace) -> Tensor | None:
    """The number that a function returned; None if it is a constant."""
    out, spec = found.result, found.spec
    if out is None:
        raise make_no_value_error(spec)
    if isinstance(out, tuple | list | dict):
        raise ArgumentError(
            f"{spec.op}: {get_function_name(spec.function)} returned {describe_value(out)}, not one"
            " number; return a scalar, put the rest into aux (return value, aux with has_aux=True),"
            " or use jacobian"
        )
    check_output(spec, out)
    size = int(np.size(out)) if not isinstance(out, Tensor) else out.numel()
    if size != 1:
        raise ShapeError(
            f"{spec.op}: {get_function_name(spec.function)} returned {describe_value(out)}, not one"
            " number; use jacobian for all derivatives, elementwise_grad for one per element, vjp"
            " for a weighted sum, or reduce it with sum()"
        )
    if isinstance(out, Tensor):
        return out
    if np.iscomplexobj(out):
        check_holomorphic(found, out)
    return None


def elementwise_grad(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
) -> Callable[P, Any]:
    """The derivative of an element-wise function at each element: the gradient of its sum.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    spec = TransformSpec("elementwise_grad", f, argnums, argnum)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found = trace_call(spec, args, kwargs)
        if has_aux:
            found.split_aux()
        outputs, _ = flatten_outputs(found)
        attached = found.is_attached(outputs)
        seeds = [np.ones(o.shape) if isinstance(o, Tensor) else None for o in outputs]
        slopes = found.compute_derivatives(
            outputs, attached, lambda create: pull(outputs, found.tensors, seeds, create=create)
        )
        slope = found.build_tree(convert_gradients(found, slopes))
        return (slope, found.convert_aux(attached)) if has_aux else slope

    return set_wrapper_name(gradient, f, "elementwise_grad_of")


class Pullback:
    """The linear map from derivatives of the results to derivatives of the arguments."""

    def __init__(self, found: Trace, constants: bool = False) -> None:
        self._found = found
        self._outputs, self.tree = flatten_outputs(found, constants)
        self.is_attached = found.is_attached(self._outputs)

    def __repr__(self) -> str:
        return f"<pullback of {get_function_name(self._found.spec.function)}>"

    @property
    def value(self) -> Any:
        """The result of the function."""
        return convert_result(self._found.result, self._found.kind, self.is_attached)

    def __call__(self, cotangents: Any) -> Any:
        """The derivatives for weights in the structure of the results."""
        found = self._found
        seeds = match_vectors(
            found.spec.op, "the cotangent", cotangents, self.tree, self._outputs, "results"
        )
        seeds = list(map(conjugate, seeds))
        create = found.note_recorded(self.is_attached or is_any_recorded(seeds))
        slopes = found.compute_derivatives(
            self._outputs,
            create,
            lambda create: pull(self._outputs, found.tensors, seeds, create=create, retain=True),
        )
        return found.build_tree(convert_gradients(found, slopes))


def is_any_recorded(vectors: Sequence[Tensor]) -> bool:
    """Whether these vectors have a history, so that the pull must be differentiable by them."""
    return bool(get_mode() & GRAD) and any(v.requires_grad for v in vectors)


def match_vectors(
    op: str, what: str, given: Any, tree: Tree, like: list[Any], whose: str
) -> list[Tensor]:
    """Vectors in the structure of `tree`, as tensors of the shapes and dtypes of `like`."""
    leaves, other = flatten(given)
    bare = len(like) == 1 and (other.is_leaf or tree.is_leaf)
    if len(leaves) != len(like) or not (bare or tree == other):
        raise ArgumentError(
            f"{op}: {what} has the structure {other}, but the {whose} have {tree}; give one of the"
            " same structure, where * is an array, a tensor or a number"
        )
    vectors = []
    for path, leaf, x in zip(tree.paths(), leaves, like, strict=True):
        floats = isinstance(x, Tensor) and x.dtype.kind in "fc"
        dtype = x.dtype if floats else np.float64
        if np.iscomplexobj(leaf) and np.dtype(dtype).kind != "c":
            raise ArgumentTypeError(
                f"{op}: {what}{path} is complex and the {whose} are real; give its real part"
            )
        if isinstance(leaf, Tensor):
            vector = leaf if leaf.dtype == dtype else leaf.astype(dtype)
        else:
            vector = _to_vector(op, f"{what}{path}", leaf, dtype)
        shape = tuple(np.shape(x))
        if tuple(vector.shape) != shape:
            raise ShapeError(
                f"{op}: {what}{path} has shape {tuple(vector.shape)}, but the {whose} have {shape};"
                " give one of the same shape"
            )
        vectors.append(vector)
    return vectors


def _to_vector(op: str, what: str, leaf: Any, dtype: Any) -> Tensor:
    try:
        return tensor(leaf, dtype=dtype)
    except (ArgumentTypeError, DTypeError):
        raise ArgumentTypeError(
            f"{op}: {what} is {describe_value(leaf)}; give floats or an array of floats"
        ) from None


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Returns `(f(*primals), pull)`; `pull(cotangent)` is a tuple with one derivative per primal.

    With `has_aux`, `f` returns `(value, aux)` and the result is `(value, pull, aux)`. The cotangent
    has the structure of the value; `pull` may be called any number of times.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> y, pull = fg.vjp(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    if not primals:
        raise ArgumentError("vjp: there are no primals; call vjp(f, x, ...)")
    found = trace(TransformSpec("vjp", f, tuple(range(len(primals))), None), primals, {})
    if has_aux:
        found.split_aux()
    pullback = Pullback(found)
    if has_aux:
        return pullback.value, pullback, found.convert_aux(pullback.is_attached)
    return pullback.value, pullback


def make_vjp(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
) -> Callable[P, Any]:
    """Returns a function that gives `(pull, value)`; `pull` is the derivative of `argnums`.

    Boolean and integer results are constants; their part of the cotangent is ignored. With
    `has_aux`, `(pull, value, aux)`.
    """
    return make_pullback(TransformSpec("make_vjp", f, argnums, argnum), has_aux, constants=True)


def make_pullback(
    spec: TransformSpec, has_aux: bool = False, constants: bool = False
) -> Callable[..., Any]:
    """`make_vjp`, with the name of the calling transform for messages."""

    def pull_and_value(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        found = trace(spec, args, kwargs)
        if has_aux:
            found.split_aux()
        pullback = Pullback(found, constants)
        if has_aux:
            return pullback, pullback.value, found.convert_aux(pullback.is_attached)
        return pullback, pullback.value

    return set_wrapper_name(pull_and_value, spec.function, "vjp_of")


__all__ = [
    "Pullback",
    "elementwise_grad",
    "grad",
    "make_gradient",
    "make_pullback",
    "make_value_and_grad",
    "make_vjp",
    "match_vectors",
    "value_and_grad",
    "vjp",
]
