# Written by tools/stubs.py from ferrograd/_names; `__init__.py` loads the same names.

from ferrograd._core import *
from ferrograd._core import __version__ as __version__, tensor as tensor
from ferrograd import (
    array_api as array_api,
    autograd as autograd,
    distributed as distributed,
    errors as errors,
    extend as extend,
    fft as fft,
    func as func,
    functions as functions,
    functors as functors,
    linalg as linalg,
    nn as nn,
    numpy as numpy,
    optim as optim,
    scipy as scipy,
    transforms as transforms,
    utils as utils,
)
from ferrograd._checking import (
    GradcheckReport as GradcheckReport,
    gradcheck as gradcheck,
    gradgradcheck as gradgradcheck,
)
from ferrograd._compile.api import compile as compile
from ferrograd._compile.branches import cond as cond, switch as switch
from ferrograd._compile.callback import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    pure_callback as pure_callback,
)
from ferrograd._compile.loops import fori_loop as fori_loop, scan as scan, while_loop as while_loop
from ferrograd._core import (
    CustomFunction as CustomFunction,
    Function as Function,
    FunctionContext as FunctionContext,
    Node as Node,
)
from ferrograd._inspect.anomaly import (
    detect_anomaly as detect_anomaly,
    record_call_sites as record_call_sites,
    set_detect_anomaly as set_detect_anomaly,
)
from ferrograd._inspect.build_info import show_config as show_config
from ferrograd._inspect.explain import explain_no_grad as explain_no_grad
from ferrograd._inspect.graph_scope import Graph as Graph
from ferrograd._pytorch.amp import amp as amp, autocast as autocast
from ferrograd._pytorch.devices import (
    accelerator as accelerator,
    backends as backends,
    cuda as cuda,
)
from ferrograd._pytorch.distances import cdist as cdist
from ferrograd._pytorch.division import div as div
from ferrograd._pytorch.dtype_queries import (
    as_tensor as as_tensor,
    broadcast_shapes as broadcast_shapes,
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    is_floating_point as is_floating_point,
    is_nonzero as is_nonzero,
    is_tensor as is_tensor,
    logspace as logspace,
    numel as numel,
    promote_types as promote_types,
    result_type as result_type,
)
from ferrograd._pytorch.dtypes import (
    cdouble as cdouble,
    cfloat as cfloat,
    double as double,
    float as float,
    half as half,
    int as int,
    long as long,
    short as short,
)
from ferrograd._pytorch.linear_algebra import (
    cholesky as cholesky,
    cholesky_inverse as cholesky_inverse,
    cholesky_solve as cholesky_solve,
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    det as det,
    inverse as inverse,
    logdet as logdet,
    matrix_exp as matrix_exp,
    matrix_power as matrix_power,
    pinverse as pinverse,
    slogdet as slogdet,
)
from ferrograd._pytorch.math import (
    adjoint as adjoint,
    as_strided as as_strided,
    cumulative_trapezoid as cumulative_trapezoid,
    float_power as float_power,
    frac as frac,
    frexp as frexp,
    gcd as gcd,
    gradient as gradient,
    isneginf as isneginf,
    isposinf as isposinf,
    lcm as lcm,
    ldexp as ldexp,
    logit as logit,
    nanquantile as nanquantile,
    positive as positive,
    renorm as renorm,
    t as t,
    unravel_index as unravel_index,
    vander as vander,
)
from ferrograd._pytorch.products import (
    addbmm as addbmm,
    addmm as addmm,
    addmv as addmv,
    addr as addr,
    baddbmm as baddbmm,
    block_diag as block_diag,
    cartesian_prod as cartesian_prod,
    combinations as combinations,
    dist as dist,
    meshgrid as meshgrid,
    mv as mv,
)
from ferrograd._pytorch.random import (
    multinomial as multinomial,
    normal as normal,
    poisson as poisson,
)
from ferrograd._pytorch.scatter import (
    diagonal_scatter as diagonal_scatter,
    index_copy as index_copy,
    index_fill as index_fill,
    index_put as index_put,
    masked_scatter as masked_scatter,
    select_scatter as select_scatter,
    slice_scatter as slice_scatter,
    unflatten as unflatten,
)
from ferrograd._pytorch.sorting import (
    aminmax as aminmax,
    bincount as bincount,
    bucketize as bucketize,
    histc as histc,
    kthvalue as kthvalue,
    mode as mode,
    msort as msort,
    tril_indices as tril_indices,
    triu_indices as triu_indices,
    unique_consecutive as unique_consecutive,
)
from ferrograd._saving import (
    load as load,
    load_state as load_state,
    save as save,
    save_state as save_state,
)
from ferrograd._tensor.array import array as array
from ferrograd._tensor.checkpoint import checkpoint as checkpoint
from ferrograd._tensor.creation import (
    arange as arange,
    bool_ as bool_,
    complex128 as complex128,
    complex64 as complex64,
    e as e,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    full as full,
    full_like as full_like,
    inf as inf,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    linspace as linspace,
    nan as nan,
    newaxis as newaxis,
    ones as ones,
    ones_like as ones_like,
    pi as pi,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    zeros as zeros,
    zeros_like as zeros_like,
)
from ferrograd._tensor.device import device as device, is_inference as is_inference
from ferrograd._tensor.modes import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from ferrograd._tensor.random import (
    Generator as Generator,
    bernoulli as bernoulli,
    get_rng_state as get_rng_state,
    manual_seed as manual_seed,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
    set_rng_state as set_rng_state,
)
from ferrograd.autograd import graph as graph
from ferrograd.autograd._backward_pass import (
    BackwardPass as BackwardPass,
    GradientComputer as GradientComputer,
)
from ferrograd.extend import primitive as primitive
from ferrograd.fft._stft import istft as istft, stft as stft
from ferrograd.hips import (
    builtins as builtins,
    core as core,
    differential_operators as differential_operators,
    misc as misc,
    test_util as test_util,
    tracer as tracer,
    util as util,
    wrap_util as wrap_util,
)
from ferrograd.hips.builtins import (
    dict as dict,
    isinstance as isinstance,
    list as list,
    tuple as tuple,
    type as type,
)
from ferrograd.transforms import (
    check_grads as check_grads,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    deriv as deriv,
    elementwise_grad as elementwise_grad,
    grad as grad,
    grad_and_aux as grad_and_aux,
    grad_named as grad_named,
    hessian as hessian,
    hessian_tensor_product as hessian_tensor_product,
    hessian_vector_product as hessian_vector_product,
    holomorphic_grad as holomorphic_grad,
    hvp as hvp,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    jvp as jvp,
    linearize as linearize,
    make_ggnvp as make_ggnvp,
    make_hvp as make_hvp,
    make_jvp as make_jvp,
    make_vjp as make_vjp,
    multigrad_dict as multigrad_dict,
    stop_gradient as stop_gradient,
    tensor_jacobian_product as tensor_jacobian_product,
    value_and_grad as value_and_grad,
    vector_jacobian_product as vector_jacobian_product,
    vjp as vjp,
)

bool = bool_
