"""`fg.optim.Optimizer` as the base of optimisers of one's own: both forms, state, groups."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.optim import lr_scheduler


class Update(fg.optim.Optimizer):
    """The form with one method, which gives the next parameter."""

    def __init__(self, params: Any, lr: float = 0.5) -> None:
        super().__init__(params, {"lr": lr})

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        velocity = state.setdefault("velocity", fg.zeros_like(p))
        velocity.mul_(0.5).add_(grad)
        return p - group["lr"] * velocity


class Step(Update):
    """PyTorch's form: a whole step."""

    @fg.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["velocity"] = fg.zeros_like(p)
                state["velocity"].mul_(0.5).add_(p.grad)
                p.add_(state["velocity"], alpha=-group["lr"])
        return loss


class Both(Update):
    """A step around the base's."""

    def step(self, closure: Any = None) -> Any:
        return super().step(closure)


every_form = pytest.mark.parametrize("form", [Update, Step, Both])


def leaf(*values: float) -> fg.Tensor:
    w = fg.tensor(list(values), requires_grad=True)
    w.grad = fg.ones(len(values))
    return w


@every_form
def test_steps_of_ones_own_keep_state(form: Any) -> None:
    w = leaf(1.0, 2.0)
    optimizer = form([w])
    for _ in range(2):
        optimizer.step()
    assert w.tolist() == [-0.25, 0.75]
    assert optimizer.state[w]["velocity"].tolist() == [1.5, 1.5]
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    assert optimizer.state[w]["velocity"].tolist() == [1.75, 1.75]


@every_form
def test_hooks_run_once_around_a_step_of_ones_own(form: Any) -> None:
    optimizer = form([leaf(1.0)])
    seen: list[Any] = []
    optimizer.register_step_pre_hook(lambda own, args, kwargs: seen.append(("before", args)))
    optimizer.register_step_post_hook(lambda own, args, kwargs: seen.append(("after", kwargs)))
    optimizer.step()
    assert seen == [("before", ()), ("after", {})]


def test_a_step_that_raises_lets_the_next_one_have_its_hooks() -> None:
    w = leaf(1.0)
    optimizer = Step([w])
    seen: list[int] = []
    optimizer.register_step_post_hook(lambda *_: seen.append(1))

    def fails() -> None:
        raise ValueError("no loss")

    with pytest.raises(ValueError, match="no loss"):
        optimizer.step(fails)
    assert seen == []
    optimizer.step()
    assert seen == [1]


@every_form
def test_schedules_see_a_step_of_ones_own(form: Any) -> None:
    optimizer = form([leaf(1.0)])
    schedule = lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        schedule.step()
    other = lr_scheduler.StepLR(form([leaf(1.0)]), 1)
    with pytest.warns(UserWarning, match="before the optimiser's first step"):
        other.step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Muon", "LBFGS"])
def test_looking_at_state_that_is_not_there_changes_no_step(name: str) -> None:
    results = []
    for look in (False, True):
        w, rest = (fg.tensor(np.eye(2) + k, requires_grad=True) for k in (1.0, 2.0))
        options = {"SGD": {"momentum": 0.9}}.get(name, {})
        optimizer = getattr(fg.optim, name)([w, rest], lr=0.1, **options)
        if look:
            assert optimizer.state[w] == {} == optimizer.state[rest]

        def closure(w: Any = w, rest: Any = rest) -> Any:
            w.grad = rest.grad = None
            loss = (w * w).sum()
            loss.backward()
            return loss

        for _ in range(2):
            if name == "LBFGS":
                optimizer.step(closure)
            else:
                closure()
                optimizer.step()
        results.append(w.detach().numpy())
    np.testing.assert_array_equal(*results)


class Shaped(fg.optim.Optimizer):
    """Has state of shapes and dtypes of its own."""

    def _update(self, p: Any, grad: Any, state: Any, group: Any) -> Any:
        if not state:
            state["left"] = fg.eye(p.shape[0])
            state["mask"] = fg.ones(p.shape, dtype=bool)
            state["places"] = fg.arange(p.numel()).reshape(p.shape)
            state["exact"] = fg.zeros(p.shape, dtype="float64")
            state["past"] = []
        state["left"].add_(grad @ grad.T)
        state["past"] = [*state["past"], grad.clone()][-2:]
        return p - group["lr"] * grad


@pytest.mark.parametrize("shape", [(3, 2), (2, 2)])
@pytest.mark.parametrize("saved", [False, True])
def test_state_of_ones_own_comes_back_as_it_was(shape: Any, saved: bool, tmp_path: Path) -> None:
    w = fg.ones(shape, dtype="float32").requires_grad_()
    w.grad = fg.ones(shape, dtype="float32")
    first, second = (Shaped([w], {"lr": 0.1}) for _ in range(2))
    first.step()
    if saved:
        fg.save_state(tmp_path / "state", opt=first)
        fg.load_state(tmp_path / "state", opt=second)
    else:
        given = first.state_dict()
        second.load_state_dict(given)
    ours, theirs = first.state[w], second.state[w]
    assert ours.keys() == theirs.keys()
    for key in ("left", "mask", "places", "exact"):
        assert theirs[key].dtype == ours[key].dtype
        np.testing.assert_array_equal(theirs[key].numpy(), ours[key].numpy())
    np.testing.assert_array_equal(theirs["past"][0].numpy(), ours["past"][0].numpy())
    second.step()
    if not saved:
        assert given["state"][0]["left"][0, 0].item() == 1.0 + shape[1]
        assert second.state[w]["left"][0, 0].item() == 1.0 + 2 * shape[1]


def test_groups_keep_entries_of_other_programs() -> None:
    w, b = leaf(1.0), leaf(1.0)
    groups = [{"params": [w], "name": "head", "lr_scale": 0.5}, {"params": [b]}]
    optimizer = fg.optim.SGD(groups, lr=0.1)
    for group in optimizer.param_groups:
        group["lr"] *= group.get("lr_scale", 1.0)
    optimizer.step()
    assert (w.tolist(), b.tolist()) == ([0.95], [0.9])
    state = optimizer.state_dict()
    assert state["param_groups"][0]["name"] == "head"
    other = fg.optim.SGD([w, b][:1], lr=0.1)
    other.add_param_group({"params": [b], "weight_decay": 0.1, "rho": 0.05})
    other.load_state_dict(state)
    assert other.param_groups[0]["lr_scale"] == 0.5
    assert other.param_groups[1]["rho"] == 0.05


class Sharp(fg.optim.Optimizer):
    """A step at the parameters that are worst nearby, with the step of another optimiser."""

    def __init__(self, params: Any, base: Any, rho: float, **options: Any) -> None:
        super().__init__(params, {"rho": rho, **options})
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    @fg.no_grad()
    def step(self, closure: Any) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old"] = p.clone()
                p.add_(p.grad * (group["rho"] / p.grad.norm()))
        self.zero_grad()
        loss = fg.enable_grad()(closure)()
        for p, state in self.state.items():
            p.copy_(state["old"])
        self.base.step()
        return loss


def test_an_optimizer_shares_its_groups_with_another_one() -> None:
    w = fg.tensor([3.0, 4.0], requires_grad=True)
    optimizer = Sharp([w], fg.optim.SGD, rho=0.5, lr=0.1)
    w.grad = 2.0 * w.detach()

    def closure() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss.detach()

    assert optimizer.step(closure).item() == pytest.approx(5.5**2)
    np.testing.assert_allclose(w.detach().numpy(), 0.78 * np.array([3.0, 4.0]))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("momentun", "momentum"),
        ("weight_deacy", "weight_decay"),
        ("rate", "lr"),
        ("learning_rate", "lr"),
    ],
)
def test_a_misspelt_option_of_a_group_is_refused(name: str, meant: str) -> None:
    with pytest.raises(fg.errors.ArgumentError, match=f"'{name}', which is no option.*{meant}"):
        fg.optim.SGD([{"params": [leaf(1.0)], name: 0.5}], lr=0.1)
