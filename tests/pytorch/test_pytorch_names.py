"""Names of PyTorch's that are no operations of the table, and corners of those that are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ferrograd as fg


def leaf(*shape: int) -> fg.Tensor:
    return fg.tensor(np.random.default_rng(0).uniform(0.1, 0.9, shape), requires_grad=True)


class TestCreation:
    def test_full_of_a_tensor_repeats_it_with_its_gradient(self) -> None:
        value = fg.tensor(3.0, requires_grad=True)
        for out in (fg.full(2, value), fg.full_like(fg.zeros(2), value)):
            assert out.tolist() == [3.0, 3.0]
            (grad,) = fg.autograd.grad(out.sum(), value)
            assert grad.item() == 2.0
        assert fg.full((2, 1), fg.tensor(3), dtype=np.float32).dtype == np.float32
        with pytest.raises(fg.errors.ShapeError, match=r"full: fill_value has shape \(3,\)"):
            fg.full(2, fg.ones(3))

    @pytest.mark.parametrize("axes", [(), (2,)])
    def test_numbers_between_tensors_have_the_gradients_of_the_ends(self, axes: Any) -> None:
        ends = (leaf(*axes), fg.tensor(np.full(axes, 2.5), requires_grad=True))
        whole = (*(end.detach() for end in ends), 4)
        assert_allclose(fg.linspace(*ends, 4).detach(), np.linspace(*whole))
        fg.gradcheck(lambda a, b: fg.linspace(a, b, 4, endpoint=False), ends)
        fg.gradcheck(lambda a, b: fg.logspace(a, b, steps=3), ends)
        fg.gradcheck(lambda b: fg.linspace(1, b, 3, out=fg.zeros(3, *axes)), ends[1:])
        for make in (fg.linspace, fg.logspace):
            made = make(ends[0], 2, 3, dtype=np.float32, requires_grad=True)
            assert (made.dtype, made.is_leaf) == (np.float32, False)
            assert make(1, fg.tensor(2.0), 3, requires_grad=True).is_leaf
        (slope,) = fg.grad(lambda x: fg.linspace(x[0], 2.0, 3).sum())(np.array([1.2])).tolist()
        assert slope == 1.5

    def test_full_like_of_numbers_of_numpy(self) -> None:
        x = fg.zeros(2)
        for value in (np.float64(3), np.float32(3), np.int16(3), np.array(3)):
            assert fg.full_like(x, value).tolist() == [3.0, 3.0]
            assert np.full_like(x, value).tolist() == [3.0, 3.0]


class TestPlace:
    """What says where a tensor is."""

    def test_to_takes_names(self) -> None:
        x = leaf(3)
        assert x.to() is x
        assert x.to(dtype=np.float64) is x
        assert x.to("cpu", np.float32).dtype == np.float32
        assert x.to(fg.device("cpu")) is x
        copy = x.to(dtype=fg.float64, copy=True)
        assert copy is not x
        assert copy.requires_grad
        assert not np.shares_memory(copy.detach().numpy(), x.detach().numpy())
        with pytest.raises(fg.errors.ArgumentError, match='there is no device "cuda"'):
            x.to(device="cuda")

    def test_device(self) -> None:
        cpu = fg.device("cpu")
        assert (cpu, cpu.type, cpu.index) == (fg.ones(1).device, "cpu", None)
        assert fg.device("cpu", 0).index == 0
        with cpu as entered:
            assert entered is cpu
        with pytest.raises(fg.errors.ArgumentError, match='there is no device "cuda:1"'):
            fg.device("cuda:1")

    @pytest.mark.parametrize(
        "make",
        [
            *(getattr(fg, name) for name in ("zeros", "ones", "empty", "rand", "randn")),
            *(getattr(fg, name) for name in ("eye", "arange", "randperm")),
            lambda n, device: fg.full((n,), 1.5, device=device),
            lambda n, device: fg.linspace(0, 1, n, device=device),
            lambda n, device: fg.randint(n, (n,), device=device),
            lambda n, device: fg.zeros(1).new_ones(n, device=device),
            lambda n, device: fg.zeros(1).new_full((n,), 2.0, device=device),
            *(
                lambda n, device, name=name: getattr(fg, f"{name}_like")(fg.ones(n), device=device)
                for name in ("zeros", "ones", "empty", "rand", "randn")
            ),
            lambda n, device: fg.full_like(fg.ones(n), 2.0, device=device),
            lambda n, device: fg.randint_like(fg.ones(n), 5, device=device),
        ],
    )
    def test_what_is_made_takes_a_device(self, make: Any) -> None:
        for place in ("cpu", fg.device("cpu"), None):
            assert make(3, device=place).shape[0] == 3
        with pytest.raises(fg.errors.ArgumentError, match='there is no device "cuda"'):
            make(3, device="cuda")

    def test_words_of_pytorch_for_sizes(self) -> None:
        assert fg.linspace(0, 1, steps=3).tolist() == [0.0, 0.5, 1.0]
        assert fg.randint(7, size=(2, 3)).shape == (2, 3)
        assert fg.randint(3, high=4, size=(2,)).tolist() == [3, 3]

    def test_is_inference(self) -> None:
        with fg.inference_mode():
            inside = fg.ones(2)
        assert fg.is_inference(inside)
        assert not fg.is_inference(fg.ones(2))
        with pytest.raises(fg.errors.ArgumentTypeError, match="the argument is a list"):
            fg.is_inference([1.0])  # type: ignore[arg-type]


class TestRandom:
    """Numbers drawn into a tensor."""

    def test_bernoulli(self) -> None:
        p = fg.tensor([0.0, 1.0, 0.5] * 400)
        drawn = fg.bernoulli(p, generator=fg.Generator(0))
        assert drawn.dtype == p.dtype
        assert drawn[0].item() == 0
        assert drawn[1].item() == 1
        assert 0.4 < drawn[2::3].mean().item() < 0.6
        assert fg.array_equal(drawn, p.bernoulli(generator=fg.Generator(0)))
        x = fg.ones(1000)
        assert x.bernoulli_(0.25, generator=fg.Generator(1)) is x
        assert 0.2 < x.mean().item() < 0.3
        with pytest.raises(fg.errors.ArgumentError, match="p is outside"):
            fg.bernoulli(fg.tensor([1.5]))
        with pytest.raises(fg.errors.ArgumentTypeError, match="pass a tensor of probabilities"):
            fg.bernoulli(0.5)

    def test_in_place(self) -> None:
        x = fg.zeros(4000)
        x.normal_(3.0, 2.0, generator=fg.Generator(0))
        assert abs(x.mean().item() - 3) < 0.2
        assert abs(x.std().item() - 2) < 0.2
        x.uniform_(-1, 1, generator=fg.Generator(0))
        assert -1 <= x.min().item() < -0.9 < 0.9 < x.max().item() < 1
        numbers = fg.zeros(1000, dtype=np.uint8).random_(3, 6, generator=fg.Generator(0))
        assert fg.unique(numbers).tolist() == [3, 4, 5]
        assert fg.unique(fg.zeros(500).random_(2)).tolist() == [0, 1]
        assert fg.zeros(100, dtype=np.int64).random_().max().item() > 2**55
        version = x._version
        x.normal_()
        assert x._version == version + 1

    def test_refusals(self) -> None:
        with pytest.raises(fg.errors.InPlaceError, match="leaf"):
            leaf(3).normal_()
        with pytest.raises(fg.errors.ArgumentTypeError, match="use random_"):
            fg.arange(3).normal_()
        with pytest.raises(fg.errors.ArgumentError, match="std is -1"):
            fg.ones(3).normal_(0, -1)
        with pytest.raises(fg.errors.ArgumentError, match="holds no integer"):
            fg.ones(3).random_(5, 5)


def test_parts_of_sizes_may_be_changed_in_place() -> None:
    x = leaf(5)
    parts = (x * 1).unsafe_split(2)
    parts[0].mul_(10)
    fg.concatenate(parts).sum().backward()
    assert x.grad.tolist() == [10, 10, 1, 1, 1]
    for sizes in ([2, 2], [6], [-1, 6], 0):
        with pytest.raises(fg.errors.ArgumentError, match="unsafe_split: parts of"):
            x.unsafe_split(sizes)


def test_the_float_next_to_a_number_has_no_derivative() -> None:
    with pytest.raises(fg.errors.NotDifferentiableError, match="bits"):
        fg.nextafter(leaf(2), 1.0)
    with fg.no_grad():
        assert fg.nextafter(leaf(2), 1.0).requires_grad is False
    a = np.array([1.0, 0.0, -1.0], np.float32)
    np.testing.assert_array_equal(np.nextafter(fg.tensor(a), 2.0), np.nextafter(a, np.float32(2)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_have_no_next_ones(dtype: str) -> None:
    z, x = fg.ones(2, dtype=dtype), fg.ones(2)
    calls: list[Callable[[], Any]] = [
        lambda: fg.nextafter(z, z),
        lambda: fg.nextafter(z, 1.0),
        lambda: fg.nextafter(x, z),
        lambda: fg.nextafter(x, 1j),
        lambda: np.nextafter(z, 1.0),
        lambda: x.nextafter(z),
        lambda: x.clone().nextafter_(z),
        lambda: z.clone().nextafter_(1.0),
        lambda: fg.compile(fg.nextafter)(z, z),
    ]
    for call in calls:
        with pytest.raises(fg.errors.DTypeError, match="nextafter"):
            call()


def test_equal_extremes_and_zeros_that_meet() -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    src = fg.tensor([1.0, 1.0], requires_grad=True)
    out = x.scatter_reduce(0, [0, 0], src, "amax")
    grads = fg.autograd.grad(out.sum(), [x, src])
    np.testing.assert_allclose(grads[0], [1 / 3, 1])
    np.testing.assert_allclose(grads[1], [1 / 3, 1 / 3])
    zeros = fg.tensor([0.0, 3.0], requires_grad=True)
    out = fg.tensor([2.0]).scatter_reduce(0, [0, 0], zeros, "prod")
    assert fg.autograd.grad(out.sum(), zeros)[0].tolist() == [6.0, 0.0]
    places = fg.tensor([0.0, 5.0, 0.0, 3.0, 2.0, 0.0], requires_grad=True)
    for where in ([0, 2, 0, 2, 2, 1], [-3, -1, -3, 2, -1, 1]):
        out = fg.ones(3).scatter_reduce(0, where, places, "prod", include_self=False)
        (first,) = fg.autograd.grad(out.sum(), places, create_graph=True)
        assert first.tolist() == [0.0, 6.0, 0.0, 10.0, 15.0, 1.0]
        # The two zeros that meet are each other's derivative.
        (second,) = fg.autograd.grad(first[0], places)
        assert second.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    spoiled = fg.tensor([1.0, fg.nan, 2.0], requires_grad=True)
    for how in ("amax", "amin"):
        out = fg.zeros(2).scatter_reduce(0, [0, 0, 1], spoiled, how, include_self=False)
        assert fg.isnan(out).tolist() == [True, False]
        assert fg.autograd.grad(out.sum(), spoiled)[0].tolist() == [0.0, 1.0, 1.0]
    numbers = fg.tensor([7, 7, 7]).scatter_reduce(0, [0, 0, 2], fg.tensor([1, 2, 5]), "mean")
    assert numbers.tolist() == [3, 7, 6]
    with pytest.raises(fg.errors.ArgumentError, match="use sum, mean, prod, amax or amin"):
        x.index_reduce(0, [0], src[:1], "max")
    y = fg.zeros(3)
    assert y.index_reduce_(0, [0, 2, 0], fg.tensor([1.0, 2.0, 5.0]), "amax") is y
    assert y.tolist() == [5.0, 0.0, 2.0]


class TestOldWords:
    """Keywords that programs for PyTorch have used for years."""

    @pytest.mark.parametrize("name", ["add", "sub", "subtract"])
    def test_alpha_multiplies_the_second_operand(self, name: str) -> None:
        x, y, sign = leaf(3), leaf(3) * 2.0, 1.0 if name == "add" else -1.0
        for out in (
            getattr(fg, name)(x, y, alpha=0.5),
            getattr(x, name)(y, alpha=0.5),
            getattr(x.detach().clone(), f"{name}_")(y.detach(), alpha=0.5),
            getattr(x, name)(y, alpha=fg.tensor(0.5)),
        ):
            np.testing.assert_array_equal(out.detach(), (x + sign * 0.5 * y).detach())
        (slope,) = fg.autograd.grad(getattr(x, name)(x, alpha=3).sum(), x)
        assert slope.tolist() == [1 + 3 * sign] * 3
        assert getattr(x.detach(), name)(1.0, alpha=2).tolist() == (x + sign * 2).tolist()
        step = fg.compile(lambda a, b: getattr(a, name)(b, alpha=0.25))
        np.testing.assert_array_equal(step(x.detach(), x.detach()), (x + sign * 0.25 * x).detach())
        with pytest.raises(TypeError, match='unexpected keyword argument "alpha"'):
            fg.multiply(x, y, alpha=2)

    def test_arrays_are_made_on_the_cpu(self) -> None:
        for make in (fg.tensor, fg.asarray):
            assert make([1.0], device="cpu").tolist() == [1.0]
            assert make([1.0], device=fg.device("cpu:0")).tolist() == [1.0]
            assert make([1.0], device=None).tolist() == [1.0]
            for wrong in ("cuda", "nowhere"):
                with pytest.raises(ValueError, match=f"{make.__name__}: there is no device"):
                    make([1.0], device=wrong)

    def test_only_inputs_of_grad(self) -> None:
        x = leaf(2)
        (slope,) = fg.autograd.grad(outputs=(x * x).sum(), inputs=x, only_inputs=True)
        np.testing.assert_array_equal(slope, 2 * x.detach())


@pytest.mark.parametrize("p", [None, "fro", 1, 2, 3, 0.5, 0, np.inf, -np.inf])
@pytest.mark.parametrize("dim", [None, 1, (0, 2), (0, 1, 2)])
def test_norms_are_of_all_elements_as_pytorch_s(p: Any, dim: Any) -> None:
    x = leaf(2, 3, 4)
    order = 2 if p in (None, "fro") else p
    expected = np.linalg.vector_norm(x.detach(), axis=dim, ord=order)
    for found in (fg.norm(x, p=p, dim=dim), x.norm(p, dim), x.norm(p, dim=dim, keepdim=True)):
        np.testing.assert_allclose(np.squeeze(found.detach()), np.squeeze(expected))
    if p in (1, 3):
        fg.gradcheck(lambda x: x.norm(p, dim), (x,))


def test_norms_of_matrices_are_in_linalg() -> None:
    x = leaf(3, 4)
    assert x.norm("nuc").item() == pytest.approx(fg.linalg.norm(x, "nuc").item())
    for order in (1, 2, np.inf):
        assert fg.linalg.norm(x, order).item() == pytest.approx(np.linalg.norm(x.detach(), order))
        assert np.linalg.norm(x, order).item() == fg.linalg.norm(x, order).item()
    with pytest.raises(fg.errors.ArgumentError, match="an order for 3 axes"):
        leaf(2, 3, 4).norm("nuc")
