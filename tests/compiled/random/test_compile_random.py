"""Random numbers in compiled functions: a call draws anew, the numbers that the function would.

Other foreign steps are in `test_compile_foreign.py`.
"""

import threading
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from test_compile import draw, same_bits, side_by_side

OWN = fg.Generator(5)
NUMPY = np.random.default_rng(6)
P = fg.tensor([0.2, 0.5, 0.9])


def slope_by(w: Any, x: Any) -> Any:
    return fg.autograd.grad((w * w * x).sum(), w)[0]


DRAWS = {
    "rand": lambda x: x + fg.rand(3),
    "randn": lambda x: x * fg.randn(2, 3, dtype="float32"),
    "randint": lambda x: x + fg.randint(2, 9, (3,)),
    "randperm": lambda x: x[fg.randperm(3)],
    "rand_like": lambda x: fg.rand_like(x) + fg.randn_like(x) * x,
    "bernoulli": lambda x: fg.bernoulli(fg.sigmoid(x)) + x,
    "bernoulli of a parameter": lambda x: fg.bernoulli(P) + x,
    "bernoulli_": lambda x: (x * 1.0).bernoulli_(0.3) + (x * 2.0).bernoulli_(P),
    "normal_": lambda x: fg.zeros(3).normal_(1.0, 2.0) + x,
    "uniform_": lambda x: (x * 2.0).uniform_(-1.0, 1.0) + x,
    "random_": lambda x: (x * 2.0).random_(1, 5) + x,
    "init": lambda x: fg.nn.init.xavier_uniform_(fg.zeros(3, 3)) @ x,
    "dropout": lambda x: fg.nn.functional.dropout(x, 0.5),
    "out": lambda x: fg.rand(3, out=x * 2.0) + x,
    "leaf": lambda x: slope_by(fg.rand(3, requires_grad=True), x),
    "generator": lambda x: x + fg.rand(3, generator=OWN) + fg.rand(3, generator=NUMPY) + fg.rand(3),
    "unused": lambda x: (fg.rand(3), x + fg.rand(3))[1],
    "reseeded": lambda x: (x + fg.rand(3), fg.manual_seed(int(x.shape[0])), fg.rand(3))[2] + x,
}


def seed(n: int) -> None:
    fg.manual_seed(n)
    OWN.manual_seed(n + 1)
    NUMPY.bit_generator.state = np.random.default_rng(n).bit_generator.state


@pytest.mark.parametrize("name", DRAWS)
def test_every_call_draws_what_the_function_would(name: str) -> None:
    f = DRAWS[name]
    compiled = fg.compile(f)
    found = []
    for g in (f, compiled):
        seed(3)
        found.append([g(fg.tensor(draw(3, seed=s))) for s in range(5)])
        seed(4)  # replaces the generator behind the default one
        found[-1] += [g(fg.tensor(draw(3, seed=s))) for s in range(3)]
        found[-1].append(fg.rand(2))
    same_bits(found[1], found[0])
    assert len(compiled.programs) == 1


def test_a_generator_as_an_argument() -> None:
    f = fg.compile(lambda x, g: x + fg.rand(3, generator=g))
    for make in (np.random.default_rng, fg.Generator):
        a, b = make(1), make(1)
        for _ in range(3):
            same_bits(f(fg.ones(3), a), fg.ones(3) + fg.rand(3, generator=b))


def test_a_recording_that_fails_draws_nothing() -> None:
    fg.manual_seed(0)
    first = fg.rand(2)

    def f(x: Any) -> Any:
        fg.rand(2)
        fg.manual_seed(8)
        return float((x * fg.rand(2)).sum())

    fg.manual_seed(0)
    with pytest.raises(fg.errors.CompileError):
        fg.compile(f)(fg.ones(2))
    same_bits(fg.rand(2), first)


def test_a_call_that_is_recorded_again_draws_once() -> None:
    f = lambda x: fg.grad(lambda x: fg.max(x) * fg.rand(()))(x)  # noqa: E731
    g = lambda x, a: x + fg.rand(2) * float(np.exp(float(a)))  # noqa: E731
    values = [[1.0, 2.0], [np.nan, 1.0], [1.0, 0.0], [np.nan, np.nan], [0.5, 3.0]]
    found = []
    for run in (lambda f: f, fg.compile):
        fg.manual_seed(1)
        one, two = run(f), run(g)
        found.append([one(fg.tensor(x)) for x in values] + [two(fg.ones(2), a) for a in (1.0, 2.0)])
    same_bits(found[1], found[0])


def test_calls_that_are_nodes() -> None:
    w = fg.tensor([1.0, 2.0], requires_grad=True)

    def f(x: Any) -> Any:
        noise = fg.rand(2)
        return x * w * noise, (x * x * w).sum() * fg.rand(())

    found = []
    for run in (lambda f: f, fg.compile):
        fg.manual_seed(1)
        g, values, slopes = run(f), [], []
        for i in range(4):
            x = fg.tensor([i, 2.0], requires_grad=True)
            a, b = g(x)
            values += [a.detach(), b.detach(), fg.rand(2)]
            whole = a.sum() * b if i != 2 else b * 2.0  # b alone: the function runs again
            slopes += fg.autograd.grad(whole, [x, w], retain_graph=True)
            (slope,) = fg.autograd.grad(whole, x, create_graph=True)
            slopes += [slope.detach(), *fg.autograd.grad(slope.sum(), [x, w])]
            values.append(fg.rand(2))
        found.append((values, slopes))
    same_bits(found[1][0], found[0][0])
    for one, other in zip(found[1][1], found[0][1], strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-14)


def test_a_checkpoint_in_a_call_that_is_a_node() -> None:
    found = []
    for run in (lambda f: f, fg.compile):
        fg.manual_seed(1)
        g = run(fg.checkpoint(lambda x: fg.exp(x * fg.rand(3)) * x))
        all_: list[Any] = []
        for i in range(3):
            x = fg.tensor(draw(3, seed=i), requires_grad=True)
            y = g(x)
            all_ += [y.detach(), fg.autograd.grad(y.sum(), x)[0], fg.rand(2)]
        found.append(all_)
    same_bits(found[1], found[0])


class Net(fg.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = fg.nn.Linear(4, 16)
        self.last = fg.nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        return self.last(fg.nn.functional.dropout(fg.tanh(self.first(x)), 0.4, self.training))


def train(run: Any, checkpointed: bool = False) -> list[Any]:
    fg.manual_seed(3)
    model = Net()
    optimizer = fg.optim.SGD(model.parameters(), lr=0.1)
    forward = fg.checkpoint(model) if checkpointed else model

    def step(x: Any, target: Any) -> Any:
        optimizer.zero_grad()
        loss = fg.nn.functional.cross_entropy(forward(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = run(step)
    rng = np.random.default_rng(0)
    losses = [
        compiled(fg.tensor(rng.standard_normal((5, 4))), fg.tensor(rng.integers(0, 3, 5)))
        for _ in range(10)
    ]
    if run is fg.compile:
        assert len(compiled.programs) == 1
    return [*losses, *(p.detach() for p in model.parameters()), fg.rand(2)]


@pytest.mark.parametrize("checkpointed", [False, True])
def test_training_with_dropout(checkpointed: bool) -> None:
    same_bits(train(fg.compile, checkpointed), train(lambda f: f, checkpointed))


def test_a_hamiltonian_sampler() -> None:
    def energy(q: Any) -> Any:
        return fg.sum(q**2) / 2 + fg.sum(q[1:] * q[:-1]) / 4

    slope = fg.grad(energy)

    def step(q: Any) -> Any:
        p = fg.randn_like(q)
        start = energy(q) + fg.sum(p * p) / 2
        new = q
        for _ in range(5):
            p = p - 0.05 * slope(new)
            new = new + 0.1 * p
            p = p - 0.05 * slope(new)
        accept = fg.log(fg.rand(())) < start - energy(new) - fg.sum(p * p) / 2
        return fg.where(accept, new, q)

    found = []
    for run in (fg.compile, lambda f: f):
        fg.manual_seed(11)
        f, q = run(step), fg.ones(4)
        chain = []
        for _ in range(40):
            q = f(q)
            chain.append(q)
        found.append(chain)
    same_bits(found[0], found[1])


def test_threads_draw_from_their_own_generators() -> None:
    f = fg.compile(lambda x, g: x + fg.rand(3, generator=g), static_argnums=1)
    found: dict[int, Any] = {}

    def work(n: int) -> None:
        g = fg.Generator(n)
        found[n] = [f(fg.ones(3), g).tolist() for _ in range(50)]

    side_by_side(work, 2)
    for n in range(2):
        g = fg.Generator(n)
        assert found[n] == [(fg.ones(3) + fg.rand(3, generator=g)).tolist() for _ in range(50)]


def test_threads_share_the_default_generator() -> None:
    f = fg.compile(lambda x: x + fg.rand(()))
    f(fg.zeros(()))
    fg.manual_seed(2)
    expected = {fg.rand(()).item() for _ in range(200)}
    fg.manual_seed(2)
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda: found.extend(f(fg.zeros(())).item() for _ in range(100)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == expected
