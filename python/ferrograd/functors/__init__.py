"""Functors: operations as callable objects, and the base class for your own (document 001)."""

from ferrograd.functors._base import AutogradFunction as AutogradFunction
from ferrograd.functors._operation import Op as Op
from ferrograd.functors._ops import (
    Add as Add,
    AddFiber as AddFiber,
    Gelu as Gelu,
    Gemm as Gemm,
    SumFiber as SumFiber,
    add as add,
    add_fiber as add_fiber,
    gelu as gelu,
    gemm as gemm,
    sum_fiber as sum_fiber,
)
