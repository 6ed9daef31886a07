"""Layers and losses beyond PyTorch's numbers: what draws, what refuses, what containers do.

Values and derivatives: `test_golden_layers.py`; `Linear` and `MLP`: `test_layers.py`.
"""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from ferrograd.errors import ShapeError
from ferrograd.nn import functional as F  # noqa: N812


@pytest.mark.parametrize(
    ("kind", "shape", "same"),
    [
        ("Dropout", (50, 40), ()),
        ("Dropout1d", (50, 40, 3), (2,)),
        ("Dropout2d", (50, 40, 2, 3), (2, 3)),
        ("Dropout3d", (50, 40, 2, 1, 3), (2, 3, 4)),
    ],
)
def test_dropout_zeroes_elements_or_channels(kind: str, shape: Any, same: tuple[int, ...]) -> None:
    fg.manual_seed(0)
    layer = getattr(nn, kind)(0.25)
    out = layer(fg.ones(shape)).numpy()
    assert set(np.unique(out)) == {0.0, 4.0 / 3.0}
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.05)
    assert np.ptp(out, axis=same).max() == 0 if same else True
    x = fg.ones(shape)
    assert layer.eval()(x) is x


@pytest.mark.parametrize("kind", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance(kind: str) -> None:
    fg.manual_seed(0)
    x = fg.randn(400, 100, 4)
    out = getattr(nn, kind)(0.3)(x).numpy()
    assert out.mean() == pytest.approx(0.0, abs=0.03)
    assert out.std() == pytest.approx(1.0, abs=0.03)


def test_what_draws_is_drawn_anew_in_compiled_calls() -> None:
    fg.manual_seed(0)
    for layer in (nn.Dropout(0.5), nn.Dropout1d(0.5), nn.RReLU(), nn.AlphaDropout(0.5)):
        compiled = fg.compile(lambda x, layer=layer: layer(x))
        outs = [compiled(-fg.ones(1, 20, 30)).tolist() for _ in range(3)]
        assert outs[0] != outs[1] != outs[2]
        assert len(compiled.programs) == 1


def test_gumbel_softmax_draws_by_its_weights() -> None:
    fg.manual_seed(0)
    logits = fg.tensor(np.log([[0.2, 0.8]]).repeat(4000, 0), requires_grad=True)
    hard = F.gumbel_softmax(logits, hard=True)
    assert hard.detach().numpy().mean(0)[1] == pytest.approx(0.8, abs=0.03)
    hard[:, 0].sum().backward()
    assert logits.grad.numpy().any()


def test_activations_in_place() -> None:
    for layer in (nn.ReLU(inplace=True), nn.Threshold(0.5, 0.0, True), nn.RReLU(inplace=True)):
        x = fg.tensor([-1.0, 2.0])
        assert layer(x) is x
        assert x.tolist()[1] == 2.0
        assert x.tolist()[0] != -1.0
    assert repr(nn.ReLU(inplace=True)) == "ReLU(inplace=True)"
    with pytest.raises(TypeError, match="threshold and value left out"):
        nn.Threshold()


def test_embeddings() -> None:
    weight = fg.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    layer = nn.Embedding.from_pretrained(weight, max_norm=1.0)
    assert not layer.weight.requires_grad
    layer(fg.tensor([0, 1]))
    np.testing.assert_allclose(layer.weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)
    fresh = nn.Embedding(4, 3, padding_idx=-1)
    assert fresh.padding_idx == 3
    assert fresh.weight[3].tolist() == [0.0] * 3


def test_batch_norm_forgets_its_averages() -> None:
    layer = nn.BatchNorm1d(2)
    layer(fg.randn(5, 2))
    assert layer.num_batches_tracked.item() == 1
    layer.reset_running_stats()
    assert layer.running_mean.tolist() == [0.0, 0.0]
    assert layer.running_var.tolist() == [1.0, 1.0]


def test_lists_of_modules() -> None:
    parts = [nn.Linear(1, 1), nn.ReLU(), nn.Tanh()]
    net = nn.Sequential(*parts)
    net.insert(1, nn.Sigmoid())
    assert [type(m).__name__ for m in net] == ["Linear", "Sigmoid", "ReLU", "Tanh"]
    assert [name for name, _ in net.named_children()] == ["0", "1", "2", "3"]
    assert type(net.pop(1)).__name__ == "Sigmoid"
    del net[0]
    net[0] = nn.ELU()
    assert [type(m).__name__ for m in net] == ["ELU", "Tanh"]
    named = nn.Sequential({"a": parts[0], "b": parts[1]})
    assert [name for name, _ in named[:1].named_children()] == ["a"]
    with pytest.raises(IndexError, match="index 2 of 2 members"):
        net[2]
    table = nn.ModuleDict({"a": nn.ReLU()})
    table.update({"b": nn.Tanh()})
    assert list(table.keys()) == ["a", "b"]
    assert type(table.pop("a")).__name__ == "ReLU"
    table.clear()
    assert len(table) == 0


def test_lists_of_parameters() -> None:
    held = nn.ParameterList([np.ones(2), nn.Parameter([3.0])])
    held += [fg.zeros(1)]
    assert [p.tolist() for p in held.parameters()] == [[1.0, 1.0], [3.0], [0.0]]
    assert len(held[1:]) == 2
    again = pickle.loads(pickle.dumps(held))
    assert [name for name, _ in again.named_parameters()] == ["0", "1", "2"]
    with pytest.raises(TypeError, match="a ReLU is no parameter"):
        held.append(nn.ReLU())


def test_copies_and_pickles_of_layers() -> None:
    for layer, shape in [
        (nn.Conv2d(1, 2, 2), (1, 1, 3, 3)),
        (nn.LSTM(2, 3, bidirectional=True), (4, 1, 2)),
        (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (3, 2, 4)),
        (nn.ReflectionPad2d(1), (1, 1, 3, 3)),
    ]:
        x = fg.randn(shape)
        want = layer(x)
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            got = other(x)
            first = (want[0], got[0]) if isinstance(want, tuple) else (want, got)
            np.testing.assert_array_equal(first[1].detach().numpy(), first[0].detach().numpy())


def test_dtypes() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, dtype=np.float32)
    assert {p.dtype for p in layer.parameters()} == {np.dtype(np.float32)}
    assert layer(fg.ones(3, 1, 4, dtype=np.float32)).dtype == np.float32
    norm = nn.BatchNorm1d(2).to(np.float32)
    assert norm.num_batches_tracked.dtype == np.int64
    assert norm(fg.randn(3, 2, dtype=np.float32)).dtype == np.float32


REFUSED = [
    (lambda: nn.Conv2d(3, 4, 2, groups=2), "in_channels is 3 and groups is 2"),
    (lambda: nn.Conv1d(2, 2, 2, padding="fitting"), "padding='fitting'"),
    (lambda: nn.Conv1d(2, 2, 2, 2, padding="same"), "use a stride of 1"),
    (lambda: nn.Conv2d(2, 2, (2, 2, 2)), "kernel_size is"),
    (lambda: nn.Conv1d(2, 2, 2, padding_mode="mirror"), "padding_mode='mirror'"),
    (lambda: nn.ConvTranspose1d(1, 1, 3, 2)(fg.ones(1, 1, 3), [9]), "may have 7 to 8"),
    (lambda: nn.BatchNorm2d(2)(fg.ones(2, 2)), "it needs 4 axes"),
    (lambda: nn.GroupNorm(3, 4), "4 channels and 3 groups"),
    (lambda: nn.InstanceNorm1d(2)(fg.ones(1, 2, 1)), "one value per channel"),
    (lambda: nn.Dropout(1.5), "p=1.5"),
    (lambda: nn.Embedding(3, 2, padding_idx=3), "padding_idx is 3"),
    (lambda: nn.EmbeddingBag(3, 2, mode="min"), "mode='min'"),
    (lambda: nn.LSTM(2, 3, proj_size=3), "proj_size is 3"),
    (lambda: nn.GRU(2, 3)(fg.ones(4, 1, 5)), r"give \(T, N, 2\)"),
    (lambda: nn.LSTM(2, 3)(fg.ones(4, 1, 2), (fg.ones(1, 1, 3), fg.ones(1, 2, 3))), "first state"),
    (lambda: nn.RNN(2, 3, nonlinearity="gelu"), "nonlinearity='gelu'"),
    (lambda: nn.MultiheadAttention(5, 2), "embed_dim is 5"),
    (lambda: nn.MultiheadAttention(4, 2)(*[fg.ones(3, 4)] * 3, is_causal=True), "is_causal=True"),
    (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), "activation='tanh'"),
    (lambda: nn.Upsample(2, mode="cubic")(fg.ones(1, 1, 3)), "mode='cubic'"),
    (lambda: nn.Upsample(mode="nearest")(fg.ones(1, 1, 3)), "give one of them"),
    (lambda: nn.PixelShuffle(2)(fg.ones(3, 2, 2)), "a multiple of 4"),
    (lambda: nn.Fold(4, 2)(fg.ones(1, 4, 4)), r"it needs \(N, a multiple of 4, 9\)"),
    (lambda: nn.L1Loss("avg"), "reduction='avg'"),
    (lambda: nn.MSELoss(delta=1), "the options are"),
    (lambda: nn.MultiMarginLoss(3), "p=3"),
    (lambda: nn.TripletMarginLoss(-1.0), "margin=-1.0"),
    (lambda: F.ctc_loss(fg.ones(2, 1, 2), fg.tensor([[5]]), [2], [1]), "outside the classes"),
    (lambda: F.cosine_embedding_loss(fg.ones(2), fg.ones(2), fg.ones(2)), "a target of shape"),
    (lambda: F.glu(fg.ones(3)), "is odd"),
    (lambda: nn.init.dirac_(fg.ones(2, 2)), "3 to 5 axes"),
    (lambda: F.max_unpool1d(fg.ones(1, 1, 2), fg.tensor([[[0]]]), 2), "places that max_pool1d"),
    (lambda: nn.MaxUnpool1d(2)(fg.ones(1, 2), fg.tensor([[0, 2]]), (7,)), r"give \(4,\)"),
    (lambda: F.grid_sample(fg.ones(1, 1, 2, 2), fg.ones(1, 2, 2, 3)), r"\(N, h, w, 2\)"),
    (lambda: F.grid_sample(fg.ones(1, 1, 2, 2), fg.ones(1, 2, 2, 2), "bicubic"), "use the mode"),
    (lambda: F.affine_grid(fg.ones(1, 2, 2), (1, 1, 2, 2)), r"give \(N, 2, 3\)"),
    (lambda: F.adaptive_max_pool3d(fg.ones(1, 1, 2, 2, 2), (1, 2)), "give 3 sizes"),
    (lambda: nn.init.trunc_normal_(fg.ones(2), a=1.0, b=0.0), "give an interval"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(fg.errors.FerrogradError, match=message):
        make()


STEPS = {
    "RNN": "UnbindBackward",
    "LSTM": "LstmSequenceBackward",
    "GRU": "GruSequenceBackward",
    "CTCLoss": "UnbindBackward",
}


@pytest.mark.parametrize("kind", STEPS)
def test_steps_of_time_leave_their_input_by_one_node(kind: str) -> None:
    """A node for each step would add up as many gradients of the whole sequence."""
    x = fg.randn(7, 2, 3, requires_grad=True)
    if kind == "CTCLoss":
        out = F.ctc_loss(x.log_softmax(-1), fg.tensor([[1], [2]]), [7, 7], [1, 1])
    else:
        out, _ = getattr(nn, kind)(3, 4)(x)
    pending, seen = [out.grad_fn], set()
    while pending:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            pending += [source for source, _ in node.next_functions]
    assert [node.name() for node in seen].count(STEPS[kind]) == 1


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_all_steps_at_once_are_the_steps_of_packed_sequences(kind: str, bias: bool) -> None:
    layer = getattr(nn, kind)(3, 5, num_layers=2, bias=bias, bidirectional=True)
    x = fg.randn(6, 2, 3, requires_grad=True)
    found = []
    for given in (x, nn.utils.rnn.pack_padded_sequence(x, [6, 6])):
        out, last = layer(given)
        out = out if given is x else nn.utils.rnn.pad_packed_sequence(out)[0]
        parts = [out, *(last if kind == "LSTM" else (last,))]
        total = sum((part * part.detach().cos()).sum() for part in parts)
        wanted = [x, *layer.parameters()]
        found.append([*parts, *fg.autograd.grad(total, wanted)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.detach(), b.detach(), rtol=1e-12, atol=1e-14)


def test_steps_at_once_refuse_what_does_not_fit() -> None:
    h, weight = fg.ones(2, 3), fg.ones(12, 3)
    with pytest.raises(ShapeError, match=r"at least one step"):
        F.lstm_sequence(fg.ones(0, 2, 12), h, weight, h)
    with pytest.raises(ShapeError, match=r"\(4, 2, 12\), \(2, 3\), \(12, 3\), \(2, 4\)"):
        F.lstm_sequence(fg.ones(4, 2, 12), h, weight, fg.ones(2, 4))
    with pytest.raises(ShapeError, match="the bias"):
        F.gru_sequence(fg.ones(4, 2, 9), h, fg.ones(9, 3), fg.ones(2))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_outputs_of_all_steps_may_be_changed(kind: str) -> None:
    """The gradient is that of what was computed."""
    layer, x = getattr(nn, kind)(3, 4), fg.randn(5, 2, 3)
    gradients = []
    for changed in (False, True):
        layer.zero_grad()
        out, _ = layer(x)
        if changed:
            out.add_(1.0)
        out.sum().backward()
        gradients.append([p.grad.numpy() for p in layer.parameters()])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_all_steps_have_the_same_bits_at_any_number_of_threads(kind: str) -> None:
    before, found = fg.get_num_threads(), []
    layer, x = getattr(nn, kind)(3, 97), fg.randn(3, 601, 3)
    try:
        for threads in (1, 2, 4):
            fg.set_num_threads(threads)
            layer.zero_grad()
            out, _ = layer(x)
            (out * out).sum().backward()
            found.append([out.detach().numpy(), *(p.grad.numpy() for p in layer.parameters())])
    finally:
        fg.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_sync_batch_norm_replaces_other_layers() -> None:
    net = nn.Sequential(nn.BatchNorm2d(3, momentum=0.2), nn.Sequential(nn.BatchNorm1d(4)))
    before = dict(net.named_parameters()), dict(net.named_buffers())
    assert nn.SyncBatchNorm.convert_sync_batchnorm(net.eval(), "group") is net
    assert type(net[0]) is type(net[1][0]) is nn.SyncBatchNorm
    assert (net[0].momentum, net[0].training, net[0].process_group) == (0.2, False, "group")
    for had, has in zip(before, (net.named_parameters(), net.named_buffers()), strict=True):
        assert all(had[name] is t for name, t in has)
    alone = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2, affine=False))
    assert type(alone) is nn.SyncBatchNorm
    assert alone.weight is None
    with pytest.raises(ShapeError, match=r"it needs \(N, 2, …\)"):
        alone.train()(fg.ones(4, 3))


def test_initialisers_of_more_kinds() -> None:
    init, rng = nn.init, np.random.default_rng(0)
    w = init.trunc_normal_(fg.zeros(4000), 1.0, 2.0, -1.0, 1.5, rng).numpy()
    assert -1.0 <= w.min() < -0.9
    assert 1.4 < w.max() <= 1.5
    for shape in ((4, 3), (3, 4), (2, 3, 2)):
        q = init.orthogonal_(fg.zeros(shape), 2.0, rng).numpy().reshape(shape[0], -1)
        small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)
    assert init.eye_(fg.zeros(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert (init.sparse_(fg.ones(10, 4), 0.3, generator=rng).numpy() == 0).sum(0).tolist() == [
        3
    ] * 4
    dirac = init.dirac_(fg.zeros(4, 2, 3), 2).numpy()
    assert [tuple(i) for i in np.argwhere(dirac)] == [(0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 1, 1)]
    w = init.kaiming_uniform_(nn.Parameter(np.zeros((100, 100))), a=1.0, generator=rng)
    assert w.detach().numpy().std() == pytest.approx(0.1, rel=0.05)


def test_a_summary_has_shapes_and_counts_and_changes_nothing() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = nn.Linear(weight=self.a.weight, bias=False)
            self.norm = nn.BatchNorm1d(3).eval()
            self.rnn = nn.LSTM(3, 2)

        def forward(self, x: Any) -> Any:
            return self.rnn(self.norm(self.b(self.a(x))))

    net = Tied()
    net.rnn.requires_grad_(False)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    found = net.summary(fg.ones(4, 3))
    rows = {row.name: (row.kind, row.shapes, row.parameters) for row in found.rows}
    assert rows["a"] == ("Linear", "(4, 3)", 12)
    assert rows["b"] == ("Linear", "(4, 3)", 0)
    assert rows["rnn"][1] == "(4, 2), (1, 2), (1, 2)"
    assert found.parameters == sum(row.parameters for row in found.rows) == 12 + 6 + 56
    assert found.trainable == 18
    assert [m.training for m in net.modules()] == [True, True, True, False, True]
    assert not net.a.__dict__["_hooks"]
    for key, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key].numpy())
    with pytest.raises(ValueError, match="Expected 3, got 2"):
        net.summary(fg.ones(4, 2))
    assert net.training
    assert "learn" in str(net.summary())


def test_members_by_dotted_names() -> None:
    net = nn.Sequential(nn.MLP(2, 3), nn.BatchNorm1d(2))
    assert net.get_submodule("") is net
    assert net.get_parameter("0.fc1.weight") is net[0].fc1.weight
    assert net.get_buffer("1.running_mean") is net[1].running_mean
    with pytest.raises(AttributeError, match=r"no module is called 'fc9' \(of '0\.fc9'\)"):
        net.get_submodule("0.fc9")
    with pytest.raises(AttributeError, match=r"no parameter is called '0\.bias'"):
        net.get_parameter("0.bias")
    layer, x = nn.Linear(3, 2), fg.ones(1, 2)
    net.set_submodule("0.fc2", layer)
    assert net[0].fc2 is layer
    assert "0.fc2.bias" in dict(net.named_parameters())
    assert net(fg.concatenate([x, -x])).shape == (2, 2)
    net.set_submodule("2", nn.ReLU())
    assert isinstance(net.get_submodule("2"), nn.ReLU)
    with pytest.raises(AttributeError, match="no module is called '3'"):
        net.set_submodule("3", nn.ReLU(), strict=True)
    with pytest.raises(AttributeError, match="no module is called '3'"):
        net.set_submodule("3.weight", nn.ReLU())
    with pytest.raises(AttributeError, match="the name is empty"):
        net.set_submodule("", nn.ReLU())


def test_bags_divide_gradients_by_how_often_a_number_occurs() -> None:
    bags = fg.tensor([[2, 1, 0], [2, 3, 4]])
    for given in ((bags,), (bags.reshape(-1), fg.tensor([0, 3]))):
        layer = nn.EmbeddingBag(6, 1, scale_grad_by_freq=True, mode="sum")
        layer(*given).sum().backward()
        assert layer.weight.grad.reshape(-1).tolist() == [1.0] * 5 + [0.0]
    with pytest.raises(fg.errors.ArgumentError, match="scale_grad_by_freq"):
        nn.EmbeddingBag(6, 1, scale_grad_by_freq=True, mode="max")(bags)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 9), (9, 3), (8, 10), (2, 3), (5, 12)])
def test_axes_are_resized_one_by_one_in_any_order(mode: str, size: tuple[int, int]) -> None:
    x = fg.tensor(np.random.default_rng(0).normal(size=(2, 3, 5, 6)), requires_grad=True)
    found = F.interpolate(x, size, mode=mode)
    one = F.interpolate(F.interpolate(x, (size[0], 6), mode=mode), size, mode=mode)
    other = F.interpolate(F.interpolate(x, (5, size[1]), mode=mode), size, mode=mode)
    for each in (one, other):
        np.testing.assert_allclose(found.detach().numpy(), each.detach().numpy(), atol=1e-13)
    fg.gradcheck(
        lambda x: F.interpolate(x, size, mode=mode), (x[:1, :1].detach().requires_grad_(),)
    )
