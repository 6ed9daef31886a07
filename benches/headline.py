"""The rows of `make bench ARGS=--headline`: a few of every kind that the documentation has."""

#: By file of `cases`: the names of rows, of which every number of threads is timed.
HEADLINE = {
    "small": (
        "a + b, no grad",
        "a + b, recorded",
        "a * 2.0, recorded",
        "a.sin(), recorded",
        "(a * b).backward()",
    ),
    "function": ("Function: forward + backward",),
    "chain": ("chain of 1 000: forward + backward, per operation",),
    "mlp": ("MLP training step",),
    "elementwise": tuple(
        f"{name} {dtype}"
        for name in ("add", "exp", "log", "sin", "tanh", "sinh", "cbrt", "power", "sigmoid", "erf")
        for dtype in ("float64", "float32")
    ),
    "folds": tuple(
        f"{statement} {dtype}"
        for statement in ("sum(x)", "sum(m, axis=0)", "cumsum(m, 0)", "sort(s, 0)", "x[i]")
        for dtype in ("float64", "float32")
    ),
    "fft": ("fft float64, 256 lines of 1024", "rfftn float64, a plane of 512²"),
    "blocks": (
        "a @ b, 512³, float64",
        "a @ b, 512³, float32",
        "softmax: forward + backward",
        "layer_norm: forward + backward",
        "gelu: forward + backward",
        "conv2d 32×16×32×32 → 32, 3×3: forward + backward",
        "solve, 10 right sides, n = 300, float64",
        "svd, n = 300, float64",
    ),
    "branches": (
        "backward: 64 branches, 1 000 elements",
        "backward: 64 branches of 2 × (192² matmul, tanh)",
    ),
    "programs": (
        "programs: softmax and cross-entropy",
        "programs: mixture, 5 Gaussians of 10",
        "programs: k-means, 100 of 10 000",
        "programs: LSTM of 2 layers",
    ),
}


def is_headline(file: str, name: str) -> bool:
    """Whether a case of a file is one of these rows."""
    return name in HEADLINE.get(file, ())
