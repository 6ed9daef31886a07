"""Writes `schedules.json`: rates of PyTorch's schedules, epoch by epoch.

Run it with an interpreter that has PyTorch: `python tests/golden/schedules.py`. The tests import
`CASES`, and call them with ours. A case makes a schedule of an optimiser with two groups; the rates
(and the momentum) of both are written for every epoch.
"""

import json
from pathlib import Path

EPOCHS = 24
RATES = (0.5, 0.02)


def cases(lr, swalr):
    """The schedules by name, as functions of an optimiser."""

    def sequence(o):
        first = lr.LinearLR(o, 0.1, total_iters=4)
        return lr.SequentialLR(
            o, [first, lr.CosineAnnealingLR(o, 8), lr.ExponentialLR(o, 0.9)], [5, 12]
        )

    def chained(o):
        return lr.ChainedScheduler([lr.ConstantLR(o, 0.1, 6), lr.ExponentialLR(o, 0.9)])

    def both(o):
        return lr.ChainedScheduler([lr.StepLR(o, 4, 0.5), lr.CosineAnnealingLR(o, 10, 1e-3)], o)

    return {
        "LambdaLR": lambda o: lr.LambdaLR(o, lambda epoch: 0.95**epoch),
        "LambdaLR groups": lambda o: lr.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: 0.9**e]),
        "MultiplicativeLR": lambda o: lr.MultiplicativeLR(o, lambda epoch: 1 - 0.1 / (1 + epoch)),
        "StepLR": lambda o: lr.StepLR(o, 5),
        "StepLR gamma": lambda o: lr.StepLR(o, 3, gamma=0.5),
        "MultiStepLR": lambda o: lr.MultiStepLR(o, [3, 10, 10, 15], gamma=0.5),
        "ConstantLR": lambda o: lr.ConstantLR(o),
        "ConstantLR factor": lambda o: lr.ConstantLR(o, factor=0.25, total_iters=8),
        "LinearLR": lambda o: lr.LinearLR(o),
        "LinearLR factors": lambda o: lr.LinearLR(o, 0.5, 0.1, 10),
        "ExponentialLR": lambda o: lr.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: lr.PolynomialLR(o),
        "PolynomialLR power": lambda o: lr.PolynomialLR(o, 15, 2.0),
        "CosineAnnealingLR": lambda o: lr.CosineAnnealingLR(o, 7),
        "CosineAnnealingLR eta_min": lambda o: lr.CosineAnnealingLR(o, 10, eta_min=0.01),
        "CosineAnnealingWarmRestarts": lambda o: lr.CosineAnnealingWarmRestarts(o, 5),
        "CosineAnnealingWarmRestarts T_mult": lambda o: lr.CosineAnnealingWarmRestarts(
            o, 3, 2, eta_min=0.001
        ),
        "CyclicLR": lambda o: lr.CyclicLR(o, 0.01, 0.1, 4),
        "CyclicLR triangular2": lambda o: lr.CyclicLR(
            o, [0.01, 0.02], [0.1, 0.3], 4, 2, mode="triangular2", base_momentum=0.7
        ),
        "CyclicLR exp_range": lambda o: lr.CyclicLR(
            o, 0.01, 0.1, 3, mode="exp_range", gamma=0.98, cycle_momentum=False
        ),
        "CyclicLR scale_fn": lambda o: lr.CyclicLR(
            o, 0.01, 0.1, 3, scale_fn=lambda x: 1 / x, scale_mode="cycle"
        ),
        "OneCycleLR": lambda o: lr.OneCycleLR(o, 0.3, total_steps=EPOCHS + 1),
        "OneCycleLR linear": lambda o: lr.OneCycleLR(
            o, [0.3, 0.1], epochs=5, steps_per_epoch=5, anneal_strategy="linear", pct_start=0.5
        ),
        "OneCycleLR three": lambda o: lr.OneCycleLR(
            o, 0.3, EPOCHS + 1, three_phase=True, div_factor=10.0, final_div_factor=100.0
        ),
        "SequentialLR": sequence,
        "ChainedScheduler": chained,
        "ChainedScheduler cosine": both,
        "SWALR": lambda o: swalr(o, 0.1, anneal_epochs=6),
        "SWALR linear": lambda o: swalr(o, [0.1, 0.001], 6, "linear"),
        "SWALR at once": lambda o: swalr(o, 0.1, 0),
    }


def plateaus(lr):
    """Schedules whose step takes a metric."""
    return {
        "min": lambda o: lr.ReduceLROnPlateau(o, patience=2),
        "max": lambda o: lr.ReduceLROnPlateau(o, "max", 0.5, 1, cooldown=2, min_lr=[0.01, 0.005]),
        "abs": lambda o: lr.ReduceLROnPlateau(
            o, patience=1, threshold=0.05, threshold_mode="abs", factor=0.3
        ),
        "abs max": lambda o: lr.ReduceLROnPlateau(
            o, "max", patience=0, threshold=0.05, threshold_mode="abs", min_lr=0.003, eps=0.01
        ),
    }


def metrics():
    """What such a schedule is given, epoch by epoch."""
    return [round(1.0 / (1 + e) + 0.2 * ((e * 7) % 5) / 5, 4) for e in range(EPOCHS)]


def optimizer_of(optim, tensors, name="SGD"):
    """An optimiser of two groups."""
    groups = [{"params": [t], "lr": rate} for t, rate in zip(tensors, RATES, strict=True)]
    return getattr(optim, name)(groups, **({"momentum": 0.9} if name == "SGD" else {}))


def rates(optimizer, schedule, given=None):
    """The rates and momenta of the groups at every epoch."""
    rows = []
    for epoch in range(EPOCHS):
        groups = optimizer.param_groups
        momenta = [g["momentum"] if "momentum" in g else g["betas"][0] for g in groups]
        rows.append([*(float(g["lr"]) for g in groups), *momenta])
        optimizer.step()
        if given is None:
            schedule.step()
        else:
            schedule.step(given[epoch])
    return rows


def main() -> None:
    """Runs every case."""
    import torch
    from torch.optim import lr_scheduler, swa_utils

    def fresh(name="SGD"):
        tensors = [torch.zeros(1, dtype=torch.float64, requires_grad=True) for _ in RATES]
        return optimizer_of(torch.optim, tensors, name)

    found = {}
    for name, make in cases(lr_scheduler, swa_utils.SWALR).items():
        optimizer = fresh()
        found[name] = rates(optimizer, make(optimizer))
        if name.startswith(("CyclicLR", "OneCycleLR")):
            optimizer = fresh("Adam")
            found[f"{name} Adam"] = rates(optimizer, make(optimizer))
    for name, make in plateaus(lr_scheduler).items():
        optimizer = fresh()
        found[f"plateau {name}"] = rates(optimizer, make(optimizer), metrics())
    rows = (f'  "{name}": {json.dumps(values)}' for name, values in found.items())
    text = f'{{\n "torch": "{torch.__version__}",\n "rates": {{\n' + ",\n".join(rows) + "\n }\n}\n"
    Path(__file__).with_suffix(".json").write_text(text)


if __name__ == "__main__":
    main()
