"""Refuses to convert a tensor that requires grad to an array; the error names the caller.

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
from ferrograd._dispatch import c_function_hints
from ferrograd.errors import ArgumentTypeError, GraphCutError, NotDifferentiableError

#: Libraries whose functions convert their arguments to arrays, and modules of their wrappers.
_LIBRARIES = {"numpy", "scipy", "pandas", "sklearn", "matplotlib"}
_WRAPPER_MODULES = {"functools", "contextlib"}

_GENERAL_REMEDY = (
    "use fg.stack for several tensors, ferrograd.numpy and ferrograd.scipy, whose functions take"
    " tensors and lists of them, or detach() or no_grad() to mean it"
)
_REWRITE_REMEDY = "write it with functions of ferrograd, or use detach() or no_grad() to mean it"
_ARGUMENT_REMEDY = f"ferrograd has no derivative by this argument: {_REWRITE_REMEDY}"
_PLOT_REMEDY = "a picture has no derivative: draw t.detach()"
_PANDAS_REMEDY = (
    "compute with the array of a Series or DataFrame, s.to_numpy(), or detach() to mean it"
)

#: Parts of SciPy that compute with tensors if SCIPY_ARRAY_API is set: see docs/scipy.md.
_ARRAY_API_FUNCTIONS = {
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
_ARRAY_API_VARIABLE = "SCIPY_ARRAY_API"


def convert_to_array(tensor: Tensor) -> Any:
    """`__array__` of a tensor that requires grad: it raises, with two exceptions.

    `numpy.polynomial` maps its argument to a window: it asks for an array and multiplies it by a
    number, which can be done by the tensor. A sparse array of SciPy leaves a product to the other
    operand if that is not a numeric array.
    """
    frame = sys._getframe(1)
    if _is_sparse_product(frame):
        whole = np.empty((), object)
        whole[()] = tensor
        return whole
    if frame.f_code is mapdomain.__code__:
        carried = tensor.detach().numpy(writable=False).view(_TensorBackedArray)
        carried.tensor = tensor
        return carried
    raise _make_error(frame)


def check_number_conversion(call: str) -> None:
    """Called by `float(t)` of a tensor that requires grad: it raises if a library calls it.

    If the program calls it, there is a warning instead, which the caller of a library would not
    see.
    """
    frame = sys._getframe(1)
    if _get_root_package(frame) in _LIBRARIES:
        raise _make_error(frame, f"it calls {call}, and the result")


def _refuse_linear_operator(tensor: Tensor) -> NoReturn:
    """Replaces `matvec`, which SciPy calls on linear operators."""
    frame = sys._getframe(1)
    if not str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.linalg"):
        raise AttributeError(f"'{type(tensor).__name__}' object has no attribute 'matvec'")
    home, name = _find_library_call(frame)[0] or ("scipy.sparse.linalg", "aslinearoperator")
    if not (tensor.requires_grad and is_grad_enabled()):
        raise ArgumentTypeError(f"{home}.{name}: it takes no tensors; pass the array t.numpy()")
    raise NotDifferentiableError(f"{home}.{name}: {_get_scipy_remedy(home, name)}")


matvec = property(_refuse_linear_operator)


def _is_sparse_product(frame: FrameType) -> bool:
    """Whether the caller is SciPy's `sparse @ tensor`."""
    before = frame.f_back
    return (
        frame.f_code.co_name == "_matmul_dispatch"
        and str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.")
        and before is not None
        and before.f_code.co_name == "__matmul__"
    )


class _TensorBackedArray(np.ndarray):
    """An array whose first ufunc is computed with the tensor from which it was made."""

    tensor: Tensor | None = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Computes with the tensor."""
        if self.tensor is None:
            raise _make_error(sys._getframe(1))
        given = [x.tensor if isinstance(x, _TensorBackedArray) else x for x in inputs]
        return getattr(ufunc, method)(*given, **kwargs)


def _make_error(
    frame: FrameType, what: str = "the result"
) -> GraphCutError | NotDifferentiableError:
    called, ours_asked = _find_library_call(frame)
    home, name = called or ("", "__array__")
    remedy = _GENERAL_REMEDY
    error: type[GraphCutError | NotDifferentiableError] = GraphCutError
    if called is None and _get_root_package(frame) != "ferrograd":
        name = c_function_hints.find_current_call(frame) or name
        theirs = _get_scipy_remedy(*name.rpartition(".")[::2]) if name.startswith("scipy.") else ""
        remedy = theirs or c_function_hints.get_remedy(name) or remedy
        if name == "numpy.nditer":
            # It replaces a TypeError by another error.
            error = NotDifferentiableError
    elif home.startswith("pandas"):
        remedy = _PANDAS_REMEDY
    elif home.startswith("matplotlib"):
        remedy = _PLOT_REMEDY
    elif ours := _find_counterpart(home, name):
        use = f"use ferrograd.{ours}, or detach() or no_grad() to mean it"
        remedy = (
            _ARGUMENT_REMEDY
            if ours_asked or _is_library_function(*ours.rpartition(".")[::2])
            else use
        )
    elif home.split(".")[0] == "scipy":
        remedy = _get_scipy_remedy(home, name)
    if home == "scipy.optimize":
        remedy += "; see docs/optimisation.md"
    return error(
        f"{home}{'.' if home else ''}{name}: {what} would silently leave the graph of a tensor"
        f" that requires grad; {remedy}"
    )


def _get_scipy_remedy(home: str, name: str) -> str:
    """The advice for a SciPy function that ferrograd does not have."""
    if name not in _ARRAY_API_FUNCTIONS.get(home, "").split():
        return f"ferrograd has no derivative of it: {_REWRITE_REMEDY}"
    if os.environ.get(_ARRAY_API_VARIABLE, "0").lower() in ("0", "", "false"):
        return (
            f"set {_ARRAY_API_VARIABLE}=1 in the environment before SciPy is imported and pass"
            " tensors for all arrays (docs/scipy.md), or use detach() or no_grad() to mean it"
        )
    return "pass tensors for all its arrays (docs/scipy.md), or detach() or no_grad() to mean it"


def _find_library_call(frame: FrameType | None) -> tuple[tuple[str, str] | None, bool]:
    """The public module and name of the library function that was called, and whether by us."""
    found = None
    while frame is not None and _get_root_package(frame) in _LIBRARIES | _WRAPPER_MODULES:
        found = next(filter(None, map(_find_public_name, _iter_frame_functions(frame))), found)
        frame = frame.f_back
    return found, frame is not None and _get_root_package(frame) == "ferrograd"


def _get_root_package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def _iter_frame_functions(frame: FrameType) -> Iterator[tuple[str, str, Any]]:
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


def _find_public_name(running: tuple[str, str, Any]) -> tuple[str, str] | None:
    """The shortest of the modules around a function that offers it, and its name there."""
    module, name, what = running
    if name.startswith("_") and not name.endswith("__"):
        return None
    if isinstance(what, CodeType):
        homes = (
            (path, vars(sys.modules[path]).get(name))
            for path in c_function_hints.find_public_modules(module)
        )
        path = next((path for path, value in homes if _get_code(value) is what), None)
        return None if path is None else (path, name)
    kind = what if isinstance(what, type) else type(what)
    for owner in (what, *kind.__mro__):
        for path in c_function_hints.find_public_modules(kind.__module__):
            own = vars(sys.modules[path]).items()
            found = next((n for n, v in own if v is owner and n[0] != "_"), None)
            if found is not None:
                return (path, found) if name == "__init__" else (f"{path}.{found}", name)
    return None


def _get_code(function: Any) -> CodeType | None:
    """The code of a function without its wrappers."""
    plain = getattr(function, "_implementation", function)
    return getattr(unwrap(plain) if callable(plain) else plain, "__code__", None)


def _find_counterpart(home: str, name: str) -> str:
    """ferrograd's name of a function, or of the class whose method it is."""
    owner, _, kind = home.rpartition(".")
    known = ((home, name), (owner, kind)) if name == "__call__" else ((home, name),)
    return next((f"{path}.{found}" for path, found in known if _is_defined(path, found)), "")


def _is_library_function(home: str, name: str) -> bool:
    """Whether our function of the name is the library's own."""
    theirs = getattr(sys.modules.get(home), name, None)
    return theirs is not None and vars(import_module(f"ferrograd.{home}")).get(name) is theirs


def _is_defined(home: str, name: str) -> bool:
    """Whether a module of ferrograd defines the name and does not only re-export it."""
    if home.split(".")[0] not in ("numpy", "scipy"):
        return False
    try:
        return name in vars(import_module(f"ferrograd.{home}"))
    except ImportError:
        return not name.startswith("_") and _is_method(*home.rpartition(".")[::2], name)


def _is_method(home: str, owner: str, name: str) -> bool:
    """Whether an object in a module of ferrograd defines a method, as distributions do."""
    if "." not in home or not _is_defined(home, owner):
        return False
    value = vars(import_module(f"ferrograd.{home}"))[owner]
    return not isinstance(value, type) and hasattr(type(value), name)
