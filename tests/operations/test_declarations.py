"""What declarations say of operations: attributes of nodes, defaults, names of arguments.

Values and derivatives: the operation table.
"""

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import functors, linalg
from ferrograd.nn import functional
from op_support import REGISTRY

ROOT = Path(__file__).parents[2]
#: Files that serve every operation.
GENERIC = (
    *(f"src/bindings/call/{name}.rs" for name in ("node_attributes", "signature_text")),
    *(f"src/bindings/call/{name}.rs" for name in ("bind", "result_options")),
    *(f"src/bindings/call/{name}.rs" for name in ("dispatch", "entry", "observe")),
    *(f"src/ops/core/declaration/{name}.rs" for name in ("op_decl", "op_facts", "declare_op")),
    "src/ops/core/formulas/formula.rs",
    "src/ops/registry.rs",
    "python/ferrograd/_dispatch/keywords.py",
    "python/ferrograd/_dispatch/ufuncs.py",
    "python/ferrograd/_inspect/explain.py",
)
#: Words that are operations and also arguments of NumPy's functions.
ARGUMENTS = {"where", "mean", "copy"}
#: Methods of NumPy's ufuncs.
METHODS = {"outer"}


def named_in(text: str, python: bool) -> set[str]:
    """The operations that the string literals of a file name, its documentation aside."""
    names = {n for row in REGISTRY.values() for n in (row["name"], *row["aliases"])}
    names |= {f"{name}_" for name in names}
    if python:
        text = re.sub(r'""".*?"""|#[^\n]*', "", text, flags=re.S)
    else:
        # A feature of the crate may have the name of an operation that it brings.
        text = re.sub(r"//[^\n]*|#\[cfg\([^\n]*\)\]", "", text)
    return set(re.findall(r'"(\w+)"', text)) & names - ARGUMENTS - METHODS


@pytest.mark.parametrize("path", GENERIC)
def test_files_that_serve_every_operation_name_none(path: str) -> None:
    assert not named_in((ROOT / path).read_text(), path.endswith(".py"))


def test_the_search_for_names_finds_them() -> None:
    assert named_in('match name { "sum" | "exp_" => 1 } // "max"', python=False) == {"sum", "exp_"}


def leaf(*shape: int) -> fg.Tensor:
    return fg.tensor(np.random.default_rng(0).uniform(0.1, 0.9, shape), requires_grad=True)


INDEX = np.array([[0, 1, 0], [1, 0, 1]])
REDUCED = {"axis": None, "keepdims": False}

# fmt: off
ATTRIBUTES: dict[str, tuple[Callable[[fg.Tensor], Any], dict[str, Any]]] = {
    "sum": (lambda x: x.sum(axis=0), {"axis": 0, "keepdims": False, "dtype": None}),
    "sum by default": (lambda x: x.sum(), {**REDUCED, "dtype": None}),
    "sum of axes": (lambda x: fg.sum(x, (0, -1)),
                    {"axis": (0, -1), "keepdims": False, "dtype": None}),
    "max": (lambda x: x.max(keepdims=True), {"axis": None, "keepdims": True}),
    "the names of PyTorch": (lambda x: x.amax(dim=1, keepdim=True), {"axis": 1, "keepdims": True}),
    "truth as a number": (lambda x: x.min(axis=1, keepdims=1), {"axis": 1, "keepdims": True}),
    "softmax": (lambda x: fg.softmax(x, -1), {"axis": -1, "dtype": None}),
    "cumsum": (lambda x: x.cumsum(1), {"axis": 1, "dtype": None}),
    "reshape": (lambda x: x.reshape(3, 2), {"shape": (3, 2), "order": "C", "copy": None}),
    "permute": (lambda x: x.permute(1, 0), {"axes": (1, 0)}),
    "swapaxes": (lambda x: x.swapaxes(0, -1), {"axis1": 0, "axis2": -1}),
    "limits": (lambda x: x.clip(0, 0.5), {"min": 0, "max": 0.5}),
    "one limit": (lambda x: np.clip(x, None, 0.5), {"min": None, "max": 0.5}),
    "a tensor as a limit": (lambda x: x.clip(fg.zeros(3), 0.5), {"max": 0.5}),
    "leaky_relu": (lambda x: fg.leaky_relu(x, 0.25), {"negative_slope": 0.25}),
    "leaky_relu by default": (fg.leaky_relu, {"negative_slope": 0.01}),
    "a dtype": (lambda x: fg.cumprod(x, 0, np.float32),
                {"axis": 0, "dtype": np.dtype("float32")}),
    "gather": (lambda x: x.gather(1, INDEX), {"axis": 1}),
    "norm": (lambda x: linalg.vector_norm(x, 3, axis=1),
             {"ord": 3.0, "axis": 1, "keepdims": False}),
    "quantile": (lambda x: fg.quantile(x, 0.5, axis=0),
                 {"axis": 0, "keepdims": False, "method": "linear"}),
    "through NumPy": (lambda x: np.sum(x, axis=1), {"axis": 1, "keepdims": False, "dtype": None}),
    "a composition": (lambda x: x.var(axis=0), {"axis": 0, "ddof": 0.0, "keepdims": False}),
    "one of several results": (lambda x: x.topk(2)[0],
                               {"k": 2, "axis": -1, "largest": True, "sorted": True}),
    "gemm": (lambda x: functors.gemm(x, x, trans_b=True),
             {"alpha": 1.0, "trans_a": False, "trans_b": True, "ndim": 1, "batch_ndim": 0}),
    "no attributes": (lambda x: x.exp(), {}),
    "an operator": (lambda x: x * 2, {}),
}
# fmt: on


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_node_tells_how_its_operation_was_called(name: str) -> None:
    call, attributes = ATTRIBUTES[name]
    out = call(leaf(2, 3))
    assert out.grad_fn.attrs == attributes
    out.sum().backward()
    assert out.grad_fn.attrs == attributes, "also when its saved values are gone"


def test_attributes_of_a_large_call_and_of_a_convolution() -> None:
    large = leaf(300, 400).sum(axis=1)
    assert large.grad_fn.attrs["axis"] == 1
    assert leaf(300, 400).max().grad_fn.attrs == REDUCED
    images, weight = leaf(1, 2, 5, 5), leaf(3, 2, 2, 2)
    found = functional.conv2d(images, weight, stride=2, padding="valid").grad_fn.attrs
    assert found == {"stride": 2, "padding": "valid", "dilation": 1, "groups": 1}


def test_attributes_belong_to_the_node_that_the_call_made() -> None:
    y = leaf(2, 3) * 2
    same = fg.sum_to_size(y, (2, 3))
    assert same.grad_fn is y.grad_fn
    assert y.grad_fn.attrs == {}
    inner = [node for node, _ in leaf(2, 3).var(axis=0).grad_fn.next_functions]
    assert [node.attrs for node in inner if node is not None] == [{}]


def test_attributes_keep_no_tensor_alive() -> None:
    before = fg.live_bytes()
    x, limit = leaf(2, 3), fg.zeros(3) + 0.5
    out = x.sum(axis=0).clip(limit, 9.0)
    del x, limit, out
    assert fg.live_bytes() == before


def test_defaults_of_signatures_are_those_of_the_declaration() -> None:
    for key, row in REGISTRY.items():
        if "Tensor" in row["namespaces"]:
            continue
        function: Any = fg
        for part in key.split("."):
            function = getattr(function, part)
        shown = inspect.signature(function).parameters
        for param in row["params"][1:]:
            default = shown[param["name"]].default
            if param["default"] is None:
                assert default in (inspect.Parameter.empty, None), key
            else:
                assert default == ast.literal_eval(param["default"]), key


WORDS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "UPLO": (lambda: linalg.eigvalsh(np.eye(2), UPLO="U"), lambda: linalg.eigvalsh(np.eye(2))),
    "offset": (lambda: fg.tril(leaf(3, 3), offset=1), lambda: fg.tril(leaf(3, 3), 1)),
    "value": (
        lambda: fg.scatter(leaf(2, 3), 1, INDEX, value=1.5),
        lambda: fg.scatter(leaf(2, 3), 1, INDEX, 1.5),
    ),
    "a_min": (lambda: fg.clip(leaf(3), a_min=0.5), lambda: fg.clip(leaf(3), 0.5)),
    "size": (lambda: leaf(2, 3).reshape(size=(3, 2)), lambda: leaf(2, 3).reshape(3, 2)),
    "where": (
        lambda: fg.where(leaf(3) > 0.5, input=1.0, other=2.0),
        lambda: fg.where(condition=leaf(3) > 0.5, x=1.0, y=2.0),
    ),
}


@pytest.mark.parametrize("word", WORDS)
def test_other_words_for_arguments(word: str) -> None:
    ours, plain = WORDS[word]
    np.testing.assert_array_equal(ours().detach(), plain().detach())


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.topk(leaf(3), offset=1),
        lambda: fg.rot90(leaf(2, 2), diagonal=1),
        lambda: fg.softmax(leaf(3), 0, p=2),
        lambda: fg.index_add(leaf(3), 0, [0], value=1.0),
        lambda: fg.partition(leaf(3), 1, kind="stable"),
    ],
)
def test_a_word_is_known_to_the_operations_that_have_it_only(call: Callable[[], Any]) -> None:
    with pytest.raises(fg.errors.ArgumentTypeError, match="unexpected keyword"):
        call()


class TestOut:
    """`out=`: where the result goes."""

    def test_a_tensor_takes_the_result_and_its_history(self) -> None:
        x, out = leaf(2, 3), fg.zeros(3)
        assert fg.sum(x, axis=0, out=out) is out
        np.testing.assert_array_equal(out.detach(), x.detach().numpy().sum(0))
        (out * out).sum().backward()
        np.testing.assert_allclose(x.grad, np.broadcast_to(2 * out.detach(), (2, 3)))

    @pytest.mark.parametrize(
        "call",
        [
            lambda x, out: fg.exp(x, out=out),
            lambda x, out: fg.add(x, 1.0, out=out),
            lambda x, out: fg.matmul(x, np.eye(3), out=out),
            lambda x, out: fg.clip(x, 0.2, 0.5, out=out),
            lambda x, out: fg.cumsum(x, 1, out=(out,)),
            lambda x, out: x.take_along_axis(INDEX, 1, out=out),
        ],
    )
    def test_every_kind_of_operation_has_it(self, call: Callable[..., Any]) -> None:
        x = leaf(2, 3).detach()
        for out in (fg.zeros(2, 3), np.zeros((2, 3))):
            assert call(x, out) is out
            np.testing.assert_array_equal(np.asarray(out), call(x, None).numpy())

    def test_several_results(self) -> None:
        x, out = leaf(2, 3).detach(), (fg.zeros(2, 2), fg.zeros(2, 2, dtype=fg.int64))
        assert fg.topk(x, 2, out=out) is out
        np.testing.assert_array_equal(out[0], fg.topk(x, 2)[0])
        with pytest.raises(fg.errors.ArgumentTypeError, match="out holds 1 places for 2 results"):
            fg.topk(x, 2, out=out[0])

    def test_refusals(self) -> None:
        x = leaf(3)
        with pytest.raises(fg.errors.GraphCutError, match="pass a tensor as out="):
            fg.exp(x, out=np.zeros(3))
        with pytest.raises(
            fg.errors.ShapeError, match=r"out has shape \(4,\) and the result \(3,\)"
        ):
            fg.exp(x, out=fg.zeros(4))
        with pytest.raises(fg.errors.DTypeError, match="the result is float64"):
            fg.exp(x, out=fg.zeros(3, dtype=fg.int64))
        with pytest.raises(fg.errors.ArgumentTypeError, match="out is a list"):
            fg.exp(x, out=[0.0, 0.0, 0.0])
        with pytest.raises(fg.errors.ArgumentTypeError, match="leave them out"):
            fg.zeros(3).exp_(out=fg.zeros(3))


def test_every_operation_names_its_result() -> None:
    x = leaf(2, 3)
    assert fg.sum(x, axis=0, name="total").name == "total"
    assert functors.add(1.0, x, 1.0, x, "z").name == "z"
    assert fg.exp(x).name is None
    with pytest.raises(fg.errors.ArgumentTypeError, match="name is a int"):
        fg.exp(x, name=3)


NARROW = (np.int8, np.int16, np.uint16, np.uint32, np.uint64, np.float16)


@pytest.mark.parametrize("dtype", NARROW)
def test_constants_of_other_dtypes_meet_tensors(dtype: Any) -> None:
    a, x = np.array([1, 2, 3], dtype), leaf(3)
    plain = x.detach().numpy()
    for call in (fg.multiply, lambda p, q: p * q, np.multiply, np.divide):
        for ours, theirs in (((x, a), (plain, a)), ((a, x), (a, plain))):
            expected = theirs[0] / theirs[1] if call is np.divide else theirs[0] * theirs[1]
            np.testing.assert_array_equal(call(*ours).detach(), expected)
            assert call(*ours).dtype == expected.dtype
    assert fg.concatenate([x, a]).dtype == np.float64
    assert (x * a[1]).dtype == np.float64
    (x * a).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("dtype", NARROW[:-1])
def test_indices_of_other_dtypes_choose(dtype: Any) -> None:
    x, index = leaf(3), np.array([2, 0], dtype)
    np.testing.assert_array_equal(x[index].detach(), x.detach().numpy()[index])
    assert x[index[0]].item() == x[2].item()
    np.testing.assert_array_equal(fg.take(x, index).detach(), x.detach().numpy()[index])
    assert fg.one_hot(index).shape == (2, 3)


def test_narrow_integers_keep_float32() -> None:
    x = leaf(3).detach().astype(np.float32)
    for dtype in (np.int8, np.int16, np.uint16, np.float16):
        assert fg.multiply(x, np.ones(3, dtype)).dtype == np.float32
    assert fg.multiply(x, np.ones(3, np.uint32)).dtype == np.float64


def test_an_integer_that_int64_cannot_hold_meets_floats() -> None:
    a = np.array([2**64 - 1], np.uint64)
    np.testing.assert_array_equal((leaf(1) * a).detach(), leaf(1).detach().numpy() * a)


def test_clip_without_a_bound_is_a_copy() -> None:
    for x in (leaf(3), fg.arange(3)):
        copy = np.clip(x, None, None)
        np.testing.assert_array_equal(copy.detach(), x.detach())
        assert not np.shares_memory(copy.detach().numpy(), x.detach().numpy())
    x = leaf(3)
    (np.clip(x, None, None) * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_numbers_that_stand_for_truth_values() -> None:
    x = leaf(3, 4).detach()
    np.testing.assert_allclose(fg.cov(x, rowvar=0), np.cov(x.numpy(), rowvar=0))
    np.testing.assert_allclose(np.cov(x, rowvar=0), np.cov(x.numpy(), rowvar=False))
    assert fg.sum(x, axis=0, keepdims=1).shape == (1, 4)
    assert np.max(x, axis=1, keepdims=np.int64(0)).shape == (3,)
    with pytest.raises(fg.errors.ArgumentTypeError, match="pass True or False as keepdims"):
        fg.sum(x, keepdims="yes")
