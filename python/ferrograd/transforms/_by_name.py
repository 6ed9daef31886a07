"""Variants of `grad` and `jvp`: by argument names, and products with a vector."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd._core import Tensor
from ferrograd.errors import ArgumentError
from ferrograd.transforms._argnums import Argnums, P, TransformSpec, set_wrapper_name
from ferrograd.transforms._linear_maps import hvp, make_jvp
from ferrograd.transforms._matrix import jacobian
from ferrograd.transforms._reverse import grad, make_gradient, make_vjp


def grad_named(f: Callable[P, Any], argname: str) -> Callable[P, Any]:
    """The gradient with respect to the argument with this name.

    >>> import ferrograd as fg
    >>> fg.grad_named(lambda x, scale: scale * x**2, "x")(3.0, 2.0)
    12.0
    """
    return grad(f, argname)


def multigrad_dict(f: Callable[P, Any]) -> Callable[P, Any]:
    """The gradients with respect to all arguments, in a dict with their names.

    >>> import ferrograd as fg
    >>> dict(fg.multigrad_dict(lambda x, y: x * y)(2.0, 3.0))
    {'x': 3.0, 'y': 2.0}
    """
    signature = inspect.signature(f)

    def gradients(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = OrderedDict(bound.arguments)

        def call_with_dict(values: dict[str, Any]) -> Any:
            bound.arguments.update(values)
            return f(*bound.args, **bound.kwargs)

        return grad(call_with_dict)(arguments)

    return set_wrapper_name(gradients, f, "multigrad_of")


def grad_and_aux(
    f: Callable[P, Any], argnums: Argnums = 0, *, argnum: Argnums | None = None
) -> Callable[P, Any]:
    """`(gradient, aux)` of a function that returns `(value, aux)`."""
    return grad(f, argnums, True, argnum=argnum)


def deriv(
    f: Callable[P, Any], argnums: Argnums = 0, *, argnum: Argnums | None = None
) -> Callable[P, Any]:
    """The derivative in the direction of ones; the function may have any number of results."""
    make = make_jvp(f, argnums, argnum=argnum)
    place = argnums if argnum is None else argnum
    if not isinstance(place, int):
        raise ArgumentError(f"deriv: argnums is {place!r}; give one position")

    def derivative(*args: Any, **kwargs: Any) -> Any:
        x = args[place]
        along = np.ones(np.shape(x)) if np.ndim(x) else 1.0
        return make(*args, **kwargs)(along)[1]

    return set_wrapper_name(derivative, f, "derivative_of")


def holomorphic_grad(f: Callable[P, Any], argnum: int = 0) -> Callable[P, Any]:
    """The complex derivative of a holomorphic function of a complex number.

    >>> import numpy as np
    >>> import ferrograd as fg
    >>> fg.holomorphic_grad(lambda z: z**2)(1 + 2j)
    (2+4j)
    """
    return make_gradient(TransformSpec("holomorphic_grad", f, argnum, None, True))


def hessian_tensor_product(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Returns a function of the arguments and a tensor: the Hessian times the tensor."""
    return hvp(f, argnum)


def tensor_jacobian_product(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Returns a function of the arguments and a tensor: the tensor times the Jacobian.

    The axes of the tensor are contracted with the first axes of the result.
    """
    make = make_vjp(f, argnum)

    def product(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2:
            raise ArgumentError(
                f"vector_jacobian_product: called with {len(args)} arguments; pass those of the"
                " function and a vector like its result"
            )
        pull, value = make(*args[:-1], **kwargs)
        vector = args[-1]
        if not isinstance(vector, Tensor) and np.ndim(value):
            vector = np.asarray(vector, dtype=float)
        if np.ndim(vector) >= np.ndim(value):
            return pull(vector)

        def contract(*args: Any, **kwargs: Any) -> Any:
            return np.tensordot(vector, f(*args, **kwargs), np.ndim(vector))

        return jacobian(contract, argnum)(*args[:-1], **kwargs)

    return set_wrapper_name(product, f, "vector_jacobian_product_of")


def make_jvp_reversemode(f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Returns a function that gives `push`: `push(tangent)` is only the change of the result."""
    make = make_jvp(f, argnum)

    def make_push(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        push = make(*args, **kwargs)
        return lambda tangent: push(tangent)[1]

    return set_wrapper_name(make_push, f, "jvp_of")


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product
