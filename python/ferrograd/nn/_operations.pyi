# Written by tools/stubs.py from the registry and tools/_core_classes.pyi; edit those.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from ferrograd._core import Tensor, _Axes, _Shape, _TensorLike

def _hardshrink(x: _TensorLike, lambd: _float = 0.5, *, out: Any = None, name: str | None = None) -> Tensor: """0 where `|x| <= lambd`, else `x`. Derivative: 0 there, `g` elsewhere."""
def _prelu(x: _TensorLike, weight: _TensorLike, *, out: Any = None, name: str | None = None) -> Tensor: """`x` above zero, `weight x` elsewhere. Derivatives: `g`, or `g weight`; and `g x` where `x` is not above zero."""
def _softshrink(x: _TensorLike, lambd: _float = 0.5, *, out: Any = None, name: str | None = None) -> Tensor: """`x` moved towards 0 by `lambd`, at most to 0. Derivative: `g` where `|x| > lambd`, 0 elsewhere."""
def _threshold(x: _TensorLike, threshold: _float, value: _float, *, out: Any = None, name: str | None = None) -> Tensor: """`value` up to the threshold, else `x`. Derivative: 0 there, `g` elsewhere."""
def rope(x: _TensorLike, positions: _TensorLike | None = None, base: _float = 10000.0, interleaved: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Rotary positions on (…, L, E): pair `i` of the last axis turns by `position / base^(2i/E)`; pairs are the two halves, or neighbours with interleaved=True; positions count from 0 unless given. Derivative: `g` turned back."""
def _scaled_dot_product_attention(query: _TensorLike, key: _TensorLike, value: _TensorLike, attn_mask: _TensorLike | None = None, is_causal: _bool = False, scale: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`softmax(q kᵀ scale + mask) v` for queries (…, L, E), keys (…, S, E) and values (…, S, V); `scale` is 1/sqrt(E) unless given; a boolean mask says which keys are seen, is_causal those up to the query's position. Derivatives: those of its parts."""
def conv1d(x: _TensorLike, weight: _TensorLike, bias: _TensorLike | None = None, stride: _Shape = 1, padding: _Shape | str = 0, dilation: _Shape = 1, groups: _int = 1, *, out: Any = None, name: str | None = None) -> Tensor: """Convolution of sequences (N, C, L) with kernels (O, C / groups, k), as in PyTorch: a cross-correlation; padding may be a rule, `valid` or `same`. Derivatives: `g` spread back through the weight, and the products of `g` with the windows of `x`."""
def conv2d(x: _TensorLike, weight: _TensorLike, bias: _TensorLike | None = None, stride: _Shape = 1, padding: _Shape | str = 0, dilation: _Shape = 1, groups: _int = 1, *, out: Any = None, name: str | None = None) -> Tensor: """Convolution of images (N, C, H, W) with kernels (O, C / groups, kh, kw), as in PyTorch: a cross-correlation; padding may be a rule, `valid` or `same`. Derivatives: `g` spread back through the weight, and the products of `g` with the windows of `x`."""
def conv_transpose2d(x: _TensorLike, weight: _TensorLike, bias: _TensorLike | None = None, stride: _Shape = 1, padding: _Shape = 0, output_padding: _Shape = 0, groups: _int = 1, dilation: _Shape = 1, *, out: Any = None, name: str | None = None) -> Tensor: """Images (N, C, H, W) spread through kernels (C, O / groups, kh, kw): the adjoint of `conv2d`. Derivatives: the convolution of `g`, and the products of the windows of `g` with `x`."""
def dropout_mask(x: _TensorLike, mask: _TensorLike, p: _float = 0.5, *, out: Any = None, name: str | None = None) -> Tensor: """`x` where the mask holds, divided by the share `1 - p` that is kept, 0 elsewhere. Derivative: the same of `g`."""
def linear(x: _TensorLike, weight: _TensorLike, bias: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`x weight + bias` over the last axis of `x`; the weight is (in, out), the bias (out). Derivatives: `g weightᵀ`, `xᵀ g` and `g` summed over the rows."""
def euclidean_distances(x1: _TensorLike, x2: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Distances of all pairs of rows, `√Σ_k (x1_ik - x2_jk)²`: (…, n, d) and (…, m, d) to (…, n, m); of one matrix (n, d), each row with the later ones. Derivatives: with `w = g / distance`, and 0 where that is 0, `Σ_j w_ij (x1_i - x2_j)` and `Σ_i w_ij (x2_j - x1_i)`."""
def binary_cross_entropy(x: _TensorLike, target: _TensorLike, weight: _TensorLike | None = None, reduction: str = "mean", *, out: Any = None, name: str | None = None) -> Tensor: """Cross entropy of probabilities `x` against targets in 0..1; logarithms are limited to -100; an `x` outside 0..1 is refused. Derivative: `g (x - target) / (x (1 - x))`."""
def binary_cross_entropy_with_logits(x: _TensorLike, target: _TensorLike, weight: _TensorLike | None = None, reduction: str = "mean", pos_weight: _TensorLike | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Cross entropy of the sigmoid of logits `x` against targets in 0..1; `pos_weight` multiplies the loss of positive targets. Derivative: `g (sigmoid(x) - target)`."""
def cosine_similarity(x1: _TensorLike, x2: _TensorLike, axis: _int = 1, eps: _float = 1e-08, *, out: Any = None, name: str | None = None) -> Tensor: """The cosine of the angle between vectors along an axis; lengths count as at least `eps`. Derivative: that of `x1·x2 / (|x1| |x2|)`, finite at zero."""
def cross_entropy(x: _TensorLike, target: _TensorLike, weight: _TensorLike | None = None, ignore_index: _int = -100, reduction: str = "mean", label_smoothing: _float = 0.0, *, out: Any = None, name: str | None = None) -> Tensor: """Cross entropy of the softmax of logits (rows, classes, …) against class numbers (rows, …) or probabilities of the logits' shape; rows with the number `ignore_index` do not count, `weight` has one element per class and the mean divides by the weights that count. Derivative: `g (softmax(x) - target)`, over that divisor for the mean."""
def _huber_loss(x: _TensorLike, target: _TensorLike, reduction: str = "mean", delta: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """`d² / 2` up to `delta` and `delta (|d| - delta / 2)` beyond, `d = x - target`. Derivative: `g` times `d` limited to ±delta."""
def kl_div(x: _TensorLike, target: _TensorLike, reduction: str = "mean", log_target: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """Kullback-Leibler divergence of log-probabilities `x` from `target`, probabilities or (log_target) their logarithms; "batchmean" divides the sum by the first dimension, where there is one. Derivative: `-g target`."""
def _l1_loss(x: _TensorLike, target: _TensorLike, reduction: str = "mean", *, out: Any = None, name: str | None = None) -> Tensor: """Absolute differences: their mean, their sum, or all of them. Derivative: `g sign(x - target)`, 0 where they are equal, over n for the mean."""
def _mse_loss(x: _TensorLike, target: _TensorLike, reduction: str = "mean", *, out: Any = None, name: str | None = None) -> Tensor: """Squared differences: their mean, their sum, or all of them. Derivative: `2 g (x - target)`, over n for the mean."""
def nll_loss(x: _TensorLike, target: _TensorLike, weight: _TensorLike | None = None, ignore_index: _int = -100, reduction: str = "mean", *, out: Any = None, name: str | None = None) -> Tensor: """Negative log likelihood: minus the log-probability (rows, classes, …) of each class number (rows, …), with the weights and ignored rows of `cross_entropy`. Derivative: `-g` at the numbers."""
def smooth_l1_loss(x: _TensorLike, target: _TensorLike, reduction: str = "mean", beta: _float = 1.0, *, out: Any = None, name: str | None = None) -> Tensor: """`d² / (2 beta)` below `beta` and `|d| - beta / 2` from there, `d = x - target`. Derivative: `g d / beta`, and `g sign(d)`."""
def batch_norm(x: _TensorLike, running_mean: _TensorLike | None = None, running_var: _TensorLike | None = None, weight: _TensorLike | None = None, bias: _TensorLike | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05, *, out: Any = None, name: str | None = None) -> Tensor: """Normalises each channel (axis 1) over all rows: with the batch's mean and variance while training, moving the running ones (in place) towards them, else with the running ones; then one weight and bias per channel. Derivative: as that of `layer_norm` while training, else `g weight / sqrt(var + eps)`."""
def group_norm(x: _TensorLike, num_groups: _int, weight: _TensorLike | None = None, bias: _TensorLike | None = None, eps: _float = 1e-05, *, out: Any = None, name: str | None = None) -> Tensor: """`layer_norm` of groups of channels (axis 1) of each row, then one weight and bias per channel. Derivative: as that of `layer_norm`."""
def layer_norm(x: _TensorLike, normalized_shape: _Shape, weight: _TensorLike | None = None, bias: _TensorLike | None = None, eps: _float = 1e-05, *, out: Any = None, name: str | None = None) -> Tensor: """`(x - mean) / sqrt(var + eps) weight + bias` over the last dimensions, whose sizes are `normalized_shape`. Derivative: `r (g - mean(g) - y mean(g y))` with `r` the reciprocal deviation and `y` the normalised rows."""
def rms_norm(x: _TensorLike, normalized_shape: _Shape, weight: _TensorLike | None = None, eps: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """`x / sqrt(mean(x²) + eps) weight` over the last dimensions, whose sizes are `normalized_shape`; eps is the machine epsilon unless given. Derivative: `r (g - y mean(g y))`."""
def pad(x: _TensorLike, pad: _Shape, mode: str = "constant", value: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """PyTorch's pad: widths in pairs, the last axis first, of which negative ones crop; `mode` is constant, reflect, replicate or circular."""
def _adaptive_avg_pool2d(x: _TensorLike, output_size: _Shape, *, out: Any = None, name: str | None = None) -> Tensor: """Means of the windows that divide the last two axes into `output_size` parts. Derivative: `g` shared by the window."""
def avg_pool2d(x: _TensorLike, kernel_size: _Shape, stride: _Shape | None = None, padding: _Shape = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _float | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Mean of windows over the last two axes, with the padding as zeros unless count_include_pad=False, or the sum over `divisor_override`; stride is the window's size unless given. Derivative: `g` shared by the window."""
def max_pool1d(x: _TensorLike, kernel_size: _Shape, stride: _Shape | None = None, padding: _Shape = 0, dilation: _Shape = 1, ceil_mode: _bool = False, return_indices: _bool = False, *, out: Any = None, name: str | None = None) -> Any: """Largest element of windows along the last axis; stride is the window's size unless given; with return_indices also the place of each in its plane. Derivative: `g` to the largest, the first of equals."""
def max_pool2d(x: _TensorLike, kernel_size: _Shape, stride: _Shape | None = None, padding: _Shape = 0, dilation: _Shape = 1, ceil_mode: _bool = False, return_indices: _bool = False, *, out: Any = None, name: str | None = None) -> Any: """Largest element of windows over the last two axes; stride is the window's size unless given; with return_indices also the place of each in its plane. Derivative: `g` to the largest, the first of equals."""
def gru_sequence(x: _TensorLike, h: _TensorLike, weight: _TensorLike, bias: _TensorLike, reverse: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """All steps of a GRU: `r` and `z` are sigmoids of the first parts of `x_t + h weightᵀ`, `n = tanh(x_n + r (h weightᵀ_n + bias))`, `h' = n + z (h - n)`. x is (T, N, 3H), h (N, H), the weight (3H, H), the bias (H); the result is h' at all times, (T, N, H). `reverse` begins with the last. Derivative: the chain rule from step to step."""
def lstm_sequence(x: _TensorLike, h: _TensorLike, weight: _TensorLike, c: _TensorLike, reverse: _bool = False, *, out: Any = None, name: str | None = None) -> list[Tensor]: """All steps of an LSTM: `i, f, g, o` are the parts of `x_t + h weightᵀ`, `c' = σ(f) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`. x is (T, N, 4H), the states (N, H), the weight (4H, H); the results are h' and c' at all times, (T, N, H). `reverse` begins with the last. Derivative: the chain rule from step to step."""
def grid_sample(x: _TensorLike, grid: _TensorLike, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: _bool | None = None, *, out: Any = None, name: str | None = None) -> Tensor: """Images (N, C, H, W) at the places of a grid (N, h, w, 2), from -1 to 1 along each axis, the last axis first; volumes with a grid (N, d, h, w, 3). Outside there are zeros, the nearest element ("border") or the mirrored image ("reflection"). Derivatives: by the image, the weights of `g`; by the grid, the slopes between elements."""
def interpolate_axis(x: _TensorLike, axis: _int, size: _int, scale: _float, mode: str = "linear", align_corners: _bool = False, *, out: Any = None, name: str | None = None) -> Tensor: """One axis with `size` elements, each `scale` of the old ones wide: the nearest of these ("nearest", or "nearest-exact" from the middle), lines between them ("linear") or cubic convolution ("cubic"); with `align_corners` the first and last elements keep their places. Derivative: the transposed weights of `g`."""

__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "cosine_similarity",
    "cross_entropy",
    "dropout_mask",
    "euclidean_distances",
    "grid_sample",
    "group_norm",
    "gru_sequence",
    "hardshrink",
    "huber_loss",
    "interpolate_axis",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "lstm_sequence",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "pad",
    "prelu",
    "rms_norm",
    "rope",
    "scaled_dot_product_attention",
    "smooth_l1_loss",
    "softshrink",
    "threshold",
]
