"""`fg.nn.utils`: clipping, vectors of parameters, parametrizations, packed sequences."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import nn
from ferrograd.nn import utils


def parameters(*gradients: Any) -> list[nn.Parameter]:
    made = []
    for gradient in gradients:
        p = nn.Parameter(np.zeros_like(np.asarray(gradient, float)))
        p.grad = fg.tensor(gradient, dtype=float)
        made.append(p)
    return made


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, np.inf])
def test_gradients_are_shortened_together(order: float) -> None:
    given = parameters([3.0, -4.0], [[12.0]])
    want = np.linalg.norm([3.0, -4.0, 12.0], order)
    total = utils.clip_grad_norm_([*given, nn.Parameter([1.0])], 2.0, order)
    assert total.item() == pytest.approx(want)
    flat = np.concatenate([p.grad.numpy().ravel() for p in given])
    np.testing.assert_allclose(flat, np.array([3.0, -4.0, 12.0]) * 2.0 / (want + 1e-6))
    assert utils.clip_grad_norm_(given, 1e9, order).item() == pytest.approx(2.0, rel=1e-5)


def test_clipping_edges() -> None:
    assert utils.clip_grad_norm_([nn.Parameter([1.0])], 1.0).item() == 0.0
    (p,) = parameters([3.0, -4.0])
    utils.clip_grad_value_(p, 3.5)
    assert p.grad.tolist() == [3.0, -3.5]
    (bad,) = parameters([np.inf])
    with pytest.raises(ValueError, match=r"the norm of order 2\.0 is inf"):
        utils.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)
    assert bad.grad.tolist() == [np.inf]


def test_vectors_of_parameters() -> None:
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    vector.sum().backward()
    assert layer.bias.grad.tolist() == [1.0] * 3
    utils.vector_to_parameters(fg.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    with pytest.raises(ValueError, match=r"shape \(8,\) for 9 elements"):
        utils.vector_to_parameters(fg.arange(8.0), layer.parameters())


def test_weight_norm_has_a_second_derivative() -> None:
    layer = utils.weight_norm(nn.Linear(3, 2, bias=False))
    held = layer.parametrizations.weight
    x = fg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    fg.gradgradcheck(lambda x, g, v: x @ held[0](g, v), (x, held.original0, held.original1))


@pytest.mark.parametrize("norm", [utils.weight_norm, utils.spectral_norm])
def test_parametrizations_come_and_go(norm: Any) -> None:
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().clone()
    assert norm(layer) is layer
    assert utils.parametrize.is_parametrized(layer, "weight")
    assert isinstance(layer, nn.Linear)
    x = fg.ones(2, 4)
    (layer(x) ** 2).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    twin = copy.deepcopy(layer).eval()
    twin.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(twin(x).detach().numpy(), layer.eval()(x).detach().numpy())
    value = layer.weight.detach().clone()
    utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    np.testing.assert_array_equal(layer.weight.detach().numpy(), value.numpy())
    assert nn.init.fans(layer.weight) == (4, 3)
    if norm is utils.weight_norm:
        np.testing.assert_allclose(value.numpy(), before.numpy())


def test_a_parametrization_of_your_own() -> None:
    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return fg.triu(x) + fg.triu(x, 1).T

    class Wrong(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    register = utils.parametrize.register_parametrization
    layer = register(nn.Linear(3, 3), "weight", Symmetric())
    assert fg.array_equal(layer.weight, layer.weight.T)
    with pytest.raises(ValueError, match="another shape"):
        register(layer, "weight", Wrong())
    with pytest.raises(ValueError, match="'wait' is no parameter of Linear"):
        register(nn.Linear(2, 2), "wait", Symmetric())
    with pytest.raises(ValueError, match="another shape"):
        register(nn.Linear(2, 2), "weight", Wrong())


def test_packed_sequences_go_there_and_back() -> None:
    rnn = utils.rnn
    given = [fg.tensor([[1.0], [2.0]]), fg.tensor([[3.0], [4.0], [5.0]])]
    packed = rnn.pack_sequence(given)
    out, lengths = rnn.pad_packed_sequence(packed, True, padding_value=-1.0, total_length=4)
    assert out[..., 0].tolist() == [[1.0, 2.0, -1.0, -1.0], [3.0, 4.0, 5.0, -1.0]]
    assert lengths.tolist() == [2, 3]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [s.tolist() for s in given]
    left = rnn.pad_sequence(given, True, padding_side="left")
    assert left[0, :, 0].tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="a length for each sequence"):
        rnn.pack_padded_sequence(fg.ones(3, 2, 1), [1, 2, 3])


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_padding_has_no_effect_on_a_recurrent_layer(kind: str) -> None:
    layer = getattr(nn, kind)(1, 2, bidirectional=True)
    short, long = fg.randn(2, 1), fg.randn(4, 1)
    packed = nn.utils.rnn.pack_sequence([short, long])
    out, states = layer(packed)
    alone, ends = layer(short)
    padded = nn.utils.rnn.pad_packed_sequence(out)[0]
    np.testing.assert_allclose(padded[:2, 0].detach().numpy(), alone.detach().numpy())
    assert not padded[2:, 0].detach().numpy().any()
    first = states[0] if kind == "LSTM" else states
    last = ends[0] if kind == "LSTM" else ends
    np.testing.assert_allclose(first[:, 0].detach().numpy(), last.detach().numpy())


def test_parametrized_modules_are_pickled_and_copied() -> None:
    layer = nn.utils.spectral_norm(nn.utils.weight_norm(nn.Linear(3, 2), "bias"))
    x = fg.randn(4, 3)
    with fg.no_grad():
        layer.eval()
        for made in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
            assert type(made).__name__ == "ParametrizedLinear"
            np.testing.assert_array_equal(made(x), layer(x))
            nn.utils.parametrize.remove_parametrizations(made, "weight")
            assert nn.utils.parametrize.is_parametrized(layer, "weight")
            assert nn.utils.parametrize.is_parametrized(made, "bias")
            np.testing.assert_array_equal(made(x), layer(x))


@pytest.mark.parametrize("how", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (2, 4), (4, 2)])
def test_orthogonal_weights_stay_orthogonal(how: Any, rows: int, columns: int) -> None:
    layer = nn.Linear(rows, columns)
    plain = layer.weight.detach().clone()
    utils.parametrizations.orthogonal(layer, orthogonal_map=how)
    optimizer = fg.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        weight = layer.weight.detach()
        tall = weight if rows >= columns else weight.T
        np.testing.assert_allclose(tall.T @ tall, np.eye(min(rows, columns)), atol=1e-12)
        optimizer.zero_grad()
        (layer(fg.ones(2, rows)) ** 3).sum().backward()
        optimizer.step()
    assert not np.allclose(layer.weight.detach(), weight)
    if rows == columns:
        # The base is the weight as it was, made orthonormal.
        fresh = nn.Linear(rows, columns, bias=False)
        with fg.no_grad():
            fresh.weight.copy_(fg.eye(rows)[::-1].copy())
        before = fresh.weight.detach().clone()
        utils.parametrizations.orthogonal(fresh, orthogonal_map=how)
        np.testing.assert_allclose(fresh.weight.detach(), before, atol=1e-12)
    assert plain.shape == layer.weight.shape


def test_orthogonal_refusals() -> None:
    make = utils.parametrizations.orthogonal
    with pytest.raises(fg.errors.ArgumentError, match="orthogonal_map='qr'; use one of matrix_exp"):
        make(nn.Linear(2, 2), orthogonal_map="qr")
    with pytest.raises(
        fg.errors.ShapeError, match=r"'bias' is \(2,\); give a parameter of two axes"
    ):
        make(nn.Linear(2, 2), "bias")
    with pytest.raises(fg.errors.ArgumentError, match="use_trivialization=False with"):
        make(nn.Linear(2, 3), use_trivialization=False)
    plain = make(nn.Linear(2, 2), use_trivialization=False)
    assert [name for name, _ in plain.named_buffers()] == []


class Counted(nn.Module):
    """Twice the original; counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return 2.0 * x


class TestCached:
    def made(self) -> tuple[nn.Module, Counted]:
        layer, double = nn.Linear(2, 1, bias=False), Counted()
        utils.parametrize.register_parametrization(layer, "weight", double)
        double.calls = 0
        return layer, double

    def test_a_tensor_is_computed_once(self) -> None:
        layer, double = self.made()
        with utils.parametrize.cached():
            with utils.parametrize.cached():
                first = layer.weight
            assert layer.weight is first
            assert double.calls == 1
            (layer(fg.ones(3, 2)) + layer(fg.ones(3, 2))).sum().backward()
        np.testing.assert_array_equal(next(layer.parameters()).grad, np.full((2, 1), 12.0))
        assert double.calls == 1
        assert layer.weight is not first

    def test_one_without_history_is_another(self) -> None:
        layer, _ = self.made()
        with utils.parametrize.cached():
            with fg.no_grad():
                assert not layer.weight.requires_grad
            assert layer.weight.requires_grad

    def test_an_error_ends_it(self) -> None:
        layer, double = self.made()
        with pytest.raises(ZeroDivisionError), utils.parametrize.cached():
            1 / (layer.weight is None)
        assert layer.weight is not layer.weight
        assert double.calls == 3

    def test_a_program_computes_its_own(self) -> None:
        layer, _ = self.made()
        step = fg.compile(lambda x: layer(x).sum())
        with utils.parametrize.cached():
            before = layer.weight.sum().item()
            assert step(fg.ones(1, 2)).item() == pytest.approx(before)
        with fg.no_grad():
            next(layer.parameters()).mul_(3.0)
        assert step(fg.ones(1, 2)).item() == pytest.approx(3.0 * before)

    def test_the_class_from_before_is_told(self) -> None:
        layer, _ = self.made()
        before = utils.parametrize.type_before_parametrizations
        assert before(layer) is nn.Linear
        assert before(nn.Linear(1, 1)) is nn.Linear


def test_shared_members_may_be_listed_under_each_name() -> None:
    layer = nn.BatchNorm1d(2)
    pair = nn.Sequential(layer, nn.Sequential(layer))
    names = [name for name, _ in pair.named_parameters(remove_duplicate=False)]
    assert names == ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    assert [name for name, _ in pair.named_modules(remove_duplicate=False)] == ["", "0", "1", "1.0"]
    assert "1.0.running_mean" in dict(pair.named_buffers(remove_duplicate=False))
    assert len(list(pair.named_parameters())) == 2


def test_parameters_of_the_tensors_of_other_libraries() -> None:
    class Theirs:
        """What a library says of its tensors: a dtype of its own, and an array."""

        dtype = "theirs.float32"

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.ones(2, np.float32)

    made = nn.Parameter(Theirs())
    assert (made.dtype, made.tolist()) == (np.float32, [1.0, 1.0])
