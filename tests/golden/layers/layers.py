"""Writes `layers.npz`, `sequences.npz` and `losses.npz`: PyTorch's values of every layer and loss.

Run it with an interpreter that has PyTorch: `python tests/golden/layers/layers.py`. For each case:
the outputs, what buffers hold afterwards, the gradients of inputs and parameters of `Σ c out`, and
the gradients of both of `Σ d gradients`, one after another in one vector of float64.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from layer_cases import LAYERS, Case, fill, state_value
from loss_cases import LOSSES
from sequence_cases import SEQUENCES

NAMES = {
    "nn": torch.nn,
    "F": torch.nn.functional,
    "rnn": torch.nn.utils.rnn,
    "arr": torch.tensor,
    "num": lambda values: torch.tensor(values, dtype=torch.float64),
}


def loaded(case: Case) -> Any:
    """The module or function of a case, its state filled."""
    made = eval(case.make, NAMES)
    if isinstance(made, torch.nn.Module):
        made.double().train(case.train)
        state = made.state_dict()
        for name, value in state.items():
            if value.is_floating_point():
                state[name] = torch.tensor(state_value(name, tuple(value.shape)))
        made.load_state_dict(state)
    return made


def argument(case: Case, place: int, given: Any) -> Any:
    """An input: filled where it is a shape, else evaluated."""
    if isinstance(given, str):
        return eval(given, NAMES)
    low = 0.05 if case.positive else -1.0
    return torch.tensor(fill(f"input {place}", given, low)).requires_grad_()


def flat(out: Any) -> list[torch.Tensor]:
    """The float tensors of a result, in order."""
    if isinstance(out, torch.nn.utils.rnn.PackedSequence):
        out = torch.nn.utils.rnn.pad_packed_sequence(out)[0]
    if isinstance(out, torch.Tensor):
        return [out] if out.is_floating_point() else []
    return [t for part in (out or ()) for t in flat(part)]


def derived(total: torch.Tensor, wanted: list[Any]) -> list[torch.Tensor]:
    """The gradients, zeros where there is none; nothing where PyTorch has no second derivative."""
    zeros = [torch.zeros_like(w) for w in wanted]
    if not total.requires_grad:
        return zeros
    try:
        found = torch.autograd.grad(total, wanted, allow_unused=True)
    except RuntimeError as error:
        if "not implemented" not in str(error) and "differentiable twice" not in str(error):
            raise
        return []
    return [z if g is None else g for g, z in zip(found, zeros, strict=True)]


def values(case: Case) -> np.ndarray:
    """All numbers of a case."""
    torch.manual_seed(0)
    module = loaded(case)
    inputs = [argument(case, k, given) for k, given in enumerate(case.inputs)]
    named = {key: eval(text, NAMES) for key, text in case.named.items()}
    outs = flat(module(*inputs, **named))
    wanted = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    buffers: list[Any] = []
    if isinstance(module, torch.nn.Module):
        buffers = [b for _, b in sorted(module.named_buffers()) if b.is_floating_point()]
        buffers = [b.clone() for b in buffers]
        wanted += [p for _, p in sorted(module.named_parameters())]
    total = sum((o * torch.tensor(fill(f"c{k}", tuple(o.shape)))).sum() for k, o in enumerate(outs))
    grads: tuple[Any, ...] = ()
    second: list[Any] = []
    if wanted:
        grads = torch.autograd.grad(total, wanted, create_graph=case.twice, allow_unused=True)
        grads = tuple(
            torch.zeros_like(w) if g is None else g for g, w in zip(grads, wanted, strict=True)
        )
        again = sum(
            (g * torch.tensor(fill(f"d{k}", tuple(g.shape)))).sum() for k, g in enumerate(grads)
        )
        if case.twice:
            second = derived(again, wanted)
    parts = [*outs, *buffers, *grads, *second]
    return np.concatenate([p.detach().double().numpy(force=True).ravel() for p in parts])


def main() -> None:
    """Writes all files."""
    for name, cases in (("layers", LAYERS), ("sequences", SEQUENCES), ("losses", LOSSES)):
        keys = [case.key for case in cases]
        assert len(set(keys)) == len(keys), [k for k in keys if keys.count(k) > 1]
        found = [values(case) for case in cases]
        path = Path(__file__).with_name(f"{name}.npz")
        np.savez_compressed(
            path,
            keys=np.array(keys),
            sizes=np.array([len(v) for v in found]),
            values=np.concatenate(found),
        )
        print(name, len(keys), path.stat().st_size)


if __name__ == "__main__":
    main()
