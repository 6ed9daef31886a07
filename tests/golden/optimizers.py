"""Writes `optimizers.json`: parameters after 100 steps of PyTorch's optimisers.

Run it with an interpreter that has PyTorch: `python tests/golden/optimizers.py`. The problem is
`loss` below, in float64, from `START`; the tests repeat it with ours.
"""

import json
from pathlib import Path

STEPS = 100
START = {"w": [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], "b": [0.1, -0.2, 0.3]}
CASES = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 1e-4, "momentum": 0.5, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": [0.8, 0.95], "eps": 1e-6}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("Adam", {"lr": 1e-3, "maximize": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "betas": [0.8, 0.95], "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.0, "amsgrad": True}),
]


def loss(w, b, sin):
    """Something with curvature, different for every entry."""
    return ((sin(w) * w).sum() + ((w * b - 1.0) ** 2).sum() + (b * b * b * b).sum()) / 3.0


def main() -> None:
    """Runs every case."""
    import torch

    rows = []
    for name, options in CASES:
        w, b = (torch.tensor(START[k], dtype=torch.float64, requires_grad=True) for k in "wb")
        optimizer = getattr(torch.optim, name)([w, b], foreach=False, **options)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            value = loss(w, b, torch.sin)
            value.backward()
            losses.append(value.item())
            optimizer.step()
        rows.append(
            {
                "optimizer": name,
                "options": options,
                "w": w.tolist(),
                "b": b.tolist(),
                "losses": [losses[0], losses[49], losses[-1]],
            }
        )
    text = {"torch": torch.__version__, "steps": STEPS, "start": START, "cases": rows}
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main()
