"""Linear maps for several vectors: `linearize`, `make_jvp`, `hvp`, `make_hvp`, `make_ggnvp`.

The function is recorded once; each product is a VJP of its VJP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ferrograd._core import Tensor, tensor
from ferrograd.errors import ArgumentError
from ferrograd.transforms._argnums import (
    Argnums,
    P,
    TransformSpec,
    get_function_name,
    set_wrapper_name,
)
from ferrograd.transforms._conversion import convert_value
from ferrograd.transforms._differentiated_call import (
    Trace,
    flatten_outputs,
    leaves_inference_mode,
    pull,
    trace,
    trace_call,
)
from ferrograd.transforms._reverse import (
    check_scalar_result,
    convert_gradients,
    is_any_recorded,
    make_vjp,
    match_vectors,
)


class Pushforward:
    """The linear map from changes of the arguments to changes of the results."""

    @leaves_inference_mode
    def __init__(self, found: Trace) -> None:
        self.found = found
        self.outputs, self.tree = flatten_outputs(found)
        self.is_attached = found.is_attached(self.outputs)
        self._recorded = [
            k for k, o in enumerate(self.outputs) if isinstance(o, Tensor) and o.requires_grad
        ]
        self._seeds = [
            tensor(np.zeros(self.outputs[k].shape, self.outputs[k].dtype), requires_grad=True)
            for k in self._recorded
        ]
        self._slopes: Sequence[Tensor | None] = pull(
            [self.outputs[k] for k in self._recorded],
            found.tensors,
            self._seeds,
            create=True,
        )
        self._shared = self.is_attached or found.is_shared(self._slopes, self._seeds)

    @property
    def value(self) -> Any:
        """The result of the function."""
        return self.tree.unflatten(
            convert_value(self.found.kind, out, self.is_attached) for out in self.outputs
        )

    def push(self, tangents: list[Tensor]) -> Any:
        """The change of the results, in the structure of the results."""
        create = self.found.note_recorded(self._shared or is_any_recorded(tangents))
        moved = pull(self._slopes, self._seeds, tangents, create=create, retain=True)
        changes: list[Any] = [None] * len(self.outputs)
        for k, change in zip(self._recorded, moved, strict=True):
            changes[k] = change
        kind = self.found.kind
        return self.tree.unflatten(
            make_zero_change(kind, out) if change is None else convert_value(kind, change, create)
            for out, change in zip(self.outputs, changes, strict=True)
        )

    def __call__(self, tangents: Any) -> tuple[Any, Any]:
        """`(value, change)` for tangents in the structure of the arguments."""
        vectors = match_vectors(
            self.found.spec.op,
            "the tangent",
            tangents,
            self.found.get_structure(),
            self.found.tensors,
            "arguments",
        )
        return self.value, self.push(vectors)


def make_zero_change(kind: int, out: Any) -> Any:
    """The change of a result that does not depend on the arguments."""
    dtype = out.dtype if isinstance(out, Tensor) else np.float64
    return convert_value(kind, tensor(np.zeros(np.shape(out), dtype)), False)


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Returns `(f(*primals), push)`: `push(*tangents)` is the change of the result.

    The function is called and recorded once, and `push` may be called any number of times: for one
    direction `jvp` costs less. With `has_aux`, `f` returns `(value, aux)` and the result is
    `(value, push, aux)`.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> y, push = fg.linearize(np.sin, 0.0)
    >>> y, push(2.0), push(3.0)
    (0.0, 2.0, 3.0)
    """
    if not primals:
        raise ArgumentError("linearize: there is no primal; pass the arguments of the function")
    found = trace(TransformSpec("linearize", f, tuple(range(len(primals))), None), primals, {})
    if has_aux:
        found.split_aux()
    pushforward = Pushforward(found)

    def push(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise ArgumentError(
                f"linearize: {len(primals)} primals and {len(tangents)} tangents; give one tangent"
                " for each primal"
            )
        return pushforward(tangents)[1]

    if has_aux:
        return pushforward.value, push, found.convert_aux(pushforward.is_attached)
    return pushforward.value, push


def make_jvp(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
) -> Callable[P, Any]:
    """Returns a function that gives `push`: `push(tangent)` is `(value, change)`.

    With `has_aux` it gives `(push, aux)`.
    """
    spec = TransformSpec("make_jvp", f, argnums, argnum)

    def make(*args: Any, **kwargs: Any) -> Any:
        found = trace(spec, args, kwargs)
        if has_aux:
            found.split_aux()
        push = Pushforward(found)
        return (push, found.convert_aux(push.is_attached)) if has_aux else push

    return set_wrapper_name(make, f, "jvp_of")


def hvp(
    f: Callable[..., Any], argnums: Argnums = 0, *, argnum: Argnums | None = None
) -> Callable[..., Any]:
    """Returns a function of the arguments and a vector: the Hessian times that vector.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    spec = TransformSpec("hvp", f, argnums, argnum)

    def product(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2 and not kwargs:
            raise ArgumentError(
                f"hvp: called with {len(args)} arguments; pass those of the function and a vector"
                " like the differentiated ones: hvp(f)(x, v)"
            )
        return HessianProduct(trace_call(spec, args[:-1], kwargs))(args[-1])

    product.__name__ = product.__qualname__ = f"hvp_of_{get_function_name(f)}"
    return product


class HessianProduct:
    """The linear map of a Hessian."""

    def __init__(self, found: Trace) -> None:
        self._found = found
        out = check_scalar_result(found)
        self._outputs = [] if out is None or not out.requires_grad else [out]
        self._attached = found.is_attached(self._outputs)
        self._slopes = pull(self._outputs, found.tensors, None, create=True)
        self._attached = self._attached or found.is_shared(self._slopes)

    def gradient(self) -> Any:
        """The first derivative."""
        found = self._found
        slopes = [
            s if s is None or (self._attached and s.requires_grad) else s.detach().clone()
            for s in self._slopes
        ]
        return found.build_tree(convert_gradients(found, slopes))

    def __call__(self, vector: Any) -> Any:
        """The Hessian times a vector of the structure of the arguments."""
        found = self._found
        vectors = match_vectors(
            found.spec.op, "the vector", vector, found.get_structure(), found.tensors, "arguments"
        )
        create = found.note_recorded(self._attached or is_any_recorded(vectors))
        moved = pull(self._slopes, found.tensors, vectors, create=create, retain=True)
        return found.build_tree(convert_gradients(found, moved))


def make_hvp(
    f: Callable[P, Any], argnums: Argnums = 0, *, argnum: Argnums | None = None
) -> Callable[P, Any]:
    """Returns a function that gives `(product, gradient)`; `product(v)` is the Hessian times v."""
    spec = TransformSpec("make_hvp", f, argnums, argnum)

    def make(*args: Any, **kwargs: Any) -> tuple[HessianProduct, Any]:
        product = HessianProduct(trace_call(spec, args, kwargs))
        return product, product.gradient()

    return set_wrapper_name(make, f, "hvp_of")


def _half_square(x: Any) -> Any:
    return (x * x).sum() / 2


def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = _half_square, f_argnum: int = 0
) -> Callable[..., Any]:
    """Returns a function that gives `product`: the Gauss-Newton matrix of `g(f(x))` times `v`.

    The matrix is JᵀHJ with the Jacobian J of `f` and the Hessian H of the scalar `g`.
    """
    spec = TransformSpec("make_ggnvp", f, f_argnum, None)
    curvature = hvp(g)

    def make(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        pull_back, value = make_vjp(f, f_argnum)(*args, **kwargs)
        push = make_jvp(f, f_argnum)(*args, **kwargs)
        return lambda vector: pull_back(curvature(value, push(vector)[1]))

    return set_wrapper_name(make, spec.function, "ggnvp_of")
