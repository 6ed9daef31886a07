"""In-place changes and views as PyTorch has them: the rows of its in-place and view rules.

Wording is ours; the conditions are PyTorch's.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import ferrograd as fg

InPlaceError = fg.errors.InPlaceError


def leaf(*shape: int) -> fg.Tensor:
    return fg.tensor(1.0 + np.arange(float(np.prod(shape))).reshape(shape), requires_grad=True)


def inner(*shape: int) -> fg.Tensor:
    return leaf(*shape) * 1


CHANGES: dict[str, Callable[[fg.Tensor], Any]] = {
    "method": lambda t: t.mul_(2),
    "operator": lambda t: t.__imul__(2),
    "setitem": lambda t: t.__setitem__(0, 5.0),
    "zero_": lambda t: t.zero_(),
    "copy_": lambda t: t.copy_(fg.zeros(*t.shape)),
}
change_rows = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


class TestInPlaceOnALeafRequiringGrad:
    """`in-place on leaf requiring grad`."""

    @change_rows
    def test_raises_while_recording_and_writes_nothing(self, change: Any) -> None:
        w = leaf(3)
        with pytest.raises(InPlaceError, match="a leaf that requires grad"):
            change(w)
        assert (w.tolist(), w._version) == ([1, 2, 3], 0)

    @change_rows
    @pytest.mark.parametrize("view", [lambda w: w[1:], lambda w: w.reshape(3, 1), lambda w: w[:]])
    def test_raises_through_a_view_too(self, change: Any, view: Any) -> None:
        w = leaf(3)
        with pytest.raises(InPlaceError, match="a view of a leaf that requires grad"):
            change(view(w))
        assert (w.tolist(), w._version) == ([1, 2, 3], 0)

    def test_also_through_a_view_taken_before_it_became_one(self) -> None:
        w = fg.ones(3)
        view = w[1:]
        w.requires_grad_()
        with pytest.raises(InPlaceError, match="a view of a leaf"):
            view.mul_(inner(2))
        w.requires_grad_(False)
        view.mul_(2)
        assert w.tolist() == [1, 2, 2]

    @change_rows
    def test_is_allowed_under_no_grad_and_bumps_the_version(self, change: Any) -> None:
        w = leaf(3)
        y = w * w
        with fg.no_grad():
            change(w)
        assert (w._version, w.is_leaf, w.requires_grad) == (1, True, True)
        with pytest.raises(InPlaceError, match='saved by "multiply" was changed in place'):
            y.sum().backward()

    def test_a_view_still_leads_to_the_leaf_after_a_change_under_no_grad(self) -> None:
        w = leaf(3)
        view = w[:2]
        with fg.no_grad():
            w.mul_(10)
        (view * view).sum().backward()
        assert w.grad.tolist() == [20, 40, 0]

    def test_a_detached_leaf_may_change(self) -> None:
        w = leaf(3)
        w.detach().mul_(2)
        w.data.add_(1)
        assert (w.tolist(), w._version, w.is_leaf) == ([3, 5, 7], 2, True)


class TestInPlaceOnANonLeaf:
    """`in-place on non-leaf`."""

    def test_new_grad_fn_on_the_same_object(self) -> None:
        x = leaf(3)
        y = x * 1
        before, version = y.grad_fn, y._version
        assert y.mul_(x) is y
        assert y.grad_fn is not before
        assert y.grad_fn is y.grad_fn
        assert y._version == version + 1
        y.sum().backward()
        assert x.grad.tolist() == [2, 4, 6]

    def test_a_constant_gets_a_history(self) -> None:
        x, z = leaf(3), fg.zeros(3)
        z.add_(x)
        assert (z.requires_grad, z.is_leaf) == (True, False)

    @change_rows
    def test_it_keeps_requiring_grad(self, change: Any) -> None:
        y = inner(3)
        change(y)
        assert (y.requires_grad, y.is_leaf) == (True, False)
        y.sum().backward()

    def test_overwriting_gives_zeros_to_what_was_there(self) -> None:
        x = leaf(3)
        y = x * 1
        y.zero_()
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 0]

    def test_an_operand_that_was_saved_may_not_change(self) -> None:
        y = leaf(3) * 1
        z = y.sin()
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            y.add_(1)
        with pytest.raises(InPlaceError, match='"sin" was changed in place by "add_"'):
            z.sum().backward()

    def test_what_was_not_saved_may(self) -> None:
        x = leaf(3)
        y = x * 2
        y.add_(1)
        y.sum().backward()
        assert x.grad.tolist() == [2, 2, 2]

    def test_retain_grad_follows_the_newest_version(self) -> None:
        x = leaf(3)
        y = x * 1
        y.retain_grad()
        y.mul_(2)
        (y * 3).sum().backward()
        assert y.grad.tolist() == [3, 3, 3]
        assert x.grad.tolist() == [6, 6, 6]


class TestInPlaceOnADifferentiableView:
    """`in-place on a differentiable view`."""

    VIEWS: ClassVar[dict[str, Callable[[fg.Tensor], fg.Tensor]]] = {
        "index": lambda t: t[1],
        "slice": lambda t: t[:, ::2],
        "reversed": lambda t: t[::-1, ::-1],
        "transpose": lambda t: t.T,
        "reshape": lambda t: t.reshape(4, 3),
        "view": lambda t: t.view(-1),
        "diagonal": lambda t: t.diagonal(),
        "expand_dims": lambda t: t[None],
        "narrow": lambda t: t.narrow(1, 1, 2),
        "chain": lambda t: t.T[1:].reshape(3, 3)[:, 0],
    }

    @pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
    def test_the_base_and_other_views_see_it(self, view: Any) -> None:
        x = leaf(3, 4)
        y = x * 1
        others = [other(y) for other in self.VIEWS.values()]
        rows = view(fg.tensor(np.arange(12).reshape(3, 4))).numpy().reshape(-1)
        view(y).mul_(10)
        expected = np.arange(1.0, 13)
        expected[rows] *= 10
        factor = np.ones(12)
        factor[rows] = 10
        np.testing.assert_array_equal(y.detach().numpy().reshape(-1), expected)
        for other, make in zip(others, self.VIEWS.values(), strict=True):
            weights = np.arange(1.0, other.numel() + 1).reshape(other.shape)
            reference = leaf(3, 4)
            scaled = make(reference * fg.tensor(factor.reshape(3, 4)))
            for z, source in ((other, x), (scaled, reference)):
                source.grad = None
                (z * weights).sum().backward(retain_graph=True)
            np.testing.assert_array_equal(x.grad.numpy(), reference.grad.numpy())

    def test_the_base_changed_its_views_follow(self) -> None:
        x = leaf(2, 3)
        y = x * 1
        view, turned = y[0], y.T
        before = view.grad_fn
        y.mul_(x)
        assert view.grad_fn is not before
        assert view.grad_fn is view.grad_fn
        (view.sum() + turned.sum()).backward()
        assert x.grad.tolist() == [[4, 8, 12], [8, 10, 12]]

    def test_a_constant_base_gets_the_history_of_its_view(self) -> None:
        x, z = leaf(3), fg.zeros(2, 3)
        z[1:][0] += x
        assert (z.requires_grad, z.is_leaf, z[0].requires_grad) == (True, False, True)
        z.sum().backward()
        assert x.grad.tolist() == [1, 1, 1]

    def test_a_detached_base_is_a_family_of_its_own(self) -> None:
        x, z = leaf(3), fg.zeros(2, 3)
        apart = z.detach()
        row = apart[0]
        row.add_(x)
        assert (apart.requires_grad, row.requires_grad, z.requires_grad) == (True, True, False)
        z.add_(x * 2)
        apart.sum().backward()
        assert x.grad.tolist() == [1, 1, 1]

    def test_augmented_assignment_through_two_indices(self) -> None:
        x = leaf(2, 3)
        y = x * 1
        y[0][1] += x[1, 1] * 10
        y[:, 0] = x[:, 2]
        y.T[...] = y.T * 2
        y.sum().backward()
        assert x.grad.tolist() == [[0, 2, 4], [0, 22, 4]]

    def test_of_overlapping_windows_each_sees_it(self) -> None:
        x = leaf(5)
        y = x * 1
        windows = y.unfold(0, 3, 1)
        y[2] = x[0] * 5
        windows.sum().backward()
        assert x.grad.tolist() == [1 + 15, 2, 0, 2, 1]


class TestPoisonedViews:
    """`poisoned views`."""

    @pytest.mark.parametrize(
        "parts",
        [
            lambda t: t.unbind(),
            lambda t: t.split(1),
            lambda t: t.chunk(2),
            lambda t: fg.array_split(t, 2),
        ],
    )
    def test_of_several_outputs(self, parts: Any) -> None:
        part = parts(inner(2, 3))[0]
        with pytest.raises(InPlaceError, match="one of several views"):
            part.mul_(2)
        with pytest.raises(InPlaceError, match="one of several views"):
            part[..., 0].mul_(2)
        with fg.no_grad():
            part.mul_(2)

    def test_made_under_no_grad(self) -> None:
        y = inner(3)
        with fg.no_grad():
            view = y[1:]
            view.mul_(2)
        with pytest.raises(InPlaceError, match=r"a view made under no_grad\(\)"):
            view.mul_(2)
        constant = fg.ones(3)
        with fg.no_grad():
            view = constant[1:]
        view.mul_(2)
        with pytest.raises(InPlaceError, match=r"a view made under no_grad\(\)"):
            view.mul_(inner(2))

    def test_made_in_inference_mode(self) -> None:
        y = inner(3)
        with fg.inference_mode():
            view = y[1:]
            view.mul_(2)
        assert not view.is_inference()
        with pytest.raises(InPlaceError, match="a view made in inference mode"):
            view.mul_(inner(2))

    def test_of_a_custom_function(self) -> None:
        class Row(fg.Function):
            @staticmethod
            def forward(ctx: Any, x: fg.Tensor, whole: bool) -> fg.Tensor:
                return x if whole else x[0]

            @staticmethod
            def backward(ctx: Any, g: fg.Tensor) -> Any:
                return g, None

        for whole in (True, False):
            with pytest.raises(InPlaceError, match="a view that a custom function returned"):
                Row.apply(inner(2, 3), whole).mul_(2)

    def test_a_result_without_a_base_is_not_poisoned(self) -> None:
        with fg.no_grad():
            results = [inner(2, 3).mean(axis=0), fg.norm(inner(2, 3)), inner(2, 3).T.reshape(6)]
        for result in results:
            assert not result._is_view()
            result.mul_(inner(1).sum())


class TestOverlap:
    """`overlap`."""

    @change_rows
    def test_an_expanded_target(self, change: Any) -> None:
        with pytest.raises(InPlaceError, match="several elements of an expanded tensor share"):
            change(fg.ones(1, 3).expand(2, 3))

    def test_windows_as_a_target(self) -> None:
        with pytest.raises(InPlaceError, match="share one memory location"):
            fg.ones(5).unfold(0, 3, 1).mul_(2)

    @pytest.mark.parametrize("name", ["add_", "copy_", "maximum_", "__iadd__"])
    def test_an_operand_that_overlaps_the_target_is_read_first_as_in_numpy(self, name: str) -> None:
        whole = {"copy_": [0, 0, 1, 2, 3], "maximum_": [0, 1, 2, 3, 4]}.get(name, [0, 1, 3, 5, 7])
        for turned in (False, True):
            t = fg.arange(5.0)
            if turned:
                t = fg.flip(fg.flip(t))
                source = fg.flip(fg.flip(t)[1:])
            else:
                source = t[:-1]
            getattr(t[1:], name)(source)
            assert t.tolist() == whole

    def test_the_gradient_of_an_overlapping_change(self) -> None:
        x = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        t = x * 1
        t[1:] *= t[:-1]
        (t * fg.tensor([1.0, 10.0, 100.0])).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [1 + 20, 10 + 300, 200]

    def test_the_same_elements_and_others_are_fine(self) -> None:
        t = fg.arange(6.0).reshape(2, 3)
        t.add_(t)
        t[:, 0].add_(t[:, 1])
        t[0].mul_(t[1])
        assert t.tolist() == [[2 * 14, 2 * 8, 4 * 10], [14, 8, 10]]

    def test_setitem_copies_as_numpy_does(self) -> None:
        t = fg.arange(5.0)
        t[1:] = t[:-1]
        assert t.tolist() == [0, 0, 1, 2, 3]


class TestOut:
    """`out=` is not differentiable."""

    def test_out_refuses_what_requires_grad(self) -> None:
        with pytest.raises((TypeError, NotImplementedError)):
            np.add(leaf(3), 1.0, out=np.ones(3))


class TestIsViewAndBase:
    """`_is_view()`, `_base`."""

    def test_what_is_a_view(self) -> None:
        y = fg.ones(2, 3)
        for view in (y[0], y.T, y.reshape(6), y.view(3, 2), y[:], y.expand(4, 2, 3)):
            assert view._is_view()
            assert view._base is y
            assert view[..., 0]._base is y
        for own in (y, y * 1, y.clone(), y[[0]], y.sum(axis=0), y.detach(), y.detach().clone()):
            assert not own._is_view()
            assert own._base is None


class TestDetach:
    """`detach()`, `detach_()`."""

    def test_detach_shares_storage_and_version(self) -> None:
        y = inner(3)
        d = y.detach()
        y.mul_(2)
        assert (d.tolist(), d._version, d.requires_grad) == (y.tolist(), y._version, False)
        d.mul_(2)
        assert y._version == 2

    def test_detach_in_place(self) -> None:
        x = leaf(3)
        y = x * 1
        assert y.detach_() is y
        assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
        assert x.detach_() is x
        assert not x.requires_grad
        with pytest.raises(fg.errors.GradientError, match="a view cannot be detached in place"):
            inner(3)[1:].detach_()

    def test_a_history_begins_anew(self) -> None:
        x = leaf(3)
        y = x * 3
        view = y[:2]
        y.detach_()
        y.add_(x)
        (y.sum() + view.sum()).backward()
        assert x.grad.tolist() == [2, 2, 1]
