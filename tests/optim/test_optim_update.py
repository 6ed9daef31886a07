"""Steps over lists of parameters: memory layouts, shared memory, dtypes, threads, refusals.

What a step computes is held to PyTorch's numbers by `test_optim.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import Tensor

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2}),
    "nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    "adamw": ("AdamW", {"lr": 0.1}),
    "amsgrad": ("Adam", {"lr": 0.1, "amsgrad": True}),
    "nadam": ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.1}),
    "adamax": ("Adamax", {"lr": 0.1}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    "adadelta": ("Adadelta", {}),
    "rmsprop": ("RMSprop", {"weight_decay": 0.1}),
    "rmsprop momentum": ("RMSprop", {"momentum": 0.5}),
    "rmsprop centered": ("RMSprop", {"centered": True}),
    "rmsprop both": ("RMSprop", {"centered": True, "momentum": 0.5, "maximize": True}),
    "asgd": ("ASGD", {"lr": 0.1, "t0": 2, "lambd": 0.01}),
    "rprop": ("Rprop", {}),
}
every_rule = pytest.mark.parametrize("rule", OPTIONS)


def make(rule: str, params: list[Tensor]) -> Any:
    name, options = OPTIONS[rule]
    return getattr(fg.optim, name)(params, **options)


def leaf(view: Tensor) -> Tensor:
    return view.detach().requires_grad_()


def numbers(shape: tuple[int, ...], seed: int, dtype: str = "float64") -> Tensor:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        made = made + 1j * rng.standard_normal(shape)
    return fg.tensor(made, dtype=dtype)


def same(a: Tensor, b: Tensor) -> None:
    a, b = (np.ascontiguousarray(x.detach().numpy()) for x in (a, b))
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.T.clone().T,
    "strided": lambda x: fg.repeat(fg.repeat(x, 3, axis=0), 2, axis=1)[::3, ::2],
    "reversed": lambda x: x[::-1, ::-1].clone()[::-1, ::-1],
    "row of a matrix": lambda x: fg.stack([x, x], axis=1)[:, 1],
}


@every_rule
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
def test_memory_layouts_do_not_change_bits(rule: str, dtype: str) -> None:
    shape = (7, 21)
    plain = leaf(numbers(shape, 0, dtype))
    others = [leaf(lay(numbers(shape, 0, dtype))) for lay in LAYOUTS.values()]
    assert not any(p.is_contiguous() for p in others)
    params = [plain, leaf(numbers(shape, 0, dtype)), *others]
    optimizer = make(rule, params)
    for step in range(4):
        grad = numbers(shape, step + 1, dtype)
        grads = [grad, LAYOUTS["transposed"](grad), grad, grad.clone(), *[grad] * 2]
        for p, g in zip(params, grads, strict=True):
            p.grad = g
        optimizer.step()
    for p in params[1:]:
        same(p, plain)
        for name, kept in optimizer.state.get(plain, {}).items():
            same(optimizer.state[p][name], kept)


@every_rule
def test_a_gradient_may_be_broadcast(rule: str) -> None:
    params = [leaf(numbers((5, 6), 0)) for _ in range(2)]
    row = numbers((6,), 1)
    params[0].grad = fg.broadcast_to(row, (5, 6))
    params[1].grad = params[0].grad.clone()
    optimizer = make(rule, params)
    for _ in range(3):
        optimizer.step()
    same(*params)


@every_rule
def test_parameters_that_share_memory_step_one_after_another(rule: str) -> None:
    def run(together: bool) -> Tensor:
        # Large enough that parameters apart would be shared out over threads.
        size = 400
        memory = numbers((size, size), 0)
        params = [leaf(memory), leaf(memory.T), leaf(memory[1:])]
        for i, p in enumerate(params):
            p.grad = numbers(p.shape, i + 1)
        optimizers = [make(rule, params)] if together else [make(rule, [p]) for p in params]
        for _ in range(3):
            for optimizer in optimizers:
                optimizer.step()
        return memory

    same(run(True), run(False))


@every_rule
def test_a_gradient_may_lie_in_the_memory_of_its_parameter(rule: str) -> None:
    def run(take: Callable[[Tensor], Tensor]) -> Tensor:
        memory = numbers((41,), 0)
        first, second, third = (leaf(numbers((40,), 1)), leaf(memory[1:]), leaf(numbers((40,), 2)))
        first.grad, second.grad = take(first.detach()), take(memory[:-1])
        third.grad = first.grad
        optimizer = make(rule, [first, second, third])
        optimizer.step()
        return fg.concatenate([first.detach(), memory])

    same(run(lambda x: x), run(lambda x: x.clone()))


@every_rule
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_threads_do_not_change_bits(rule: str, dtype: str) -> None:
    def run(threads: int) -> list[Tensor]:
        before = fg.get_num_threads()
        fg.set_num_threads(threads)
        try:
            shapes = [(300, 301), (3,), (0, 4), (70_001,), ()]
            params = [leaf(numbers(shape, i, dtype)) for i, shape in enumerate(shapes)]
            params.append(leaf(numbers((200, 300), 9, dtype).T))
            optimizer = make(rule, params)
            for step in range(3):
                for i, p in enumerate(params):
                    p.grad = numbers(p.shape, 10 * step + i, dtype)
                optimizer.step()
            return params
        finally:
            fg.set_num_threads(before)

    for a, b in zip(run(1), run(4), strict=True):
        same(a, b)


@every_rule
def test_float16_is_computed_in_float32_and_rounded_once(rule: str) -> None:
    half = leaf(numbers((33,), 0, "float16"))
    wide = leaf(half.detach().astype("float32"))
    narrow, reference = make(rule, [half]), make(rule, [wide])
    for step in range(5):
        half.grad = numbers((33,), step + 1, "float16")
        wide.grad = half.grad.astype("float32")
        narrow.step()
        reference.step()
        kept = [x for x in reference.state.get(wide, {}).values() if x.shape == wide.shape]
        with fg.no_grad():
            for x in (wide, *kept):
                x.copy_(x.detach().astype("float16"))
        same(half.astype("float32"), wide)


def test_one_group_may_have_parameters_of_several_dtypes() -> None:
    def run(chosen: list[str]) -> list[Tensor]:
        params = [leaf(numbers((9,), 0, dtype)) for dtype in chosen]
        optimizer = fg.optim.Adam(params, lr=0.1)
        for step in range(3):
            for p in params:
                p.grad = numbers((9,), step + 1, p.dtype.name)
            optimizer.step()
        return params

    dtypes = ["float64", "float16", "complex64", "float32"]
    for p, dtype in zip(run(dtypes), dtypes, strict=True):
        assert p.dtype.name == dtype
        same(p, run([dtype])[0])


def test_state_of_another_dtype_keeps_it() -> None:
    w = leaf(numbers((5,), 0, "float32"))
    w.grad = fg.ones(5, dtype="float32")
    optimizer = fg.optim.Adam([w], lr=0.1)
    optimizer.step()
    state = optimizer.state[w]
    state["exp_avg"] = state["exp_avg"].astype("float64")
    optimizer.step()
    assert state["exp_avg"].dtype == np.float64
    np.testing.assert_allclose(state["exp_avg"].numpy(), 0.19, rtol=1e-6)
    assert state["step"].item() == 2.0


def test_a_nan_in_a_gradient_stays_in_its_element() -> None:
    for rule in OPTIONS:
        w = leaf(fg.ones(20))
        optimizer = make(rule, [w])
        for _ in range(2):
            w.grad = fg.ones(20)
            w.grad[3] = float("nan")
            optimizer.step()
        assert np.flatnonzero(np.isnan(w.detach().numpy())).tolist() == [3], rule


def frozen(x: Tensor) -> Tensor:
    array = x.numpy().copy()
    array.flags.writeable = False
    return leaf(fg.from_numpy(array))


def in_inference_mode(x: Tensor) -> Tensor:
    with fg.inference_mode():
        return x.clone()


@pytest.mark.parametrize(
    ("odd", "error", "message"),
    [
        (frozen, fg.errors.InPlaceError, r"optimizer\.step: .* read-only; clone\(\) it first"),
        (in_inference_mode, fg.errors.InferenceError, "cannot be changed outside it"),
        (
            lambda x: leaf(fg.broadcast_to(x[0], x.shape)),
            fg.errors.InPlaceError,
            "share one memory location",
        ),
    ],
)
def test_a_refused_step_has_changed_nothing(odd: Any, error: Any, message: str) -> None:
    first, second = leaf(numbers((4,), 0)), odd(numbers((4,), 1))
    optimizer = fg.optim.Adam([first], lr=0.1)
    optimizer.param_groups[0]["params"].append(second)
    for p in (first, second):
        p.grad = fg.ones(4)
    before = [x.tolist() for x in (first, second)], first._version
    with pytest.raises(error, match=message):
        optimizer.step()
    assert ([x.tolist() for x in (first, second)], first._version) == before
    state = optimizer.state[first]
    assert [state["step"].item(), state["exp_avg"].tolist()] == [0.0, [0.0] * 4]


def test_a_gradient_of_another_shape_is_refused() -> None:
    w = leaf(fg.ones(3))
    optimizer = fg.optim.Adam([w])
    w.grad = fg.ones(3)
    optimizer.step()
    optimizer.state[w]["exp_avg"] = fg.zeros(2)
    with pytest.raises(fg.errors.ShapeError, match=r"shape \[3\] and its state \[2\]"):
        optimizer.step()
    assert optimizer.state[w]["step"].item() == 1.0


def test_views_see_the_step_and_one_version_is_counted() -> None:
    w = leaf(numbers((4, 4), 0))
    view, version = w.detach()[1:, ::2], w._version
    w.grad = fg.ones(4, 4)
    fg.optim.SGD([w], lr=1.0).step()
    assert w._version == version + 1
    np.testing.assert_array_equal(view.numpy(), w.detach().numpy()[1:, ::2])


def test_a_graph_scope_may_look_on() -> None:
    w = leaf(numbers((4,), 0))
    optimizer = fg.optim.Adam([w], lr=0.1)
    with fg.Graph():
        (w * w).sum().backward()
        optimizer.step()
    assert optimizer.state[w]["step"].item() == 1.0


def test_replayed_steps_are_one_launch_for_a_list() -> None:
    def steps(rule: str) -> int:
        params = [leaf(numbers((3, 4), i)) for i in range(5)]
        for p in params:
            p.grad = fg.ones(3, 4)
        compiled = fg.compile(make(rule, params).step)
        for _ in range(3):
            compiled()
        return len(compiled.programs[0].steps())

    assert {rule: steps(rule) for rule in OPTIONS} == dict.fromkeys(OPTIONS, 1)


@every_rule
def test_replayed_steps_over_odd_memory_have_the_bits_of_eager(rule: str) -> None:
    def run(compiled: bool) -> list[Tensor]:
        memory = numbers((6, 6), 0, "float32")
        params = [leaf(memory), leaf(memory.T), leaf(memory[::2, 1:])]
        params += [leaf(numbers((5,), 1, "float16")), leaf(numbers((4, 3), 2, "complex64").T)]
        optimizer = make(rule, params)
        scales = [numbers(p.shape, 3 + i, p.dtype.name) for i, p in enumerate(params)]

        def step(factor: Tensor) -> None:
            for p, scale in zip(params, scales, strict=True):
                p.grad = (scale * factor).astype(p.dtype)
            optimizer.step()

        f = fg.compile(step) if compiled else step
        for i in range(6):
            f(fg.tensor(1.0 + i))
        return [*params, *(x for s in optimizer.state.values() for x in s.values())]

    for a, b in zip(run(False), run(True), strict=True):
        same(a, b)
