"""What runs during a pass leaves the thread as it was: modes, hooks, graph scopes, stack."""

import contextlib
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ferrograd as fg
from ferrograd.autograd import graph

Enter = Callable[[], object]


def leaf() -> fg.Tensor:
    return fg.tensor([1.0, 2.0], requires_grad=True)


class Around(fg.Function):
    """The identity, whose backward calls something first."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor, enter: Enter) -> fg.Tensor:
        ctx.enter = enter
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: fg.Tensor) -> Any:
        ctx.enter()
        return g, None


def in_a_tensor_hook(enter: Enter) -> None:
    x = leaf()
    y = x * x
    y.register_hook(lambda g: enter() and None)
    y.sum().backward()


def in_a_node_hook(enter: Enter) -> None:
    x = leaf()
    y = x * x
    y.grad_fn.register_hook(lambda i, o: enter() and None)
    y.sum().backward()


def in_a_prehook(enter: Enter) -> None:
    x = leaf()
    y = x * x
    y.grad_fn.register_prehook(lambda o: enter() and None)
    fg.autograd.grad(y.sum(), x, create_graph=True)


def in_a_hook_on_the_leaf(enter: Enter) -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda x: enter())
    (x * x).sum().backward()


def in_a_hook_on_several(enter: Enter) -> None:
    x = leaf()
    y = x * x
    with graph.register_multi_grad_hook([x, y], lambda grads: enter()):
        y.sum().backward()


def in_a_backward(enter: Enter) -> None:
    Around.apply(leaf(), enter).sum().backward()


def in_an_unpack(enter: Enter) -> None:
    def unpack(t: fg.Tensor) -> fg.Tensor:
        enter()
        return t

    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp()
    y.sum().backward()


def in_a_repetition(enter: Enter) -> None:
    runs = []

    def again(x: fg.Tensor) -> fg.Tensor:
        y = x.exp().sin()
        runs.append(1)
        if len(runs) == 2:
            enter()
        return y

    fg.autograd.checkpoint(again, leaf(), early_stop=False).sum().backward()
    assert len(runs) == 2


PLACES = [
    in_a_tensor_hook,
    in_a_node_hook,
    in_a_prehook,
    in_a_hook_on_the_leaf,
    in_a_hook_on_several,
    in_a_backward,
    in_an_unpack,
    in_a_repetition,
]


@pytest.fixture(params=[False, True], ids=["returns", "raises"])
def ends(request: pytest.FixtureRequest) -> Iterator[Callable[[Callable[[], object]], Enter]]:
    """What is called during the pass: it enters, and then returns or raises."""

    def ending(enter: Callable[[], object]) -> Enter:
        def called() -> None:
            enter()
            if request.param:
                raise ZeroDivisionError("in the middle")

        return called

    return ending


def run(place: Callable[[Enter], None], enter: Enter) -> None:
    with contextlib.suppress(ZeroDivisionError):
        place(enter)


@pytest.mark.parametrize("place", PLACES)
class TestABlockThatIsNotLeft:
    def test_saved_tensor_hooks(self, place: Any, ends: Any) -> None:
        packed: list[int] = []
        block = graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t)
        run(place, ends(block.__enter__))
        packed.clear()
        leaf().exp()
        assert packed == []
        block.__exit__()
        with pytest.raises(fg.errors.GradientError, match="none began"):
            block.__exit__()

    def test_hooks_around_the_pass_stay(self, place: Any, ends: Any) -> None:
        seen: list[str] = []
        inner = graph.saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t)
        with graph.saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
            run(place, ends(inner.__enter__))
            seen.clear()
            leaf().exp()
            assert seen == ["outer"]
        leaf().exp()
        assert seen == ["outer"]

    def test_hooks_that_the_pass_ends_go_on_after_it(self, place: Any, ends: Any) -> None:
        seen: list[int] = []
        outer = graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t)
        key = []

        def leave() -> None:
            if not key:
                key.append(1)
                opened = list(outer._open)
                outer.__exit__()
                outer._open[:] = opened

        with outer:
            run(place, ends(leave))
            seen.clear()
            leaf().exp()
            assert seen == [1]

    def test_a_block_that_forbids_hooks(self, place: Any, ends: Any) -> None:
        if place is in_an_unpack:
            pytest.skip("hooks are in force there")
        run(place, ends(graph.disable_saved_tensors_hooks("no").__enter__))
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    def test_a_graph_scope(self, place: Any, ends: Any) -> None:
        forgotten, scope = fg.Graph(), fg.Graph()
        run(place, ends(forgotten.__enter__))
        known = len(forgotten.ops)
        with scope:
            leaf().exp()
        assert len(forgotten.ops) == known
        assert len(scope.ops) == 1

    def test_modes(self, place: Any, ends: Any) -> None:
        for mode in (fg.no_grad(), fg.inference_mode(), fg.autograd.detect_anomaly()):
            run(place, ends(mode.__enter__))
            assert fg.is_grad_enabled()
            assert not fg.is_inference_mode_enabled()
            assert not fg.autograd.is_anomaly_enabled()


def test_what_a_hook_enters_ends_with_the_hook() -> None:
    packed: list[int] = []
    block = graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t)
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp().exp()
        y.register_hook(lambda g: block.__enter__() and None)
        fg.autograd.grad(y.sum(), x, create_graph=True)
    assert packed == []


SMALL = """
import sys, threading
import ferrograd as fg

def checkpoints(depth):
    def nested(x, depth):
        if depth == 0:
            return x.exp()
        return fg.autograd.checkpoint(lambda x: nested(x, depth - 1).sin(), x)
    x = fg.ones(3, requires_grad=True)
    nested(x, depth).sum().backward()
    return x.grad

class Pass(fg.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1
    @staticmethod
    def backward(ctx, g):
        if ctx.depth:
            with fg.enable_grad():
                x = fg.ones(1, requires_grad=True)
                Pass.apply(x, ctx.depth - 1).backward()
        return g, None

def passes(depth):
    x = fg.ones(1, requires_grad=True)
    Pass.apply(x, depth).backward()
    return x.grad

class Call(fg.Function):
    @staticmethod
    def forward(ctx, x, depth):
        return Call.apply(x, depth - 1) * 1 if depth else x * 1
    @staticmethod
    def backward(ctx, g):
        return g, None

def calls(depth):
    return Call.apply(fg.ones(1, requires_grad=True), depth)

def transforms(depth):
    def nested(x, depth):
        return fg.grad(lambda x: nested(x, depth - 1) * x)(2.0) * x if depth else x * x
    return fg.grad(lambda x: nested(x, depth))(1.0)

def hooks(depth):
    def nested(depth):
        with fg.enable_grad():
            x = fg.ones(1, requires_grad=True)
            y = x * 2
            if depth:
                y.register_hook(lambda g: nested(depth - 1))
            y.sum().backward()
    nested(depth)

raised = []

def main():
    program = globals()[sys.argv[1]]
    program(2)
    for depth in (20, 60, 150, 400):
        try:
            program(depth)
        except RecursionError as error:
            raised.append(str(error))
    program(2)

sys.setrecursionlimit(100_000)
threading.stack_size(int(sys.argv[2]) << 10)
thread = threading.Thread(target=main)
thread.start()
thread.join()
print(len(raised), raised[0] if raised else "")
"""


@pytest.mark.parametrize("kib", [256, 512])
@pytest.mark.parametrize("program", ["checkpoints", "passes", "calls", "transforms", "hooks"])
def test_a_small_stack_is_never_overflowed(program: str, kib: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SMALL), program, str(kib)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    count, _, message = done.stdout.partition(" ")
    assert int(count) >= (kib == 256), "no depth was refused"
    assert not message.strip() or "threading.stack_size" in message
