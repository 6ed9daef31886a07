"""The names of the array API standard's main namespace."""

from __future__ import annotations

from ferrograd._names.name_table import SAME, NameGroup

#: Operations of the core with one array argument.
UNARY = NameGroup(
    "array_api._elementwise",
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil cos cosh exp expm1 floor "
    "isfinite isinf isnan log log10 log1p log2 logical_not negative reciprocal round sign "
    "signbit sin sinh sqrt square tan tanh trunc",
)
#: Operations of the core with two array arguments.
BINARY = NameGroup(
    "array_api._elementwise",
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
    "copysign divide equal floor_divide greater greater_equal hypot less less_equal "
    "logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter "
    "not_equal pow remainder subtract",
)
#: NumPy functions with one array argument, which accept tensors.
OF_NUMPY = NameGroup("array_api._elementwise", "conj imag positive real", numpy=SAME)
ELEMENTWISE = (UNARY, BINARY, OF_NUMPY)

ARRAY_API = (
    NameGroup("_tensor.creation", "e inf nan newaxis pi"),
    NameGroup("array_api", "linalg", are_modules=True),
    NameGroup(
        "array_api._creation",
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
        "ones ones_like tril triu zeros zeros_like",
    ),
    NameGroup("array_api._dtypes", "astype can_cast finfo iinfo isdtype result_type"),
    *ELEMENTWISE,
    NameGroup("array_api._elementwise", "clip"),
    NameGroup(
        "array_api._extra_names",
        "cross cumprod cumsum diag einsum float16 gradient isin lib logspace median pad "
        "quantile transpose",
    ),
    NameGroup(
        "array_api._manipulation",
        "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat "
        "reshape roll squeeze stack tile unstack",
    ),
    NameGroup(
        "array_api._reductions",
        "all any count_nonzero cumulative_prod cumulative_sum diff max mean min prod std sum var",
    ),
    NameGroup(
        "array_api._searching",
        "argmax argmin argsort nonzero searchsorted sort take take_along_axis unique_all "
        "unique_counts unique_inverse unique_values where",
    ),
    NameGroup("array_api.linalg", "matmul matrix_transpose tensordot vecdot"),
)
