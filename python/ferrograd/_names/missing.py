"""Names of other libraries that this package does not have, and what to use instead.

`_inspect/missing_name_errors.py` raises the errors that show the hints of modules,
`_pytorch/unsupported.py` those that show the hints of tensors. Invariant: every name that a hint
mentions exists.
"""

from __future__ import annotations

from typing import NamedTuple

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
_PAIRS = "max, min, sort and median give values as NumPy does; use argmax, argmin, argsort or topk"
_SHAPE = "a tensor keeps its shape; use the name without the underscore, x = x.{}(…)"


class MissingNames(NamedTuple):
    """Names that a module of the package, or the class `Tensor`, does not have."""

    #: The module, relative to `ferrograd`; or "Tensor".
    namespace: str
    #: Separated by spaces.
    names: str
    #: What to use instead; `{}` stands for the name without its final underscore.
    hint: str
    #: The library that has the names.
    library: str = "PyTorch"


MISSING = (
    MissingNames("nn", "DataParallel parallel", _CPU),
    MissingNames("nn", "modules parameter", "the classes of fg.nn themselves, as nn.Parameter"),
    MissingNames("nn", "UninitializedParameter UninitializedBuffer", _LAZY),
    MissingNames("nn", "CrossMapLRN2d", "nn.LocalResponseNorm"),
    MissingNames("nn", "NLLLoss2d", "nn.NLLLoss"),
    MissingNames("nn", "Container", "nn.Module"),
    MissingNames("nn", "RNNBase", "nn.RNN, nn.LSTM and nn.GRU"),
    MissingNames("nn", "attention", "nn.functional.scaled_dot_product_attention"),
    MissingNames("nn", "quantized quantizable qat intrinsic", _KINDS),
    MissingNames("nn.utils", "stateless", "fg.func.functional_call"),
    MissingNames("nn.utils", "clip_grad_norm", "nn.utils.clip_grad_norm_"),
    MissingNames("nn.utils", "prune", "nn.utils.parametrize, with a mask in a module"),
    MissingNames(
        "nn.utils",
        "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights fusion",
        "the two layers in a row",
    ),
    MissingNames("utils", "tensorboard", "a package that writes its files, such as tensorboardX"),
    MissingNames("utils", "cpp_extension", "fg.Function, with whatever computes in its forward"),
    MissingNames("utils", "benchmark", "Python's timeit"),
    MissingNames("utils", "dlpack", "fg.from_dlpack, and np.from_dlpack(t)"),
    MissingNames("nn.functional", "conv_tbc", "nn.functional.conv1d"),
    MissingNames("nn.functional", "multi_head_attention_forward", "nn.MultiheadAttention"),
    MissingNames(
        "nn.functional", "upsample_nearest upsample_bilinear", "nn.functional.interpolate"
    ),
    MissingNames("nn.functional", "native_channel_shuffle", "nn.functional.channel_shuffle"),
    MissingNames("nn.functional", "grouped_mm", "fg.matmul of a batch"),
    MissingNames("autograd", "Variable variable", "fg.tensor(values, requires_grad=True)"),
    MissingNames("autograd", "profiler", "Python's cProfile"),
    MissingNames("autograd", "anomaly_mode", "fg.detect_anomaly"),
    MissingNames("func", "vmap", _BATCH),
    MissingNames("func", "functionalize", "nothing: changes in place are recorded"),
    MissingNames(
        "func", "stack_module_state", "fg.stack of the parameters, and products of batches"
    ),
    MissingNames("linalg", "householder_product", "fg.linalg.qr, which multiplies the reflections"),
    MissingNames("linalg", "ldl_factor ldl_factor_ex ldl_solve", "ferrograd.scipy.linalg.ldl"),
    MissingNames("optim", "Adafactor", "optim.Adam, whose state is as large as the parameters"),
    MissingNames("optim", "SparseAdam", "optim.Adam: there are no sparse gradients"),
    MissingNames("optim", "swap_in_optimizer_params_and_state", _COMPILE),
    MissingNames("", "mps xpu set_default_device", _CPU),
    MissingNames("", "bfloat16", _DTYPE),
    MissingNames(
        "", "channels_last contiguous_format preserve_format", "nothing: arrays are in C order"
    ),
    MissingNames("", "set_float32_matmul_precision", "nothing: float32 is computed in float32"),
    MissingNames("", "profiler", "Python's cProfile"),
    MissingNames("", "onnx", "fg.save_state, whose files are safetensors"),
    MissingNames("", "sparse sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor", _SPARSE),
    MissingNames("", "sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor", _SPARSE),
    MissingNames("", "smm hspmm sspaddmm", _SPARSE),
    MissingNames("", "multiprocessing futures", "Python's multiprocessing, and fg.distributed"),
    MissingNames("", "hub package export storage", _FILES),
    MissingNames("", "ao quantization quantize_per_tensor quantize_per_channel dequantize", _KINDS),
    MissingNames("", "qint8 quint8 fake_quantize_per_tensor_affine", _KINDS),
    MissingNames("", "empty_strided empty_permuted", "fg.empty"),
    MissingNames("", "from_file", "fg.from_numpy of a np.memmap"),
    MissingNames("", "geqrf orgqr ormqr", "fg.linalg.qr, which multiplies the reflections"),
    MissingNames("", "pca_lowrank svd_lowrank", "fg.linalg.svd"),
    MissingNames("", "lobpcg", "fg.linalg.eigh"),
    MissingNames("", "lu_unpack", "fg.linalg.lu"),
    MissingNames("", "get_num_interop_threads set_num_interop_threads", "fg.set_num_threads"),
    MissingNames("", "set_flush_denormal set_warn_always", "nothing: there is no such switch"),
    MissingNames("", "narrow_copy", "fg.narrow(x, axis, start, length).clone()"),
    MissingNames("", "unsafe_chunk", "fg.chunk"),
    MissingNames("", "conj_physical resolve_conj", "fg.conj"),
    MissingNames("", "sym_int sym_float sym_max sym_min sym_not", "Python's own functions"),
    MissingNames("", "signal", "ferrograd.scipy.signal"),
    MissingNames("", "constant_pad_nd", "nn.functional.pad"),
    MissingNames("", "affine_grid_generator", "nn.functional.affine_grid"),
    MissingNames("", "dropout_ feature_dropout adaptive_avg_pool1d adaptive_max_pool1d", _LAYERS),
    MissingNames("", "nll_loss hinge_embedding_loss margin_ranking_loss", _LAYERS),
    MissingNames("", "cosine_embedding_loss native_layer_norm", _LAYERS),
    MissingNames("", "compiler _dynamo _inductor", _COMPILE),
    MissingNames("", "library overrides", "fg.Function, or fg.primitive"),
    MissingNames("", "cpu mtia monitor", _CPU),
    MissingNames("", "masked nested", "a mask: fg.where, or where= of a reduction"),
    MissingNames("", "version torch_version", "fg.__version__, and fg.show_config()"),
    MissingNames("", "types return_types layout strided memory_format", "NumPy's and Python's own"),
    MissingNames("", "FloatTensor DoubleTensor LongTensor IntTensor BoolTensor", _OF_VALUES),
    MissingNames("", "HalfTensor ByteTensor CharTensor ShortTensor", _OF_VALUES),
    MissingNames("", "jit fx", _COMPILE),
    MissingNames("", "vmap", _BATCH),
    MissingNames(
        "", "use_deterministic_algorithms are_deterministic_algorithms_enabled", _SAME_BITS
    ),
    MissingNames("", "set_deterministic_debug_mode", _SAME_BITS),
    MissingNames("", "segment_reduce", "fg.scatter_reduce, or fg.index_add"),
    MissingNames("", "detach", "x.detach()"),
    MissingNames("", "svd qr", _LINALG),
    MissingNames("", "matrix_rank lstsq triangular_solve lu", _LINALG),
    MissingNames("", "chain_matmul", "fg.linalg.multi_dot"),
    MissingNames("", "binomial", "the generators of np.random"),
    MissingNames("", "layer_norm group_norm dropout conv1d conv2d conv3d avg_pool1d", _LAYERS),
    MissingNames("", "max_pool1d max_pool2d cosine_similarity prelu threshold", _LAYERS),
    MissingNames("", "binary_cross_entropy_with_logits kl_div pixel_shuffle", _LAYERS),
    MissingNames("", "pairwise_distance rms_norm bilinear embedding_bag channel_shuffle", _LAYERS),
    MissingNames("", "conv_transpose1d conv_transpose2d max_pool3d hardshrink rrelu", _LAYERS),
    MissingNames("", "batch_norm instance_norm pixel_unshuffle triplet_margin_loss", _LAYERS),
    MissingNames("", "alpha_dropout poisson_nll_loss ctc_loss grid_sampler relu_ celu_", _LAYERS),
    MissingNames("", "solve symeig eig", _LINALG),
    MissingNames("", "lu_solve", "fg.linalg.lu_solve(lu, pivots, b), whose order is another"),
    MissingNames("", "range", "fg.arange, which ends before its end"),
    MissingNames("", "scalar_tensor", "fg.tensor"),
    MissingNames("", "rsub", "b - a"),
    MissingNames("", "fill", "fg.full_like"),
    MissingNames("", "igamma", "ferrograd.scipy.special.gammainc"),
    MissingNames("", "igammac", "ferrograd.scipy.special.gammaincc"),
    MissingNames("", "mvlgamma", "ferrograd.scipy.special.multigammaln"),
    MissingNames("", "initial_seed", "fg.manual_seed"),
    MissingNames("", "get_default_device", _CPU),
    MissingNames("", "set_default_tensor_type", "fg.set_default_dtype"),
    MissingNames("", "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell", "the layers of fg.nn"),
    MissingNames("", "pdist", "ferrograd.scipy.spatial"),
    MissingNames("", "hann_window hamming_window bartlett_window", "ferrograd.scipy.signal"),
    MissingNames("", "blackman_window kaiser_window", "ferrograd.scipy.signal"),
    MissingNames("", "set_printoptions", "np.set_printoptions"),
    MissingNames("", "testing", "np.testing"),
    MissingNames("", "Size", "tuple"),
    MissingNames("", "dtype", "np.dtype"),
    MissingNames("", "seed", "fg.manual_seed"),
    MissingNames("", "special", "ferrograd.scipy.special"),
    MissingNames("", "distributions", "ferrograd.scipy.stats"),
    MissingNames(
        "nn",
        "relu sigmoid softmax log_softmax softplus gelu silu elu selu celu",
        _LAYERS,
        library="JAX",
    ),
    MissingNames("nn", "leaky_relu one_hot", _LAYERS, library="JAX"),
    MissingNames(
        "",
        "random",
        "np.random.default_rng, or fg.manual_seed with fg.randn and fg.rand",
        library="JAX",
    ),
    MissingNames(
        "",
        "tree tree_util",
        "the transforms, which take dicts, lists and tuples as they are",
        library="JAX",
    ),
    MissingNames(
        "",
        "lax",
        "fg.scan, fg.fori_loop, fg.while_loop, fg.cond, and functions of NumPy's",
        library="JAX",
    ),
    MissingNames("", "config", "nothing: floats are double unless said otherwise", library="JAX"),
    MissingNames("", "device_put", "fg.tensor", library="JAX"),
    MissingNames("", "ops", "fg.index_add, or fg.scatter_reduce", library="JAX"),
    MissingNames(
        "", "custom_gradient", "fg.custom_vjp, fg.Function, or fg.primitive", library="JAX"
    ),
    MissingNames("", "remat", "fg.checkpoint", library="JAX"),
    MissingNames(
        "", "debug", "print, or fg.pure_callback inside of a compiled function", library="JAX"
    ),
    MissingNames(
        "", "block_until_ready", "nothing: an operation has computed when it returns", library="JAX"
    ),
    MissingNames("", "make_jaxpr", "fg.Graph, which shows what a function recorded", library="JAX"),
    MissingNames(
        "", "eval_shape", "the function itself, whose result has shape and dtype", library="JAX"
    ),
    MissingNames(
        "", "associative_scan", "fg.cumsum, fg.cumprod, fg.logcumsumexp, or fg.scan", library="JAX"
    ),
    MissingNames("", "pmap shard_map sharding experimental", "fg.distributed", library="JAX"),
    MissingNames(
        "",
        "devices local_devices device_count default_backend",
        "nothing: there is the CPU",
        library="JAX",
    ),
    MissingNames("", "device_get", "x.numpy()", library="JAX"),
    MissingNames("", "linear_transpose", "fg.vjp", library="JAX"),
    MissingNames("", "image", "nn.functional.interpolate", library="JAX"),
    MissingNames("", "Array", "fg.Tensor", library="JAX"),
    MissingNames("", "flatten_util", "ferrograd.misc.flatten", library="JAX"),
    MissingNames("", "dtypes", "NumPy's dtypes", library="JAX"),
    MissingNames(
        "",
        "effects_barrier clear_caches",
        "nothing: an operation has computed when it returns",
        library="JAX",
    ),
    MissingNames("", "process_index", "fg.distributed.get_rank", library="JAX"),
    MissingNames("", "disable_jit", "the function without fg.compile", library="JAX"),
    MissingNames(
        "",
        "default_matmul_precision",
        "nothing: products are computed in the dtype of the operands",
        library="JAX",
    ),
    MissingNames(
        "", "enable_x64", "nothing: floats are double unless said otherwise", library="JAX"
    ),
    MissingNames("", "stages", _COMPILE, library="JAX"),
    MissingNames("Tensor", "values indices", _PAIRS),
    MissingNames("Tensor", "squeeze_ unsqueeze_ t_ resize_", _SHAPE),
    MissingNames("Tensor", "cuda", "tensors live in main memory; leave it out"),
    MissingNames("Tensor", "bfloat16", "there is no bfloat16; use float()"),
    MissingNames("Tensor", "qr", "use fg.linalg.qr(x)"),
    MissingNames("Tensor", "svd", "use fg.linalg.svd(x)"),
    MissingNames("Tensor", "lu", "use fg.linalg.lu(x), or fg.linalg.lu_factor(x)"),
    MissingNames("Tensor", "hardshrink", "use nn.functional.hardshrink(x)"),
    MissingNames("Tensor", "put_", "use np.put(x, index, values), or x[index] = values"),
    MissingNames("Tensor", "apply_ map_", "use functions of whole tensors, or x[...] = values"),
    MissingNames(
        "Tensor", "resize_as_", "a tensor keeps its shape; use x = x.reshape(other.shape)"
    ),
    MissingNames("Tensor", "storage_offset", "use np.shares_memory, or x.is_contiguous()"),
    MissingNames("Tensor", "layout to_dense", "every tensor is dense; leave it out"),
    MissingNames("Tensor", "prelu", "use nn.functional.prelu(x, weight)"),
    MissingNames(
        "Tensor", "set_", "a tensor keeps its memory; use x.copy_(other), or x.data = other"
    ),
    MissingNames("Tensor", "storage untyped_storage", "use x.numpy(), which shares the memory"),
    MissingNames("Tensor", "lu_solve", "use fg.linalg.lu_solve(lu, pivots, x)"),
    MissingNames("Tensor", "triangular_solve", "use fg.linalg.solve_triangular(a, x)"),
    MissingNames("Tensor", "igamma", "use scipy.special.gammainc(x, other)"),
    MissingNames("Tensor", "mvlgamma", "use ferrograd.scipy.special.multigammaln(x, p)"),
    MissingNames(
        "Tensor", "at", "use x[index] = value on a copy, x.clone(), or x.index_put", library="JAX"
    ),
    MissingNames("Tensor", "block_until_ready", "leave it out: x has been computed", library="JAX"),
    MissingNames(
        "Tensor",
        "flat",
        "read x.reshape(-1)[i], and write np.put(x, i, values); of what lies in C order"
        " x.reshape(-1) is a view",
        library="NumPy",
    ),
    MissingNames("Tensor", "to_sparse", "there are no sparse tensors; use ferrograd.scipy.sparse"),
)


def get_hints(namespace: str) -> dict[str, tuple[str, str]]:
    """Returns, for each name, the library that has it and what to use instead.

    If two libraries have the name, the first entry of `MISSING` counts.
    """
    return {
        name: (missing.library, missing.hint.replace("{}", name.rstrip("_")))
        for missing in reversed(MISSING)  # The first entry overwrites later ones.
        if missing.namespace == namespace
        for name in missing.names.split()
    }
