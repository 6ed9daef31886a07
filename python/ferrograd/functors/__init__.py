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
from ferrograd.functors._slices import (
    AddSlice as AddSlice,
    MultiplyFiber as MultiplyFiber,
    MultiplySlice as MultiplySlice,
    NormFiber as NormFiber,
    NormSlice as NormSlice,
    Scale as Scale,
    SumSlice as SumSlice,
    add_slice as add_slice,
    multiply_fiber as multiply_fiber,
    multiply_slice as multiply_slice,
    norm_fiber as norm_fiber,
    norm_slice as norm_slice,
    scale as scale,
    sum_slice as sum_slice,
)
