"""Transforms used wrongly: each call, the class of its error, and what the message says."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd.test_util import check_grads

X = np.linspace(0.1, 1.0, 5)


def written(x: Any) -> Any:
    x[0] = 1.0
    return x.sum()


def changing(w: Any) -> Callable[[Any], Any]:
    """A function that changes, after its use, what it was closed over."""

    def f(x: Any) -> Any:
        y = np.sum(x * w)
        with fg.autograd.graph.disallow_mutation_on_saved_tensors():
            w[...] += 1.0
        return y

    return f


def two(a: Any, b: Any) -> Any:
    return a


Row = tuple[Callable[[], Any], type[Exception], str]


def assigned(x: Any, place: Any) -> Any:
    buffer = np.zeros(3)
    buffer[place] = x[place]
    return buffer.sum()


ARGUMENTS: dict[str, Row] = {
    "tensor": (lambda: fg.grad(fg.tensor(X)), TypeError, "fg.autograd.grad(outputs, inputs)"),
    "tensors": (lambda: fg.grad([fg.tensor(X)]), TypeError, "fg.autograd.grad(outputs, inputs)"),
    "no function": (lambda: fg.grad(3), TypeError, "pass the function to differentiate"),
    "integer": (lambda: fg.grad(np.sin)(3), TypeError, "argument 0 is the integer 3; pass 3.0"),
    "bool": (lambda: fg.grad(np.sin)(True), TypeError, "argument 0 is the bool True"),
    "integer of vjp": (
        lambda: fg.vjp(lambda x, i: x[i], X, 1),
        TypeError,
        "pass 1.0, or bind an argument that is not differentiated: lambda x: f(x, i)",
    ),
    "integers of jvp": (
        lambda: fg.jvp(np.sum, (np.arange(3),), (X,)),
        TypeError,
        "x.astype(float), or bind",
    ),
    "integers": (lambda: fg.grad(np.sum)(np.arange(3)), TypeError, "pass x.astype(float)"),
    "numpy integer": (lambda: fg.grad(np.sin)(np.int64(3)), TypeError, "dtype int64"),
    "integer tensor": (
        lambda: fg.grad(np.sum)(fg.tensor([1, 2])),
        TypeError,
        "argument 0 is a tensor of dtype int64",
    ),
    "objects": (
        lambda: fg.grad(np.sum)(np.array([1.0, "a"], dtype=object)),
        TypeError,
        "an array of objects has no derivative",
    ),
    "complex": (
        lambda: fg.grad(np.sum)(X * 1j),
        TypeError,
        "holomorphic=True",
    ),
    "complex number": (lambda: fg.grad(np.sin)(1j), TypeError, "holomorphic=True"),
    "string": (lambda: fg.grad(np.sum)("a"), TypeError, "argument 0 is the string 'a'"),
    "none": (lambda: fg.grad(np.sum)(None), TypeError, "argument 0 is None"),
    "masked": (
        lambda: fg.grad(np.sum)(np.ma.array(X, mask=X > 0.5)),
        TypeError,
        "argument 0 is a masked array, whose mask a derivative would lose; pass x.filled(0)",
    ),
    "strings": (lambda: fg.grad(np.sum)(np.array(["a"])), TypeError, "an array of dtype <U1"),
    "bytes inside": (
        lambda: fg.grad(lambda p: p["x"].sum())({"x": X, "n": b"name"}),
        TypeError,
        "argument 0['n'] is a bytes, and no derivative exists",
    ),
    "function inside": (
        lambda: fg.grad(lambda p: p["act"](p["x"]).sum())({"x": X, "act": np.tanh}),
        TypeError,
        "pass everything else in another argument",
    ),
    "generator": (lambda: fg.grad(sum)(x for x in X), TypeError, "argument 0 is a generator"),
    "set": (lambda: fg.grad(np.sum)({1.0}), TypeError, "argument 0 is a set"),
    "string inside": (
        lambda: fg.grad(lambda p: p["x"].sum())({"x": X, "n": [1.0, "name"]}),
        TypeError,
        "argument 0['n'][1] is the string 'name'",
    ),
    "integer inside": (
        lambda: fg.grad(lambda p: p[0])((X, 3)),
        TypeError,
        "argument 0[1] is the integer 3",
    ),
    "named": (
        lambda: fg.grad(lambda x, n: x, argnums="n")(1.0, n=3),
        TypeError,
        "the argument 'n' is the integer 3",
    ),
    "position": (lambda: fg.grad(two, 3)(1.0, 2.0), ValueError, "argnums names argument 3"),
    "negative position": (
        lambda: fg.grad(two, -3)(1.0, 2.0),
        ValueError,
        "argnums names argument -3, but two was called with 2 positional arguments; its parameters"
        " are (a, b); pass that argument or change argnums",
    ),
    "position among stars": (
        lambda: fg.grad(lambda *a: a[0], 3)(1.0, 2.0),
        ValueError,
        "argnums names argument 3",
    ),
    "twice from both ends": (lambda: fg.grad(two, (1, -1))(X, X), ValueError, "twice"),
    "numpy bool argnums": (lambda: fg.grad(two, np.bool_(True)), TypeError, "argnums is np.True_"),
    "a bool among argnums": (lambda: fg.grad(two, (0, True)), TypeError, "argnums is (0, True)"),
    "a set of argnums": (lambda: fg.grad(two, {0}), TypeError, "argnums is {0}"),
    "nested argnums": (lambda: fg.grad(two, ((0,), 1)), TypeError, "argnums is ((0,), 1)"),
    "no arguments": (lambda: fg.grad(two)(), ValueError, "called with 0 positional arguments"),
    "default by position": (lambda: fg.grad(np.sum, 3)(X), ValueError, "argnums names argument 3"),
    "unknown name": (lambda: fg.grad(two, "q")(1.0, 2.0), ValueError, "parameters are (a, b)"),
    "missing name": (lambda: fg.grad(two, "b")(1.0), ValueError, "argnums names argument 'b'"),
    "twice": (lambda: fg.grad(two, (0, "a"))(1.0, 2.0), ValueError, "name an argument twice"),
    "bool argnums": (lambda: fg.grad(two, True), TypeError, "argnums is True"),
    "float argnums": (lambda: fg.grad(two, 1.5), TypeError, "argnums is 1.5"),
    **{
        f"point as argnums of {op}": (
            lambda op=op, point=point: getattr(fg, op)(np.sum, point),
            TypeError,
            f"{op}: argnums is {what} of shape (5,); give an integer, a name, or a tuple of them;"
            f" for the derivative at a point call fg.{op}(f)({arguments})",
        )
        for op, point, what, arguments in (
            ("grad", X, "an array", "x"),
            ("value_and_grad", X, "an array", "x"),
            ("elementwise_grad", X, "an array", "x"),
            ("jacobian", fg.tensor(X), "a tensor", "x"),
            ("hessian", fg.tensor(X), "a tensor", "x"),
            ("hvp", X, "an array", "x, v"),
        )
    },
    "points as argnums": (lambda: fg.grad(two, [X, X]), TypeError, "call fg.grad(f)(x)"),
    "number as argnums": (lambda: fg.grad(np.sin, 0.5), TypeError, "call fg.grad(f)(x)"),
    "no argnums": (lambda: fg.grad(two, ()), ValueError, "argnums is empty"),
    "both": (lambda: fg.grad(two, 1, argnum=0), TypeError, "argnum and argnums are both given"),
    "no primals": (lambda: fg.vjp(np.sin), ValueError, "there are no primals"),
    "bare primal": (lambda: fg.jvp(np.sin, 1.0, 1.0), ValueError, "primals is a float"),
    "tangents": (lambda: fg.jvp(np.sin, (1.0,), ()), ValueError, "1 primals and 0 tangents"),
    "tangent shape": (
        lambda: fg.jvp(np.sin, (X,), (X[:2],)),
        ValueError,
        "has shape (2,), but the arguments have (5,)",
    ),
    "cotangent shape": (
        lambda: fg.vjp(np.sin, X)[1](X[:2]),
        ValueError,
        "has shape (2,), but the results have (5,)",
    ),
    "cotangent structure": (
        lambda: fg.vjp(lambda x: (x, x), X)[1]([X, X]),
        ValueError,
        "the cotangent has the structure list",
    ),
    "cotangent string": (
        lambda: fg.vjp(np.sin, X)[1]("a"),
        TypeError,
        "vjp: the cotangent is the string 'a'; give floats or an array of floats",
    ),
    "cotangent none": (
        lambda: fg.vjp(np.sin, X)[1](None),
        ValueError,
        "the cotangent has the structure None, but the results have *",
    ),
    "tangent keys": (
        lambda: fg.jvp(lambda p: p["a"], ({"a": X},), ({"b": X},)),
        ValueError,
        "the tangent has the structure tuple([0]: dict(['b']: *)), but the arguments have",
    ),
    "vector of strings": (
        lambda: fg.hvp(np.sum)(X, np.array(["a"] * 5)),
        TypeError,
        "hvp: the vector is an array of shape (5,) and dtype <U1",
    ),
    "no vector": (lambda: fg.hvp(np.sum)(X), ValueError, "hvp(f)(x, v)"),
    "vector shape": (lambda: fg.hvp(np.sum)(X, X[:1]), ValueError, "hvp: the vector has shape"),
    "arguments for modes": (
        lambda: fg.check_grads(np.sum, (X, X)),
        ValueError,
        "modes is a tuple without names of modes; give 'fwd', 'rev' or both, and the arguments",
    ),
    "arguments for argnum": (
        lambda: check_grads(np.sum, (X, X), order=2),
        TypeError,
        "for the derivative at a point call",
    ),
    "modes": (lambda: fg.check_grads(np.sin, modes="x"), ValueError, "modes is 'x'"),
    "order": (lambda: fg.check_grads(np.sin, order=0), ValueError, "order is 0"),
    "nothing to check": (lambda: fg.check_grads(np.sin)(3), ValueError, "made of floats"),
    "functional": (
        lambda: fg.autograd.functional.jacobian(np.sin, X),
        TypeError,
        "give a tensor or a tuple of tensors",
    ),
}

RESULTS: dict[str, Row] = {
    "vector": (lambda: fg.grad(np.sin)(X), ValueError, "use jacobian for all derivatives"),
    "constant vector": (lambda: fg.grad(lambda x: X)(X), ValueError, "an array of shape (5,)"),
    "none": (lambda: fg.grad(lambda x: None)(X), TypeError, "is a return statement missing?"),
    "none in jacobian": (lambda: fg.jacobian(lambda x: None)(X), TypeError, "returned None"),
    "empty": (lambda: fg.grad(lambda x: ())(X), ValueError, "returned a tuple of 0"),
    "string": (lambda: fg.grad(lambda x: "s")(X), TypeError, "returned the string 's'"),
    "tuple": (lambda: fg.grad(lambda x: (x.sum(), 1.0))(X), ValueError, "has_aux=True"),
    "list": (lambda: fg.grad(lambda x: [x])(1.0), ValueError, "returned a list of 1"),
    "mixture": (
        lambda: fg.jacobian(lambda x: {"a": x, "b": "s"})(X),
        TypeError,
        "returned the string 's' at ['b']",
    ),
    "mixture with none": (
        lambda: fg.grad(lambda x: (np.sum(x), None))(X),
        ValueError,
        "returned a tuple of 2, not one number; return a scalar, put the rest into aux",
    ),
    "mixture with an integer": (
        lambda: fg.jacobian(lambda x: (x, x.argmax()))(X),
        TypeError,
        "dtype int64 at [1], which is not differentiable; return floats, or return it as aux",
    ),
    "generator": (
        lambda: fg.grad(lambda x: (y for y in x))(X),
        TypeError,
        "returned a generator; return floats",
    ),
    "object": (lambda: fg.grad(lambda x: object())(X), TypeError, "returned an object; return"),
    "objects": (
        lambda: fg.grad(lambda x: np.array([1, "a"], dtype=object))(X),
        TypeError,
        "returned an array of shape (2,) and dtype object; return floats",
    ),
    **{
        f"none in {op}": (
            lambda op=op: getattr(fg, op)(lambda x: None)(X),
            TypeError,
            f"{op}: <lambda> returned None",
        )
        for op in ("value_and_grad", "elementwise_grad", "hessian", "make_vjp", "make_hvp")
    },
    "none in vjp": (lambda: fg.vjp(lambda x: None, X), TypeError, "vjp: <lambda> returned None"),
    "integer": (lambda: fg.grad(lambda x: x.argmax())(X), TypeError, "not differentiable"),
    "truth": (lambda: fg.grad(lambda x: bool(x > 0))(1.0), TypeError, "returned a bool"),
    "comparison": (lambda: fg.grad(lambda x: x > 0)(1.0), TypeError, "dtype bool"),
    "complex": (lambda: fg.grad(lambda x: 1j)(1.0), TypeError, "holomorphic=True"),
    "aux": (
        lambda: fg.value_and_grad(np.sum, has_aux=True)(X),
        TypeError,
        "must return (value, aux)",
    ),
}

INSIDE: dict[str, Row] = {
    "roots": (
        lambda: fg.grad(lambda x: np.roots(x).sum())(X),
        NotImplementedError,
        "numpy.roots",
    ),
    "foreign": (
        lambda: fg.grad(lambda x: np.gcd.reduce(x))(X),
        NotImplementedError,
        "ferrograd has no derivative",
    ),
    "written": (
        lambda: fg.grad(written)(X),
        TypeError,
        "grad: written changed a differentiated argument in place; work on a copy",
    ),
    "assigned element": (
        lambda: fg.grad(assigned)(X, 0),
        TypeError,
        "array[...] = t: the result would silently leave",
    ),
    "assigned slice": (
        lambda: fg.grad(assigned)(X, slice(0, 1)),
        TypeError,
        "an array of NumPy's cannot hold it: import ferrograd.numpy as np",
    ),
    "written inside": (
        lambda: fg.grad(lambda y: fg.grad(written)(y * 2).sum())(X),
        RuntimeError,
        "changed a differentiated argument in place",
    ),
    "array of tensors": (
        lambda: fg.grad(lambda x: np.array([x, x]).sum())(1.0),
        TypeError,
        "use fg.stack",
    ),
    "foreign array": (
        lambda: fg.grad(lambda x: np.asarray(x).sum())(X),
        TypeError,
        "silently leave the graph",
    ),
    "number": (
        lambda: fg.grad(lambda x: 2 * float(x[0]))(X),
        TypeError,
        "keep the tensor, or use detach() where no gradient is meant",
    ),
    "closure changed": (
        lambda: fg.grad(changing(fg.tensor(X)))(X),
        RuntimeError,
        'a value saved by "multiply" was changed in place by "add"',
    ),
    "truth of many": (
        lambda: fg.grad(lambda x: x if x > 0 else -x)(X),
        ValueError,
        "use t.any() or t.all()",
    ),
    "user error": (lambda: fg.grad(lambda x: {}["key"])(X), KeyError, "key"),
}

ROWS = {
    f"{group}: {name}": row
    for group, rows in (("argument", ARGUMENTS), ("result", RESULTS), ("inside", INSIDE))
    for name, row in rows.items()
}


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_message(row: Row) -> None:
    call, kind, text = row
    with pytest.raises(kind, match=re.escape(text)):
        call()
    assert fg.is_grad_enabled()


def test_what_a_function_is_closed_over_may_change_after_its_use() -> None:
    w = fg.tensor(X)

    def f(x: Any) -> Any:
        y = np.sum(x * x * w)
        w[...] += 1.0
        return y

    np.testing.assert_allclose(fg.grad(f)(X), 2 * X * X)
    np.testing.assert_allclose(fg.grad(f)(X), 2 * X * (X + 1.0))


def test_an_error_inside_restores_the_mode() -> None:
    with fg.no_grad():
        with pytest.raises(ZeroDivisionError):
            fg.grad(lambda x: 1 / 0)(1.0)
        assert not fg.is_grad_enabled()


def test_an_error_does_not_make_later_calls_nested() -> None:
    with pytest.raises(ZeroDivisionError):
        fg.grad(lambda x: 1 / 0)(1.0)
    w = fg.tensor(2.0, requires_grad=True)
    assert type(fg.grad(lambda x: x * w)(3.0)) is float


def test_a_closed_over_array_counts_with_the_values_at_the_call() -> None:
    found = fg.grad(changing(np.full(5, 3.0)))(X)
    np.testing.assert_array_equal(found, np.full(5, 3.0))


class Refusing(fg.Function):
    """Its backward changes what it was given, which the engine refuses, or says no itself."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        leaf = fg.tensor(1.0, requires_grad=True)
        if g[0].item() == 1.0:
            with fg.enable_grad():
                leaf += 1.0
        raise ValueError("no gradient here")


REFUSALS = [(2.0, ValueError, "no gradient"), (1.0, fg.errors.InPlaceError, "a leaf that requires")]


@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad])
@pytest.mark.parametrize("has_aux", [False, True])
@pytest.mark.parametrize(("scale", "kind", "said"), REFUSALS)
def test_an_error_of_a_backward_is_raised_as_it_is(
    transform: Any, has_aux: bool, scale: float, kind: type[Exception], said: str
) -> None:
    def f(x: Any) -> Any:
        y = (Refusing.apply(x) * scale).sum()
        return (y, None) if has_aux else y

    with pytest.raises(kind, match=said) as raised:
        transform(f, has_aux=has_aux)(X)
    assert type(raised.value) is kind
    assert raised.traceback[-1].name == "backward"
    assert fg.is_grad_enabled()
