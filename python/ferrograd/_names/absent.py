"""Names of other libraries' that do not exist here, and what to use instead.

Invariant: what a hint names exists.
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


class Absent(NamedTuple):
    """Names that a module of the package, or the class of tensors, does not have."""

    #: The module below the package, or "Tensor".
    space: str
    #: Separated by spaces.
    names: str
    #: What to use; `{}` stands for the name without its underscore.
    hint: str
    library: str = "PyTorch"


ABSENT = (
    Absent("nn", "DataParallel parallel", _CPU),
    Absent("nn", "modules parameter", "the classes of fg.nn themselves, as nn.Parameter"),
    Absent("nn", "UninitializedParameter UninitializedBuffer", _LAZY),
    Absent("nn", "CrossMapLRN2d", "nn.LocalResponseNorm"),
    Absent("nn", "NLLLoss2d", "nn.NLLLoss"),
    Absent("nn", "Container", "nn.Module"),
    Absent("nn", "RNNBase", "nn.RNN, nn.LSTM and nn.GRU"),
    Absent("nn", "attention", "nn.functional.scaled_dot_product_attention"),
    Absent("nn", "quantized quantizable qat intrinsic", _KINDS),
    Absent("nn.utils", "stateless", "fg.func.functional_call"),
    Absent("nn.utils", "clip_grad_norm", "nn.utils.clip_grad_norm_"),
    Absent("nn.utils", "prune", "nn.utils.parametrize, with a mask in a module"),
    Absent(
        "nn.utils",
        "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights fusion",
        "the two layers in a row",
    ),
    Absent("utils", "tensorboard", "a package that writes its files, such as tensorboardX"),
    Absent("utils", "cpp_extension", "fg.Function, with whatever computes in its forward"),
    Absent("utils", "benchmark", "Python's timeit"),
    Absent("utils", "dlpack", "fg.from_dlpack, and np.from_dlpack(t)"),
    Absent("nn.functional", "conv_tbc", "nn.functional.conv1d"),
    Absent("nn.functional", "multi_head_attention_forward", "nn.MultiheadAttention"),
    Absent("nn.functional", "upsample_nearest upsample_bilinear", "nn.functional.interpolate"),
    Absent("nn.functional", "native_channel_shuffle", "nn.functional.channel_shuffle"),
    Absent("nn.functional", "grouped_mm", "fg.matmul of a batch"),
    Absent("autograd", "Variable variable", "fg.tensor(values, requires_grad=True)"),
    Absent("autograd", "forward_ad", "fg.jvp"),
    Absent("autograd", "profiler", "Python's cProfile"),
    Absent("autograd", "anomaly_mode", "fg.detect_anomaly"),
    Absent("func", "vmap", _BATCH),
    Absent("func", "jacfwd linearize", "fg.jacobian, or fg.jvp"),
    Absent("func", "functionalize", "nothing: changes in place are recorded"),
    Absent("func", "stack_module_state", "fg.stack of the parameters, and products of batches"),
    Absent("linalg", "householder_product", "fg.linalg.qr, which multiplies the reflections"),
    Absent("linalg", "ldl_factor ldl_factor_ex ldl_solve", "ferrograd.scipy.linalg.ldl"),
    Absent("optim", "Adafactor", "optim.Adam, whose state is as large as the parameters"),
    Absent("optim", "SparseAdam", "optim.Adam: there are no sparse gradients"),
    Absent("optim", "swap_in_optimizer_params_and_state", _COMPILE),
    Absent("", "mps xpu set_default_device", _CPU),
    Absent("", "bfloat16", _DTYPE),
    Absent("", "channels_last contiguous_format preserve_format", "nothing: arrays are in C order"),
    Absent("", "set_float32_matmul_precision", "nothing: float32 is computed in float32"),
    Absent("", "profiler", "Python's cProfile"),
    Absent("", "onnx", "fg.save_state, whose files are safetensors"),
    Absent("", "sparse sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor", _SPARSE),
    Absent("", "sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor", _SPARSE),
    Absent("", "smm hspmm sspaddmm", _SPARSE),
    Absent("", "multiprocessing futures", "Python's multiprocessing, and fg.distributed"),
    Absent("", "hub package export storage", _FILES),
    Absent("", "ao quantization quantize_per_tensor quantize_per_channel dequantize", _KINDS),
    Absent("", "qint8 quint8 fake_quantize_per_tensor_affine", _KINDS),
    Absent("", "empty_strided empty_permuted", "fg.empty"),
    Absent("", "from_file", "fg.from_numpy of a np.memmap"),
    Absent("", "geqrf orgqr ormqr", "fg.linalg.qr, which multiplies the reflections"),
    Absent("", "pca_lowrank svd_lowrank", "fg.linalg.svd"),
    Absent("", "lobpcg", "fg.linalg.eigh"),
    Absent("", "lu_unpack", "fg.linalg.lu"),
    Absent("", "get_num_interop_threads set_num_interop_threads", "fg.set_num_threads"),
    Absent("", "set_flush_denormal set_warn_always", "nothing: there is no such switch"),
    Absent("", "narrow_copy", "fg.narrow(x, axis, start, length).clone()"),
    Absent("", "unsafe_chunk", "fg.chunk"),
    Absent("", "conj_physical resolve_conj", "fg.conj"),
    Absent("", "sym_int sym_float sym_max sym_min sym_not", "Python's own functions"),
    Absent("", "signal", "ferrograd.scipy.signal"),
    Absent("", "constant_pad_nd", "nn.functional.pad"),
    Absent("", "affine_grid_generator", "nn.functional.affine_grid"),
    Absent("", "dropout_ feature_dropout adaptive_avg_pool1d adaptive_max_pool1d", _LAYERS),
    Absent("", "nll_loss hinge_embedding_loss margin_ranking_loss", _LAYERS),
    Absent("", "cosine_embedding_loss native_layer_norm", _LAYERS),
    Absent("", "compiler _dynamo _inductor", _COMPILE),
    Absent("", "library overrides", "fg.Function, or fg.primitive"),
    Absent("", "cpu mtia monitor", _CPU),
    Absent("", "masked nested", "a mask: fg.where, or where= of a reduction"),
    Absent("", "version torch_version", "fg.__version__, and fg.show_config()"),
    Absent("", "types return_types layout strided memory_format", "NumPy's and Python's own"),
    Absent("", "FloatTensor DoubleTensor LongTensor IntTensor BoolTensor", _OF_VALUES),
    Absent("", "HalfTensor ByteTensor CharTensor ShortTensor", _OF_VALUES),
    Absent("", "jit fx", _COMPILE),
    Absent("", "vmap", _BATCH),
    Absent("", "use_deterministic_algorithms are_deterministic_algorithms_enabled", _SAME_BITS),
    Absent("", "set_deterministic_debug_mode", _SAME_BITS),
    Absent("", "segment_reduce", "fg.scatter_reduce, or fg.index_add"),
    Absent("", "detach", "x.detach()"),
    Absent("", "svd qr", _LINALG),
    Absent("", "matrix_rank lstsq triangular_solve lu", _LINALG),
    Absent("", "chain_matmul", "fg.linalg.multi_dot"),
    Absent("", "binomial", "the generators of np.random"),
    Absent("", "layer_norm group_norm dropout conv1d conv2d conv3d avg_pool1d", _LAYERS),
    Absent("", "max_pool1d max_pool2d cosine_similarity prelu threshold", _LAYERS),
    Absent("", "binary_cross_entropy_with_logits kl_div pixel_shuffle", _LAYERS),
    Absent("", "pairwise_distance rms_norm bilinear embedding_bag channel_shuffle", _LAYERS),
    Absent("", "conv_transpose1d conv_transpose2d max_pool3d hardshrink rrelu", _LAYERS),
    Absent("", "batch_norm instance_norm pixel_unshuffle triplet_margin_loss", _LAYERS),
    Absent("", "alpha_dropout poisson_nll_loss ctc_loss grid_sampler relu_ celu_", _LAYERS),
    Absent("", "solve symeig eig", _LINALG),
    Absent("", "lu_solve", "fg.linalg.lu_solve(lu, pivots, b), whose order is another"),
    Absent("", "range", "fg.arange, which ends before its end"),
    Absent("", "scalar_tensor", "fg.tensor"),
    Absent("", "rsub", "b - a"),
    Absent("", "fill", "fg.full_like"),
    Absent("", "igamma", "ferrograd.scipy.special.gammainc"),
    Absent("", "igammac", "ferrograd.scipy.special.gammaincc"),
    Absent("", "mvlgamma", "ferrograd.scipy.special.multigammaln"),
    Absent("", "initial_seed", "fg.manual_seed"),
    Absent("", "get_default_device", _CPU),
    Absent("", "set_default_tensor_type", "fg.set_default_dtype"),
    Absent("", "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell", "the layers of fg.nn"),
    Absent("", "jacfwd jacrev", "fg.jacobian"),
    Absent("", "pdist", "ferrograd.scipy.spatial"),
    Absent("", "hann_window hamming_window bartlett_window", "ferrograd.scipy.signal"),
    Absent("", "blackman_window kaiser_window", "ferrograd.scipy.signal"),
    Absent("", "set_printoptions", "np.set_printoptions"),
    Absent("", "testing", "np.testing"),
    Absent("", "Size", "tuple"),
    Absent("", "dtype", "np.dtype"),
    Absent("", "seed", "fg.manual_seed"),
    Absent("", "special", "ferrograd.scipy.special"),
    Absent("", "distributions", "ferrograd.scipy.stats"),
    Absent(
        "nn",
        "relu sigmoid softmax log_softmax softplus gelu silu elu selu celu",
        _LAYERS,
        library="JAX",
    ),
    Absent("nn", "leaky_relu one_hot", _LAYERS, library="JAX"),
    Absent(
        "",
        "random",
        "np.random.default_rng, or fg.manual_seed with fg.randn and fg.rand",
        library="JAX",
    ),
    Absent(
        "",
        "tree tree_util",
        "the transforms, which take dicts, lists and tuples as they are",
        library="JAX",
    ),
    Absent(
        "",
        "lax",
        "fg.scan, fg.fori_loop, fg.while_loop, fg.cond, and functions of NumPy's",
        library="JAX",
    ),
    Absent("", "config", "nothing: floats are double unless said otherwise", library="JAX"),
    Absent("", "device_put", "fg.tensor", library="JAX"),
    Absent("", "ops", "fg.index_add, or fg.scatter_reduce", library="JAX"),
    Absent(
        "", "custom_vjp custom_jvp custom_gradient", "fg.Function, or fg.primitive", library="JAX"
    ),
    Absent("", "linearize", "fg.make_jvp", library="JAX"),
    Absent("", "remat", "fg.checkpoint", library="JAX"),
    Absent("", "debug", "print, or fg.pure_callback inside of a compiled function", library="JAX"),
    Absent(
        "", "block_until_ready", "nothing: an operation has computed when it returns", library="JAX"
    ),
    Absent("", "make_jaxpr", "fg.Graph, which shows what a function recorded", library="JAX"),
    Absent(
        "", "eval_shape", "the function itself, whose result has shape and dtype", library="JAX"
    ),
    Absent(
        "", "associative_scan", "fg.cumsum, fg.cumprod, fg.logcumsumexp, or fg.scan", library="JAX"
    ),
    Absent("", "pmap shard_map sharding experimental", "fg.distributed", library="JAX"),
    Absent(
        "",
        "devices local_devices device_count default_backend",
        "nothing: there is the CPU",
        library="JAX",
    ),
    Absent("", "stop_gradient", "x.detach()", library="JAX"),
    Absent("", "device_get", "x.numpy()", library="JAX"),
    Absent("", "linear_transpose", "fg.vjp", library="JAX"),
    Absent("", "image", "nn.functional.interpolate", library="JAX"),
    Absent("", "Array", "fg.Tensor", library="JAX"),
    Absent("", "flatten_util", "ferrograd.misc.flatten", library="JAX"),
    Absent("", "dtypes", "NumPy's dtypes", library="JAX"),
    Absent(
        "",
        "effects_barrier clear_caches",
        "nothing: an operation has computed when it returns",
        library="JAX",
    ),
    Absent("", "process_index", "fg.distributed.get_rank", library="JAX"),
    Absent("", "disable_jit", "the function without fg.compile", library="JAX"),
    Absent(
        "",
        "default_matmul_precision",
        "nothing: products are computed in the dtype of the operands",
        library="JAX",
    ),
    Absent("", "enable_x64", "nothing: floats are double unless said otherwise", library="JAX"),
    Absent("", "stages", _COMPILE, library="JAX"),
    Absent("Tensor", "values indices", _PAIRS),
    Absent("Tensor", "squeeze_ unsqueeze_ t_ resize_", _SHAPE),
    Absent("Tensor", "cuda", "tensors live in main memory; leave it out"),
    Absent("Tensor", "bfloat16", "there is no bfloat16; use float()"),
    Absent("Tensor", "qr", "use fg.linalg.qr(x)"),
    Absent("Tensor", "svd", "use fg.linalg.svd(x)"),
    Absent("Tensor", "lu", "use fg.linalg.lu(x), or fg.linalg.lu_factor(x)"),
    Absent("Tensor", "hardshrink", "use nn.functional.hardshrink(x)"),
    Absent("Tensor", "put_", "use np.put(x, index, values), or x[index] = values"),
    Absent("Tensor", "apply_ map_", "use functions of whole tensors, or x[...] = values"),
    Absent("Tensor", "resize_as_", "a tensor keeps its shape; use x = x.reshape(other.shape)"),
    Absent("Tensor", "storage_offset", "use np.shares_memory, or x.is_contiguous()"),
    Absent("Tensor", "layout to_dense", "every tensor is dense; leave it out"),
    Absent("Tensor", "prelu", "use nn.functional.prelu(x, weight)"),
    Absent("Tensor", "set_", "a tensor keeps its memory; use x.copy_(other), or x.data = other"),
    Absent("Tensor", "storage untyped_storage", "use x.numpy(), which shares the memory"),
    Absent("Tensor", "lu_solve", "use fg.linalg.lu_solve(lu, pivots, x)"),
    Absent("Tensor", "triangular_solve", "use fg.linalg.solve_triangular(a, x)"),
    Absent("Tensor", "igamma", "use scipy.special.gammainc(x, other)"),
    Absent("Tensor", "mvlgamma", "use ferrograd.scipy.special.multigammaln(x, p)"),
    Absent(
        "Tensor", "at", "use x[index] = value on a copy, x.clone(), or x.index_put", library="JAX"
    ),
    Absent("Tensor", "block_until_ready", "leave it out: x has been computed", library="JAX"),
    Absent(
        "Tensor",
        "flat",
        "read x.reshape(-1)[i], and write np.put(x, i, values); of what lies in C order"
        " x.reshape(-1) is a view",
        library="NumPy",
    ),
    Absent("Tensor", "to_sparse", "there are no sparse tensors; use ferrograd.scipy.sparse"),
)


def hints(space: str) -> dict[str, tuple[str, str]]:
    """By name: the library that has it, and what to use."""
    return {
        name: (row.library, row.hint.replace("{}", name.rstrip("_")))
        for row in reversed(ABSENT)  # A name of two libraries is that of the first row.
        if row.space == space
        for name in row.names.split()
    }
