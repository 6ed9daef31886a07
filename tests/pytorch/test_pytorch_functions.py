"""Functions and methods of PyTorch's that are written with other operations.

The numbers are those of PyTorch 2.13.
"""

from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.errors import ArgumentError, ArgumentTypeError, ShapeError


def leaf(*shape: int, seed: int = 0) -> fg.Tensor:
    return fg.tensor(np.random.default_rng(seed).uniform(-1, 1, shape), requires_grad=True)


class TestProducts:
    def test_sums_with_products(self) -> None:
        a, b, v, w = leaf(2, 3), leaf(3, 4, seed=1), leaf(3), leaf(2, seed=2)
        c, d = leaf(2, 2, 3), leaf(2, 3, 4, seed=3)
        pairs = [
            (a.mv(v), a @ v),
            (fg.addmm(leaf(4), a, b, beta=2, alpha=0.5), 2 * leaf(4) + 0.5 * (a @ b)),
            (fg.addmv(w, a, v, beta=0.5), 0.5 * w + a @ v),
            (fg.addr(a, w, v, alpha=3), a + 3 * fg.outer(w, v)),
            (fg.baddbmm(leaf(4), c, d), leaf(4) + c @ d),
            (fg.addbmm(leaf(4), c, d, alpha=2), leaf(4) + 2 * (c @ d).sum(0)),
        ]
        for ours, plain in pairs:
            np.testing.assert_allclose(ours.detach(), plain.detach(), rtol=1e-14)

    def test_without_the_input_what_is_not_finite_in_it_does_not_spread(self) -> None:
        spoiled = fg.full((2, 4), fg.nan)
        assert fg.isfinite(fg.addmm(spoiled, leaf(2, 3), leaf(3, 4), beta=0)).all()

    def test_they_are_differentiable_twice(self) -> None:
        assert fg.gradgradcheck(lambda x, y: fg.addmm(x, y, y, beta=2), (leaf(2, 2), leaf(2, 2)))
        assert fg.gradcheck(lambda x, y: fg.cdist(x, y), (leaf(3, 2), leaf(2, 2, seed=1)))
        assert fg.gradcheck(lambda x, y: fg.block_diag(x, y), (leaf(2, 3), leaf(3)))

    def test_distances(self) -> None:
        x, y = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[3.0, 4.0]])
        assert fg.cdist(x, y, 1).tolist() == [[7.0], [4.0]]
        assert fg.cdist(x, y, float("inf")).tolist() == [[4.0], [2.0]]
        assert fg.cdist(x, y, 0).tolist() == [[2.0], [2.0]]
        assert fg.cdist(np.ones((5, 1, 2, 3)), np.ones((4, 6, 3))).shape == (5, 4, 2, 6)
        assert fg.cdist(np.ones((2, 0)), np.ones((3, 0))).tolist() == [[0.0] * 3] * 2
        same = fg.tensor(x, requires_grad=True)
        assert fg.autograd.grad(fg.cdist(same, same).sum(), same)[0].isfinite().all()
        with pytest.raises(ShapeError, match=r"cdist: \(2, 2\) and \(2, 3\) have rows"):
            fg.cdist(x, np.ones((2, 3)))

    def test_euclidean_distances_of_many_rows_have_derivatives_of_any_order(self) -> None:
        x, y = leaf(2, 3, 2), leaf(34, 2, seed=1)
        assert fg.gradcheck(fg.cdist, (x, y))
        assert fg.gradgradcheck(fg.cdist, (leaf(3, 2), leaf(2, 2, seed=1)))
        assert fg.gradcheck(fg.nn.functional.pdist, (leaf(5, 3),))
        a = fg.tensor(np.random.default_rng(0).standard_normal((40, 70)) + 1e6)
        apart = a.numpy()[:, None] - a.numpy()[None]
        exact = np.sqrt((apart**2).sum(-1))
        assert np.allclose(fg.cdist(a, a).numpy(), exact, rtol=1e-13)
        condensed = exact[np.triu_indices(40, 1)]
        assert np.allclose(fg.nn.functional.pdist(a).numpy(), condensed, rtol=1e-13)
        jacobian = fg.jacobian(lambda z: fg.cdist(z, y[:5]))(y[:3].detach())
        assert jacobian.shape == (3, 5, 3, 2)
        spoiled = fg.tensor([[fg.nan, 0.0], [fg.inf, 0.0], [0.0, 0.0]])
        assert np.allclose(
            fg.cdist(spoiled, fg.zeros(1, 2)).numpy()[:, 0], [fg.nan, fg.inf, 0], equal_nan=True
        )
        assert fg.cdist(fg.ones(0, 3), fg.ones(4, 3)).shape == (0, 4)

    def test_rows_of_all_choices(self) -> None:
        assert fg.cartesian_prod([1, 2], [3], [4, 5]).tolist() == [
            *([1, 3, 4], [1, 3, 5], [2, 3, 4], [2, 3, 5])
        ]
        assert fg.combinations([1, 2], with_replacement=True).tolist() == [[1, 1], [1, 2], [2, 2]]
        assert fg.combinations(fg.ones(2), 3).shape == (0, 3)

    def test_other_ranks_are_refused(self) -> None:
        with pytest.raises(ShapeError, match=r"addmm: mat1 has 1 dimensions, of shape \(3,\)"):
            fg.addmm(0.0, leaf(3), leaf(2, 3))


class TestPlaces:
    def test_writes_that_add_where_places_repeat(self) -> None:
        x, v = leaf(3, 2), leaf(3, 2, seed=1)
        rows = fg.tensor([0, 0, 2])
        out = x.index_put((rows,), v, accumulate=True)
        want = x.detach().numpy().copy()
        np.add.at(want, [0, 0, 2], v.detach().numpy())
        np.testing.assert_allclose(out.detach(), want)
        slopes = fg.autograd.grad((out * out).sum(), [x, v])
        np.testing.assert_allclose(slopes[0], 2 * out.detach())
        np.testing.assert_allclose(slopes[1], 2 * out.detach()[rows])
        y = fg.zeros(2, 2)
        assert y.index_put_((rows[:2], None), fg.ones(2)) is y
        assert y.tolist() == [[1, 1], [0, 0]]
        assert fg.zeros(3).index_put_(
            (fg.tensor([True, False, True]),), fg.tensor(5.0)
        ).tolist() == [*(5, 0, 5)]
        with pytest.raises(ArgumentTypeError, match="give a tuple of tensors"):
            y.index_put_(rows, 1.0)

    def test_rows(self) -> None:
        x = leaf(2, 3)
        y = fg.index_copy(x, 1, fg.tensor([2, 0]), fg.ones(2, 2))
        assert y[:, [0, 2]].tolist() == [[1, 1], [1, 1]]
        assert fg.autograd.grad(y.sum(), x)[0].tolist() == [[0, 1, 0], [0, 1, 0]]
        assert fg.zeros(2, 2).index_fill_(-1, fg.tensor(1), 7).tolist() == [[0, 7], [0, 7]]
        with pytest.raises(ArgumentError, match="dim is 5 and the tensor has 2 axes"):
            x.index_fill(5, [0], 1.0)
        with pytest.raises(ArgumentTypeError, match="give a vector of integers"):
            x.index_fill(0, [0.5], 1.0)

    def test_masks(self) -> None:
        x, source = leaf(2, 2), leaf(4, seed=1)
        mask = fg.tensor([[True, False], [True, True]])
        y = x.masked_scatter(mask, source)
        assert y[mask].tolist() == source[:3].tolist()
        assert fg.autograd.grad(y.sum(), source)[0].tolist() == [1, 1, 1, 0]
        with pytest.raises(ShapeError, match="3 true elements and source 2"):
            x.masked_scatter(mask, source[:2])

    def test_slices_and_diagonals(self) -> None:
        x = fg.zeros(3, 4)
        assert x.slice_scatter(fg.ones(3, 2), 1, 0, None, 2)[0].tolist() == [1, 0, 1, 0]
        assert x.select_scatter(fg.ones(3), -1, 3)[:, 3].tolist() == [1, 1, 1]
        assert x.diagonal_scatter(fg.ones(2), -1).diagonal(-1).tolist() == [1, 1]
        assert x.sum().item() == 0
        assert fg.zeros(5, 2).fill_diagonal_(1, wrap=True)[:, 0].tolist() == [1, 0, 0, 1, 0]
        assert fg.zeros(5, 2).fill_diagonal_(1)[:, 0].tolist() == [1, 0, 0, 0, 0]
        assert fg.zeros(2, 2, 2).fill_diagonal_(3).sum().item() == 6
        with pytest.raises(ShapeError, match="axes of one length"):
            fg.zeros(2, 3, 2).fill_diagonal_(1)

    def test_where_and_unflatten(self) -> None:
        x = fg.tensor([1.0, -1.0])
        assert x.where(x > 0, 0.0).tolist() == [1, 0]
        assert fg.zeros(6, 2).unflatten(-2, (2, -1)).shape == (2, 3, 2)
        with pytest.raises(ShapeError, match=r"axis 0 has length 6 and the sizes are \(4, -1\)"):
            fg.zeros(6).unflatten(0, (4, -1))


class TestDraws:
    def test_choices_follow_the_weights(self) -> None:
        weights = fg.tensor([[0.0, 1.0, 3.0], [5.0, 0.0, 0.0]])
        drawn = weights.multinomial(4000, replacement=True, generator=fg.Generator(0))
        assert drawn.shape == (2, 4000)
        assert drawn.dtype == np.int64
        assert 0.72 < (drawn[0] == 2).double().mean().item() < 0.78
        assert (drawn[1] == 0).all()
        order = fg.multinomial(fg.ones(5), 5, generator=fg.Generator(0))
        assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
        for wrong, count in (([1.0, -1.0], 1), ([1.0, fg.nan], 1), ([1.0, 0.0], 2), ([0.0], 1)):
            with pytest.raises(ArgumentError, match="multinomial: "):
                fg.multinomial(fg.tensor(wrong), count)

    def test_numbers(self) -> None:
        assert fg.normal(fg.full((4000,), 3.0), 0.5).std().item() == pytest.approx(0.5, rel=0.1)
        assert fg.normal(0, 1, size=(2, 3)).dtype == fg.get_default_dtype()
        assert fg.poisson(fg.full((4000,), 4.0)).mean().item() == pytest.approx(4, rel=0.1)
        x = fg.zeros(20000, dtype=fg.float32)
        assert x.exponential_(2.0).mean().item() == pytest.approx(0.5, rel=0.1)
        assert x.log_normal_(0.0, 0.5).log().std().item() == pytest.approx(0.5, rel=0.1)
        assert x.cauchy_(3.0).median().item() == pytest.approx(3, rel=0.1)
        assert x.geometric_(0.25).mean().item() == pytest.approx(4, rel=0.1)
        assert x.dtype == np.float32
        with pytest.raises(ArgumentError, match="std holds a negative number"):
            fg.normal(fg.zeros(2), fg.tensor([1.0, -1.0]))
        with pytest.raises(ArgumentError, match="lambd is 0; give more than 0"):
            x.exponential_(0)

    def test_a_compiled_function_draws_anew(self) -> None:
        weights = fg.ones(50)
        draw = fg.compile(lambda w: fg.multinomial(w, 5))
        fg.manual_seed(0)
        eager = [fg.multinomial(weights, 5).tolist() for _ in range(6)]
        fg.manual_seed(0)
        assert [draw(weights).tolist() for _ in range(6)] == eager


class TestSorting:
    def test_order(self) -> None:
        x = fg.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], requires_grad=True)
        values, indices = x.kthvalue(2)
        assert (values.tolist(), indices.tolist()) == ([2.0, 5.0], [2, 1])
        assert fg.autograd.grad(values.sum(), x)[0].tolist() == [[0, 0, 1], [0, 1, 0]]
        assert x.kthvalue(1, 0, True).values.shape == (1, 3)
        assert fg.mode(fg.tensor([[1, 2, 2, 1], [3, 3, 0, 1]])).values.tolist() == [1, 3]
        assert fg.mode(fg.tensor([[1, 2, 2, 1], [3, 3, 0, 1]])).indices.tolist() == [3, 1]
        low, high = fg.aminmax(x, dim=1)
        assert (low.tolist(), high.tolist()) == ([1.0, 4.0], [3.0, 6.0])
        with pytest.raises(ArgumentError, match=r"k is 4 and the axis has 3"):
            x.kthvalue(4)

    def test_counts_and_runs(self) -> None:
        assert fg.bincount(fg.tensor([1, 1]), minlength=4).tolist() == [0, 2, 0, 0]
        assert fg.bincount(fg.tensor([1, 1]), fg.tensor([0.5, 1.0])).tolist() == [0, 1.5]
        assert fg.histc(fg.tensor([1.0, 1.0]), 2).tolist() == [0, 2]
        edges = fg.tensor([1.0, 3.0, 5.0])
        assert fg.bucketize(fg.tensor([3.0]), edges, right=True).tolist() == [2]
        runs, places, counts = fg.unique_consecutive(
            fg.tensor([[1, 1], [2, 1]]), return_inverse=True, return_counts=True
        )
        assert runs.tolist() == [1, 2, 1]
        assert places.tolist() == [[0, 0], [1, 2]]
        assert counts.tolist() == [2, 1, 1]
        rows = fg.unique_consecutive(fg.tensor([[1, 2], [1, 2], [0, 0]]), dim=0)
        assert rows.tolist() == [[1, 2], [0, 0]]


class TestKinds:
    def test_data(self) -> None:
        array = np.zeros(2)
        assert np.shares_memory(fg.as_tensor(array).numpy(), array)
        assert fg.as_tensor(array, dtype=fg.float).dtype == np.float32
        assert fg.is_tensor(fg.ones(1))
        assert not fg.is_tensor(array)
        with pytest.raises(ArgumentError, match='no device "cuda"'):
            fg.as_tensor(array, device="cuda")

    def test_words_for_dtypes(self) -> None:
        words = "half float double short int long cfloat cdouble"
        kinds = [getattr(fg, word) for word in words.split()]
        assert [k.name for k in kinds] == [
            *("float16", "float32", "float64", "int16", "int32", "int64", "complex64", "complex128")
        ]
        assert fg.result_type(fg.ones(1, dtype=fg.float), fg.ones(1)) == np.float64
        assert fg.promote_types(fg.int, fg.float) == np.float64
        assert fg.can_cast(fg.double, fg.float)
        assert not fg.can_cast(fg.float, fg.int)
        assert fg.finfo(fg.float).eps == np.finfo(np.float32).eps
        assert fg.iinfo(fg.int).max == 2**31 - 1

    def test_questions(self) -> None:
        x = fg.ones(2, 3)
        assert (x.nelement(), x.ndimension(), fg.numel(x), x.get_device()) == (6, 2, 6, -1)
        assert (x.is_cpu, x.is_cuda, x.is_sparse) == (True, False, False)
        assert x.is_same_size(fg.zeros(2, 3))
        assert x.is_signed()
        assert not fg.is_nonzero(fg.zeros(1))
        assert x.type(fg.float).dtype == np.float32
        assert x.type() == "float64"
        assert x.pin_memory() is x
        with pytest.raises(ArgumentError, match="has 6 elements"):
            fg.is_nonzero(x)

    def test_places(self) -> None:
        x = fg.ones(1)
        assert (x.device.type, x.device.index, f"{x.device}") == ("cpu", None, "cpu")
        assert x.device == "cpu" == fg.nn.Parameter(x).device
        assert not fg.cuda.is_available()
        assert not fg.accelerator.is_available()
        assert not fg.backends.mps.is_available()
        assert fg.cuda.device_count() == 0
        fg.backends.cudnn.benchmark = True

    def test_names_of_pytorch_that_are_no_attributes_have_hints(self) -> None:
        x = fg.ones(3, 2)
        assert not hasattr(x, "values")
        with pytest.raises(AttributeError, match=r"values.*use argmax"):
            _ = x.max(1).values
        with pytest.raises(AttributeError, match=r"x = x\.unsqueeze\(…\)"):
            x.unsqueeze_(0)

    @pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
    def test_shapes_by_name(self, name: str) -> None:
        make: Any = getattr(fg, name)
        assert make(size=(2, 3)).shape == make(shape=(2, 3)).shape == (2, 3)
        assert make(shape=4).shape == (4,)
        assert make(()).shape == make().shape == ()
        with pytest.raises(ArgumentTypeError, match=f"{name}: the shape is given 2 times"):
            make(2, size=3)

    def test_full_by_name(self) -> None:
        assert fg.full(size=(2,), fill_value=1.5).tolist() == [1.5, 1.5]
        assert fg.full(shape=(2,), fill_value=True).dtype == np.bool_
        with pytest.raises(ArgumentTypeError, match="fill_value is None"):
            fg.full((2,))


class TestFunctionalCall:
    def test_gradients_follow_a_step(self) -> None:
        layer = fg.nn.Sequential(fg.nn.Linear(2, 3), fg.nn.Tanh(), fg.nn.Linear(3, 1))
        x = leaf(4, 2).detach()
        own = dict(layer.named_parameters())
        loss = (fg.func.functional_call(layer, own, (x,)) ** 2).mean()
        slopes = fg.autograd.grad(loss, list(own.values()), create_graph=True)
        moved = {k: p - 0.1 * g for (k, p), g in zip(own.items(), slopes, strict=True)}
        after = (fg.func.functional_call(layer, moved, x) ** 2).mean()
        assert after.item() < loss.item()
        meta = fg.autograd.grad(after, list(own.values()))
        assert any((m - s).abs().max().item() > 1e-4 for m, s in zip(meta, slopes, strict=True))
        assert all(a is b for a, b in zip(own.values(), layer.parameters(), strict=True))

    def test_shared_members_and_buffers(self) -> None:
        class Tied(fg.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = fg.nn.Linear(2, 2, bias=False)
                self.second = fg.nn.Linear(2, 2, bias=False)
                self.second.weight = self.first.weight
                self.register_buffer("scale", fg.ones(1))

            def forward(self, x: fg.Tensor) -> fg.Tensor:
                return self.scale * self.second(self.first(x))

        tied = Tied()
        call = fg.func.functional_call
        given = {"first.weight": 2 * fg.eye(2), "scale": fg.tensor([3.0])}
        assert call(tied, given, fg.ones(2)).tolist() == [12, 12]
        assert tied.scale.tolist() == [1.0]
        apart = call(tied, given, fg.ones(2), tie_weights=False)
        np.testing.assert_allclose(apart.detach(), 6 * fg.ones(2) @ tied.first.weight.detach())
        for wrong, said in (
            ({"third": fg.ones(1)}, r"no tensor 'third'; it has first\.weight, scale"),
            ({"scale": 3.0}, "is a float; give a tensor"),
        ):
            with pytest.raises((ArgumentError, ArgumentTypeError), match=said):
                call(tied, wrong, fg.ones(2))
        with pytest.raises(ArgumentError, match="is in two of the dicts"):
            call(tied, ({"scale": fg.ones(1)}, {"scale": fg.ones(1)}), fg.ones(2))
        with pytest.raises(ArgumentError, match="is not given; give all names"):
            call(tied, {"scale": fg.ones(1)}, fg.ones(2), strict=True)

    def test_a_call_that_raises_leaves_the_module(self) -> None:
        layer = fg.nn.Linear(2, 1)
        own = layer.weight
        with pytest.raises(ShapeError):
            fg.func.functional_call(layer, {"weight": fg.ones(3, 1)}, fg.ones(2))
        assert layer.weight is own

    def test_a_compiled_step_takes_other_tensors(self) -> None:
        layer = fg.nn.Linear(2, 1, bias=False)
        run = fg.compile(lambda w, x: fg.func.functional_call(layer, {"weight": w}, x))
        for k in range(5):
            assert run(fg.full((2, 1), float(k)), fg.ones(2)).tolist() == [2.0 * k]

    def test_value_after_the_gradient(self) -> None:
        slope, value = fg.func.grad_and_value(lambda x: (x**3).sum())(fg.tensor([2.0]))
        assert (slope.tolist(), value.item()) == ([12.0], 8.0)
        rows = fg.func.jacrev(lambda x: x**2)(fg.tensor([1.0, 2.0]))
        assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


MISTAKES: dict[str, Any] = {
    "kthvalue: dim is 2 and the tensor has 2 axes": lambda x: x.kthvalue(1, 2),
    "kthvalue: k is 1.5; give an integer": lambda x: x.kthvalue(1.5),
    "mode: dim is -3 and the tensor has 2 axes": lambda x: x.mode(-3),
    "unique_consecutive: dim is 5 and": lambda x: x.unique_consecutive(dim=5),
    "unflatten: dim is 2 and": lambda x: x.unflatten(2, (1, 2)),
    "index_fill_: dim is 'x'; give an integer": lambda x: x.index_fill("x", [0], 1.0),
    "bincount: the numbers have shape": lambda x: fg.bincount(x.long()),
    "bincount: minlength is -1; give at least 0": lambda x: fg.bincount([1], minlength=-1),
    "histc: bins is 0; give at least 1": lambda x: x.histc(0),
    "tril_indices: row is -1; give at least 0": lambda x: fg.tril_indices(-1, 2),
    "multinomial: num_samples is 0; give at least 1": lambda x: x.multinomial(0),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named(text: str) -> None:
    with pytest.raises(fg.errors.FerrogradError) as caught:
        MISTAKES[text](fg.ones(2, 3))
    assert str(caught.value).startswith(text)


def test_nothing_is_a_run_of_nothing() -> None:
    empty = fg.zeros(0, 3)
    assert fg.unique_consecutive(empty).shape == (0,)
    assert fg.unique_consecutive(empty, dim=0).shape == (0, 3)
    assert fg.unique_consecutive(fg.zeros(2, 0), dim=0).shape == (1, 0)
    assert fg.ones(0, 3).multinomial(2).shape == (0, 2)


def test_older_names_of_linear_algebra() -> None:
    x = fg.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    assert x.det().item() == pytest.approx(5)
    assert fg.logdet(x).item() == pytest.approx(np.log(5))
    assert np.isnan(fg.logdet(-fg.eye(3)).item())
    np.testing.assert_allclose(x.inverse().detach() @ x.detach(), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(x.pinverse().detach(), x.inverse().detach())
    np.testing.assert_allclose(x.matrix_power(2).detach(), (x @ x).detach())
    np.testing.assert_allclose(x.matrix_exp().detach(), fg.linalg.expm(x).detach())
    upper = x.cholesky(upper=True)
    np.testing.assert_allclose((upper.T @ upper).detach(), x.detach())
    assert fg.gradcheck(fg.logdet, (x,))
    assert x.slogdet()[0].item() == 1
    assert fg.clamp_min(x, 2.0).tolist() == [[2, 2], [2, 3]]
    assert x.clamp_max(1.5).tolist() == [[1.5, 1], [1, 1.5]]
