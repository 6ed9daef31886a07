"""Replacements for names of PyTorch and JAX that do not exist here.

Invariant: a name in a table does not exist in its module, and the names in its hint exist.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

_LAZY = "a lazy layer, nn.LazyLinear, which has no parameters before its first call"
_CPU = "nothing: tensors live in main memory, and operations use threads by themselves"
_DTYPE = "float32; tensors have the dtypes of NumPy"
_LINALG = "fg.linalg, or np.linalg and ferrograd.scipy.linalg"
_LAYERS = "nn.functional"
_COMPILE = "fg.compile(f), which records f once and replays it"
_BATCH = "NumPy's broadcasting, and fg.jacobian for rows of derivatives"
_KINDS = "dtypes: there are no quantised tensors, model.to(fg.float16) makes small ones"
_SAME_BITS = "nothing: results have the same bits in every run"
_SPARSE = "ferrograd.scipy.sparse"
_OF_VALUES = "fg.tensor(values, dtype=…), or fg.empty(2, 3, dtype=…) of sizes"
_FILES = "fg.save_state, or fg.save, and fg.load_state"


def _each(names: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), hint)


#: By module, then by name.
HINTS: dict[str, dict[str, str]] = {
    "nn": {
        **_each("DataParallel parallel", _CPU),
        **_each("modules parameter", "the classes of fg.nn themselves, as nn.Parameter"),
        **_each("UninitializedParameter UninitializedBuffer", _LAZY),
        "CrossMapLRN2d": "nn.LocalResponseNorm",
        "NLLLoss2d": "nn.NLLLoss",
        "Container": "nn.Module",
        "RNNBase": "nn.RNN, nn.LSTM and nn.GRU",
        "attention": "nn.functional.scaled_dot_product_attention",
        **_each("quantized quantizable qat intrinsic", _KINDS),
    },
    "nn.utils": {
        "stateless": "fg.func.functional_call",
        "clip_grad_norm": "nn.utils.clip_grad_norm_",
        "prune": "nn.utils.parametrize, with a mask in a module",
        **_each("fuse_conv_bn_eval fuse_linear_bn_eval fusion", "the two layers in a row"),
    },
    "utils": {
        "tensorboard": "a package that writes its files, such as tensorboardX",
        "cpp_extension": "fg.Function, with whatever computes in its forward",
        "benchmark": "Python's timeit",
        "dlpack": "fg.from_dlpack, and np.from_dlpack(t)",
    },
    "nn.functional": {
        "conv_tbc": "nn.functional.conv1d",
        "multi_head_attention_forward": "nn.MultiheadAttention",
        **_each("upsample_nearest upsample_bilinear", "nn.functional.interpolate"),
        "native_channel_shuffle": "nn.functional.channel_shuffle",
        "grouped_mm": "fg.matmul of a batch",
    },
    "autograd": {
        **_each("Variable variable", "fg.tensor(values, requires_grad=True)"),
        "forward_ad": "fg.jvp",
        "profiler": "Python's cProfile",
        "anomaly_mode": "fg.detect_anomaly",
    },
    "func": {
        "vmap": _BATCH,
        **_each("jacfwd linearize", "fg.jacobian, or fg.jvp"),
        "functionalize": "nothing: changes in place are recorded",
        "stack_module_state": "fg.stack of the parameters, and products of batches",
    },
    "linalg": {
        **_each("householder_product", "fg.linalg.qr, which multiplies the reflections"),
        **_each("ldl_factor ldl_factor_ex ldl_solve", "ferrograd.scipy.linalg.ldl"),
    },
    "optim": {
        **_each("Adafactor SparseAdam", "optim.Adam"),
        "swap_in_optimizer_params_and_state": _COMPILE,
    },
    "": {
        **_each("mps xpu set_default_device", _CPU),
        "bfloat16": _DTYPE,
        **_each(
            "channels_last contiguous_format preserve_format", "nothing: arrays are in C order"
        ),
        **_each("set_float32_matmul_precision", "nothing: float32 is computed in float32"),
        "profiler": "Python's cProfile",
        "onnx": "fg.save_state, whose files are safetensors",
        **_each("sparse sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor", _SPARSE),
        **_each("sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor", _SPARSE),
        **_each("smm hspmm sspaddmm", _SPARSE),
        **_each("multiprocessing futures", "Python's multiprocessing, and fg.distributed"),
        **_each("hub package export storage", _FILES),
        **_each("ao quantization quantize_per_tensor quantize_per_channel dequantize", _KINDS),
        **_each("qint8 quint8 fake_quantize_per_tensor_affine", _KINDS),
        **_each("empty_strided empty_permuted", "fg.empty"),
        "from_file": "fg.from_numpy of a np.memmap",
        **_each("geqrf orgqr ormqr", "fg.linalg.qr, which multiplies the reflections"),
        **_each("pca_lowrank svd_lowrank", "fg.linalg.svd"),
        "lobpcg": "fg.linalg.eigh",
        "lu_unpack": "fg.linalg.lu",
        **_each("get_num_interop_threads set_num_interop_threads", "fg.set_num_threads"),
        **_each("set_flush_denormal set_warn_always", "nothing: there is no such switch"),
        "narrow_copy": "fg.narrow(x, axis, start, length).clone()",
        "unsafe_chunk": "fg.chunk",
        **_each("conj_physical resolve_conj", "fg.conj"),
        **_each("sym_int sym_float sym_max sym_min sym_not", "Python's own functions"),
        "signal": "ferrograd.scipy.signal",
        "constant_pad_nd": "nn.functional.pad",
        "affine_grid_generator": "nn.functional.affine_grid",
        **_each("dropout_ feature_dropout adaptive_avg_pool1d adaptive_max_pool1d", _LAYERS),
        **_each("nll_loss hinge_embedding_loss margin_ranking_loss", _LAYERS),
        **_each("cosine_embedding_loss native_layer_norm", _LAYERS),
        **_each("compiler _dynamo _inductor", _COMPILE),
        **_each("library overrides", "fg.Function, or fg.primitive"),
        **_each("cpu mtia monitor", _CPU),
        **_each("masked nested", "a mask: fg.where, or where= of a reduction"),
        **_each("version torch_version", "fg.__version__, and fg.show_config()"),
        **_each("types return_types layout strided memory_format", "NumPy's and Python's own"),
        **_each("FloatTensor DoubleTensor LongTensor IntTensor BoolTensor", _OF_VALUES),
        **_each("HalfTensor ByteTensor CharTensor ShortTensor", _OF_VALUES),
        **_each("jit fx", _COMPILE),
        "vmap": _BATCH,
        **_each("use_deterministic_algorithms are_deterministic_algorithms_enabled", _SAME_BITS),
        "set_deterministic_debug_mode": _SAME_BITS,
        "segment_reduce": "fg.scatter_reduce, or fg.index_add",
        "detach": "x.detach()",
        **_each("svd qr", _LINALG),
        **_each("matrix_rank lstsq triangular_solve lu", _LINALG),
        "chain_matmul": "fg.linalg.multi_dot",
        "binomial": "the generators of np.random",
        **_each("layer_norm group_norm dropout conv1d conv2d conv3d avg_pool1d", _LAYERS),
        **_each("max_pool1d max_pool2d cosine_similarity prelu threshold", _LAYERS),
        **_each("binary_cross_entropy_with_logits kl_div pixel_shuffle", _LAYERS),
        **_each("pairwise_distance rms_norm bilinear embedding_bag channel_shuffle", _LAYERS),
        **_each("conv_transpose1d conv_transpose2d max_pool3d hardshrink rrelu", _LAYERS),
        **_each("batch_norm instance_norm pixel_unshuffle triplet_margin_loss", _LAYERS),
        **_each("alpha_dropout poisson_nll_loss ctc_loss grid_sampler relu_ celu_", _LAYERS),
        **_each("solve symeig eig", _LINALG),
        **_each("lu_solve", "fg.linalg.lu_solve(lu, pivots, b), whose order is another"),
        "range": "fg.arange, which ends before its end",
        "scalar_tensor": "fg.tensor",
        "rsub": "b - a",
        "fill": "fg.full_like",
        "igamma": "ferrograd.scipy.special.gammainc",
        "igammac": "ferrograd.scipy.special.gammaincc",
        "mvlgamma": "ferrograd.scipy.special.multigammaln",
        "initial_seed": "fg.manual_seed",
        "get_default_device": _CPU,
        "set_default_tensor_type": "fg.set_default_dtype",
        **_each("lstm gru rnn_tanh rnn_relu lstm_cell gru_cell", "the layers of fg.nn"),
        **_each("jacfwd jacrev", "fg.jacobian"),
        "pdist": "ferrograd.scipy.spatial",
        **_each("hann_window hamming_window bartlett_window", "ferrograd.scipy.signal"),
        **_each("blackman_window kaiser_window", "ferrograd.scipy.signal"),
        "set_printoptions": "np.set_printoptions",
        "testing": "np.testing",
        "Size": "tuple",
        "dtype": "np.dtype",
        "seed": "fg.manual_seed",
        "special": "ferrograd.scipy.special",
        "distributions": "ferrograd.scipy.stats",
    },
}


#: The same for names of JAX's.
JAX_HINTS: dict[str, dict[str, str]] = {
    "nn": {
        **_each("relu sigmoid softmax log_softmax softplus gelu silu elu selu celu", _LAYERS),
        **_each("leaky_relu one_hot", _LAYERS),
    },
    "": {
        "random": "np.random.default_rng, or fg.manual_seed with fg.randn and fg.rand",
        **_each("tree tree_util", "the transforms, which take dicts, lists and tuples as they are"),
        "lax": "fg.scan, fg.fori_loop, fg.while_loop, fg.cond, and functions of NumPy's",
        "config": "nothing: floats are double unless said otherwise",
        "device_put": "fg.tensor",
        "ops": "fg.index_add, or fg.scatter_reduce",
        **_each("custom_vjp custom_jvp custom_gradient", "fg.Function, or fg.primitive"),
        "linearize": "fg.make_jvp",
        "remat": "fg.checkpoint",
        "debug": "print, or fg.pure_callback inside of a compiled function",
        "block_until_ready": "nothing: an operation has computed when it returns",
        "make_jaxpr": "fg.Graph, which shows what a function recorded",
        "eval_shape": "the function itself, whose result has shape and dtype",
        "associative_scan": "fg.cumsum, fg.cumprod, fg.logcumsumexp, or fg.scan",
        **_each("pmap shard_map sharding experimental", "fg.distributed"),
        **_each("devices local_devices device_count default_backend", "nothing: there is the CPU"),
        "stop_gradient": "x.detach()",
        "device_get": "x.numpy()",
        "linear_transpose": "fg.vjp",
        "image": "nn.functional.interpolate",
        "Array": "fg.Tensor",
        "flatten_util": "ferrograd.misc.flatten",
        "dtypes": "NumPy's dtypes",
        **_each(
            "effects_barrier clear_caches", "nothing: an operation has computed when it returns"
        ),
        "process_index": "fg.distributed.get_rank",
        "disable_jit": "the function without fg.compile",
        "default_matmul_precision": "nothing: products are computed in the dtype of the operands",
        "enable_x64": "nothing: floats are double unless said otherwise",
        "stages": _COMPILE,
    },
}


def missing(module: str, name: str) -> NoReturn:
    """Raises the error of a name that a module of the package does not have."""
    home = f"ferrograd.{module}" if module else "ferrograd"
    hint = HINTS.get(module, {}).get(name)
    theirs = JAX_HINTS.get(module, {}).get(name)
    if hint or theirs:
        said = f"; {'PyTorch' if hint else 'JAX'} has it, here use {hint or theirs}"
    else:
        said = _of_numpy(module, name)
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] == opcode.opmap["IMPORT_FROM"]:
        # Python would replace the text of an AttributeError.
        raise ImportError(f"cannot import name {name!r} from {home!r}{said}")
    raise AttributeError(f"module {home!r} has no attribute {name!r}{said}")


def refuse_import(path: str) -> None:
    """Raises an error with a hint for a module that the package does not have."""
    home, _, name = path.rpartition(".")
    module = home.partition(".")[2]
    hint = HINTS.get(module, {}).get(name) or JAX_HINTS.get(module, {}).get(name)
    if hint:
        library = "PyTorch" if name in HINTS.get(module, {}) else "JAX"
        said = f"{library} has it, here use {hint}"
    elif hasattr(sys.modules.get(home), name):
        said = f"it is no module, write from {home} import {name}"
    else:
        return
    raise ModuleNotFoundError(f"No module named {path!r}; {said}", name=path)


def _of_numpy(module: str, name: str) -> str:
    """The hint for a function of NumPy's that is not repeated here."""
    home = {"": numpy, "linalg": numpy.linalg}.get(module)
    path = f"{module}.{name}" if module else name
    found = getattr(home, name, None)
    if not callable(found) or isinstance(found, type):
        return ""
    return f"; use np.{path}, or ferrograd.numpy.{path}, which take tensors"


def getter(module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module of the package."""

    def find(name: str) -> Any:
        missing(module, name)

    return find
