"""What layers, losses, optimisers and loaders answer when they are used wrongly.

Each was once an error of something inside, or no error.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn, optim
from ferrograd.errors import ArgumentError, ArgumentTypeError, IndexOutOfRangeError, ShapeError
from ferrograd.nn import functional as F  # noqa: N812
from ferrograd.utils import data

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "BatchNorm1d": lambda: nn.BatchNorm1d(3),
    "BatchNorm2d": lambda: nn.BatchNorm2d(3),
    "InstanceNorm1d": lambda: nn.InstanceNorm1d(3),
    "SyncBatchNorm": lambda: nn.SyncBatchNorm(3),
    "RNN": lambda: nn.RNN(3, 2),
    "LSTM": lambda: nn.LSTM(3, 2),
    "GRU": lambda: nn.GRU(3, 2),
    "LSTMCell": lambda: nn.LSTMCell(3, 2),
    "Softmax2d": nn.Softmax2d,
    "Unflatten": lambda: nn.Unflatten(1, (3, 1)),
    "Linear": lambda: nn.Linear(3, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_none_is_refused_by_name(name: str) -> None:
    with pytest.raises(ArgumentTypeError, match=rf"^{name}: input.* None; pass a tensor"):
        LAYERS[name]()(None)


def test_a_weight_that_is_tied_the_other_way_round_is_refused() -> None:
    table, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = table.weight
    with pytest.raises(ShapeError, match=r"^Linear: .*\(5, 3\); it is \[in, out\] here, \(3, 5\)"):
        head(fg.ones(2, 3))
    shared = F.linear(fg.ones(2, 3), table.weight.T)
    shared.sum().backward()
    assert shared.shape == (2, 5)
    assert table.weight.grad is not None


def test_lists_are_inputs() -> None:
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    for layer in (nn.BatchNorm1d(3), nn.LSTM(3, 2), nn.GRUCell(3, 2)):
        given, plain = layer(rows), layer.train()(fg.tensor(rows))
        assert type(given) is type(plain)
    attention = nn.MultiheadAttention(3, 1)
    out, _ = attention(rows, rows, rows)
    np.testing.assert_allclose(out.detach(), attention(*[fg.tensor(rows)] * 3)[0].detach())


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_sequences_have_steps(kind: type[nn.Module]) -> None:
    with pytest.raises(ShapeError, match=rf"{kind.__name__}: .*\(0, 2, 3\) has no steps"):
        kind(3, 4)(fg.ones(0, 2, 3))


def test_an_lstm_takes_two_states() -> None:
    with pytest.raises(ArgumentTypeError, match=r"LSTM: the first states are one tensor; .*\(h_0"):
        nn.LSTM(3, 4)(fg.ones(5, 2, 3), fg.zeros(1, 2, 4))


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "conv3d": (
        lambda: nn.Conv3d(2, 3, 3)(fg.ones(1, 5, 4, 4, 4)),
        *(ShapeError, r"conv3d: input of 5 channels, weight of shape \(3, 2, 3, 3, 3\)"),
    ),
    "conv_transpose1d": (
        lambda: nn.ConvTranspose1d(2, 3, 3)(fg.ones(1, 5, 4)),
        *(ShapeError, r"conv_transpose1d: input of 5 channels and weight of shape \(2, 3, 3\)"),
    ),
    "Unflatten": (
        lambda: nn.Unflatten(1, (2, 2))(fg.ones(2, 5)),
        *(ShapeError, r"Unflatten: .*shape \(2, 5\) and the sizes \(2, 2\); .*product is 5"),
    ),
    "interpolate size": (
        lambda: F.interpolate(fg.ones(1, 1, 3), size=0),
        *(ArgumentError, r"interpolate: size=0; give at least 1"),
    ),
    "interpolate factor": (
        lambda: F.interpolate(fg.ones(1, 1, 3), scale_factor=0.1),
        *(ArgumentError, r"interpolate: scale_factor=0.1 of axes of \[3\] elements"),
    ),
    "multi_margin_loss": (
        lambda: F.multi_margin_loss(fg.ones(2, 3), fg.tensor([0, -1])),
        *(IndexOutOfRangeError, r"multi_margin_loss: class -1 of 3 classes"),
    ),
    "multilabel_margin_loss": (
        lambda: F.multilabel_margin_loss(fg.ones(3), fg.tensor([0, 3, -1])),
        *(IndexOutOfRangeError, r"multilabel_margin_loss: class 3 of 3 classes"),
    ),
    "triplet_margin_loss": (
        lambda: F.triplet_margin_loss(fg.ones(3, 2), fg.ones(3, 2), fg.ones(2, 2)),
        *(ShapeError, r"triplet_margin_loss: inputs of shapes \(3, 2\), \(3, 2\) and \(2, 2\)"),
    ),
    "ctc_loss": (
        lambda: F.ctc_loss(fg.zeros(4, 1, 3), fg.tensor([[1, 9]]), [4], [2]),
        *(
            ArgumentError,
            r"ctc_loss: the target 9 is outside the classes 0 to 2; give class numbers",
        ),
    ),
    "embedding_bag order": (
        lambda: F.embedding_bag(fg.tensor([1, 2]), fg.ones(3, 2), fg.tensor([0, 2, 1])),
        *(ArgumentError, r"offsets \[0, 2, 1\]; .*begins with 0 and never falls"),
    ),
    "embedding_bag first": (
        lambda: F.embedding_bag(fg.tensor([1, 2]), fg.ones(3, 2), fg.tensor([1])),
        *(ArgumentError, r"offsets \[1\]; .*begins with 0"),
    ),
    "embedding_bag end": (
        lambda: F.embedding_bag(fg.tensor([1, 2]), fg.ones(3, 2), fg.tensor([0, 5])),
        *(ArgumentError, r"offsets end at 5 and the input has 2"),
    ),
    "batch_sampler": (
        lambda: list(data.DataLoader([1, 2], batch_sampler=[0, 1])),
        *(ArgumentTypeError, r"the batch_sampler gave 0 as batch 0; let it give lists"),
    ),
    "StepLR": (
        lambda: optim.lr_scheduler.StepLR(_sgd(), 0),
        *(ArgumentError, r"StepLR: step_size is 0; give a number above 0"),
    ),
    "CosineAnnealingLR": (
        lambda: optim.lr_scheduler.CosineAnnealingLR(_sgd(), 0),
        *(ArgumentError, r"CosineAnnealingLR: T_max is 0; give a number above 0"),
    ),
    "CyclicLR": (
        lambda: optim.lr_scheduler.CyclicLR(_sgd(), 0.1, 1.0, 0),
        *(ArgumentError, r"CyclicLR: step_size_up is 0"),
    ),
    "adaptive_max_pool2d": (
        lambda: F.adaptive_max_pool2d(fg.ones(1, 2, 0, 3), 2),
        *(ShapeError, r"adaptive_max_pool2d: an input of shape \(1, 2, 0, 3\)"),
    ),
    "a hook of another shape": (
        lambda: _hooked(lambda gradients: (fg.ones(1),)),
        *(ShapeError, r"Module: a backward hook answered a gradient 0 of shape \(1,\) for one of"),
    ),
    "a hook of another kind": (
        lambda: _hooked(lambda gradients: "text"),
        *(ArgumentTypeError, r"Module: a backward hook answered a str for gradient 0"),
    ),
    "LBFGS": (
        lambda: optim.LBFGS([nn.Parameter([1.0])]).step(lambda: None),
        *(ArgumentTypeError, r"the closure gave None; let it return the loss"),
    ),
}


def _hooked(answer: Callable[[Any], Any]) -> None:
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, into, out: answer(into))
    layer(fg.ones(3, 2, requires_grad=True)).sum().backward()


def _sgd() -> optim.SGD:
    return optim.SGD([nn.Parameter([1.0])], lr=0.1, momentum=0.9)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str) -> None:
    call, kind, text = MISTAKES[name]
    with pytest.raises(kind, match=text):
        call()


SIZES: dict[str, Callable[[Any], Any]] = {
    "Linear: in_features": lambda n: nn.Linear(n, 2),
    "Bilinear: in2_features": lambda n: nn.Bilinear(2, n, 2),
    "Conv2d: in_channels": lambda n: nn.Conv2d(n, 2, 3),
    "Conv2d: groups": lambda n: nn.Conv2d(2, 2, 3, groups=n),
    "ConvTranspose1d: out_channels": lambda n: nn.ConvTranspose1d(2, n, 3),
    "BatchNorm2d: num_features": lambda n: nn.BatchNorm2d(n),
    "LayerNorm: normalized_shape": lambda n: nn.LayerNorm(n),
    "RMSNorm: normalized_shape": lambda n: nn.RMSNorm([2, n]),
    "GroupNorm: num_groups": lambda n: nn.GroupNorm(n, 4),
    "Embedding: num_embeddings": lambda n: nn.Embedding(n, 2),
    "EmbeddingBag: embedding_dim": lambda n: nn.EmbeddingBag(2, n),
    "MultiheadAttention: num_heads": lambda n: nn.MultiheadAttention(4, n),
    "LSTM: input_size": lambda n: nn.LSTM(n, 2),
    "GRU: hidden_size": lambda n: nn.GRU(2, n),
    "RNN: num_layers": lambda n: nn.RNN(2, 2, n),
    "LSTM: proj_size": lambda n: nn.LSTM(2, 4, proj_size=n),
    "GRUCell: hidden_size": lambda n: nn.GRUCell(2, n),
    "PReLU: num_parameters": lambda n: nn.PReLU(n),
    "pixel_shuffle: upscale_factor": lambda n: nn.PixelShuffle(n)(fg.ones(4, 1, 1)),
    "channel_shuffle: groups": lambda n: nn.ChannelShuffle(n)(fg.ones(1, 4)),
    "local_response_norm: size": lambda n: nn.LocalResponseNorm(n)(fg.ones(1, 4, 2)),
    "ctc_loss: blank": lambda n: F.ctc_loss(fg.zeros(4, 1, 3), fg.tensor([[1]]), [4], [1], n),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_whole_numbers(name: str) -> None:
    for wrong in (None, "x", 1.5, (1,), float("nan"), True, -1):
        if name.startswith(("LayerNorm", "Conv2d: kernel")) and wrong == (1,):
            continue
        with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
            SIZES[name](wrong)
        assert str(caught.value).startswith(f"{name} is {wrong!r}; give "), str(caught.value)


def test_kernels_have_elements() -> None:
    for wrong in (0, -1, (2, 0)):
        with pytest.raises(ArgumentError, match=r"Conv2d: kernel_size is .*; give at least 1"):
            nn.Conv2d(1, 1, wrong)
    for wrong in (None, "x", (0.5,)):
        with pytest.raises(ArgumentTypeError, match=r"dropout: p=.*; give a probability"):
            F.dropout(fg.ones(2), wrong)


class TestOptimisers:
    def test_a_step_says_that_the_module_was_converted(self) -> None:
        model = nn.Linear(2, 2)
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        model(fg.ones(2)).sum().backward()
        optimizer.step()
        state = optimizer.state_dict()
        model.to("float32")
        optimizer.zero_grad()
        model(fg.ones(2, dtype=fg.float)).sum().backward()
        with pytest.raises(ArgumentError, match=r"parameter 0, float64 .* Module.to\(float32\)"):
            optimizer.step()
        again = optim.Adam(model.parameters(), lr=0.1)
        again.load_state_dict(state)
        before = model.weight.detach().clone()
        again.step()
        assert (model.weight.detach() != before).all()
        assert again.state[model.weight]["exp_avg"].dtype == np.float32

    def test_parameters_without_gradients_are_still_left_alone(self) -> None:
        model = nn.Linear(2, 2).to("float32")
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        model.bias.grad = fg.ones(2, dtype=fg.float)
        before = model.weight.detach().clone()
        optimizer.step()
        assert (model.weight.detach() == before).all()

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (lambda s: "text", "the state has str; give what state_dict"),
            (lambda s: {"state": {}}, r"the state has \['state'\]"),
            (lambda s: s["param_groups"][0].pop("params") and s, "a group lacks 'params'"),
            (lambda s: s["param_groups"][0].update(lr=-1.0) or s, r"lr is -1\.0; give at least 0"),
            (lambda s: s["state"][0].update(step="x") or s, "step of parameter 0 is 'x'"),
            (lambda s: s["state"][0].pop("step") is None or s, "step of parameter 0 is None"),
            (lambda s: s["state"].update({9: {}}) or s, r"a parameter 9, and parameters are \[0"),
            (lambda s: s["state"].update({1: 3}) or s, "there is state of a parameter 1"),
        ],
    )
    def test_a_state_that_does_not_fit_changes_nothing(self, change: Any, text: str) -> None:
        def stepped(lr: float) -> optim.Adam:
            layer = nn.Linear(2, 2)
            made = optim.Adam(layer.parameters(), lr=lr)
            layer(fg.ones(2)).sum().backward()
            made.step()
            return made

        one, other = stepped(0.1), stepped(0.5)
        before = str(other.state_dict())
        with pytest.raises((ArgumentError, ArgumentTypeError), match=text):
            other.load_state_dict(change(one.state_dict()))
        assert str(other.state_dict()) == before

    def test_options_that_were_spoiled_are_named(self) -> None:
        optimizer = _sgd()
        (p,) = optimizer.param_groups[0]["params"]
        p.grad = fg.ones(1)
        optimizer.param_groups[0]["lr"] = "x"
        with pytest.raises(ArgumentTypeError, match="SGD: lr is 'x'; give a number"):
            optimizer.step()
        del optimizer.param_groups[0]["lr"]
        with pytest.raises(ArgumentError, match=r"SGD.step: a group has lost \['lr'\]"):
            optimizer.step()
        assert p.item() == 1.0


HALF = fg.full((2, 3), 1 / 3)
ROWS = fg.ones(3, 2)
#: What was computed without an error, as something else than what was asked for.
UNSEEN: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a class that is not to count beside probabilities": (
        lambda: nn.CrossEntropyLoss(ignore_index=0)(fg.ones(2, 3), HALF),
        *(ArgumentError, r"cross_entropy: ignore_index=0 beside probabilities"),
    ),
    **{
        f"a negative eps of {name}": (make, ArgumentError, rf"{name}: eps=-1(.0)?; give a small")
        for name, make in {
            "BatchNorm1d": lambda: nn.BatchNorm1d(3, eps=-1),
            "InstanceNorm2d": lambda: nn.InstanceNorm2d(3, eps=-1),
            "GroupNorm": lambda: nn.GroupNorm(1, 2, eps=-1),
            "LayerNorm": lambda: nn.LayerNorm(2, eps=-1),
            "RMSNorm": lambda: nn.RMSNorm(2, eps=-1),
            "batch_norm": lambda: F.batch_norm(ROWS, training=True, eps=-1),
            "group_norm": lambda: F.group_norm(ROWS, 1, eps=-1.0),
            "layer_norm": lambda: F.layer_norm(ROWS, (2,), eps=-1.0),
            "rms_norm": lambda: F.rms_norm(ROWS, (2,), eps=-1.0),
        }.items()
    },
    **{
        f"a state of four axes in {kind.__name__}": (
            lambda kind=kind, states=states: kind(3, 2)(fg.ones(4, 3), states),  # type: ignore[misc]
            *(ShapeError, rf"{kind.__name__}: hx of shape \(1, 1, 4, 2\).*; give .*\(4, 2\)"),
        )
        for kind, states in (
            (nn.RNNCell, fg.ones(1, 1, 4, 2)),
            (nn.GRUCell, fg.ones(1, 1, 4, 2)),
            (nn.LSTMCell, (fg.ones(1, 1, 4, 2), fg.ones(1, 1, 4, 2))),
        )
    },
    "one state of two": (
        lambda: nn.LSTMCell(3, 2)(fg.ones(4, 3), (fg.ones(4, 2),)),
        *(ShapeError, r"LSTMCell: hx of shape \(4, 2\) .*; give two of \(4, 2\)"),
    ),
    "a state that would broadcast": (
        lambda: nn.RNNCell(3, 2)(fg.ones(4, 3), fg.ones(1, 2)),
        *(ShapeError, r"RNNCell: hx of shape \(1, 2\) beside an input of shape \(4, 3\)"),
    ),
    "no divisor": (
        lambda: F.avg_pool3d(fg.ones(1, 1, 2, 2, 2), 2, divisor_override=0),
        *(ArgumentError, r"avg_pool3d: divisor_override=0; give another number"),
    ),
    "bounds in the wrong order": (
        lambda: F.hardtanh(ROWS, 2.0, 1.0),
        *(ArgumentError, r"hardtanh: min_val=2 is above max_val=1"),
    ),
    "bounds in the wrong order, in place": (
        lambda: fg.ones(600).hardtanh_(2.0, 1.0),
        *(ArgumentError, r"hardtanh: min_val=2 is above max_val=1"),
    ),
    "bounds of a layer": (
        lambda: nn.Hardtanh(2.0, 1.0)(ROWS),
        *(ArgumentError, r"hardtanh: min_val=2 is above max_val=1"),
    ),
    "slopes in the wrong order": (
        lambda: F.rrelu(ROWS, 0.5, 0.25),
        *(ArgumentError, r"rrelu: lower=0.5 is above upper=0.25"),
    ),
    "a matrix of weights": (
        lambda: F.prelu(ROWS, fg.ones(1, 2)),
        *(ShapeError, r"prelu: a weight of shape \(1, 2\); give a number or a vector"),
    ),
    "several values for a mask": (
        lambda: ROWS.masked_fill(ROWS > 0, fg.ones(2)),
        *(ArgumentError, r"masked_fill: a value of shape \(2,\).*write where"),
    ),
    **{
        f"a source of another shape in {name}": (make, ShapeError, rf"{name}_?: a source of shape")
        for name, make in {
            "index_add": lambda: ROWS.index_add(0, [0, 1], fg.ones(2)),
            "index_reduce": lambda: ROWS.index_reduce(0, [0, 1], fg.ones(2), "prod"),
            "index_copy": lambda: ROWS.index_copy(0, [0, 1], fg.ones(2)),
            "select_scatter": lambda: fg.select_scatter(ROWS, fg.ones(1), 0, 1),
            "slice_scatter": lambda: fg.slice_scatter(ROWS, fg.ones(1, 2), 0, 0, 2),
            "diagonal_scatter": lambda: fg.diagonal_scatter(ROWS, fg.ones(1)),
        }.items()
    },
    "several numbers for rows": (
        lambda: ROWS.index_fill(0, [0, 1], fg.ones(2)),
        *(ShapeError, r"index_fill_: a value of shape \(2,\); give one number"),
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_mistake_that_would_pass_unseen_is_refused(name: str) -> None:
    call, kind, text = UNSEEN[name]
    with pytest.raises(kind, match=text):
        call()


#: Sizes that a layer must be given.
NEEDED: dict[str, Any] = {
    **dict.fromkeys(("in_channels", "out_channels", "num_features", "num_channels"), 4),
    **dict.fromkeys(("in_features", "in1_features", "in2_features", "out_features"), 3),
    **dict.fromkeys(("input_size", "hidden_size", "normalized_shape", "embedding_dim"), 4),
    **dict.fromkeys(("embed_dim", "d_model", "num_embeddings"), 4),
    **dict.fromkeys(("num_heads", "nhead", "num_groups", "kernel_size", "output_size"), 2),
    **dict.fromkeys(("norm_type", "p"), 2.0),
    "n_classes": 10,
    "cutoffs": [2, 5],
    "threshold": 0.5,
    "value": 1.0,
}
KINDS = {
    name: kind
    for name, kind in ((name, getattr(nn, name)) for name in dir(nn))
    if inspect.isclass(kind) and issubclass(kind, nn.Module)
}


def test_text_is_no_truth_value() -> None:
    seen = 0
    for name, kind in KINDS.items():
        options = inspect.signature(kind).parameters
        truths = [key for key, option in options.items() if isinstance(option.default, bool)]
        # A lazy layer checks when it knows its sizes, a container knows none.
        if (
            not truths
            or name.startswith("Lazy")
            or name
            in (
                "MLP",
                "TransformerEncoder",
                "AdaptiveLogSoftmaxWithLoss",
            )
        ):
            continue
        sizes = {
            key: NEEDED[key]
            for key, option in options.items()
            if key in NEEDED and option.default in (None, inspect.Parameter.empty)
        }
        sizes |= {key: 1 for key in options if key.startswith(("num_encoder", "num_decoder"))}
        sizes |= {key: 8 for key in options if key == "dim_feedforward"}
        kind(**sizes)
        for key in truths:
            with pytest.raises(ArgumentError if key == "sparse" else ArgumentTypeError):
                kind(**sizes, **{key: "True"})
            seen += 1
    assert seen > 60
