"""The names of `linalg` that are no operations of the core."""

from __future__ import annotations

from ferrograd._names.rows import Rows

LINALG = (
    Rows("_pytorch.linalg_ex", "cholesky_ex inv_ex lu_factor_ex solve_ex", torch="linalg.*"),
    Rows("_pytorch.vander", "vander", torch="linalg.*"),
)
#: NumPy's own functions, which take tensors.
OF_NUMPY = Rows(
    "",
    "cond diagonal matmul matrix_rank matrix_transpose outer tensordot tensorinv tensorsolve trace"
    " vecdot",
    numpy="linalg.*",
)
