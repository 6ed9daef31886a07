"""Refuses to convert a tensor to an array; the error names the function that asked for it.

Invariant: no element of a recorded tensor becomes an array here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import unwrap
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn

import numpy as np
from numpy.polynomial.polyutils import mapdomain

from ferrograd._core import Tensor, is_grad_enabled
from ferrograd._dispatch import call_hints
from ferrograd.errors import ArgumentTypeError, GraphCutError, NotDifferentiableError

#: Libraries whose functions convert their arguments to arrays, and modules of their wrappers.
_LIBRARIES = {"numpy", "scipy", "pandas", "sklearn", "matplotlib"}
_BETWEEN = {"functools", "contextlib"}

_ANY = (
    "use fg.stack for several tensors, ferrograd.numpy and ferrograd.scipy, whose functions take"
    " tensors and lists of them, or detach() or no_grad() to mean it"
)
_WRITTEN = "write it with functions of ferrograd, or use detach() or no_grad() to mean it"
_ARGUMENT = f"ferrograd has no derivative by this argument: {_WRITTEN}"
_DRAWN = "a picture has no derivative: draw t.detach()"
_LABELLED = "compute with the array of a Series or DataFrame, s.to_numpy(), or detach() to mean it"

#: Parts of SciPy that compute with tensors if SCIPY_ARRAY_API is set: see docs/scipy.md.
_STANDARD = {
    "scipy.integrate": "cubature cumulative_simpson nsum qmc_quad tanhsinh",
    "scipy.interpolate": "RBFInterpolator",
    "scipy.signal": """abcd_normalize bilinear_zpk cheb1ord cheb2ord envelope firwin freqs freqs_zpk
        freqz freqz_zpk gauss_spline group_delay hilbert2 lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk
        lp2hp lp2hp_zpk lp2lp lp2lp_zpk minimum_phase normalize resample vectorstrength""",
    "scipy.stats": """alexandergovern bartlett bootstrap chisquare circmean circstd circvar
        combine_pvalues describe differential_entropy directional_stats entropy epps_singleton_2samp
        f_oneway gmean gstd gzscore hmean iqr jarque_bera kstat kstatvar kurtosis kurtosistest
        levene lmoment median_abs_deviation moment monte_carlo_test normaltest pearsonr
        permutation_test pmean power_divergence quantile sem sigmaclip skew skewtest tmax tmean tmin
        trim_mean tsem tstd ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel tvar variation
        yeojohnson_llf zmap zscore""",
}
_SWITCH = "SCIPY_ARRAY_API"


def array_of(tensor: Tensor) -> Any:
    """`__array__` of a tensor that requires grad: it raises, with two exceptions.

    `numpy.polynomial` maps its argument to a window: it asks for an array and multiplies it by a
    number, which can be done by the tensor. A sparse array of SciPy leaves a product to the other
    operand if that is not a numeric array.
    """
    frame = sys._getframe(1)
    if _leaves_products(frame):
        whole = np.empty((), object)
        whole[()] = tensor
        return whole
    if frame.f_code is mapdomain.__code__:
        carried = tensor.detach().numpy(writable=False).view(_Carried)
        carried.tensor = tensor
        return carried
    raise _refusal(frame)


def number_of(call: str) -> None:
    """Called by `float(t)` of a tensor that requires grad: it raises if a library calls it.

    If the program calls it, there is a warning instead, which the caller of a library would not
    see.
    """
    frame = sys._getframe(1)
    if _root(frame) in _LIBRARIES:
        raise _refusal(frame, f"it calls {call}, and the result")


def _no_operator(tensor: Tensor) -> NoReturn:
    """Replaces `matvec`, which SciPy calls on linear operators."""
    frame = sys._getframe(1)
    if not str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.linalg"):
        raise AttributeError(f"'{type(tensor).__name__}' object has no attribute 'matvec'")
    home, name = _called(frame)[0] or ("scipy.sparse.linalg", "aslinearoperator")
    if not (tensor.requires_grad and is_grad_enabled()):
        raise ArgumentTypeError(f"{home}.{name}: it takes no tensors; pass the array t.numpy()")
    raise NotDifferentiableError(f"{home}.{name}: {_of_scipy(home, name)}")


matvec = property(_no_operator)


def _leaves_products(frame: FrameType) -> bool:
    """Whether `sparse @ tensor` asks for the array."""
    before = frame.f_back
    return (
        frame.f_code.co_name == "_matmul_dispatch"
        and str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.")
        and before is not None
        and before.f_code.co_name == "__matmul__"
    )


class _Carried(np.ndarray):
    """An array whose first ufunc is computed with the tensor from which it was made."""

    tensor: Tensor | None = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Computes with the tensor."""
        if self.tensor is None:
            raise _refusal(sys._getframe(1))
        given = [x.tensor if isinstance(x, _Carried) else x for x in inputs]
        return getattr(ufunc, method)(*given, **kwargs)


def _refusal(frame: FrameType, what: str = "the result") -> GraphCutError | NotDifferentiableError:
    called, ours_asked = _called(frame)
    home, name = called or ("", "__array__")
    remedy = _ANY
    error: type[GraphCutError | NotDifferentiableError] = GraphCutError
    if called is None and _root(frame) != "ferrograd":
        name = call_hints.called_here(frame) or name
        theirs = _of_scipy(*name.rpartition(".")[::2]) if name.startswith("scipy.") else ""
        remedy = theirs or call_hints.remedy(name) or remedy
        if name == "numpy.nditer":
            # It replaces a TypeError by another error.
            error = NotDifferentiableError
    elif home.startswith("pandas"):
        remedy = _LABELLED
    elif home.startswith("matplotlib"):
        remedy = _DRAWN
    elif ours := _ours(home, name):
        use = f"use ferrograd.{ours}, or detach() or no_grad() to mean it"
        remedy = _ARGUMENT if ours_asked or _same(*ours.rpartition(".")[::2]) else use
    elif home.split(".")[0] == "scipy":
        remedy = _of_scipy(home, name)
    if home == "scipy.optimize":
        remedy += "; see docs/optimisation.md"
    return error(
        f"{home}{'.' if home else ''}{name}: {what} would silently leave the graph of a tensor"
        f" that requires grad; {remedy}"
    )


def _of_scipy(home: str, name: str) -> str:
    """The advice for a function that only SciPy has."""
    if name not in _STANDARD.get(home, "").split():
        return f"ferrograd has no derivative of it: {_WRITTEN}"
    if os.environ.get(_SWITCH, "0").lower() in ("0", "", "false"):
        return (
            f"set {_SWITCH}=1 in the environment before SciPy is imported and pass tensors for all"
            " arrays (docs/scipy.md), or use detach() or no_grad() to mean it"
        )
    return "pass tensors for all its arrays (docs/scipy.md), or detach() or no_grad() to mean it"


def _called(frame: FrameType | None) -> tuple[tuple[str, str] | None, bool]:
    """The public module and name of the library function that was called, and whether by us."""
    found = None
    while frame is not None and _root(frame) in _LIBRARIES | _BETWEEN:
        found = next(filter(None, map(_public, _running(frame))), found)
        frame = frame.f_back
    return found, frame is not None and _root(frame) == "ferrograd"


def _root(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def _running(frame: FrameType) -> Iterator[tuple[str, str, Any]]:
    """The functions that a frame may run: its function, or one that a decorator wrapped.

    Each one as its module, its name, and its identity: the code of a function, the object of a
    method.
    """
    code = frame.f_code
    module = str(frame.f_globals["__name__"])
    if "<locals>" in code.co_qualname:
        for variable in code.co_freevars:
            wrapped = frame.f_locals.get(variable)
            if isinstance(wrapped, FunctionType):
                yield wrapped.__module__, wrapped.__name__, wrapped.__code__
    elif "." not in code.co_qualname:
        yield module, code.co_name, code
    else:
        owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
        if owner is None:
            owner = frame.f_globals.get(code.co_qualname.rpartition(".")[0])
        if owner is not None:
            yield module, code.co_name, owner


def _public(running: tuple[str, str, Any]) -> tuple[str, str] | None:
    """The shortest of the modules around a function that offers it, and its name there."""
    module, name, what = running
    if name.startswith("_") and not name.endswith("__"):
        return None
    if isinstance(what, CodeType):
        homes = (
            (path, vars(sys.modules[path]).get(name)) for path in call_hints.public_around(module)
        )
        path = next((path for path, value in homes if _code_of(value) is what), None)
        return None if path is None else (path, name)
    kind = what if isinstance(what, type) else type(what)
    for owner in (what, *kind.__mro__):
        for path in call_hints.public_around(kind.__module__):
            own = vars(sys.modules[path]).items()
            found = next((n for n, v in own if v is owner and n[0] != "_"), None)
            if found is not None:
                return (path, found) if name == "__init__" else (f"{path}.{found}", name)
    return None


def _code_of(function: Any) -> CodeType | None:
    """The code of a function without its wrappers."""
    plain = getattr(function, "_implementation", function)
    return getattr(unwrap(plain) if callable(plain) else plain, "__code__", None)


def _ours(home: str, name: str) -> str:
    """ferrograd's name of a function, or of the class whose method it is."""
    owner, _, kind = home.rpartition(".")
    known = ((home, name), (owner, kind)) if name == "__call__" else ((home, name),)
    return next((f"{path}.{found}" for path, found in known if _have(path, found)), "")


def _same(home: str, name: str) -> bool:
    """Whether our function of the name is the library's own."""
    theirs = getattr(sys.modules.get(home), name, None)
    return theirs is not None and vars(import_module(f"ferrograd.{home}")).get(name) is theirs


def _have(home: str, name: str) -> bool:
    """Whether a module of ferrograd defines the name and does not only re-export it."""
    if home.split(".")[0] not in ("numpy", "scipy"):
        return False
    try:
        return name in vars(import_module(f"ferrograd.{home}"))
    except ImportError:
        return not name.startswith("_") and _is_method(*home.rpartition(".")[::2], name)


def _is_method(home: str, owner: str, name: str) -> bool:
    """Whether an object in a module of ferrograd defines a method, as distributions do."""
    if "." not in home or not _have(home, owner):
        return False
    value = vars(import_module(f"ferrograd.{home}"))[owner]
    return not isinstance(value, type) and hasattr(type(value), name)
