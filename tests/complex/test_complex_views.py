"""`real`, `imag`, `view_as_real` and `view_as_complex` are views.

Random programs of them: `test_complex_programs.py`. What every view does: `test_parity_views.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from test_compile import same_bits

Z = np.array([[1 + 2j, 3 - 1j, -2j], [0.5 + 0.5j, -1 - 1j, 4.0]])
KINDS = ["complex128", "complex64"]

VIEWS: dict[str, Callable[[Any], Any]] = {
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "fg.real": fg.real,
    "np.imag": np.imag,
    "view_as_real": fg.view_as_real,
    "part of a slice": lambda z: z[:, ::-2].imag,
    "slice of a part": lambda z: z.real.T[1:],
    "there and back": lambda z: fg.view_as_complex(fg.view_as_real(z)),
}
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


def leaf(value: Any = Z) -> fg.Tensor:
    return fg.tensor(value, requires_grad=True)


class TestMemory:
    @views
    @pytest.mark.parametrize("kind", KINDS)
    def test_is_shared_both_ways(self, view: Any, kind: str) -> None:
        z = fg.tensor(Z, dtype=kind)
        v = view(z)
        assert v._is_view()
        assert v._base is z
        before = v.numpy().copy()
        z *= 2
        np.testing.assert_array_equal(v.numpy(), 2 * before)
        v[...] = 9
        assert (view(z).numpy() == 9).all()
        assert (z._version, v._version) == (2, 2)
        assert z.dtype == kind

    def test_strides_are_numpy_s(self) -> None:
        z = fg.tensor(Z)
        for part in (lambda z: z.real, lambda z: z.T.imag, lambda z: z[:, 1:].real):
            assert part(z).strides == part(Z).strides
            assert np.shares_memory(part(z).numpy(), z.numpy())

    def test_parts_of_real_tensors(self) -> None:
        x = fg.tensor([1.0, 2.0])
        assert x.real is x
        x.real = [3.0, 4.0]
        assert x.tolist() == [3, 4]
        x.imag[...] = 5
        assert x.tolist() == [3, 4]
        with pytest.raises(fg.errors.ArgumentTypeError, match="no imaginary part to set"):
            x.imag = 1.0

    def test_assignment_to_a_part(self) -> None:
        z, want = fg.tensor(Z), Z.copy()
        for t in (z, want):
            t.real = 5
            t.imag *= 2
            t.imag[:, 0] = -1
            t.real[1] += t.imag[1]
        np.testing.assert_array_equal(z.numpy(), want)

    def test_pairs_that_are_no_complex_numbers_in_memory(self) -> None:
        x = fg.arange(8.0)
        assert fg.view_as_complex(x.reshape(4, 2))[1].item() == 2 + 3j
        for bad in (x[1:7].reshape(3, 2), x.reshape(2, 4).T, x[::2].reshape(2, 2)):
            with pytest.raises(fg.errors.ShapeError, match=r"do not lie in memory.*clone\(\)"):
                fg.view_as_complex(bad)
            good = fg.view_as_complex(bad.clone().reshape(-1, 2))
            np.testing.assert_array_equal(good.real.numpy(), bad.numpy().reshape(-1, 2)[:, 0])

    def test_of_nothing_and_of_one(self) -> None:
        assert fg.zeros(0, 3, dtype=complex).real.shape == (0, 3)
        assert fg.view_as_real(fg.zeros(0, dtype=complex)).shape == (0, 2)
        assert fg.view_as_complex(fg.zeros(0, 2)).shape == (0,)
        z = fg.tensor(1 + 2j)
        z.imag = 7
        assert z.item() == 1 + 7j


class TestHistory:
    @views
    def test_a_leaf_is_protected(self, view: Any) -> None:
        z = leaf()
        with pytest.raises(fg.errors.InPlaceError, match="a view of a leaf that requires grad"):
            view(z)[...] = 1
        with fg.no_grad():
            view(z)[...] = 1
        assert (view(z.detach()).numpy() == 1).all()
        assert z.is_leaf

    def test_a_leaf_s_parts_change_under_no_grad(self) -> None:
        z = leaf()
        with fg.no_grad():
            z.real = 1
            z.imag *= 2
        np.testing.assert_array_equal(z.detach().numpy(), 1 + 2j * Z.imag)
        (z.real**2).sum().backward()
        np.testing.assert_array_equal(z.grad.numpy(), 2 + 0j * Z)

    @views
    def test_a_change_of_the_base_is_in_the_gradient_of_the_view(self, view: Any) -> None:
        x = leaf()
        z = x * 1
        v = view(z)
        z *= 2 - 1j
        fg.gradcheck(lambda x: changed_base(x, view), (x,))
        w = view((x * 1) * (2 - 1j))
        (abs(v) ** 2).sum().backward()
        want = fg.autograd.grad((abs(w) ** 2).sum(), x)[0]
        np.testing.assert_allclose(x.grad.numpy(), want.numpy(), rtol=1e-15)

    @views
    def test_writes_through_a_view_have_derivatives_of_every_order(self, view: Any) -> None:
        def f(x: Any, y: Any) -> Any:
            z = x * 1
            view(z)[...] *= 3
            view(z)[0] = y
            v = view(z)
            v *= v.clone()
            return z * z

        y = leaf(2.5)
        assert fg.gradcheck(f, (leaf(), y))
        assert fg.gradgradcheck(f, (leaf(), y))

    def test_complex_views_of_real_memory(self) -> None:
        def f(x: Any) -> Any:
            y = x * 1
            z = fg.view_as_complex(y)
            z *= 1j
            y[0, 0] *= z[1].imag.clone()
            z.real += z.imag.clone() ** 2
            return y * y

        x = leaf(np.arange(4.0).reshape(2, 2) + 1)
        assert fg.gradcheck(f, (x,))
        assert fg.gradgradcheck(f, (x,))
        whole = fg.jacobian(f)(x.detach())
        rows = [fg.grad(lambda x, i=i: f(x).reshape(-1)[i])(x.detach()) for i in range(4)]
        np.testing.assert_allclose(
            whole.numpy().reshape(4, 2, 2), np.stack([np.asarray(row) for row in rows])
        )

    def test_a_constant_buffer_becomes_part_of_the_graph(self) -> None:
        x = leaf([1.0, 2.0])
        z = fg.zeros(2, dtype=complex)
        z.imag = x * x
        assert z.requires_grad
        z.real.sum().backward(retain_graph=True)
        assert x.grad.tolist() == [0, 0]
        (z * 1j).real.sum().backward()
        assert x.grad.tolist() == [-2, -4]

    def test_retained_gradients_and_hooks(self) -> None:
        x = leaf()
        z = x * 1
        v = z.real
        v.retain_grad()
        z.retain_grad()
        seen: list[Any] = []
        v.register_hook(lambda g: seen.append(g.clone()))
        v *= 3
        (v * 10).sum().backward()
        assert (v.grad.numpy() == 10).all()
        assert (z.grad.numpy() == 10).all()
        assert (seen[0].numpy() == 30).all()
        assert (x.grad.numpy() == 30).all()
        assert v.grad.dtype == np.float64

    def test_saved_parts_survive_changes(self) -> None:
        x = leaf()
        z = x * 1
        loss = (z.real * z.real).sum() + (z * z).real.sum()
        z.imag *= 2
        z.real[0] = -7.0
        loss.backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), 2 * Z.real + 2 * np.conj(Z))

    def test_changes_of_one_part_copy_nothing_of_the_other(self) -> None:
        x = fg.tensor(np.ones(10_000, complex), requires_grad=True)
        z = x * 1
        loss = (z.real * z.real).sum()
        before = fg.live_bytes()
        with fg.no_grad():
            z.imag[...] = 2
            assert fg.live_bytes() == before
            z.real[...] = 2
            assert fg.live_bytes() - before == 80_000
        loss.backward()
        assert x.grad is not None
        assert (x.grad.numpy() == 2).all()

    def test_saved_parts_notice_changes_where_these_are_refused(self) -> None:
        z = leaf() * 1
        loss = (z.real * z.real).sum()
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            z.imag *= 2
        with pytest.raises(fg.errors.InPlaceError, match="changed in place"):
            loss.backward()

    def test_a_detached_tensor_has_parts_of_its_own_history(self) -> None:
        x = leaf()
        z = x * 1
        d = z.detach()
        d.real = leaf([1.0, 2.0, 3.0]) * 2
        assert d.requires_grad
        assert d.real._base is d
        z.sum().abs().backward()
        assert x.grad is not None

    def test_one_of_several_views_keeps_its_refusal(self) -> None:
        z = leaf() * 1
        first, _ = z.unbind(0)
        with pytest.raises(fg.errors.InPlaceError, match="several views"):
            first.imag = 1


def changed_base(x: Any, view: Any) -> Any:
    z = x * 1
    v = view(z)
    z *= 2 - 1j
    return v * 1


class TestReplay:
    @views
    def test_has_the_bits_of_eager(self, view: Any) -> None:
        def f(z: Any, y: Any) -> Any:
            w = z * z
            v = view(w)
            v *= y
            w += 1
            return w, v * 2, view(z), (abs(w) ** 2).sum()

        compiled = fg.compile(f)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            z = fg.tensor(rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)))
            y = fg.tensor(rng.standard_normal())
            same_bits(compiled(z, y), f(z, y))
        assert len(compiled.programs) == 1

    @views
    def test_of_gradients_too(self, view: Any) -> None:
        def f(z: Any) -> Any:
            w = z * z
            view(w)[...] *= 3
            return (view(w) ** 2).sum().real + w.imag.sum()

        slope = fg.value_and_grad(f)
        compiled = fg.compile(slope)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            z = fg.tensor(rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)))
            same_bits(compiled(z), slope(z))

    def test_long_arrays_in_chains(self) -> None:
        def f(z: Any) -> Any:
            w = z * 2
            fg.view_as_real(w)[...] += 1
            w.imag = w.real * 3 + w.imag
            return fg.view_as_real(w) * 2, w.imag + w.real

        rng = np.random.default_rng(0)
        compiled = fg.compile(f)
        for dtype in KINDS:
            z = fg.tensor(rng.standard_normal(5000) + 1j * rng.standard_normal(5000), dtype=dtype)
            for _ in range(2):
                same_bits(compiled(z), f(z))
