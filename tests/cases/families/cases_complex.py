"""The rows of complex numbers and their parts; what a row says: `cases.py`.

`test_complex.py` has the complex ones.
"""

from typing import Any

import numpy as np

from case_model import A, call, op, predicate, unary

#: Truth values have a conjugate of whole numbers in NumPy; floats keep their dtype in all rows.
REAL: dict[str, Any] = {"ints": None}
#: Real arguments have complex results, or no slope: the checks of the rows are for real functions
#: of real numbers. `test_complex.py` and `test_complex_derivatives.py` have these.
ELSEWHERE = {"imag", "angle", "complex", "polar", "view_as_complex", "view_as_real"}

CASES = (
    unary("conjugate", np.conjugate, **REAL),
    op("real", np.real, call(A(3, 4)), call(A()), call(A(0, 2)), **REAL),
    op("is_complex", np.iscomplexobj, call(A(3)), order=0, **REAL),
    predicate("isreal", np.isreal, 1, **REAL),
    predicate("iscomplex", np.iscomplex, 1, **REAL),
)
