"""The door: whatever a user calls, by name, method, operator or index, is one call.

What a scope shows of a call: `test_graph_scope.py`.
"""

import operator
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from case_model import Case
from op_support import REGISTRY, ROWS, tensors, with_arrays

F64 = Callable[[fg.Tensor], Any]


def entry(case: Case) -> Any:
    """The function of the core, under what the package makes of it."""
    row = REGISTRY[case.key]
    spaces = row["namespaces"]
    if not spaces or "" in spaces:
        return getattr(fg._core, row["function"])
    if spaces == ["Tensor"]:
        return getattr(fg.Tensor, row["name"])
    return fg._core._namespaces[spaces[0]][row["function"]]


def listed(compute: Callable[[], Any]) -> list[str]:
    with fg.Graph() as graph:
        compute()
    return [op.name for op in graph.ops]


# --- one call, one entry -----------------------------------------------------------------------


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.key)
def test_each_operation_is_listed_once(case: Case) -> None:
    function, name = entry(case), REGISTRY[case.key]["name"]
    function = case.through(function) if case.through else function
    for call in with_arrays(case):
        inputs = tensors(call.arrays(), grad=True)
        names = listed(lambda call=call, x=inputs: call.apply(function, x))
        assert names.count(name) == 1
        assert case.through or len(names) == 1
        return


@pytest.mark.parametrize(
    "case", [c for c in ROWS if REGISTRY[c.key]["in_place"]], ids=lambda case: case.key
)
def test_each_method_in_place_is_listed_once(case: Case) -> None:
    for call in with_arrays(case):
        x, *rest = tensors(call.arrays())
        arguments = call.filled([x, *rest])[1:]
        change = getattr(fg.tensor(x), f"{case.name}_")
        with fg.Graph() as graph:
            try:
                change(*arguments, **call.kwargs)
            except (ValueError, TypeError, fg.errors.FerrogradError):
                continue
        assert [op.name for op in graph.ops] == [case.name]
        return


FLOAT = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("lt", "le", "eq", "ne", "gt", "ge"),
]
BITS = ["and", "or", "xor", "lshift", "rshift"]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ipow"]
ALONE = ["__neg__", "__pos__", "__abs__"]


def float_operators(x: fg.Tensor, y: fg.Tensor) -> dict[str, Callable[[], Any]]:
    """Every operator, index and method of floats that is no operation of the registry."""
    calls: dict[str, Callable[[], Any]] = {}
    for name in FLOAT:
        function = getattr(operator, name)
        calls[name] = lambda function=function: function(x, y)
        calls[f"{name} with a number"] = lambda function=function: function(x, 1.5)
        calls[f"{name} of a number"] = lambda function=function: function(1.5, x)
        calls[f"{name} with an array"] = lambda function=function: function(x, y.numpy())
    for name in IN_PLACE:
        function = getattr(operator, name)
        calls[name] = lambda function=function: function(fg.tensor(x), y)
    for name in ALONE:
        calls[name] = getattr(x, name)
    calls["setitem"] = lambda: operator.setitem(fg.tensor(x), slice(None), y)
    calls["setitem with a mask"] = lambda: operator.setitem(fg.tensor(x), x > 0, 0.0)
    calls["index with a mask"] = lambda mask=x > 0: x[mask]
    calls["in"] = lambda: 2.5 in x
    calls["fill_"] = lambda: fg.tensor(x).fill_(1.0)
    calls["zero_"] = lambda: fg.tensor(x).zero_()
    calls["copy_"] = lambda: fg.tensor(x).copy_(y)
    calls["float"] = lambda: x.float()
    calls["to"] = lambda: x.to(np.int64)
    calls["asarray"] = lambda: fg.asarray(x, dtype=np.float32)
    calls["contiguous"] = lambda: x[::2].contiguous()
    return calls


def bit_operators(i: fg.Tensor) -> dict[str, Callable[[], Any]]:
    calls: dict[str, Callable[[], Any]] = {"invert": lambda: ~i}
    for name in BITS:
        function = getattr(operator, "and_" if name == "and" else "or_" if name == "or" else name)
        calls[name] = lambda function=function: function(i, i)
        calls[f"{name} with a number"] = lambda function=function: function(i, 3)
        calls[f"{name} of a number"] = lambda function=function: function(3, i)
    return calls


def test_each_operator_is_listed_once() -> None:
    x = fg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    i, y = fg.tensor([1, 2]), fg.tensor([0.5, 1.5, 2.5, 3.5])
    more = {
        "@": lambda: x @ x,
        "@ of an array": lambda: np.ones((2, 4)) @ x,
        "[]": lambda: x[0],
        "T": lambda: x.T,
        "detach_": lambda y=x * 1: y.detach_(),
        "and of booleans": lambda mask=x > 0: mask & mask,
        "invert booleans": lambda mask=x > 0: ~mask,
    }
    entries = {**float_operators(x, y), **bit_operators(i), **more}
    counts = {name: listed(compute) for name, compute in entries.items()}
    several = {"contiguous": 2, "setitem with a mask": 2}
    wrong = {n: found for n, found in counts.items() if len(found) != several.get(n, 1)}
    assert not wrong


def test_names_of_what_has_no_function() -> None:
    x, i = fg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), fg.tensor([1, 2])
    assert listed(lambda: list(x)) == ["index", "index"]
    assert listed(lambda: x.T.contiguous()) == ["permute", "contiguous"]
    assert listed(lambda: fg.asarray(x, dtype=np.float32)) == ["astype"]
    assert listed(lambda: (i & i, i | 1, ~i, i << 1)) == [
        *("bitwise_and", "bitwise_or", "bitwise_not", "left_shift")
    ]
    assert listed(lambda: (+x, abs(x), divmod(x, 2.0))) == [
        *("positive", "abs", "floor_divide", "remainder")
    ]


def test_the_elements_of_an_iteration_are_listed_with_their_place() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    with fg.Graph() as graph:
        first, second = x
    assert [op.attrs for op in graph.ops] == [{"arg1": 0}, {"arg1": 1}]
    assert [op.node for op in graph.ops] == [first.grad_fn, second.grad_fn]


# --- one call, one computation -----------------------------------------------------------------


@pytest.mark.parametrize("call", [fg.exp, lambda x: x.exp(), lambda x: x * x, fg.prod])
def test_a_call_that_fails_ran_once(call: F64) -> None:
    packed = []

    def pack(value: fg.Tensor) -> Any:
        packed.append(value)
        raise KeyError("mine")

    with fg.autograd.graph.saved_tensors_hooks(pack, lambda value: value), pytest.raises(KeyError):
        call(fg.ones(2, requires_grad=True))
    assert len(packed) == 1


def test_nothing_changes_when_saving_fails() -> None:
    def pack(value: fg.Tensor) -> Any:
        raise KeyError("mine")

    x = fg.ones(2, requires_grad=True) * 3
    changes: list[F64] = [
        lambda x: x.mul_(x),
        lambda x: x.exp_(),
        lambda x: operator.imul(x, fg.ones(2, requires_grad=True)),
        lambda x: x.clip_(0.0, 1.0),
    ]
    for change in changes:
        with fg.autograd.graph.saved_tensors_hooks(pack, lambda v: v), pytest.raises(KeyError):
            change(x)
        assert x.tolist() == [3, 3]
        assert x._version == 0


# --- the GIL -----------------------------------------------------------------------------------


class Neighbour:
    """A thread that counts whenever it gets the GIL, which nothing but a release gives to it."""

    def __enter__(self) -> "Neighbour":
        self.count, self.ends = 0, False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.interval = sys.getswitchinterval()
        self.thread.start()
        sys.setswitchinterval(1000.0)
        return self

    def run(self) -> None:
        while not self.ends:
            self.count += 1
            time.sleep(0)

    def __exit__(self, *exception: object) -> None:
        self.ends = True
        sys.setswitchinterval(self.interval)
        self.thread.join()

    def runs_beside(self, compute: Callable[[], Any]) -> bool:
        for _ in range(50):
            before = self.count
            compute()
            if self.count != before:
                return True
        return False


def test_no_operator_holds_the_gil_on_many_elements() -> None:
    n = 1 << 20
    x, i = fg.tensor(np.linspace(0.1, 2, n)), fg.tensor(np.arange(n) % 7)
    y = fg.tensor(np.linspace(2, 1, n))
    m = fg.tensor(np.linspace(0, 1, 250_000).reshape(500, 500))
    wide = x.reshape(1024, -1).T
    calls = {
        **float_operators(x, y),
        **bit_operators(i),
        "@": lambda: m @ m,
        "@=": lambda: operator.imatmul(fg.tensor(m), m),
        "T.contiguous": lambda: wide.contiguous(),
        "function": lambda: fg.exp(x),
        "method": lambda: x.cumsum(),
        "in place": lambda: fg.tensor(x).exp_(),
        "functor": lambda: fg.functors.gelu(x),
        "several": lambda: fg.concatenate([x, y]),
    }
    # An element cannot take long.
    calls = {name: call for name, call in calls.items() if name != "contiguous"}
    with Neighbour() as neighbour:
        assert not neighbour.runs_beside(lambda: sum(range(1000))), "nothing else frees the GIL"
        holding = [name for name, call in calls.items() if not neighbour.runs_beside(call)]
    assert not holding


# --- tensors made in inference mode ------------------------------------------------------------


def used(case: Case, call: Any, arrays: list[np.ndarray], i: int, inference: bool) -> fg.Tensor:
    """Calls an operation whose input `i` is a constant, made in inference mode or not."""
    with fg.inference_mode(inference):
        made = fg.tensor(arrays[i])
    inputs = [fg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    call.apply(
        case.through(entry(case)) if case.through else entry(case),
        [*inputs[:i], made, *inputs[i + 1 :]],
    )
    return made


#: Operations that save elements they gathered, which may happen to be all there are.
GATHERS = {"interp"}


def is_same_data(a: fg.Tensor, b: fg.Tensor) -> bool:
    """Whether the elements are the same, in any order: a view or a copy in another layout."""
    x, y = (np.sort(t.detach().numpy(), axis=None) for t in (a, b))
    return x.shape == y.shape and x.dtype == y.dtype and np.array_equal(x, y)


@pytest.mark.parametrize("case", [c for c in ROWS if c.order], ids=lambda case: case.key)
def test_what_is_saved_must_not_be_of_inference_mode(case: Case) -> None:
    for call in with_arrays(case):
        arrays = call.arrays()
        for i, array in enumerate(arrays):
            if len(arrays) < 2 or array.dtype.kind != "f" or min(a.size for a in arrays) < 2:
                continue
            saved: list[fg.Tensor] = []
            with fg.autograd.graph.saved_tensors_hooks(lambda t, s=saved: s.append(t), lambda t: t):
                constant = used(case, call, arrays, i, inference=False)
            if any(is_same_data(t, constant) for t in saved) and case.key not in GATHERS:
                with pytest.raises(fg.errors.InferenceError, match="cannot be saved for backward"):
                    used(case, call, arrays, i, inference=True)
            elif not any(np.shares_memory(t.numpy(), constant.numpy()) for t in saved):
                used(case, call, arrays, i, inference=True)


def test_the_rule_is_one_for_every_way_in() -> None:
    with fg.inference_mode():
        c = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = fg.tensor([[1.0, 0.5], [0.25, 2.0]], requires_grad=True)
    layer = fg.nn.Linear(2, 2)
    uses: dict[str, Callable[[], Any]] = {
        "@": lambda: x @ c,
        "of the constant": lambda: c @ x,
        "matmul": lambda: fg.matmul(x, c),
        "einsum": lambda: fg.einsum("ij,jk->ik", x, c),
        "multi_dot": lambda: fg.linalg.multi_dot([x, c]),
        "gemm": lambda: fg.functors.gemm(x, c),
        "@=": lambda: operator.imatmul(x * 1, c),
        "*=": lambda: operator.imul(x * 1, c),
        "solve": lambda: fg.linalg.solve(c, x),
        "Linear": lambda: layer(c),
        "checkpoint": lambda: fg.autograd.checkpoint(lambda a, b: a * b, x, c),
        "numpy": lambda: np.multiply(x, c),
    }
    for use in uses.values():
        with pytest.raises(fg.errors.InferenceError, match="cannot be saved for backward"):
            use()
        with fg.no_grad():
            use()
    (x + c).sum().backward()
    assert x.grad is not None
    assert (x @ c.clone()).requires_grad
