"""Programs that NumPy users write, each with the idiom that it stands for.

A row has a name, arguments, statements and the result.
"""

from typing import Any

import numpy as np

from idioms.generate import Program

ROWS: list[tuple[str, list[Any], str, str]] = []


def row(name: str, arguments: list[Any], statements: str, result: str) -> None:
    """Adds a program; arguments are called x, y, z."""
    ROWS.append((name, arguments, statements, result))


def program(arguments: list[Any], statements: str, result: str) -> Program:
    """The program of a row."""
    made = Program(0, ["x", "y", "z"][: len(arguments)], arguments)
    made.statements, made.terms = [statements.strip("\n").split("\n")], [result]
    return made


V = [np.array([1.0, 2.0])]
W = [np.array([0.3, -0.7, 1.1])]
M = [np.array([[0.3, -0.7, 1.1], [0.9, 0.4, -0.2]])]

# --- elements are values -------------------------------------------------------------------------

row(
    "a trajectory kept in a list",
    V,
    """
u, out = x[0] * 1.0, []
for i in range(3):
    u += 0.1 * x[1]
    out.append(u)
""",
    "out[0] * 10 + out[-1]",
)
row("a swap", V, "y = x.copy()\ny[0], y[1] = y[1], y[0]", "y[0] + 10 * y[1]")
row("another name of a result", [3.0], "y = 2 * x\nz = y\nz += 1.0", "y * z")
row(
    "old velocity",
    W,
    "y = x.copy()\nv = y[1]\ny[1] += 0.1 * y[0]\ny[0] += 0.5 * v",
    "y[0] + 3 * y[1]",
)
row("a sum from an element", W, "y = x * x\ns = y[0]\nfor i in range(3): s += y[i]", "s * y[0]")
row("unpacked", W, "y = x * 2\na, b, c = y\na += 1\nb *= c", "a * b + y[0] * y[1]")
row("a loop over elements", W, "y = x * 1\nfor q in y: q *= 2", "(y * y).sum() + q")
row(
    "old entry of a dict",
    W,
    'st = {"x": x[0]}\nold = st["x"]\nst["x"] += x[1]',
    'old * 10 + st["x"]',
)
row("old attribute", W, "o = SimpleNamespace(p=x[0])\nold = o.p\no.p *= x[1]", "old * 10 + o.p")
row("a running product", W, "acc = 1.0\nfor q in x: acc *= q", "acc")
row("a product from an element", W, "y = x + 0.0\nacc = y[0]\nfor q in y: acc *= q", "acc + y[0]")
row("a reduction under two names", W, "s = x.sum()\nt = s\nt += 1", "s * t")
row("a number as an argument", [3.0], "x += 1\ny = x\ny *= 2", "x * y")
row("an element of a matrix", M, "A = x * 1\ne = A[1, 2]\nA[1, 2] = 0.5\ne += 1", "e + A.sum()")
row("an element twice indexed", M, "A = x * 1\ne = A[1][2]\nA[1][2] += 1\ne *= 2", "e * A[1, 2]")
row(
    "maximum so far",
    W,
    "best = x[0]\nfor q in x: best = np.maximum(best, q)\nbest += 1",
    "best * x[0]",
)
row("whole numbers become floats", W, "k = np.arange(3)\nj = k[1]\nj += 0.5", "j * x[0] + k[1]")
row(
    "a list of elements",
    W,
    "y = x.copy()\nq = list(y)\nq[0] += 1\ny[1] = 0.0",
    "q[0] * q[1] + y.sum()",
)
row(
    "entries appended",
    W,
    "y = x * 1\nL = []\nfor i in range(3):\n    L.append(y[0])\n    y[0] *= 2",
    "L[0] + 3 * L[1] + 7 * L[2]",
)

# --- arrays are memory ---------------------------------------------------------------------------

row("memory without axes", V, "a = np.zeros(())\nb = a\nb += x[0]", "a * b + x[1]")
row("a view without axes", V, "y = x.copy()\na = y[..., 0]\na += x[1]", "y[0] * y[1]")
row("another name of an array", W, "y = x * 2\nz = y\nz += 1.0", "(y * z).sum()")
row("a slice", W, "y = x * 2\nz = y[1:]\nz *= y[0]\ny[1] = 3.0", "(y ** 2).sum() + z[0]")
row("backwards", W, "y = x.copy()\nz = y[::-1]\nz[0] = x[0]", "y @ np.array([1.0, 2.0, 3.0])")
row(
    "an array appended",
    W,
    "y = x.copy()\nL = []\nfor i in range(2):\n    y += x\n    L.append(y)",
    "(L[0] * L[1]).sum()",
)
row(
    "copies appended",
    W,
    "y = x.copy()\nL = []\nfor i in range(2):\n    y += x\n    L.append(y.copy())",
    "(L[0] * L[1]).sum()",
)
row("rows", M, "A = x.copy()\nfor row in A: row += row[0]", "(A ** 2).sum()")
row("rows that swap nothing", M, "A = x.copy()\nA[0], A[1] = A[1], A[0]", "(A[0] * A[1]).sum()")
row("columns", M, "A = x.copy()\nA[:, 1] *= A[:, 0]", "(A ** 2).sum()")
row("a transposed view", M, "A = x.copy()\nB = A.T\nB[2] += B[0]\nB[0, 1] = 0.0", "(A ** 2).sum()")
row("a row of a row", M, "A = x.copy()\nA[0][1] = A[1][0]\nA[1][2] += A[0][1]", "(A ** 2).sum()")
row("a column from a row", W, "A = np.outer(x, x)\nA[:, -1] = A[1, :]", "(A[-1] ** 2).sum()")
row(
    "every other from the first",
    W,
    "y = x[[0, 1, 2, 1]]\ny[::2] = y[:2]",
    "(y * y[::-1]).sum() + y[2]",
)
row("ravel copies what it cannot show", W, "y = x * 2\nw = np.ravel(y[::-1])\ny[0] = 0.0", "w @ x")
row("a copy without axes", [np.array(1.5)], "d = x.copy()\ne = d\ne *= 2.0", "d * e")
row("plus is a value", W, "z = np.zeros(())\nz += x[0]\ns = +z\nt = s\nt *= x[1]", "s * t + z")
row("a product under two names", W, "a = b = np.prod(x)\nb *= x[0]", "a * b")
row("a greatest under two names", W, "a = b = x.max()\nb *= x[0]", "a * b")
row("a norm under two names", W, "a = b = np.linalg.norm(x)\nb *= x[0]", "a * b")
row("an array of a number", W, "z = np.array(x[0])\nw = z\nw *= x[1]", "z * w + x[0]")
row("asarray of a number", W, "s = x.sum()\nz = np.asarray(s)\nz *= 2", "z * s")
row("a copy of a number", W, "s = x.sum()\nt = copy.copy(s)\nu = t\nu *= 2", "s * t * u")
row("reversed", W, "y = x * 1\nL = list(reversed(y))\ny[0] = 2.0", "L[0] * L[2] + y[0]")
row("output by position", W, "y = x * 1\nnp.divide(y, 1 + y * y, y)", "(y * y).sum()")
row("a diagonal of a vector", M, "A = x @ x.T\nnp.fill_diagonal(A, x[0, :2])", "(A * A).sum()")
row("reshaped", M, "A = x.copy()\nA.reshape(-1)[2:4] *= 2.0", "(A ** 2).sum()")
row("a mask", W, "y = x.copy()\ny[np.array([True, False, True])] *= 3.0", "(y ** 2).sum()")
row(
    "chosen elements",
    W,
    "y = x.copy()\nz = y[[0, 2]]\nz += 1\ny[[0, 1]] = y[[1, 0]]",
    "y @ np.array([1.0, 2.0, 3.0]) * z[1]",
)
row(
    "a function that writes",
    W,
    "y = x.copy()\ndef g(u):\n    u[0] *= 2\n    u += 1\ng(y)",
    "(y ** 2).sum()",
)

# --- writes after reads --------------------------------------------------------------------------

row(
    "a step of Euler",
    W,
    "u = x.copy()\nfor _ in range(3): u += 0.1 * np.sin(u) * u",
    "(u ** 2).sum()",
)
row(
    "an output that is an operand", W, "v = x.copy()\nnp.multiply(v, v[0], out=v)", "(v ** 2).sum()"
)
row(
    "a column from itself",
    M,
    "A = x.copy()\nA[:, 1] = np.tanh(A[:, 1]) * A[:, 1]",
    "(A ** 2).sum()",
)
row("a saved operand", W, "y = x.copy()\nz = y * y\ny[0] = 5.0", "z.sum() + y.sum()")
row("a power in place", W, "y = x.copy()\nz = np.exp(y)\nz **= 2\ny /= 1 + y ** 2", "(y * z).sum()")
row("shifted", W, "y = x.copy()\ny[1:] += y[:-1]\ny[:-1] = y[1:]", "(y ** 2).sum()")

# --- buffers -------------------------------------------------------------------------------------

row(
    "a buffer of rows",
    W,
    "U = np.zeros((4, 3))\nU[0] = x\nfor t in range(3): U[t + 1] = U[t] * np.cos(U[t])",
    "(U ** 2).sum()",
)
row(
    "a matrix by elements",
    W,
    "A = np.empty((3, 3))\nfor i in range(3):\n    for j in range(3): A[i, j] = x[i] * x[j] + i",
    "np.linalg.norm(A)",
)
row(
    "a running buffer",
    W,
    "s = np.zeros(4)\nfor k in range(1, 4): s[k] = s[k - 1] + x[k - 1] ** 2",
    "(s ** 2).sum()",
)
row(
    "an identity",
    W,
    "A = np.eye(3)\nA[0, 1] = x[0]\nA[2, 0] -= x[1]",
    "(A @ x).sum() + (A ** 2).sum()",
)
row("zeros like it", W, "y = np.zeros_like(x)\ny[:2] = x[1:]\ny[2] += y[0]", "(y ** 2).sum()")
row(
    "full and ones", W, "y = np.full(3, 0.5)\nz = np.ones(3)\ny[0] *= x[0]\nz -= x", "(y * z).sum()"
)
row("add.at", W, "y = np.zeros(2)\nnp.add.at(y, [0, 1, 0], x)", "(y ** 2).sum()")
row("a diagonal", W, "A = np.zeros((3, 3))\nnp.fill_diagonal(A, x)\nA[0] += x[1]", "(A @ A).sum()")

# --- copies and methods --------------------------------------------------------------------------

row("deepcopy", W, "s = copy.deepcopy(x)\ns[0] *= 2", "(s ** 2).sum() + x[0]")
row("copy.copy", W, "s = copy.copy(x)\ns[0] *= 2", "(s ** 2).sum() + x[0]")
row("copy.copy of a number", [0.7], "y = copy.copy(x)\nz = x\nz *= 2", "x * z + y")
row(
    "deepcopy of a state",
    W,
    'st = {"p": x * 1, "q": [x[0]]}\nd = copy.deepcopy(st)\nd["p"] += 1\nd["q"][0] *= 2',
    '(st["p"] * d["p"]).sum() + d["q"][0]',
)
row("np.copy and plus", W, "y = np.copy(x)\nz = +y\ny[0] = 2.0\nz[1] *= 3", "(y * z).sum()")
row("sort", W, "y = x.copy()\ny.sort()", "y @ np.array([1.0, 2.0, 4.0])")
row("fill", W, "y = x.copy()\ny.fill(x[1])", "(y ** 2).sum()")
row("copyto", W, "y = np.zeros(3)\nnp.copyto(y, x * x)", "(y ** 2).sum()")
row(
    "put",
    W,
    "y = x.copy()\nnp.put(y, [0, 2], x[1])\ny.put([1], x[0])",
    "y @ np.array([1.0, 2.0, 4.0])",
)

#: Programs that write to their argument: NumPy changes the caller's array, transforms refuse.
WRITES = (
    ("augmented", W, "x += 1", "x.sum()"),
    ("an element", W, "x[0] = 2.0", "x.sum()"),
    ("a slice", W, "y = x[1:]\ny *= 2", "x.sum()"),
    ("an argument without axes", [np.array(0.5)], "x += 1", "x * x"),
    ("output", W, "np.sin(x, out=x)", "x.sum()"),
    ("rows", M, "for row in x: row += 1", "x.sum()"),
    ("sort", W, "x.sort()", "x[0]"),
)
