"""PyTorch code that has to be written differently with ferrograd, and why.

The table in `docs/pytorch.md` is generated from these entries. An entry about functions also says
which of our functions compute the same, and what their arguments are called.
"""

from __future__ import annotations

from typing import NamedTuple


class PyTorchDifference(NamedTuple):
    """Code for PyTorch, and the code for ferrograd that does the same."""

    #: The code in a program for PyTorch, the code to write instead, and the reason.
    pytorch: str
    ferrograd: str
    why: str = ""
    #: PyTorch's functions, separated by spaces; methods start with `Tensor.`.
    functions: str = ""
    #: Our functions that compute the same, in the order of `functions`; empty if one call of ours
    #: is not enough.
    equivalents: str = ""
    #: Parameters with another name, as `PyTorch's name:our name`, separated by spaces.
    keywords: str = ""
    #: The argument with which our functions compute what PyTorch's compute by default.
    default_argument: str = ""


PYTORCH_DIFFERENCES = (
    PyTorchDifference("`import torch`", "`import ferrograd as torch`", ""),
    PyTorchDifference(
        "`values, indices = x.max(1)`, `x.max(1).values`",
        "`x.amax(1)`, `x.argmax(1)`",
        "`max`, `min`, `sort` and `median` are NumPy's; `topk`, `kthvalue`, `mode`, `cummax` and factorisations return named tuples",
        functions="max min",
    ),
    PyTorchDifference(
        "`torch.max(a, b)`, `torch.min(a, b)`",
        "`torch.maximum(a, b)`, `torch.minimum(a, b)`",
        "the second argument is an axis, as in NumPy",
        functions="max min",
        equivalents="maximum minimum",
    ),
    PyTorchDifference(
        "`x.split(size, dim=2)`, `x.split(size, 2)`",
        "`x.chunk(3, dim=2)` or `x.split_with_sizes(size, dim=2)`",
        "`split(x, n)` makes n parts, as in NumPy",
        functions="split",
        equivalents="split_with_sizes",
        keywords="split_size_or_sections:split_size dim:axis",
    ),
    PyTorchDifference(
        "`mask.transpose(0, 1)` of a matrix",
        "`mask.t()`, `mask.T` or `mask.swapaxes(0, 1)`",
        "NumPy's `transpose` takes the order of all axes",
        functions="transpose",
        equivalents="swapaxes",
        keywords="dim0:axis1 dim1:axis2",
    ),
    PyTorchDifference(
        "`x.repeat(2, 3)`",
        "`x.tile((2, 3))`",
        "NumPy's `repeat` repeats elements",
        functions="Tensor.repeat",
        equivalents="Tensor.tile",
        keywords="repeats:reps",
    ),
    PyTorchDifference(
        "`x.std()`, `x.var()`",
        "`x.std(correction=1)`",
        "NumPy's divide by n",
        functions="std var",
        equivalents="std var",
        keywords="dim:axis keepdim:keepdims",
        default_argument="correction=1",
    ),
    PyTorchDifference(
        "`x.squeeze(1)` of a longer axis",
        "leave it out",
        "NumPy's raises",
        functions="squeeze",
        equivalents="squeeze",
        keywords="dim:axis",
    ),
    PyTorchDifference(
        '`self.register_buffer("mean", None)`',
        "`self.mean = None`, and `register_buffer` when the tensor exists",
        "None cannot be registered",
    ),
    PyTorchDifference(
        "`old = p.data; p.data = other`",
        "`old = p.data.clone()`",
        "`p.data = other` copies into the memory of `p`, in its dtype; PyTorch gives `p` other memory",
    ),
    PyTorchDifference(
        "`x[0].fill_(v)`, `x[i, j].add_(1)` of one element",
        "`x[0] = v`, `x[i, j] += 1`",
        "an element that was read is a copy, as with NumPy's scalars; the method raises",
    ),
    PyTorchDifference(
        "`first = x[0]`, which later must follow writes to `x`", "`first = x[0, ...]`", "as above"
    ),
    PyTorchDifference(
        "`except RuntimeError` around a `backward` after a change of a saved tensor",
        "`with torch.autograd.graph.disallow_mutation_on_saved_tensors():` around the change",
        "by default a write does not change the gradient: [semantics.md](semantics.md)",
    ),
    PyTorchDifference("`F.relu(x, inplace=True)`", "`F.relu_(x)`", "layers have `inplace=`"),
    PyTorchDifference(
        '`[{"params": w, "rate": 0.1}]`',
        '`"lr"`',
        'groups keep your own entries (`"lr_scale"`), but refuse names that look like a misspelt option',
    ),
    PyTorchDifference(
        "`torch.set_default_dtype(torch.float64)`",
        "nothing",
        "float64 is the default",
        functions="set_default_dtype",
        equivalents="set_default_dtype",
    ),
    PyTorchDifference(
        "`scores / np.sqrt(d)`, `x * mask` and `(1.0 - mask) * -1e4` of an int64 `mask`, `torch.arange(n) * 0.1`, `F.mse_loss(x, counts)` with a float32 `x`",
        "`math.sqrt(d)`, `mask.to(x.dtype)`, `dtype=torch.float32`",
        "dtypes are promoted as in NumPy: float32 with int64, or with an `np.float64` number, gives float64, and the following operations take twice the time",
    ),
    PyTorchDifference(
        "`x = x.sort(1).values`",
        "`x = torch.sort(x, 1)`",
        "the methods `sort` and `partition` are NumPy's: they sort `x` in place and return None",
        functions="sort",
    ),
    PyTorchDifference(
        "`x.split([2, 3])`",
        "`x.split_with_sizes([2, 3])`",
        "a list has the positions of the cuts, as in NumPy",
        functions="split",
        equivalents="split_with_sizes",
    ),
    PyTorchDifference(
        "`torch.meshgrid(a, b)`",
        '`torch.meshgrid(a, b, indexing="ij")`',
        'NumPy\'s default is `"xy"`',
        functions="meshgrid",
        equivalents="meshgrid",
        default_argument="indexing='ij'",
    ),
    PyTorchDifference(
        "`x.nonzero()`; `x.median()`",
        "`x.argwhere()`; `torch.sort(x)[(n - 1) // 2]`",
        "`nonzero` returns one array for each axis; `median` returns the mean of the two middle elements, as in NumPy",
        functions="nonzero",
        equivalents="argwhere",
    ),
    PyTorchDifference(
        "`if torch.equal(a, b)`",
        "`if torch.array_equal(a, b)`",
        "`equal` compares element by element",
        functions="equal",
        equivalents="array_equal",
        keywords="input:a other:b",
    ),
    PyTorchDifference(
        '`with torch.autocast("cpu"):`',
        "`model.to(torch.float16)`",
        "mixed precision is not supported; `autocast` of other devices or with `enabled=False` does nothing, nor does a `GradScaler`",
    ),
    PyTorchDifference(
        "`dist = Normal(mu, sigma)`; `dist.rsample()`, `dist.log_prob(a)`",
        "`mu + sigma * torch.randn_like(mu)`; `scipy.stats.norm.logpdf(a, mu, sigma)` of `ferrograd.scipy`",
        "there is no `torch.distributions`: [scipy.md](scipy.md)",
    ),
    PyTorchDifference(
        "`dist = Categorical(logits=z)`; `a = dist.sample()`, `dist.log_prob(a)`, `dist.entropy()`",
        '`a = torch.multinomial(z.softmax(-1), 1).squeeze(-1)`, `-F.cross_entropy(z, a, reduction="none")`, `-(z.softmax(-1) * z.log_softmax(-1)).sum(-1)`',
        "as above",
    ),
    PyTorchDifference(
        "`linalg.solve(A, b)` of a stack of vectors",
        "`linalg.solve(A, b[..., None])[..., 0]`",
        "only a 1-d `b` is a vector, as in NumPy; a stack whose shape fits is taken as matrices, without an error",
        functions="linalg.solve",
        equivalents="linalg.solve",
    ),
    PyTorchDifference(
        "`F.linear(x, W)`",
        "`F.linear(x, W.T)`",
        "weights are [in, out]; a square `W` computes `x @ W`, without an error",
        functions="nn.functional.linear",
        equivalents="nn.functional.linear",
    ),
    PyTorchDifference(
        "`head.weight = wte.weight`, and `head(x)`",
        "`F.linear(x, wte.weight.T)` without a head",
        "the weight of a `Linear` is transposed compared with that of an `Embedding`",
    ),
    PyTorchDifference(
        "`model.load_state_dict(arrays)` of NumPy arrays from PyTorch",
        '`model.load_state_dict(arrays, layout="torch")`',
        "the layout of an array is not known, and square arrays fit both layouts",
    ),
    PyTorchDifference(
        "`x.dtype.is_floating_point`", "`x.is_floating_point()`", "dtypes are NumPy's"
    ),
    PyTorchDifference(
        '`model.load_state_dict(torch.load("weights.pt"))` of a PyTorch file',
        'a safetensors file, or `layout="torch"`',
        "weights of `Linear` are [in, out], and pickle files are not read: [saving.md](saving.md)",
    ),
)
