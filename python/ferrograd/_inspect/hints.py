"""What to use instead of PyTorch's names that do not exist here.

Owns: the table and the `__getattr__` made of it. Never stands in for a name: `hasattr` stays False.
Invariant: a name in the table does not exist in its module, and what a hint names does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_LAZY = "a lazy layer, nn.LazyLinear, which has no parameters before its first call"
_CPU = "nothing: tensors live in main memory, and operations use threads by themselves"
_DTYPE = "float32; tensors have the dtypes of NumPy"
_LINALG = "fg.linalg, or np.linalg and ferrograd.scipy.linalg"
_LAYERS = "nn.functional"
_NUMPY = "NumPy's function, which takes tensors"
_COMPILE = "fg.compile(f), which records f once and replays it"
_DERIVATIVES = "the transforms of the package: fg.grad, fg.vjp, fg.jvp, fg.jacobian, fg.hessian"


def _each(names: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), hint)


#: By module, then by name.
HINTS: dict[str, dict[str, str]] = {
    "nn": {
        **_each("DataParallel parallel", _CPU),
        **_each("UninitializedParameter UninitializedBuffer", _LAZY),
    },
    "nn.functional": {
        "conv_tbc": "nn.functional.conv1d",
        "multi_head_attention_forward": "nn.MultiheadAttention",
    },
    "func": {
        **_each("vmap jacfwd linearize stack_module_state", "fg.jacobian, or fg.jvp"),
    },
    "optim": {
        **_each("Adafactor SparseAdam", "optim.Adam"),
        "swap_in_optimizer_params_and_state": _COMPILE,
    },
    "": {
        **_each("mps xpu set_default_device", _CPU),
        **_each("bfloat16 amp autocast", _DTYPE),
        **_each("FloatTensor DoubleTensor LongTensor IntTensor BoolTensor", "fg.tensor"),
        **_each("jit fx", _COMPILE),
        "vmap": _DERIVATIVES,
        "detach": "x.detach()",
        **_each("svd qr", _LINALG),
        **_each("matrix_rank lstsq triangular_solve lu", _LINALG),
        "chain_matmul": "fg.linalg.multi_dot",
        "binomial": "the generators of np.random",
        **_each("layer_norm group_norm dropout conv1d conv2d conv3d avg_pool1d", _LAYERS),
        **_each("max_pool1d max_pool2d cosine_similarity prelu threshold", _LAYERS),
        **_each("binary_cross_entropy_with_logits kl_div pixel_shuffle", _LAYERS),
        **_each("unravel_index vander frexp gradient", _NUMPY),
        "pdist": "ferrograd.scipy.spatial",
        **_each("stft istft hann_window hamming_window", "ferrograd.scipy.signal"),
        "cumulative_trapezoid": "ferrograd.scipy.integrate",
        "set_printoptions": "np.set_printoptions",
        "testing": "np.testing",
        "Size": "tuple",
        "dtype": "np.dtype",
        "seed": "fg.manual_seed",
        "special": "ferrograd.scipy.special",
        "distributions": "ferrograd.scipy.stats",
    },
}


def missing(module: str, name: str) -> NoReturn:
    """Raises the error of a name that a module of the package does not have."""
    home = f"ferrograd.{module}" if module else "ferrograd"
    hint = HINTS.get(module, {}).get(name)
    said = f"; PyTorch has it, here use {hint}" if hint else ""
    raise AttributeError(f"module {home!r} has no attribute {name!r}{said}")


def getter(module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module of the package."""

    def find(name: str) -> Any:
        missing(module, name)

    return find
