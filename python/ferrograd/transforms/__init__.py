"""Transforms: they map a function of arrays to a function that computes its derivatives."""

from ferrograd.transforms._by_name import (
    deriv as deriv,
    grad_and_aux as grad_and_aux,
    grad_named as grad_named,
    hessian_tensor_product as hessian_tensor_product,
    hessian_vector_product as hessian_vector_product,
    holomorphic_grad as holomorphic_grad,
    multigrad_dict as multigrad_dict,
    tensor_jacobian_product as tensor_jacobian_product,
    vector_jacobian_product as vector_jacobian_product,
)
from ferrograd.transforms._check_grads import CheckError as CheckError, check_grads as check_grads
from ferrograd.transforms._custom_rules import (
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    stop_gradient as stop_gradient,
)
from ferrograd.transforms._forward_mode import jacfwd as jacfwd, jvp as jvp
from ferrograd.transforms._linear_maps import (
    hvp as hvp,
    linearize as linearize,
    make_ggnvp as make_ggnvp,
    make_hvp as make_hvp,
    make_jvp as make_jvp,
)
from ferrograd.transforms._matrix import (
    hessian as hessian,
    jacobian as jacobian,
    jacrev as jacrev,
)
from ferrograd.transforms._reverse import (
    elementwise_grad as elementwise_grad,
    grad as grad,
    make_vjp as make_vjp,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
