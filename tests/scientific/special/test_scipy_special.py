"""Further functions of `ferrograd.scipy.special` beside SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.special as theirs
from numpy.testing import assert_allclose

import ferrograd as fg
from ferrograd.scipy import special as ours
from scipy_support import agree

RANDOM = np.random.default_rng(41)
X = RANDOM.uniform(0.2, 0.9, size=4)
P = RANDOM.uniform(0.6, 4.0, size=4)
S = RANDOM.normal(size=4)

#: Name, constant arguments before the variables, and the variables.
CASES: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    *((name, (), (P,)) for name in ("exp1", "expi", "dawsn", "erfi", "k0", "k1", "k0e", "k1e")),
    *((name, (), (S,)) for name in ("dawsn", "erfi")),
    *((name, (), (X,)) for name in ("ellipk", "ellipe", "ellipkm1")),
    *((name, (), (-P,)) for name in ("ellipk", "ellipe", "expi")),
    *((name, (), (P, P[::-1])) for name in ("kl_div", "rel_entr")),
    *((name, (), (X, P / 5)) for name in ("ellipkinc", "ellipeinc")),
    *((name, (1.7,), (P,)) for name in ("jv", "iv", "kv", "yv", "ive", "kve", "jve", "yve")),
    *((name, (-0.3,), (P,)) for name in ("jv", "iv", "kv", "yv")),
    *((name, (np.array([0, 1, 2, 5]),), (P,)) for name in ("kn", "spherical_jn", "spherical_yn")),
    *((name, (2,), (P,)) for name in ("spherical_in", "spherical_kn")),
    ("spherical_jn", (np.array([0, 3]), X[0], True), ()),
    ("hyp2f1", (0.3, 1.4, 2.2), (np.concatenate([X, -P]),)),
    ("hyp0f1", (1.5,), (S,)),
    ("hyperu", (0.7, 1.2), (P,)),
    ("zeta", (2.5,), (P,)),
    ("gammainc", (), (P, P[::-1])),
    ("gammaincc", (), (P, P[::-1])),
    ("betainc", (), (P, P[::-1], X)),
    ("stdtr", (), (P, S)),
    ("stdtrit", (), (P, X)),
    ("betaincc", (), (P, P[::-1], X)),
    *((name, (), (P, P[::-1])) for name in ("chdtr", "chdtrc")),
    *((f"eval_{name}", (np.array([0, 1, 2, 5]),), (S,)) for name in ("legendre", "chebyt")),
    *((f"eval_{name}", (np.array([0, 1, 2, 5]),), (S,)) for name in ("chebyu", "hermite")),
    *((f"eval_{name}", (np.array([0, 1, 2, 5]),), (S,)) for name in ("hermitenorm", "laguerre")),
    *((f"eval_{name}", (3, 1.5), (S,)) for name in ("gegenbauer", "genlaguerre")),
    ("eval_jacobi", (3, 0.5, 1.5), (S,)),
    *((name, (), (P,)) for name in ("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")),
    *((name, (1.3,), (P,)) for name in ("struve", "modstruve")),
    *((name, (), (P, S)) for name in ("powm1", "owens_t")),
    ("voigt_profile", (), (S, P, P[::-1])),
    ("wrightomega", (), (S,)),
]


@pytest.mark.parametrize(
    ("name", "rest"),
    [("lambertw", ()), ("lambertw", (-1,)), ("lambertw", (2,)), ("wofz", ()), ("wrightomega", ())],
)
def test_functions_with_complex_results(name: str, rest: tuple[int, ...]) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    for z in (S + 1j * P, S + 0.5):
        if name == "wrightomega" and not np.iscomplexobj(z):
            continue
        t = fg.tensor(z, requires_grad=True)
        assert_allclose(mine(t, *rest).detach().numpy(), other(z, *rest), rtol=1e-13)
        fg.gradcheck(lambda t: mine(t, *rest), [t])
        fg.gradgradcheck(lambda t: mine(t, *rest), [t], rtol=1e-3, atol=1e-4)
    assert_allclose(mine(S + 1j, *rest), other(S + 1j, *rest))


@pytest.mark.parametrize("name", ["hankel1", "hankel2"])
def test_hankel_functions(name: str) -> None:
    mine = getattr(ours, name)
    for z in (P, P + 0.5j):
        t = fg.tensor(z, requires_grad=True)
        fg.gradcheck(lambda t: mine(1.3, t), [t])
        fg.gradgradcheck(lambda t: mine(1.3, t), [t], rtol=1e-3, atol=1e-4)
    with pytest.raises(fg.errors.NotDifferentiableError):
        mine(fg.tensor(1.3, requires_grad=True), 2.0).real.backward()


@pytest.mark.parametrize(("name", "first", "arrays"), CASES, ids=lambda v: str(v)[:20])
def test_functions(name: str, first: Any, arrays: Any) -> None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    if not arrays:
        assert_allclose(mine(*first), other(*first))
        return
    agree(
        lambda *a: mine(*first, *a), lambda *a: other(*first, *a), *arrays, singles=False, rtol=2e-9
    )


@pytest.mark.parametrize("name", ["sici", "shichi", "fresnel", "airy"])
def test_functions_of_several_values(name: str) -> None:
    for k in range(len(getattr(theirs, name)(P))):
        agree(
            lambda x, k=k: getattr(ours, name)(x)[k],
            lambda x, k=k: getattr(theirs, name)(x)[k],
            P,
            singles=False,
        )
    zero = fg.tensor(0.0, requires_grad=True)
    slope = fg.autograd.grad(getattr(ours, name)(zero)[0], zero, create_graph=True)[0]
    fg.autograd.grad(slope, zero)


def test_third_derivatives() -> None:
    for f, x in ((ours.ellipk, 0.0), (ours.exp1, 1.2), (lambda x: ours.jv(0.5, x), 1.3)):
        third = fg.grad(fg.grad(fg.grad(f)))(x)
        step = 1e-4
        second = fg.grad(fg.grad(f))
        assert third == pytest.approx((second(x + step) - second(x - step)) / (2 * step), rel=1e-5)
    assert fg.grad(ours.ellipk)(0.0) == pytest.approx(np.pi / 8)


@pytest.mark.parametrize("name", ["jv", "sici", "ellipk", "exp1", "kl_div"])
def test_ufuncs_of_scipy_on_tensors(name: str) -> None:
    x = fg.tensor(X, requires_grad=True)
    args = {"jv": (0.5, x), "kl_div": (x, P)}.get(name, (x,))
    found = getattr(theirs, name)(*args)
    found = found[0] if isinstance(found, tuple) else found
    assert isinstance(found, fg.Tensor)
    assert found.requires_grad


def test_entropies_at_the_border() -> None:
    x, y = np.array([0.0, 0.0, 1.0, -1.0, 2.0, np.nan]), np.array([0.0, 2.0, 0.0, 1.0, -1.0, 1.0])
    for name in ("rel_entr", "kl_div"):
        assert_allclose(getattr(ours, name)(x, y), getattr(theirs, name)(x, y))
    slope = fg.grad(lambda y: ours.kl_div(np.zeros(2), y).sum())(np.ones(2))
    assert_allclose(slope, 1.0)


SHAPES = np.array([0.05, 0.4, 1.0, 3.0, 40.0, 700.0])
PARTS = np.array([0.02, 0.5, 0.95, 1.0, 1.05, 2.0, 8.0])


def test_derivatives_by_the_shape_of_gamma_over_its_range() -> None:
    """By the step `P(a + 1, x) = P(a, x) - x**a exp(-x) / Γ(a + 1)`, differentiated."""
    a, x = (v.ravel() for v in np.meshgrid(SHAPES, PARTS))
    x = a * x
    slope = fg.grad(lambda a: ours.gammainc(a, x).sum())
    step = np.exp(a * np.log(x) - x - theirs.gammaln(a + 1)) * (np.log(x) - theirs.psi(a + 1))
    assert_allclose(slope(a + 1), slope(a) - step, rtol=1e-8, atol=1e-10)


def test_derivatives_by_the_shapes_of_beta_over_their_range() -> None:
    """By the step `I(a + 1, b) = I(a, b) - x**a (1 - x)**b / (a B(a, b))`, differentiated."""
    a, b, x = (v.ravel() for v in np.meshgrid(SHAPES[:5], SHAPES[:5], [1e-3, 0.2, 0.5, 0.9]))
    slopes = fg.grad(lambda a, b: ours.betainc(a, b, x).sum(), argnums=(0, 1))
    (up_a, up_b), (at_a, at_b) = slopes(a + 1, b), slopes(a, b)
    logs, rest = np.log(x), np.log1p(-x)
    step = np.exp(a * logs + b * rest - theirs.betaln(a, b)) / a
    both = theirs.psi(a + b)
    by_a = step * (logs - theirs.psi(a) + both - 1 / a)
    assert_allclose(up_a, at_a - by_a, rtol=1e-8, atol=1e-10)
    assert_allclose(up_b, at_b - step * (rest - theirs.psi(b) + both), rtol=1e-8, atol=1e-10)


def test_shapes_at_the_ends_of_the_support() -> None:
    for slope in (
        fg.grad(lambda a: ours.gammainc(a, np.array([0.0, np.inf])).sum())(2.0),
        fg.grad(lambda a: ours.betainc(a, 2.0, np.array([0.0, 1.0])).sum())(2.0),
        fg.grad(lambda d: ours.stdtr(d, 0.0))(3.0),
    ):
        assert slope == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda v: ours.spherical_jn(v, 1.0),
        lambda v: ours.expn(v, 1.0),
        lambda v: ours.lpmv(1.0, v, 0.3),
        lambda v: ours.eval_jacobi(2, v, 1.0, 0.3),
    ],
)
def test_orders_are_constant(call: Any) -> None:
    with pytest.raises(NotImplementedError, match="has no rule"):
        fg.grad(call)(1.5)


def test_poles_edges_and_lists() -> None:
    for z, slope in ((0.0, 1.0), (-1.0, -1.0), (-2.0, 2.0), (-3.0, -6.0)):
        assert fg.grad(ours.rgamma)(z) == pytest.approx(slope)
    assert fg.grad(ours.rgamma)(-1.5) == pytest.approx(
        (theirs.rgamma(-1.5 + 1e-6) - theirs.rgamma(-1.5 - 1e-6)) / 2e-6
    )
    mixed = fg.hessian(lambda p: ours.stdtr(p[0], p[1]))(np.array([3.0, 0.0]))
    assert_allclose([mixed[0, 1], mixed[1, 0]], 0.00973298165, rtol=1e-9)
    assert np.isnan(ours.entr(np.nan))
    assert np.isnan(ours.loggamma(fg.tensor([-1.5])).item())
    assert fg.grad(lambda a: ours.logsumexp([a, 1.0]))(1.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *[(1e10, 1.0), (0.02, 6.6e9), (1e5, 1e5), (20.0, 20.0), (-0.0276, 0.69), (-2.83, 1.378)],
        *[(-3.0, 1.0), (-12.0, 5.0), (-3.0, 4.0), (0.0, 1.0), (np.inf, 1.0), (3.0, -2.0)],
    ],
)
def test_the_beta_function_far_out_and_at_its_poles(a: float, b: float) -> None:
    for name in ("betaln", "beta"):
        got = getattr(ours, name)(fg.tensor(a), b)
        assert_allclose(float(got), getattr(theirs, name)(a, b), rtol=1e-11)


def test_derivatives_of_the_beta_function_where_its_arguments_are_far_or_equal() -> None:
    a = fg.tensor([5.0, 30.0, 0.5, 20.0], dtype="float64", requires_grad=True)
    b = fg.tensor([5.0, 2.0, 40.0, 20.0], dtype="float64", requires_grad=True)
    assert fg.gradcheck(ours.betaln, (a, b))
    assert fg.gradgradcheck(ours.betaln, (a, b))
    assert fg.grad(ours.betaln)(1e10, 1.0) == pytest.approx(-1e-10, rel=1e-9)


def test_orders_of_polygamma_may_be_an_array() -> None:
    orders = np.array([[0.0], [2.0], [1.0]])
    x = np.array([0.5, 1.5])
    got = ours.polygamma(orders, fg.tensor(x))
    assert_allclose(got.numpy(), theirs.polygamma(orders, x), rtol=1e-12)
    assert np.isnan(ours.polygamma(np.array([-1.0, 1.5]), 2.0)).all()
    nothing = ours.polygamma(np.array([-1.0]), fg.tensor([2.0], dtype="float32"))
    assert isinstance(nothing, fg.Tensor)
    assert nothing.dtype == np.float64
    assert np.isnan(nothing.numpy()).all()


def test_small_arguments_of_xlog1py_and_the_dtype_of_entr() -> None:
    assert float(ours.xlog1py(fg.tensor(2.0), 1e-20)) == 2e-20
    assert fg.grad(lambda y: ours.xlog1py(0.0, y))(-1.0) == 0
    assert fg.grad(lambda x: ours.xlog1py(x, 0.5))(0.0) == np.log1p(0.5)
    assert fg.grad(lambda x: ours.xlog1py(x, -1.0))(0.0) == 0
    assert ours.xlog1py(0.0, np.inf) == 0
    assert ours.entr(fg.tensor([0.5, -1.0], dtype="float32")).dtype == np.float32


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64"])
@pytest.mark.parametrize("order", [0, 1, 2, [0, 2]])
def test_polygamma_is_float64_as_scipy_s(order: Any, dtype: str) -> None:
    x = np.array([1, 3], dtype)
    got, want = ours.polygamma(order, fg.tensor(x)), theirs.polygamma(order, x)
    assert got.dtype == want.dtype
    # SciPy computes the order 0 in the dtype of the argument first.
    assert_allclose(got.numpy(), want, rtol=1e-13 if dtype != "float32" else 1e-7)


INF = np.inf


@pytest.mark.parametrize(
    "z",
    [
        [1 + 2j, 3 - 1j, -2j],
        [1000 + 2j, 1000 - 1j, 3j],
        [-1000 + 3j, -1001 + 2j, -1000 - 3j],
        [complex(-INF, 1), complex(-INF, 2), complex(-INF, 3)],
        [complex(-INF, -1), complex(-INF, -2), complex(-INF, -3)],
        [complex(-INF, 3), 0j, 1j],
        [3j, 3j, 3j],
    ],
)
def test_logsumexp_of_complex_numbers(z: list[complex]) -> None:
    a = np.array([z, z])
    for axis in (0, 1, None):
        got = ours.logsumexp(fg.tensor(a), axis).numpy()
        want = theirs.logsumexp(a, axis)
        assert_allclose(got, want, rtol=1e-14)
        np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(want.imag))
    size, sign = ours.logsumexp(fg.tensor(a), 1, return_sign=True)
    want_size, want_sign = theirs.logsumexp(a, 1, return_sign=True)
    assert_allclose(size.numpy(), want_size, rtol=1e-14)
    if np.isfinite(want_size).all():
        assert_allclose(sign.numpy(), want_sign, rtol=1e-13)
    x = fg.tensor(a, requires_grad=True)
    if np.isfinite(a).all():
        assert fg.gradcheck(lambda x: fg.logsumexp(x, 1), (x,))
        assert fg.gradgradcheck(lambda x: fg.logsumexp(x, 1), (x,))
    else:
        fg.logsumexp(x, 1).real.sum().backward()
        assert np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr", "loggamma", "digamma", "psi"])
def test_complex_arguments(name: str) -> None:
    z = np.array([0.3 + 0.2j, -2.5 - 0.1j, 1.7 + 0.8j, -0.2 + 1.5j])
    f = getattr(ours, name)
    assert_allclose(f(z), getattr(theirs, name)(z), rtol=1e-14)
    fg.check_grads(f, order=2)(z)


def test_xlogy_of_complex_numbers() -> None:
    x, y = np.array([0.0, 1.0 + 2j]), np.array([[2.0], [0.5 - 1j]])
    assert_allclose(ours.xlogy(x, y), theirs.xlogy(x, y))
    fg.check_grads(ours.xlogy, order=2)(x + 0.5, y)


@pytest.mark.parametrize("name", ["chdtr", "chdtrc"])
def test_results_of_chi_squared_may_be_changed_in_place(name: str) -> None:
    x = fg.tensor(P, requires_grad=True)
    found = getattr(ours, name)(3.0, x)
    found[0] = 0.0
    slope = fg.autograd.grad(found.sum(), x)[0].numpy()
    assert slope[0] == 0
    assert np.all(slope[1:] != 0)
    v, at = np.array([-2.0, 0.0, 0.0, 2.0, 2.0, np.inf]), np.array([1.0, 0.0, 1.0, -1.0, 0.0, 1.0])
    assert_allclose(getattr(ours, name)(v, at), getattr(theirs, name)(v, at))
