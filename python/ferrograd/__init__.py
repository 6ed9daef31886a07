"""Differentiable NumPy on a Rust engine.

`import ferrograd as fg`: tensors that record what is done to them, and gradients of any order. This
file only re-exports, and loads nearly everything when its name is first used. Type checkers read
`__init__.pyi`.
"""

from ferrograd import _core  # first: a sub-interpreter that it refuses must not import NumPy

# isort: split
import builtins as _builtins
from importlib import import_module as _import_module

import numpy as _numpy

from ferrograd._core import Tensor, __version__, tensor

#: Where names are; names without a home are modules. What is nowhere here is the core's.
_HOMES = {
    "": "array_api autograd builtins core differential_operators distributed errors extend fft func"
    " functions functors linalg misc nn numpy optim scipy test_util tracer transforms util utils"
    " wrap_util",
    "_core": "CustomFunction Function FunctionContext Node",
    "_checking": "GradcheckReport gradcheck gradgradcheck",
    "_compile.branches": "cond switch",
    "_compile.callback": "ShapeDtypeStruct pure_callback",
    "_compile.api": "compile",
    "_compile.loops": "fori_loop scan while_loop",
    "_inspect.anomaly": "detect_anomaly record_call_sites set_detect_anomaly",
    "_inspect.explain": "explain_no_grad",
    "_inspect.info": "show_config",
    "_inspect.scope": "Graph",
    "_pytorch.linear_algebra": "det slogdet logdet inverse pinverse matrix_power matrix_exp"
    " cholesky cholesky_inverse cholesky_solve clamp_min clamp_max",
    "_pytorch.devices": "cuda accelerator backends",
    "_pytorch.distances": "cdist",
    "_pytorch.division": "div",
    "_pytorch.random": "multinomial normal poisson",
    "_pytorch.dtypes": "half float double short int long cfloat cdouble",
    "_pytorch.dtype_queries": "is_tensor as_tensor numel is_floating_point is_nonzero result_type"
    " promote_types can_cast finfo iinfo broadcast_shapes logspace",
    "_pytorch.math": "adjoint as_strided cumulative_trapezoid float_power frac frexp gcd"
    " gradient isneginf isposinf lcm ldexp logit nanquantile positive renorm t"
    " unravel_index vander",
    "_pytorch.scatter": "index_put index_copy index_fill masked_scatter select_scatter"
    " slice_scatter diagonal_scatter unflatten",
    "_pytorch.amp": "amp autocast",
    "_pytorch.products": "addmm addmv addr addbmm baddbmm mv dist block_diag cartesian_prod"
    " combinations meshgrid",
    "_pytorch.sorting": "kthvalue mode msort aminmax bincount histc bucketize unique_consecutive"
    " tril_indices triu_indices",
    "_saving": "load load_state save save_state",
    "_tensor.array": "array",
    "_tensor.checkpoint": "checkpoint",
    "_tensor.creation": "arange bool_ complex64 complex128 e empty empty_like eye float16"
    " float32 float64 full full_like inf int8 int16 int32 int64 linspace nan newaxis ones ones_like"
    " pi uint8 uint16 uint32 uint64 zeros zeros_like",
    "_tensor.device": "device is_inference",
    "_tensor.modes": "enable_grad inference_mode no_grad set_grad_enabled",
    "_tensor.random": "Generator bernoulli get_rng_state manual_seed rand rand_like randint"
    " randint_like randn randn_like randperm set_rng_state",
    "array_api": "bool",
    "autograd": "graph",
    "autograd._backward_pass": "BackwardPass GradientComputer",
    "builtins": "dict isinstance list tuple type",
    "extend": "primitive",
    "fft._stft": "istft stft",
    "transforms": "check_grads deriv elementwise_grad grad grad_and_aux grad_named hessian"
    " hessian_tensor_product hessian_vector_product holomorphic_grad hvp jacobian jvp make_ggnvp"
    " make_hvp make_jvp make_vjp multigrad_dict tensor_jacobian_product value_and_grad"
    " vector_jacobian_product vjp",
}

#: The same by name, with the core's names; filled when it is first asked.
_HOME_OF = {}

#: Modules that `import *` leaves out: their names are other packages', or too general.
_UNEXPORTED = (
    "builtins",
    "numpy",
    "scipy",
    "core",
    "misc",
    "test_util",
    "tracer",
    "util",
    "utils",
    "wrap_util",
)


def __getattr__(name):
    """Loads a module, or a name in one."""
    if name == "__all__":  # no builtin of Python's is hidden by `import *`
        names = {*__dir__()}.difference(vars(_builtins), _UNEXPORTED)
        return sorted(public for public in names if public[0] != "_")
    if not _HOME_OF:  # all at once: another thread may ask meanwhile
        homes = {each: home for home, names in _HOMES.items() for each in names.split()}
        _HOME_OF.update({**_builtins.dict.fromkeys(_core.__all__, "_core"), **homes})
    home = _HOME_OF.get(name)
    if home is None:
        _import_module("ferrograd._inspect.missing_names").missing("", name)
    module = _import_module(f"ferrograd.{home or name}")
    value = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__():
    """Every public name, loaded or not."""
    special = ("__doc__", "__file__", "__name__", "__path__", "__version__")
    lazy = " ".join(_HOMES.values()).split()
    own = (name for name in globals() if name[0] != "_")
    return sorted({*own, *lazy, *_core.__all__, *special})
