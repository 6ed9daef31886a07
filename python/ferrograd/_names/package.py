"""The names of the package itself that are not operations of the core."""

from __future__ import annotations

from ferrograd._names.name_table import SAME, NameGroup, NameTable

_PRODUCTS = "products"
_LINEAR = "linear algebra (see also `fg.linalg`)"
_NUMBERS = "numbers"
_COPIES = "copies with some elements replaced"
_ORDER = "order and counts"
_RANDOM = "random numbers"
_DTYPES = "dtypes"
_FOURIER = "short-time Fourier transforms"
_PROPERTIES = "properties of tensors"
_DEVICES = "devices: the only device is the CPU, and queries for others return False"

PACKAGE = (
    NameGroup("", "autograd distributed func nn optim", torch=SAME, are_modules=True),
    NameGroup("", "fft linalg", torch=SAME, numpy=SAME, array_api=SAME, are_modules=True),
    NameGroup("", "utils", torch=SAME, are_modules=True, hidden=True),
    NameGroup("", "array_api errors extend functions functors transforms", are_modules=True),
    NameGroup("", "numpy scipy", hips=SAME, are_modules=True, hidden=True),
    NameGroup("hips", "differential_operators", hips=SAME, are_modules=True),
    NameGroup(
        "hips",
        "builtins core misc test_util tracer util wrap_util",
        hips=SAME,
        are_modules=True,
        hidden=True,
    ),
    NameGroup("_core", "Node", torch="autograd.graph.*"),
    NameGroup("_core", "Function", torch="autograd.*"),
    NameGroup("_core", "CustomFunction FunctionContext"),
    NameGroup("_checking", "GradcheckReport"),
    NameGroup("_checking", "gradcheck gradgradcheck", torch="autograd.*"),
    NameGroup("_compile.api", "compile", torch=SAME),
    NameGroup("_compile.branches", "cond switch", experimental=True),
    NameGroup("_compile.callback", "ShapeDtypeStruct pure_callback", experimental=True),
    NameGroup("_compile.loops", "fori_loop scan while_loop", experimental=True),
    NameGroup("_inspect.anomaly", "detect_anomaly set_detect_anomaly", torch="autograd.*"),
    NameGroup("_inspect.anomaly", "record_call_sites"),
    NameGroup("_inspect.explain", "explain_no_grad"),
    NameGroup("_inspect.build_info", "show_config", numpy=SAME),
    NameGroup("_inspect.graph_scope", "Graph"),
    NameGroup(
        "_pytorch.linear_algebra",
        "det slogdet logdet inverse pinverse matrix_power matrix_exp cholesky cholesky_inverse"
        " cholesky_solve clamp_min clamp_max",
        torch=SAME,
        subject=_LINEAR,
    ),
    NameGroup("_pytorch.devices", "cuda accelerator backends", torch=SAME, subject=_DEVICES),
    NameGroup("_pytorch.distances", "cdist", torch=SAME, subject=_PRODUCTS),
    NameGroup("_pytorch.division", "div", torch=SAME, subject=_NUMBERS),
    NameGroup("_pytorch.random", "multinomial normal poisson", torch=SAME, subject=_RANDOM),
    NameGroup(
        "_pytorch.dtypes",
        "half float double short int long cfloat cdouble",
        torch=SAME,
        subject=_DTYPES,
    ),
    NameGroup(
        "_pytorch.dtype_queries",
        "is_tensor as_tensor numel is_floating_point is_nonzero",
        torch=SAME,
        subject=_PROPERTIES,
    ),
    NameGroup(
        "_pytorch.dtype_queries",
        "result_type can_cast finfo iinfo",
        torch=SAME,
        numpy=SAME,
        array_api=SAME,
        subject=_DTYPES,
    ),
    NameGroup("_pytorch.dtype_queries", "promote_types", torch=SAME, numpy=SAME, subject=_DTYPES),
    NameGroup("_pytorch.dtype_queries", "broadcast_shapes", torch=SAME, numpy=SAME),
    NameGroup("_pytorch.dtype_queries", "logspace", torch=SAME, numpy=SAME, array_api=SAME),
    NameGroup(
        "_pytorch.math",
        "float_power frexp gcd isneginf isposinf lcm ldexp nanquantile positive unravel_index"
        " vander",
        torch=SAME,
        numpy=SAME,
        subject=_NUMBERS,
    ),
    NameGroup("_pytorch.math", "gradient", torch=SAME, subject=_NUMBERS),
    NameGroup(
        "_pytorch.math",
        "adjoint cumulative_trapezoid frac logit renorm t",
        torch=SAME,
        subject=_NUMBERS,
    ),
    NameGroup("_pytorch.math", "as_strided", torch=SAME, differs="a copy", subject=_NUMBERS),
    NameGroup(
        "_pytorch.scatter",
        "index_put index_copy index_fill masked_scatter select_scatter slice_scatter"
        " diagonal_scatter unflatten",
        torch=SAME,
        subject=_COPIES,
    ),
    NameGroup("_pytorch.amp", "amp autocast", torch=SAME, subject=_DEVICES),
    NameGroup(
        "_pytorch.products",
        "addmm addmv addr addbmm baddbmm mv dist block_diag cartesian_prod combinations",
        torch=SAME,
        subject=_PRODUCTS,
    ),
    NameGroup(
        "_pytorch.products",
        "meshgrid",
        torch=SAME,
        numpy=SAME,
        array_api=SAME,
        differs='`indexing` is "xy", as NumPy\'s',
        subject=_PRODUCTS,
    ),
    NameGroup(
        "_pytorch.sorting",
        "kthvalue mode msort aminmax histc bucketize unique_consecutive",
        torch=SAME,
        subject=_ORDER,
    ),
    NameGroup("_pytorch.sorting", "bincount", torch=SAME, numpy=SAME, subject=_ORDER),
    NameGroup(
        "_pytorch.sorting",
        "tril_indices triu_indices",
        torch=SAME,
        subject=_ORDER,
    ),
    NameGroup("_saving", "load save", torch=SAME, differs="files hold no pickles"),
    NameGroup("_saving", "load_state save_state"),
    NameGroup("_tensor.array", "array", numpy=SAME),
    NameGroup("_tensor.checkpoint", "checkpoint", torch="utils.checkpoint.*", hips=SAME),
    NameGroup(
        "_tensor.creation",
        "complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32"
        " uint64 e inf nan newaxis pi",
        torch=SAME,
        numpy=SAME,
        array_api=SAME,
    ),
    NameGroup("_tensor.creation", "bool_", numpy=SAME),
    NameGroup(
        "_tensor.creation",
        "arange empty empty_like eye full full_like linspace ones ones_like zeros zeros_like",
        torch=SAME,
        numpy=SAME,
        array_api=SAME,
    ),
    NameGroup("_tensor.device", "device", torch=SAME, subject=_DEVICES),
    NameGroup("_tensor.device", "is_inference", torch=SAME),
    NameGroup("_tensor.modes", "enable_grad inference_mode no_grad set_grad_enabled", torch=SAME),
    NameGroup(
        "_tensor.random",
        "Generator bernoulli get_rng_state manual_seed rand rand_like randint randint_like randn"
        " randn_like randperm set_rng_state",
        torch=SAME,
    ),
    NameGroup("array_api", "bool", torch=SAME, array_api=SAME),
    NameGroup("autograd", "graph", torch="autograd.*"),
    NameGroup("autograd._backward_pass", "BackwardPass GradientComputer"),
    NameGroup("hips.builtins", "dict isinstance list tuple type", hips="builtins.*"),
    NameGroup("extend", "primitive", hips="extend.*"),
    NameGroup("fft._stft", "istft stft", torch=SAME, subject=_FOURIER),
    NameGroup("transforms", "hessian jvp vjp", torch="func.*", hips=SAME),
    NameGroup("transforms", "jacfwd jacrev linearize", torch="func.*"),
    NameGroup("transforms", "grad", torch="func.*", hips=SAME),
    NameGroup(
        "transforms",
        "check_grads deriv elementwise_grad grad_and_aux grad_named hessian_tensor_product"
        " hessian_vector_product holomorphic_grad jacobian make_ggnvp make_hvp make_jvp make_vjp"
        " multigrad_dict tensor_jacobian_product value_and_grad vector_jacobian_product",
        hips=SAME,
    ),
    NameGroup("transforms", "custom_jvp custom_vjp hvp stop_gradient"),
)

NAME_TABLE = NameTable(PACKAGE)
