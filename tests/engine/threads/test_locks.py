"""Python code that the engine calls, or whose objects it drops, finds every lock of ours free.

A build with debug assertions checks the rule at every call.
"""

import pytest

from processes import run

AGAIN = {
    "an unpack hook differentiates the same graph": """
x = fg.tensor([1.0, 2.0], requires_grad=True)
depth = []
def unpack(t):
    if not depth:
        depth.append(1)
        g, = fg.autograd.grad(y, [x], retain_graph=True)
        assert g.tolist() == [2.0, 4.0]
    return t
with fg.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), unpack):
    y = (x * x).sum()
y.backward(retain_graph=True)
assert x.grad.tolist() == [2.0, 4.0] and depth
""",
    "two threads are in one unpack hook": """
x = fg.tensor([1.0, 2.0], requires_grad=True)
both = threading.Barrier(2)
def unpack(t):
    both.wait(20)
    return t
with fg.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), unpack):
    y = (x * x.detach()).sum()
threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
assert x.grad.tolist() == [2.0, 4.0]
""",
    "a pack hook records in the graph that is being recorded": """
x = fg.tensor([1.0, 2.0], requires_grad=True)
def pack(t):
    with fg.enable_grad(): return (x * t).detach()
with fg.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = (x.exp() * x).sum()
y.backward()
assert x.grad is not None
""",
    "the name of a keyword calls the compiled function": """
calls = []
class Name(str):
    __hash__ = str.__hash__
    def __eq__(self, other):
        if not calls:
            calls.append(0.0)
            calls.append(f(x=1.0))
        return str.__eq__(self, other)
f = fg.compile(lambda *, x: x * 2.0)
f(x=1.0); f(x=2.0)
assert f(**{Name("x"): 3.0}) == 6.0 and calls == [0.0, 2.0]
""",
    "the memory of a gradient reads the gradient as it goes": """
seen = []
class Memory(np.ndarray):
    def __del__(self):
        seen.append(x.grad.tolist())
x = fg.tensor([1.0, 2.0], requires_grad=True)
x.grad = fg.from_numpy(np.ones(2).view(Memory))
(x * x).sum().backward(create_graph=True)
gc.collect()
assert x.grad.tolist() == [3.0, 5.0] and seen == [[3.0, 5.0]], seen
""",
    "a finaliser clears the context that lets it go": """
class Held:
    def __init__(self, ctx): self.ctx = weakref.ref(ctx)
    def __del__(self):
        ctx = self.ctx()
        if ctx is not None: ended.append(ctx.saved_object_count)
ended = []
class F(fg.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_object("held", Held(ctx)); ctx.save_object("held", Held(ctx)); ctx.clear()
        return x * 1.0
    @staticmethod
    def backward(ctx, g): return g
F.apply(fg.ones(2, requires_grad=True)).sum().backward()
assert ended == [1, 0], ended
""",
    "the collector runs while a context refuses": """
ctx = fg.autograd.Function and fg._core.FunctionContext()
ctx.save_object("a", 1)
class Cycle:
    def __init__(self): self.me = self
    def __del__(self): seen.add(ctx.saved_object_count)
seen = set()
for clear in (False, True):
    if clear: ctx.clear()
    gc.set_threshold(1)
    for _ in range(300):
        Cycle()
        for ask in (lambda: ctx.get_saved_object("b"), lambda: ctx.get_saved_object(9)):
            try: ask()
            except Exception: pass
    gc.set_threshold(700)
assert seen == {0, 1}
""",
    "gradients with a history are added on two threads in anomaly mode": """
x = fg.tensor(np.ones(3), requires_grad=True)
rounds, errors = 100, []
def work():
    try:
        with fg.autograd.detect_anomaly(check_nan=False):
            for _ in range(rounds):
                (x * x).sum().backward(create_graph=True)
                x.grad
    except BaseException as error: errors.append(error)
import warnings; warnings.simplefilter("ignore")
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not errors and x.grad.tolist() == [2.0 * rounds * 3] * 3, (errors, x.grad)
x.grad = None
""",
}


@pytest.mark.parametrize("name", AGAIN)
def test_python_code_may_come_back(name: str) -> None:
    done = run(AGAIN[name], timeout=30.0)
    assert done.returncode == 0, done.stderr
