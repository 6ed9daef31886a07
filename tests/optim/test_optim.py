"""`fg.optim`: every option against PyTorch's own numbers, and what an optimiser refuses.

The golden numbers are `golden/optimizers.json`, written by the script of the same name.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor

HERE = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(HERE))
import optimizers  # type: ignore[import-not-found]  # noqa: E402

GOLDEN = json.loads((HERE / "optimizers.json").read_text())


def loss_of(w: Tensor, b: Tensor) -> Tensor:
    return ((fg.sin(w) * w).sum() + ((w * b - 1.0) ** 2).sum() + (b * b * b * b).sum()) / 3.0


def start() -> tuple[Tensor, Tensor]:
    w, b = (fg.tensor(GOLDEN["start"][k], requires_grad=True) for k in "wb")
    return w, b


def run(optimizer: Any, w: Tensor, b: Tensor, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(w, b)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses


def ids(case: dict[str, Any]) -> str:
    return "-".join([case["optimizer"], *map(str, case["options"])])


def golden_run(case: dict[str, Any], w: Tensor, b: Tensor, value: Any) -> None:
    params = [w] if case["optimizer"] == "Muon" else [w, b]
    optimizer = getattr(fg.optim, case["optimizer"])(params, **case["options"])
    losses: list[float] = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        b.grad = None
        push = np.array(optimizers.drive(len(losses), case["optimizer"])).ravel()[: w.size]
        real = fg.view_as_real(w)[..., 0] if w.dtype.kind == "c" else w
        found: Tensor = value(w, b) + (real * push.reshape(w.shape)).sum()
        found.backward()
        return found

    for _ in range(GOLDEN["steps"]):
        losses.append(optimizer.step(closure).item())
    # A quasi-Newton iteration on its way to the optimum doubles roundings many times.
    near = 1e-9 if case["optimizer"] == "LBFGS" else 1e-12
    for x, key in ((w, "w"), (b, "b")):
        x = x.detach()
        found = (fg.view_as_real(x) if x.dtype.kind == "c" else x).numpy()
        np.testing.assert_allclose(found, case[key], rtol=near, atol=near)
    picked = [losses[0], losses[49], losses[-1]]
    np.testing.assert_allclose(picked, case["losses"], rtol=near, atol=near)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=ids)
def test_a_hundred_steps_equal_pytorch(case: dict[str, Any]) -> None:
    golden_run(case, *start(), loss_of)


@pytest.mark.parametrize("case", GOLDEN["complex_cases"], ids=ids)
def test_complex_parameters_step_as_pytorch_does(case: dict[str, Any]) -> None:
    def complex_loss(w: Tensor, b: Tensor) -> Tensor:
        squares = (abs(w * b - (1.0 - 0.5j)) ** 2).sum()
        return (squares + (abs(w) ** 2).sum() + (abs(b) ** 4).sum()) / 3.0

    pairs = (np.array(GOLDEN["complex_start"][k]) for k in "wb")
    w, b = (fg.tensor(pair[:, 0] + 1j * pair[:, 1], requires_grad=True) for pair in pairs)
    golden_run(case, w, b, complex_loss)


def test_a_step_changes_the_same_leaf_in_place() -> None:
    w, b = start()
    alias, version = w.detach(), w._version
    run(fg.optim.SGD([w, b], lr=0.1), w, b, 1)
    assert w.is_leaf
    assert w.requires_grad
    assert w._version > version
    np.testing.assert_array_equal(alias.numpy(), w.detach().numpy())


def test_backward_after_a_step_through_an_old_graph_is_an_error() -> None:
    w, b = start()
    loss = loss_of(w, b)
    loss.backward(retain_graph=True)
    fg.optim.SGD([w, b], lr=0.1).step()
    with pytest.raises(fg.errors.InPlaceError):
        loss.backward()


def test_a_parameter_without_a_gradient_is_left_alone() -> None:
    w, b = start()
    optimizer = fg.optim.Adam([w, b], lr=0.1)
    (w * w).sum().backward()
    before = b.tolist()
    optimizer.step()
    assert b.tolist() == before
    assert b not in optimizer.state
    assert w.tolist() != GOLDEN["start"]["w"]


def test_zero_grad_forgets_or_fills() -> None:
    w, b = start()
    optimizer = fg.optim.SGD([w, b])
    loss_of(w, b).backward()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is not None
    assert not w.grad.numpy().any()
    optimizer.zero_grad()
    assert w.grad is None


def test_parameter_groups_have_their_own_options() -> None:
    w, b = start()
    optimizer = fg.optim.SGD([{"params": [w], "lr": 0.0}, {"params": b}], lr=0.1)
    run(optimizer, w, b, 1)
    assert w.tolist() == GOLDEN["start"]["w"]
    assert b.tolist() != GOLDEN["start"]["b"]
    assert [group["lr"] for group in optimizer.param_groups] == [0.0, 0.1]
    assert "group 1: 1 parameters, lr=0.1" in repr(optimizer)


def test_a_closure_is_called_with_recording_on() -> None:
    w, b = start()
    optimizer = fg.optim.SGD([w, b], lr=0.1)

    def closure() -> float:
        assert fg.is_grad_enabled()
        optimizer.zero_grad()
        loss = loss_of(w, b)
        loss.backward()
        return float(loss.item())

    with fg.no_grad():
        assert optimizer.step(closure) == pytest.approx(loss_of(*start()).item())
    assert w.tolist() != GOLDEN["start"]["w"]


RULES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop"]
RULES += ["ASGD", "Rprop"]


@pytest.mark.parametrize("name", RULES)
def test_state_survives_a_round_trip(name: str) -> None:
    options: dict[str, Any] = {"SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}}.get(name, {})
    make = getattr(fg.optim, name)
    w, b = start()
    first = make([w, b], lr=0.05, **options)
    run(first, w, b, 5)
    v, c = (fg.tensor(t.detach(), requires_grad=True) for t in (w, b))
    second = make([v, c], lr=0.01)
    second.load_state_dict(first.state_dict())
    run(first, w, b, 5)
    run(second, v, c, 5)
    np.testing.assert_array_equal(v.detach().numpy(), w.detach().numpy())
    assert second.param_groups[0]["lr"] == 0.05


def test_a_state_is_a_copy_and_older_and_foreign_ones_are_read() -> None:
    w, b = start()
    first = fg.optim.Adam([w, b], lr=0.05)
    run(first, w, b, 5)
    state = first.state_dict()
    want = [x.tolist() for x in (w, b)]
    v, c = (fg.tensor(t.detach(), requires_grad=True) for t in (w, b))
    run(first, w, b, 5)
    for step in (5, np.float32(5.0), np.array(5.0, "float32"), fg.tensor(5.0), np.int64(5)):
        for entry in state["state"].values():
            entry.update(step=step, exp_avg=np.asarray(entry["exp_avg"]))
        again = [fg.tensor(t.detach(), requires_grad=True) for t in (v, c)]
        second = fg.optim.Adam(again, lr=0.05)
        second.load_state_dict(state)
        assert [x.tolist() for x in again] == want
        run(second, *again, 5)
        assert [x.tolist() for x in again] == [w.tolist(), b.tolist()]
        assert second.state[again[0]]["step"].item() == 10.0


def test_parameters_count_their_own_steps() -> None:
    w, b = start()
    v, c = start()
    both = fg.optim.Adam([w, b], lr=0.05)
    apart = [fg.optim.Adam([v], lr=0.05), fg.optim.Adam([c], lr=0.05)]
    for i in range(9):
        for x, y in ((w, v), (b, c)):
            x.grad = y.grad = None if i % 3 == 1 and x is w else (x * x + i).detach()
        both.step()
        for optimizer in apart:
            optimizer.step()
    assert (w.tolist(), b.tolist()) == (v.tolist(), c.tolist())
    assert [both.state[x]["step"].item() for x in (w, b)] == [6.0, 9.0]


@pytest.mark.parametrize("name", RULES)
def test_a_rate_may_be_a_tensor(name: str) -> None:
    make = getattr(fg.optim, name)
    (w, b), (v, c) = start(), start()
    rate = fg.tensor(0.05)
    number, tensor = make([w, b], lr=0.05), make([v, c], lr=rate)
    for value in (0.05, 0.01, 0.0):
        number.param_groups[0]["lr"] = value
        rate.fill_(value)
        run(number, w, b, 3)
        run(tensor, v, c, 3)
    np.testing.assert_array_equal(v.detach().numpy(), w.detach().numpy())
    tensor.load_state_dict(make([v, c], lr=0.2).state_dict())
    assert rate.item() == 0.2
    with pytest.raises(fg.errors.ArgumentError, match=r"lr has shape \(2,\); give a number"):
        make([w, b], lr=fg.ones(2))


def test_a_state_of_other_sizes_is_refused() -> None:
    w, b = start()
    first, second = fg.optim.SGD([w, b], momentum=0.9), fg.optim.SGD([w])
    with pytest.raises(fg.errors.ArgumentError, match=r"groups of \[2\] .* fit groups of \[1\]"):
        second.load_state_dict(first.state_dict())
    run(first, w, b, 1)
    state = first.state_dict()
    state["state"][0]["momentum_buffer"] = np.zeros(7)
    with pytest.raises(fg.errors.ArgumentError, match=r"momentum_buffer has shape \(7,\)"):
        first.load_state_dict(state)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w: fg.optim.SGD(w), "params is one tensor"),
        (lambda w: fg.optim.SGD(fg.nn.Linear(2, 2)), r"type Linear; pass .* model.parameters\(\)"),
        (lambda w: fg.optim.SGD([{"params": fg.nn.Linear(2, 2)}]), "params is of type Linear"),
        (lambda w: fg.optim.Adam(fg.nn.Linear(2, 2).parameters), "params is of type method"),
        (lambda w: fg.optim.SGD([w], lr="a"), "SGD: lr is 'a'; give a number of at least 0"),
        (lambda w: fg.optim.Adam([w], lr=None), "Adam: lr is None; give a number"),
        (lambda w: fg.optim.SGD([]), "there are no parameters"),
        (lambda w: fg.optim.SGD([w, w]), "parameter 1 is there twice"),
        (lambda w: fg.optim.SGD([w * 2]), "a result with history"),
        (lambda w: fg.optim.SGD([1.0]), "parameter 0 is float"),
        (lambda w: fg.optim.SGD([w], lr=-1), "SGD: lr is -1; give at least 0"),
        (lambda w: fg.optim.SGD([w], lr=float("nan")), "lr is nan"),
        (lambda w: fg.optim.SGD([w], momentum=-1), "momentum is -1"),
        (lambda w: fg.optim.SGD([w], nesterov=True), "nesterov needs a momentum"),
        (
            lambda w: fg.optim.SGD([w], nesterov=True, momentum=0.9, dampening=0.1),
            "nesterov needs a momentum",
        ),
        (lambda w: fg.optim.Adam([w], betas=(1.0, 0.9)), "betas are"),
        (lambda w: fg.optim.Adam([w], eps=-1), "Adam: eps is -1"),
        (lambda w: fg.optim.AdamW([w], weight_decay=-1), "AdamW: weight_decay is -1"),
        (lambda w: fg.optim.SGD([{"params": [w], "rate": 1}]), "'rate'"),
        (lambda w: fg.optim.SGD({w}), "params is a set"),
        (lambda w: fg.optim.SGD([("w", w), fg.ones(2)]), "some parameters have names"),
        (lambda w: fg.optim.Adam([w], differentiable=True), "differentiable=True is not supp"),
        (lambda w: fg.optim.Adadelta([w], rho=1.5), "rho is 1.5; give a number from 0 to 1"),
        (lambda w: fg.optim.Rprop([w], etas=(1.5, 2.0)), "give one below 1 and one above"),
        (lambda w: fg.optim.RMSprop([w], alpha=-1), "RMSprop: alpha is -1"),
        (lambda w: fg.optim.Adagrad([w], lr_decay=-1), "Adagrad: lr_decay is -1"),
        (lambda w: fg.optim.NAdam([w], momentum_decay=-1), "NAdam: momentum_decay is -1"),
        (lambda w: fg.optim.ASGD([w], weight_decay=-1), "ASGD: weight_decay is -1"),
        (lambda w: fg.optim.Muon([w]), r"parameter 0 is float64 of shape \(2,\); give real matr"),
        (lambda w: fg.optim.LBFGS([w], line_search_fn="armijo"), "line_search_fn is 'armijo'"),
        (lambda w: fg.optim.LBFGS([{"params": w}, {"params": fg.ones(2)}]), "one group of"),
        (lambda w: fg.optim.LBFGS([w]).step(), "there is no closure"),
        (lambda w: fg.optim.SGD([w]).register_step_pre_hook(1), "the hook is a int"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(fg.ones(2, requires_grad=True))


def test_an_optimiser_trains_a_module() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3))
    y = x @ np.array([[1.0], [-2.0], [0.5]]) + 0.3
    layer = fg.nn.Linear(3, 1)
    optimizer = fg.optim.Adam(layer.parameters(), lr=0.05)
    criterion = fg.nn.MSELoss()
    for _ in range(300):
        optimizer.zero_grad()
        criterion(layer(x), y).backward()
        optimizer.step()
    np.testing.assert_allclose(layer.weight.detach().numpy().ravel(), [1.0, -2.0, 0.5], atol=1e-3)
