"""SciPy's own functions on tensors, with its array API support switched on."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.array_api as xp

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    home = str(Path(fg.__file__).parent.parent)
    path = os.pathsep.join([home, str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env, cwd=ROOT
    )


def test_the_page_of_scipy_functions_holds() -> None:
    done = run("tools/scientific/scipy_table.py", "--check")
    assert (done.returncode, done.stdout) == (0, "the page holds\n"), done.stdout + done.stderr


def test_the_page_of_scikit_learn_holds() -> None:
    pytest.importorskip("sklearn")
    done = run("-W", "ignore", "tools/scientific/sklearn_table.py", "--check")
    assert (done.returncode, done.stdout) == (0, "the page holds\n"), done.stdout + done.stderr


PROGRAM = """
import numpy as np
import ferrograd as fg
from scipy import special, stats, optimize

x = fg.tensor([0.3, 0.7], requires_grad=True)
y = special.gammaincinv(fg.tensor([[2.0], [3.0]]), x)
y.sum().backward()
assert y.shape == (2, 2) and np.all(x.grad.numpy() > 0)
assert special.huber(0.5, x).requires_grad
w = fg.tensor([0.2, 1.1, 2.0, 0.4], requires_grad=True)
fg.check_grads(lambda w: stats.skew(w) + stats.gmean(abs(w) + 1), "rev", 2)(w.detach().numpy())
assert optimize.rosen(w).requires_grad
try:
    special.ellipj(x, 0.5)
except NotImplementedError as error:
    assert "requires grad" in str(error)
assert isinstance(special.gamma(np.ones(2)), np.ndarray)
print("done")
"""


RBF = """
import numpy as np
import ferrograd as fg
from scipy.interpolate import RBFInterpolator

rng = np.random.default_rng(0)
y, q = rng.random((20, 2)), rng.random((5, 2))
for d in (rng.random(20), rng.random(20) + 1j * rng.random(20), rng.random((20, 3))):
    x = fg.tensor(d, requires_grad=True)
    found = RBFInterpolator(fg.tensor(y), x)(fg.tensor(q))
    np.testing.assert_allclose(found.detach().numpy(), RBFInterpolator(y, d)(q), rtol=1e-10)
    at = rng.standard_normal(found.shape)
    (found.real * at).sum().backward()
    step = 1e-3 * rng.standard_normal(d.shape)
    rise = (RBFInterpolator(y, d + step)(q) - RBFInterpolator(y, d)(q)).real * at
    np.testing.assert_allclose((x.grad.numpy().real * step).sum(), rise.sum(), rtol=1e-8)
"""


def test_radial_basis_functions_of_real_and_complex_values_have_derivatives() -> None:
    done = run("-c", RBF)
    assert done.returncode == 0, done.stderr


def test_special_functions_and_statistics_have_derivatives() -> None:
    done = run("-c", PROGRAM)
    assert done.stdout == "done\n", done.stdout + done.stderr


@pytest.mark.parametrize("name", ["gamma", "huber", "fdtrc", "betaincinv", "xlogy", "nbdtri"])
def test_special_functions_of_the_namespace(name: str) -> None:
    function = getattr(xp.special, name)
    assert (function.__doc__ or "").strip()
    assert name in dir(xp.special)


def test_distributions_have_derivatives_by_every_parameter() -> None:
    n, d = fg.tensor([[3.0], [5.0]], requires_grad=True), fg.tensor(4.0, requires_grad=True)
    p = fg.tensor([0.2, 0.5, 0.9], requires_grad=True)
    x = xp.special.fdtri(n, d, p)
    back = xp.special.fdtr(n, d, x)
    assert np.allclose(back.detach().numpy(), np.broadcast_to([0.2, 0.5, 0.9], (2, 3)))
    back.sum().backward()
    assert n.grad is not None
    assert d.grad is not None
    assert p.grad is not None
    assert np.allclose(n.grad.numpy(), 0, atol=1e-9)
    assert np.allclose(d.grad.numpy(), 0, atol=1e-9)
    assert np.allclose(p.grad.numpy(), 2)
    k = fg.tensor(2.7, requires_grad=True)
    xp.special.pdtr(k, p.detach()).sum().backward()
    assert k.grad is not None
    assert k.grad.item() == 0


def test_second_derivatives_of_special_functions() -> None:
    for function in (xp.special.exprel, xp.special.erfcx, xp.special.cosm1, xp.special.spence):
        fg.check_grads(function, "rev", 2)(0.7)
    fg.check_grads(xp.special.fdtr, "rev", 2)(3.0, 4.0, 0.7)
    fg.check_grads(xp.special.gammaincinv, "rev", 2)(2.0, 0.4)
    fg.check_grads(lambda p: xp.special.boxcox(1.7, p), "rev", 2)(0.4)
    fg.check_grads(lambda p: xp.special.inv_boxcox(1.7, p), "rev", 2)(0.4)
    for name in ("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p"):
        power = fg.tensor([0.0, 1e-6], requires_grad=True)
        getattr(xp.special, name)(fg.tensor(0.8), power).sum().backward()
        assert power.grad is not None
        at_zero, near = power.grad.tolist()
        assert at_zero == pytest.approx(near, rel=1e-3), name
