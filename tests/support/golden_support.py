"""Ours of what `golden/layers/layers.py` computes with PyTorch."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import ferrograd as fg
from ferrograd import nn
from ferrograd.nn import functional as F  # noqa: N812

GOLDEN = Path(__file__).parents[1] / "golden" / "layers"
sys.path.insert(0, str(GOLDEN))

from layer_cases import LAYERS, Case, fill, state_value  # noqa: E402
from loss_cases import LOSSES  # noqa: E402
from sequence_cases import SEQUENCES  # noqa: E402

FILES = {"layers": LAYERS, "sequences": SEQUENCES, "losses": LOSSES}
NAMES = {
    "nn": nn,
    "F": F,
    "rnn": nn.utils.rnn,
    "arr": fg.tensor,
    "num": lambda values: fg.tensor(values, dtype=np.float64),
}


def golden() -> list[tuple[Case, np.ndarray]]:
    """Every case with PyTorch's numbers."""
    found = []
    for name, cases in FILES.items():
        with np.load(GOLDEN / f"{name}.npz") as file:
            ends = np.cumsum(file["sizes"])
            parts = dict(zip(file["keys"], np.split(file["values"], ends[:-1]), strict=True))
        found += [(case, parts[case.key]) for case in cases]
    return found


def turned(module: nn.Module) -> set[str]:
    """The names of entries that PyTorch keeps transposed."""
    return {
        f"{owner}.{name}".lstrip(".")
        for owner, child in module.named_modules()
        if getattr(child, "weight_is_in_out", False)
        for name, p in child.named_parameters(recurse=False)
        if p.ndim == 2
    }


def loaded(case: Case) -> Any:
    """The module or function of a case, with a state as PyTorch writes it."""
    fg.manual_seed(0)
    made = eval(case.make, dict(NAMES))
    if isinstance(made, nn.Module):
        made.train(case.train)
        flipped = turned(made)
        state = {}
        for name, tensor in made.state_dict().items():
            shape = tuple(tensor.shape)
            if tensor.dtype.kind == "f":
                shape = shape[::-1] if name in flipped else shape
                state[name] = state_value(name, shape)
            else:
                state[name] = tensor
        made.load_state_dict(state, layout="torch")
    return made


def arguments(case: Case) -> list[Any]:
    """The inputs."""
    low = 0.05 if case.positive else -1.0
    return [
        eval(given, dict(NAMES))
        if isinstance(given, str)
        else fg.tensor(fill(f"input {k}", given, low), requires_grad=True)
        for k, given in enumerate(case.inputs)
    ]


def named(case: Case) -> dict[str, Any]:
    """The inputs by name."""
    return {key: eval(text, dict(NAMES)) for key, text in case.named.items()}


def flat(out: Any) -> list[fg.Tensor]:
    """The float tensors of a result, in order."""
    if isinstance(out, nn.utils.rnn.PackedSequence):
        out = nn.utils.rnn.pad_packed_sequence(out, total_length=int(out.data.shape[0]))[0]
    if isinstance(out, fg.Tensor):
        return [out] if out.dtype.kind == "f" else []
    return [t for part in (out or ()) for t in flat(part)]


def total(outs: list[fg.Tensor], name: str) -> Any:
    """The sum of tensors with fixed weights."""
    found: Any = 0.0
    for k, out in enumerate(outs):
        found = found + (out * fill(f"{name}{k}", tuple(out.shape))).sum()
    return found


def gradients(y: Any, wanted: list[fg.Tensor], graph: bool) -> list[fg.Tensor]:
    """The gradients, zeros where there is none."""
    if not isinstance(y, fg.Tensor) or not y.requires_grad:
        return [fg.zeros_like(w) for w in wanted]
    found = fg.autograd.grad(y, wanted, create_graph=graph, allow_unused=True)
    return [fg.zeros_like(w) if g is None else g for g, w in zip(found, wanted, strict=True)]


def values(case: Case, want: np.ndarray) -> np.ndarray:
    """Outputs, buffers, first and, where PyTorch has them, second derivatives."""
    module, inputs = loaded(case), arguments(case)
    outs = flat(module(*inputs, **named(case)))
    wanted = [x for x in inputs if isinstance(x, fg.Tensor) and x.requires_grad]
    buffers, flipped = [], [False] * len(wanted)
    if isinstance(module, nn.Module):
        found = sorted(module.named_buffers(), key=lambda pair: pair[0])
        buffers = [b.clone() for _, b in found if b.dtype.kind == "f"]
        for name, p in sorted(module.named_parameters(), key=lambda pair: pair[0]):
            wanted.append(p)
            flipped.append(name in turned(module))

    def laid(grads: list[fg.Tensor]) -> list[fg.Tensor]:
        return [g.T if flip else g for g, flip in zip(grads, flipped, strict=True)]

    grads = laid(gradients(total(outs, "c"), wanted, graph=True)) if wanted else []
    parts = [*outs, *buffers, *grads]
    if sum(int(p.size) for p in parts) < len(want):
        parts += laid(gradients(total(grads, "d"), wanted, graph=False))
    return np.concatenate([p.detach().numpy().ravel() for p in parts])
