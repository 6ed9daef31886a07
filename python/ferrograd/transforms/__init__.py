"""Transforms: functions of arrays to functions that give their derivatives."""

from ferrograd.transforms._check import CheckError as CheckError, check_grads as check_grads
from ferrograd.transforms._forward import (
    hvp as hvp,
    jvp as jvp,
    make_ggnvp as make_ggnvp,
    make_hvp as make_hvp,
    make_jvp as make_jvp,
)
from ferrograd.transforms._matrix import hessian as hessian, jacobian as jacobian
from ferrograd.transforms._reverse import (
    elementwise_grad as elementwise_grad,
    grad as grad,
    make_vjp as make_vjp,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
