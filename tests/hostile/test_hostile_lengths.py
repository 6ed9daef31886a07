"""Arguments without an end, or with more rows than time allows: each is refused at once.

Every parameter of every public name: `python -m hostile.endless`, which `make fuzz` runs.
"""

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, ArgumentTypeError, DTypeError
from ferrograd.scipy.spatial import distance
from hostile import endless
from hostile.sweep import environment

#: What a call gets in the place of a sequence; `{}` in a program.
ENDLESS = ("itertools.count()", "itertools.repeat(1)", "itertools.repeat(fg.nn.Parameter([1.0]))")
#: Rows without elements: as many as there are none of.
TALL = ("np.broadcast_to(1, (2**59, 0))", "fg.asarray(np.broadcast_to(1, (2**59, 0)))")
WIDE = ("fg.tensor(1).expand(2**59)",)
CALLS = (
    ("fg.as_strided(fg.ones(4), {}, (1,))", ENDLESS[:2] + WIDE),
    ("fg.as_strided(fg.ones(4), (2,), {})", ENDLESS[:2] + WIDE),
    ("fg.unflatten(fg.ones(4), 0, {})", ENDLESS + WIDE),
    ("fg.nn.Unflatten(0, {})", ENDLESS + WIDE),
    ("fg.unravel_index(fg.tensor(1), {})", ENDLESS[:2] + WIDE),
    ("fg.ShapeDtypeStruct({}, 'f8')", ENDLESS + WIDE),
    ("fg.Generator({})", (*TALL, "[np.broadcast_to(1, (2**59, 0))]")),
    ("fg.manual_seed({})", (*TALL, "(np.broadcast_to(1, (2**59, 0)),)")),
    ("fg.optim.SGD({}, lr=0.1)", ENDLESS),
    ("fg.optim.SGD([{{'params': {}}}], lr=0.1)", ENDLESS),
    ("fg.optim.SGD((('a', p) for p in {}), lr=0.1)", ENDLESS),
    ("fg.optim.Adam([fg.nn.Parameter([1.0])], betas={})", ENDLESS + WIDE),
    ("fg.optim.Rprop([fg.nn.Parameter([1.0])], etas={})", ENDLESS + WIDE),
    ("fg.optim.Rprop([fg.nn.Parameter([1.0])], step_sizes={})", ENDLESS + WIDE),
    ("fg.autograd.gradcheck(fg.sin, {})", ENDLESS),
    ("fg.check_grads(fg.sin, {})", ENDLESS),
    ("fg.compile(fg.sin, static_argnames={})", ENDLESS),
    ("fg.compile(fg.sin, static_argnums={})", ENDLESS),
    ("fg.func.functional_call(fg.nn.Linear(1, 1), {}, fg.ones(1, 1))", ENDLESS),
    ("fg.extend.defvjp(fg.extend.primitive(np.sin), fg.cos, argnums={})", ENDLESS),
    ("fg.nn.utils.clip_grad_norm_({}, 1.0)", ENDLESS[:2]),
    ("fg.distributed.clip_grad_norm_({}, 1.0)", ENDLESS[:2]),
    ("fg.extend.primitive(np.sin).defvjp_is_zero({})", ENDLESS),
    ("fg.functors.Op('a', {}, ())", ENDLESS),
    ("fg.functors.scale_fiber(2.0, fg.tensor([1.0]), {})", ENDLESS + WIDE),
    ("fg.autograd.gradgradcheck(fg.sin, fg.ones(1, requires_grad=True), {})", ENDLESS),
    ("ferrograd.hips.util.quick_grad_check(fg.sin, np.ones(1), {})", ENDLESS),
    ("ferrograd.hips.util.subval({}, 0, 1)", ENDLESS),
    ("fg.histc({})", WIDE),
    ("fg.histc({}, 4, 0, 3)", WIDE),
    ("fg.linspace(0.0, np.ones(2), 3, axis={})", ENDLESS),
    ("fg.nn.utils.parameters_to_vector({})", ENDLESS[:2]),
    ("fg.nn.utils.vector_to_parameters(fg.ones(2), {})", ENDLESS[:2]),
    ("fg.optim.Muon([fg.nn.Parameter(np.ones((2, 2)))], ns_coefficients={})", ENDLESS),
    ("fg.optim.lr_scheduler.MultiStepLR(OPTIMIZER, {})", ENDLESS),
    ("numpy_vjps.repeat_to_match_shape(fg.ones(()), {}, float, None, False)", ENDLESS),
    ("ferrograd.scipy.fft.fftn(fg.ones(4, 4), s={})", WIDE + ENDLESS[:2]),
    ("np.put_along_axis(fg.ones(4), {}, 2.0, 0)", WIDE),
    ("fg.ones(4).index_add(0, {}, fg.tensor(1.0).expand(2**59))", WIDE),
    ("fg.ones(4).scatter(0, {}, fg.tensor(1.0).expand(2**59))", WIDE),
    ("fg.ones(4).scatter_add(0, {}, fg.tensor(1.0).expand(2**59))", WIDE),
)
#: Runs its lines one after the other, and says which end otherwise than by an error.
PROGRAM = """
import faulthandler, itertools, sys
import numpy as np, ferrograd, ferrograd as fg, ferrograd.hips.util, ferrograd.scipy.fft
from hostile.child import limit_memory
from ferrograd.numpy import numpy_vjps
OPTIMIZER = fg.optim.SGD([fg.nn.Parameter([1.0])], lr=0.1)
limit_memory()
for line in sys.stdin.read().splitlines():
    faulthandler.dump_traceback_later(20, exit=True)
    print("calls", line, flush=True)
    try:
        eval(line)
    except (ValueError, TypeError):
        pass
    except MemoryError:
        if "expand" not in line:
            print("read until memory ended:", line)
    else:
        print("accepted:", line)
print("done")
"""


def test_what_has_no_end_is_refused_at_once() -> None:
    """In a process of their own: a call that does not return cannot be stopped from inside."""
    lines = [call.format(value) for call, values in CALLS for value in values]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env=environment(),
    )
    said = [line for line in done.stdout.splitlines() if not line.startswith("calls")]
    assert said == ["done"], done.stdout[-300:] + done.stderr


def test_repetitions_without_room_are_refused_at_once() -> None:
    program = (
        "import faulthandler\nimport numpy as np, ferrograd as fg\n"
        "from hostile.child import limit_memory\nlimit_memory()\n"
        "faulthandler.dump_traceback_later(20, exit=True)\n"
        "try:\n    np.resize(fg.ones(3), 2**31)\nexcept MemoryError:\n    print('refused')"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.stdout == "refused\n", done.stderr


def test_the_sweep_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = endless.calls_of("ferrograd.as_strided", fg.as_strided)[:4]
    assert len(calls) == 4
    assert not list(endless.swept(calls))
    monkeypatch.setattr(endless, "PATIENCE", 1)
    monkeypatch.setattr(endless, "make", lambda call, _: call is calls[2] and time.sleep(60))
    (fault,) = endless.swept(calls)
    assert fault.startswith(f"{calls[2]}: the process ends with status 256, File")


@pytest.mark.parametrize(
    "values", [np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], [], np.zeros((3, 0), int), [2**70, 3]]
)
def test_seeds_that_numpy_takes(values: Any) -> None:
    generator = fg.Generator(values)
    assert generator.numpy.random() == np.random.default_rng(values).random()


def test_parameters_of_every_kind_of_sequence() -> None:
    params = [fg.nn.Parameter([float(k)]) for k in range(3)]
    for given in (params, tuple(params), iter(params), (p for p in params), dict.fromkeys(params)):
        assert len(fg.optim.SGD(given, lr=0.1).param_groups[0]["params"]) == 3
    pairs = [(str(k), p) for k, p in enumerate(params)]
    assert fg.optim.SGD(iter(pairs), lr=0.1).param_groups[0]["param_names"] == ["0", "1", "2"]
    groups: list[dict[str, Any]] = [{"params": [p]} for p in params]
    assert len(fg.optim.SGD(iter(groups), lr=0.1).param_groups) == 3
    with pytest.raises(ArgumentTypeError, match="parameter 1 is int; pass leaf tensors"):
        fg.optim.SGD([params[0], 3, params[1]], lr=0.1)
    with pytest.raises(ArgumentError, match="parameter 1 is there twice"):
        fg.optim.SGD([params[0], params[0], params[1]], lr=0.1)


@pytest.mark.parametrize("count", [1, 3])
def test_options_of_two_numbers(count: int) -> None:
    params, numbers = [fg.nn.Parameter([1.0])], (0.5,) * count
    for make in (
        lambda: fg.optim.Adam(params, betas=numbers),
        lambda: fg.optim.Rprop(params, etas=numbers),
        lambda: fg.optim.Rprop(params, step_sizes=numbers),
        lambda: fg.optim.Rprop([{"params": params, "step_sizes": numbers}]),
    ):
        with pytest.raises(ArgumentError, match="give two numbers"):
            make()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_squareform_of_objects_is_refused(shape: tuple[int, ...]) -> None:
    """SciPy copies their bytes and so loses references."""
    one = object()
    before, things = sys.getrefcount(one), np.zeros(shape, object)
    things[...] = one
    for checks in (True, False):
        with pytest.raises(DTypeError, match="squareform: elements of dtype object"):
            distance.squareform(things, checks=checks)
    del things
    assert sys.getrefcount(one) == before
