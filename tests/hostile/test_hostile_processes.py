"""Processes: fork and spawn with live graphs, the interpreter's end, sub-interpreters.

Forks of programs that use the pool: `test_threads.py`.
"""

import multiprocessing
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from processes import run

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


#: What a finaliser may call for the first time when the interpreter ends.
LATE = {
    "backward": "late=(x * x).sum().backward",
    "backward with a hook": "late=hooked.sum().backward",
    "the derivative of a function": "late=lambda g=fg.grad(lambda x: fg.sum(x * x)), a=a: g(a)",
    "gradients": "late=lambda g=fg.autograd.grad, y=(x * x).sum(), x=x: g(y, [x])",
    "a function": "late=lambda sin=fg.sin, x=x: sin(x)",
    "a method": "late=x.exp",
    "a text": "late=lambda repr=repr, x=x: repr(x)",
    "elements": "late=lambda list=list, x=x: list(x)",
    "a product": "late=lambda x=fg.ones((300, 300)): x @ x",
    "an array": "late=lambda asarray=np.asarray, x=x.detach(): asarray(x)",
    "an error": "late=lambda sin=fg.sin: sin('a')",
    "a compiled function": "late=lambda f=fg.compile(lambda x: x * 2.0), a=a: f(a)",
    "a custom function": "late=lambda f=F.apply, x=x: f(x).sum().backward()",
}


@pytest.mark.parametrize("home", ["builtins", "np", "fg._core", "sys"])
@pytest.mark.parametrize("name", LATE)
def test_a_finaliser_may_use_the_library_when_the_interpreter_ends(name: str, home: str) -> None:
    done = run(f"""
import builtins
x, a = fg.ones(3, requires_grad=True), np.ones(3)
hooked = x * 2.0; hooked.register_hook(lambda g: g)
class F(fg.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * 1.0
    @staticmethod
    def backward(ctx, g): return g * ctx.saved_tensors[0]
class Last:
    def __del__(self, {LATE[name]}, write=sys.stdout.write, flush=sys.stdout.flush, any=Exception):
        try: late(); write("done")
        except any as error: write(type(error).__name__)
        flush()
{home}.last = Last()
""")
    assert done.returncode == 0, done.stderr
    assert "panicked" not in done.stderr
    # What a late import would bring cannot be had any more, and is an ordinary error.
    assert done.stdout, done.stderr
    assert done.stdout not in {"PanicException", "InternalError"}


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


@pytest.mark.parametrize("first", [False, True])
def test_a_sub_interpreter_is_refused(first: bool) -> None:
    """Also where it is the first that imports; the main one can import then."""
    imports = "import numpy as np, ferrograd as fg\n"
    body = SUBINTERPRETERS.replace("x = fg", imports + "x = fg") if first else SUBINTERPRETERS
    done = run(body, prelude="" if first else imports)
    assert done.returncode == 0, done.stderr
    assert "this is a sub-interpreter" in done.stdout
    assert "imported" not in done.stdout


def test_an_instruction_set_that_does_not_exist() -> None:
    done = run("", FERROGRAD_ISA="bogus")
    assert done.returncode == 1
    assert 'ArgumentError: import: FERROGRAD_ISA is "bogus"; set it to scalar' in done.stderr
    for name in ("", "scalar", " avx2 "):
        assert run("", FERROGRAD_ISA=name).returncode == 0
