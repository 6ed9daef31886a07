"""The names of `linalg` that are not operations of the core."""

from __future__ import annotations

from ferrograd._names.name_table import NameGroup

LINALG = (
    NameGroup("_pytorch.linalg_ex", "cholesky_ex inv_ex lu_factor_ex solve_ex", torch="linalg.*"),
    NameGroup("_pytorch.vander", "vander", torch="linalg.*"),
)
#: Functions of `numpy.linalg`, which accept tensors.
OF_NUMPY = NameGroup(
    "",
    "cond diagonal matmul matrix_rank matrix_transpose outer tensordot tensorinv tensorsolve trace"
    " vecdot",
    numpy="linalg.*",
)
