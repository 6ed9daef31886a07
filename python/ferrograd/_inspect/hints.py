"""What to use instead of PyTorch's names that do not exist here.

Owns: the table and the `__getattr__` made of it. Never stands in for a name: `hasattr` stays False.
Invariant: a name in the table does not exist in its module, and what a hint names does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_LAYER = "nn.functional.{} in a Module of your own"
_WEIGHTS = "nn.functional.{} with Parameters in a Module of your own"
_LOSS = "nn.functional.{}"
_RECURRENT = "a loop over nn.Linear layers; fg.checkpoint keeps its memory small"
_CPU = "nothing: tensors live in main memory, and operations use threads by themselves"
_DTYPE = "float32; tensors have the dtypes of NumPy"
_FILES = "numpy.savez and numpy.load with the arrays of state_dict()"
_COMPILE = "fg.compile(f), which records f once and replays it"
_DERIVATIVES = "the transforms of the package: fg.grad, fg.vjp, fg.jvp, fg.jacobian, fg.hessian"


def _each(names: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), hint)


#: By module, then by name.
HINTS: dict[str, dict[str, str]] = {
    "utils": {"checkpoint": "fg.checkpoint"},
    "nn": {
        "Conv1d": _WEIGHTS.format("conv1d"),
        "Conv2d": _WEIGHTS.format("conv2d"),
        "ConvTranspose2d": _WEIGHTS.format("conv_transpose2d"),
        **_each("BatchNorm1d BatchNorm2d BatchNorm3d", _WEIGHTS.format("batch_norm")),
        "LayerNorm": _WEIGHTS.format("layer_norm"),
        "GroupNorm": _WEIGHTS.format("group_norm"),
        "RMSNorm": _WEIGHTS.format("rms_norm"),
        "Embedding": _WEIGHTS.format("embedding"),
        "MaxPool1d": _LAYER.format("max_pool1d"),
        "MaxPool2d": _LAYER.format("max_pool2d"),
        "AvgPool2d": _LAYER.format("avg_pool2d"),
        "AdaptiveAvgPool2d": _LAYER.format("adaptive_avg_pool2d"),
        "Dropout": "nn.functional.dropout(x, p, self.training) in a Module of your own",
        "Flatten": "fg.flatten(x, 1)",
        "Unflatten": "fg.reshape",
        **_each("RNN LSTM GRU RNNCell LSTMCell GRUCell", _RECURRENT),
        **_each(
            "MultiheadAttention Transformer TransformerEncoder TransformerEncoderLayer"
            " TransformerDecoder TransformerDecoderLayer",
            _WEIGHTS.format("scaled_dot_product_attention"),
        ),
        "BCELoss": _LOSS.format("binary_cross_entropy"),
        "BCEWithLogitsLoss": _LOSS.format("binary_cross_entropy_with_logits"),
        "L1Loss": _LOSS.format("l1_loss"),
        "SmoothL1Loss": _LOSS.format("smooth_l1_loss"),
        "HuberLoss": _LOSS.format("huber_loss"),
        "NLLLoss": _LOSS.format("nll_loss"),
        "KLDivLoss": _LOSS.format("kl_div"),
        "CosineSimilarity": _LOSS.format("cosine_similarity"),
        "CELU": _LAYER.format("celu"),
        "SELU": _LAYER.format("selu"),
        "Mish": _LAYER.format("mish"),
        "Hardtanh": _LAYER.format("hardtanh"),
        "Hardswish": _LAYER.format("hardswish"),
        "Hardsigmoid": _LAYER.format("hardsigmoid"),
        "LogSigmoid": _LAYER.format("logsigmoid"),
        "Softsign": _LAYER.format("softsign"),
        **_each("ParameterList ParameterDict", "Module.register_parameter, under names of yours"),
        **_each("DataParallel parallel", _CPU),
        "Buffer": "Module.register_buffer",
        "utils": "fg.linalg.norm over the gradients of module.parameter_gradients()",
    },
    "nn.functional": {
        "normalize": "x / fg.linalg.norm(x, axis=-1, keepdims=True)",
        "softmin": "nn.functional.softmax(-x)",
        "glu": "nn.functional.sigmoid of one half times the other, by fg.split",
        "gumbel_softmax": "nn.functional.softmax of the logits plus -log(-log(fg.rand(...)))",
        **_each("conv3d conv_transpose1d conv_transpose3d", "nn.functional.conv2d and fg.reshape"),
        **_each("interpolate upsample", "fg.repeat, or a product with a matrix of weights"),
        "instance_norm": "nn.functional.group_norm with one group for each channel",
    },
    "optim": {
        **_each("Adafactor SparseAdam", "optim.Adam"),
        "swap_in_optimizer_params_and_state": _COMPILE,
    },
    "": {
        **_each("cuda mps xpu backends distributed set_default_device", _CPU),
        "bfloat16": _DTYPE,
        "half": "float16",
        "short": "int16",
        "cfloat": "complex64",
        "cdouble": "complex128",
        **_each("FloatTensor DoubleTensor LongTensor IntTensor BoolTensor", "fg.tensor"),
        **_each("save load", _FILES),
        **_each("jit fx", _COMPILE),
        **_each("func vmap", _DERIVATIVES),
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
