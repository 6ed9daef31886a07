"""`Module.wrap_forward`: a whole module as one node with a backward of its own (document 001)."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, nn
from ferrograd.functors import Op

RNG = np.random.default_rng(3)


def leaf(*shape: int) -> Tensor:
    return fg.tensor(RNG.standard_normal(shape), requires_grad=True)


# --- a module with its own backward ------------------------------------------------------------


class LinearManual(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.register_parameter("weight", weight)
        self.register_parameter("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.wrap_forward(
            x,
            lambda x: x @ self.weight + self.bias,
            lambda: [x, self.weight, self.bias],
            self.build_backward,
        )

    @staticmethod
    def build_backward(op: Op) -> list[Tensor]:
        (x, weight, _), (g,) = op.inputs, op.grad_outputs
        rows = g.reshape(-1, g.shape[-1])
        return [g @ weight.T, x.reshape(-1, x.shape[-1]).T @ rows, rows.sum(0)]


def pair() -> tuple[nn.Linear, LinearManual]:
    layer = nn.Linear(3, 2)
    manual = LinearManual(*(nn.Parameter(p.detach()) for p in (layer.weight, layer.bias)))
    return layer, manual


@pytest.mark.parametrize("shape", [(4, 3), (2, 5, 3)])
def test_linear_manual_equals_linear(shape: tuple[int, ...]) -> None:
    layer, manual = pair()
    x, y = leaf(*shape), None
    y = fg.tensor(x.detach(), requires_grad=True)
    g = RNG.standard_normal((*shape[:-1], 2))
    layer(x).backward(g)
    manual(y).backward(g)
    found = [(x, y), (layer.weight, manual.weight), (layer.bias, manual.bias)]
    for a, b in found:
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-12, atol=1e-13)


def test_wrap_forward_is_one_node() -> None:
    _, manual = pair()
    x = leaf(4, 3)
    before = fg.live_nodes()
    y = manual(x)
    assert fg.live_nodes() - before == 1 + 3
    assert y.grad_fn.name() == "LinearManualBackward"
    sources = [node.variable for node, _ in y.grad_fn.next_functions]
    assert all(a is b for a, b in zip(sources, [x, manual.weight, manual.bias], strict=True))


def test_wrap_forward_at_second_order() -> None:
    _, manual = pair()

    def function(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        module = nn.Module()
        return nn.Module.wrap_forward(
            module, x, lambda x: x @ w + b, lambda: [x, w, b], LinearManual.build_backward
        )

    inputs = (leaf(2, 3), manual.weight, manual.bias)
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(lambda *a: function(*a) ** 2, inputs, atol=1e-6)


def test_wrap_forward_obeys_the_recording_gate() -> None:
    _, manual = pair()
    x = leaf(4, 3)
    with fg.no_grad():
        y = manual(x)
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_leaf
    frozen = LinearManual(*(p.detach().requires_grad_() for p in manual.parameters()))
    frozen.requires_grad_(False)
    assert not frozen(fg.ones(4, 3)).requires_grad
    assert frozen(x).requires_grad


def test_wrap_forward_outlives_its_module() -> None:
    _, manual = pair()
    x = leaf(4, 3)
    y = manual(x)
    gone = weakref.ref(manual)
    del manual
    gc.collect()
    y.sum().backward()
    assert x.grad is not None
    del y
    gc.collect()
    assert gone() is None


def test_wrap_forward_does_not_record_inside() -> None:
    seen: list[bool] = []

    class Look(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            def inner(x: Tensor) -> Tensor:
                seen.append((x * 2).requires_grad)
                return x * 2

            return self.wrap_forward(x, inner, lambda: [x], lambda op: [op.grad_outputs[0] * 2])

    Look()(leaf(2)).sum().backward()
    assert seen == [False]
    assert fg.is_grad_enabled()


def test_a_backward_that_uses_the_output_has_a_second_derivative() -> None:
    class Exp(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return self.wrap_forward(
                x, fg.exp, lambda: [x], lambda op: [op.grad_outputs[0] * op.outputs[0]]
            )

    fg.gradgradcheck(Exp(), [leaf(2)], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, abs, list, list), TypeError, "input is None"),
        ((3.0, abs, list, list), TypeError, "input is a float"),
        ((fg.ones(1), None, list, list), TypeError, "forward_fn is a NoneType"),
        ((fg.ones(1), abs, 5, list), TypeError, "inputs_fn is a int"),
        ((fg.ones(1), abs, list, None), TypeError, "backward_fn is a NoneType"),
        (
            (fg.ones(1), lambda x: None, list, list),
            RuntimeError,
            "^Forward pass returned null",
        ),
        ((fg.ones(1), abs, list, list), ValueError, "does not contain the input"),
        ((fg.ones(1), abs, lambda: None, list), TypeError, "must not be null"),
        ((fg.ones(1), abs, lambda: [None], list), TypeError, "entry 0 is None"),
    ],
)
def test_wrap_forward_validations(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        nn.Module().wrap_forward(*arguments)
    assert fg.is_grad_enabled()


def test_exceptions_of_forward_restore_the_mode_and_pass_unchanged() -> None:
    def broken(x: Tensor) -> Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        nn.Module().wrap_forward(leaf(1), broken, list, list)
    assert caught.value.__notes__ == ["raised in the forward of Module"]
    assert fg.is_grad_enabled()

    def no_inputs() -> Any:
        raise KeyError("inputs")

    with pytest.raises(KeyError, match="inputs") as caught:
        nn.Module().wrap_forward(leaf(1), fg.exp, no_inputs, list)
    assert not hasattr(caught.value, "__notes__"), "the forward was well"


# --- a network on real data --------------------------------------------------------------------


def test_the_digits_network_gives_the_same_losses_in_every_form() -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = digits.data[:256] / 16.0, digits.target[:256].astype(np.int64)
    rng = np.random.default_rng(0)
    start = [rng.normal(0, 0.2, s) for s in ((64, 32), (32,), (32, 10), (10,))]

    def operators() -> list[float]:
        w1, b1, w2, b2 = params = [fg.tensor(a, requires_grad=True) for a in start]
        return losses(lambda x: fg.silu(x @ w1 + b1) @ w2 + b2, params)

    def modules() -> list[float]:
        w1, b1, w2, b2 = (nn.Parameter(a) for a in start)
        last = LinearManual(w2, b2)
        net = nn.Sequential(nn.Linear(weight=w1, bias=b1), nn.SiLU(), last)
        return losses(net, list(net.parameters()))

    def losses(net: Any, params: list[Tensor]) -> list[float]:
        optimizer = fg.optim.SGD(params, lr=0.1, momentum=0.9)
        found = []
        for i in range(20):
            batch = slice(32 * (i % 8), 32 * (i % 8 + 1))
            optimizer.zero_grad()
            loss = nn.CrossEntropyLoss()(net(fg.tensor(images[batch])), fg.tensor(labels[batch]))
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    one, other = operators(), modules()
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert one[-1] < one[0] / 2
