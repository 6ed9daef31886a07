"""Processes: fork and spawn with live graphs, the interpreter's end, sub-interpreters.

Owns: that a program ends by itself, with its own exit code and nothing on standard error. Forks of
programs that use the pool: `test_threads.py`.
"""

import multiprocessing
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ferrograd as fg

PRELUDE = """
import threading, gc, sys, weakref, atexit
import numpy as np
import ferrograd as fg
"""


def run(body: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, on the library that is tested here."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-X", "faulthandler", "-c", PRELUDE + body]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env)


ENDS = {
    "a live graph": "x = fg.ones(3, requires_grad=True)\ny = (x * 2).exp().sum()",
    "a deep graph": """
x = y = fg.ones(3, requires_grad=True)
for _ in range(200_000): y = y + 1.0
""",
    "a module that holds tensors": "sys.mine = [fg.ones(1000, requires_grad=True).exp()]",
    "a cycle through a hook": """
x = fg.ones(3, requires_grad=True)
y = x.exp()
y.register_hook(lambda g: y * g)
x.register_hook(lambda g: x * g)
""",
    "a function object with a finaliser": """
class Last:
    def __del__(self):
        x = fg.ones(3, requires_grad=True)
        (x * x).sum().backward()
x = fg.ones(3, requires_grad=True)
last = Last()
y = x.exp(); y.register_hook(lambda g, last=last: g)
keep = [y, last]; keep.append(keep)
""",
    "work at exit": """
x = fg.ones(3, requires_grad=True)
atexit.register(lambda: (x * 2).sum().backward())
""",
    "a finaliser of weakref": """
x = fg.ones(3, requires_grad=True)
weakref.finalize(x, lambda: (fg.ones(2, requires_grad=True) * 2).sum().backward())
""",
    "an exception in flight": """
x = fg.ones(3, requires_grad=True)
sys.excepthook = lambda *a: None
class F(fg.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * 1
    @staticmethod
    def backward(ctx, g): sys.exit(0)
F.apply(x).sum().backward()
""",
    "daemon threads that differentiate": """
def work():
    while True:
        x = fg.ones((64, 64), requires_grad=True)
        (x @ x).exp().sum().backward()
for _ in range(3): threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.3)
""",
    "a daemon thread inside a hook": """
def work():
    x = fg.ones(3, requires_grad=True)
    def wait(g):
        import time; time.sleep(100)
    y = x * 2; y.register_hook(wait); y.sum().backward()
threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.3)
""",
    "an open scope on another thread": """
def work():
    scope = fg.no_grad(); scope.__enter__()
    threading.local_scope = scope
t = threading.Thread(target=work); t.start(); t.join()
""",
    "tensors of a thread that ended": """
out = []
t = threading.Thread(target=lambda: out.append((fg.ones(3, requires_grad=True) * 2).sum()))
t.start(); t.join(); out[0].backward(); del t
""",
    "a capsule that nobody took": "c = fg.ones(5).__dlpack__()",
    "memory lent to NumPy": "a = fg.ones(1000).numpy(); sys.a = a",
    "an unfinished generator": """
def steps():
    with fg.no_grad(), fg.Graph(), fg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        yield fg.ones(3)
g = steps(); next(g); sys.g = g
""",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_by_itself(name: str) -> None:
    done = run(ENDS[name])
    assert done.returncode == 0, done.stderr
    assert "panicked" not in done.stderr
    assert "Fatal" not in done.stderr


def test_os_exit_and_signals_need_no_clean_up() -> None:
    done = run("x = fg.ones(3, requires_grad=True).exp()\nimport os; os._exit(7)")
    assert (done.returncode, done.stderr) == (7, "")


def child_of(method: str, given: Any) -> Any:
    """What `computed` gives in a process made this way."""
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        return pool.apply_async(computed, (given,)).get(60)


def computed(given: Any) -> tuple[list[float], bool, int]:
    """A gradient, in whatever process this is."""
    x = fg.tensor(np.arange(4.0), requires_grad=True)
    y = (x * given).exp().sum()
    y.backward()
    return x.grad.tolist(), fg.is_grad_enabled(), fg.get_num_threads()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_computes_what_its_parent_does(method: str) -> None:
    weights = fg.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    mine = (weights * 2.0).sum()
    theirs = child_of(method, weights)
    assert theirs[0] == computed(weights)[0]
    mine.backward()
    assert weights.grad is not None


def test_a_tensor_with_history_does_not_travel() -> None:
    weights = fg.ones(4, requires_grad=True) * 2.0
    with pytest.raises(RuntimeError, match="history"):
        child_of("spawn", weights)


def test_a_fork_in_the_middle_of_a_backward() -> None:
    done = run("""
import os
x = fg.ones(8, requires_grad=True)
def fork(g):
    pid = os.fork()
    if pid == 0:
        z = fg.ones(3, requires_grad=True)
        with fg.enable_grad(): (z * z).sum().backward()
        os._exit(0 if z.grad.tolist() == [2.0] * 3 else 1)
    assert os.waitpid(pid, 0)[1] == 0
    return g
y = x.exp(); y.register_hook(fork); y.sum().backward()
assert x.grad is not None
""")
    assert done.returncode == 0, done.stderr


SUBINTERPRETERS = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import os
r, w = os.pipe()
inside = '''
import os
try:
    import ferrograd
except ImportError as error:
    os.write(%d, str(error).encode())
else:
    os.write(%d, b"imported")
''' % (w, w)
made = interpreters.create()
try:
    interpreters.run_string(made, inside)
except Exception as error:
    os.write(w, str(error).encode())
print(os.read(r, 10000).decode())
x = fg.ones(2, requires_grad=True); (x * x).sum().backward(); assert x.grad.tolist() == [2, 2]
"""


def test_a_sub_interpreter_is_refused() -> None:
    """NumPy refuses or warns, too: its types belong to the first interpreter."""
    done = run(SUBINTERPRETERS)
    assert done.returncode == 0, done.stderr
    assert "interpreter" in done.stdout or "more than once per process" in done.stdout
    assert "imported" not in done.stdout
