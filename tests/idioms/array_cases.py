"""Programs that make, copy, rearrange and join arrays, one for each way of NumPy's to do so."""

from typing import Any

import numpy as np

#: A name, arguments, statements and the result of each program, as in `cases`.
ROWS: list[tuple[str, list[Any], str, str]] = []

M = [np.array([[0.3, -0.7, 1.1], [0.9, 0.4, -0.2]])]
W = [np.array([0.3, -0.7, 1.1])]
V = [np.array([0.3, 0.7, 1.1, 0.5])]


def rows(table: str, arguments: list[Any], before: str, result: str, name: str = "") -> None:
    """A program for each line of a table, whose expression stands where `before` says."""
    for line in table.strip().splitlines():
        ROWS.append((name + line, arguments, before.format(line), result))


# Which of them share the memory of A, their order of elements, and their axes.
rows(
    """
np.array(A)
np.array(A, copy=False)
np.array(A, copy=None)
np.array(A.T, copy=None, order="C")
np.array(A, copy=None, ndmin=3)
np.array(A.T, order="F")
np.array(A, float)
np.asarray(A)
np.asarray(A, copy=True)
np.asarray(A, copy=False)
np.asarray(A, order="F")
np.asarray(A, float, "F")
np.asarray(A.T, order="F")
np.asarray(A.T, order="C")
np.asarray(A.T, order="K")
np.asarray(A.T, order="A")
np.asanyarray(A)
np.asarray_chkfinite(A.T, order="C")
np.ascontiguousarray(A)
np.ascontiguousarray(A[:, 1])
np.ascontiguousarray(A.T)
np.ascontiguousarray(A[0, 0])
np.ascontiguousarray(A[0, 0, ...])
np.asfortranarray(A)
np.asfortranarray(A.T)
np.asfortranarray(A[0, 0])
np.require(A, requirements="C")
np.require(A.T, None, ["C", "W"])
np.require(A.T, requirements=["O"])
np.copy(A)
np.copy(A, "F")
A.astype(float, copy=False)
A.astype(float)
np.astype(A, float, copy=False)
A.reshape(-1, copy=True)
A.reshape(-1, copy=False)
np.reshape(A, (6,), "F")
np.reshape(A, -1, copy=True)
A.T.flatten("F")
A.flatten("C")
A.T.flatten("K")
np.ravel(A, "K")
np.ravel(A.T, "K")
np.ravel(A.T, "A")
A.T.ravel("F")
np.nan_to_num(A, copy=False)
np.nan_to_num(A)
np.atleast_1d(A)
np.atleast_3d(A)
""",
    M,
    "A = x * 1.0\nc = {}\nc *= 2",
    "(A * A).sum() + ((1 + np.arange(c.size)) * c.ravel() ** 3).sum() + c.ndim",
)

# A value that is shown with axes is an array of its own.
for source in ("x[0]", "x.sum()", "x[0] * x[1]"):
    rows(
        """
s.reshape(1)
s.reshape((1, 1))
np.reshape(s, (1, 1))
np.ravel(s)
s.ravel()
s.flatten()
s[None]
s[None, ...]
s[...]
s[..., None]
np.atleast_1d(s)
np.atleast_2d(s)
np.atleast_3d(s)
np.expand_dims(s, 0)
np.array(s, ndmin=1, copy=None)
s[None, None].swapaxes(0, 1)
np.roll(s, 1)
np.array([s])
np.tile(s, 1)
""",
        W,
        f"s = {source}\nt = s\ny = {{}}\nk = y\ny += 1\ny *= x[1]",
        "(y * k).sum() + 10 * s * t",
        f"s = {source}: ",
    )

# Grids of values.
rows(
    """
np.ix_(x, x)
np.ix_(x, [1.0, 2.0, 3.0])
np.ix_(x, [True, False, True])
np.meshgrid(x, x)
""",
    W,
    "X, Y = {}",
    "(X * Y * Y).sum()",
)

# What takes values while a transform runs.
rows(
    """
np.linspace(0, 1, 4)
np.arange(0.0, 4.0)
np.arange(4, dtype=float)
np.logspace(0, 1, 4)
np.geomspace(1, 8, 4)
np.tile([1.0, 2.0], 2)
np.tile(np.array([1.0, 2.0, 3.0, 4.0]), 1)
np.repeat([1.0, 2.0], 2)
np.r_[0.0, 1.0:4.0]
np.c_[[1.0, 2.0], [3.0, 4.0]].reshape(-1)
np.meshgrid([1.0, 2.0], [3.0, 4.0])[0].ravel()
np.mgrid[0:1:4j]
np.ogrid[0:1:4j]
np.pad([1.0, 2.0], 1)
np.tri(2).ravel()
np.stack([[1.0, 2.0], [3.0, 4.0]]).ravel()
np.concatenate([[1.0, 2.0], np.ones(2)])
np.hstack([[1.0, 2.0], np.ones(2)])
np.vstack([[1.0, 2.0], np.ones(2)]).ravel()
np.dstack([[1.0, 2.0], np.ones(2)]).ravel()
np.column_stack([[1.0, 2.0], np.ones(2)]).ravel()
np.block([[np.ones(2), np.zeros(2)]]).ravel()
np.append([1.0, 2.0, 3.0], 4.0)
np.insert([1.0, 2.0, 3.0], 1, 4.0)
np.delete(np.arange(5.0), 1)
np.resize([1.0, 2.0], 4)
np.diagflat([1.0, 2.0]).ravel()
np.fromfunction(lambda i: i * 1.0, (4,))
np.fromiter((i * 0.5 for i in range(4)), float)
np.atleast_1d([1.0, 2.0, 3.0, 4.0])
np.asfortranarray([1.0, 2.0, 3.0, 4.0])
np.array(np.sin(np.arange(4)))
np.array(deque([x[0], x[1], x[0], x[1]]))
np.fromiter((v * v for v in x), float)
""",
    V,
    "from collections import deque\nt = {}\nt[0] = x[0]\nt[1] += x[1] * t[0]",
    "(t * t * x).sum()",
)

# Arguments by position, in NumPy's order; `out` as well.
rows(
    """
np.sum(A, 0, np.float64)
np.sum(A, 0, None, r)
np.sum(A, 0, None, None, True, 1.0)
A.sum(0, float)
A.sum(0, None, r)
A.sum(0, None, None, True)
A.sum(0, None, None, False, 2.0)
A.sum(0, None, None, True, x[0])
A.sum(initial=x[0], where=A > 0.6)
A.prod(1, None, None, False, 3.0)
A.max(0, None, False, 0.6)
A.max(0, None, False, 0.6, A > 0.0)
A.min(1, initial=0.1)
A.min(None, None, True, x[1])
A.any(where=A > 0.6) * A
A.copy("F") * A
A.copy(order="K") * A
np.copy(A, "F") * A
np.mean(A, 0, float, None, True)
A.mean(1, float)
A.prod(0, float, None, True)
np.std(A, 0, None, None, 1)
A.std(0, None, None, 1)
A.var(1, None, None, 0, True)
A.var(0, float)
A.std(0, "f8")
A.mean(0, where=A > 0.6)
A.var(1, where=A > 0.2)
A.std(where=A > 0.2, keepdims=True)
A.argsort(0, "stable") * A
A.trace(0, 0, 1, None)
np.max(A, 0, None, True)
A.max(0, None, True)
A.min(1, None)
np.clip(y, 0.1, 0.6, y)
y.clip(0.1, 0.6, y)
np.dot(A, A, Z)
A.dot(A, Z)
np.matmul(A, A, Z)
np.cumsum(A, 1, None)
A.cumsum(1, float)
A.cumsum(1, None, Z)
np.cumprod(A, 0, float)
np.take(A, [0], 1, None)
np.trace(A, 0, 0, 1, float)
np.add(np.ones(4), 1.0, b)
np.sin(np.ones(4), b)
np.add(x, 1.0, b)
np.multiply([x[0], x[1]], 2.0, r)
np.modf(np.ones(4) * 1.5, b, e)[0]
np.modf(x * 3)[0]
np.frexp(x * 3)[0]
""",
    V,
    "A = x.reshape(2, 2) * 1.0\ny = x * 1.0\n"
    "Z, r, b, e = np.zeros((2, 2)), np.zeros(2), np.zeros(4), np.zeros(4)\nv = {}\nv = v * x[0]",
    "(v * v).sum() + (Z * A).sum() + (r * r).sum() + (b * x).sum() + (e * x).sum() + (y * y).sum()",
)

# Places that depend on a shape alone.
rows(
    """
np.diag_indices_from(A)
np.triu_indices_from(A, 1)
np.tril_indices_from(A, -1)
""",
    W,
    "A = np.outer(x, x)\nA[{}] += x[0]",
    "(A * A).sum()",
)
