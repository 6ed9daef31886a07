"""Writes `optimizers.json`: parameters after 100 steps of PyTorch's optimisers.

Run it with an interpreter that has PyTorch: `python tests/golden/optimizers.py`. The problem is
`loss` below, in float64, from `START` (complex: from `COMPLEX`); the tests repeat it with ours.
Gradients near 0 make some rules chaotic, so `drive` moves the problem with each step, except for
LBFGS, which searches along one function. The default dtype is float64, because PyTorch keeps counts
and products of momenta in it. Muon's iteration runs in float64 here: its rounding to bfloat16 is
taken out, because ours has none.
"""

import json
import math
from pathlib import Path

STEPS = 100
START = {"w": [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], "b": [0.1, -0.2, 0.3]}
COMPLEX = {"w": [[0.5, -1.0], [1.5, 0.25]], "b": [[0.1, -0.2], [0.7, 0.3]]}
HALVED = {"lr": 0.05, "betas": [0.8, 0.95], "eps": 1e-6}
CASES = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 1e-4, "momentum": 0.5, "maximize": True}),
    ("SGD", {"lr": 1e-4, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", HALVED),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("Adam", {"lr": 1e-3, "maximize": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "betas": [0.8, 0.95], "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.0, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "eps": 1e-3, "amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"lr": 1e-3, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {**HALVED, "momentum_decay": 0.02}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 1e-3, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", HALVED),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 1e-3, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {**HALVED, "lr": 0.01}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1}),
    ("Adamax", {"lr": 1e-3, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "eps": 1e-6}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"lr": 1e-3, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adadelta", {"lr": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"alpha": 0.9, "eps": 1e-6, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"momentum": 0.5}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("RMSprop", {"lr": 1e-3, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lambd": 0.01, "alpha": 0.5, "t0": 20}),
    ("ASGD", {"weight_decay": 0.1, "t0": 1}),
    ("ASGD", {"lr": 1e-4, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": [0.3, 1.5], "step_sizes": [1e-4, 0.1]}),
    ("Rprop", {"lr": 1e-4, "maximize": True, "step_sizes": [1e-6, 1e-3]}),
    ("LBFGS", {"max_iter": 3}),
    ("LBFGS", {"lr": 0.1, "history_size": 3, "max_iter": 2}),
    ("LBFGS", {"lr": 0.1, "max_iter": 4, "tolerance_grad": 0.05}),
    ("LBFGS", {"lr": 0.1, "max_iter": 4, "tolerance_change": 0.02}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 2}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 5, "max_eval": 4, "lr": 2.0}),
    ("Muon", {}),
    ("Muon", {"lr": 0.02, "nesterov": False, "weight_decay": 0.0}),
    ("Muon", {"lr": 0.02, "momentum": 0.8, "adjust_lr_fn": "match_rms_adamw"}),
    ("Muon", {"lr": 0.02, "ns_coefficients": [2.0, -1.5, 0.5], "ns_steps": 3, "eps": 1e-5}),
]
#: Those that step complex parameters, too.
COMPLEX_CASES = [
    ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("ASGD", {"t0": 20}),
    ("Rprop", {}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 2}),
]


def drive(step, name):
    """Numbers by which the entries of w are pushed in a step."""
    size = 0.0 if name == "LBFGS" else 0.5
    return [[size * math.cos(1.3 * step + 0.7 * i + 2.1 * j) for j in range(3)] for i in range(2)]


def loss(w, b, sin):
    """Something with curvature, different for every entry."""
    return ((sin(w) * w).sum() + ((w * b - 1.0) ** 2).sum() + (b * b * b * b).sum()) / 3.0


def complex_loss(w, b, absolute):
    """The same for complex parameters: a real number."""
    squares = (absolute(w * b - (1.0 - 0.5j)) ** 2).sum()
    return (squares + (absolute(w) ** 2).sum() + (absolute(b) ** 4).sum()) / 3.0


def run(torch, name, options, start, value):
    """The parameters after the steps, and three losses."""
    w, b = start
    params = [w] if name == "Muon" else [w, b]
    more = {} if name in ("LBFGS", "Muon") else {"foreach": False}
    optimizer = getattr(torch.optim, name)(params, **more, **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        b.grad = None
        push = torch.tensor(drive(len(losses), name)).flatten()[: w.numel()]
        found = value(w, b) + (w.real * push.reshape(w.shape)).sum()
        found.backward()
        return found

    for _ in range(STEPS):
        losses.append(optimizer.step(closure).item())
    rows = [torch.view_as_real(x) if x.is_complex() else x for x in (w.detach(), b.detach())]
    return {
        "optimizer": name,
        "options": options,
        "w": rows[0].tolist(),
        "b": rows[1].tolist(),
        "losses": [losses[0], losses[49], losses[-1]],
    }


def main() -> None:
    """Runs every case."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.Tensor.bfloat16 = lambda self: self.clone()
    cases, complex_cases = [], []
    for name, options in CASES:
        start = [torch.tensor(START[k], requires_grad=True) for k in "wb"]
        cases.append(run(torch, name, options, start, lambda w, b: loss(w, b, torch.sin)))
    for name, options in COMPLEX_CASES:
        start = [torch.view_as_complex(torch.tensor(COMPLEX[k])).requires_grad_() for k in "wb"]
        made = run(torch, name, options, start, lambda w, b: complex_loss(w, b, torch.abs))
        complex_cases.append(made)
    lines = ["{", f' "torch": "{torch.__version__}", "steps": {STEPS},']
    lines.append(f' "start": {json.dumps(START)}, "complex_start": {json.dumps(COMPLEX)},')
    for key, rows in (("cases", cases), ("complex_cases", complex_cases)):
        text = ",\n  ".join(json.dumps(row) for row in rows)
        lines.append(f' "{key}": [\n  {text}\n ]{"," if key == "cases" else ""}')
    Path(__file__).with_suffix(".json").write_text("\n".join([*lines, "}"]) + "\n")


if __name__ == "__main__":
    main()
