"""The table of `ferrograd.scipy`: a call of ours and one of SciPy's on arrays, for each function.

`test_scipy_functions.py` compares values and derivatives.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import ferrograd.numpy as fnp
from ferrograd.scipy import integrate, linalg, signal, special, stats

RANDOM = np.random.default_rng(3)
X = RANDOM.uniform(0.2, 0.8, size=5)
P = 4 * X + 0.5
Q = P[::-1] + 1
S = 2 * RANDOM.normal(size=5)
M = RANDOM.normal(size=(3, 4))
A = RANDOM.normal(size=(3, 3))
C = A @ A.T + np.eye(3)
V = RANDOM.normal(size=3)
ROWS3 = RANDOM.normal(size=(4, 3))
COUNTS = np.array([0, 1, 3, 2, 5])


class Row(NamedTuple):
    """What ours and SciPy's function give for the same arrays."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arrays: tuple[Any, ...]
    order: int = 2


def both(home: Any, other: Any, name: str, *arrays: Any, first: tuple[Any, ...] = ()) -> Row:
    """The same call of both; `first` are leading arguments that no derivative is taken by."""
    mine, theirs = getattr(home, name), getattr(other, name)
    return Row(name, lambda *a: mine(*first, *a), lambda *a: theirs(*first, *a), arrays)


def _special(name: str, *arrays: Any, first: tuple[Any, ...] = ()) -> Row:
    return both(special, scipy.special, name, *arrays, first=first)


def _stats(path: str, *arrays: Any) -> Row:
    home, name = path.split(".")
    row = both(getattr(stats, home), getattr(scipy.stats, home), name, *arrays)
    return row._replace(name=path)


def _given(path: str, call: Callable[[Any, Any], Any], *arrays: Any) -> Row:
    """A call of `path` of both modules in which some arguments are fixed."""
    home, name = path.split(".")
    mine = getattr(getattr(stats, home), name)
    theirs = getattr(getattr(scipy.stats, home), name)
    return Row(path, lambda *a: call(mine, *a), lambda *a: call(theirs, *a), arrays)


def symmetric(c: Any) -> Any:
    return (c + c.T) / 2


ONE = """digamma erf erfc erfinv expit gammaln logit gamma rgamma log_ndtr ndtr ndtri erfcinv i0 i1
    i0e i1e j0 j1 y0 y1 entr psi log_expit factorial loggamma"""
ANYWHERE = "i0 i1 i0e i1e j0 j1 erf ndtr log_ndtr gamma"

SPECIAL = [
    *(_special(name, X) for name in ONE.split()),
    *(_special(name, S) for name in ANYWHERE.split()),
    *(_special(name, P, Q) for name in ("beta", "betaln", "xlogy", "xlog1py", "rel_entr")),
    *(_special(name, P, first=(1.5,)) for name in ("iv", "ive", "jv")),
    _special("jn", P, first=(3,)),
    _special("yn", P, first=(3,)),
    _special("polygamma", P, first=(2,)),
    _special("gammainc", Q, first=(P,)),
    _special("gammaincc", Q, first=(2.0,)),
    _special("betainc", X, first=(P, Q)),
    _special("stdtr", S, first=(3.0,)),
    Row(
        "multigammaln",
        lambda a: special.multigammaln(a, 3),
        lambda a: np.array([scipy.special.multigammaln(v, 3) for v in a]),
        (P + 2,),
    ),
    *(_special(name, X) for name in ("cbrt", "exp2", "exp10", "cosm1", "erfcx")),
    *(_special(name, X) for name in ("exprel", "spence", "sinc")),
    *(_special(name, S) for name in ["sindg", "cosdg", "tandg"]),
    *(_special(name, P, X) for name in ("boxcox", "inv_boxcox", "huber", "pseudo_huber", "poch")),
    *(_special(name, P, X) for name in ("gammaincinv", "gammainccinv", "chdtri", "binom")),
    *(
        _special(name, P, Q, X)
        for name in ("betaincinv", "fdtr", "fdtrc", "gdtr", "gdtrc", "fdtri")
    ),
    _special("expn", P, first=(2,)),
    _special("hyp1f1", S, first=(1.5, 2.5)),
    _special("pdtr", P, first=(3.0,)),
    _special("bdtr", X, first=(2.0, 5)),
    _special("nbdtr", X, first=(2, 5)),
    *(
        Row(
            name,
            lambda a, n=name, k=axis: getattr(special, n)(a, k),
            lambda a, n=name, k=axis: getattr(scipy.special, n)(a, k),
            (M,),
        )
        for axis in (None, 0, 1)
        for name in ("logsumexp", "softmax", "log_softmax")
    ),
    Row(
        "logsumexp",
        lambda a, b: special.logsumexp(a, 1, b),
        lambda a, b: scipy.special.logsumexp(a, 1, b),
        (M, abs(M) + 0.1),
    ),
    Row(
        "logsumexp",
        lambda a, b: special.logsumexp(a, 1, b, return_sign=True)[0],
        lambda a, b: scipy.special.logsumexp(a, 1, b, return_sign=True)[0],
        (M, M),
    ),
]

STATS = [
    *(
        _stats(f"norm.{name}", S, X, P)
        for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
    ),
    _stats("norm.ppf", X, S, P),
    *(
        row
        for name in ("pdf", "logpdf")
        for row in (
            _stats(f"t.{name}", S, P, X, P),
            _stats(f"gamma.{name}", P, Q, X, P),
            _stats(f"beta.{name}", X, Q, P),
            _stats(f"beta.{name}", X, Q, P, X - 0.5, P + 1),
            _stats(f"chi2.{name}", P, Q),
            _given(f"dirichlet.{name}", lambda f, a: f(X / X.sum(), a), P),
            _given(
                f"multivariate_normal.{name}",
                lambda f, x, m, c: f(x, m, symmetric(c)),
                ROWS3,
                V,
                C,
            ),
            _given(
                f"multivariate_normal.{name}",
                lambda f, x, m, c: f(x, m, symmetric(c)),
                ROWS3[0],
                V,
                C,
            ),
            _stats(f"multivariate_normal.{name}", V),
        )
    ),
    *(
        row
        for name in ("cdf", "logcdf")
        for row in (
            _given(f"t.{name}", lambda f, x, m, s: f(x, 3.0, m, s), S, X, P),
            _given(f"gamma.{name}", lambda f, x, m, s: f(x, 3.0, m, s), P + 1, X, P),
            _given(f"beta.{name}", lambda f, x: f(x, 3.0, 2.5), X),
            _given(f"chi2.{name}", lambda f, x: f(x, 3.0), X),
        )
    ),
    _given("t.sf", lambda f, x: f(x, 3.0), S),
    _given("gamma.sf", lambda f, x: f(x, 2.0), P),
    *(
        _given(f"poisson.{name}", lambda f, mu: f(COUNTS, mu), P)
        for name in ("pmf", "logpmf", "cdf", "logcdf")
    ),
    Row(
        "multivariate_normal.entropy",
        lambda c: stats.multivariate_normal.entropy(V, symmetric(c)),
        lambda c: scipy.stats.multivariate_normal(V, symmetric(c)).entropy(),
        (C,),
    ),
]


def _linalg(name: str, call: Callable[..., Any], *arrays: Any) -> Row:
    mine, theirs = getattr(linalg, name), getattr(scipy.linalg, name)
    return Row(name, lambda *a: call(mine, *a), lambda *a: call(theirs, *a), arrays)


LINALG = [
    _linalg("sqrtm", lambda f, c: f(symmetric(c)), C),
    _linalg("expm", lambda f, a: f(a), A),
    _linalg("solve_sylvester", lambda f, a, b, q: f(a, b, q), C, A + 3 * np.eye(3), ROWS3[:3]),
    _linalg("cholesky", lambda f, c: f(symmetric(c)), C),
    _linalg("cholesky", lambda f, c: f(symmetric(c), lower=True), C),
    *(
        _linalg(
            "solve_triangular",
            lambda f, c, b, t=trans: f(c, b, trans=t, lower=True),
            C,
            ROWS3[:3],
        )
        for trans in (0, 1, "T")
    ),
    *(
        Row(
            "cho_solve",
            lambda c, b, at=lower: linalg.cho_solve(linalg.cho_factor(symmetric(c), at), b),
            lambda c, b, at=lower: scipy.linalg.cho_solve(
                scipy.linalg.cho_factor(symmetric(c), at), b
            ),
            arrays,
        )
        for lower, arrays in ((False, (C, V)), (True, (C, ROWS3[:3])))
    ),
    _linalg("solve", lambda f, c, b: f(c, b), C, V),
    _linalg("inv", lambda f, c: f(c), C),
    _linalg("pinv", lambda f, c: f(c), ROWS3),
    _linalg("det", lambda f, c: f(c), C),
    _linalg("lstsq", lambda f, a, b: f(a, b)[0], ROWS3, M[0]),
    _linalg("svdvals", lambda f, a: f(a), A),
    _linalg("svd", lambda f, a: f(a, full_matrices=False)[1], ROWS3),
    _linalg("qr", lambda f, a: f(a)[1], A),
    _linalg("eigh", lambda f, c: f(symmetric(c))[0], C),
    _linalg("block_diag", lambda f, a, b: f(a, b), C, ROWS3),
]


def _pendulum(y: Any, t: Any, a: Any, b: Any) -> Any:
    return fnp.array([y[1], -a * fnp.sin(y[0]) - b[0] * y[1] * t])


def _per_channel(a: Any, b: Any) -> Any:
    convolve = scipy.signal.convolve
    rows = [
        [sum(convolve(image[c], b[c, f], "valid") for c in range(3)) for f in range(4)]
        for image in a
    ]
    return np.array(rows)


_TIGHT = {"rtol": 1e-10, "atol": 1e-10}
OTHERS = [
    *(
        Row(
            "convolve",
            lambda a, b, m=mode: signal.convolve(a, b, mode=m),
            lambda a, b, m=mode: scipy.signal.convolve(a, b, m),
            arrays,
        )
        for mode in ("full", "valid", "same")
        for arrays in ((P, X[:3]), (X[:3], P), (RANDOM.normal(size=(5, 6)), M[:2, :3]))
    ),
    Row(
        "convolve",
        lambda a, b: signal.convolve(
            a, b, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid"
        ),
        _per_channel,
        (RANDOM.normal(size=(2, 3, 5, 5)), RANDOM.normal(size=(3, 4, 2, 3))),
    ),
    Row(
        "odeint",
        lambda y, t, a, b: integrate.odeint(_pendulum, y, t, (a, b), **_TIGHT),
        lambda y, t, a, b: scipy.integrate.odeint(_pendulum, y, t, (a, b), **_TIGHT),
        (np.array([1.0, 0.2]), np.array([0.0, 0.3, 0.9, 1.5]), np.array(2.0), np.array([0.3, 0.1])),
    ),
]

ROWS = [*SPECIAL, *STATS, *LINALG, *OTHERS]
