"""Arrays of other libraries beside tensors: labelled, with units, masked, of a user's class.

The libraries themselves where they are installed; a class of this file stands in for them always.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

import ferrograd as fg

V = np.array([1.0, 2.0, 3.0])


class Labelled(NDArrayOperatorsMixin):
    """An array with a label, which computes with any array."""

    __array_priority__ = 50

    def __init__(self, data: Any, label: str = "m") -> None:
        self.data, self.label = data, label

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.data, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.data if isinstance(x, Labelled) else x for x in inputs]
        return Labelled(getattr(ufunc, method)(*plain, **kwargs), self.label)

    def __matmul__(self, other: Any) -> Any:
        return Labelled(self.data @ other, self.label)

    def __rmatmul__(self, other: Any) -> Any:
        return Labelled(other @ self.data, self.label)


class Prior:
    """A class of a higher priority that knows no ufuncs."""

    __array_priority__ = 1.0

    def __init__(self, data: Any) -> None:
        self.data = data

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.data, dtype)

    def __rmul__(self, other: Any) -> str:
        return "prior"

    __radd__ = __rsub__ = __rtruediv__ = __rpow__ = __rfloordiv__ = __rmod__ = __rmul__
    __rmatmul__ = __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rmul__

    def __eq__(self, other: object) -> Any:
        return "prior"

    __hash__ = None  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __eq__  # type: ignore[assignment]


class NoUfuncs(Prior):
    """A class that refuses ufuncs, by NumPy's convention."""

    __array_priority__ = 0.0
    __array_ufunc__ = None


class Wrapped:
    """Nothing but something that becomes an array: it is taken for its elements."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(V, dtype)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}


def leaf() -> fg.Tensor:
    return fg.tensor(V, requires_grad=True)


class TestOperators:
    @pytest.mark.parametrize("op", OPERATORS)
    @pytest.mark.parametrize("turned", [False, True], ids=["t op a", "a op t"])
    def test_a_class_with_ufuncs_computes(self, op: str, turned: bool) -> None:
        t, a = leaf(), Labelled(V + 1)
        found = OPERATORS[op](a, t) if turned else OPERATORS[op](t, a)
        pair = (V + 1, V) if turned else (V, V + 1)
        assert isinstance(found, Labelled)
        assert isinstance(found.data, fg.Tensor)
        np.testing.assert_allclose(found.data.detach().numpy(), OPERATORS[op](*pair))

    @pytest.mark.parametrize("kind", [Prior, NoUfuncs])
    @pytest.mark.parametrize("op", [*OPERATORS, *BITWISE])
    def test_a_class_that_goes_first_does(self, kind: Any, op: str) -> None:
        t = fg.tensor([1, 2, 3]) if op in BITWISE else leaf()
        assert {**OPERATORS, **BITWISE}[op](t, kind(V)) == "prior"

    def test_a_class_that_cannot_is_an_error(self) -> None:
        class Blind:
            __array_priority__ = 2

            def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
                return V

        with pytest.raises(TypeError, match="unsupported operand"):
            leaf() * Blind()

    def test_what_only_becomes_an_array_is_one(self) -> None:
        assert (leaf() * Wrapped()).tolist() == [1.0, 4.0, 9.0]
        assert (Wrapped() * leaf()).tolist() == [1.0, 4.0, 9.0]

    @pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
    def test_matrices_multiply_as_matrices(self) -> None:
        m = np.matrix([[1.0, 2.0]])
        assert (fg.tensor([[1.0], [1.0]]) * m).tolist() == [[1.0, 2.0], [1.0, 2.0]]
        assert (m * fg.tensor([[1.0], [1.0]])).tolist() == [[1.0, 2.0], [1.0, 2.0]]
        assert (fg.tensor(2.0) * m).tolist() == [[2.0, 4.0]]

    @pytest.mark.parametrize("turned", [False, True])
    def test_ufuncs_go_to_the_class(self, turned: bool) -> None:
        t, a = leaf(), Labelled(V)
        found = np.multiply(a, t) if turned else np.multiply(t, a)
        assert isinstance(found, Labelled)
        assert found.data.requires_grad
        with pytest.raises(TypeError):
            np.multiply(t, NoUfuncs(V))

    @pytest.mark.parametrize("turned", [False, True])
    def test_functions_go_to_the_class(self, turned: bool) -> None:
        class Functions(Labelled):
            def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
                return func.__name__

        pair = [Functions(V), leaf()] if turned else [leaf(), Functions(V)]
        assert np.concatenate(pair) == "concatenate"
        assert np.dot(*pair) == "dot"

        class Parameter(fg.nn.Parameter):
            pass

        class Same(np.ndarray):
            pass

        assert np.concatenate([Parameter(V), V, V.view(Same)]).shape == (9,)
        assert (leaf() * V.view(Same)).tolist() == [1.0, 4.0, 9.0]

    def test_changes_in_place_say_what_to_write(self) -> None:
        t = fg.tensor(V)
        for other in (Labelled(V), Prior(V)):
            with pytest.raises(TypeError, match=r"write a = a \+ b"):
                t += other
            with pytest.raises(TypeError, match=r"write a = a \+ b"):
                t @= other
        assert t.tolist() == V.tolist()

    def test_a_gradient_goes_through(self) -> None:
        assert fg.grad(lambda x: np.sum((x * Labelled(V)).data))(2.0) == 6.0


class TestData:
    @pytest.mark.parametrize(
        "f",
        [
            lambda x: np.sum((x * x).data),
            lambda x: np.sum(x.data * x),
            lambda x: (x * x).data.sum() + x.sum(),
        ],
    )
    @pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad, fg.jacobian, fg.hessian])
    def test_leaving_a_transform_by_data_is_an_error(self, f: Any, transform: Any) -> None:
        for x in (2.0, V, fg.tensor(V)):
            with pytest.raises(fg.errors.GraphCutError, match=r"data: .*detach\(\)"):
                transform(f)(x)

    def test_where_nothing_is_lost_it_stays(self) -> None:
        c = fg.tensor(V)
        assert fg.grad(lambda x: np.sum(x * c.data))(2.0) == 6.0

        def quiet(x: Any) -> Any:
            with fg.no_grad():
                seen = x.data.sum()
            return x * seen.detach()

        assert fg.grad(quiet)(2.0) == 2.0
        x = leaf()
        assert not (x * x).data.requires_grad


class TestMasked:
    M = np.ma.array(V, mask=[False, True, False])

    @pytest.mark.parametrize(
        "use",
        [
            lambda t, m: t * m,
            lambda t, m: m * t,
            lambda t, m: t + m,
            lambda t, m: t @ m,
            lambda t, m: np.multiply(t, m),
            lambda t, m: np.multiply(m, t),
            lambda t, m: np.where(m > 1, t, m),
            lambda t, m: np.dot(t, m),
            lambda t, m: fg.tensor(m),
            lambda t, m: fg.asarray(m),
            lambda t, m: fg.tensor(m, dtype="float32"),
            lambda t, m: fg.from_numpy(m),
            lambda t, m: fg.sum(m),
            lambda t, m: fg.nn.Parameter(m),
        ],
    )
    def test_a_mask_is_never_ignored(self, use: Any) -> None:
        with pytest.raises((TypeError, fg.errors.GraphCutError), match=r"mask|numpy\.ma\."):
            use(leaf(), self.M)

    def test_changes_in_place_refuse_it(self) -> None:
        t = fg.tensor(V)
        with pytest.raises(TypeError, match="masked array"):
            t += self.M
        with pytest.raises(TypeError, match="masked array"):
            t[:] = self.M
        with pytest.raises(TypeError, match="masked array"):
            t.copy_(self.M)
        assert t.tolist() == V.tolist()

    def test_the_remedy_works(self) -> None:
        t, m = leaf(), self.M
        total = np.where(m.mask, 0.0, t * m.filled(0.0)).sum()
        total.backward()
        assert t.grad is not None
        assert t.grad.tolist() == [1.0, 0.0, 3.0]
        assert (t * np.ma.array(V)).tolist() == [1.0, 4.0, 9.0]


class TestLibraries:
    def test_xarray(self) -> None:
        xr = pytest.importorskip("xarray")
        a = xr.DataArray(V, dims=["t"])
        assert fg.grad(lambda x: np.sum((x * a).data))(2.0) == 6.0
        assert fg.grad(lambda x: np.sum((a * x).data))(2.0) == 6.0
        assert fg.grad(lambda x: np.sum(np.multiply(x, a).data))(2.0) == 6.0
        assert (fg.tensor(V) * a).dims == ("t",)

    def test_pint(self) -> None:
        pint = pytest.importorskip("pint")
        metres = V * pint.UnitRegistry().m
        for found in (leaf() * metres, metres * leaf(), np.multiply(leaf(), metres)):
            assert str(found.units) == "meter"
            assert found.magnitude.requires_grad
        with pytest.raises(Exception, match="meter"):
            leaf() + metres
        assert str(np.dot(leaf(), metres).units) == "meter"
        assert fg.grad(lambda x: np.sum((x * metres).to("cm").magnitude))(2.0) == 600.0

    def test_pandas(self) -> None:
        pd = pytest.importorskip("pandas")
        series = pd.Series(V, index=["a", "b", "c"])
        assert list((fg.tensor(V) * series).index) == ["a", "b", "c"]
        for use in (lambda t: t * series, lambda t: series * t, lambda t: np.add(t, series)):
            with pytest.raises(fg.errors.GraphCutError, match=r"pandas\.Series.*to_numpy"):
                use(leaf())
            with pytest.raises(fg.errors.GraphCutError, match=r"pandas\.Series.*to_numpy"):
                fg.grad(lambda x, use=use: np.sum(use(x)))(V)
        assert fg.grad(lambda x: np.sum(x * series.to_numpy()))(2.0) == 6.0
        frame = pd.DataFrame({"a": V})
        with pytest.raises(TypeError):
            frame * fg.tensor(2.0)
        assert list((frame * fg.tensor(2.0).item())["a"]) == [2.0 * v for v in V]

    def test_torch(self) -> None:
        torch = pytest.importorskip("torch")
        with pytest.raises(TypeError):
            leaf() * torch.ones(3)
