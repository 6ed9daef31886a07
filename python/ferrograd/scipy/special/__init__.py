"""`scipy.special` as far as ferrograd has derivatives.

Owns: the names, and their registration for ufuncs of SciPy on tensors. Every other name is SciPy's.
"""

from ferrograd._dispatch import table as _table
from ferrograd.scipy._library import rest_of as _rest_of
from ferrograd.scipy.special._bessel import (
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    iv as iv,
    ive as ive,
    j0 as j0,
    j1 as j1,
    jn as jn,
    jv as jv,
    jve as jve,
    k0 as k0,
    k0e as k0e,
    k1 as k1,
    k1e as k1e,
    kn as kn,
    kv as kv,
    kve as kve,
    spherical_in as spherical_in,
    spherical_jn as spherical_jn,
    spherical_kn as spherical_kn,
    spherical_yn as spherical_yn,
    y0 as y0,
    y1 as y1,
    yn as yn,
    yv as yv,
    yve as yve,
)
from ferrograd.scipy.special._distributions import (
    betainc as betainc,
    erfcinv as erfcinv,
    factorial as factorial,
    gamma as gamma,
    gammainc as gammainc,
    gammaincc as gammaincc,
    gammasgn as gammasgn,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
    rgamma as rgamma,
    stdtr as stdtr,
)
from ferrograd.scipy.special._elementary import (
    beta as beta,
    betaln as betaln,
    digamma as digamma,
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    expit as expit,
    gammaln as gammaln,
    kl_div as kl_div,
    log_expit as log_expit,
    log_softmax as log_softmax,
    loggamma as loggamma,
    logit as logit,
    logsumexp as logsumexp,
    multigammaln as multigammaln,
    polygamma as polygamma,
    psi as psi,
    rel_entr as rel_entr,
    softmax as softmax,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from ferrograd.scipy.special._elliptic import (
    ellipe as ellipe,
    ellipeinc as ellipeinc,
    ellipk as ellipk,
    ellipkinc as ellipkinc,
    ellipkm1 as ellipkm1,
    hyp0f1 as hyp0f1,
    hyp2f1 as hyp2f1,
    hyperu as hyperu,
    zeta as zeta,
)
from ferrograd.scipy.special._integrals import (
    airy as airy,
    dawsn as dawsn,
    erfi as erfi,
    exp1 as exp1,
    expi as expi,
    fresnel as fresnel,
    shichi as shichi,
    sici as sici,
)
from ferrograd.scipy.special._polynomials import (
    eval_chebyt as eval_chebyt,
    eval_chebyu as eval_chebyu,
    eval_gegenbauer as eval_gegenbauer,
    eval_genlaguerre as eval_genlaguerre,
    eval_hermite as eval_hermite,
    eval_hermitenorm as eval_hermitenorm,
    eval_jacobi as eval_jacobi,
    eval_laguerre as eval_laguerre,
    eval_legendre as eval_legendre,
)

__getattr__ = _rest_of("special")

_table.register(i0, "i0")
_table.register_module("scipy.special", globals())
