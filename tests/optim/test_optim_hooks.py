"""`fg.optim` around the rules: names, hooks, foreign state, steps inside backward, averages."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.optim import swa_utils

ROOT = Path(__file__).parents[2]


def test_names_and_arguments_are_pytorchs() -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(fg.__file__).parent.parent)}
    command = [sys.executable, str(ROOT / "tools" / "optim_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout) == (0, "the page holds\n"), done.stdout + done.stderr


def leaf(*values: float) -> fg.Tensor:
    w = fg.tensor(list(values), requires_grad=True)
    w.grad = fg.ones(len(values))
    return w


def test_step_hooks_run_in_order_and_may_change_arguments() -> None:
    w = leaf(1.0)
    optimizer = fg.optim.SGD([w], lr=0.5)
    seen: list[Any] = []

    def before(own: Any, args: Any, kwargs: Any) -> Any:
        seen.append(("before", own is optimizer, len(args), w.item()))
        return (lambda: 7.0,), {}

    first = optimizer.register_step_pre_hook(before)
    with optimizer.register_step_post_hook(lambda *_: seen.append(("after", w.item()))):
        assert optimizer.step() == 7.0
    first.remove()
    first.remove()
    assert optimizer.step() is None
    assert seen == [("before", True, 0, 1.0), ("after", 0.5)]
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(fg.errors.ContractError, match="a pre-hook returned 3"):
        optimizer.step()


def test_state_hooks_see_and_replace_the_state() -> None:
    optimizer = fg.optim.SGD([leaf(1.0)], lr=0.5)
    seen: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda own: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda own: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda own, state: {**state, "note": 3})
    assert optimizer.state_dict()["note"] == 3
    assert seen == ["first", "second"]

    def slower(own: Any, state: Any) -> Any:
        return {**state, "param_groups": [{**g, "lr": 0.25} for g in state["param_groups"]]}

    optimizer.register_load_state_dict_pre_hook(slower)
    optimizer.register_load_state_dict_post_hook(lambda own: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert (optimizer.param_groups[0]["lr"], seen[-1]) == (0.25, "loaded")


def test_parameters_may_have_names() -> None:
    model = fg.nn.Linear(2, 3)
    optimizer = fg.optim.Adam(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(fg.errors.ArgumentError, match="name the parameters of all or none"):
        optimizer.add_param_group({"params": [leaf(1.0)]})


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_steps_in_the_backward_pass_are_those_after_it(name: str) -> None:
    def train(inside: bool) -> list[Any]:
        fg.manual_seed(0)
        model = fg.nn.Sequential(fg.nn.Linear(3, 4), fg.nn.Tanh(), fg.nn.Linear(4, 1))
        each = {p: getattr(fg.optim, name)([p], lr=0.05) for p in model.parameters()}

        def update(p: Any) -> None:
            each[p].step()
            each[p].zero_grad()

        for p in each if inside else ():
            p.register_post_accumulate_grad_hook(update)
        for i in range(5):
            (model(fg.ones(2, 3) * i) ** 2).sum().backward()
            for p in () if inside else each:
                update(p)
        assert all(p.grad is None for p in each)
        return [p.detach().numpy() for p in each]

    for a, b in zip(train(True), train(False), strict=True):
        np.testing.assert_array_equal(a, b)


def test_state_that_pytorch_wrote_is_read() -> None:
    torch = pytest.importorskip("torch")
    for name in ("SGD", "Adam", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop",
                 "ASGD", "Rprop", "LBFGS"):  # fmt: skip
        options = {"momentum": 0.9} if name == "SGD" else {}
        torch.set_default_dtype(torch.float64)
        w = torch.tensor([[1.0, -2.0, 0.5]], requires_grad=True)
        theirs = getattr(torch.optim, name)([w], **options)

        def both(x: Any, optimizer: Any, steps: int) -> None:
            def closure() -> Any:
                optimizer.zero_grad()
                loss = ((x - 0.3) ** 2).sum() + (x**4).sum()
                loss.backward()
                return loss

            for _ in range(steps):
                optimizer.step(closure)

        both(w, theirs, 1)
        v = fg.tensor(w.detach().numpy(), requires_grad=True)
        ours = getattr(fg.optim, name)([v], **options)
        ours.load_state_dict(theirs.state_dict())
        assert set(ours.state[v]) >= set(theirs.state[w]) - {"al"}
        both(w, theirs, 1)
        both(v, ours, 1)
        torch.set_default_dtype(torch.float32)
        np.testing.assert_allclose(v.detach().numpy(), w.detach().numpy(), rtol=1e-12, err_msg=name)


def test_complex_state_has_the_shape_of_its_parameter_and_older_pairs_are_read() -> None:
    z = fg.tensor([1.0 + 2.0j, 3.0], requires_grad=True)
    z.grad = fg.tensor([1.0 + 1.0j, 2.0j])
    optimizer = fg.optim.Adam([z])
    optimizer.step()
    state = optimizer.state_dict()
    assert state["state"][0]["exp_avg"].dtype == np.complex128
    pairs = {k: fg.view_as_real(v) if v.ndim else v for k, v in state["state"][0].items()}
    again = fg.optim.Adam([z])
    again.load_state_dict({**state, "state": {0: pairs}})
    assert again.state[z]["exp_avg"].tolist() == state["state"][0]["exp_avg"].tolist()


def test_lbfgs_goes_on_from_its_state() -> None:
    def make(x: Any) -> tuple[Any, Any]:
        optimizer = fg.optim.LBFGS([x], max_iter=3, history_size=2, line_search_fn="strong_wolfe")

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((1.0 - x[:-1]) ** 2 + 100.0 * (x[1:] - x[:-1] ** 2) ** 2).sum()
            loss.backward()
            return loss

        return optimizer, closure

    x = fg.tensor([-1.2, 1.0, 0.7], requires_grad=True)
    one, closure = make(x)
    for _ in range(3):
        one.step(closure)
    y = fg.tensor(x.detach(), requires_grad=True)
    two, other = make(y)
    two.load_state_dict(one.state_dict())
    for _ in range(3):
        assert two.step(other).item() == one.step(closure).item()
    assert y.tolist() == x.tolist()
    with pytest.raises(fg.errors.CompileError):
        fg.compile(lambda a: one.step(lambda: closure() * a))(fg.ones(()))
    for _ in range(200):
        one.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), 1.0, atol=1e-4)


def averaged(values: list[float], **options: Any) -> fg.Tensor:
    model = fg.nn.Linear(1, 1, bias=False)
    mean = swa_utils.AveragedModel(model, **options)
    for value in values:
        model.weight.data.fill_(value)
        mean.update_parameters(model)
    assert mean.n_averaged.item() == len(values)
    assert mean(fg.ones(1, 1)).item() == mean.module.weight.item()
    return mean.module.weight.item()  # type: ignore[no-any-return]


def test_averages_of_models() -> None:
    values = [1.0, 2.0, 6.0]
    assert averaged(values) == pytest.approx(3.0)
    want = 0.9 * (0.9 * 1.0 + 0.1 * 2.0) + 0.1 * 6.0
    for options in (
        {"avg_fn": swa_utils.get_ema_avg_fn(0.9)},
        {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
    ):
        assert averaged(values, **options) == pytest.approx(want)
    assert averaged(values, multi_avg_fn=swa_utils.get_swa_multi_avg_fn()) == pytest.approx(3.0)
    with pytest.raises(fg.errors.ArgumentError, match="both given"):
        averaged([], avg_fn=min, multi_avg_fn=min)
    with pytest.raises(fg.errors.ArgumentError, match="decay is 2"):
        swa_utils.get_ema_multi_avg_fn(2)


class Norm(fg.nn.Module):
    """What `update_bn` asks of batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.momentum: float | None = 0.1
        self.register_buffer("mean", fg.zeros(()))
        self.register_buffer("count", fg.zeros(()))

    def reset_running_stats(self) -> None:
        self.mean.zero_()
        self.count.zero_()

    def forward(self, x: Any) -> Any:
        self.count += 1.0
        weight = 1.0 / self.count if self.momentum is None else self.momentum
        self.mean.add_((x.mean() - self.mean) * weight)
        return x


def test_statistics_are_computed_anew_and_buffers_follow() -> None:
    model = fg.nn.Sequential(Norm())
    model.eval()
    model(fg.ones(2) * 100.0)
    swa_utils.update_bn([(fg.ones(2) * v, 0) for v in (1.0, 2.0, 6.0)], model)
    assert model[0].mean.item() == pytest.approx(3.0)
    assert (model[0].momentum, model.training) == (0.1, False)
    mean = swa_utils.AveragedModel(model)
    mean.update_parameters(model)
    model[0].mean.fill_(7.0)
    mean.update_parameters(model)
    assert mean.module[0].mean.item() == 7.0
    both = swa_utils.AveragedModel(model, use_buffers=True)
    for value in (1.0, 3.0):
        model[0].mean.fill_(value)
        both.update_parameters(model)
    assert both.module[0].mean.item() == 2.0
