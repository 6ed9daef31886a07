"""Document 001: `fg.nn`, from registration to training.

Owns: modules, parameters, layers, losses, initialisers, state, and modules with a backward of their
own. The optimisers have their own file.
"""

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


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = nn.Parameter([1.0, 2.0, 3.0])
        self.register_buffer("mean", fg.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) * self.scale - self.mean


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__(name="net")
        self.first = Block()
        self.second = Block()
        self.head = nn.Linear(3, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.second(self.first(x)))


# --- parameters --------------------------------------------------------------------------------


def test_a_parameter_is_a_leaf_that_requires_grad() -> None:
    p = nn.Parameter([[1.0, 2.0]])
    assert isinstance(p, Tensor)
    assert p.is_leaf
    assert p.requires_grad
    (p * 2).sum().backward()
    assert p.grad is not None
    assert p.grad is p.grad
    assert (p * 2).grad_fn.next_functions[0][0].variable is p
    assert type(p * 2) is Tensor


def test_a_parameter_copies_and_keeps_a_float_dtype() -> None:
    data = np.ones(2, np.float32)
    p = nn.Parameter(data)
    data[0] = 7
    assert p.tolist() == [1.0, 1.0]
    assert p.dtype == np.float32
    assert nn.Parameter([1, 2]).dtype == np.float64
    assert nn.Parameter(fg.tensor([1, 2]), requires_grad=False, name="p").name == "p"


def test_a_parameter_refuses_nothing_and_integers() -> None:
    with pytest.raises(TypeError, match="the data is None"):
        nn.Parameter(None)
    with pytest.raises(TypeError, match="dtype int64 is not supported"):
        nn.Parameter([1], dtype=np.int64)


def test_a_parameter_survives_pickle_and_copy() -> None:
    import copy
    import pickle

    p = nn.Parameter([1.0, 2.0], name="p")
    for other in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert isinstance(other, nn.Parameter)
        assert (other.tolist(), other.requires_grad, other.name) == ([1.0, 2.0], True, "p")
        assert other is not p


def test_repr_of_a_parameter() -> None:
    assert repr(nn.Parameter([1.0])).startswith("Parameter containing:\ntensor([1.]")


# --- registration ------------------------------------------------------------------------------


def test_names_are_dotted_and_depth_first() -> None:
    names = [name for name, _ in Net().named_parameters()]
    assert names == [
        "first.scale",
        "first.fc.weight",
        "first.fc.bias",
        "second.scale",
        "second.fc.weight",
        "second.fc.bias",
        "head.weight",
    ]
    assert [name for name, _ in Net().named_buffers()] == ["first.mean", "second.mean"]
    assert [name for name, _ in Net().named_modules()] == [
        "",
        "first",
        "first.fc",
        "second",
        "second.fc",
        "head",
    ]


def test_local_walks() -> None:
    net = Net()
    assert list(net.parameters(recurse=False)) == []
    assert [n for n, _ in net.first.named_parameters(recurse=False)] == ["scale"]
    assert [n for n, _ in net.named_children()] == ["first", "second", "head"]
    assert list(net.children()) == [net.first, net.second, net.head]
    assert next(iter(net.modules())) is net
    assert list(net.buffers(recurse=False)) == []


def test_shared_members_are_listed_once() -> None:
    net = Net()
    net.second.fc = net.first.fc
    net.head.weight = net.first.fc.weight
    assert sum(p is net.first.fc.weight for p in net.parameters()) == 1
    assert sum(m is net.first.fc for m in net.modules()) == 1
    both = nn.Module()
    both.a = both.b = nn.ReLU()
    assert len(list(both.children())) == 1


def test_parameter_gradients_has_pairs_where_there_is_a_gradient() -> None:
    net = Net()
    assert net.parameter_gradients() == []
    (net.first.scale * 2).sum().backward()
    ((parameter, gradient),) = net.parameter_gradients()
    assert parameter is net.first.scale
    assert gradient is parameter.grad
    assert net.parameter_gradients(recurse=False) == []


def test_buffers_never_require_grad() -> None:
    module = nn.Module()
    x = leaf(2)
    module.register_buffer("running", x)
    assert not x.requires_grad
    module.running = leaf(2)
    assert not module.running.requires_grad
    assert module.running is not x
    with pytest.raises(ValueError, match="has a history"):
        module.register_buffer("other", leaf(2) * 2)


def test_plain_leaves_can_be_registered() -> None:
    module = nn.Module()
    w = leaf(2)
    module.register_parameter("w", w)
    assert module.w is w
    assert list(module.parameters()) == [w]


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (lambda m: m.register_parameter("p", None), "'p' is None; register a Parameter"),
        (lambda m: m.register_parameter("p", fg.ones(1)), "a tensor without requires_grad"),
        (lambda m: m.register_parameter("p", leaf(1) * 2), "a tensor with history"),
        (lambda m: m.register_buffer("b", None), "'b' is None; register a tensor"),
        (lambda m: m.register_module("m", None), "'m' is None; register a Module"),
        (lambda m: m.register_module("m", 3), "'m' is a int"),
    ],
)
def test_null_registrations_are_refused(register: Any, message: str) -> None:
    module = nn.Module()
    with pytest.raises(TypeError, match=message):
        register(module)
    assert dict(module.named_parameters()) == {}
    assert list(module.modules()) == [module]


@pytest.mark.parametrize("name", ["", "a.b", 3, "forward", "fc"])
def test_names_that_cannot_be_are_refused(name: Any) -> None:
    block = Block()
    with pytest.raises(ValueError, match="name"):
        block.register_parameter(name, nn.Parameter([1.0]))


def test_a_module_cannot_contain_itself() -> None:
    net = Net()
    with pytest.raises(ValueError, match="cannot be inside itself"):
        net.first.fc.register_module("loop", net)
    with pytest.raises(ValueError, match="cannot be inside itself"):
        net.me = net


def test_super_init_comes_first() -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            self.p = nn.Parameter([1.0])

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\)"):
        Late()


def test_attributes_can_be_replaced_and_deleted() -> None:
    block = Block()
    block.scale = nn.Parameter([0.0])
    assert block.scale.tolist() == [0.0]
    block.scale = None
    assert block.scale is None
    assert "scale" not in dict(block.named_parameters())
    del block.fc
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'fc'"):
        _ = block.fc
    block.note = 5
    del block.note
    assert "mean" in dir(block)


def test_forward_must_be_defined() -> None:
    with pytest.raises(NotImplementedError, match="Module defines no forward"):
        nn.Module()(1)


def test_build_forward_is_the_call() -> None:
    block, x = Block(), fg.ones(2, 3)
    assert block.build_forward(x).tolist() == block(x).tolist()


# --- modes, gradients, dtype -------------------------------------------------------------------


def test_train_and_eval_reach_every_module() -> None:
    net = Net()
    assert all(m.training for m in net.modules())
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    net.first.train()
    assert [m.training for m in net.children()] == [True, False, False]


def test_zero_grad() -> None:
    net = Net()
    net(fg.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(not p.grad.numpy().any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_requires_grad_freezes() -> None:
    net = Net()
    net.first.requires_grad_(False)
    net(fg.ones(2, 3)).sum().backward()
    assert net.first.scale.grad is None
    assert net.head.weight.grad is not None


def test_apply_visits_children_first() -> None:
    seen: list[str] = []
    Net().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Block", "Linear", "Block", "Linear", "Net"]


def test_to_changes_the_dtype_and_keeps_sharing() -> None:
    net = Net()
    net.head.weight.name = "w"
    net.second.fc = net.first.fc
    net.to(np.float32)
    assert {p.dtype for p in net.parameters()} == {np.dtype(np.float32)}
    assert net.first.mean.dtype == np.float32
    assert net.second.fc is net.first.fc
    assert net.head.weight.name == "w"
    assert net(fg.ones(2, 3, dtype=np.float32)).dtype == np.float32
    with pytest.raises(TypeError, match="use a float dtype"):
        net.to(np.int64)


def test_repr_is_a_tree() -> None:
    assert repr(Net()) == "\n".join(
        [
            "Net(",
            "  (first): Block(",
            "    (fc): Linear(in_features=3, out_features=3, bias=True)",
            "  )",
            "  (second): Block(",
            "    (fc): Linear(in_features=3, out_features=3, bias=True)",
            "  )",
            "  (head): Linear(in_features=3, out_features=1, bias=False)",
            ")",
        ]
    )
    assert Net().to_string() == repr(Net())
    assert repr(nn.Linear(1, 2)) == "Linear(in_features=1, out_features=2, bias=True)"


# --- state -------------------------------------------------------------------------------------


def test_state_goes_from_one_module_to_another() -> None:
    a, b = Net(), Net()
    x = fg.ones(2, 3)
    assert a(x).tolist() != b(x).tolist()
    keys = list(b.parameters())
    report = b.load_state_dict(a.state_dict())
    assert b(x).tolist() == a(x).tolist()
    assert all(p is q for p, q in zip(keys, b.parameters(), strict=True)), "in place"
    assert str(report) == "  all keys match"
    assert not any(t.requires_grad for t in a.state_dict().values())
    assert next(iter(a.state_dict("net"))).startswith("net.first.")


def test_state_takes_arrays_and_casts_within_floats() -> None:
    net = Net()
    state = {key: t.numpy().astype(np.float32) for key, t in net.state_dict().items()}
    net.load_state_dict(state)
    assert net.head.weight.dtype == np.float64


def test_every_mismatch_is_reported_and_nothing_changes() -> None:
    net = Net()
    before = {key: t.tolist() for key, t in net.state_dict().items()}
    state = {key: t.numpy() + 1 for key, t in net.state_dict().items()}
    state["head.weight"] = np.zeros((1, 3))
    state["first.scale"] = np.zeros(3, complex)
    del state["first.mean"]
    state["extra"] = np.zeros(1)
    with pytest.raises(fg.errors.StateDictError) as caught:
        net.load_state_dict(state)
    message = str(caught.value)
    assert "missing:    first.mean" in message
    assert "unexpected: extra" in message
    assert "head.weight has shape (1, 3), the module's has (3, 1)" in message
    assert "first.scale has dtype complex128, the module's has float64" in message
    assert {key: t.tolist() for key, t in net.state_dict().items()} == before
    with pytest.raises(ValueError, match="mismatch"):
        net.load_state_dict(state, strict=False)


def test_not_strict_ignores_keys_and_says_so() -> None:
    net = Net()
    report = net.load_state_dict({"head.weight": np.ones((3, 1)), "extra": 1.0}, strict=False)
    assert net.head.weight.tolist() == [[1.0]] * 3
    assert report.unexpected_keys == ["extra"]
    assert "first.scale" in report.missing_keys


def test_torch_layout_transposes_linear_weights_only() -> None:
    net = Net()
    state = {key: t.numpy() for key, t in net.state_dict().items()}
    turned = {key: a.T if a.ndim == 2 else a for key, a in state.items()}
    x = fg.ones(2, 3)
    want = net(x).tolist()
    other = Net()
    other.load_state_dict(turned, layout="torch")
    assert other(x).tolist() == want
    with pytest.raises(ValueError, match="layout='tf'"):
        other.load_state_dict(turned, layout="tf")
    with pytest.raises(TypeError, match="the state is a list"):
        other.load_state_dict([])


def test_buffers_that_are_not_persistent_are_not_saved() -> None:
    module = nn.Module()
    module.register_buffer("kept", fg.zeros(1))
    module.register_buffer("scratch", fg.zeros(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]


# --- Linear ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3), (0, 3), (2, 1, 5, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_contracts_the_last_axis(shape: tuple[int, ...], bias: bool) -> None:
    layer, x = nn.Linear(3, 4, bias=bias), leaf(*shape)
    want = x.detach().numpy() @ layer.weight.detach().numpy()
    if bias:
        want = want + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(x).detach().numpy(), want, rtol=1e-13, atol=1e-14)
    assert layer(x).shape == (*shape[:-1], 4)


def test_linear_derivatives() -> None:
    layer, x = nn.Linear(3, 2), leaf(2, 2, 3)

    def function(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return nn.functional.linear(x, w, b) ** 2

    inputs = (x, layer.weight, layer.bias)
    fg.gradcheck(function, inputs, atol=1e-6)
    fg.gradgradcheck(function, inputs, atol=1e-6)


def test_linear_is_a_gemm_and_an_add_fiber() -> None:
    layer = nn.Linear(3, 2)
    with fg.Graph() as graph:
        layer(fg.ones(4, 3))
    assert [op.name for op in graph.ops] == ["gemm", "add_fiber"]
    assert graph.ops[1].attrs["axis"] == 1


def test_linear_starts_within_its_bound() -> None:
    fg.manual_seed(0)
    layer = nn.Linear(100, 50)
    assert np.abs(layer.weight.detach().numpy()).max() <= 0.1
    assert np.abs(layer.bias.detach().numpy()).max() <= 0.1
    fg.manual_seed(0)
    assert nn.Linear(100, 50).weight.tolist() == layer.weight.tolist()
    a, b = (nn.Linear(3, 2, generator=np.random.default_rng(5)) for _ in range(2))
    assert a.weight.tolist() == b.weight.tolist()


def test_linear_ties_weights_and_biases() -> None:
    first = nn.Linear(3, 3)
    second = nn.Linear(weight=first.weight, bias=first.bias)
    assert second.weight is first.weight
    assert (second.in_features, second.out_features) == (3, 3)
    net = nn.Sequential(first, second)
    assert len(list(net.parameters())) == 2
    net(fg.ones(1, 3)).sum().backward()
    assert first.weight.grad is not None


def test_linear_with_a_weight_of_three_axes() -> None:
    w = nn.Parameter(RNG.standard_normal((3, 2, 4)))
    layer = nn.Linear(3, 4, weight=w)
    x = RNG.standard_normal((5, 3))
    want = np.einsum("ni,ijk->njk", x, w.detach().numpy()) + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(fg.tensor(x)).detach().numpy(), want)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Linear(0, 2), ValueError, "in_features is 0; give at least 1"),
        (lambda: nn.Linear(2), TypeError, "out_features is None"),
        (lambda: nn.Linear(2.0, 2), TypeError, "in_features is 2.0; give an integer"),
        (lambda: nn.Linear(True, 2), TypeError, "in_features is True"),
        (lambda: nn.Linear(weight=leaf(3)), ValueError, "the weight has 1 dimensions"),
        (lambda: nn.Linear(4, weight=leaf(3, 2)), ValueError, "in_features is 4 but the weight"),
        (lambda: nn.Linear(3, 5, weight=leaf(3, 2)), ValueError, "out_features is 5 but"),
        (lambda: nn.Linear(weight=np.ones((2, 2))), TypeError, "the weight is a ndarray"),
        (lambda: nn.Linear(weight=leaf(2, 2), dtype=np.float32), TypeError, "dtype float64"),
        (lambda: nn.Linear(3, 2, bias=leaf(2, 1)), ValueError, "the bias has 2 dimensions"),
        (lambda: nn.Linear(3, 2, bias=leaf(3)), ValueError, "3 entries but the weight has 2"),
        (
            lambda: nn.Linear(3, 2, bias=nn.Parameter([1.0, 2.0], dtype=np.float32)),
            TypeError,
            "dtype float32 and the weight float64",
        ),
        (lambda: nn.Linear(3, 2)(fg.tensor(1.0)), ValueError, "the input is a scalar"),
        (lambda: nn.Linear(3, 2)(fg.ones(2, 4)), ValueError, "Expected 3, got 4"),
        (lambda: nn.Linear(3, 2)(None), TypeError, "input is None"),
    ],
)
def test_linear_validations(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


# --- MLP, containers, activations --------------------------------------------------------------


def test_mlp_of_the_document() -> None:
    mlp = nn.MLP(4, 8)
    assert [name for name, _ in mlp.named_children()] == ["fc1", "activation", "fc2"]
    assert [name for name, _ in mlp.named_parameters()] == ["fc1.weight", "fc2.weight"]
    x = leaf(2, 4)
    assert mlp(x).shape == (2, 4)
    hidden = fg.gelu(x @ mlp.fc1.weight) @ mlp.fc2.weight
    np.testing.assert_allclose(mlp(x).detach().numpy(), hidden.detach().numpy(), rtol=1e-13)


@pytest.mark.parametrize("activation", ["gelu", "relu", "silu", "gelu_tanh", nn.Tanh()])
def test_mlp_activations_and_derivatives(activation: Any) -> None:
    mlp = nn.MLP(2, 5, 3, activation, bias=True)
    assert len(list(mlp.parameters())) == 4
    assert mlp(leaf(4, 2)).shape == (4, 3)
    fg.gradcheck(mlp, [leaf(2, 2)], atol=1e-6)
    fg.gradgradcheck(mlp, [leaf(2, 2)], atol=1e-6)


def test_an_unknown_activation_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'wave' is not known; use a Module or one of gelu, "):
        nn.MLP(2, 2, activation="wave")


def test_sequential() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).append(nn.Linear(3, 1))
    assert net(fg.ones(4, 2)).shape == (4, 1)
    assert [name for name, _ in net.named_children()] == ["0", "1", "2"]
    assert (len(net), net[-1], list(net)[1]) == (3, net[2], net[1])
    named = nn.Sequential({"fc": nn.Linear(2, 3), "act": nn.ReLU()})
    assert [name for name, _ in named.named_parameters()] == ["fc.weight", "fc.bias"]


def test_module_list_and_dict() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    assert len(list(layers.parameters())) == 4
    assert layers[1] is list(layers)[1]
    assert len(layers) == 2
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    assert "b" in table
    assert [key for key, _ in table.items()] == list(table) == ["a", "b"]
    assert (len(table), table["a"]) == (2, next(table.children()))


ACTIVATIONS = [
    (nn.ReLU(), fg.relu),
    (nn.ReLU6(), fg.relu6),
    (nn.LeakyReLU(0.2), lambda x: fg.leaky_relu(x, 0.2)),
    (nn.ELU(alpha=0.5), lambda x: fg.elu(x, 0.5)),
    (nn.GELU(), fg.gelu),
    (nn.GELU(approximate="tanh"), lambda x: fg.gelu(x, "tanh")),
    (nn.SiLU(), fg.silu),
    (nn.Sigmoid(), fg.sigmoid),
    (nn.Tanh(), fg.tanh),
    (nn.Softplus(), fg.softplus),
    (nn.Softmax(), lambda x: fg.softmax(x, -1)),
    (nn.Softmax(axis=0), lambda x: fg.softmax(x, 0)),
    (nn.LogSoftmax(), lambda x: fg.log_softmax(x, -1)),
    (nn.Identity(), lambda x: x),
]


@pytest.mark.parametrize(("module", "function"), ACTIVATIONS, ids=lambda v: repr(v))
def test_activations(module: nn.Module, function: Any) -> None:
    x = leaf(3, 4)
    np.testing.assert_array_equal(module(x).detach().numpy(), function(x).detach().numpy())


def test_an_activation_refuses_unknown_options() -> None:
    with pytest.raises(ValueError, match=r"ReLU: the options are none; got \(1,\)"):
        nn.ReLU(1)
    assert repr(nn.ELU(2.0)) == "ELU(alpha=2.0)"


# --- losses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse_loss(reduction: str) -> None:
    x, t = leaf(3, 2), leaf(3, 2)
    loss = nn.MSELoss(reduction)
    squares = (x.detach().numpy() - t.detach().numpy()) ** 2
    want = {"mean": squares.mean(), "sum": squares.sum(), "none": squares}[reduction]
    np.testing.assert_allclose(loss(x, t).detach().numpy(), want)
    fg.gradcheck(loss, [x, t], atol=1e-6)
    fg.gradgradcheck(loss, [x, t], atol=1e-6)


def test_losses_multiply_by_the_upstream_gradient() -> None:
    x = leaf(2, 3)
    for loss in (nn.MSELoss()(x, fg.zeros(2, 3)), nn.CrossEntropyLoss()(x, fg.tensor([0, 2]))):
        (once,) = fg.autograd.grad(loss, [x], retain_graph=True)
        (thrice,) = fg.autograd.grad(loss * -3.0, [x])
        np.testing.assert_allclose(thrice.numpy(), -3.0 * once.numpy(), rtol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_loss(reduction: str) -> None:
    x, t = leaf(4, 3), fg.tensor([0, 2, 1, 1])
    loss = nn.CrossEntropyLoss(reduction=reduction)
    log_p = fg.log_softmax(x, -1).detach().numpy()
    rows = -log_p[np.arange(4), t.numpy()]
    want = {"mean": rows.mean(), "sum": rows.sum(), "none": rows}[reduction]
    np.testing.assert_allclose(loss(x, t).detach().numpy(), want)
    fg.gradcheck(lambda x: loss(x, t), [x], atol=1e-6)


def test_losses_refuse_shapes_and_reductions() -> None:
    with pytest.raises(ValueError, match=r"the input has shape \(2,\) and the target \(2, 1\)"):
        nn.MSELoss()(fg.ones(2), fg.ones(2, 1))
    with pytest.raises(ValueError, match="reduction='avg'"):
        nn.MSELoss("avg")
    with pytest.raises(ValueError, match="reduction='avg'"):
        nn.CrossEntropyLoss(reduction="avg")
    assert repr(nn.MSELoss()) == "MSELoss(reduction='mean')"
    assert repr(nn.CrossEntropyLoss(reduction="sum")) == "CrossEntropyLoss(reduction='sum')"


# --- initialisers ------------------------------------------------------------------------------


def test_initialisers() -> None:
    init, w = nn.init, nn.Parameter(np.zeros((200, 100)))
    rng = np.random.default_rng(0)
    assert init.ones_(w) is w
    assert w.detach().numpy().all()
    assert not init.zeros_(w).detach().numpy().any()
    assert init.constant_(w, 3.0).detach().numpy().max() == 3.0
    for fill, std in [
        (lambda: init.uniform_(w, -1, 1, rng), 1 / np.sqrt(3)),
        (lambda: init.normal_(w, 0, 2, rng), 2.0),
        (lambda: init.xavier_uniform_(w, 1.0, rng), np.sqrt(2 / 300)),
        (lambda: init.xavier_normal_(w, 2.0, rng), 2 * np.sqrt(2 / 300)),
        (lambda: init.kaiming_uniform_(w, generator=rng), np.sqrt(2 / 200)),
        (lambda: init.kaiming_normal_(w, mode="fan_out", generator=rng), np.sqrt(2 / 100)),
    ]:
        assert fill().detach().numpy().std() == pytest.approx(std, rel=0.03)
    assert w.is_leaf
    assert w.requires_grad


def test_gains_and_fans() -> None:
    assert nn.init.calculate_gain("relu") == pytest.approx(np.sqrt(2))
    assert nn.init.calculate_gain("leaky_relu", 1.0) == pytest.approx(1.0)
    assert nn.init.fans(fg.ones(3, 2, 4)) == (3, 8)
    with pytest.raises(ValueError, match="'wave' is not known"):
        nn.init.calculate_gain("wave")
    with pytest.raises(ValueError, match="mode='fan'"):
        nn.init.kaiming_normal_(nn.Parameter(np.zeros((2, 2))), mode="fan")
    with pytest.raises(ValueError, match="has no fan"):
        nn.init.xavier_normal_(nn.Parameter([1.0]))


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

    with pytest.raises(KeyError, match="mine"):
        nn.Module().wrap_forward(leaf(1), broken, list, list)
    assert fg.is_grad_enabled()


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
