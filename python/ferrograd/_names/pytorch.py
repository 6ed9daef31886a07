"""Where PyTorch's names mean something else: what a program has to write here, and why.

The rows are the table of `docs/pytorch.md`. Those of one function say also which of ours does what
PyTorch's does, and under which names it takes the arguments.
"""

from __future__ import annotations

from typing import NamedTuple


class Different(NamedTuple):
    """A way of writing of PyTorch's, with its translation."""

    program: str
    here: str
    why: str = ""
    #: PyTorch's functions, separated by spaces; a method has `Tensor.` before it.
    torch: str = ""
    #: Which of ours compute the same, in the order of `torch`; "" if none does in one call.
    ours: str = ""
    #: The parameters as `theirs:ours`; what is missing has the same name.
    words: str = ""
    #: The argument that makes ours compute what PyTorch's does by default.
    adds: str = ""


DIFFERENT = (
    Different("`import torch`", "`import ferrograd as torch`", ""),
    Different(
        "`values, indices = x.max(1)`, `x.max(1).values`",
        "`x.amax(1)`, `x.argmax(1)`",
        "`max`, `min`, `sort` and `median` are NumPy's; `topk`, `kthvalue`, `mode`, `cummax` and factorisations return named tuples",
        torch="max min",
    ),
    Different(
        "`torch.max(a, b)`, `torch.min(a, b)`",
        "`torch.maximum(a, b)`, `torch.minimum(a, b)`",
        "the second argument is an axis, as in NumPy",
        torch="max min",
        ours="maximum minimum",
    ),
    Different(
        "`x.split(size, dim=2)`, `x.split(size, 2)`",
        "`x.chunk(3, dim=2)` or `x.split_with_sizes(size, dim=2)`",
        "`split(x, n)` makes n parts, as in NumPy",
        torch="split",
        ours="split_with_sizes",
        words="split_size_or_sections:split_size dim:axis",
    ),
    Different(
        "`mask.transpose(0, 1)` of a matrix",
        "`mask.t()`, `mask.T` or `mask.swapaxes(0, 1)`",
        "NumPy's `transpose` takes the order of all axes",
        torch="transpose",
        ours="swapaxes",
        words="dim0:axis1 dim1:axis2",
    ),
    Different(
        "`x.repeat(2, 3)`",
        "`x.tile((2, 3))`",
        "NumPy's `repeat` repeats elements",
        torch="Tensor.repeat",
        ours="Tensor.tile",
        words="repeats:reps",
    ),
    Different(
        "`x.std()`, `x.var()`",
        "`x.std(correction=1)`",
        "NumPy's divide by n",
        torch="std var",
        ours="std var",
        words="dim:axis keepdim:keepdims",
        adds="correction=1",
    ),
    Different(
        "`x.squeeze(1)` of a longer axis",
        "leave it out",
        "NumPy's raises",
        torch="squeeze",
        ours="squeeze",
        words="dim:axis",
    ),
    Different(
        '`self.register_buffer("mean", None)`',
        "`self.mean = None`, and `register_buffer` when the tensor exists",
        "None cannot be registered",
    ),
    Different(
        "`old = p.data; p.data = other`",
        "`old = p.data.clone()`",
        "`p.data = other` copies into the memory of `p`, in its dtype; PyTorch gives `p` other memory",
    ),
    Different(
        "`x[0].fill_(v)`, `x[i, j].add_(1)` of one element",
        "`x[0] = v`, `x[i, j] += 1`",
        "an element that was read is a copy, as with NumPy's scalars; the method raises",
    ),
    Different(
        "`first = x[0]`, which later must follow writes to `x`", "`first = x[0, ...]`", "as above"
    ),
    Different(
        "`except RuntimeError` around a `backward` after a change of a saved tensor",
        "`with torch.autograd.graph.disallow_mutation_on_saved_tensors():` around the change",
        "by default a write does not change the gradient: [semantics.md](semantics.md)",
    ),
    Different("`F.relu(x, inplace=True)`", "`F.relu_(x)`", "layers have `inplace=`"),
    Different(
        '`[{"params": w, "rate": 0.1}]`',
        '`"lr"`',
        'groups keep your own entries (`"lr_scale"`), but refuse names that look like a misspelt option',
    ),
    Different(
        "`torch.set_default_dtype(torch.float64)`",
        "nothing",
        "float64 is the default",
        torch="set_default_dtype",
        ours="set_default_dtype",
    ),
    Different(
        "`scores / np.sqrt(d)`, `x * mask` and `(1.0 - mask) * -1e4` of an int64 `mask`, `torch.arange(n) * 0.1`, `F.mse_loss(x, counts)` with a float32 `x`",
        "`math.sqrt(d)`, `mask.to(x.dtype)`, `dtype=torch.float32`",
        "dtypes are promoted as in NumPy: float32 with int64, or with an `np.float64` number, gives float64, and the following operations take twice the time",
    ),
    Different(
        "`x = x.sort(1).values`",
        "`x = torch.sort(x, 1)`",
        "the methods `sort` and `partition` are NumPy's: they sort `x` in place and return None",
        torch="sort",
    ),
    Different(
        "`x.split([2, 3])`",
        "`x.split_with_sizes([2, 3])`",
        "a list has the positions of the cuts, as in NumPy",
        torch="split",
        ours="split_with_sizes",
    ),
    Different(
        "`torch.meshgrid(a, b)`",
        '`torch.meshgrid(a, b, indexing="ij")`',
        'NumPy\'s default is `"xy"`',
        torch="meshgrid",
        ours="meshgrid",
        adds="indexing='ij'",
    ),
    Different(
        "`x.nonzero()`; `x.median()`",
        "`x.argwhere()`; `torch.sort(x)[(n - 1) // 2]`",
        "`nonzero` returns one array for each axis; `median` returns the mean of the two middle elements, as in NumPy",
        torch="nonzero",
        ours="argwhere",
    ),
    Different(
        "`if torch.equal(a, b)`",
        "`if torch.array_equal(a, b)`",
        "`equal` compares element by element",
        torch="equal",
        ours="array_equal",
        words="input:a other:b",
    ),
    Different(
        '`with torch.autocast("cpu"):`',
        "`model.to(torch.float16)`",
        "mixed precision is not supported; `autocast` of other devices or with `enabled=False` does nothing, nor does a `GradScaler`",
    ),
    Different(
        "`dist = Normal(mu, sigma)`; `dist.rsample()`, `dist.log_prob(a)`",
        "`mu + sigma * torch.randn_like(mu)`; `scipy.stats.norm.logpdf(a, mu, sigma)` of `ferrograd.scipy`",
        "there is no `torch.distributions`: [scipy.md](scipy.md)",
    ),
    Different(
        "`dist = Categorical(logits=z)`; `a = dist.sample()`, `dist.log_prob(a)`, `dist.entropy()`",
        '`a = torch.multinomial(z.softmax(-1), 1).squeeze(-1)`, `-F.cross_entropy(z, a, reduction="none")`, `-(z.softmax(-1) * z.log_softmax(-1)).sum(-1)`',
        "as above",
    ),
    Different(
        "`linalg.solve(A, b)` of a stack of vectors",
        "`linalg.solve(A, b[..., None])[..., 0]`",
        "only a 1-d `b` is a vector, as in NumPy; a stack whose shape fits is taken as matrices, without an error",
        torch="linalg.solve",
        ours="linalg.solve",
    ),
    Different(
        "`F.linear(x, W)`",
        "`F.linear(x, W.T)`",
        "weights are [in, out]; a square `W` computes `x @ W`, without an error",
        torch="nn.functional.linear",
        ours="nn.functional.linear",
    ),
    Different(
        "`head.weight = wte.weight`, and `head(x)`",
        "`F.linear(x, wte.weight.T)` without a head",
        "the weight of a `Linear` is transposed compared with that of an `Embedding`",
    ),
    Different(
        "`model.load_state_dict(arrays)` of NumPy arrays from PyTorch",
        '`model.load_state_dict(arrays, layout="torch")`',
        "the layout of an array is not known, and square arrays fit both layouts",
    ),
    Different("`x.dtype.is_floating_point`", "`x.is_floating_point()`", "dtypes are NumPy's"),
    Different(
        '`model.load_state_dict(torch.load("weights.pt"))` of a PyTorch file',
        'a safetensors file, or `layout="torch"`',
        "weights of `Linear` are [in, out], and pickle files are not read: [saving.md](saving.md)",
    ),
)
