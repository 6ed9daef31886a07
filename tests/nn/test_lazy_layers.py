"""Layers that get their sizes from the first call, buffers by assignment, and parameters anew."""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn, optim
from ferrograd.errors import ArgumentError, ArgumentTypeError, CompileError, ShapeError

CASES: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "LazyLinear": (nn.LazyLinear(2, bias=False), (4, 3)),
    **{
        f"LazyConv{t}{n}d": (
            getattr(nn, f"LazyConv{t}{n}d")(4, 2, stride=2, padding=1),
            (2, 3, *(4,) * n),
        )
        for n in (1, 2, 3)
        for t in ("", "Transpose")
    },
    **{
        f"Lazy{kind}Norm{n}d": (
            getattr(nn, f"Lazy{kind}Norm{n}d")(momentum=0.3),
            (2, 3, *(4,) * n),
        )
        for n in (1, 2, 3)
        for kind in ("Batch", "Instance")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_lazy_layer_becomes_the_other(name: str) -> None:
    lazy, shape = CASES[name]
    assert type(lazy).__name__ == name
    lazy = copy.deepcopy(lazy)
    other: Any = getattr(nn, name.removeprefix("Lazy"))
    assert isinstance(lazy, other)
    x = fg.rand(*shape)
    out = lazy(x)
    assert type(lazy) is other
    # The same layer made with its size, with the same parameters.
    first = shape[-1] if name == "LazyLinear" else shape[1]
    options: dict[str, Any] = {"bias": False} if name == "LazyLinear" else {}
    if "Conv" in name:
        options = {"kernel_size": 2, "stride": 2, "padding": 1}
    if "Norm" in name:
        options = {"momentum": 0.3, "affine": True, "track_running_stats": True}
    sizes = (first,) if "Norm" in name else (first, 2 if name == "LazyLinear" else 4)
    plain = other(*sizes, **options)
    assert repr(plain) == repr(lazy)
    plain.load_state_dict(lazy.state_dict())
    np.testing.assert_array_equal(plain.eval()(x).detach(), lazy.eval()(x).detach())
    assert out.requires_grad


def test_before_the_first_call_there_are_no_parameters() -> None:
    net = nn.Sequential(nn.LazyConv2d(2, 3), nn.Flatten(), nn.LazyLinear(3))
    for use in (
        lambda: optim.SGD(net.parameters(), lr=0.1),
        net.state_dict,
        lambda: net.load_state_dict({}),
        net.zero_grad,
    ):
        with pytest.raises(ArgumentError, match="LazyConv2d: the layer has no parameters before"):
            use()
    assert "LazyConv2d(?, out_channels=2, kernel_size=3)" in repr(net)
    with pytest.raises(ShapeError, match=r"LazyConv2d: .*\(2,\) has no axis -3"):
        net(fg.ones(2))
    with pytest.raises(ArgumentTypeError, match="LazyLinear: input is None"):
        nn.LazyLinear(2)(None)
    with pytest.raises(TypeError, match="unexpected keyword"):
        nn.LazyLinear(2, biass=True)


def test_what_was_set_before_stays() -> None:
    net = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).eval().float()
    seen: list[Any] = []
    net[0].register_forward_hook(lambda module, args, out: seen.append(type(module)))
    net[0].note = "kept"
    x = fg.ones(2, 4, dtype=fg.float)
    out = net(x)
    assert seen == [nn.Linear]
    assert (out.dtype, net[0].weight.dtype, net[1].running_mean.dtype) == (np.float32,) * 3
    assert not net[0].training
    assert not net[1].training
    assert net[0].note == "kept"
    net(x)
    assert len(seen) == 2


def test_copies_and_modes_at_the_first_call() -> None:
    lazy = nn.LazyLinear(2)
    one, other = copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))
    one(fg.ones(1, 3))
    other(fg.ones(1, 5))
    assert (one.in_features, other.in_features) == (3, 5)
    with fg.inference_mode():
        lazy(fg.ones(1, 3))
    assert not lazy.weight.is_inference()
    assert lazy.weight.requires_grad
    lazy(fg.ones(1, 3)).sum().backward()
    assert lazy.weight.grad is not None


def test_the_first_call_is_not_compiled() -> None:
    lazy = nn.LazyLinear(2)
    compiled = fg.compile(lazy)
    with pytest.raises(CompileError, match=r"LazyLinear: .*call the network once before"):
        compiled(fg.ones(1, 3))
    lazy(fg.ones(1, 3))
    out = fg.compile(lazy)(fg.ones(1, 3))
    np.testing.assert_array_equal(out.detach(), lazy(fg.ones(1, 3)).detach())


def test_a_buffer_is_registered_by_assignment() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = nn.Buffer(fg.zeros(1))
            self.cache = nn.Buffer([1.0, 2.0], persistent=False)

    module = Counted()
    assert [name for name, _ in module.named_buffers()] == ["calls", "cache"]
    assert list(module.state_dict()) == ["calls"]
    assert not list(module.parameters())
    module.to("float32")
    assert module.calls.dtype == np.float32
    copied = copy.deepcopy(module)
    assert list(copied.state_dict()) == ["calls"]
    module.calls = nn.Buffer(fg.ones(2), persistent=False)
    assert list(module.state_dict()) == []
    module.calls = fg.ones(3)
    assert module.calls.tolist() == [1, 1, 1]
    assert "calls" in dict(module.named_buffers())
    with pytest.raises(ArgumentTypeError, match="Buffer: the data is None"):
        nn.Buffer(None)


# Two numbers of a bias can be small by chance: the same ones each time.
fg.manual_seed(1)
LAYERS = [
    nn.Linear(3, 2),
    nn.Bilinear(2, 2, 2),
    nn.Conv2d(1, 2, 3),
    nn.ConvTranspose1d(1, 2, 3),
    nn.BatchNorm1d(3),
    nn.GroupNorm(1, 2),
    nn.LayerNorm((2, 3)),
    nn.RMSNorm(2),
    nn.Embedding(4, 2, padding_idx=1),
    nn.EmbeddingBag(4, 2),
    nn.LSTM(2, 3, 2, bidirectional=True),
    nn.GRUCell(2, 2),
    nn.PReLU(2, 0.3),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_parameters_anew(layer: Any) -> None:
    fg.manual_seed(3)
    made = copy.deepcopy(layer)
    made.reset_parameters()
    first = [p.detach().clone() for p in made.parameters()]
    with fg.no_grad():
        for p in (*made.parameters(), *made.buffers()):
            p.fill_(7)
    fg.manual_seed(3)
    made.reset_parameters()
    for p, was in zip(made.parameters(), first, strict=True):
        np.testing.assert_array_equal(p.detach(), was)
    for was, own in zip(first, layer.parameters(), strict=True):
        sizes = [p.detach().abs().mean().item() for p in (was, own)]
        assert sizes == [0, 0] or 0.2 < sizes[0] / sizes[1] < 5
    if isinstance(made, nn.BatchNorm1d):
        assert made.running_var.tolist() == [1, 1, 1]
    if isinstance(made, nn.Embedding):
        assert made.weight[1].tolist() == [0, 0]


def test_a_weight_that_was_given_is_not_drawn_anew() -> None:
    given = nn.Linear(2, 2, weight=nn.Parameter(fg.ones(2, 2)))
    with pytest.raises(ArgumentError, match=r"shape \(2, 2\) was given to the layer"):
        given.reset_parameters()


def test_windows_at_random_places() -> None:
    pool = nn.FractionalMaxPool2d(2, output_size=3, return_indices=True)
    fg.manual_seed(0)
    x = fg.arange(2 * 6 * 6.0).reshape(1, 2, 6, 6)
    out, places = pool(x)
    np.testing.assert_array_equal(
        out,
        fg.take_along_axis(x.reshape(1, 2, 36), places.reshape(1, 2, 9), -1).reshape(1, 2, 3, 3),
    )
    assert (out[..., -1, -1] == x[..., -1, -1]).all()
    fixed = nn.FractionalMaxPool3d(1, output_ratio=0.5, _random_samples=fg.zeros(1, 1, 3))
    assert [name for name, _ in fixed.named_buffers()] == ["_random_samples"]
    np.testing.assert_array_equal(fixed(fg.ones(1, 4, 4, 4)), fg.ones(1, 2, 2, 2))
    for options, text in (
        ({}, "output_size=None and output_ratio=None; give one"),
        ({"output_size": 2, "output_ratio": 0.5}, "give one of them"),
        ({"output_ratio": 1.5}, "give numbers between 0 and 1"),
    ):
        with pytest.raises(ArgumentError, match=f"FractionalMaxPool2d: .*{text}"):
            nn.FractionalMaxPool2d(2, **options)
    with pytest.raises(ShapeError, match=r"\(6, 6\) windows of \(2, 2\) over axes of \(6, 6\)"):
        nn.FractionalMaxPool2d(2, 6)(x)


def test_rare_classes() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0)
    x, y = fg.rand(6, 8), fg.tensor([0, 3, 4, 9, 10, 19])
    every = layer.log_prob(x)
    np.testing.assert_allclose(fg.exp(every).sum(1).detach(), 1, rtol=1e-12)
    out, loss = layer(x, y)
    np.testing.assert_allclose(out.detach(), every.detach().numpy()[np.arange(6), y.numpy()])
    assert loss.item() == pytest.approx(-out.mean().item())
    assert layer.predict(x).tolist() == every.argmax(1).tolist()
    assert list(layer.state_dict())[:2] == ["head.weight", "tail.0.0.weight"]
    layer.reset_parameters()
    assert not fg.array_equal(every, layer.log_prob(x))
    for cutoffs in ([], [4, 4], [0, 3], [20], itertools.count(1), range(10**15)):
        with pytest.raises(ArgumentError, match=r"give numbers that rise, from 1 to 19"):
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)
    for value in (0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match=r"div_value is .* give a number above 0"):
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4], div_value=value)
    with pytest.raises(fg.errors.IndexOutOfRangeError, match="class 20 of 20 classes"):
        layer(x, fg.full((6,), 20))
    with pytest.raises(ShapeError, match=r"give \(N, 8\) and \(N\)"):
        layer(x, y[:2])
