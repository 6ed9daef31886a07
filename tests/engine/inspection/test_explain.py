"""`explain_no_grad` names what cut a tensor; `fg.graph` shows and counts what was recorded."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from op_support import REGISTRY, ROWS, parts, plain

explain = fg.explain_no_grad


def leaf(*values: float) -> fg.Tensor:
    return fg.tensor(list(values), requires_grad=True)


def unrecorded(x: fg.Tensor) -> fg.Tensor:
    with fg.no_grad():
        return x * 2


def inferred(x: fg.Tensor) -> fg.Tensor:
    with fg.inference_mode():
        return x * 2


def array_of(x: fg.Tensor) -> Any:
    with fg.no_grad():
        return np.asarray(x)


@fg.no_grad()
def written(x: fg.Tensor) -> fg.Tensor:
    out = fg.zeros(2)
    out[:] = x
    return out


class Marked(fg.Function):
    """A function with a result that is no differentiable one."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> Any:
        first, second = x * 2, x * 3
        ctx.mark_non_differentiable(second)
        return first, second

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor, _: Any) -> fg.Tensor:
        return g * 2


def accumulated(x: fg.Tensor) -> fg.Tensor:
    (x * x).sum().backward()
    return x.grad


CUTS: dict[str, tuple[Callable[[fg.Tensor], Any], str]] = {
    "detach": (lambda x: x.detach(), "detach()"),
    "data": (lambda x: (x * 1).data, "detach()"),
    "no_grad": (unrecorded, "no_grad()"),
    "a view under no_grad": (fg.no_grad()(lambda x: x[:1]), "no_grad()"),
    "a reduction under no_grad": (fg.no_grad()(lambda x: x.sum()), "no_grad()"),
    "set_grad_enabled": (fg.set_grad_enabled(False)(lambda x: x * 2), "no_grad()"),
    "inference_mode": (inferred, "inference_mode()"),
    "a write under no_grad": (written, "no_grad()"),
    "an integer cast": (lambda x: x.astype(np.int64).astype(np.float64), "cast to integers"),
    "a comparison": (lambda x: (x > 0) * 1.0, "a comparison"),
    "floor_divide": (lambda x: fg.equal(x, 1.0).astype(np.float64), "a comparison"),
    "numpy": (lambda x: fg.tensor(x.numpy()), "NumPy array"),
    "a shared array": (lambda x: fg.asarray(x.numpy()[1:]), "NumPy array"),
    "asarray under no_grad": (lambda x: fg.asarray(array_of(x)), "NumPy array"),
    "detach().numpy()": (lambda x: fg.tensor(x.detach().numpy()), "detach()"),
    "fg.tensor": (lambda x: fg.tensor(x), "fg.tensor(t)"),
    "mark_non_differentiable": (lambda x: Marked.apply(x)[1], "custom function"),
    "grad": (lambda x: fg.autograd.grad((x * x).sum(), x)[0], "create_graph=True"),
    ".grad": (accumulated, "create_graph=True"),
}


@pytest.mark.parametrize("name", CUTS)
def test_explain_no_grad_names_the_operation_that_cut_the_path(name: str) -> None:
    cut, words = CUTS[name]
    result = cut(leaf(1.0, 2.0))
    assert not result.requires_grad
    assert words in explain(result)
    later = fg.concatenate([fg.ones(1), (result * 3 + 1).ravel()]).exp().sum()
    assert words in explain(later), "the reason passes on"


def test_the_line_of_the_cut_is_named_when_call_sites_are_recorded() -> None:
    x = leaf(1.0)
    with fg.record_call_sites():
        cut = x.detach()
    line = [i for i, t in enumerate(Path(__file__).read_text().splitlines(), 1) if "cut = x.d" in t]
    assert f"{__file__}:{line[0]} in test_the_line_of_the_cut" in explain(cut * 2)
    assert "called at" not in explain(x.detach())


def test_what_requires_grad_is_not_cut() -> None:
    x = leaf(1.0)
    assert explain(x) == "the tensor requires grad, as a leaf; nothing is cut"
    assert "MultiplyBackward" in explain(x.detach() * x)


def test_what_was_never_in_a_graph() -> None:
    assert "nothing it was computed from is known to require grad" in explain(fg.ones(2) * 3)
    assert "only floats" in explain(fg.arange(3))
    assert "nothing" in explain(fg.tensor([1.0], requires_grad=True).item() * fg.ones(1))
    with pytest.raises(TypeError, match="explain_no_grad: the argument is a ndarray"):
        explain(np.ones(2))  # type: ignore[arg-type]


def test_a_reason_ends_where_a_new_leaf_begins() -> None:
    x = leaf(1.0).detach().requires_grad_()
    assert "as a leaf" in explain(x)
    assert "create_graph" in explain(fg.autograd.grad((x * x).sum(), x)[0])


STEPS: dict[str, Callable[[fg.Tensor], Any]] = {
    "FloorDivideBackward": lambda x: x // 2.0,
    "HeavisideBackward": lambda x: np.heaviside(x, 0.5),
    "FloorBackward": lambda x: fg.floor(x),
    "CeilBackward": lambda x: np.ceil(x * 3),
    "TruncBackward": lambda x: np.trunc(x),
    "RintBackward": lambda x: np.rint(x),
    "decimals": lambda x: fg.round(x, 1),
    "SignBackward": lambda x: x.sign().exp(),
    "two": lambda x: fg.floor(x) + fg.ceil(x),
    "one behind another": lambda x: fg.floor(fg.ceil(x * 2)),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_on_every_path_is_named(name: str) -> None:
    x = leaf(1.5, 2.5)
    loss = STEPS[name](x).sum()
    words = explain(loss)
    assert "its gradient is zero everywhere" in words
    assert "Backward" not in name or name in words
    loss.backward()
    assert not x.grad.any()


def test_a_step_beside_another_path_cuts_nothing() -> None:
    x = leaf(1.5, 2.5)
    for loss in (x * fg.floor(x), fg.copysign(x, x), fg.remainder(x, 2.0), x + x // 2):
        assert "nothing is cut" in explain(loss.sum())


def test_every_derivative_that_is_zero_is_known() -> None:
    """Operations of one operand whose gradient is zero wherever it is tried say so."""
    points = np.array([[0.3, 0.7], [0.1, 0.4]])
    for row in fg._core._registry():
        if not row["differentiable"] or len(row["params"]) != 1 or not row["method"]:
            continue
        if row["name"] == "view_as_real":  # It takes complex numbers only.
            continue
        x = fg.tensor(points, requires_grad=True)
        out = getattr(x, row["name"])()
        if isinstance(out, fg.Tensor) and out.requires_grad and out.dtype.kind == "f":
            out.sum().backward()
            assert ("zero everywhere" in explain(out)) == (not x.grad.any()), row["name"]


CONSTANTS: dict[str, Callable[[fg.Tensor], Any]] = {
    "a comparison": lambda x: x > 1,
    "argmax": lambda x: x.argmax(),
    "searchsorted": lambda x: fg.searchsorted(x, x),
    "count": lambda x: fg.count_nonzero(x),
    "isin": lambda x: fg.isin(x, [1.0]),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_results_without_a_derivative_say_what_made_them(name: str) -> None:
    assert "an operation without a derivative made it" in explain(CONSTANTS[name](leaf(1.0, 2.0)))


#: New tensors, which take nothing from an operand but its shape; and one that refuses.
MADE = {"zeros_like", "ones_like", "full_like", "nextafter"}
CONSTANT = [c for c in ROWS if not REGISTRY[c.key]["differentiable"] and c.key not in MADE]


@pytest.mark.parametrize("case", CONSTANT, ids=lambda case: case.key)
def test_every_constant_operation_says_so(case: Case) -> None:
    for one in case.calls:
        arrays = [fg.tensor(a, requires_grad=a.dtype.kind == "f") for a in one.arrays()]
        if any(x.requires_grad for x in arrays):
            result = one.apply(plain(case), arrays)
            for out in () if isinstance(result, bool) else parts(result):
                assert "an operation without a derivative made it" in explain(out)


class TestGraph:
    def test_summary_counts_each_node_once(self) -> None:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        shared = x * w
        found = fg.graph.summary((shared.exp() + shared.sin()).sum())
        assert (found.operations, found.leaves, found.edges, found.depth) == (5, 2, 7, 4)
        assert {share.name: share.nodes for share in found.memory.by_operation} == {
            "multiply": 1, "exp": 1, "sin": 1, "add": 1, "sum": 1,
        }  # fmt: skip
        assert "5 operations, 2 leaves, 7 edges, depth 4" in str(found)

    def test_memory_counts_each_buffer_once(self) -> None:
        x = fg.ones(1000, requires_grad=True)
        y = x.exp()
        found = fg.graph.memory((y * y).sum())
        assert found.saved_bytes == 8000
        both = fg.graph.memory((x.sin() + y).sum())
        assert both.saved_bytes == 16_000
        assert both.total_bytes == both.saved_bytes + both.node_bytes
        assert "15.6 KiB" in str(both)

    def test_memory_is_what_backward_frees(self) -> None:
        x = fg.ones(50_000, requires_grad=True)
        gc.collect()
        before = fg.live_bytes()
        loss = x.exp().sin().cos().sum()
        kept = fg.live_bytes() - before
        assert fg.graph.memory(loss).saved_bytes == kept - 8 == 3 * 400_000 - 400_000
        loss.backward()
        assert fg.graph.memory(loss).saved_bytes == 0

    def test_pictures(self) -> None:
        x = fg.tensor([1.0], requires_grad=True, name="x")
        y = (x * x).exp()
        assert fg.graph.to_dot(y).startswith("digraph")
        assert '"exp"' in fg.graph.to_dot(y)
        assert fg.graph.to_mermaid(y).startswith("flowchart")
        assert "x (1,)" in fg.graph.to_mermaid(y)
        assert fg.graph is fg.autograd.graph

    @pytest.mark.parametrize("name", ["to_dot", "to_mermaid", "summary", "memory"])
    def test_what_has_no_graph_is_refused(self, name: str) -> None:
        with pytest.raises(fg.errors.GradientError, match=f"{name}: .*explain_no_grad"):
            getattr(fg.graph, name)(fg.ones(1))
        with pytest.raises(TypeError, match=f"{name}: the argument is a list"):
            getattr(fg.graph, name)([1.0])

    def test_a_deep_graph_is_walked_without_recursion(self) -> None:
        x = leaf(1.0)
        y = x
        for _ in range(20_000):
            y = y * 1.0
        assert fg.graph.summary(y).depth == 20_000


def test_show_config_prints_what_this_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    fg.show_config()
    printed = capsys.readouterr().out
    for row in ("ferrograd", "python", "numpy", "simd", "threads", "operations"):
        assert f"\n{row}" in f"\n{printed}"
    assert fg.__version__ in printed
