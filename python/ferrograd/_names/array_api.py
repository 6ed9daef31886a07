"""The names of the array API standard's namespace."""

from __future__ import annotations

from ferrograd._names.rows import SAME, Rows

#: Operations of the core as functions of one array, and of two.
UNARY = Rows(
    "array_api._elementwise",
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil cos cosh exp expm1 floor "
    "isfinite isinf isnan log log10 log1p log2 logical_not negative reciprocal round sign "
    "signbit sin sinh sqrt square tan tanh trunc",
)
BINARY = Rows(
    "array_api._elementwise",
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
    "copysign divide equal floor_divide greater greater_equal hypot less less_equal "
    "logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter "
    "not_equal pow remainder subtract",
)
#: Functions of NumPy's of one array, which take tensors.
OF_NUMPY = Rows("array_api._elementwise", "conj imag positive real", numpy=SAME)
ELEMENTWISE = (UNARY, BINARY, OF_NUMPY)

ARRAY_API = (
    Rows("_tensor.creation", "e inf nan newaxis pi"),
    Rows("array_api", "linalg", modules=True),
    Rows(
        "array_api._creation",
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
        "ones ones_like tril triu zeros zeros_like",
    ),
    Rows("array_api._dtypes", "astype can_cast finfo iinfo isdtype result_type"),
    *ELEMENTWISE,
    Rows("array_api._elementwise", "clip"),
    Rows(
        "array_api._extra_names",
        "cross cumprod cumsum diag einsum float16 gradient isin lib logspace median pad "
        "quantile transpose",
    ),
    Rows(
        "array_api._manipulation",
        "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat "
        "reshape roll squeeze stack tile unstack",
    ),
    Rows(
        "array_api._reductions",
        "all any count_nonzero cumulative_prod cumulative_sum diff max mean min prod std sum var",
    ),
    Rows(
        "array_api._searching",
        "argmax argmin argsort nonzero searchsorted sort take take_along_axis unique_all "
        "unique_counts unique_inverse unique_values where",
    ),
    Rows("array_api.linalg", "matmul matrix_transpose tensordot vecdot"),
)
