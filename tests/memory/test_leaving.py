"""A library's function that makes an array of a tensor that requires grad: the error names it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial
import scipy.stats
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

import ferrograd as fg
import ferrograd.numpy
import ferrograd.scipy.linalg
import ferrograd.scipy.sparse.linalg
from ferrograd._dispatch import array_refusal

A = np.array([[2.0, 0.5], [0.5, 1.0]])
V = np.array([1.0, 2.0])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "scipy.linalg.cho_solve": lambda a, v: scipy.linalg.cho_solve((a, True), v),
    "scipy.linalg.cholesky": lambda a, v: scipy.linalg.cholesky(a),
    "scipy.linalg.solve": lambda a, v: scipy.linalg.solve(a, v),
    "scipy.linalg.expm": lambda a, v: scipy.linalg.expm(a),
    "scipy.linalg.lu_factor": lambda a, v: scipy.linalg.lu_factor(a),
    "scipy.linalg.ldl": lambda a, v: scipy.linalg.ldl(a),
    "scipy.signal.lfilter": lambda a, v: scipy.signal.lfilter([1.0], [1.0, 0.5], v),
    "scipy.signal.fftconvolve": lambda a, v: scipy.signal.fftconvolve(v, v),
    "scipy.interpolate.interp1d": lambda a, v: scipy.interpolate.interp1d([0.0, 1.0], v),
    "scipy.stats.norm.pdf": lambda a, v: scipy.stats.norm.pdf(v),
    "scipy.stats.laplace.logpdf": lambda a, v: scipy.stats.laplace.logpdf(v),
    "scipy.stats.binom.pmf": lambda a, v: scipy.stats.binom.pmf(1, 4, v / 4),
    "scipy.stats.binom.ppf": lambda a, v: scipy.stats.binom.ppf(0.5, 4, v / 4),
    "scipy.optimize.minimize": lambda a, v: scipy.optimize.minimize(np.sum, v),
    "scipy.linalg.subspace_angles": lambda a, v: scipy.linalg.subspace_angles(a, a),
    "scipy.linalg.funm": lambda a, v: fg.scipy.linalg.funm(a, np.cos),
    "numpy.ma.MaskedArray.__mul__": lambda a, v: np.ma.array([1.0, 2.0], mask=[0, 1]) * v,
}
OURS = {
    "scipy.linalg.cho_solve",
    "scipy.linalg.cholesky",
    "scipy.linalg.solve",
    "scipy.linalg.expm",
    "scipy.linalg.ldl",
    "scipy.linalg.lu_factor",
    "scipy.signal.fftconvolve",
    "scipy.signal.lfilter",
    "scipy.interpolate.interp1d",
    "scipy.optimize.minimize",
    "scipy.stats.norm.pdf",
    "scipy.stats.laplace.logpdf",
    "scipy.stats.binom.pmf",
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_function_and_ours(name: str) -> None:
    a, v = fg.tensor(A, requires_grad=True), fg.tensor(V, requires_grad=True)
    with pytest.raises(fg.errors.GraphCutError) as caught:
        CALLS[name](a, v)
    message = str(caught.value)
    assert message.startswith(f"{name}: the result would silently leave the graph"), message
    assert (f"use ferrograd.{name}," in message) == (name in OURS), message
    missing = name.startswith("scipy.") and name not in OURS
    assert ("ferrograd has no derivative of it: write it" in message) == missing, message
    assert not missing or "ferrograd.scipy" not in message, message
    CALLS[name](a.detach(), v.detach()) if "minimize" not in name else None


def by_the_page() -> dict[str, set[str]]:
    """The functions that docs/scipy.md calls right, with gradients, by module."""
    found: dict[str, set[str]] = {}
    home = ""
    for line in (Path(__file__).parents[2] / "docs" / "scipy.md").read_text().splitlines():
        if line.startswith("## "):
            home = line[3:]
        elif (row := line.split("|"))[2:4] == [" yes "] * 2:
            found.setdefault(home, set()).add(row[1].strip(" `"))
    return found


def test_the_switch_of_scipy_is_named_for_what_needs_it() -> None:
    page = by_the_page()
    for home, names in array_refusal._ARRAY_API_FUNCTIONS.items():
        ours = {name for name in page[home] if array_refusal._find_counterpart(home, name)}
        assert set(names.split()) == page[home] - ours
    for call in (scipy.stats.zscore, scipy.stats.skew, scipy.stats.gmean):
        with pytest.raises(fg.errors.GraphCutError, match=r"; set SCIPY_ARRAY_API=1 .* for all"):
            call(fg.tensor(V, requires_grad=True))


ARGUMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda m, x: m.sum(V, initial=x),
    "max": lambda m, x: m.max(V, initial=x + 3),
    "prod": lambda m, x: m.prod(V, initial=x),
    "interp": lambda m, x: m.interp(np.array([-1.0, 0.5, 9.0]), V, A[0], left=x, right=x**2),
    "pad": lambda m, x: m.pad(V, 1, constant_values=(x, 2.0)),
    "select": lambda m, x: m.select([V > 1], [V], default=x),
    "piecewise": lambda m, x: m.piecewise(V, [V > 1], [3.0, x]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_function_that_an_error_names_takes_the_argument(name: str) -> None:
    call, x = ARGUMENTS[name], fg.tensor(0.7, requires_grad=True)
    found = call(fg.numpy, x)
    np.testing.assert_allclose(found.detach(), call(np, 0.7))
    fg.gradcheck(lambda x: call(fg.numpy, x), (x,))
    assert isinstance(call(fg.numpy, 0.7), np.ndarray | np.generic)


@pytest.mark.parametrize("module", [np, fg.numpy])
def test_no_error_names_the_function_that_was_called(module: Any) -> None:
    def call(x: Any) -> Any:
        return module.kaiser(5, x).sum()

    with pytest.raises(fg.errors.GraphCutError, match=r"no derivative by this argument: write"):
        fg.grad(call)(0.5)


def test_a_compiled_function_is_known_by_the_line_that_called_it() -> None:
    with pytest.raises(fg.errors.GraphCutError, match=r"^numpy\.array: .* use fg\.stack"):
        np.array(fg.tensor(V, requires_grad=True))


def test_without_a_call_it_is_the_protocol() -> None:
    with pytest.raises(fg.errors.GraphCutError, match=r"^__array__: .* use fg\.stack"):
        list(map(np.asarray, [fg.tensor(V, requires_grad=True)]))


class Holder:
    """An array that is an attribute."""

    def __init__(self) -> None:
        self.a = A

    def product(self, v: Any) -> Any:
        return self.a.dot(v)


RNG = np.random.default_rng(0)

#: What a line calls, the name in the error, and what it says to write.
WRITTEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "numpy.ndarray.dot": (lambda v: A.dot(v), "write A @ t"),
    "numpy.ndarray.dot of a view": (lambda v: A.T.dot(v), "write A @ t"),
    "numpy.ndarray.dot of an attribute": (lambda v: Holder().product(v), "write A @ t"),
    "numpy.ndarray.dot of a result": (lambda v: (A @ A).dot(v), "write A @ t"),
    "numpy.ndarray.dot on the way": (lambda v: sum([1, A.dot(v)]), "write A @ t"),
    "numpy.ndarray.searchsorted": (lambda v: V.searchsorted(v), "write np.searchsorted(A, …)"),
    "numpy.random.Generator.normal": (lambda v: RNG.normal(v, 1.0), "rng.normal(size=shape)"),
    "numpy.random.Generator.gamma": (lambda v: RNG.gamma(v), "ferrograd.scipy.stats"),
    "numpy.random.permutation": (lambda v: np.random.permutation(v), "t[np.random.permutation("),
    "numpy.arange": (lambda v: np.arange(0, v[0], 0.1), "start + step * np.arange(count)"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_to_write_for_a_compiled_function(name: str) -> None:
    call, instead = WRITTEN[name]
    with pytest.raises(fg.errors.GraphCutError) as caught:
        call(fg.tensor(V, requires_grad=True))
    message = str(caught.value)
    assert message.startswith(f"{name.split()[0]}: the result would silently leave the graph")
    assert instead in message, message


ROWS = np.zeros((2, 1))

#: What is called or computed, as the error names it.
NAMED: dict[str, Callable[[Any], Any]] = {
    "[v, v] - V": lambda v: [v, v] - V,
    "V * [v, v]": lambda v: V * [v, v],
    "scipy.spatial.cKDTree": lambda v: cKDTree(v.reshape(2, 1)),
    "scipy.spatial.KDTree": lambda v: scipy.spatial.KDTree(v.reshape(2, 1)),
    "cKDTree(ROWS).query": lambda v: cKDTree(ROWS).query(v.reshape(2, 1)),
    "scipy.spatial.ConvexHull": lambda v: scipy.spatial.ConvexHull(v.reshape(2, 1)),
    "scipy.spatial.transform.Rotation.from_rotvec": lambda v: Rotation.from_rotvec(
        fg.stack([v[0]] * 3)
    ),
    "scipy.spatial.transform.Rotation.from_euler": lambda v: Rotation.from_euler("xy", v),
    "scipy.signal.cont2discrete": lambda v: scipy.signal.cont2discrete(([1.0], [v[0], 1.0]), 0.1),
    "scipy.optimize.linear_sum_assignment": lambda v: scipy.optimize.linear_sum_assignment(
        v.reshape(2, 1)
    ),
}


#: Lines without a source, and how their errors begin.
UNSEEN = {
    "np.arange(0, v[0], 0.1)": "",
    "A.dot(v)": "",
    "np.random.default_rng(0).normal(v, 1.0)": "",
    "list(map(np.asarray, [v]))": "__array__: ",
    "np.kaiser(5, v)": "numpy.kaiser: ",
    "cKDTree(v.reshape(2, 1))": "",
    "import matplotlib.pyplot as plt; plt.plot(v)": "",
}


@pytest.mark.parametrize("line", UNSEEN)
def test_without_a_source_the_error_still_says_what_to_do(line: str) -> None:
    if "matplotlib" in line:
        pytest.importorskip("matplotlib")
    names = {"np": np, "A": A, "cKDTree": cKDTree, "v": fg.tensor(V, requires_grad=True)}
    for file in ("<string>", "/nowhere/at/all.py"):
        with pytest.raises(fg.errors.GraphCutError) as caught:
            exec(compile(line, file, "exec"), names)
        message = str(caught.value)
        assert message.startswith(UNSEEN[line]), message
        assert "detach()" in message or "write" in message, message


def test_a_program_on_the_command_line_gets_the_error() -> None:
    program = (
        "import numpy as np, ferrograd as fg\n"
        "np.ones((2, 2)).dot(fg.tensor([1.0, 2.0], requires_grad=True))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert "GraphCutError: " in last, ended.stderr
    assert "detach()" in last, last


@pytest.mark.parametrize("name", NAMED)
def test_the_error_names_what_the_line_calls(name: str) -> None:
    with pytest.raises(fg.errors.GraphCutError) as caught:
        NAMED[name](fg.tensor(V, requires_grad=True))
    message = str(caught.value)
    assert message.startswith(f"{name}: the result would silently leave the graph"), message
    missing = name.startswith("scipy.")
    assert ("ferrograd has no derivative of it: write it" in message) == missing, message


def test_a_mask_beside_out_says_where() -> None:
    x, out = fg.tensor(V, requires_grad=True), np.zeros(2)
    with pytest.raises(
        fg.errors.GraphCutError, match=r"write np\.where\(mask, np\.divide\(…\), a\)"
    ):
        np.divide(1, x, out=out, where=V > 1)


@pytest.mark.parametrize("name", ["eigsh", "eigs", "svds"])
@pytest.mark.parametrize("home", [scipy.sparse.linalg, fg.scipy.sparse.linalg])
def test_what_wants_a_linear_operator_has_no_derivative(name: str, home: Any) -> None:
    x = fg.tensor(np.eye(4), requires_grad=True)
    with pytest.raises(
        fg.errors.NotDifferentiableError, match=rf"^scipy\.sparse\.linalg\.{name}: "
    ):
        getattr(home, name)(x, k=1)
    with pytest.raises(fg.errors.ArgumentTypeError, match=r"pass the array t\.numpy\(\)"):
        getattr(home, name)(x.detach(), k=1)
    assert not hasattr(x, "matvec")


def test_a_picture_is_drawn_of_a_detached_tensor() -> None:
    plots = pytest.importorskip("matplotlib.pyplot")
    with pytest.raises(
        fg.errors.GraphCutError, match=r"^matplotlib\.pyplot\.plot: .* draw t\.detach"
    ):
        plots.plot(fg.tensor(V, requires_grad=True))


def test_an_iterator_of_numpy_says_what_to_iterate_over() -> None:
    x = fg.tensor(V, requires_grad=True)
    with pytest.raises(fg.errors.NotDifferentiableError, match=r"^numpy\.nditer: .*t\.reshape"):
        np.nditer(x)
    assert [float(v) for v in np.nditer(x.detach())] == V.tolist()


@pytest.mark.parametrize("kind", ["Polynomial", "Chebyshev", "Legendre", "Hermite", "Laguerre"])
@pytest.mark.parametrize("window", [{}, {"domain": [0.0, 4.0], "window": [-1.0, 1.0]}])
def test_polynomials_take_tensors(kind: str, window: Any) -> None:
    p = getattr(np.polynomial, kind)([1.0, 2.0, 3.0, -0.5], **window)
    x = fg.tensor(V, requires_grad=True)
    found = p(x)
    assert isinstance(found, fg.Tensor)
    np.testing.assert_allclose(found.detach().numpy(), p(V))
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(p(x)))(V), p.deriv()(V))
    np.testing.assert_allclose(fg.grad(lambda x: p(x))(0.5), p.deriv()(0.5))
    second = fg.hessian(lambda x: np.sum(p(x)))(V)
    np.testing.assert_allclose(np.diag(second), p.deriv(2)(V))


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "scipy.signal.butter": lambda w: scipy.signal.butter(2, w),
    "scipy.signal.bessel": lambda w: scipy.signal.bessel(2, w),
    "scipy.signal.lp2lp_zpk": lambda w: scipy.signal.lp2lp_zpk([], [-1.0], 1.0, w),
    "scipy.signal.ellipap": lambda w: scipy.signal.ellipap(3, w, 20.0),
    "scipy.signal.iirnotch": lambda w: scipy.signal.iirnotch(w, 30.0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_library_that_asks_for_a_number_is_refused(name: str) -> None:
    w = fg.tensor(0.3, requires_grad=True)
    with pytest.raises(fg.errors.GraphCutError) as caught:
        NUMBERS[name](w)
    message = str(caught.value)
    assert message.startswith(f"{name}: "), message
    assert "detach()" in message
    assert ("use ferrograd.scipy.signal" in message) == (name[-6:] in ("butter", "bessel"))
    with fg.no_grad():
        NUMBERS[name](w)
    NUMBERS[name](w.detach())


def test_a_program_that_asks_for_a_number_is_warned() -> None:
    w = fg.tensor(0.3, requires_grad=True)
    with pytest.warns(fg.errors.GraphCutWarning, match="leaves the graph"):
        assert float(w) == 0.3


@pytest.mark.parametrize(
    ("call", "ours"),
    [
        (lambda x: np.vectorize(lambda a: a * 2)(x), "numpy.vectorize"),
        (
            lambda x: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0, 4.0])(x),
            "scipy.interpolate.CubicSpline",
        ),
    ],
)
def test_objects_that_are_called_name_our_class(call: Any, ours: str) -> None:
    with pytest.raises(fg.errors.GraphCutError, match=rf"use ferrograd\.{ours}, or"):
        call(fg.tensor([0.5, 1.5], requires_grad=True))
