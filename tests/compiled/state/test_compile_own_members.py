"""Members of the module itself, of whichever kind, under compiled methods and containers."""

import copy
import enum
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn

X = fg.ones(8)


def in_place(module: nn.Module) -> nn.Module:
    module.compile()
    return module


WAYS: list[Callable[[nn.Module], Any]] = [in_place, fg.compile, lambda m: fg.compile(m.forward)]


@pytest.mark.parametrize("way", WAYS)
def test_eval_and_options_are_noticed(way: Callable[[nn.Module], Any]) -> None:
    drop = nn.Dropout(0.5)
    call = way(drop)
    for _ in range(3):
        call(X)
    drop.eval()
    assert call(X).tolist() == X.tolist()
    norm = nn.BatchNorm1d(2)
    call, rows = way(norm), fg.tensor([[1.0, 2.0], [3.0, 5.0]])
    call(rows), call(rows)
    norm.eval()
    call(rows), call(rows)
    assert norm.num_batches_tracked.item() == 2


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = None

    def forward(self, x: fg.Tensor) -> fg.Tensor:
        if not hasattr(self, "net"):
            self.net = nn.Linear(8, 2)
        if self.scale is None:
            self.scale = nn.Parameter(fg.rand(2))
        return self.net(x) * self.scale

    @fg.compile
    def step(self, x: fg.Tensor) -> fg.Tensor:
        return self.forward(x)

    @fg.compile
    def shifted(self, x: fg.Tensor) -> fg.Tensor:
        return x + self.shift if hasattr(self, "shift") else x * 1.0


@pytest.mark.parametrize("way", [*WAYS, lambda m: m.step])
def test_members_that_a_first_call_makes_stay(way: Callable[[nn.Module], Any]) -> None:
    fg.manual_seed(0)
    plain = Lazy()
    wanted = [plain(X), plain(X), fg.rand(3)]
    fg.manual_seed(0)
    module = Lazy()
    call = way(module)
    found = [call(X), call(X), fg.rand(3)]
    for one, other in zip(found, wanted, strict=True):
        assert one.tolist() == other.tolist()
    assert [name for name, _ in module.named_parameters()] == [
        name for name, _ in plain.named_parameters()
    ]


def test_a_buffer_that_comes_later_is_found() -> None:
    module = Lazy()
    for _ in range(2):
        assert module.shifted(X).tolist() == X.tolist()
    module.register_buffer("shift", fg.ones(8))
    assert module.shifted(X).tolist() == (X + 1.0).tolist()


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Identity()])
        self.named = nn.ModuleDict({"a": nn.Identity()})
        self.weights = nn.ParameterList([nn.Parameter(fg.ones(8))])

    def forward(self, x: fg.Tensor) -> fg.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.named["a"](x) * self.weights[0] * float(len(self.layers))


def test_members_of_containers_are_found() -> None:
    module = Layers()
    compiled = fg.compile(module)
    changes: list[Callable[[], Any]] = [
        lambda: module.layers.append(nn.Softplus()),
        lambda: module.layers.__setitem__(0, nn.Tanh()),
        lambda: module.named.__setitem__("a", nn.ReLU()),
        lambda: module.weights.__setitem__(0, nn.Parameter(fg.full((8,), 3.0))),
    ]
    for change in changes:
        compiled(X), compiled(X)
        change()
        assert compiled(X).tolist() == module(X).tolist()


class Kind(enum.Enum):
    FIRST = 1.0
    SECOND = 2.0


@pytest.mark.parametrize(
    ("start", "after"),
    [
        (np.int64(0), lambda n: n + 1),
        ((0, 1.0), lambda n: (n[0] + 1, n[1])),
        (1 + 0j, lambda n: n * 2),
        (Kind.FIRST, lambda n: Kind.SECOND),
    ],
)
def test_what_is_no_plain_number_may_be_counted_in_too(start: Any, after: Any) -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = start

        def forward(self, x: fg.Tensor) -> fg.Tensor:
            self.n = after(self.n)
            value = self.n[0] if isinstance(self.n, tuple) else self.n
            return x * float(np.real(value.value if isinstance(value, Kind) else value))

    plain, module = Counts(), Counts()
    compiled = fg.compile(module)
    for _ in range(6):
        assert compiled(X).tolist() == plain(X).tolist()
        assert module.n == plain.n


def test_a_recorded_draw_around_tensors_goes_on() -> None:
    compiled = fg.compile(lambda x: fg.normal(x, 1.0))
    fg.manual_seed(3)
    found = [compiled(X).tolist() for _ in range(8)]
    fg.manual_seed(3)
    assert found == [fg.normal(X, 1.0).tolist() for _ in range(8)]


def test_compile_keeps_a_forward_of_the_object() -> None:
    module = nn.Linear(8, 2)
    module.forward = lambda x: x * 5.0  # type: ignore[method-assign]
    module.compile()
    module.compile()
    assert module(X).tolist() == [5.0] * 8


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(fg.ones(8))

    @fg.compile
    def forward(self, x: fg.Tensor) -> fg.Tensor:
        return x * self.w


def test_a_copy_has_methods_of_its_own() -> None:
    module = Scaled()
    module.compile()
    module(X)
    other = copy.deepcopy(module)
    with fg.no_grad():
        other.w.fill_(7.0)
    assert other(X).tolist() == [7.0] * 8
    assert module(X).tolist() == [1.0] * 8
    again = pickle.loads(pickle.dumps(Scaled().forward))
    assert again(X).tolist() == [1.0] * 8


def test_a_compiled_method_is_like_a_bound_one() -> None:
    module = Scaled()
    method = module.forward
    assert method == module.forward
    assert hash(method) == hash(module.forward)
    assert method != Scaled().forward
    assert method.__self__ is module
    assert list(inspect.signature(method).parameters) == ["x"]
    np.testing.assert_array_equal(method(X).detach(), X)
