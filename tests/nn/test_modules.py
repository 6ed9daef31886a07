"""`fg.nn.Module`: parameters, registration, modes, dtype and state."""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor, nn

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
        (lambda m: m.register_parameter("p", 1.0), "register a Parameter, or a leaf"),
        (lambda m: m.register_parameter("p", fg.ones(1)), "a tensor without requires_grad"),
        (lambda m: m.register_parameter("p", leaf(1) * 2), "a tensor with history"),
        (lambda m: m.register_buffer("b", None), "'b' is None; register a tensor, or assign"),
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
    with pytest.raises(NotImplementedError, match="Module: the module has no forward; define"):
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


def test_to_takes_what_pytorch_s_takes() -> None:
    net = Net()
    before = [id(p) for p in net.parameters()]
    assert net.to(fg.device("cpu")).to("cpu", non_blocking=True).to(device="cpu").cpu() is net
    assert [id(p) for p in net.parameters()] == before
    assert net.to(fg.ones(1, dtype=np.float32)).head.weight.dtype == np.float32
    assert net.to("cpu", "float64").head.weight.dtype == np.float64
    assert net.to(dtype=fg.float32).head.weight.dtype == np.float32
    with pytest.raises(fg.errors.ArgumentError, match='no device "cuda"'):
        net.to("cuda")


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
