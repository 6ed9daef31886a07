"""The leak matrix (facts 3.4): every pattern that leaks elsewhere, one row each.

Nodes, bytes and the Python objects themselves are counted. Simpler patterns: `test_memory.py`.
"""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import ferrograd as fg
from ferrograd.autograd import graph

SIZE = 1 << 10


class Witness:
    """Something whose death can be seen."""


class Keeps(fg.Function):
    """`y = 2 x`; `how` says what its context keeps."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor, how: str) -> fg.Tensor:
        y = x * 2
        if how == "attribute":
            ctx.y = y
        elif how == "view attribute":
            ctx.y = y.view(-1)
        elif how == "containers":
            ctx.kept = [{"y": y}, (y.view(-1), [x])]
        elif how == "saved view":
            ctx.save_for_backward(y.view(-1))
        elif how == "saved":
            ctx.save_for_backward(y)
        elif how == "input attribute":
            ctx.x = x
        return y

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> tuple[fg.Tensor, None]:
        return g * 2, None


def leaf() -> fg.Tensor:
    return fg.ones(SIZE, requires_grad=True)


def context_attribute_is_the_output(witness: Witness) -> None:
    y = Keeps.apply(leaf(), "attribute")
    y.grad_fn.metadata["witness"] = witness


def context_attribute_is_a_view_of_the_output(witness: Witness) -> None:
    y = Keeps.apply(leaf(), "view attribute")
    y.grad_fn.metadata["witness"] = witness


def context_attribute_holds_the_output_in_containers(witness: Witness) -> None:
    y = Keeps.apply(leaf(), "containers")
    y.grad_fn.metadata["witness"] = witness
    assert y.grad_fn.kept[0]["y"].tolist() == y.tolist()


def saved_view_of_the_output(witness: Witness) -> None:
    y = Keeps.apply(leaf(), "saved view")
    y.grad_fn.metadata["witness"] = witness
    y.sum().backward()


def saved_output(witness: Witness) -> None:
    y = Keeps.apply(leaf(), "saved")
    y.grad_fn.metadata["witness"] = witness


def pack_hook_returns_the_output(witness: Witness) -> None:
    def pack(t: fg.Tensor) -> tuple[fg.Tensor, Witness]:
        return t, witness

    with graph.saved_tensors_hooks(pack, lambda packed: packed[0]):
        y = leaf().exp()
    y.sum().backward(retain_graph=True)


def gradients_with_history(witness: Witness) -> None:
    x = leaf()
    x.register_hook(lambda g: (witness, None)[1])
    (x**3).sum().backward(create_graph=True)
    (x.grad * x).sum().backward(create_graph=True)


def checkpointed(witness: Witness) -> None:
    x = leaf()

    def f(x: fg.Tensor) -> fg.Tensor:
        assert witness
        return x.exp().sin()

    fg.autograd.checkpoint(f, x).sum().backward(retain_graph=True)


COUNTED = [
    context_attribute_is_the_output,
    context_attribute_is_a_view_of_the_output,
    context_attribute_holds_the_output_in_containers,
    saved_view_of_the_output,
    saved_output,
    pack_hook_returns_the_output,
    gradients_with_history,
    checkpointed,
]


def hook_closes_over_its_own_tensor(witness: Witness) -> None:
    y = leaf() * 2
    y.register_hook(lambda g: (y, witness, None)[2])


def hook_closes_over_the_leaf_it_is_on(witness: Witness) -> None:
    x = leaf()
    x.register_hook(lambda g: (x, witness, None)[2])


def hook_closes_over_a_used_leaf(witness: Witness) -> None:
    x = leaf()
    x.register_hook(lambda g: (x, witness, None)[2])
    (x * x).sum().backward()


def post_accumulate_hook_closes_over_its_leaf(witness: Witness) -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: (x, witness))
    x.sum().backward()


def tensor_hook_closes_over_grad_fn(witness: Witness) -> None:
    y = leaf() * 2
    fn = y.grad_fn
    y.register_hook(lambda g: (fn, witness, None)[2])


def node_hook_closes_over_grad_fn(witness: Witness) -> None:
    y = leaf() * 2
    fn = y.grad_fn
    fn.register_hook(lambda gi, go: (fn, witness, None)[2])
    fn.register_prehook(lambda go: (fn, None)[1])


def hook_closes_over_a_later_result(witness: Witness) -> None:
    x = leaf()
    y = x * 2
    z = y.exp() + y
    y.register_hook(lambda g: (z, witness, None)[2])


def multi_grad_hook_closes_over_its_tensors(witness: Witness) -> None:
    x = leaf()
    y = x * 2
    z = y.exp() * y
    graph.register_multi_grad_hook([y, z], lambda grads: (z, witness))


def pack_keeps_the_result(witness: Witness) -> None:
    box: list[Any] = [witness]
    with graph.saved_tensors_hooks(lambda t: (t, box), lambda packed: packed[0]):
        y = leaf().exp()
    box.append(y)


def checkpoint_closes_over_its_result(witness: Witness) -> None:
    box: list[Any] = [witness]

    def f(x: fg.Tensor) -> fg.Tensor:
        assert box
        return x.exp().sin()

    box.append(fg.autograd.checkpoint(f, leaf()))


def context_attribute_is_the_input_whose_gradient_has_history(witness: Witness) -> None:
    x = leaf()
    x.register_hook(lambda g: (witness, None)[1])
    (Keeps.apply(x, "input attribute") ** 2).sum().backward(create_graph=True)


def metadata_names_the_edge(witness: Witness) -> None:
    y = leaf() * 2
    edge = graph.get_gradient_edge(y)
    edge.node.metadata["edge"] = (edge, witness)


def context_below_more_nodes_than_a_young_collection_walks(witness: Witness) -> None:
    y = Keeps.apply(leaf(), "none")
    box: list[Any] = [witness]
    y.grad_fn.metadata["box"] = box
    for _ in range(3000):
        y = y + 1
    box.append(y)


def hook_on_a_tensor_changed_in_place(witness: Witness) -> None:
    y = leaf() * 2
    y += 1
    y.register_hook(lambda g: (y, witness, None)[2])


def hook_closes_over_a_tensor_and_its_node(witness: Witness) -> None:
    y = leaf() * 2
    fn = y.grad_fn
    y.register_hook(lambda g: (y, fn, witness, None)[3])


def object_that_keeps_a_leaf_and_its_accumulator(witness: Witness) -> None:
    class Owner:
        pass

    owner: Any = Owner()
    owner.leaf = leaf()
    owner.node = (owner.leaf * 1).grad_fn.next_functions[0][0]
    owner.node.register_hook(lambda gi, go: (owner, witness, None)[2])
    (owner.leaf * 2).sum().backward()


COLLECTED = [
    hook_closes_over_a_tensor_and_its_node,
    object_that_keeps_a_leaf_and_its_accumulator,
    hook_closes_over_its_own_tensor,
    hook_closes_over_the_leaf_it_is_on,
    hook_closes_over_a_used_leaf,
    post_accumulate_hook_closes_over_its_leaf,
    tensor_hook_closes_over_grad_fn,
    node_hook_closes_over_grad_fn,
    hook_closes_over_a_later_result,
    multi_grad_hook_closes_over_its_tensors,
    pack_keeps_the_result,
    checkpoint_closes_over_its_result,
    context_attribute_is_the_input_whose_gradient_has_history,
    metadata_names_the_edge,
    context_below_more_nodes_than_a_young_collection_walks,
    hook_on_a_tensor_changed_in_place,
]

Pattern = Callable[[Witness], None]


def leaves_nothing(pattern: Pattern, collect: bool) -> None:
    gc.collect()
    nodes, memory = fg.live_nodes(), fg.live_bytes()
    for _ in range(2):
        witness = Witness()
        alive = weakref.ref(witness)
        pattern(witness)
        del witness
        if collect:
            gc.collect()
        assert alive() is None, "the hook or context is still alive"
    assert fg.live_nodes() == nodes
    assert fg.live_bytes() == memory


@pytest.mark.parametrize("pattern", COUNTED, ids=lambda f: f.__name__)
def test_freed_by_reference_counts_alone(pattern: Pattern) -> None:
    gc.collect()
    gc.disable()
    try:
        leaves_nothing(pattern, collect=False)
    finally:
        gc.enable()


@pytest.mark.parametrize("pattern", COLLECTED, ids=lambda f: f.__name__)
def test_freed_by_the_collector(pattern: Pattern) -> None:
    gc.collect()
    leaves_nothing(pattern, collect=True)


@pytest.mark.parametrize("pattern", COLLECTED, ids=lambda f: f.__name__)
def test_what_is_alive_is_not_collected(pattern: Pattern) -> None:
    """The collector must not take what a living tensor below or above still reaches."""
    x = leaf()
    y = x * 2
    seen: list[int] = []
    y.register_hook(lambda g: seen.append(1))
    node = y.grad_fn
    z = y.exp()
    del y
    pattern(Witness())
    for _ in range(3):
        gc.collect()
    z.sum().backward()
    assert seen == [1]
    assert node.name() == "MultiplyBackward"


def test_a_hook_survives_while_only_a_consumer_lives() -> None:
    x = leaf()
    seen: list[int] = []

    def build() -> fg.Tensor:
        y = x * 2
        y.register_hook(lambda g: (y, seen.append(1), None)[2])
        return y.sin() + y.cos()

    z = build()
    gc.collect()
    z.sum().backward()
    assert seen == [1]
    del z
    gc.collect()


@pytest.mark.parametrize("keep", ["tensor", "node", "consumer"])
def test_a_hook_survives_while_one_of_its_node_s_owners_lives(keep: str) -> None:
    gc.collect()
    witness = Witness()
    alive = weakref.ref(witness)

    def build(witness: Witness) -> Any:
        y = leaf() * 2
        fn = y.grad_fn
        y.register_hook(lambda g: (y, fn, witness, None)[3])
        return {"tensor": y, "node": fn, "consumer": y.exp()}[keep]

    kept = build(witness)
    del witness
    for _ in range(3):
        gc.collect()
    assert alive() is not None
    del kept
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("detached", [False, True])
def test_a_cycle_through_a_change_is_found_while_a_node_saved_the_memory(detached: bool) -> None:
    gc.collect()
    witness = Witness()
    alive = weakref.ref(witness)

    def build(witness: Witness) -> tuple[fg.Tensor, ...]:
        y = leaf() * 2
        saved = y * y
        kept = (saved, y) if detached else (saved,)
        changed = y.detach() if detached else y
        changed += leaf()
        changed.register_hook(lambda g: (changed, witness, None)[2])
        return kept

    kept = build(witness)
    del witness
    gc.collect()
    assert alive() is None
    assert kept


@pytest.mark.parametrize("keep", ["leaf", "node", "consumer"])
def test_a_leaf_s_hook_survives_while_one_of_its_owners_lives(keep: str) -> None:
    gc.collect()
    witness = Witness()
    alive = weakref.ref(witness)

    def build(witness: Witness) -> Any:
        x = leaf()
        y = x * 2
        node = y.grad_fn.next_functions[0][0]
        node.register_hook(lambda gi, go: (x, node, witness, None)[3])
        return {"leaf": x, "node": node, "consumer": y}[keep]

    kept = build(witness)
    del witness
    for _ in range(3):
        gc.collect()
    assert alive() is not None
    del kept
    gc.collect()
    assert alive() is None
