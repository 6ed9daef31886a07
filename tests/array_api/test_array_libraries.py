"""Libraries of the array API standard on tensors: scikit-learn, array_api_compat, array_api_extra,
opt_einsum, einops and xarray, each where it is installed.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.array_api as xp

A = np.random.default_rng(0).normal(size=(6, 4)) + 3


def run(program: str) -> None:
    """Runs a program in a process of its own, with SciPy's array API support."""
    path = os.pathsep.join([str(Path(fg.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


def slope(f: Callable[[Any], Any]) -> None:
    """Compares the gradient of a function's sum with a central difference along a direction."""
    x = fg.tensor(A, requires_grad=True)
    xp.sum(f(x)).backward()
    way, step = np.random.default_rng(1).normal(size=A.shape), 1e-6
    ends = [np.sum(np.asarray(f(A + s * way))) for s in (step, -step)]
    assert x.grad is not None
    assert float(np.sum(x.grad.numpy() * way)) == pytest.approx(
        (ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-6
    )


SCIKIT_LEARN = """
import numpy as np, sklearn, ferrograd as fg
from sklearn import decomposition, discriminant_analysis, linear_model, metrics
from sklearn import model_selection, naive_bayes, preprocessing
from sklearn.metrics import pairwise

sklearn.set_config(array_api_dispatch=True)
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
y = X @ [1.0, 2.0, 3.0, 4.0] + 0.1 * rng.normal(size=30)
classes = (y > 0).astype(int)
Xt, yt, ct = map(fg.tensor, (X, y, classes))

for made in (
    preprocessing.StandardScaler(), preprocessing.MinMaxScaler(), preprocessing.MaxAbsScaler(),
    preprocessing.Normalizer(), preprocessing.PolynomialFeatures(), preprocessing.Binarizer(),
    decomposition.PCA(2, svd_solver="full"),
):
    ours = sklearn.clone(made).fit_transform(Xt)
    assert isinstance(ours, fg.Tensor), made
    assert np.allclose(ours.numpy(), sklearn.clone(made).fit_transform(X)), made
for made, target, known in (
    (linear_model.Ridge(solver="svd"), yt, y),
    (linear_model.RidgeCV(), yt, y),
    (discriminant_analysis.LinearDiscriminantAnalysis(), ct, classes),
    (naive_bayes.GaussianNB(), ct, classes),
):
    ours = sklearn.clone(made).fit(Xt, target).predict(Xt)
    assert np.allclose(ours.numpy(), sklearn.clone(made).fit(X, known).predict(X)), made
assert metrics.r2_score(yt, yt * 1.1) == metrics.r2_score(y, y * 1.1)
assert metrics.accuracy_score(ct, 1 - ct) == 0
parts = model_selection.train_test_split(Xt, yt, random_state=0)
assert all(isinstance(part, fg.Tensor) for part in parts)

for f in (
    lambda v: pairwise.rbf_kernel(v, v[:5] + 1),
    lambda v: pairwise.polynomial_kernel(v, v[:5] + 1),
    lambda v: pairwise.euclidean_distances(v, v[:5] + 1),
    lambda v: preprocessing.MinMaxScaler().fit_transform(v) ** 2,
    lambda v: preprocessing.MaxAbsScaler().fit_transform(v) ** 2,
):
    x = fg.tensor(X, requires_grad=True)
    f(x).sum().backward()
    way = rng.normal(size=X.shape)
    near = [f(X + s * way).sum() for s in (1e-6, -1e-6)]
    assert np.isclose((near[0] - near[1]) / 2e-6, np.sum(x.grad.numpy() * way))
"""


def test_scikit_learn_computes_with_tensors() -> None:
    pytest.importorskip("sklearn")
    run(SCIKIT_LEARN)


def test_array_api_compat_knows_tensors() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = fg.tensor(A)
    assert compat.array_namespace(x, x) is xp
    assert compat.is_array_api_obj(x)
    assert compat.device(x) == "cpu"
    assert compat.to_device(x, "cpu") is x
    assert compat.size(x) == 24


def test_array_api_extra_has_derivatives() -> None:
    xpx = pytest.importorskip("array_api_extra")

    for f in (
        lambda a: xpx.cov(a) ** 2,
        lambda a: xpx.kron(a, a),
        lambda a: xpx.pad(a, 1, constant_values=2.0) ** 2,
        lambda a: xpx.sinc(a),
        lambda a: xpx.at(a * 1)[0].add(2.0, copy=True) ** 2,
        lambda a: xpx.apply_where(a > 3, a, lambda v: 1 / v, fill_value=0),
        lambda a: xpx.create_diagonal(a[0]) ** 2,
    ):
        slope(f)


def test_opt_einsum_contracts_tensors() -> None:
    contract = pytest.importorskip("opt_einsum").contract
    slope(lambda a: contract("ij,kj,kl->il", a, a, a, optimize="optimal"))


EINOPS = """
import numpy as np
{first}
{second}
import sys, einops, ferrograd as fg
assert not any(type(f).__name__ == "_EinopsFinder" for f in sys.meta_path)
backends = sys.modules["einops._backends"]
assert type(backends.__loader__).__name__ == type(backends.__spec__.loader).__name__
assert type(backends.__loader__).__name__ == "SourceFileLoader"
a = np.arange(24.0).reshape(2, 3, 4)
x = fg.tensor(a, requires_grad=True)
for f in (
    lambda v: einops.rearrange(v, "a b c -> c (a b)"),
    lambda v: einops.repeat(v, "a b c -> a (b r) c q", r=2, q=3),
    lambda v: einops.einsum(v, v, "a b c, a d c -> a b d"),
    lambda v: einops.pack([v, v], "a b *")[0],
    lambda v: einops.unpack(v, [[2], [2]], "a b *")[1],
    lambda v: einops.rearrange([v, v], "n a b c -> a n b c"),
    *(lambda v, how=how: einops.reduce(v, "a b c -> b", how)
      for how in ("min", "max", "sum", "mean", "prod")),
):
    made = f(x)
    assert isinstance(made, fg.Tensor) and made.requires_grad
    assert np.array_equal(made.detach().numpy(), f(a))
einops.reduce(x * x, "a b c -> ", "sum").backward()
assert np.array_equal(x.grad.numpy(), 2 * a)
assert np.array_equal(einops.asnumpy(x), a)
"""


@pytest.mark.parametrize(
    "order", [("import einops", "import ferrograd"), ("import ferrograd", "import einops")]
)
def test_einops_takes_tensors_whichever_is_imported_first(order: tuple[str, str]) -> None:
    pytest.importorskip("einops")
    run(EINOPS.format(first=order[0], second=order[1]))


def test_a_module_named_like_that_of_einops_is_left_alone(tmp_path: Path) -> None:
    package = tmp_path / "einops"
    package.mkdir()
    (package / "__init__.py").write_text("from einops import _backends\n")
    (package / "_backends.py").write_text("value = 1\n")
    run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import ferrograd, einops\n"
        "assert einops._backends.value == 1\n"
        "assert einops._backends.__file__.startswith(sys.path[0])\n"
    )


def test_einops_may_be_missing() -> None:
    run(
        "import sys, ferrograd\n"
        "sys.path_importer_cache.clear()\n"
        "try: import einops._backends_that_nobody_has\n"
        "except ImportError: pass\n"
        "finder = [f for f in sys.meta_path if type(f).__name__ == '_EinopsFinder']\n"
        "assert not finder or finder[0].find_spec('json') is None\n"
    )


def labelled(a: Any) -> Any:
    import xarray as xr

    return xr.DataArray(a, dims=("t", "x"), coords={"t": np.arange(6.0) ** 1.5, "x": list("abcd")})


def grouped(d: Any) -> Any:
    return d.assign_coords(g=("t", list("uvuvuw"))).groupby("g")


XARRAY: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda d, name=name: getattr(d, name)("t")
        for name in (
            *("sum", "mean", "max", "min", "std", "var", "prod", "median", "count", "any", "all"),
            *("argmax", "argmin", "cumsum", "cumprod"),
        )
    },
    "everything": lambda d: d.sum(),
    "with NaN": lambda d: d.sum("t", skipna=False),
    "ddof": lambda d: d.std("t", ddof=1),
    "quantile": lambda d: d.quantile(0.3, "t"),
    "add": lambda d: 1 + d + 1,
    "subtract": lambda d: 2 - d,
    "multiply": lambda d: d * d,
    "divide": lambda d: 1 / d,
    "power": lambda d: d**2,
    "broadcast": lambda d: d * d.isel(x=0),
    "ufunc": lambda d: np.sin(d),
    "compare": lambda d: d > 3,
    "where": lambda d: d.where(d > 3).fillna(0),
    "clip": lambda d: d.clip(2, 4),
    "group means": lambda d: grouped(d).mean(),
    "group sums": lambda d: grouped(d).sum(),
    "anomalies": lambda d: grouped(d) - grouped(d).mean(),
    "group map": lambda d: grouped(d).map(lambda s: s / s.max()),
    "bins": lambda d: d.groupby_bins("t", [-1, 3, 20]).mean(),
    "coarsen": lambda d: d.coarsen(t=2).mean(),
    "coarse maximum": lambda d: d.coarsen(t=2).max(),
    "rolling": lambda d: d.rolling(t=3).mean().fillna(0),
    "differentiate": lambda d: d.differentiate("t"),
    "integrate": lambda d: d.integrate("t"),
    "cumulative integral": lambda d: d.cumulative_integrate("t"),
    "diff": lambda d: d.diff("t"),
    "shift": lambda d: d.shift(t=1).fillna(0),
    "roll": lambda d: d.roll(t=1),
    "select": lambda d: d.sel(x=["b", "c"]).isel(t=[0, 2]),
    "transpose": lambda d: d.transpose("x", "t"),
    "stack": lambda d: d.stack(z=("t", "x")),
    "dot": lambda d: d.dot(d),
    "weighted": lambda d: d.weighted(d.isel(x=0, drop=True)).mean("t"),
    "pad": lambda d: d.pad(t=1, constant_values=0.0),
}


@pytest.mark.parametrize("name", XARRAY)
def test_xarray_computes_with_tensors_inside(name: str) -> None:
    pytest.importorskip("xarray")

    def f(a: Any) -> Any:
        found = XARRAY[name](labelled(a)).data
        assert isinstance(found, type(a))
        return found

    x = fg.tensor(A, requires_grad=True)
    found = f(x)
    assert np.allclose(found.detach().numpy(), f(A), equal_nan=True)
    if found.requires_grad:
        slope(f)
    else:
        assert found.dtype.kind in "ib"
