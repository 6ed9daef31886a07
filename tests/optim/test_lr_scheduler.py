"""`fg.optim.lr_scheduler`: every schedule against PyTorch's rates, its state, and what is refused.

The golden numbers are `golden/schedules.json`, written by the script of the same name, which also
has the cases.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.optim import lr_scheduler as lr, swa_utils

HERE = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(HERE))
import schedules  # type: ignore[import-not-found]  # noqa: E402

GOLDEN = json.loads((HERE / "schedules.json").read_text())["rates"]
CASES = schedules.cases(lr, swa_utils.SWALR)
PLATEAUS = schedules.plateaus(lr)


def fresh(name: str = "SGD", **options: Any) -> Any:
    tensors = [fg.zeros(1, requires_grad=True) for _ in schedules.RATES]
    return schedules.optimizer_of(fg.optim, tensors, name)


@pytest.mark.parametrize("name", [name for name in GOLDEN if not name.startswith("plateau")])
def test_rates_are_pytorchs(name: str) -> None:
    optimizer = fresh("Adam" if name.endswith(" Adam") else "SGD")
    schedule = CASES[name.removesuffix(" Adam")](optimizer)
    found = schedules.rates(optimizer, schedule)
    np.testing.assert_allclose(found, GOLDEN[name], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", PLATEAUS)
def test_rates_of_plateaus_are_pytorchs(name: str) -> None:
    optimizer = fresh()
    found = schedules.rates(optimizer, PLATEAUS[name](optimizer), schedules.metrics())
    np.testing.assert_allclose(found, GOLDEN[f"plateau {name}"], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_a_rate_that_is_a_tensor_keeps_its_place(name: str) -> None:
    numbers, tensors = fresh(), fresh()
    kept = []
    for group in tensors.param_groups:
        group["lr"] = fg.tensor(group["lr"], dtype="float64")
        kept.append(group["lr"])
    want = schedules.rates(numbers, CASES[name](numbers))
    found = schedules.rates(tensors, CASES[name](tensors))
    np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-15)
    assert [group["lr"] for group in tensors.param_groups] == kept
    assert all(a is g["lr"] for a, g in zip(kept, tensors.param_groups, strict=True))


@pytest.mark.parametrize("name", [*CASES, *PLATEAUS])
def test_a_schedule_goes_on_from_its_state(name: str) -> None:
    make = CASES[name] if name in CASES else PLATEAUS[name]
    given = (None,) * 20 if name in CASES else schedules.metrics()

    def steps(optimizer: Any, schedule: Any, which: range) -> list[Any]:
        rows = []
        for i in which:
            optimizer.step()
            schedule.step() if given[i] is None else schedule.step(given[i])
            rows.append([g["lr"] for g in optimizer.param_groups])
        return rows

    first, second = fresh(), fresh()
    one, two = make(first), make(second)
    steps(first, one, range(7))
    second.load_state_dict(first.state_dict())
    two.load_state_dict(one.state_dict())
    assert two.get_last_lr() == one.get_last_lr()
    assert steps(second, two, range(7, 20)) == steps(first, one, range(7, 20))


def test_state_is_a_copy_and_functions_with_state_are_in_it() -> None:
    class Decay:
        def __init__(self) -> None:
            self.rate = 0.5

        def __call__(self, epoch: int) -> float:
            return float(self.rate**epoch)

    optimizer = fresh()
    schedule = lr.LambdaLR(optimizer, [Decay(), lambda epoch: 1.0])
    state = schedule.state_dict()
    assert state["lr_lambdas"] == [{"rate": 0.5}, None]
    assert "optimizer" not in state
    other = lr.LambdaLR(fresh(), [Decay(), lambda epoch: 1.0])
    state["lr_lambdas"][0]["rate"] = 0.25
    other.load_state_dict(state)
    assert other.lr_lambdas[0].rate == 0.25
    assert schedule.lr_lambdas[0].rate == 0.5


def test_a_given_epoch_takes_the_closed_form() -> None:
    for make in (
        lambda o: lr.StepLR(o, 3),
        lambda o: lr.MultiStepLR(o, [2, 7]),
        lambda o: lr.LinearLR(o),
        lambda o: lr.PolynomialLR(o, 12),
        lambda o: lr.ExponentialLR(o, 0.9),
        lambda o: lr.ConstantLR(o),
        lambda o: lr.CosineAnnealingLR(o, 12),
        lambda o: lr.CosineAnnealingWarmRestarts(o, 4, 2),
        lambda o: lr.LambdaLR(o, lambda e: 0.9**e),
    ):
        stepped, jumped = fresh(), fresh()
        one, two = make(stepped), make(jumped)
        stepped.step()
        jumped.step()
        for _ in range(8):
            one.step()
        two.step(8)
        np.testing.assert_allclose(two.get_last_lr(), one.get_last_lr(), rtol=1e-12)


def test_resuming_by_the_last_epoch_needs_the_initial_rates() -> None:
    optimizer = fresh()
    with pytest.raises(fg.errors.ArgumentError, match="group 0 has no 'initial_lr'"):
        lr.StepLR(optimizer, 3, last_epoch=4)
    for group in optimizer.param_groups:
        group["initial_lr"] = 0.25
    schedule = lr.CosineAnnealingLR(optimizer, 10, last_epoch=4)
    assert (schedule.last_epoch, schedule.base_lrs) == (5, [0.25, 0.25])
    assert schedule.closed_form()[0] == pytest.approx(0.125)


def test_a_schedule_that_is_stepped_first_warns() -> None:
    schedule = lr.StepLR(fresh(), 3)
    with pytest.warns(UserWarning, match=r"StepLR.step was called before the optimiser's"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


def test_a_schedule_of_ones_own() -> None:
    class Inverse(lr.LRScheduler):
        def get_lr(self) -> list[Any]:
            return [base / (1 + self.last_epoch) for base in self.base_lrs]

    optimizer = fresh()
    schedule = Inverse(optimizer)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.25, 0.01]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o: lr.StepLR([o], 3), "StepLR: the optimizer is a list"),
        (lambda o: lr.LambdaLR(o, [abs]), "1 functions were given for 2 groups"),
        (lambda o: lr.MultiplicativeLR(o, 0.5), "lr_lambda is a float"),
        (lambda o: lr.ConstantLR(o, 2.0), "factor is 2.0; give a number from 0 to 1"),
        (lambda o: lr.LinearLR(o, 0.0), "start_factor is 0"),
        (lambda o: lr.LinearLR(o, end_factor=3.0), "end_factor is 3.0"),
        (lambda o: lr.CosineAnnealingWarmRestarts(o, 0), "T_0 is 0; give a whole number from 1"),
        (lambda o: lr.CyclicLR(o, 0.1, 0.2, mode="square"), "mode is 'square'; give one of"),
        (lambda o: lr.CyclicLR(o, [0.1], 0.2), "base_lr has 1 values for 2 groups"),
        (lambda o: lr.OneCycleLR(o, 0.1), "OneCycleLR: there are no steps"),
        (lambda o: lr.OneCycleLR(o, 0.1, 10, pct_start=2.0), "pct_start is 2.0"),
        (lambda o: lr.SequentialLR(o, [], []), "there are no schedules"),
        (lambda o: lr.SequentialLR(o, [lr.StepLR(o, 1)], [1]), "1 milestones for 1 schedules"),
        (lambda o: lr.ChainedScheduler([lr.ReduceLROnPlateau(o)]), "whose step needs a metric"),
        (lambda o: lr.ChainedScheduler([lr.StepLR(fresh(), 1)], o), "belongs to another optimiser"),
        (lambda o: lr.ReduceLROnPlateau(o, "mean"), "mode is 'mean'"),
        (lambda o: lr.ReduceLROnPlateau(o, factor=1.0), "factor is 1.0; give a number below 1"),
        (lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=-1), "anneal_epochs is -1"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(fresh())


def test_momentum_of_an_optimiser_without_any_is_refused() -> None:
    optimizer = fresh("Adagrad")
    with pytest.raises(fg.errors.ArgumentError, match="pass cycle_momentum=False"):
        lr.OneCycleLR(optimizer, 0.1, 10)
    schedule = lr.OneCycleLR(optimizer, 0.1, 10, cycle_momentum=False)
    optimizer.step()
    for _ in range(10):
        schedule.step()
    with pytest.raises(fg.errors.ArgumentError, match=r"this is step 11 of 10"):
        schedule.step()


def test_a_compiled_step_follows_a_rate_that_is_a_tensor() -> None:
    def run(compiled: bool) -> tuple[list[float], int]:
        w = fg.tensor([1.0, -2.0], requires_grad=True)
        optimizer = fg.optim.AdamW([w], lr=fg.tensor(0.1))
        schedule = lr.CosineAnnealingLR(optimizer, 10)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((w - x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        f = fg.compile(step) if compiled else step
        for _ in range(15):
            f(fg.ones(2))
            schedule.step()
        return w.tolist(), len(f.programs) if compiled else 1

    assert run(True) == run(False)
